// Attention of many queries that share keys, as in a prompt. Included by attention.cpp only.
//
// Keys and values are converted once for up to 256 queries, 128 cells at a time: a query's maximum is searched, and its sum of values
// loaded and stored, once in 128 cells. Products leave out what a causal mask hides, in blocks of rows and 32 cells.
#pragma once

#include "attention_operation.h"

namespace {

constexpr int BLOCK_CELLS = 128;
constexpr int BLOCK_PANELS = BLOCK_CELLS / UNIT_CELLS;
constexpr int PREFILL_QUERIES_MIN = 32;  // fewer do not pay for the conversion of 128 cells
constexpr int MAX_GROUPS = 256 / PRODUCT_QUERIES + 1;

// The most queries of a unit: their own and their sums should fit the second-level cache.
inline int prefill_queries(int DK, int DV) {
    return DK + DV <= 256 ? 256 : 128;
}

// A block of at most 128 cells in a tile's list, with the mask of each row if it hides or biases any of them.
class cell_block {
  public:
    const int32_t * cells;
    int count;  // cells
    int panels;  // of 32 cells

    cell_block(const operation & op, const work_unit & unit, int at, float * bias)
        : cells(unit.tile->group.cells.data() + at), count(std::min(BLOCK_CELLS, unit.end - at)), panels((count + UNIT_CELLS - 1) / UNIT_CELLS),
          rows(unit.tile->group.rows), bias(bias) {
        const query_group & group = unit.tile->group;
        const int parts = (rows + PRODUCT_QUERIES - 1) / PRODUCT_QUERIES;
        group_rows = (rows + parts - 1) / parts;
        for (int panel = 0; panel < panels; ++panel) {
            is_biased |= group.shown(at + panel * UNIT_CELLS) != ~0u || !group.is_unmasked(at + panel * UNIT_CELLS);
        }
        for (int g = 0; g * group_rows < rows; ++g) first[g] = 0, end[g] = panels;
        if (is_biased) find_visible(op, unit);
    }

    const float * row_bias(int row) const { return is_biased ? bias + row * BLOCK_CELLS : NULL; }
    int first_panel(int row) const { return first[row / group_rows]; }
    int end_panel(int row) const { return end[row / group_rows]; }

    // Calls f(row, rows, first panel, end) for runs of rows that see the same panels. Rows that see none are left out.
    template <typename F>
    void each_run(const F & f) const {
        for (int row = 0, to; row < rows; row = to) {
            for (to = row + group_rows; to < rows && first_panel(to) == first_panel(row) && end_panel(to) == end_panel(row); to += group_rows) {}
            to = std::min(to, rows);
            if (first_panel(row) < end_panel(row)) f(row, to - row, first_panel(row), end_panel(row));
        }
    }

    // The same for the rows that see a panel.
    template <typename F>
    void each_run_of(int panel, const F & f) const {
        const auto sees = [&](int row) { return first_panel(row) <= panel && panel < end_panel(row); };
        for (int row = 0, to; row < rows; row = to) {
            for (to = row + group_rows; to < rows && sees(to) == sees(row); to += group_rows) {}
            to = std::min(to, rows);
            if (sees(row)) f(row, to - row);
        }
    }

  private:
    const int rows;
    int group_rows;  // rows whose products are computed together
    float * const bias;  // [rows][128]
    bool is_biased = false;
    uint8_t first[MAX_GROUPS], end[MAX_GROUPS];  // panels that a group of rows sees

    void find_visible(const operation & op, const work_unit & unit) {
        const int tile_row = unit.tile->row, stream = unit.tile->stream;
        for (int row = 0; row < rows; ++row) {
            const int g = row / group_rows;
            if (row % group_rows == 0) first[g] = panels, end[g] = 0;
            for (int panel = 0; panel < panels; ++panel) {
                float * b = bias + row * BLOCK_CELLS + panel * UNIT_CELLS;
                if (!fill(op.mask_row(stream, tile_row + row), panel, b)) continue;
                first[g] = std::min<int>(first[g], panel);
                end[g] = std::max(end[g], (uint8_t) (panel + 1));
            }
        }
    }

