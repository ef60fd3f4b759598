// Hook in the KV cache: gives attention the position of each cell beside the mask, for attention that adds cells by position
// (svc_kernels.h).
#pragma once

#include "svc_kernels.h"

#include "llama.h"

#include <map>
#include <mutex>
#include <vector>

// `mask->extra`: positions [n_stream][n_kv] of the cells, -1 if empty; valid until the next mask of the same cache.
template <class Args>
static void svc_set_cell_positions(const void * cache, ggml_tensor * mask, const Args & args) {
    static std::mutex mutex;
    static std::map<const void *, std::vector<llama_pos>> positions;  // a few kilobytes for each cache of this process
    if (!svc_batch_invariant()) return;
    const std::lock_guard<std::mutex> lock(mutex);
    auto & own = positions[cache];
    own.resize(args.n_stream * args.n_kv);
    for (int64_t s = 0; s < args.n_stream; ++s) {
        const auto & cells = args.v_cells.at(args.seq_to_stream[args.ubatch->seq_id[s * args.n_tps][0]]);
        for (int64_t i = 0; i < args.n_kv; ++i) own[s * args.n_kv + i] = cells.is_empty(i) ? -1 : cells.pos_get(i);
    }
    mask->extra = own.data();
}
