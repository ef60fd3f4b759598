#include "attention.h"

#if defined(SVC_ATTENTION)

#include "attention_operation.h"
#include "attention_prefill.h"

namespace {

constexpr int RANGE_CELLS_MIN = 512;  // results of ranges must be merged, so ranges are not smaller
constexpr int PARTIALS_PER_THREAD = 4;  // units of 64 queries that cover a range of their cells; the work memory has room for so many

// Adds weighted values and the sum of their weights, relative to the maximum `other_M`, to such sums before them. Not inlined: it
// rounds in the same way for all of its callers.
__attribute__((noinline)) void add_sums(int DV, const float * other, float other_M, float other_S, float * sum, float & M, float & S) {
    if (other_M == -INFINITY) return;
    const float top = std::max(M, other_M), scale = expf(M - top), other_scale = expf(other_M - top);
    for (int d = 0; d < DV; d += LANES) {
        const GGML_F32_VEC scaled = GGML_F32_VEC_MUL(GGML_F32_VEC_LOAD(sum + d), GGML_F32_VEC_SET1(scale));
        GGML_F32_VEC_STORE(sum + d, GGML_F32_VEC_FMA(scaled, GGML_F32_VEC_LOAD(other + d), GGML_F32_VEC_SET1(other_scale)));
    }
    S = S * scale + other_S * other_scale;
    M = top;
}

// Queries of a unit and their running sums.
struct unit_state {
    const int DK, DV;
    float * Q;  // [64][DK], scaled
    float * sum;  // [64][padded(DV)] of the current segment
    float * total;  // [64][padded(DV)] of the segments before it
    float * P;  // [64][32] scores, then weights
    float * bias;  // [64][32] mask of each row
    float * K;  // [DK][32]
    float * V;  // [32][padded(DV)]
    float * converted;  // [32][DK + DV] keys and values of other types than F16
    float M[UNIT_QUERIES];
    GGML_F32_VEC S[UNIT_QUERIES];
    float total_M[UNIT_QUERIES], total_S[UNIT_QUERIES];

    static size_t floats(int DK, int DV) {
        return UNIT_QUERIES * (DK + 2 * padded(DV) + 2 * UNIT_CELLS) + UNIT_CELLS * (2 * DK + 2 * padded(DV)) + 16;
    }

    unit_state(int DK, int DV, float * buffer) : DK(DK), DV(DV) {
        Q = buffer;
        sum = Q + UNIT_QUERIES * DK;
        total = sum + UNIT_QUERIES * padded(DV);
        P = total + UNIT_QUERIES * padded(DV);
        bias = P + UNIT_QUERIES * UNIT_CELLS;
        K = bias + UNIT_QUERIES * UNIT_CELLS;
        V = K + UNIT_CELLS * DK;
        converted = V + UNIT_CELLS * padded(DV);
    }

    void start(int i, const float * query, float scale) {
        ggml_vec_cpy_f32(DK, Q + i * DK, query);
        ggml_vec_scale_f32(DK, Q + i * DK, scale);
        clear(i);
        memset(total + i * padded(DV), 0, padded(DV) * sizeof(float));
        total_M[i] = -INFINITY;
        total_S[i] = 0.0f;
    }

    void clear(int i) {
        memset(sum + i * padded(DV), 0, padded(DV) * sizeof(float));
        M[i] = -INFINITY;
        S[i] = GGML_F32_VEC_ZERO;
    }

    // A segment has ended: another one begins.
    void end_segment(int queries) {
        for (int i = 0; i < queries; ++i) {
            add_sums(DV, sum + i * padded(DV), M[i], vec_sum(S[i]), total + i * padded(DV), total_M[i], total_S[i]);
            clear(i);
        }
    }

