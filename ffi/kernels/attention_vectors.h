// Vector kernels of attention: products, transposition, unpacking. Included by attention.cpp only.
#pragma once

#include "cell_rows.h"
#include "vec.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

constexpr int LANES = GGML_F32_EPR;
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int PRODUCT_QUERIES = 12;  // queries of a product kept in registers
constexpr int FEW_QUERIES = 4;  // up to this many queries, transposing and unpacking would dominate
#else
constexpr int PRODUCT_QUERIES = 6;
constexpr int FEW_QUERIES = 2;
#endif

// Values are stored with rows of a multiple of 32.
constexpr int padded(int DV) { return (DV + 31) / 32 * 32; }

#if defined(__AVX512F__)
inline __m512 load_f16(const ggml_fp16_t * x) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) x));
}
inline float vec_sum(__m512 x) {
    return _mm512_reduce_add_ps(x);
}
inline float vec_max(__m512 x) {
    return _mm512_reduce_max_ps(x);
}
inline __m512 vec_max(__m512 x, __m512 y) {
    return _mm512_max_ps(x, y);
}
inline __m512 vec_sub(__m512 x, __m512 y) {
    return _mm512_sub_ps(x, y);
}
#elif defined(__aarch64__)
inline float32x4_t load_f16(const ggml_fp16_t * x) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x)));
}
inline float vec_sum(float32x4_t x) {
    return vaddvq_f32(x);
}
inline float vec_max(float32x4_t x) {
    return vmaxvq_f32(x);
}
inline float32x4_t vec_max(float32x4_t x, float32x4_t y) {
    return vmaxq_f32(x, y);
}
inline float32x4_t vec_sub(float32x4_t x, float32x4_t y) {
    return vsubq_f32(x, y);
}
#else
inline __m256 load_f16(const ggml_fp16_t * x) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) x));
}
inline float vec_sum(__m256 x) {
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}
inline float vec_max(__m256 x) {
    __m128 max = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    max = _mm_max_ps(max, _mm_movehl_ps(max, max));
    return _mm_cvtss_f32(_mm_max_ss(max, _mm_movehdup_ps(max)));
}
inline __m256 vec_max(__m256 x, __m256 y) {
    return _mm256_max_ps(x, y);
}
inline __m256 vec_sub(__m256 x, __m256 y) {
    return _mm256_sub_ps(x, y);
}
#endif

inline GGML_F32_VEC load(const ggml_fp16_t * x) { return load_f16(x); }
inline GGML_F32_VEC load(const float * x) { return GGML_F32_VEC_LOAD(x); }

