// Operands of an attention operation and the units of its work. Included by attention.cpp only.
#pragma once

#include "attention_vectors.h"
#include "query_group.h"
#include "svc_kernels.h"

#include <cmath>

namespace {

constexpr int UNIT_QUERIES = 64;  // of a unit with steps of 32 cells

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
        if (q->type != GGML_TYPE_F32 || !can_load(k) || !can_load(v)) return false;
        if (DK % LANES != 0 || DV % LANES != 0 || k->ne[2] != v->ne[2] || k->ne[3] != v->ne[3]) return false;
        return mask == NULL || mask->ne[2] == 1;
    }

    // Whether vectors are loaded from the cache itself.
    bool is_f16() const { return k->type == GGML_TYPE_F16 && v->type == GGML_TYPE_F16; }

    // F16, or what is converted in blocks of 32.
    bool can_load(const ggml_tensor * t) const {
        if (is_f16()) return true;
        const bool converts = t->type == GGML_TYPE_F32 || ggml_get_type_traits(t->type)->to_float != NULL;
        return t->ne[0] % 32 == 0 && 32 % ggml_blck_size(t->type) == 0 && converts;
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
    template <typename T>
    cell_sources<T> rows(const ggml_tensor * t, int stream, int head, const int32_t * cells, int n) const {
        const char * data = (const char *) t->data + head * t->nb[2] + stream / (q->ne[3] / t->ne[3]) * t->nb[3];
        return cell_sources<T>(t->type, data, t->nb[1], cells, n);
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

// Rows of queries of one group. Its work is divided into units.
struct query_tile {
    int stream, row;
    query_group group;
};

// Some heads of a tile and a range of the tile's cells. A unit of at most 64 queries computes 32 cells at a time and there one key
// head after the other, as these are adjacent in memory; one of a prompt has more queries, of a single key head. Keys are transposed
// once for all queries that share them, so that a vector has 16 (or 8, or 4) cells; a product keeps as many queries times two vectors
// in registers as there are registers.
struct work_unit {
    const query_tile * tile;
    int head, heads;  // a multiple or divisor of the heads that share keys
    int begin, end;  // in the tile's list of cells
    bool prefill;  // see attention_prefill.h
    float * partial;  // [queries][DV], then maximum and sum of each query; NULL if the range has all of the tile's cells

    int queries() const { return tile->group.rows * heads; }

    // Writes the sums of query i.
    void write(const operation & op, int i, float * sum, float M, float S) const {
        const int rows = tile->group.rows;
        if (partial == NULL) return op.finish(tile->stream, tile->row + i % rows, head + i / rows, sum, M, S);
        memcpy(partial + i * op.DV, sum, op.DV * sizeof(float));
        partial[queries() * op.DV + 2 * i] = M;
        partial[queries() * op.DV + 2 * i + 1] = S;
    }
};

}  // namespace