    // Turns a query's scores into weights. `b`: mask values, or NULL.
    void softmax_weights(int i, float softcap, const float * b, float slope) {
        float * p = P + i * UNIT_CELLS;
        if (softcap != 0.0f) {
            ggml_vec_tanh_f32(UNIT_CELLS, p, p);
            ggml_vec_scale_f32(UNIT_CELLS, p, softcap);
        }
        constexpr int n = UNIT_CELLS / LANES;
        GGML_F32_VEC v[n];
        for (int j = 0; j < n; ++j) {
            v[j] = GGML_F32_VEC_LOAD(p + j * LANES);
            if (b) v[j] = GGML_F32_VEC_FMA(v[j], GGML_F32_VEC_LOAD(b + j * LANES), GGML_F32_VEC_SET1(slope));
        }
        GGML_F32_VEC most = v[0];
        for (int j = 1; j < n; ++j) most = vec_max(most, v[j]);
        const float max = vec_max(most);
        if (max == -INFINITY) {  // all hidden
            memset(p, 0, UNIT_CELLS * sizeof(float));
            return;
        }
        if (max > M[i]) {
            const float ms = expf(M[i] - max);
            if (M[i] != -INFINITY) ggml_vec_scale_f32(DV, sum + i * padded(DV), ms);  // `ms` may be 0
            S[i] = GGML_F32_VEC_MUL(S[i], GGML_F32_VEC_SET1(ms));
            M[i] = max;
        }
        for (int j = 0; j < n; ++j) {
            v[j] = ggml_v_expf(vec_sub(v[j], GGML_F32_VEC_SET1(M[i])));
            S[i] = GGML_F32_VEC_ADD(S[i], v[j]);
            GGML_F32_VEC_STORE(p + j * LANES, v[j]);
        }
    }
};

// A step of 32 cells in a tile's list, of which `shown` has a bit for each that counts.
struct cell_step {
    int at;
    uint32_t shown;
    bool biased;  // the state has mask values

