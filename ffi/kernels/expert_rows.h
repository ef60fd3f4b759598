// The rows of a product with experts (GGML_OP_MUL_MAT_ID), sorted by expert.
#pragma once

#include "packed_kernels.h"

#include <algorithm>

namespace {

// Rows of A sorted by expert, in groups of at most ROWS_MAX rows of one expert.
struct expert_rows {
    int32_t n_rows, n_experts;
    int32_t * rows;  // [n_rows] token * choices + choice
    int32_t * first;  // [groups + 1] start of a group in `rows`
    int32_t * expert;  // [groups]
    int32_t * start;  // [n_experts + 1] start of an expert in `rows`; the last finally is the number of groups
    char * blocks;

    expert_rows(const struct ggml_tensor * dst, void * memory) {
        const struct ggml_tensor * ids = dst->src[2];
        n_rows = ids->ne[0] * ids->ne[1];
        n_experts = dst->src[0]->ne[2];
        rows = (int32_t *) memory;
        first = rows + n_rows;
        expert = first + groups_max() + 1;
        start = expert + groups_max();
        blocks = (char *) GGML_PAD((uintptr_t) (start + n_experts + 1), 64);
    }

    int32_t groups_max() const { return std::min(n_rows, n_experts + n_rows / ROWS_MAX); }
    int32_t groups() const { return start[n_experts]; }

    size_t ints() const { return (n_rows + 2 * (size_t) groups_max() + n_experts + 2) * sizeof(int32_t) + 64; }

    void sort(const struct ggml_tensor * ids) {
        const auto id = [&](int32_t row) {
            const char * at = (const char *) ids->data + row / ids->ne[0] * ids->nb[1] + row % ids->ne[0] * ids->nb[0];
            const int32_t e = *(const int32_t *) at;
            GGML_ASSERT(e >= 0 && e < n_experts);
            return e;
        };
        std::fill(start, start + n_experts + 1, 0);
        for (int32_t row = 0; row < n_rows; ++row) ++start[id(row) + 1];
        for (int32_t e = 0; e < n_experts; ++e) start[e + 1] += start[e];
        for (int32_t row = 0; row < n_rows; ++row) rows[start[id(row)]++] = row;  // `start` now has each expert's end
        int32_t n = 0;
        for (int32_t e = 0, from = 0; e < n_experts; from = start[e++]) {
            for (int32_t at = from; at < start[e]; at += ROWS_MAX) {
                first[n] = at;
                expert[n++] = e;
            }
        }
        first[n] = n_rows;
        start[n_experts] = n;
    }
};

}  // namespace
