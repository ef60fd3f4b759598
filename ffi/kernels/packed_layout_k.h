// Packed layouts of blocks of 256 weights, and the packing of every block of integers. Included by packed_gemm.cpp only.
#pragma once

#include "packed_layout.h"

namespace {

// Two bits of a value in a line per group, vector `v` at bit 2 * v. Halves of 128 values: a quarter of 32 each at bit 2 * quarter.
inline uint32_t bit_pairs(const uint8_t * qs, int g, int v) {
    return word_at(qs, g / 8 * 8 + g % 2 * 4 + v) >> g % 8 / 2 * 2 & 0x03030303;
}

ALWAYS_INLINE void load_bit_pairs(const char * at, int p, ints & w0, ints & w1) {
    const ints bytes = load(at);
    w0 = bits_and(p == 0 ? bytes : shift_right(bytes, 4), broadcast_byte(3));
    w1 = bits_and(shift_right(bytes, p == 0 ? 2 : 6), broadcast_byte(3));
}

template <>
struct packed<block_q2_K> {
    static constexpr int values = QK_K, groups = 16, pairs = 2, bits = 2, lines = 2, offset = 0, value_max = 3;
    static constexpr int scales = COLUMNS * QK_K / 4, ds = scales + COLUMNS * groups, size = ds + COLUMNS * 4;
    static uint32_t word(const block_q2_K & b, int g, int v) { return bit_pairs(b.qs, g, v); }
    static void rest(char * to, int n, const block_q2_K & b) {
        for (int g = 0; g < groups; ++g) to[scales + g / 2 * COLUMNS * 2 + n * 2 + g % 2] = b.scales[g];
        memcpy(to + ds + 2 * n, &b.d, 2);
        memcpy(to + ds + COLUMNS * 2 + 2 * n, &b.dmin, 2);
    }
    ALWAYS_INLINE static void load(const char * b, int g, int p, int h, ints & w0, ints & w1) {
        load_bit_pairs(b + g * LINE + h * sizeof(ints), p, w0, w1);
    }
    // Scales (low nibbles) and minima (high nibbles) of two groups
    ALWAYS_INLINE static ints scale_pairs(const char * b, int k, int h) {
        return widen_bytes(b + scales + k * COLUMNS * 2 + h * LANES * 2);
    }
    ALWAYS_INLINE static floats scale(const char * b, int g, int h) {
        const ints pairs = scale_pairs(b, g / 2, h);
        return ints_to_floats(bits_and(g % 2 ? high_words(pairs) : pairs, broadcast(0xF)));
    }
    ALWAYS_INLINE static ints min_pairs(const char * b, int k, int h) {
        return bits_and(shift_right(scale_pairs(b, k, h), 4), broadcast(0xF000F));
    }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
    ALWAYS_INLINE static floats dmin(const char * b, int h) { return halves_to_floats(b + ds + COLUMNS * 2 + h * LANES * 2); }
};

template <>
struct packed<block_q3_K> {
    static constexpr int values = QK_K, groups = 16, pairs = 2, bits = 2, lines = 2, offset = 4, value_max = 7;
    static constexpr int highs = COLUMNS * QK_K / 4, scales = highs + COLUMNS * QK_K / 8;
    static constexpr int ds = scales + COLUMNS * groups, size = ds + COLUMNS * 2;
    static uint32_t word(const block_q3_K & b, int g, int v) { return bit_pairs(b.qs, g, v); }
    static void rest(char * to, int n, const block_q3_K & b) {
        for (int g = 0; g < groups; g += 2) {
            uint32_t thirds = 0;  // bit v is that of vector v of `g`, bit 4 + v that of g + 1
            for (int v = 0; v < 8; ++v) thirds |= (word_at(b.hmask, v) >> g / 2 & 0x01010101) << v;
            memcpy(to + highs + g / 2 * LINE + n * 4, &thirds, 4);
        }
        for (int g = 0; g < groups; ++g) {
            const int low = b.scales[g % 8] >> g / 8 * 4 & 0xF, high = b.scales[8 + g % 4] >> g / 4 * 2 & 3;
            to[scales + g * COLUMNS + n] = (low | high << 4) - 32;
        }
        memcpy(to + ds + 2 * n, &b.d, 2);
    }
    ALWAYS_INLINE static void load(const char * b, int g, int p, int h, ints & w0, ints & w1) {
        load_bit_pairs(b + g * LINE + h * sizeof(ints), p, w0, w1);
        const ints line = ::load(b + highs + g / 2 * LINE + h * sizeof(ints));
        const ints thirds = g % 2 ? shift_right(line, 4) : line;
        w0 = or_and(w0, p == 0 ? shift_left(thirds, 2) : thirds, broadcast_byte(4));
        w1 = or_and(w1, p == 0 ? shift_left(thirds, 1) : shift_right(thirds, 1), broadcast_byte(4));
    }
    ALWAYS_INLINE static floats scale(const char * b, int g, int h) { return bytes_to_floats(b + scales + g * COLUMNS + h * LANES); }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
};

// Q4_K and Q5_K: eight groups of 32, each with a scale and a minimum of six bits.
template <typename TB, int high_bits>
struct packed_with_mins {
    static constexpr int values = QK_K, groups = 8, pairs = 4, bits = 4, lines = 5 + high_bits, offset = 0, value_max = 15 + 16 * high_bits;
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
        load_fifth_bits(b + (g * pairs + p) * LINE + h * sizeof(ints), b + highs + g * LINE + h * sizeof(ints), p, w0, w1);
    }
};

