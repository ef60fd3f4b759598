#include "recurrent.h"

#include "ggml-cpu-impl.h"

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))

#include "simd-mappings.h"
#include "vec.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

constexpr int LANES = GGML_F32_EPR;
constexpr int CHUNK = 16;  // tokens whose keys and queries lie side by side in the first cache
constexpr int PAIR = 2;  // rows of a state whose sums are added up at once
constexpr int ROWS = 4;  // of a state that pass a chunk together
constexpr int UNIT_ROWS = 32;  // rows of a head's state that one thread computes
constexpr int SIZE_MAX_HEAD = 256;
constexpr int CHANNELS = 64;  // of a unit of a convolution
constexpr int COLUMNS_MAX = 8;  // of a convolution's kernel
#if defined(__AVX512F__)
constexpr int ROUNDED_COLUMNS = 8;  // products in a vector that the compiler makes of upstream's loop; it adds them in order
#else
constexpr int ROUNDED_COLUMNS = 4;
#endif

// Part of the units of a thread.
struct unit_range {
    int64_t begin, end;
    unit_range(const ggml_compute_params * params, int64_t units) : begin(units * params->ith / params->nth), end(units * (params->ith + 1) / params->nth) {}
};

const char * state_of(const svc_states & states, int64_t sequence) {
    return states.source + (states.in_order ? sequence : states.rows[sequence]) * states.source_row;
}

// Some tokens of one head: keys and queries are copied, as those of consecutive tokens are a multiple of 4 KiB apart.
struct token_chunk {
    alignas(64) float keys[CHUNK * SIZE_MAX_HEAD];
    alignas(64) float queries[CHUNK * SIZE_MAX_HEAD];
    int64_t left;  // tokens of the sequence after this chunk
    const float * values[CHUNK];
    float * results[CHUNK];
    int tokens;
    float scale;
    float decay[CHUNK], beta[CHUNK];
};

// The sums of the lanes of two rows' four partial sums, in the order of GGML_F32_VEC_REDUCE.
#if defined(__AVX512F__)
using pair_sums = __m512;  // the first row's in the lower half, the second row's in the upper half
inline pair_sums sums_of(__m512 (&x)[PAIR][4]) {
    const __m512 a = _mm512_add_ps(_mm512_add_ps(x[0][0], x[0][2]), _mm512_add_ps(x[0][1], x[0][3]));
    const __m512 b = _mm512_add_ps(_mm512_add_ps(x[1][0], x[1][2]), _mm512_add_ps(x[1][1], x[1][3]));
    __m512 y = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
    y = _mm512_add_ps(y, _mm512_shuffle_f32x4(y, y, 0xB1));
    y = _mm512_add_ps(y, _mm512_permute_ps(y, 0x4E));
    return _mm512_add_ps(y, _mm512_permute_ps(y, 0xB1));
}
// (values - sums) * beta of each row, in all lanes.
inline void deltas_of(const float * values, pair_sums sums, float beta, __m512 (&deltas)[PAIR]) {
    const __m512 v = _mm512_mask_blend_ps(0xFF00, _mm512_set1_ps(values[0]), _mm512_set1_ps(values[1]));
    const __m512 d = _mm512_mul_ps(_mm512_sub_ps(v, sums), _mm512_set1_ps(beta));
    deltas[0] = _mm512_shuffle_f32x4(d, d, 0x00);
    deltas[1] = _mm512_shuffle_f32x4(d, d, 0xFF);
}
inline void store_scaled(float * results, pair_sums sums, float scale) {
    const __m512 scaled = _mm512_mul_ps(sums, _mm512_set1_ps(scale));
    results[0] = _mm512_cvtss_f32(scaled);
    results[1] = _mm_cvtss_f32(_mm512_extractf32x4_ps(scaled, 2));
}
#else
using pair_sums = __m128;  // the first row's in the even lanes, the second row's in the odd lanes
inline __m128 halves(__m256 (&x)[4]) {
    const __m256 y = _mm256_add_ps(_mm256_add_ps(x[0], x[2]), _mm256_add_ps(x[1], x[3]));
    return _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
}
inline pair_sums sums_of(__m256 (&x)[PAIR][4]) {
    const __m128 y = _mm_hadd_ps(halves(x[0]), halves(x[1]));
    return _mm_hadd_ps(y, y);
}
inline void deltas_of(const float * values, pair_sums sums, float beta, __m256 (&deltas)[PAIR]) {
    const __m128 v = _mm_castpd_ps(_mm_load1_pd((const double *) values));
    const __m128 d = _mm_mul_ps(_mm_sub_ps(v, sums), _mm_set1_ps(beta));
    deltas[0] = _mm256_broadcastss_ps(d);
    deltas[1] = _mm256_broadcastss_ps(_mm_movehdup_ps(d));
}
inline void store_scaled(float * results, pair_sums sums, float scale) {
    _mm_storel_pi((__m64 *) results, _mm_mul_ps(sums, _mm_set1_ps(scale)));
}
#endif

