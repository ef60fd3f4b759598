// CPU affinity of compute threads.
//
// llama.cpp's compute threads meet at a barrier about a hundred times a token and spin there for a while. If the scheduler
// puts two of them on one CPU, because another program keeps the next one busy, each barrier lasts a time slice: a token
// that takes half a millisecond was measured to take 950. So where there is a compute thread for every core, each is tied
// to its own (ffi/linux/usable-cores.ts). Threads created by a tied thread inherit what was set for it; all others of the process are set
// free again.
//
// They then keep all CPUs busy, and a thread that wakes to pass on a token, in the serving process or the client, waited up to
// five milliseconds for one of them to be interrupted. Linux (from 6.12 on) lets those go first who ask for shorter time
// slices than who is running, so compute threads ask for the longest: their share of the CPU stays the same.

#include "guard.h"
#include "svc_llama.h"

#include <cstring>
#include <set>
#include <vector>

#if defined(__linux__) && defined(_OPENMP)

#include <dirent.h>
#include <omp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

// The CPUs this process may use, as they were before anything was tied.
const cpu_set_t & allowed() {
    static const cpu_set_t set = [] {
        cpu_set_t s;
        CPU_ZERO(&s);
        if (sched_getaffinity(0, sizeof(s), &s) != 0) CPU_SET(0, &s);
        return s;
    }();
    return set;
}

// linux/sched/types.h, first version: what sched_setattr(2) takes.
struct sched_attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;  // of an ordinary thread: its time slice in nanoseconds, 0 for the usual; older kernels ignore it
    uint64_t deadline;
    uint64_t period;
};

constexpr uint64_t longest_slice = 100'000'000, usual_slice = 0;

void set_slice(pid_t thread, uint64_t nanoseconds) {
    sched_attributes a;
    memset(&a, 0, sizeof(a));
    if (syscall(SYS_sched_getattr, thread, &a, sizeof(a), 0) != 0 || (a.policy != SCHED_OTHER && a.policy != SCHED_BATCH)) return;
    a.runtime = nanoseconds;
    syscall(SYS_sched_setattr, thread, &a, 0);  // a refusal costs waiting only
}

// Ties the compute threads, the first to the first set and so on; writes their ids.
void tie_compute_threads(int32_t n, const std::vector<cpu_set_t> & sets, int32_t * ids) {
#pragma omp parallel num_threads(n)
    {
        const auto thread = (pid_t) syscall(SYS_gettid);
        const int i = omp_get_thread_num();
        sched_setaffinity(thread, sizeof(cpu_set_t), &sets[i % sets.size()]);  // a refusal costs speed only
        set_slice(thread, longest_slice);
        ids[i] = thread;
    }
}

void free_others(const std::set<pid_t> & tied) {
    DIR * tasks = opendir("/proc/self/task");
    if (tasks == nullptr) return;
    while (const dirent * entry = readdir(tasks)) {
        const pid_t thread = atoi(entry->d_name);
        if (thread <= 0 || tied.count(thread) != 0) continue;
        sched_setaffinity(thread, sizeof(cpu_set_t), &allowed());
        set_slice(thread, usual_slice);
    }
    closedir(tasks);
}

}  // namespace

int32_t svc_tie_threads(int32_t n_threads, int32_t n_sets, const uint8_t * sets, int32_t * ids) {
    return svc::guard<int32_t>(0, [&] {
        if (n_threads < 2 || n_sets < 1) return 0;
        std::vector<cpu_set_t> cpus(n_sets);
        memcpy(cpus.data(), sets, cpus.size() * sizeof(cpu_set_t));
        allowed();
        tie_compute_threads(n_threads, cpus, ids);
        free_others(std::set<pid_t>(ids, ids + n_threads));
        return 1;
    });
}

#else

int32_t svc_tie_threads(int32_t, int32_t, const uint8_t *, int32_t *) { return 0; }

#endif
