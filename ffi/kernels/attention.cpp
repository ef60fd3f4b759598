#include "attention.h"

#if defined(SVC_ATTENTION)

#include "attention_vectors.h"
#include "query_group.h"
#include "svc_kernels.h"

#include <cmath>

namespace {

constexpr int UNIT_QUERIES = 64;
constexpr int RANGE_CELLS_MIN = 512;  // results of ranges must be merged, so ranges are not smaller
constexpr int PARTIALS_PER_THREAD = 4;  // units of 64 queries that cover a range of their cells; the work memory has room for so many

// Rows of queries of one group. Its work is divided into units.
struct query_tile {
    int stream, row;
    query_group group;
};

// Some heads of a tile, so that it has at most 64 queries, and a range of the tile's cells. A unit computes 32 cells at a time and
// there one key head after the other, as these are adjacent in memory. Keys are transposed once for all queries that share them, so
// that a vector has 16 (or 8, or 4) cells; a product keeps as many queries times two vectors in registers as there are registers.
struct work_unit {
    const query_tile * tile;
    int head, heads;  // a multiple or divisor of the heads that share keys
    int begin, end;  // in the tile's list of cells
    float * partial;  // [queries][DV], then maximum and sum of each query; NULL if the range has all of the tile's cells

    int queries() const { return tile->group.rows * heads; }
};

// Operands and parameters of one GGML_OP_FLASH_ATTN_EXT.
struct operation {
    const ggml_tensor *q, *k, *v, *mask, *sinks;
    ggml_tensor * dst;
    int DK, DV, n_heads, heads_of_key;
    float scale, max_bias, softcap;

    explicit operation(ggml_tensor * dst) : q(dst->src[0]), k(dst->src[1]), v(dst->src[2]), mask(dst->src[3]), sinks(dst->src[4]), dst(dst),
                                            DK(k->ne[0]), DV(v->ne[0]), n_heads(q->ne[2]), heads_of_key(q->ne[2] / k->ne[2]) {
        memcpy(&scale, (const float *) dst->op_params + 0, sizeof(float));
        memcpy(&max_bias, (const float *) dst->op_params + 1, sizeof(float));
        memcpy(&softcap, (const float *) dst->op_params + 2, sizeof(float));
        if (softcap != 0.0f) scale /= softcap;
    }

    // See the contract in attention.h.
    bool supported() const {
        if (q->type != GGML_TYPE_F32 || k->type != GGML_TYPE_F16 || v->type != GGML_TYPE_F16) return false;
        if (DK % LANES != 0 || DV % LANES != 0 || k->ne[2] != v->ne[2] || k->ne[3] != v->ne[3]) return false;
        return mask == NULL || mask->ne[2] == 1;
    }

    // Heads per unit: at most `most`, a divisor of the heads, and a multiple or divisor of the heads that share keys.
    int heads_of_unit(int most) const {
        int heads = n_heads;
        while (heads > most || n_heads % heads != 0 || (heads % heads_of_key != 0 && heads_of_key % heads != 0)) --heads;
        return heads;
    }

    float slope(int head) const {
        if (max_bias <= 0.0f) return 1.0f;
        const int n = 1 << (int) floor(log2(n_heads));
        const float m0 = powf(2.0f, -max_bias / n), m1 = powf(2.0f, -max_bias / 2.0f / n);
        return head < n ? powf(m0, head + 1) : powf(m1, 2 * (head - n) + 1);
    }

    const float * query(int stream, int row, int head) const {
        return (const float *) ((const char *) q->data + row * q->nb[1] + head * q->nb[2] + stream * q->nb[3]);
    }

    const ggml_fp16_t * mask_row(int stream, int row) const {
        if (mask == NULL) return NULL;
        return (const ggml_fp16_t *) ((const char *) mask->data + row * mask->nb[1] + stream % mask->ne[3] * mask->nb[3]);
    }

    // Position of each cell: the KV cache stores them with the mask, which may have been copied. NULL where cells have no order.
    const int32_t * positions(int stream) const {
        if (!svc_batch_invariant()) return NULL;
        const ggml_tensor * t = mask;
        while (t != NULL && t->extra == NULL) t = t->src[0];
        return t == NULL ? NULL : (const int32_t *) t->extra + stream % mask->ne[3] * mask->ne[0];
    }

    // Rows of keys or values of one head.
    cell_rows rows(const ggml_tensor * t, int stream, int head, const int32_t * cells, int n) const {
        const char * data = (const char *) t->data + head * t->nb[2] + stream / (q->ne[3] / t->ne[3]) * t->nb[3];
        return cell_rows(data, t->nb[1], cells, n);
    }

    // Writes a query's result from its sum of weighted values; weights are relative to the maximum M and add up to S.
    void finish(int stream, int row, int head, float * sum, float M, float S) const {
        if (sinks) {
            const float sink = ((const float *) sinks->data)[head];
            const float top = std::max(M, sink);
            const float ms = expf(M - top);
            ggml_vec_scale_f32(DV, sum, ms);
            S = S * ms + expf(sink - top);
        }
        ggml_vec_scale_f32(DV, sum, S == 0.0f ? 0.0f : 1.0f / S);
        memcpy((char *) dst->data + head * dst->nb[1] + row * dst->nb[2] + stream * dst->nb[3], sum, DV * sizeof(float));
    }
};

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
    float M[UNIT_QUERIES];
    GGML_F32_VEC S[UNIT_QUERIES];
    float total_M[UNIT_QUERIES], total_S[UNIT_QUERIES];

