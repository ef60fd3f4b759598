// Packed weight layouts: 16 columns of weights interleaved. A cache line of 64 bytes has four values of each column, the bytes that
// one vpdpbusd multiplies; with four-bit weights twice as many. Included by packed_gemm.cpp only.
#pragma once

#include "packed_vectors.h"

#include "ggml-impl.h"
#include "quants.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace {

constexpr int COLUMNS = 16;
constexpr int LANES = sizeof(floats) / sizeof(float);
constexpr int HALVES = COLUMNS / LANES;
constexpr int LINE = COLUMNS * 4;
constexpr int ROWS_MAX = 8;
constexpr int PREFETCH_BYTES = 8192;  // the hardware prefetcher starts too late on tiles of a few KB
constexpr int PREFETCH_BYTES_FEW = 4096;  // for one or two rows; eight, and weights of eight bits, are slower with it

ALWAYS_INLINE ints low_nibbles(ints v) { return bits_and(v, broadcast_byte(0xF)); }
ALWAYS_INLINE ints high_nibbles(ints v) { return low_nibbles(shift_right(v, 4)); }

// F16 and BF16: blocks of 16 values without a scale.
struct block_f16 {
    uint16_t v[16];
};
struct block_bf16 {
    uint16_t v[16];
};

template <typename TB>
struct type_tag { using type = TB; };

// f(tag of the block of a packed type); otherwise() for all other types.
template <typename F, typename O>
auto dispatch(enum ggml_type type, const F & f, const O & otherwise) {
    switch (type) {
        case GGML_TYPE_F16: return f(type_tag<block_f16>{});
        case GGML_TYPE_BF16: return f(type_tag<block_bf16>{});
        case GGML_TYPE_Q4_0: return f(type_tag<block_q4_0>{});
        case GGML_TYPE_Q4_1: return f(type_tag<block_q4_1>{});
        case GGML_TYPE_Q5_0: return f(type_tag<block_q5_0>{});
        case GGML_TYPE_Q5_1: return f(type_tag<block_q5_1>{});
        case GGML_TYPE_Q8_0: return f(type_tag<block_q8_0>{});
        case GGML_TYPE_IQ4_NL: return f(type_tag<block_iq4_nl>{});
        case GGML_TYPE_MXFP4: return f(type_tag<block_mxfp4>{});
        case GGML_TYPE_NVFP4: return f(type_tag<block_nvfp4>{});
        case GGML_TYPE_TQ1_0: return f(type_tag<block_tq1_0>{});
        case GGML_TYPE_TQ2_0: return f(type_tag<block_tq2_0>{});
        case GGML_TYPE_Q2_K: return f(type_tag<block_q2_K>{});
        case GGML_TYPE_Q3_K: return f(type_tag<block_q3_K>{});
        case GGML_TYPE_Q4_K: return f(type_tag<block_q4_K>{});
        case GGML_TYPE_Q5_K: return f(type_tag<block_q5_K>{});
        case GGML_TYPE_Q6_K: return f(type_tag<block_q6_K>{});
        case GGML_TYPE_IQ4_XS: return f(type_tag<block_iq4_xs>{});
        case GGML_TYPE_IQ3_S: return f(type_tag<block_iq3_s>{});
        case GGML_TYPE_IQ3_XXS: return f(type_tag<block_iq3_xxs>{});
        case GGML_TYPE_IQ2_S: return f(type_tag<block_iq2_s>{});
        case GGML_TYPE_IQ2_XS: return f(type_tag<block_iq2_xs>{});
        case GGML_TYPE_IQ2_XXS: return f(type_tag<block_iq2_xxs>{});
        default: return otherwise();
    }
}

template <typename F>
auto dispatch(enum ggml_type type, const F & f) {
    return dispatch(type, f, [&]() -> decltype(f(type_tag<block_f16>{})) { GGML_ABORT("%s is not packed", ggml_type_name(type)); });
}

inline uint32_t word_at(const void * p, int i) {
    uint32_t word;
    memcpy(&word, (const char *) p + 4 * i, sizeof(word));
    return word;
}

inline uint32_t nibbles(uint32_t word, bool high) {
    return (high ? word >> 4 : word) & 0x0F0F0F0F;
}

// Layout of 16 columns of a weight block: `size` bytes, `groups` groups with one scale each, of `pairs` pairs of cache lines, about
// `lines` cache lines per group, the value's lowest `bits` bits in these. Values are at most `value_max` after `offset` made them unsigned; without VNNI, values of eight
// bits stay signed.
//   word   four values of group `g`, vector `v`: their lowest `bits` bits
//   rest   the other bits and the scales of column `n`
//   load   pair `p` of group `g`, columns of half `h`
//   scale  of group `g`; d, min, dmin of the block
template <typename TB>
struct packed {};

