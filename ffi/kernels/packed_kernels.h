// Inner kernels of the packed GEMM: quantization of activations and products of up to ROWS_MAX rows with 16 columns. Included by
// packed_gemm.cpp only.
#pragma once

#include "packed_layout_grids.h"

namespace {

// One block (256 or 32 values) of R rows of A, interleaved in the order in which the kernel reads it. No room for absent rows: that
// of a single row of 4,096 values would not fit the L1 cache.
template <typename TB, int R>
struct activation_block {
    float d[R];
    float s[R];  // d * (sum of the values), if the block has a minimum
    int32_t offs[packed<TB>::groups][R];  // initial value of a group's sum: -offset * (sum of its values)
    int32_t sums[has_mins<TB> ? packed<TB>::groups / 2 : 1][R];  // if groups have minima: sums of two, 16 bits each
    int32_t qs[packed<TB>::values / 4][R];  // four bytes each
};

// sum[R] = rows of A * group `g` of the columns of half `h`.
template <typename TB, int R>
ALWAYS_INLINE void mul_group(ints * sum, const activation_block<TB, R> & A, const char * b, int g, int h) {
    using column = packed<TB>;
#if !defined(SVC_VNNI)
    // The instruction sums two products in 16 bits with saturation; this many pairs of vectors fit.
    constexpr int fit = std::min(32767 / (column::value_max * 127 * 4), column::pairs);
    const ints ones = _mm256_set1_epi16(1);
    ints part[R];
#endif
    const auto start = [&](int r) { return broadcast(offset_of<TB> ? A.offs[g][r] : 0); };
#pragma GCC unroll 4
    for (int p = 0; p < column::pairs; ++p) {
        ints w0, w1;
        column::load(b, g, p, h, w0, w1);
        const int32_t(*a)[R] = A.qs + (g * column::pairs + p) * 2;
#if defined(SVC_VNNI)
        for (int r = 0; r < R; ++r) {
            sum[r] = dot4_add(dot4_add(p == 0 ? start(r) : sum[r], w0, broadcast(a[0][r])), w1, broadcast(a[1][r]));
        }
#else
        if constexpr (fit == 0) {  // eight bits: signs are moved to A, so that 128 * 127 * 2 is the maximum
            const ints u0 = _mm256_abs_epi8(w0), u1 = _mm256_abs_epi8(w1);
            for (int r = 0; r < R; ++r) {
                sum[r] = dot2_add(p == 0 ? start(r) : sum[r], _mm256_maddubs_epi16(u0, _mm256_sign_epi8(broadcast(a[0][r]), w0)), ones);
                sum[r] = dot2_add(sum[r], _mm256_maddubs_epi16(u1, _mm256_sign_epi8(broadcast(a[1][r]), w1)), ones);
            }
        } else {
            for (int r = 0; r < R; ++r) {
                const ints p0 = _mm256_maddubs_epi16(w0, broadcast(a[0][r])), p1 = _mm256_maddubs_epi16(w1, broadcast(a[1][r]));
                part[r] = _mm256_add_epi16(p % fit == 0 ? p0 : _mm256_add_epi16(part[r], p0), p1);
                if (fit > 1) __asm__(""
                                     : "+x"(part[r]));  // computed now: there are no registers to keep the products
                if (p % fit == fit - 1) {
                    sum[r] = dot2_add(p < fit ? start(r) : sum[r], part[r], ones);
                }
            }
        }
#endif
    }
}

// C[R][16] = A[R][KB blocks] * B[KB blocks of 16 columns]
template <typename TB, int R>
void gemm_kernel(int KB, const activation_block<TB, R> * RESTRICT A, const char * RESTRICT B, float * RESTRICT C, int ldc) {
    using column = packed<TB>;
    constexpr int prefetch_bytes = R <= 2 && column::bits < 8 ? PREFETCH_BYTES_FEW : PREFETCH_BYTES;

    floats vc[HALVES][R];
    for (int h = 0; h < HALVES; ++h) {
        for (int r = 0; r < R; ++r) {
            vc[h][r] = broadcast(0.0f);
        }
    }

    for (int i = 0; i < KB; ++i) {
        const char * RESTRICT b = B + (size_t) i * column::size;
        floats acc[HALVES][R];
        for (int h = 0; h < HALVES; ++h) {
            for (int r = 0; r < R; ++r) {
                acc[h][r] = broadcast(0.0f);
            }
        }

#pragma GCC unroll 2
        for (int g = 0; g < column::groups; ++g) {
            const char * ahead = b + g * (column::size / column::groups) + prefetch_bytes;
#pragma GCC unroll 10
            for (int l = 0; l < column::lines; ++l) {
                _mm_prefetch(ahead + l * 64, _MM_HINT_T0);
            }
#pragma GCC unroll 2
            for (int h = 0; h < HALVES; ++h) {
                if (h > 0) {
                    __asm__ volatile(""
                                     :
                                     :
                                     : "memory");  // reload A: there are no registers to keep it
                }
                ints vsum[R];
                mul_group<TB, R>(vsum, A[i], b, g, h);
                if constexpr (column::groups == 1) {
                    for (int r = 0; r < R; ++r) {
                        acc[h][r] = ints_to_floats(vsum[r]);
                    }
                } else {
                    const floats scale = column::scale(b, g, h);
                    for (int r = 0; r < R; ++r) {
                        acc[h][r] = mul_add(ints_to_floats(vsum[r]), scale, acc[h][r]);
                    }
                }
            }
        }

#pragma GCC unroll 2
        for (int h = 0; h < HALVES; ++h) {
            const floats d = column::d(b, h);
            for (int r = 0; r < R; ++r) {
                vc[h][r] = mul_add(acc[h][r], mul(d, broadcast(A[i].d[r])), vc[h][r]);
            }
            if constexpr (has_min<TB>) {
                const floats min = column::min(b, h);
                for (int r = 0; r < R; ++r) {
                    vc[h][r] = mul_add(min, broadcast(A[i].s[r]), vc[h][r]);
                }
            }
            if constexpr (has_mins<TB>) {
                ints sum[R];
                for (int r = 0; r < R; ++r) {
                    sum[r] = broadcast(0);
                }
                for (int k = 0; k < column::groups / 2; ++k) {
                    const ints mins = column::min_pairs(b, k, h);
                    for (int r = 0; r < R; ++r) {
                        sum[r] = dot2_add(sum[r], mins, broadcast(A[i].sums[k][r]));
                    }
                }
                const floats dmin = column::dmin(b, h);
                for (int r = 0; r < R; ++r) {
                    vc[h][r] = sub_mul(vc[h][r], ints_to_floats(sum[r]), mul(dmin, broadcast(A[i].d[r])));
                }
            }
        }
    }

    for (int h = 0; h < HALVES; ++h) {
        for (int r = 0; r < R; ++r) {
            store(C + r * ldc + h * LANES, vc[h][r]);
        }
    }
}

template <typename TB, int R = ROWS_MAX>
ALWAYS_INLINE void gemm(int rows, int KB, const void * A, const char * B, float * C, int ldc) {
    if constexpr (R > 0) {
        if (rows == R) {
            gemm_kernel<TB, R>(KB, (const activation_block<TB, R> *) A, B, C, ldc);
        } else {
            gemm<TB, R - 1>(rows, KB, A, B, C, ldc);
        }
    }
}

// x * scale rounded to nearest, 16 values.
ALWAYS_INLINE __m128i quantize_16(const float * x, floats scale) {
#if defined(__AVX512VNNI__)
    return _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(mul(load_floats(x), scale)));
#else
    const __m256i a = _mm256_cvtps_epi32(mul(load_floats(x), scale)), b = _mm256_cvtps_epi32(mul(load_floats(x + 8), scale));
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xD8);
    return _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
