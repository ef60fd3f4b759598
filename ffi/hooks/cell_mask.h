// Hooks in the KV cache: how many cells a graph looks at, and the mask of attention over them.
#pragma once

#include "ggml-backend.h"
#include "ggml.h"
#include "llama.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

// By how many cells the number grows that a graph looks at. Each growth builds a new graph: with 64 rows a pass, every fourth pass in
// steps of 256. On a device, a step has room for 16 passes, within an eighth of the cells or 1,024. On the CPU every cell costs time.
static inline uint32_t svc_cell_step(uint32_t least, const ggml_tensor * keys, size_t rows, uint32_t used) {
    constexpr uint32_t PASSES = 16, ROWS_MAX = 256, PART = 8, CELLS = 1024;
    if (rows > ROWS_MAX || keys == nullptr || keys->buffer == nullptr || ggml_backend_buffer_is_host(keys->buffer)) return least;
    uint32_t step = least;
    while (step < rows * PASSES && step * 2 <= std::max(CELLS, used / PART)) step *= 2;
    return step;
}

namespace svc_mask {

// The rows of one sequence.
struct sequence_rows {
    int64_t first = -1;  // row
    llama_pos first_position = 0, least_position = 0;
    bool has_others = false;
    std::vector<uint32_t> near;  // cells that not all of its rows see alike
};

template <class Args>
struct filler {
    const Args & args;
    static constexpr size_t N_SEQUENCES = std::decay_t<decltype(args.v_cells[0].seq_get_all(0))>().size();
    static constexpr size_t WORDS = N_SEQUENCES / 64;
    std::vector<sequence_rows> of = std::vector<sequence_rows>(N_SEQUENCES);

    bool sees(llama_pos cell, llama_pos row) const {
        return cell <= row && !(args.n_swa > 0 && args.hparams.is_masked_swa(args.n_swa, args.swa_type, cell, row));
    }

    llama_seq_id sequence(int64_t row) const { return args.ubatch->seq_id[row][0]; }

    // One look at each cell for the first rows of all sequences, where upstream looks at all cells for each sequence.
    template <class T>
    void first_rows(T * data, T keep, int64_t from, int64_t to) {
        uint64_t wanted[WORDS] = {};
        for (int64_t i = from; i < to; i++) wanted[sequence(i) / 64] |= uint64_t(1) << (sequence(i) % 64);
        const auto & cells = args.v_cells.at(args.seq_to_stream[sequence(from)]);
        for (int64_t j = 0; j < args.n_kv; j++) {
            if (cells.is_empty(j)) continue;
            uint64_t has[WORDS];
            static_assert(sizeof(cells.seq_get_all(j)) == sizeof(has), "a bit for each sequence");
            memcpy(has, &cells.seq_get_all(j), sizeof(has));
            const llama_pos position = cells.pos_get(j);
            for (size_t w = 0; w < WORDS; w++) {
                for (uint64_t bits = has[w] & wanted[w]; bits != 0; bits &= bits - 1) {
                    sequence_rows & rows = of[w * 64 + __builtin_ctzll(bits)];
                    if (sees(position, rows.first_position)) data[rows.first * args.n_kv + j] = keep;
                    if (rows.has_others && position + (int32_t) args.n_swa + 32 >= rows.least_position) rows.near.push_back(j);
                }
            }
        }
    }

    // The other rows are copies, but for cells near the positions of the pass.
    template <class T>
    void other_rows(T * data, T keep, T drop, int64_t from, int64_t to) {
        for (int64_t i = from; i < to; i++) {
            const sequence_rows & rows = of[sequence(i)];
            if (rows.first == i) continue;
            const auto & cells = args.v_cells.at(args.seq_to_stream[sequence(i)]);
            T * row = data + i * args.n_kv;
            memcpy(row, data + rows.first * args.n_kv, args.n_kv * sizeof(T));
            for (const uint32_t j : rows.near) row[j] = sees(cells.pos_get(j), args.ubatch->pos[i]) ? keep : drop;
        }
    }

    template <class T>
    void fill(T * data, T keep, T drop) {
        for (int64_t s = 0; s < args.n_stream; s++) {
            const int64_t from = s * args.n_tps, to = from + args.n_tps;
            for (int64_t i = from; i < to; i++) {
                sequence_rows & rows = of[sequence(i)];
                const llama_pos position = args.ubatch->pos[i];
                if (rows.first >= from) {
                    rows.has_others = true;
                    rows.least_position = std::min(rows.least_position, position);
                    continue;
                }
                rows = {i, position, position, false, {}};
                std::fill(data + i * args.n_kv, data + (i + 1) * args.n_kv, drop);
            }
            first_rows(data, keep, from, to);
            other_rows(data, keep, drop, from, to);
        }
    }
};

}  // namespace svc_mask

// Fills the mask of a pass. False: upstream's loop does, for attention of another kind and where few rows look at a cell anyway.
template <class Args>
static bool svc_fill_mask(const Args & args, ggml_tensor * mask, bool is_causal) {
    constexpr int64_t ROWS_MIN = 4;
    if (args.n_stream * args.n_tps < ROWS_MIN || !is_causal || args.hparams.use_alibi || args.ubatch->is_pos_2d()) return false;
    svc_mask::filler<Args> filler{args};
    if (mask->type == GGML_TYPE_F16) {
        filler.fill((ggml_fp16_t *) mask->data, ggml_fp32_to_fp16(0.0f), ggml_fp32_to_fp16(-INFINITY));
    } else {
        filler.fill((float *) mask->data, 0.0f, -INFINITY);
    }
    return true;
}