    static size_t floats(int DK, int DV) {
        return UNIT_QUERIES * (DK + 2 * padded(DV) + 2 * UNIT_CELLS) + UNIT_CELLS * (DK + padded(DV)) + 16;
    }

    unit_state(int DK, int DV, float * buffer) : DK(DK), DV(DV) {
        Q = buffer;
        sum = Q + UNIT_QUERIES * DK;
        total = sum + UNIT_QUERIES * padded(DV);
        P = total + UNIT_QUERIES * padded(DV);
        bias = P + UNIT_QUERIES * UNIT_CELLS;
        K = bias + UNIT_QUERIES * UNIT_CELLS;
        V = K + UNIT_CELLS * DK;
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
void compute_step(const operation & op, const work_unit & unit, unit_state & state, const cell_step & step, int head) {
    const int DK = op.DK, DV = op.DV, stream = unit.tile->stream, rows = unit.tile->group.rows;
    const query_group & group = unit.tile->group;
    const int32_t * cells = group.cells.data() + step.at;
    const int count = 32 - __builtin_clz(step.shown), left = unit.end - step.at - UNIT_CELLS;
    const int n = rows * std::min(op.heads_of_key, unit.heads);  // queries per key head
    const int key = (unit.head + head) / op.heads_of_key, first = head * rows;
    const cell_rows k_rows = op.rows(op.k, stream, key, cells, count), v_rows = op.rows(op.v, stream, key, cells, count);
    const cell_rows k_next = op.rows(op.k, stream, key, cells + UNIT_CELLS, left);
    const float * Q = state.Q + first * DK;
    float *P = state.P + first * UNIT_CELLS, *sum = state.sum + first * padded(DV);
    if (group.by_position) {
        fixed_scores(n, k_rows, v_rows, DK, Q, P);
    } else if (!few_scores(n, k_rows, v_rows, DK, Q, P)) {
        transpose_rows(k_rows, v_rows, DK, state.K);
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
        for (int head = 0; head < unit.heads; head += shared) compute_step(op, unit, state, step, head);
    }
    const bool is_whole = unit.partial == NULL;
    if (is_whole && group.by_position) state.end_segment(queries);
    float * sum = is_whole && group.by_position ? state.total : state.sum;
    for (int i = 0; i < queries; ++i, sum += padded(DV)) {
        if (is_whole && group.by_position) {
            op.finish(stream, row + i % rows, unit.head + i / rows, sum, state.total_M[i], state.total_S[i]);
        } else if (is_whole) {
            op.finish(stream, row + i % rows, unit.head + i / rows, sum, state.M[i], vec_sum(state.S[i]));
        } else {
            memcpy(unit.partial + i * DV, sum, DV * sizeof(float));
            unit.partial[queries * DV + 2 * i] = state.M[i];
            unit.partial[queries * DV + 2 * i + 1] = vec_sum(state.S[i]);
        }
    }
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

size_t partial_floats(int queries, int DV) { return queries * (DV + 2); }

// Divides an operation into units, at least about two per thread, those of the last rows first: prompts come last. Units of one
// tile and head are adjacent. Deterministic: every thread computes the same units.
void make_units(const operation & op, int nth, float * partials, std::vector<query_tile> & tiles, std::vector<work_unit> & units) {
    const int n_rows = op.q->ne[1];
    const int rows_max = std::max(UNIT_QUERIES / op.heads_of_key, 8);
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
        int heads = op.heads_of_unit(std::max(1, UNIT_QUERIES / group.rows));
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
                units.push_back({&tiles[t], head, heads, at(range), at(range + 1), ranges == 1 ? NULL : partials});
                if (ranges > 1) partials += partial_floats(units.back().queries(), op.DV);
            }
        }
    }
}

void compute_units(const ggml_compute_params * params, const operation & op) {
    static thread_local std::vector<query_tile> tiles;  // reused: their lists of cells are long
    static thread_local std::vector<work_unit> units;
    float * buffer = (float *) params->wdata + params->ith * unit_state::floats(op.DK, op.DV);
    float * partials = (float *) params->wdata + params->nth * unit_state::floats(op.DK, op.DV);
    make_units(op, params->nth, partials, tiles, units);

    if (params->ith == 0) ggml_threadpool_chunk_set(params->threadpool, params->nth);
    ggml_barrier(params->threadpool);
    unit_state state(op.DK, op.DV, buffer);
    const int n = units.size();
    for (int i = params->ith; i < n; i = ggml_threadpool_chunk_add(params->threadpool, 1)) compute_unit(op, units[i], state);

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
    return sizeof(float) * n_threads * (unit_state::floats(DK, DV) + PARTIALS_PER_THREAD * partial_floats(UNIT_QUERIES, DV));
}

void svc_attention(const ggml_compute_params * params, ggml_tensor * dst) {
    compute_units(params, operation(dst));
}

#endif  // SVC_ATTENTION