// Applies the tokens of a chunk to some rows of a state. `from`: the rows before; `to`: the rows in each slot. NV: vectors of a row.
// Pairs of rows do not depend on each other: while the sums of one are added up, the processor goes on with the next.
template <int NV>
void compute_rows(const token_chunk & chunk, const float * from, float * const * to, int slots, int row) {
    constexpr int S = NV * LANES;
    alignas(64) float m[ROWS * S];
    memcpy(m, from, sizeof(m));
    for (int t = 0; t < chunk.tokens; ++t) {
        const float * key = chunk.keys + t * S;
        const float * query = chunk.queries + t * S;
        const GGML_F32_VEC decay = GGML_F32_VEC_SET1(chunk.decay[t]);
        pair_sums products[ROWS / PAIR];
        for (int pair = 0; pair < ROWS / PAIR; ++pair) {
            GGML_F32_VEC sums[PAIR][4] = {};
#pragma GCC unroll 32
            for (int i = 0; i < NV; ++i) {
                const GGML_F32_VEC k = GGML_F32_VEC_LOAD(key + i * LANES);
                for (int r = 0; r < PAIR; ++r) {
                    float * place = m + (pair * PAIR + r) * S + i * LANES;
                    const GGML_F32_VEC decayed = GGML_F32_VEC_MUL(GGML_F32_VEC_LOAD(place), decay);
                    GGML_F32_VEC_STORE(place, decayed);
                    sums[r][i % 4] = GGML_F32_VEC_FMA(sums[r][i % 4], decayed, k);
                }
            }
            products[pair] = sums_of(sums);
        }
        for (int pair = 0; pair < ROWS / PAIR; ++pair) {
            GGML_F32_VEC sums[PAIR][4] = {}, deltas[PAIR];
            deltas_of(chunk.values[t] + row + pair * PAIR, products[pair], chunk.beta[t], deltas);
#pragma GCC unroll 32
            for (int i = 0; i < NV; ++i) {
                const GGML_F32_VEC k = GGML_F32_VEC_LOAD(key + i * LANES), q = GGML_F32_VEC_LOAD(query + i * LANES);
                for (int r = 0; r < PAIR; ++r) {
                    float * place = m + (pair * PAIR + r) * S + i * LANES;
                    const GGML_F32_VEC updated = GGML_F32_VEC_FMA(GGML_F32_VEC_LOAD(place), k, deltas[r]);
                    GGML_F32_VEC_STORE(place, updated);
                    sums[r][i % 4] = GGML_F32_VEC_FMA(sums[r][i % 4], updated, q);
                }
            }
            store_scaled(chunk.results[t] + row + pair * PAIR, sums_of(sums), chunk.scale);
        }
        const int64_t slot = chunk.left + chunk.tokens - 1 - t;  // tokens that follow
        if (slot > 0 && slot < slots) memcpy(to[slot], m, sizeof(m));
    }
    memcpy(to[0], m, sizeof(m));
}

// Operands of a GGML_OP_GATED_DELTA_NET.
struct delta_net {
    const ggml_tensor *q, *k, *v, *g, *beta;
    ggml_tensor * dst;
    int S;
    int64_t heads, tokens, sequences;

    explicit delta_net(ggml_tensor * dst) : q(dst->src[0]), k(dst->src[1]), v(dst->src[2]), g(dst->src[3]), beta(dst->src[4]), dst(dst), S(v->ne[0]),
                                            heads(v->ne[1]), tokens(v->ne[2]), sequences(v->ne[3]) {}

    static const float * at(const ggml_tensor * t, int64_t head, int64_t token, int64_t sequence) {
        return (const float *) ((const char *) t->data + head * t->nb[1] + token * t->nb[2] + sequence * t->nb[3]);
    }

