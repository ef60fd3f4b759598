// Who takes which chunk of a product: the threads of a memory node those of its rows; they help another node that has more chunks left than
// threads, which would come too late to all of them.
#pragma once

#include "packed_gemm.h"

namespace {

void clear_chunks(const ggml_compute_params * params, int set) {
    if (params->ith != 0) return;
    for (auto & chunks : svc_nodes_of_pool(params->threadpool)->chunks[set]) __atomic_store_n(&chunks.next, 0, __ATOMIC_RELAXED);
}

// Before a barrier: tells the others on which memory node this thread is.
void announce(const ggml_compute_params * params) {
    svc_nodes_of_pool(params->threadpool)->of_thread[params->ith] = svc_node_of_thread(params->ith, params->nth);
    clear_chunks(params, 0);
}

// After it.
svc_chunk_counter counter_of(const ggml_compute_params * params) {
    const svc_pool_nodes * pool = svc_nodes_of_pool(params->threadpool);
    svc_chunk_counter counter = {};
    counter.known = true;
    counter.node = pool->of_thread[params->ith];
    for (int i = 0; i < params->nth; ++i) {
        if (i == params->ith) counter.rank = counter.threads[counter.node];
        ++counter.threads[pool->of_thread[i]];
    }
    return counter;
}

// The chunks that this thread takes of a node's `count`, one after the other; the threads of the node have one each to begin with.
class chunks_of_node {
  public:
    chunks_of_node(const ggml_compute_params * params, const svc_chunk_counter & counter, int node, int count)
        : next_chunk(&svc_nodes_of_pool(params->threadpool)->chunks[counter.set][node].next), threads(counter.threads[node]), count(count), own(node == counter.node), chunk(own ? counter.rank : take()) {}

    // `count` or more: all are taken.
    int current() const { return chunk; }
    void advance() { chunk = take(); }

  private:
    int * next_chunk;
    int threads, count;
    bool own;
    int chunk;

    int take() const {
        if (!own && count - threads - __atomic_load_n(next_chunk, __ATOMIC_RELAXED) <= threads) return count;
        return threads + __atomic_fetch_add(next_chunk, 1, __ATOMIC_RELAXED);
    }
};

}  // namespace
