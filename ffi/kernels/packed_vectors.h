// Vector operations of the packed GEMM: 64 bytes with AVX512-VNNI, else 32 bytes with AVX2 (columns are then computed in two halves).
// Included by packed_gemm.cpp only.
#pragma once

#include "ggml-cpu-impl.h"
#include "simd-mappings.h"

#include <cstdint>

#define RESTRICT __restrict__
#define ALWAYS_INLINE __attribute__((__always_inline__)) inline

namespace {

#if defined(__AVX512VNNI__)

using ints = __m512i;
using floats = __m512;

ALWAYS_INLINE ints load(const void * p) { return _mm512_loadu_si512(p); }
ALWAYS_INLINE ints broadcast_byte(int x) { return _mm512_set1_epi8((char) x); }
ALWAYS_INLINE ints broadcast(int32_t x) { return _mm512_set1_epi32(x); }
ALWAYS_INLINE ints bits_and(ints a, ints b) { return _mm512_and_si512(a, b); }
ALWAYS_INLINE ints bits_xor(ints a, ints b) { return _mm512_xor_si512(a, b); }
ALWAYS_INLINE ints or_and(ints a, ints b, ints mask) { return _mm512_ternarylogic_epi32(a, b, mask, 0xF8); }
ALWAYS_INLINE ints shift_left(ints a, int n) { return _mm512_slli_epi16(a, n); }
ALWAYS_INLINE ints shift_right(ints a, int n) { return _mm512_srli_epi16(a, n); }
ALWAYS_INLINE ints high_words(ints a) { return _mm512_srli_epi32(a, 16); }
ALWAYS_INLINE ints lookup(__m128i table, ints at) { return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), at); }
ALWAYS_INLINE ints widen_bytes(const void * p) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *) p)); }
ALWAYS_INLINE floats ints_to_floats(ints a) { return _mm512_cvtepi32_ps(a); }
ALWAYS_INLINE floats bytes_to_floats(const void * p) { return ints_to_floats(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *) p))); }
ALWAYS_INLINE floats halves_to_floats(const void * p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) p)); }
// The low or the high BF16 of every 32 bits.
ALWAYS_INLINE floats bfloats_to_floats(ints a, bool high) {
    return _mm512_castsi512_ps(high ? bits_and(a, broadcast((int32_t) 0xFFFF0000)) : _mm512_slli_epi32(a, 16));
}
ALWAYS_INLINE floats load_floats(const float * p) { return _mm512_loadu_ps(p); }
ALWAYS_INLINE void store(float * p, floats a) { _mm512_storeu_ps(p, a); }
ALWAYS_INLINE floats broadcast(float x) { return _mm512_set1_ps(x); }
ALWAYS_INLINE floats mul(floats a, floats b) { return _mm512_mul_ps(a, b); }
ALWAYS_INLINE floats mul_add(floats a, floats b, floats c) { return _mm512_fmadd_ps(a, b, c); }
ALWAYS_INLINE floats sub_mul(floats c, floats a, floats b) { return _mm512_fnmadd_ps(a, b, c); }
ALWAYS_INLINE floats vec_min(floats a, floats b) { return _mm512_min_ps(a, b); }
ALWAYS_INLINE floats vec_max(floats a, floats b) { return _mm512_max_ps(a, b); }
ALWAYS_INLINE float vec_min(floats a) { return _mm512_reduce_min_ps(a); }
ALWAYS_INLINE float vec_max(floats a) { return _mm512_reduce_max_ps(a); }
// 2^(e - 128) of bytes e: half of an E8M0 scale, whose smallest two are denormal.
ALWAYS_INLINE floats exponents_to_floats(const void * p) {
    const ints e = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *) p)), one = broadcast(1);
    return _mm512_castsi512_ps(_mm512_max_epi32(_mm512_slli_epi32(_mm512_sub_epi32(e, one), 23), _mm512_slli_epi32(_mm512_add_epi32(e, one), 21)));
}

ALWAYS_INLINE ints dot2_add(ints sum, ints a, ints b) { return _mm512_dpwssd_epi32(sum, a, b); }

#else

using ints = __m256i;
using floats = __m256;