    void load(token_chunk & chunk, int64_t head, int64_t sequence, int64_t first) const {
        chunk.tokens = (int) std::min<int64_t>(CHUNK, tokens - first);
        chunk.left = tokens - first - chunk.tokens;
        chunk.scale = 1.0f / sqrtf((float) S);
        for (int i = 0; i < chunk.tokens; ++i) {
            const int64_t t = first + i;
            memcpy(chunk.keys + i * S, at(k, head % k->ne[1], t, sequence / (sequences / k->ne[3])), S * sizeof(float));
            memcpy(chunk.queries + i * S, at(q, head % q->ne[1], t, sequence / (sequences / q->ne[3])), S * sizeof(float));
            chunk.decay[i] = expf(*at(g, head, t, sequence));
            chunk.beta[i] = *at(beta, head, t, sequence);
            chunk.values[i] = at(v, head, t, sequence);
            chunk.results[i] = (float *) dst->data + ((sequence * tokens + t) * heads + head) * S;
        }
    }

    // The states as the operation is defined.
    svc_states own_states() const {
        svc_states states = {};
        const int64_t size = (int64_t) S * S * heads;
        states.in_order = true;
        states.source = (const char *) dst->src[5]->data;
        states.source_row = dst->src[5]->nb[3];
        states.slots = (int) std::min<int64_t>(tokens, ggml_get_op_params_i32(dst, 0));
        for (int i = 0; i < states.slots; ++i) {
            states.target[i] = (char *) ((float *) dst->data + (int64_t) S * heads * tokens * sequences + i * size * sequences);
            states.target_row[i] = size * sizeof(float);
        }
        return states;
    }
};

template <int NV>
void compute_unit(const delta_net & net, const svc_states & states, token_chunk & chunk, int64_t unit) {
    constexpr int S = NV * LANES;
    const int64_t units_of_head = S / UNIT_ROWS;
    const int64_t head = unit / units_of_head % net.heads, sequence = unit / units_of_head / net.heads;
    const int first_row = (int) (unit % units_of_head) * UNIT_ROWS;
    const int64_t offset = (head * S + first_row) * S;
    const float * from = (const float *) state_of(states, sequence) + offset;
    float * to[SVC_STATE_SLOTS];
    for (int i = 0; i < states.slots; ++i) to[i] = (float *) (states.target[i] + sequence * states.target_row[i]) + offset;
    for (int64_t first = 0; first < net.tokens; first += CHUNK) {
        net.load(chunk, head, sequence, first);
        for (int row = 0; row < UNIT_ROWS; row += ROWS) {
            float * rows[SVC_STATE_SLOTS];
            for (int i = 0; i < states.slots; ++i) rows[i] = to[i] + row * S;
            compute_rows<NV>(chunk, from + row * S, rows, states.slots, first_row + row);
        }
        from = to[0];
    }
}

// sum + x * y. `rounded`: the product too.
inline GGML_F32_VEC add_product(GGML_F32_VEC sum, GGML_F32_VEC x, GGML_F32_VEC y, bool rounded) {
    if (!rounded) return GGML_F32_VEC_FMA(sum, x, y);
    GGML_F32_VEC product = GGML_F32_VEC_MUL(x, y);
    asm(""
        : "+x"(product));  // not contracted
    return GGML_F32_VEC_ADD(sum, product);
}

// Channels of one sequence: their columns before the batch, and the kernel's weights.
struct channel_block {
    float before[COLUMNS_MAX][CHANNELS];
    float weights[COLUMNS_MAX][CHANNELS];
};

}  // namespace

bool svc_delta_net_supported(const ggml_tensor * dst) {
    const ggml_tensor * v = dst->src[2];
    for (int i = 0; i < 6; ++i) {
        if (dst->src[i]->type != GGML_TYPE_F32 || dst->src[i]->nb[0] != sizeof(float)) return false;
    }
    const int64_t slots = std::min<int64_t>(v->ne[2], ggml_get_op_params_i32(dst, 0));
    if (slots > SVC_STATE_SLOTS || dst->src[3]->ne[0] != 1) return false;  // one decay for a head
    return v->ne[0] == 64 || v->ne[0] == 128 || v->ne[0] == 256;
}

void svc_delta_net(const ggml_compute_params * params, ggml_tensor * dst, const svc_states * states) {
    const delta_net net(dst);
    const svc_states own = states ? svc_states() : net.own_states();
    token_chunk chunk;
    const unit_range range(params, net.sequences * net.heads * (net.S / UNIT_ROWS));
    for (int64_t unit = range.begin; unit < range.end; ++unit) {
        switch (net.S) {
            case 64: compute_unit<64 / LANES>(net, states ? *states : own, chunk, unit); break;
            case 128: compute_unit<128 / LANES>(net, states ? *states : own, chunk, unit); break;
            default: compute_unit<256 / LANES>(net, states ? *states : own, chunk, unit); break;
        }
    }
}