#endif
}

ALWAYS_INLINE int sum_16(__m128i bytes) {
    const __m128i fours = _mm_madd_epi16(_mm_maddubs_epi16(_mm_set1_epi8(1), bytes), _mm_set1_epi16(1));
    const __m128i twos = _mm_add_epi32(fours, _mm_shuffle_epi32(fours, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(twos, _mm_shuffle_epi32(twos, 0xB1)));
}

// Quantizes one block of row `r` of `rows`, into an activation_block<TB, rows>: 256 values like quantize_row_q8_K_ref, except for the
// sign choice between two extremes of equal magnitude, or 32 or 64 values like quantize_row_q8_0, except that the scale stays F32.
template <typename TB>
void quantize_row_block(const float * RESTRICT x, char * RESTRICT to, int rows, int r) {
    constexpr int n = packed<TB>::values;
    floats lo = load_floats(x), hi = lo;
    for (int j = LANES; j < n; j += LANES) {
        const floats v = load_floats(x + j);
        lo = vec_min(lo, v);
        hi = vec_max(hi, v);
    }
    const float low = vec_min(lo), high = vec_max(hi);
    const float extreme = n == QK_K ? (-low > high ? -low : -high) : std::max(-low, high);
    const float iscale = extreme != 0 ? 127.f / extreme : 0;

    activation_block<TB, 1> y;
    y.d[0] = n == QK_K ? (extreme != 0 ? 1 / iscale : 0) : extreme / 127.f;
    int sums[n / 16], sum = 0;
    for (int j = 0; j < n / 16; ++j) {
        const __m128i q = quantize_16(x + 16 * j, broadcast(iscale));
        _mm_storeu_si128((__m128i *) y.qs[4 * j], q);
        sum += sums[j] = sum_16(q);
    }
    constexpr int per_group = n / 16 / packed<TB>::groups;
    for (int g = 0; g < packed<TB>::groups; ++g) {
        int group = 0;
        for (int j = g * per_group; j < (g + 1) * per_group; ++j) group += sums[j];
        y.offs[g][0] = -offset_of<TB> * group;
        if constexpr (has_mins<TB>) reinterpret_cast<int16_t *>(&y.sums[g / 2][0])[g % 2] = group;
    }
    y.s[0] = y.d[0] * sum;

    constexpr size_t words = sizeof y / sizeof(int32_t);
    int32_t from[words];
    memcpy(from, &y, sizeof y);
    for (size_t word = 0; word < words; ++word) memcpy(to + (word * rows + r) * sizeof(int32_t), &from[word], sizeof(int32_t));
}

}  // namespace
