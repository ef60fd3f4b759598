// Groups query rows of an attention operation by the cells they see. Included by attention.cpp only.
#pragma once

#include "ggml.h"

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

constexpr int SPAN_CELLS = 32;  // cells whose masks are compared together

// One bit per cell from `start` to `end` (at most a span) whose mask equals `value`.
inline uint32_t mask_equals(const ggml_fp16_t * mask, int64_t start, int64_t end, uint16_t value) {
#if defined(__AVX512BW__)
    if (end - start == SPAN_CELLS) return _mm512_cmpeq_epi16_mask(_mm512_loadu_si512(mask + start), _mm512_set1_epi16((short) value));
#elif defined(__AVX2__)
    if (end - start == SPAN_CELLS) {
        const __m256i x = _mm256_set1_epi16((short) value);
        const __m256i a = _mm256_cmpeq_epi16(_mm256_loadu_si256((const __m256i *) (mask + start)), x);
        const __m256i b = _mm256_cmpeq_epi16(_mm256_loadu_si256((const __m256i *) (mask + start + 16)), x);
        return _mm256_movemask_epi8(_mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xD8));
    }
#endif
    uint32_t equal = 0;
    for (int64_t i = start; i < end; ++i) equal |= (uint32_t) (mask[i] == value) << (i - start);
    return equal;
}

// One bit per cell of the span that the mask does not hide. `mask` may be NULL.
inline uint32_t visible_in_span(const ggml_fp16_t * mask, int64_t start, int64_t end) {
    const uint32_t all = end - start == SPAN_CELLS ? ~0u : (1u << (end - start)) - 1;
    return mask ? all & ~mask_equals(mask, start, end, 0xFC00) : all;  // minus infinity
}

// Consecutive query rows that share most of their visible cells (rows of one sequence do), and these cells.
struct query_group {
    int rows = 0;  // at most `rows_max`
    std::vector<int32_t> cells;  // visible to any row, ascending

    // `before`: group of the preceding rows; its look-ahead may cover the first row of this group.
    void find(const char * mask, size_t nbm1, int rows_max, int64_t n_cells, query_group * before = NULL) {
        const int64_t spans = (n_cells + SPAN_CELLS - 1) / SPAN_CELLS;
        const auto row = [&](int r) { return mask ? (const ggml_fp16_t *) (mask + r * nbm1) : NULL; };
        const auto begin = [](int64_t i) { return i * SPAN_CELLS; };
        const auto end = [&](int64_t i) { return std::min((i + 1) * SPAN_CELLS, n_cells); };
        last.resize(spans);
        current.resize(spans);
        if (before && before->next == mask && mask) {
            last.swap(before->current);
        } else {
            for (int64_t i = 0; i < spans; ++i) last[i] = visible_in_span(row(0), begin(i), end(i));
        }
        next = NULL;
        all = last;
        for (rows = 1; rows < rows_max; ++rows) {
            int64_t own = 0, common = 0;
            for (int64_t i = 0; i < spans; ++i) {
                current[i] = visible_in_span(row(rows), begin(i), end(i));
                own += __builtin_popcount(current[i]);
                common += __builtin_popcount(current[i] & last[i]);
            }
            if (2 * common < own) {
                next = (const char *) row(rows);
                break;
            }
            for (int64_t i = 0; i < spans; ++i) all[i] |= current[i];
            last.swap(current);
        }
        unmasked.assign(spans, rows == 1 ? 0 : ~0u);  // not worth computing for a single row
        for (int r = 0; mask && rows > 1 && r < rows; ++r) {
            for (int64_t i = 0; i < spans; ++i) unmasked[i] &= mask_equals(row(r), begin(i), end(i), 0);
        }
        cells.clear();
        for (int64_t i = 0; i < spans; ++i) {
            for (uint32_t seen = all[i]; seen != 0; seen &= seen - 1) cells.push_back(i * SPAN_CELLS + __builtin_ctz(seen));
        }
    }

    // Whether the mask is known to be 0 for `count` cells from index `at` on.
    bool is_unmasked(size_t at, size_t count) const {
        for (size_t i = at; i < at + count; ++i) {
            if ((unmasked[cells[i] / SPAN_CELLS] >> cells[i] % SPAN_CELLS & 1) == 0) return false;
        }
        return true;
    }

  private:
    std::vector<uint32_t> all, last, current, unmasked;  // one bit per cell
    const char * next = NULL;  // row of the mask that `current` describes
};

}  // namespace