ALWAYS_INLINE ints load(const void * p) { return _mm256_loadu_si256((const __m256i *) p); }
ALWAYS_INLINE ints broadcast_byte(int x) { return _mm256_set1_epi8((char) x); }
ALWAYS_INLINE ints broadcast(int32_t x) { return _mm256_set1_epi32(x); }
ALWAYS_INLINE ints bits_and(ints a, ints b) { return _mm256_and_si256(a, b); }
ALWAYS_INLINE ints bits_xor(ints a, ints b) { return _mm256_xor_si256(a, b); }
ALWAYS_INLINE ints or_and(ints a, ints b, ints mask) { return _mm256_or_si256(a, _mm256_and_si256(b, mask)); }
ALWAYS_INLINE ints shift_left(ints a, int n) { return _mm256_slli_epi16(a, n); }
ALWAYS_INLINE ints shift_right(ints a, int n) { return _mm256_srli_epi16(a, n); }
ALWAYS_INLINE ints high_words(ints a) { return _mm256_srli_epi32(a, 16); }
ALWAYS_INLINE ints lookup(__m128i table, ints at) { return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), at); }
ALWAYS_INLINE ints widen_bytes(const void * p) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *) p)); }
ALWAYS_INLINE floats ints_to_floats(ints a) { return _mm256_cvtepi32_ps(a); }
ALWAYS_INLINE floats bytes_to_floats(const void * p) { return ints_to_floats(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *) p))); }
ALWAYS_INLINE floats halves_to_floats(const void * p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) p)); }
ALWAYS_INLINE floats bfloats_to_floats(ints a, bool high) {
    return _mm256_castsi256_ps(high ? bits_and(a, broadcast((int32_t) 0xFFFF0000)) : _mm256_slli_epi32(a, 16));
}
ALWAYS_INLINE floats load_floats(const float * p) { return _mm256_loadu_ps(p); }
ALWAYS_INLINE void store(float * p, floats a) { _mm256_storeu_ps(p, a); }
ALWAYS_INLINE floats broadcast(float x) { return _mm256_set1_ps(x); }
ALWAYS_INLINE floats mul(floats a, floats b) { return _mm256_mul_ps(a, b); }
ALWAYS_INLINE floats mul_add(floats a, floats b, floats c) { return _mm256_fmadd_ps(a, b, c); }
ALWAYS_INLINE floats sub_mul(floats c, floats a, floats b) { return _mm256_fnmadd_ps(a, b, c); }
ALWAYS_INLINE floats vec_min(floats a, floats b) { return _mm256_min_ps(a, b); }
ALWAYS_INLINE floats vec_max(floats a, floats b) { return _mm256_max_ps(a, b); }

ALWAYS_INLINE float vec_min(floats a) {
    const __m128 x = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 y = _mm_min_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_min_ss(y, _mm_movehdup_ps(y)));
}

ALWAYS_INLINE float vec_max(floats a) {
    const __m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 y = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_movehdup_ps(y)));
}

ALWAYS_INLINE floats exponents_to_floats(const void * p) {
    const ints e = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *) p)), one = broadcast(1);
    return _mm256_castsi256_ps(_mm256_max_epi32(_mm256_slli_epi32(_mm256_sub_epi32(e, one), 23), _mm256_slli_epi32(_mm256_add_epi32(e, one), 21)));
}

ALWAYS_INLINE ints dot2_add(ints sum, ints a, ints b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}

#endif

// sum + w * a, four bytes per sum; w is unsigned.
#if defined(__AVX512VNNI__)
#define SVC_VNNI
ALWAYS_INLINE ints dot4_add(ints sum, ints w, ints a) { return _mm512_dpbusd_epi32(sum, w, a); }
#elif defined(__AVXVNNI__)
#define SVC_VNNI
ALWAYS_INLINE ints dot4_add(ints sum, ints w, ints a) { return _mm256_dpbusd_avx_epi32(sum, w, a); }
#endif

#if defined(__AVX512VNNI__) && defined(__AVX512BF16__)
#define SVC_DOT_BF16
#endif

#if defined(SVC_VNNI)
constexpr bool VNNI = true;
#else
constexpr bool VNNI = false;
#endif

}  // namespace
