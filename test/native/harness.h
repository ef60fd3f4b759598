// Shared parts of the kernel tests: threads that stand in for ggml's thread pool, tensors over memory of exactly their size, and
// random numbers with a fixed seed.
#pragma once

#include "memory_nodes.h"

#include "ggml-cpu-impl.h"
#include "ggml-impl.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

// The part of ggml's thread pool that kernels use.
struct ggml_threadpool {
    explicit ggml_threadpool(int threads) : threads(threads) {}

    const int threads;
    std::atomic<int> chunk{0};
    svc_pool_nodes nodes;
    std::mutex mutex;
    std::condition_variable turned;
    int waiting = 0;
    int round = 0;
};

extern "C" void ggml_barrier(ggml_threadpool * pool) {
    std::unique_lock<std::mutex> lock(pool->mutex);
    const int round = pool->round;
    if (++pool->waiting == pool->threads) {
        pool->waiting = 0;
        ++pool->round;
        pool->turned.notify_all();
        return;
    }
    pool->turned.wait(lock, [&] { return pool->round != round; });
}

extern "C" void ggml_threadpool_chunk_set(ggml_threadpool * pool, int value) { pool->chunk.store(value); }

extern "C" int ggml_threadpool_chunk_add(ggml_threadpool * pool, int value) { return pool->chunk.fetch_add(value); }

extern "C" svc_pool_nodes * svc_nodes_of_pool(ggml_threadpool * pool) { return &pool->nodes; }

// ggml-cpu fills its table of F16 values when it is loaded.
extern "C" float ggml_table_f32_f16[1 << 16];
float ggml_table_f32_f16[1 << 16];

namespace {

const bool f16_table_filled = [] {
    for (int i = 0; i < 1 << 16; ++i) ggml_table_f32_f16[i] = ggml_fp16_to_fp32((ggml_fp16_t) i);
    return true;
}();

std::mt19937 generator(1);

inline float random_float() { return std::uniform_real_distribution<float>(-3, 3)(generator); }

inline int random_int(int first, int last) { return std::uniform_int_distribution<int>(first, last)(generator); }

// A tensor over memory of exactly its size, so that AddressSanitizer reports accesses beyond it. `gap`: bytes between rows and
// between planes.
struct tensor {
    ggml_tensor t = {};
    std::vector<char> memory;

    tensor(ggml_type type, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1, int64_t ne3 = 1, int64_t gap = 0) {
        t.type = type;
        const int64_t ne[] = {ne0, ne1, ne2, ne3};
        std::copy(ne, ne + 4, t.ne);
        t.nb[0] = ggml_type_size(type);
        t.nb[1] = ggml_row_size(type, ne0) + gap;
        t.nb[2] = t.nb[1] * ne1 + gap;
        t.nb[3] = t.nb[2] * ne2 + gap;
        memory.resize(t.nb[3] * ne3);
        t.data = memory.data();
    }

    template <typename T = float>
    T * row(int64_t i1, int64_t i2 = 0, int64_t i3 = 0) {
        return (T *) (memory.data() + i1 * t.nb[1] + i2 * t.nb[2] + i3 * t.nb[3]);
    }

    // Calls f(row) for every row.
    template <typename T = float, typename F>
    void each_row(const F & f) {
        for (int64_t i3 = 0; i3 < t.ne[3]; ++i3) {
            for (int64_t i2 = 0; i2 < t.ne[2]; ++i2) {
                for (int64_t i1 = 0; i1 < t.ne[1]; ++i1) f(row<T>(i1, i2, i3));
            }
        }
    }

    void fill() {
        each_row([&](float * row) { std::generate(row, row + t.ne[0], random_float); });
    }
};

// Runs an operation on `threads` threads with `bytes` of work memory.
template <typename F>
void run_threads(int threads, size_t bytes, const F & compute) {
    std::vector<char> memory(bytes);
    ggml_threadpool pool(threads);
    std::vector<std::thread> others;
    const auto one = [&](int thread) {
        ggml_compute_params params = {};
        params.ith = thread;
        params.nth = threads;
        params.wsize = memory.size();
        params.wdata = memory.data();
        params.threadpool = &pool;
        compute(&params);
    };
    for (int i = 1; i < threads; ++i) others.emplace_back(one, i);
    one(0);
    for (std::thread & other : others) other.join();
}

inline bool report(const char * what, double error, double limit) {
    const bool right = error <= limit;  // false for NaN
    printf("%s: %s (largest error %.1e)\n", what, right ? "right" : "WRONG", error);
    return right;
}

}  // namespace
