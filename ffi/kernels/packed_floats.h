// Layouts and inner kernels of F16 and BF16 weights: {N / 16, K, 16} and {N / 16, K / 2, 16, 2}. Included by packed_gemm.cpp only.
//
// Activations stay F32; with AVX512-BF16 and BF16 weights they are rounded to BF16, as upstream does.
#pragma once

#include "packed_layout.h"

namespace {

// Value `part` of each column's `depth` values that lie side by side; one part if an instruction multiplies all of them.
template <>
struct packed<block_f16> {
    static constexpr int values = 16, size = COLUMNS * values * 2, depth = 1, parts = 1;
    using input = float;
    ALWAYS_INLINE static floats load(const char * b, int h, int) { return halves_to_floats(b + h * LANES * 2); }
    ALWAYS_INLINE static floats multiply_add(floats sum, floats w, const input * a) { return mul_add(w, broadcast(*a), sum); }
};

template <>
struct packed<block_bf16> {
    static constexpr int values = 16, size = COLUMNS * values * 2, depth = 2;
#if defined(SVC_DOT_BF16)
    static constexpr int parts = 1;
    using input = uint16_t;
    ALWAYS_INLINE static __m512bh load(const char * b, int, int) { return (__m512bh)::load(b); }
    ALWAYS_INLINE static floats multiply_add(floats sum, __m512bh w, const input * a) {
        return _mm512_dpbf16_ps(sum, w, (__m512bh) broadcast((int32_t) word_at(a, 0)));
    }
#else
    static constexpr int parts = 2;
    using input = float;
    ALWAYS_INLINE static floats load(const char * b, int h, int part) {
        return bfloats_to_floats(::load(b + h * sizeof(ints)), part);
    }
    ALWAYS_INLINE static floats multiply_add(floats sum, floats w, const input * a) { return mul_add(w, broadcast(*a), sum); }
#endif
};

template <typename TB>
constexpr bool is_float = std::is_same<TB, block_f16>::value || std::is_same<TB, block_bf16>::value;
template <typename TB>
constexpr bool rounds_input = std::is_same<TB, block_bf16>::value && packed<block_bf16>::parts == 1;

template <typename TB>
void pack_floats(char * RESTRICT to, const TB * RESTRICT from, size_t stride) {
    constexpr int depth = packed<TB>::depth;
    for (int n = 0; n < COLUMNS; ++n) {
        for (int k = 0; k < packed<TB>::values; ++k) {
            memcpy(to + ((k / depth * COLUMNS + n) * depth + k % depth) * 2, &from[n * stride].v[k], 2);
        }
    }
}

#if defined(SVC_DOT_BF16)
// 16 values rounded to BF16.
ALWAYS_INLINE void round_16(const float * x, uint16_t * y) {
    _mm256_storeu_si256((__m256i *) y, (__m256i) _mm512_cvtneps_pbh(load_floats(x)));
}
#else
inline void round_16(const float *, uint16_t *) {}
#endif

// C[R][16 * COLS] = A[R][K] * B[COLS][K][16]. Each sum is a dependency chain; several chains hide its latency.
template <typename TB, int R, int COLS>
void gemm_floats_kernel(
    int K, const typename packed<TB>::input * const * A, const char * RESTRICT B, float * RESTRICT C, int ldc) {
    using column = packed<TB>;
    const typename column::input * a[R];
    std::copy_n(A, R, a);
    floats vc[COLS][HALVES][R];
    for (int c = 0; c < COLS; ++c) {
        for (int h = 0; h < HALVES; ++h) {
            for (int r = 0; r < R; ++r) {
                vc[c][h][r] = broadcast(0.0f);
            }
        }
    }
    // No loop over parts: the compiler would keep the sums in memory.
    const auto add_part = [&](int k, int part) __attribute__((always_inline)) {
        for (int c = 0; c < COLS; ++c) {
            const char * b = B + ((size_t) c * K + k) * COLUMNS * 2;
            if (part == 0) _mm_prefetch(b + PREFETCH_BYTES / COLS, _MM_HINT_T0);
            decltype(column::load(b, 0, 0)) w[HALVES];
            for (int h = 0; h < HALVES; ++h) {
                w[h] = column::load(b, h, part);
            }
            for (int r = 0; r < R; ++r) {
                for (int h = 0; h < HALVES; ++h) {
                    vc[c][h][r] = column::multiply_add(vc[c][h][r], w[h], a[r] + k + part);
                }
            }
        }
    };
    for (int k = 0; k < K; k += column::depth) {
        add_part(k, 0);
        if constexpr (column::parts > 1) add_part(k, 1);
    }
    for (int c = 0; c < COLS; ++c) {
        for (int h = 0; h < HALVES; ++h) {
            for (int r = 0; r < R; ++r) {
                store(C + r * ldc + c * COLUMNS + h * LANES, vc[c][h][r]);
            }
        }
    }
}

constexpr int ROWS_MAX_FLOATS = ROWS_MAX / HALVES;  // so that all sums stay in registers

template <typename TB, int R = ROWS_MAX_FLOATS>
ALWAYS_INLINE void gemm_floats(
    int rows, int columns, int K, const typename packed<TB>::input * const * A, const char * B, float * C, int ldc) {
    if constexpr (R > 0) {
        if (rows != R) {
            gemm_floats<TB, R - 1>(rows, columns, K, A, B, C, ldc);
            return;
        }
        constexpr int sums = R * HALVES, COLS = sums <= 2 ? 4 : sums <= 4 ? 2
                                                                          : 1;
        int n = 0;
        for (; n + COLS <= columns; n += COLS) {
            gemm_floats_kernel<TB, R, COLS>(K, A, B + (size_t) n * K * COLUMNS * 2, C + n * COLUMNS, ldc);
        }
        for (; n < columns; ++n) {
            gemm_floats_kernel<TB, R, 1>(K, A, B + (size_t) n * K * COLUMNS * 2, C + n * COLUMNS, ldc);
        }
    }
}

}  // namespace