template <>
struct packed<block_q4_0> {
    static constexpr int values = QK4_0, groups = 1, pairs = 4, bits = 4, lines = 6, offset = 8, value_max = 15;
    static constexpr int ds = COLUMNS * values / 2, size = ds + COLUMNS * 2;
    static uint32_t word(const block_q4_0 & b, int, int v) { return nibbles(word_at(b.qs, v % 4), v >= 4); }
    static void rest(char * to, int n, const block_q4_0 & b) { memcpy(to + ds + 2 * n, &b.d, 2); }
    ALWAYS_INLINE static void load(const char * b, int, int p, int h, ints & w0, ints & w1) {
        const ints bytes = ::load(b + p * LINE + h * sizeof(ints));
        w0 = low_nibbles(bytes);
        w1 = high_nibbles(bytes);
    }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
};

template <>
struct packed<block_q4_1> {
    static constexpr int values = QK4_1, groups = 1, pairs = 4, bits = 4, lines = 6, offset = 0, value_max = 15;
    static constexpr int ds = COLUMNS * values / 2, mins = ds + COLUMNS * 2, size = mins + COLUMNS * 2;
    static uint32_t word(const block_q4_1 & b, int, int v) { return nibbles(word_at(b.qs, v % 4), v >= 4); }
    static void rest(char * to, int n, const block_q4_1 & b) {
        memcpy(to + ds + 2 * n, &b.d, 2);
        memcpy(to + mins + 2 * n, &b.m, 2);
    }
    ALWAYS_INLINE static void load(const char * b, int g, int p, int h, ints & w0, ints & w1) {
        packed<block_q4_0>::load(b, g, p, h, w0, w1);
    }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
    ALWAYS_INLINE static floats min(const char * b, int h) { return halves_to_floats(b + mins + h * LANES * 2); }
};

template <>
struct packed<block_q8_0> {
    static constexpr int values = QK8_0, groups = 1, pairs = 4, bits = 8, lines = 10, offset = 128, value_max = 255;
    static constexpr int ds = COLUMNS * values, size = ds + COLUMNS * 2;
    static uint32_t word(const block_q8_0 & b, int, int v) { return word_at(b.qs, v); }
    static void rest(char * to, int n, const block_q8_0 & b) { memcpy(to + ds + 2 * n, &b.d, 2); }
    ALWAYS_INLINE static void load(const char * b, int, int p, int h, ints & w0, ints & w1) {
        w0 = ::load(b + (2 * p) * LINE + h * sizeof(ints));
        w1 = ::load(b + (2 * p + 1) * LINE + h * sizeof(ints));
        if (VNNI) {
            w0 = bits_xor(w0, broadcast_byte(0x80));
            w1 = bits_xor(w1, broadcast_byte(0x80));
        }
    }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
};

// Q5_0, Q5_1 and Q5_K: bit 4 of a value in a second line, bit `v` of a byte for vector `v`.
ALWAYS_INLINE void load_fifth_bits(const char * bytes_at, const char * bits_at, int p, ints & w0, ints & w1) {
    const ints bytes = load(bytes_at), bits = load(bits_at);
    const ints b0 = p < 2 ? shift_left(bits, 4 - 2 * p) : p == 2 ? bits
                                                                 : shift_right(bits, 2);
    const ints b1 = p < 2 ? shift_left(bits, 3 - 2 * p) : shift_right(bits, 2 * p - 3);
    w0 = or_and(low_nibbles(bytes), b0, broadcast_byte(0x10));
    w1 = or_and(high_nibbles(bytes), b1, broadcast_byte(0x10));
}

// Q5_0 and Q5_1
template <typename TB>
struct packed_five_bits {
    static constexpr int values = 32, groups = 1, pairs = 4, bits = 4, lines = 7, value_max = 31;
    static constexpr int highs = COLUMNS * values / 2, ds = highs + LINE;
    static uint32_t word(const TB & b, int, int v) { return nibbles(word_at(b.qs, v % 4), v >= 4); }
    static void fifths_of(char * to, int n, const TB & b) {
        const uint32_t bit_of_value = word_at(b.qh, 0);
        uint32_t fifths = 0;
        for (int k = 0; k < values; ++k) fifths |= (bit_of_value >> k & 1) << (k % 4 * 8 + k / 4);
        memcpy(to + highs + 4 * n, &fifths, 4);
        memcpy(to + ds + 2 * n, &b.d, 2);
    }
    ALWAYS_INLINE static void load(const char * b, int, int p, int h, ints & w0, ints & w1) {
        load_fifth_bits(b + p * LINE + h * sizeof(ints), b + highs + h * sizeof(ints), p, w0, w1);
    }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
};