template <>
struct packed<block_q6_K> {
    static constexpr int values = QK_K, groups = 16, pairs = 2, bits = 4, lines = 4, offset = 32, value_max = 63;
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
        const ints tops = ::load(b + highs + g * LINE + h * sizeof(ints));
        w0 = or_and(low_nibbles(bytes), p == 0 ? shift_left(tops, 4) : tops, broadcast_byte(0x30));
        w1 = or_and(high_nibbles(bytes), p == 0 ? shift_left(tops, 2) : shift_right(tops, 2), broadcast_byte(0x30));
    }
    ALWAYS_INLINE static floats scale(const char * b, int g, int h) { return bytes_to_floats(b + scales + g * COLUMNS + h * LANES); }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
};

template <>
struct packed<block_iq4_xs> {
    static constexpr int values = QK_K, groups = 8, pairs = 4, bits = 4, lines = 5, offset = 128, value_max = 255;
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
        load_iq4(b + (g * pairs + p) * LINE + h * sizeof(ints), w0, w1);
    }
    ALWAYS_INLINE static floats scale(const char * b, int g, int h) { return bytes_to_floats(b + scales + g * COLUMNS + h * LANES); }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
};

// TQ1_0 and TQ2_0: -1, 0 and 1 in two bits, with one scale.
template <typename TB>
struct packed_ternary {
    static constexpr int values = QK_K, groups = 1, pairs = 32, bits = 2, lines = 17, offset = 1, value_max = 2;
    static constexpr int ds = COLUMNS * QK_K / 4, size = ds + COLUMNS * 2;
    static void rest(char * to, int n, const TB & b) { memcpy(to + ds + 2 * n, &b.d, 2); }
    ALWAYS_INLINE static void load(const char * b, int, int p, int h, ints & w0, ints & w1) {
        load_bit_pairs(b + p / 2 * LINE + h * sizeof(ints), p % 2, w0, w1);
    }
    ALWAYS_INLINE static floats d(const char * b, int h) { return halves_to_floats(b + ds + h * LANES * 2); }
};

template <>
struct packed<block_tq2_0> : packed_ternary<block_tq2_0> {
    // Halves of 128 values: a quarter of 32 each at bit 2 * quarter
    static uint32_t word(const block_tq2_0 & b, int, int v) { return word_at(b.qs, v / 32 * 8 + v % 8) >> v % 32 / 8 * 2 & 0x03030303; }
};

template <>
struct packed<block_tq1_0> : packed_ternary<block_tq1_0> {
    // Digit `digit` of four bytes that are fractions to base 3
    static uint32_t digits(const uint8_t * bytes, int digit) {
        constexpr uint8_t powers[] = {1, 3, 9, 27, 81};
        uint32_t word = 0;
        for (int i = 0; i < 4; ++i) word |= (uint32_t) ((uint8_t) (bytes[i] * powers[digit]) * 3 >> 8) << 8 * i;
        return word;
    }
    // 32 bytes of five digits, 16 bytes of five, four bytes of four; a digit of all bytes is followed by their next
    static uint32_t word(const block_tq1_0 & b, int, int v) {
        if (v < 40) return digits(b.qs + v % 8 * 4, v / 8);
        if (v < 60) return digits(b.qs + 32 + (v - 40) % 4 * 4, (v - 40) / 4);
        return digits(b.qh, v - 60);
    }
};

// Added to weight values, and subtracted again through the sums of A.
template <typename TB>
constexpr int offset_of = packed<TB>::value_max == 255 && !VNNI ? 0 : packed<TB>::offset;
template <typename TB>
constexpr bool has_mins = std::is_same<TB, block_q2_K>::value || std::is_same<TB, block_q4_K>::value ||
    std::is_same<TB, block_q5_K>::value;
// One minimum for the block.
template <typename TB>
constexpr bool has_min = std::is_same<TB, block_q4_1>::value || std::is_same<TB, block_q5_1>::value;

// Packs one block of 16 columns. `from`: block of the first column; the others lie `stride` blocks apart.
template <typename TB>
void pack_block(char * RESTRICT to, const TB * RESTRICT from, size_t stride) {
    using column = packed<TB>;
    constexpr int vectors = 8 / column::bits, vectors_of_group = 2 * column::pairs;  // vectors: in a line
    for (int n = 0; n < COLUMNS; ++n) {
        const TB & b = from[n * stride];
        for (int line = 0; line < column::groups * vectors_of_group / vectors; ++line) {
            uint32_t all = 0;
            for (int i = 0; i < vectors; ++i) {
                const int v = line * vectors + i;
                all |= column::word(b, v / vectors_of_group, v % vectors_of_group) << i * column::bits;
            }
            memcpy(to + line * LINE + n * 4, &all, 4);
        }
        column::rest(to, n, b);
    }
}

}  // namespace