// y[i*stride + j] = value `at` + i of row j, LANES rows and values: swaps pairs, then fours, then quarters of a vector.
#if defined(__AVX512F__)
template <typename T>
inline void transpose(const cell_rows<T> & rows, int first, int at, float * y, int stride) {
    __m512 a[16], b[16];
    for (int i = 0; i < 16; ++i) a[i] = load(rows.at(first + i) + at);
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        const __m512d b0 = _mm512_castps_pd(b[i]), b1 = _mm512_castps_pd(b[i + 1]);
        const __m512d b2 = _mm512_castps_pd(b[i + 2]), b3 = _mm512_castps_pd(b[i + 3]);
        a[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(b0, b2));
        a[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(b0, b2));
        a[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b1, b3));
        a[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b1, b3));
    }
    for (int i = 0; i < 4; ++i) {
        const __m512 even0 = _mm512_shuffle_f32x4(a[i], a[i + 4], 0x88), odd0 = _mm512_shuffle_f32x4(a[i], a[i + 4], 0xDD);
        const __m512 even1 = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0x88), odd1 = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0xDD);
        _mm512_storeu_ps(y + (i + 0) * stride, _mm512_shuffle_f32x4(even0, even1, 0x88));
        _mm512_storeu_ps(y + (i + 4) * stride, _mm512_shuffle_f32x4(odd0, odd1, 0x88));
        _mm512_storeu_ps(y + (i + 8) * stride, _mm512_shuffle_f32x4(even0, even1, 0xDD));
        _mm512_storeu_ps(y + (i + 12) * stride, _mm512_shuffle_f32x4(odd0, odd1, 0xDD));
    }
}
#elif defined(__aarch64__)
template <typename T>
inline void transpose(const cell_rows<T> & rows, int first, int at, float * y, int stride) {
    float32x4_t a[4];
    for (int i = 0; i < 4; ++i) a[i] = load(rows.at(first + i) + at);
    const float32x4x2_t b = vtrnq_f32(a[0], a[1]), c = vtrnq_f32(a[2], a[3]);
    for (int i = 0; i < 2; ++i) {
        vst1q_f32(y + i * stride, vcombine_f32(vget_low_f32(b.val[i]), vget_low_f32(c.val[i])));
        vst1q_f32(y + (i + 2) * stride, vcombine_f32(vget_high_f32(b.val[i]), vget_high_f32(c.val[i])));
    }
}
#else
template <typename T>
inline void transpose(const cell_rows<T> & rows, int first, int at, float * y, int stride) {
    __m256 a[8], b[8];
    for (int i = 0; i < 8; ++i) a[i] = load(rows.at(first + i) + at);
    for (int i = 0; i < 8; i += 2) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        const __m256d b0 = _mm256_castps_pd(b[i]), b1 = _mm256_castps_pd(b[i + 1]);
        const __m256d b2 = _mm256_castps_pd(b[i + 2]), b3 = _mm256_castps_pd(b[i + 3]);
        a[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(b0, b2));
        a[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(b0, b2));
        a[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b1, b3));
        a[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b1, b3));
    }
    for (int i = 0; i < 4; ++i) {
        _mm256_storeu_ps(y + (i + 0) * stride, _mm256_permute2f128_ps(a[i], a[i + 4], 0x20));
        _mm256_storeu_ps(y + (i + 4) * stride, _mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
    }
}
#endif

// C[RM][2 vectors] = A[RM][K]*B[K][2 vectors], or += with `add`.
template <int RM>
inline void gemm_block(const float * a, int lda, const float * b, int ldb, float * c, int ldc, int K, bool add) {
    GGML_F32_VEC sum[RM][2];
    for (int i = 0; i < RM; ++i) {
        sum[i][0] = add ? GGML_F32_VEC_LOAD(c + i * ldc) : GGML_F32_VEC_ZERO;
        sum[i][1] = add ? GGML_F32_VEC_LOAD(c + i * ldc + LANES) : GGML_F32_VEC_ZERO;
    }
    for (int k = 0; k < K; ++k) {
        const GGML_F32_VEC b0 = GGML_F32_VEC_LOAD(b + k * ldb), b1 = GGML_F32_VEC_LOAD(b + k * ldb + LANES);
        for (int i = 0; i < RM; ++i) {
            const GGML_F32_VEC x = GGML_F32_VEC_SET1(a[i * lda + k]);
            sum[i][0] = GGML_F32_VEC_FMA(sum[i][0], x, b0);
            sum[i][1] = GGML_F32_VEC_FMA(sum[i][1], x, b1);
        }
    }
    for (int i = 0; i < RM; ++i) {
        GGML_F32_VEC_STORE(c + i * ldc, sum[i][0]);
        GGML_F32_VEC_STORE(c + i * ldc + LANES, sum[i][1]);
    }
}

template <int RM = PRODUCT_QUERIES>
inline void gemm_rows(int rows, const float * a, int lda, const float * b, int ldb, float * c, int ldc, int K, bool add) {
    if constexpr (RM > 0) {
        if (rows != RM) {
            gemm_rows<RM - 1>(rows, a, lda, b, ldb, c, ldc, K, add);
            return;
        }
        for (int n = 0; n < 32; n += 2 * LANES) gemm_block<RM>(a, lda, b + n, ldb, c + n, ldc, K, add);
    }
}

