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
constexpr int PREFETCH_BYTES = 4096;  // the hardware prefetcher starts too late on tiles of a few KB

ALWAYS_INLINE ints low_nibbles(ints v) { return bits_and(v, broadcast_byte(0xF)); }
ALWAYS_INLINE ints high_nibbles(ints v) { return low_nibbles(shift_right(v, 4)); }

template <typename TB>
struct type_tag { using type = TB; };

template <typename F>
auto dispatch(enum ggml_type type, const F & f) {
    switch (type) {
        case GGML_TYPE_Q4_0: return f(type_tag<block_q4_0>{});
        case GGML_TYPE_Q4_1: return f(type_tag<block_q4_1>{});
        case GGML_TYPE_Q8_0: return f(type_tag<block_q8_0>{});
        case GGML_TYPE_Q4_K: return f(type_tag<block_q4_K>{});
        case GGML_TYPE_Q5_K: return f(type_tag<block_q5_K>{});
        case GGML_TYPE_Q6_K: return f(type_tag<block_q6_K>{});
        case GGML_TYPE_IQ4_XS: return f(type_tag<block_iq4_xs>{});
        default: GGML_ABORT("%s is not packed", ggml_type_name(type));
    }
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
// `lines` cache lines per group. Values are at most `value_max` after `offset` made them unsigned; without VNNI, values of eight
// bits stay signed.
//   word   four values of group `g`, vector `v`; their low four bits if there are more
//   rest   the other bits and the scales of column `n`
//   load   pair `p` of group `g`, columns of half `h`
//   scale  of group `g`; d, min, dmin of the block
template <typename TB>
struct packed {};

template <>
struct packed<block_q4_0> {
    static constexpr int values = QK4_0, groups = 1, pairs = 4, lines = 6, offset = 8, value_max = 15;
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
    static constexpr int values = QK4_1, groups = 1, pairs = 4, lines = 6, offset = 0, value_max = 15;
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
    static constexpr int values = QK8_0, groups = 1, pairs = 4, lines = 10, offset = 128, value_max = 255;
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

// Q4_K and Q5_K: eight groups of 32, each with a scale and a minimum of six bits.
template <typename TB, int high_bits>
struct packed_with_mins {
    static constexpr int values = QK_K, groups = 8, pairs = 4, lines = 5 + high_bits, offset = 0, value_max = 15 + 16 * high_bits;
    static constexpr int highs = COLUMNS * QK_K / 2, scales = highs + COLUMNS * QK_K / 8 * high_bits;
    static constexpr int mins = scales + COLUMNS * groups, ds = mins + COLUMNS * groups, size = ds + COLUMNS * 4;
    static uint32_t word(const TB & b, int g, int v) { return nibbles(word_at(b.qs, g / 2 * 8 + v), g % 2); }
    static void scales_of(char * to, int n, const TB & b) {
        for (int g = 0; g < groups; ++g) {
            const uint8_t * s = b.scales;
            to[scales + g * COLUMNS + n] = g < 4 ? s[g] & 63 : (s[g + 4] & 0xF) | (s[g - 4] >> 6) << 4;
            to[mins + g / 2 * COLUMNS * 2 + n * 2 + g % 2] = g < 4 ? s[g + 4] & 63 : s[g + 4] >> 4 | (s[g] >> 6) << 4;
        }
        memcpy(to + ds + 2 * n, &b.d, 2);
        memcpy(to + ds + COLUMNS * 2 + 2 * n, &b.dmin, 2);
    }
    ALWAYS_INLINE static floats scale(const char * b, int g, int h) { return bytes_to_floats(b + scales + g * COLUMNS + h * LANES); }
    ALWAYS_INLINE static ints min_pairs(const char * b, int k, int h) {
        return widen_bytes(b + mins + k * COLUMNS * 2 + h * LANES * 2);
    }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
    ALWAYS_INLINE static floats dmin(const char * b, int h) { return halves_to_floats(b + ds + COLUMNS * 2 + h * LANES * 2); }
};

template <>
struct packed<block_q4_K> : packed_with_mins<block_q4_K, 0> {
    static void rest(char * to, int n, const block_q4_K & b) { scales_of(to, n, b); }
    ALWAYS_INLINE static void load(const char * b, int g, int p, int h, ints & w0, ints & w1) {
        const ints bytes = ::load(b + (g * pairs + p) * LINE + h * sizeof(ints));
        w0 = low_nibbles(bytes);
        w1 = high_nibbles(bytes);
    }
};

template <>
struct packed<block_q5_K> : packed_with_mins<block_q5_K, 1> {
    static void rest(char * to, int n, const block_q5_K & b) {
        for (int g = 0; g < groups; ++g) {
            uint32_t fifths = 0;  // bit v is that of vector v
            for (int v = 0; v < 8; ++v) fifths |= (word_at(b.qh, v) >> g & 0x01010101) << v;
            memcpy(to + highs + g * LINE + n * 4, &fifths, 4);
        }
        scales_of(to, n, b);
    }
    ALWAYS_INLINE static void load(const char * b, int g, int p, int h, ints & w0, ints & w1) {
        const ints bytes = ::load(b + (g * pairs + p) * LINE + h * sizeof(ints));
        const ints bits = ::load(b + highs + g * LINE + h * sizeof(ints));
        const ints b0 = p < 2 ? shift_left(bits, 4 - 2 * p) : p == 2 ? bits
                                                                     : shift_right(bits, 2);
        const ints b1 = p < 2 ? shift_left(bits, 3 - 2 * p) : shift_right(bits, 2 * p - 3);
        w0 = or_and(low_nibbles(bytes), b0, broadcast_byte(0x10));
        w1 = or_and(high_nibbles(bytes), b1, broadcast_byte(0x10));
    }
};

template <>
struct packed<block_q6_K> {
    static constexpr int values = QK_K, groups = 16, pairs = 2, lines = 4, offset = 32, value_max = 63;
    static constexpr int highs = COLUMNS * QK_K / 2, scales = highs + COLUMNS * QK_K / 4;
    static constexpr int ds = scales + COLUMNS * groups, size = ds + COLUMNS * 2;
    // Halves of 128 values: a quarter of 32 each in the low and the high bits of two rows of bytes
    static uint32_t word(const block_q6_K & b, int g, int v) {
        const int quarter = g % 8 / 2;
        return nibbles(word_at(b.ql, g / 8 * 16 + quarter % 2 * 8 + g % 2 * 4 + v), quarter >= 2);
    }
    static void rest(char * to, int n, const block_q6_K & b) {
        for (int g = 0; g < groups; ++g) {
            uint32_t tops = 0;  // two bits for each of four vectors
            for (int v = 0; v < 4; ++v) {
                tops |= (word_at(b.qh, g / 8 * 8 + g % 2 * 4 + v) >> g % 8 / 2 * 2 & 0x03030303) << 2 * v;
            }
            memcpy(to + highs + g * LINE + n * 4, &tops, 4);
            to[scales + g * COLUMNS + n] = b.scales[g];
        }
        memcpy(to + ds + 2 * n, &b.d, 2);
    }
    ALWAYS_INLINE static void load(const char * b, int g, int p, int h, ints & w0, ints & w1) {
        const ints bytes = ::load(b + (g * pairs + p) * LINE + h * sizeof(ints));
        const ints bits = ::load(b + highs + g * LINE + h * sizeof(ints));
        w0 = or_and(low_nibbles(bytes), p == 0 ? shift_left(bits, 4) : bits, broadcast_byte(0x30));
        w1 = or_and(high_nibbles(bytes), p == 0 ? shift_left(bits, 2) : shift_right(bits, 2), broadcast_byte(0x30));
    }
    ALWAYS_INLINE static floats scale(const char * b, int g, int h) { return bytes_to_floats(b + scales + g * COLUMNS + h * LANES); }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
};

template <>
struct packed<block_iq4_xs> {
    static constexpr int values = QK_K, groups = 8, pairs = 4, lines = 5, offset = 128, value_max = 255;
    static constexpr int scales = COLUMNS * QK_K / 2, ds = scales + COLUMNS * groups, size = ds + COLUMNS * 2;
    static uint32_t word(const block_iq4_xs & b, int g, int v) { return nibbles(word_at(b.qs, g * 4 + v % 4), v >= 4); }
    static void rest(char * to, int n, const block_iq4_xs & b) {
        for (int g = 0; g < groups; ++g) {
            const int low = b.scales_l[g / 2] >> g % 2 * 4 & 0xF, high = b.scales_h >> g * 2 & 3;
            to[scales + g * COLUMNS + n] = (low | high << 4) - 32;
        }
        memcpy(to + ds + 2 * n, &b.d, 2);
    }
    ALWAYS_INLINE static void load(const char * b, int g, int p, int h, ints & w0, ints & w1) {
        __m128i table = _mm_set_epi8(113, 89, 69, 53, 38, 25, 13, 1, -10, -22, -35, -49, -65, -83, -104, -127);
        if (VNNI) table = _mm_xor_si128(table, _mm_set1_epi8((char) 0x80));
        const ints bytes = ::load(b + (g * pairs + p) * LINE + h * sizeof(ints));
        w0 = lookup(table, low_nibbles(bytes));
        w1 = lookup(table, high_nibbles(bytes));
    }
    ALWAYS_INLINE static floats scale(const char * b, int g, int h) { return bytes_to_floats(b + scales + g * COLUMNS + h * LANES); }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
};

// Added to weight values, and subtracted again through the sums of A.
template <typename TB>
constexpr int offset_of = packed<TB>::value_max == 255 && !VNNI ? 0 : packed<TB>::offset;
template <typename TB>
constexpr bool has_mins = std::is_same<TB, block_q4_K>::value || std::is_same<TB, block_q5_K>::value;

// Packs one block of 16 columns. `from`: block of the first column; the others lie `stride` blocks apart.
template <typename TB>
void pack_block(char * RESTRICT to, const TB * RESTRICT from, size_t stride) {
    using column = packed<TB>;
    constexpr bool bytes = std::is_same<TB, block_q8_0>::value;
    for (int n = 0; n < COLUMNS; ++n) {
        const TB & b = from[n * stride];
        for (int g = 0; g < column::groups; ++g) {
            for (int p = 0; p < column::pairs; ++p) {
                const uint32_t v0 = column::word(b, g, 2 * p), v1 = column::word(b, g, 2 * p + 1);
                const int line = g * column::pairs + p;
                if (bytes) {
                    memcpy(to + 2 * line * LINE + n * 4, &v0, 4);
                    memcpy(to + (2 * line + 1) * LINE + n * 4, &v1, 4);
                } else {
                    const uint32_t both = v0 | v1 << 4;
                    memcpy(to + line * LINE + n * 4, &both, 4);
                }
            }
        }
        column::rest(to, n, b);
    }
}

}  // namespace
