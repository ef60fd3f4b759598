// CPU affinity of compute threads.
//
// llama.cpp's compute threads meet at a barrier about a hundred times a token and spin there for a while. If the scheduler
// puts two of them on one CPU, because another program keeps the next one busy, each barrier lasts a time slice: a token
// that takes half a millisecond was measured to take 950. So where there is a compute thread for every CPU, each is tied
// to its own. Threads created by a tied thread inherit what was set for it; all others of the process are set free again.
//
// They then keep all CPUs busy, and a thread that wakes to pass on a token, in the serving process or the client, waited up to
// five milliseconds for one of them to be interrupted. Linux (from 6.12 on) lets those go first who ask for shorter time
// slices than who is running, so compute threads ask for the longest: their share of the CPU stays the same.

#include "guard.h"
#include "svc_llama.h"

#include <algorithm>
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

std::vector<int> allowed_list() {
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed())) cpus.push_back(cpu);
    }
    return cpus;
}

void tie(pid_t thread, int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(thread, sizeof(one), &one);  // a refusal costs speed only
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

// Ties the compute threads, each to one of the CPUs; returns their ids.
std::set<pid_t> tie_compute_threads(int32_t n, const std::vector<int> & cpus) {
    std::set<pid_t> tied;
#pragma omp parallel num_threads(n)
    {
        const pid_t thread = (pid_t) syscall(SYS_gettid);
        tie(thread, cpus[omp_get_thread_num() % cpus.size()]);
        set_slice(thread, longest_slice);
#pragma omp critical
        tied.insert(thread);
    }
    return tied;
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

void svc_tie_threads(int32_t n_threads) {
    svc::guard<int32_t>(-1, [&] {
        const std::vector<int> cpus = allowed_list();
        if (n_threads < 2 || (size_t) n_threads < cpus.size()) return 0;
        free_others(tie_compute_threads(n_threads, cpus));
        return 0;
    });
}

#else

void svc_tie_threads(int32_t) {}

#endif