    cell_step(const operation & op, const work_unit & unit, unit_state & state, int at) : at(at), shown(unit.tile->group.shown(at)), biased(shown != ~0u || !unit.tile->group.is_unmasked(at)) {
        const int32_t * cells = unit.tile->group.cells.data() + at;
        for (int r = 0; biased && r < unit.tile->group.rows; ++r) {
            const ggml_fp16_t * mask = op.mask_row(unit.tile->stream, unit.tile->row + r);
            for (int j = 0; j < UNIT_CELLS; ++j) {
                const bool counts = shown >> j & 1;
                state.bias[r * UNIT_CELLS + j] = !counts ? -INFINITY : mask ? GGML_CPU_FP16_TO_FP32(mask[cells[j]])
                                                                            : 0.0f;
            }
        }
    }
};

// Computes a step for the heads from `head` on that share a key head.
template <typename T>
void compute_step(const operation & op, const work_unit & unit, unit_state & state, const cell_step & step, int head) {
    const int DK = op.DK, DV = op.DV, stream = unit.tile->stream, rows = unit.tile->group.rows;
    const query_group & group = unit.tile->group;
    const int32_t * cells = group.cells.data() + step.at;
    const int count = 32 - __builtin_clz(step.shown), left = unit.end - step.at - UNIT_CELLS;
    const int n = rows * std::min(op.heads_of_key, unit.heads);  // queries per key head
    const int key = (unit.head + head) / op.heads_of_key, first = head * rows;
    const cell_sources<T> k = op.rows<T>(op.k, stream, key, cells, count), v = op.rows<T>(op.v, stream, key, cells, count);
    const cell_rows<T> k_rows(k, DK, state.converted), v_rows(v, DV, state.converted + UNIT_CELLS * DK);
    const cell_sources<T> k_next = op.rows<T>(op.k, stream, key, cells + UNIT_CELLS, left);
    const float * Q = state.Q + first * DK;
    float *P = state.P + first * UNIT_CELLS, *sum = state.sum + first * padded(DV);
    if (group.by_position) {
        fixed_scores(n, k_rows, v, DK, Q, P);
    } else if (!few_scores(n, k_rows, v, DK, Q, P)) {
        transpose_rows(k_rows, v, DK, state.K);
        gemm(n, Q, DK, state.K, UNIT_CELLS, P, UNIT_CELLS, DK, false);
    }
    for (int i = first; i < first + n; ++i) {
        state.softmax_weights(i, op.softcap, step.biased ? state.bias + i % rows * UNIT_CELLS : NULL, op.slope(unit.head + i / rows));
    }
    if (!few_values(n, v_rows, k_next, DV, P, sum)) {
        unpack_rows(v_rows, k_next, DV, state.V);
        for (int d = 0; d < DV; d += 32) gemm(n, P, UNIT_CELLS, state.V + d, padded(DV), sum + d, padded(DV), UNIT_CELLS, true);
    }
}

template <typename T>
void compute_unit(const operation & op, const work_unit & unit, unit_state & state) {
    const query_group & group = unit.tile->group;
    const int DV = op.DV, stream = unit.tile->stream, row = unit.tile->row, rows = group.rows, queries = unit.queries();
    for (int i = 0; i < queries; ++i) state.start(i, op.query(stream, row + i % rows, unit.head + i / rows), op.scale);

    const int shared = std::min(op.heads_of_key, unit.heads);
    auto segment = std::upper_bound(group.segments.begin(), group.segments.end(), unit.begin);
    for (int at = unit.begin; at < unit.end; at += UNIT_CELLS) {
        if (group.by_position && at == *segment) {
            state.end_segment(queries);
            ++segment;
        }
        const cell_step step(op, unit, state, at);
        for (int head = 0; head < unit.heads; head += shared) compute_step<T>(op, unit, state, step, head);
    }
    const bool is_whole = unit.partial == NULL;
    if (is_whole && group.by_position) state.end_segment(queries);
    float * sum = is_whole && group.by_position ? state.total : state.sum;
    for (int i = 0; i < queries; ++i, sum += padded(DV)) {
        const bool is_total = is_whole && group.by_position;
        unit.write(op, i, sum, is_total ? state.total_M[i] : state.M[i], is_total ? state.total_S[i] : vec_sum(state.S[i]));
    }
}

template <typename T>
void compute_any_unit(const operation & op, const work_unit & unit, float * buffer) {
    if (unit.prefill) return prefill_state<T>(op, unit, buffer).compute();
    unit_state state(op.DK, op.DV, buffer);
    compute_unit<T>(op, unit, state);
}

// Merges the partial results of a query from the ranges of its cells.
void merge(const operation & op, const work_unit * units, int n, int i, float * sum) {
    float M = -INFINITY, S = 0.0f;
    memset(sum, 0, op.DV * sizeof(float));
    for (int u = 0; u < n; ++u) {
        const float * stats = units[u].partial + units[u].queries() * op.DV + 2 * i;
        add_sums(op.DV, units[u].partial + i * op.DV, stats[0], stats[1], sum, M, S);
    }
    const int rows = units->tile->group.rows;
    op.finish(units->tile->stream, units->tile->row + i % rows, units->head + i / rows, sum, M, S);
}

size_t state_floats(int DK, int DV) { return std::max(unit_state::floats(DK, DV), prefill_state<float>::floats(DK, DV)); }

size_t partial_floats(int queries, int DV) { return queries * (DV + 2); }

// Rows per tile: as many as units of prompts can have, but enough tiles for all threads.
int rows_of_tile(const operation & op, int nth) {
    int queries = op.positions(0) ? UNIT_QUERIES : prefill_queries(op.DK, op.DV);
    while (queries > UNIT_QUERIES && op.q->ne[1] * op.q->ne[3] * op.n_heads < 4 * nth * queries) queries /= 2;
    return std::max(queries / op.heads_of_key, 8);
}

// Divides an operation into units, at least about two per thread, those of the last rows first: prompts come last. Units of one
// tile and head are adjacent. Deterministic: every thread computes the same units.
void make_units(const operation & op, int nth, float * partials, std::vector<query_tile> & tiles, std::vector<work_unit> & units) {
    const int n_rows = op.q->ne[1];
    const int rows_max = rows_of_tile(op, nth);
    size_t n = 0;
    for (int stream = 0; stream < op.q->ne[3]; ++stream) {
        for (int row = 0; row < n_rows; row += tiles[n++].group.rows) {
            if (tiles.size() == n) tiles.emplace_back();
            tiles[n].stream = stream;
            tiles[n].row = row;
            tiles[n].group.find((const char *) op.mask_row(stream, row), op.mask ? op.mask->nb[1] : 0, std::min(rows_max, n_rows - row),
                op.k->ne[1], row > 0 ? &tiles[n - 1].group : NULL, op.positions(stream));
        }
    }
    const auto cost = [](const query_group & group) { return (double) group.cells.size() * (4 + group.rows); };
    int room = PARTIALS_PER_THREAD * nth * UNIT_QUERIES;
    double total = 1;
    for (size_t t = 0; t < n; ++t) total += cost(tiles[t].group) * op.n_heads;
    units.clear();
    for (size_t t = n; t-- > 0;) {
        const query_group & group = tiles[t].group;
        const int cells = group.cells.size();
        const bool prefill = !group.by_position && group.rows * op.heads_of_key >= PREFILL_QUERIES_MIN;
        const int most = std::max(1, (prefill ? prefill_queries(op.DK, op.DV) : UNIT_QUERIES) / group.rows);
        int heads = op.heads_of_unit(prefill ? std::min(op.heads_of_key, most) : most);
        const int wanted = ceil(cost(group) * heads / total * 2 * nth);
        int ranges = std::max(1, std::min(wanted, cells / RANGE_CELLS_MIN));
        const int queries = op.n_heads * group.rows;
        if (!group.by_position) {
            ranges = std::max(1, std::min(ranges, room / queries));
        } else if (ranges > 1) {  // one for each segment, or one for all
            ranges = group.segments.size() - 1;
            if (queries * ranges > room) ranges = 1;
        }
        if (ranges < wanted) heads = op.heads_of_unit(std::max(1, heads * ranges / wanted));
        if (ranges > 1) room -= queries * ranges;
        const auto at = [&](int i) {
            if (i == ranges) return cells;
            return group.by_position ? group.segments[i] : cells / UNIT_CELLS * i / ranges * UNIT_CELLS;
        };
        for (int head = 0; head < op.n_heads; head += heads) {
            for (int range = 0; range < ranges; ++range) {
                units.push_back({&tiles[t], head, heads, at(range), at(range + 1), prefill, ranges == 1 ? NULL : partials});
                if (ranges > 1) partials += partial_floats(units.back().queries(), op.DV);
            }
        }
    }
}

void compute_units(const ggml_compute_params * params, const operation & op) {
    static thread_local std::vector<query_tile> tiles;  // reused: their lists of cells are long
    static thread_local std::vector<work_unit> units;
    float * buffer = (float *) params->wdata + params->ith * state_floats(op.DK, op.DV);
    float * partials = (float *) params->wdata + params->nth * state_floats(op.DK, op.DV);
    make_units(op, params->nth, partials, tiles, units);

    if (params->ith == 0) ggml_threadpool_chunk_set(params->threadpool, params->nth);
    ggml_barrier(params->threadpool);
    const auto compute = op.is_f16() ? compute_any_unit<ggml_fp16_t> : compute_any_unit<float>;
    const int n = units.size();
    for (int i = params->ith; i < n; i = ggml_threadpool_chunk_add(params->threadpool, 1)) compute(op, units[i], buffer);

    const auto is_partial = [](const work_unit & unit) { return unit.partial != NULL; };
    if (std::none_of(units.begin(), units.end(), is_partial)) return;
    ggml_barrier(params->threadpool);
    for (int from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && units[to].tile == units[from].tile && units[to].head == units[from].head; ++to) {}
        const int queries = is_partial(units[from]) ? units[from].queries() : 0;
        for (int i = params->ith; i < queries; i += params->nth) merge(op, units.data() + from, to - from, i, buffer);
    }
}

}  // namespace

bool svc_attention_supported(const ggml_tensor * dst) {
    return dst->op == GGML_OP_FLASH_ATTN_EXT && operation(const_cast<ggml_tensor *>(dst)).supported();
}

size_t svc_attention_work_size(int n_threads, const ggml_tensor * dst) {
    const int DK = dst->src[1]->ne[0], DV = dst->src[2]->ne[0];
    return sizeof(float) * n_threads * (state_floats(DK, DV) + PARTIALS_PER_THREAD * partial_floats(UNIT_QUERIES, DV));
}

void svc_attention(const ggml_compute_params * params, ggml_tensor * dst) {
    compute_units(params, operation(dst));
}

#endif  // SVC_ATTENTION