// C[M][32] = A[M][K]*B[K][32], or += with `add`.
void gemm(int M, const float * a, int lda, const float * b, int ldb, float * c, int ldc, int K, bool add) {
    const int parts = (M + PRODUCT_QUERIES - 1) / PRODUCT_QUERIES;
    for (int part = 0; part < parts; ++part) {
        const int rows = M / parts + (part < M % parts);
        gemm_rows(rows, a, lda, b, ldb, c, ldc, K, add);
        a += rows * lda;
        c += rows * ldc;
    }
}

// K[DK][32] = transposed rows.
template <typename T>
void transpose_rows(const cell_rows<T> & rows, const cell_sources<T> & next, int DK, float * K) {
    for (int j = 0; j < UNIT_CELLS; j += LANES) {
        for (int at = 0; at < DK; at += LANES) {
            transpose(rows, j, at, K + at * UNIT_CELLS + j, UNIT_CELLS);
            for (int i = 0; i < LANES && at % 32 == 0; ++i) next.prefetch(j + i, at);
        }
    }
}

// V[32][padded(DV)] = rows, padded with zeros.
template <typename T>
void unpack_rows(const cell_rows<T> & rows, const cell_sources<T> & next, int DV, float * V) {
    for (int j = 0; j < UNIT_CELLS; ++j) {
        float * to = V + j * padded(DV);
        for (int d = 0; d < DV; d += 32) {
            next.prefetch(j, d);
            const int end = std::min(d + 32, DV);
            for (int i = d; i < end; i += LANES) GGML_F32_VEC_STORE(to + i, load(rows.at(j) + i));
        }
        for (int i = DV; i < padded(DV); i += LANES) GGML_F32_VEC_STORE(to + i, GGML_F32_VEC_ZERO);
    }
}

// V[32][32] = values `d` to `d + n` of each row, padded with zeros.
template <typename T>
void unpack_panel(const cell_sources<T> & rows, const cell_sources<T> & next, int d, int n, float * V) {
    for (int j = 0; j < UNIT_CELLS; ++j, V += 32) {
        next.prefetch(j, d);
        if constexpr (std::is_same_v<T, float>) {
            convert_row(rows, j, d, 32, V);
        } else {
            for (int i = 0; i < n; i += LANES) GGML_F32_VEC_STORE(V + i, load((const T *) rows.at[j] + d + i));
            for (int i = n; i < 32; i += LANES) GGML_F32_VEC_STORE(V + i, GGML_F32_VEC_ZERO);
        }
    }
}

#if defined(__AVX512F__)
// p[0..3] = sum of each vector.
inline void store_sums(float * p, __m512 a, __m512 b, __m512 c, __m512 d) {
    const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    const __m512 lo = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd)));
    const __m512 hi = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd)));
    const __m512 sum = _mm512_add_ps(lo, hi);
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps(sum, 1));
    _mm_storeu_ps(p, _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)));
}
#elif defined(__aarch64__)
inline void store_sums(float * p, float32x4_t a, float32x4_t b, float32x4_t c, float32x4_t d) {
    vst1q_f32(p, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
}
#else
inline void store_sums(float * p, __m256 a, __m256 b, __m256 c, __m256 d) {
    const __m256 sum = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm_storeu_ps(p, _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1)));
}
#endif

