// Groups query rows of an attention operation by the cells they see, and orders these cells: by index, or in blocks of 32 positions.
// Included by attention.cpp only.
#pragma once

#include "ggml.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

constexpr int SPAN_CELLS = 32;  // cells whose masks are compared together
constexpr int BLOCK_POSITIONS = 32;
constexpr int SEGMENT_BLOCKS = 16;  // blocks whose sums are added to those before them at once

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
#elif defined(__aarch64__)
    if (end - start == SPAN_CELLS) {
        const uint16x8_t x = vdupq_n_u16(value);
        const uint8x8_t bits = {1, 2, 4, 8, 16, 32, 64, 128};
        const auto equal = [&](int i) { return (uint32_t) vaddv_u8(vand_u8(vmovn_u16(vceqq_u16(vld1q_u16(mask + start + i), x)), bits)) << i; };
        return equal(0) | equal(8) | equal(16) | equal(24);
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
//
// By position, cell i of the list has position 32 * n + i % 32, whatever the rows, so that a row's sums are always added in the same
// order. A place whose position no row sees holds another cell of its block; `shown` has a bit for each cell that counts.
struct query_group {
    int rows = 0;  // at most `rows_max`
    std::vector<int32_t> cells;  // visible to any row, ascending by index or position
    bool by_position = false;
    std::vector<int32_t> segments;  // by position: where each begins in `cells`, and the end

    // `before`: group of the preceding rows; its look-ahead may cover the first row of this group. `positions`: of each cell, or NULL
    // to order cells by index. So are the cells of a row that sees two of one position (those of an image).
    void find(const char * mask, size_t nbm1, int rows_max, int64_t n_cells, query_group * before = NULL, const int32_t * positions = NULL) {
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
        all.assign(spans, 0);
        taken.clear();
        by_position = positions != NULL && takes(last, positions);
        all = last;
        for (rows = 1; rows < rows_max; ++rows) {
            int64_t own = 0, common = 0;
            for (int64_t i = 0; i < spans; ++i) {
                current[i] = visible_in_span(row(rows), begin(i), end(i));
                own += __builtin_popcount(current[i]);
                common += __builtin_popcount(current[i] & last[i]);
            }
            if (2 * common < own || (by_position && !takes(current, positions))) {
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
        if (by_position) arrange(positions);
    }

    // One bit for each of the cells from index `at` on, at most 32, that counts.
    uint32_t shown(size_t at) const {
        if (by_position) return present[at / BLOCK_POSITIONS];
        return cells.size() - at >= 32 ? ~0u : (1u << (cells.size() - at)) - 1;
    }

    // Whether the mask is known to be 0 for 32 cells from index `at` on.
    bool is_unmasked(size_t at) const {
        for (size_t i = at; i < at + 32; ++i) {
            if ((unmasked[cells[i] / SPAN_CELLS] >> cells[i] % SPAN_CELLS & 1) == 0) return false;
        }
        return true;
    }

  private:
    std::vector<uint32_t> all, last, current, unmasked;  // one bit per cell
    std::vector<uint32_t> taken;  // one bit per position that a row sees
    std::vector<uint32_t> present;  // by position: the bits of each block
    std::vector<int32_t> places;  // cell of each position, or -1
    const char * next = NULL;  // row of the mask that `current` describes

    // Adds the positions of cells that the group does not have yet. False: it has another cell of one of these positions.
    bool takes(const std::vector<uint32_t> & visible, const int32_t * positions) {
        for (size_t i = 0; i < visible.size(); ++i) {
            for (uint32_t fresh = visible[i] & ~all[i]; fresh != 0; fresh &= fresh - 1) {
                const uint32_t position = positions[i * SPAN_CELLS + __builtin_ctz(fresh)];
                if (position / 32 >= taken.size()) taken.resize(2 * (position / 32 + 1));
                const uint32_t bit = 1u << position % 32;
                if (taken[position / 32] & bit) return false;
                taken[position / 32] |= bit;
            }
        }
        return true;
    }

    // Orders the cells by position, in the blocks that have any.
    void arrange(const int32_t * positions) {
        int32_t first = INT32_MAX, last_position = 0;
        for (const int32_t cell : cells) {
            first = std::min(first, positions[cell]);
            last_position = std::max(last_position, positions[cell]);
        }
        const int from = cells.empty() ? 0 : first / BLOCK_POSITIONS, to = cells.empty() ? 0 : last_position / BLOCK_POSITIONS + 1;
        places.assign((to - from) * BLOCK_POSITIONS, -1);
        for (const int32_t cell : cells) places[positions[cell] - from * BLOCK_POSITIONS] = cell;
        cells.clear();
        present.clear();
        segments.clear();
        for (int block = from, segment = -1; block < to; ++block) {
            const int32_t * place = places.data() + (block - from) * BLOCK_POSITIONS;
            const int32_t any = *std::max_element(place, place + BLOCK_POSITIONS);
            if (any < 0) continue;
            if (block / SEGMENT_BLOCKS != segment) segments.push_back(cells.size());
            segment = block / SEGMENT_BLOCKS;
            uint32_t bits = 0;
            for (int i = 0; i < BLOCK_POSITIONS; ++i) {
                bits |= (uint32_t) (place[i] >= 0) << i;
                cells.push_back(place[i] >= 0 ? place[i] : any);
            }
            present.push_back(bits);
        }
        segments.push_back(cells.size());
    }
};

}  // namespace