    // Whether the row sees any cell of the panel.
    bool fill(const ggml_fp16_t * mask, int panel, float * b) const {
        const int32_t * at = cells + panel * UNIT_CELLS;
        const int n = std::min(UNIT_CELLS, count - panel * UNIT_CELLS);
        const bool is_contiguous = mask && n == UNIT_CELLS && at[UNIT_CELLS - 1] - at[0] == UNIT_CELLS - 1;
        GGML_F32_VEC most = GGML_F32_VEC_SET1(-INFINITY);
        for (int j = 0; j < UNIT_CELLS && !is_contiguous; ++j) {
            b[j] = j >= n ? -INFINITY : mask ? GGML_CPU_FP16_TO_FP32(mask[at[j]])
                                             : 0.0f;
        }
        for (int j = 0; j < UNIT_CELLS; j += LANES) {
            const GGML_F32_VEC v = is_contiguous ? load_f16(mask + at[0] + j) : GGML_F32_VEC_LOAD(b + j);
            GGML_F32_VEC_STORE(b + j, v);
            most = vec_max(most, v);
        }
        return vec_max(most) > -INFINITY;
    }
};

// The queries of a unit, their running sums and the operands of a product.
template <typename T>
class prefill_state {
  public:
    static size_t floats(int DK, int DV) {
        return prefill_queries(DK, DV) * (DK + padded(DV) + 2 * BLOCK_CELLS + LANES + 1) + UNIT_CELLS * (2 * DK + BLOCK_CELLS) + 16;
    }

    prefill_state(const operation & op, const work_unit & unit, float * buffer)
        : op(op), unit(unit), DK(op.DK), DV(op.DV), rows(unit.tile->group.rows), queries(unit.queries()) {
        const int most = prefill_queries(DK, DV);
        Q = buffer;
        sum = Q + most * DK;
        P = sum + most * padded(DV);
        bias = P + most * BLOCK_CELLS;
        S = bias + most * BLOCK_CELLS;
        K = S + most * LANES;
        V = K + UNIT_CELLS * DK;
        M = V + UNIT_CELLS * BLOCK_CELLS;
        converted = M + most;
    }

    void compute() {
        for (int i = 0; i < queries; ++i) {
            ggml_vec_cpy_f32(DK, Q + i * DK, op.query(unit.tile->stream, unit.tile->row + i % rows, unit.head + i / rows));
            ggml_vec_scale_f32(DK, Q + i * DK, op.scale);
            M[i] = -INFINITY;
        }
        memset(sum, 0, queries * padded(DV) * sizeof(float));
        memset(S, 0, queries * LANES * sizeof(float));
        for (int at = unit.begin; at < unit.end; at += BLOCK_CELLS) {
            const cell_block block(op, unit, at, bias);
            for (int panel = 0; panel < block.panels; ++panel) add_scores(block, panel);
            for (int i = 0; i < queries; ++i) softmax_weights(block, i);
            for (int d = 0; d < DV; d += 32) add_values(block, d);
        }
        for (int i = 0; i < queries; ++i) unit.write(op, i, sum + i * padded(DV), M[i], vec_sum(GGML_F32_VEC_LOAD(S + i * LANES)));
    }

  private:
    const operation & op;
    const work_unit & unit;
    const int DK, DV, rows, queries;
    float * Q;  // [queries][DK], scaled
    float * sum;  // [queries][padded(DV)]
    float * P;  // [queries][128] scores, then weights
    float * bias;  // [rows][128]
    float * S;  // [queries][LANES] sums of weights
    float * K;  // [DK][32]
    float * V;  // [128][32]
    float * M;  // [queries]
    float * converted;  // [32][DK] keys of other types than F16

    cell_sources<T> panel_rows(const ggml_tensor * t, const cell_block & block, int panel) const {
        const int key = unit.head / op.heads_of_key;
        return op.rows<T>(t, unit.tile->stream, key, block.cells + panel * UNIT_CELLS, block.count - panel * UNIT_CELLS);
    }