bool svc_conv_supported(const ggml_tensor * window, const ggml_tensor * conv) {
    const ggml_tensor *columns = window->src[1], *weights = conv->src[1];
    return window->type == GGML_TYPE_F32 && columns->type == GGML_TYPE_F32 && weights->type == GGML_TYPE_F32 && conv->type == GGML_TYPE_F32 &&
        columns->nb[1] == sizeof(float) && ggml_is_contiguous(window) && ggml_is_contiguous(weights) && ggml_is_contiguous(conv) &&
        weights->ne[0] <= COLUMNS_MAX && weights->ne[0] > 1 && window->src[0]->ne[0] == weights->ne[0] - 1 && window->ne[1] % CHANNELS == 0 &&
        window->ne[3] == 1;
}

void svc_conv(const ggml_compute_params * params, ggml_tensor * window, const ggml_tensor * conv, const svc_states * states) {
    const ggml_tensor *columns = window->src[1], *weights = conv->src[1];
    const int width = (int) weights->ne[0], kept = width - 1;
    const int64_t channels = window->ne[1], tokens = columns->ne[0], blocks = channels / CHANNELS;
    const int rounded = width / ROUNDED_COLUMNS * ROUNDED_COLUMNS;
    const unit_range range(params, blocks * window->ne[2]);
    channel_block block;
    for (int64_t unit = range.begin; unit < range.end; ++unit) {
        const int64_t first = unit % blocks * CHANNELS, sequence = unit / blocks;
        const float * state = (const float *) state_of(*states, sequence) + first * kept;
        const float * weight = (const float *) weights->data + first * width;
        for (int c = 0; c < CHANNELS; ++c) {
            for (int i = 0; i < kept; ++i) block.before[i][c] = state[c * kept + i];
            for (int i = 0; i < width; ++i) block.weights[i][c] = weight[c * width + i];
        }
        const char * data = (const char *) columns->data + first * sizeof(float) + sequence * columns->nb[2];
        const auto column = [&](int64_t i) { return i < kept ? block.before[i] : (const float *) (data + (i - kept) * columns->nb[0]); };
        float * result = (float *) window->data + sequence * (kept + tokens) * channels + first;
        for (int64_t t = 0; t < tokens; ++t, result += channels) {
            const float * inputs[COLUMNS_MAX];
            for (int i = 0; i < width; ++i) inputs[i] = column(t + i);
            for (int c = 0; c < CHANNELS; c += LANES) {
                GGML_F32_VEC sum = GGML_F32_VEC_ZERO;
                for (int i = 0; i < width; ++i) sum = add_product(sum, GGML_F32_VEC_LOAD(inputs[i] + c), GGML_F32_VEC_LOAD(block.weights[i] + c), i < rounded);
                GGML_F32_VEC_STORE(result + c, sum);
            }
        }
        for (int slot = 0; slot < states->slots; ++slot) {
            float * target = (float *) (states->target[slot] + sequence * states->target_row[slot]) + first * kept;
            for (int i = 0; i < kept; ++i) {
                const float * from = column(states->window[slot] + i);
                for (int c = 0; c < CHANNELS; ++c) target[c * kept + i] = from[c];
            }
        }
    }
}

void svc_conv_finish(const ggml_compute_params * params, const ggml_tensor * window, ggml_tensor * conv, bool silu) {
    const int64_t channels = conv->ne[0], tokens = conv->ne[1];
    const int64_t blocks = channels / CHANNELS;
    const int parts = tokens * conv->ne[2] < params->nth ? (int) blocks : 1;  // of a row
    const unit_range range(params, tokens * conv->ne[2] * parts);
    for (int64_t unit = range.begin; unit < range.end; ++unit) {
        const int64_t row = unit / parts, n = channels / parts, first = unit % parts * n;
        const float * from = (const float *) window->data + row / tokens * window->ne[0] * channels + row % tokens * channels + first;
        float * to = (float *) conv->data + row * channels + first;
        if (silu) {
            ggml_vec_silu_f32((int) n, to, from);
        } else {
            memcpy(to, from, n * sizeof(float));
        }
    }
}

#else

bool svc_delta_net_supported(const ggml_tensor *) { return false; }
void svc_delta_net(const ggml_compute_params *, ggml_tensor *, const svc_states *) {}
bool svc_conv_supported(const ggml_tensor *, const ggml_tensor *) { return false; }
void svc_conv(const ggml_compute_params *, ggml_tensor *, const ggml_tensor *, const svc_states *) {}
void svc_conv_finish(const ggml_compute_params *, const ggml_tensor *, ggml_tensor *, bool) {}

#endif