template <>
struct packed<block_q5_0> : packed_five_bits<block_q5_0> {
    static constexpr int offset = 16, size = ds + COLUMNS * 2;
    static void rest(char * to, int n, const block_q5_0 & b) { fifths_of(to, n, b); }
};

template <>
struct packed<block_q5_1> : packed_five_bits<block_q5_1> {
    static constexpr int offset = 0, mins = ds + COLUMNS * 2, size = mins + COLUMNS * 2;
    static void rest(char * to, int n, const block_q5_1 & b) {
        fifths_of(to, n, b);
        memcpy(to + mins + 2 * n, &b.m, 2);
    }
    ALWAYS_INLINE static floats min(const char * b, int h) { return halves_to_floats(b + mins + h * LANES * 2); }
};

// IQ4_NL and IQ4_XS: nibbles are indices into a table.
ALWAYS_INLINE void load_iq4(const char * at, ints & w0, ints & w1) {
    __m128i table = _mm_set_epi8(113, 89, 69, 53, 38, 25, 13, 1, -10, -22, -35, -49, -65, -83, -104, -127);
    if (VNNI) table = _mm_xor_si128(table, _mm_set1_epi8((char) 0x80));
    const ints bytes = load(at);
    w0 = lookup(table, low_nibbles(bytes));
    w1 = lookup(table, high_nibbles(bytes));
}

template <>
struct packed<block_iq4_nl> {
    static constexpr int values = QK4_NL, groups = 1, pairs = 4, bits = 4, lines = 6, offset = 128, value_max = 255;
    static constexpr int ds = COLUMNS * values / 2, size = ds + COLUMNS * 2;
    static uint32_t word(const block_iq4_nl & b, int, int v) { return nibbles(word_at(b.qs, v % 4), v >= 4); }
    static void rest(char * to, int n, const block_iq4_nl & b) { memcpy(to + ds + 2 * n, &b.d, 2); }
    ALWAYS_INLINE static void load(const char * b, int, int p, int h, ints & w0, ints & w1) {
        load_iq4(b + p * LINE + h * sizeof(ints), w0, w1);
    }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
};

// MXFP4 and NVFP4: nibbles are E2M1, here in halves, made unsigned.
ALWAYS_INLINE void load_fp4(const char * at, ints & w0, ints & w1) {
    const __m128i table = _mm_set_epi8(0, 4, 6, 8, 9, 10, 11, 12, 24, 20, 18, 16, 15, 14, 13, 12);
    const ints bytes = load(at);
    w0 = lookup(table, low_nibbles(bytes));
    w1 = lookup(table, high_nibbles(bytes));
}

template <>
struct packed<block_mxfp4> {
    static constexpr int values = QK_MXFP4, groups = 1, pairs = 4, bits = 4, lines = 5, offset = 12, value_max = 24;
    static constexpr int exponents = COLUMNS * values / 2, size = exponents + COLUMNS;
    static uint32_t word(const block_mxfp4 & b, int, int v) { return nibbles(word_at(b.qs, v % 4), v >= 4); }
    static void rest(char * to, int n, const block_mxfp4 & b) { to[exponents + n] = b.e; }
    ALWAYS_INLINE static void load(const char * b, int, int p, int h, ints & w0, ints & w1) {
        load_fp4(b + p * LINE + h * sizeof(ints), w0, w1);
    }
    ALWAYS_INLINE static floats d(const char * b, int h) { return exponents_to_floats(b + exponents + h * LANES); }
};

// Scales (E4M3, one for 16 values) become F16, which has all of their values.
template <>
struct packed<block_nvfp4> {
    static constexpr int values = QK_NVFP4, groups = 4, pairs = 2, bits = 4, lines = 3, offset = 12, value_max = 24;
    static constexpr int scales = COLUMNS * values / 2, size = scales + COLUMNS * groups * 2;
    static uint32_t word(const block_nvfp4 & b, int g, int v) { return nibbles(word_at(b.qs, 2 * g + v % 2), v >= 2); }
    static void rest(char * to, int n, const block_nvfp4 & b) {
        for (int g = 0; g < groups; ++g) {
            const ggml_half scale = GGML_FP32_TO_FP16(ggml_ue4m3_to_fp32(b.d[g]));
            memcpy(to + scales + (g * COLUMNS + n) * 2, &scale, 2);
        }
    }
    ALWAYS_INLINE static void load(const char * b, int g, int p, int h, ints & w0, ints & w1) {
        load_fp4(b + (g * pairs + p) * LINE + h * sizeof(ints), w0, w1);
    }
    ALWAYS_INLINE static floats scale(const char * b, int g, int h) {
        return halves_to_floats(b + scales + (g * COLUMNS + h * LANES) * 2);
    }
    ALWAYS_INLINE static floats d(const char *, int) { return broadcast(1.0f); }
};

}  // namespace