    // Calls f(query, queries) for rows of all heads, at once where they are adjacent.
    template <typename F>
    void each_head(int row, int n, const F & f) const {
        if (n == rows) return f(0, queries);
        for (int i = row; i < queries; i += rows) f(i, n);
    }

    void add_scores(const cell_block & block, int panel) {
        const cell_sources<T> keys = panel_rows(op.k, block, panel);
        transpose_rows(cell_rows<T>(keys, DK, converted), panel_rows(op.v, block, panel), DK, K);
        block.each_run_of(panel, [&](int row, int n) {
            each_head(row, n, [&](int i, int n) { gemm(n, Q + i * DK, DK, K, UNIT_CELLS, P + i * BLOCK_CELLS + panel * UNIT_CELLS, BLOCK_CELLS, DK, false); });
        });
    }

    // Turns a query's scores into weights.
    void softmax_weights(const cell_block & block, int i) {
        const int row = i % rows, first = block.first_panel(row) * UNIT_CELLS, n = block.end_panel(row) * UNIT_CELLS - first;
        if (n <= 0) return;
        float * p = P + i * BLOCK_CELLS + first;
        if (op.softcap != 0.0f) {
            ggml_vec_tanh_f32(n, p, p);
            ggml_vec_scale_f32(n, p, op.softcap);
        }
        const float * b = block.row_bias(row);
        const GGML_F32_VEC slope = GGML_F32_VEC_SET1(b ? op.slope(unit.head + i / rows) : 0.0f);
        GGML_F32_VEC most = GGML_F32_VEC_LOAD(p);
        if (b) most = GGML_F32_VEC_SET1(-INFINITY);
        for (int j = 0; j < n; j += LANES) {
            GGML_F32_VEC v = GGML_F32_VEC_LOAD(p + j);
            if (b) {
                v = GGML_F32_VEC_FMA(v, GGML_F32_VEC_LOAD(b + first + j), slope);
                GGML_F32_VEC_STORE(p + j, v);
            }
            most = vec_max(most, v);
        }
        const float max = vec_max(most);
        if (max == -INFINITY) {  // all hidden
            memset(p, 0, n * sizeof(float));
            return;
        }
        GGML_F32_VEC total = GGML_F32_VEC_LOAD(S + i * LANES);
        if (max > M[i]) {
            const float ms = expf(M[i] - max);
            if (M[i] != -INFINITY) ggml_vec_scale_f32(DV, sum + i * padded(DV), ms);  // `ms` may be 0
            total = GGML_F32_VEC_MUL(total, GGML_F32_VEC_SET1(ms));
            M[i] = max;
        }
        for (int j = 0; j < n; j += LANES) {
            const GGML_F32_VEC v = ggml_v_expf(vec_sub(GGML_F32_VEC_LOAD(p + j), GGML_F32_VEC_SET1(M[i])));
            total = GGML_F32_VEC_ADD(total, v);
            GGML_F32_VEC_STORE(p + j, v);
        }
        GGML_F32_VEC_STORE(S + i * LANES, total);
    }

    // Adds 32 weighted values from `d` on.
    void add_values(const cell_block & block, int d) {
        const int32_t * next = block.cells + BLOCK_CELLS;
        const int left = unit.end - (int) (next - unit.tile->group.cells.data());
        for (int panel = 0; panel < block.panels; ++panel) {
            const cell_sources<T> k_next = op.rows<T>(op.k, unit.tile->stream, unit.head / op.heads_of_key, next + panel * UNIT_CELLS, left - panel * UNIT_CELLS);
            unpack_panel(panel_rows(op.v, block, panel), k_next, d, std::min(32, DV - d), V + panel * UNIT_CELLS * 32);
        }
        block.each_run([&](int row, int n, int from, int to) {
            from *= UNIT_CELLS;
            to *= UNIT_CELLS;
            each_head(row, n, [&](int i, int n) {
                gemm(n, P + i * BLOCK_CELLS + from, BLOCK_CELLS, V + from * 32, 32, sum + i * padded(DV) + d, padded(DV), to - from, true);
            });
        });
    }
};

}  // namespace
