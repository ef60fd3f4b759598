// A thread that does jobs one after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#ifdef __linux__
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace svc {

class worker {
  public:
    // niceness: how far it gives way to the other threads, and what it starts itself likewise; Linux only.
    explicit worker(int niceness = 0) : thread([this, niceness] { loop(niceness); }) {}

    // Drops the jobs that have not begun.
    ~worker() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            closing = true;
        }
        arrived.notify_all();
        thread.join();
    }

    // A job must not throw.
    void add(std::function<void()> job) {
        {
            std::lock_guard<std::mutex> lock(mutex);
            jobs.push_back(std::move(job));
        }
        arrived.notify_all();
    }

  private:
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<std::function<void()>> jobs;
    bool closing = false;
    std::thread thread;  // last: it uses all of the above

    void loop(int niceness) {
#ifdef __linux__
        if (niceness > 0) setpriority(PRIO_PROCESS, (id_t) syscall(SYS_gettid), niceness);  // a refusal costs speed only
#else
        (void) niceness;
#endif
        for (;;) {
            std::function<void()> job;
            {
                std::unique_lock<std::mutex> lock(mutex);
                arrived.wait(lock, [this] { return closing || !jobs.empty(); });
                if (closing) return;
                job = std::move(jobs.front());
                jobs.pop_front();
            }
            job();
        }
    }
};

// What became of a job: set once, waited for from another thread.
class outcome {
  public:
    void succeed() { settle(1, ""); }
    void fail(const std::string & reason) { settle(-1, reason); }

    // Runs `body` and takes what it throws for the failure. `unknown` is the reason of what is no exception of the library.
    template <typename F>
    void take(F && body, const char * unknown) {
        try {
            body();
            succeed();
        } catch (const std::exception & e) {
            fail(e.what());
        } catch (...) {
            fail(unknown);
        }
    }

    // 1 done, 0 not yet, after up to wait_ms; throws the reason of a failure.
    int32_t wait(int32_t wait_ms) {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] { return state != 0; });
        if (state < 0) throw std::runtime_error(error);
        return state;
    }

  private:
    std::mutex mutex;
    std::condition_variable changed;
    int32_t state = 0;
    std::string error;

    void settle(int32_t value, const std::string & reason) {
        std::lock_guard<std::mutex> lock(mutex);
        state = value;
        error = reason;
        changed.notify_all();
    }
};

}  // namespace svc