// For few queries: P[n][32] = scores.
template <int n, typename T>
void scores(const cell_rows<T> & rows, const cell_sources<T> & next, int DK, const float * Q, float * P) {
    for (int i = 0; rows.count < UNIT_CELLS && i < n; ++i) memset(P + i * UNIT_CELLS, 0, UNIT_CELLS * sizeof(float));
    for (int j = 0; j < rows.count; j += 4) {
        GGML_F32_VEC sum[n][4];
        for (int i = 0; i < n; ++i) sum[i][0] = sum[i][1] = sum[i][2] = sum[i][3] = GGML_F32_VEC_ZERO;
        for (int at = 0; at < DK; at += LANES) {
            GGML_F32_VEC k[4];
            for (int c = 0; c < 4; ++c) {
                if (at % 32 == 0) next.prefetch(j + c, at);
                k[c] = load(rows.at(j + c) + at);
            }
            for (int i = 0; i < n; ++i) {
                const GGML_F32_VEC q = GGML_F32_VEC_LOAD(Q + i * DK + at);
                for (int c = 0; c < 4; ++c) sum[i][c] = GGML_F32_VEC_FMA(sum[i][c], q, k[c]);
            }
        }
        for (int i = 0; i < n; ++i) store_sums(P + i * UNIT_CELLS + j, sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    }
}

// For few queries: sum[n][padded(DV)] += weights * values, `width` vectors from `d` on.
template <int n, int width, typename T>
inline void add_values(const cell_rows<T> & rows, const cell_sources<T> & next, int DV, int d, const float * P, float * sum) {
    GGML_F32_VEC acc[n][width];
    for (int i = 0; i < n; ++i) {
        for (int w = 0; w < width; ++w) acc[i][w] = GGML_F32_VEC_LOAD(sum + i * padded(DV) + d + w * LANES);
    }
    for (int j = 0; j < rows.count; ++j) {
        for (int w = 0; w < width; ++w) {
            if (w * LANES % 32 == 0) next.prefetch(j, d + w * LANES);
            const GGML_F32_VEC v = load(rows.at(j) + d + w * LANES);
            for (int i = 0; i < n; ++i) acc[i][w] = GGML_F32_VEC_FMA(acc[i][w], GGML_F32_VEC_SET1(P[i * UNIT_CELLS + j]), v);
        }
    }
    for (int i = 0; i < n; ++i) {
        for (int w = 0; w < width; ++w) GGML_F32_VEC_STORE(sum + i * padded(DV) + d + w * LANES, acc[i][w]);
    }
}

template <int n, typename T>
void add_values(const cell_rows<T> & rows, const cell_sources<T> & next, int DV, const float * P, float * sum) {
    constexpr int narrow = 32 / LANES;  // vectors
    constexpr int wide = LANES == 8 ? (n == 1 ? 8 : narrow) : n <= 2 ? 8
                                                                     : 4;
    int d = 0;
    for (; d + wide * LANES <= DV; d += wide * LANES) add_values<n, wide>(rows, next, DV, d, P, sum);
    for (; d + 32 <= DV; d += 32) add_values<n, narrow>(rows, next, DV, d, P, sum);
    for (; d < DV; d += LANES) add_values<n, 1>(rows, next, DV, d, P, sum);
}

// Both return false, without effect, if `count` exceeds FEW_QUERIES.
template <int n = FEW_QUERIES, typename T>
bool few_scores(int count, const cell_rows<T> & rows, const cell_sources<T> & next, int DK, const float * Q, float * P) {
    if constexpr (n > 0) {
        if (count != n) return few_scores<n - 1>(count, rows, next, DK, Q, P);
        scores<n>(rows, next, DK, Q, P);
    }
    return n > 0;
}

// For any number of queries, with the sums of few_scores: a score does not depend on the queries beside it.
template <typename T>
inline void fixed_scores(int count, const cell_rows<T> & rows, const cell_sources<T> & next, int DK, const float * Q, float * P) {
    for (int i = 0; i < count; i += FEW_QUERIES) {
        few_scores(std::min(FEW_QUERIES, count - i), rows, next, DK, Q + i * DK, P + i * UNIT_CELLS);
    }
}

template <int n = FEW_QUERIES, typename T>
bool few_values(int count, const cell_rows<T> & rows, const cell_sources<T> & next, int DV, const float * P, float * sum) {
    if constexpr (n > 0) {
        if (count != n) return few_values<n - 1>(count, rows, next, DV, P, sum);
        add_values<n>(rows, next, DV, P, sum);
    }
    return n > 0;
}

}  // namespace
