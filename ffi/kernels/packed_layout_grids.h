// Packed layouts of IQ2 and IQ3: values are looked up in a grid of codes of four or eight. The file's code of a group becomes one index
// a value, of three bits (IQ2) or four (IQ3), sign included, into a table that fits a register: the packed weights are larger than the
// file's, and a product needs no grid. Values and their order: ggml's dequantize_row_iq*. Included by
// packed_kernels.h only.
#pragma once

#include "packed_layout_k.h"

#define GGML_COMMON_IMPL_CPP
#include "ggml-common.h"

namespace {

// Four magnitudes of a grid's code, the first at bit 0, and their signs, set where negative.
struct grid_word {
    uint32_t magnitudes, signs;
};

inline uint32_t bit_of_each_byte(uint32_t bits) { return (bits & 0xF) * 0x00204081 & 0x01010101; }

// Signs of IQ2_XXS, IQ2_XS and IQ3_XXS: seven of eight, the last by parity. Half `half` of code `code`.
inline uint32_t even_signs(uint32_t code, int half) { return ksigns_iq2xs[code & 127] >> 4 * half; }

inline uint32_t half_of(uint64_t grid, int half) { return (uint32_t) (grid >> 32 * half); }

// Scales of these types are odd: (2 * code + 1) * unit * d.
template <typename TB>
struct grid_block {};

// Vectors `v` of groups of 32 values; groups of 16 are halves of these.
template <>
struct grid_block<block_iq2_xxs> {
    static constexpr float unit = 0.125f;
    static uint32_t signs_and_scale(const block_iq2_xxs & b, int g) { return word_at(b.qs, 2 * g + 1); }
    static grid_word word(const block_iq2_xxs & b, int g, int v) {
        const uint32_t code = word_at(b.qs, 2 * g) >> v / 2 * 8 & 0xFF;
        return {half_of(iq2xxs_grid[code], v % 2), even_signs(signs_and_scale(b, g) >> v / 2 * 7, v % 2)};
    }
    static int scale(const block_iq2_xxs & b, int group_of_16) { return signs_and_scale(b, group_of_16 / 2) >> 28; }
};

template <>
struct grid_block<block_iq2_xs> {
    static constexpr float unit = 0.125f;
    static grid_word word(const block_iq2_xs & b, int g, int v) {
        const uint16_t code = b.qs[4 * g + v / 2];
        return {half_of(iq2xs_grid[code & 511], v % 2), even_signs(code >> 9, v % 2)};
    }
    static int scale(const block_iq2_xs & b, int group_of_16) { return b.scales[group_of_16 / 2] >> group_of_16 % 2 * 4 & 0xF; }
};

template <>
struct grid_block<block_iq2_s> {
    static constexpr float unit = 0.125f;
    static grid_word word(const block_iq2_s & b, int g, int v) {
        const int at = 4 * g + v / 2, high = b.qh[g] >> v / 2 * 2 & 3;
        return {half_of(iq2s_grid[b.qs[at] | high << 8], v % 2), (uint32_t) b.qs[QK_K / 8 + at] >> v % 2 * 4};
    }
    static int scale(const block_iq2_s & b, int group_of_16) { return b.scales[group_of_16 / 2] >> group_of_16 % 2 * 4 & 0xF; }
};

template <>
struct grid_block<block_iq3_xxs> {
    static constexpr float unit = 0.5f;  // of halves of the grid's values, all even
    static constexpr char magnitudes[] = {2, 6, 10, 14, 18, 22, 26, 31};
    static constexpr int shift = 3;  // of a grid's value to its index
    static uint32_t signs_and_scale(const block_iq3_xxs & b, int g) { return word_at(b.qs + QK_K / 4, g); }
    static grid_word word(const block_iq3_xxs & b, int g, int v) {
        return {iq3xxs_grid[b.qs[8 * g + v]], even_signs(signs_and_scale(b, g) >> v / 2 * 7, v % 2)};
    }
    static int scale(const block_iq3_xxs & b, int g) { return signs_and_scale(b, g) >> 28; }
};

template <>
struct grid_block<block_iq3_s> {
    static constexpr float unit = 1;
    static constexpr char magnitudes[] = {1, 3, 5, 7, 9, 11, 13, 15};
    static constexpr int shift = 1;
    static grid_word word(const block_iq3_s & b, int g, int v) {
        const int code = b.qs[8 * g + v] | (b.qh[g] >> v & 1) << 8;
        return {iq3s_grid[code], (uint32_t) b.signs[4 * g + v / 2] >> v % 2 * 4};
    }
    static int scale(const block_iq3_s & b, int g) { return b.scales[g / 2] >> g % 2 * 4 & 0xF; }
};

// IQ2_XXS, IQ2_XS and IQ2_S, as Q3_K: two bits, and the third, the sign, in lines of their own.
template <typename TB>
struct packed_grid2 {
    static constexpr int values = QK_K, groups = 16, pairs = 2, bits = 2, lines = 2, offset = 43, value_max = 86;
    static constexpr int highs = COLUMNS * QK_K / 4, scales = highs + COLUMNS * QK_K / 8;
    static constexpr int ds = scales + COLUMNS * groups, size = ds + COLUMNS * 2;
    static grid_word grid(const TB & b, int g, int v) { return grid_block<TB>::word(b, g / 2, g % 2 * 4 + v); }
    static uint32_t word(const TB & b, int g, int v) { return grid(b, g, v).magnitudes >> 4 & 0x03030303; }  // of 8, 25, 43
    static void rest(char * to, int n, const TB & b) {
        for (int g = 0; g < groups; g += 2) {
            uint32_t thirds = 0;  // bit v is that of vector v of `g`, bit 4 + v that of g + 1
            for (int v = 0; v < 8; ++v) thirds |= bit_of_each_byte(grid(b, g + v / 4, v % 4).signs) << v;
            memcpy(to + highs + g / 2 * LINE + n * 4, &thirds, 4);
        }
        for (int g = 0; g < groups; ++g) to[scales + g * COLUMNS + n] = 2 * grid_block<TB>::scale(b, g) + 1;
        memcpy(to + ds + 2 * n, &b.d, 2);
    }
    ALWAYS_INLINE static void load(const char * b, int g, int p, int h, ints & w0, ints & w1) {
        const __m128i table = _mm_set_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 43 - 43, 43 - 25, 43 - 8, 0, 43 + 43, 43 + 25, 43 + 8);
        packed<block_q3_K>::load(b, g, p, h, w0, w1);
        w0 = lookup(table, w0);
        w1 = lookup(table, w1);
    }
    ALWAYS_INLINE static floats scale(const char * b, int g, int h) { return bytes_to_floats(b + scales + g * COLUMNS + h * LANES); }
    ALWAYS_INLINE static floats d(const char * b, int h) {
        return mul(halves_to_floats(b + ds + h * LANES * 2), broadcast(grid_block<TB>::unit));
    }
};

// IQ3_XXS and IQ3_S, as IQ4_XS.
template <typename TB>
struct packed_grid3 {
    using block = grid_block<TB>;
    static constexpr int offset = block::magnitudes[7], value_max = 2 * offset;
    static constexpr int values = QK_K, groups = 8, pairs = 4, bits = 4, lines = 5;
    static constexpr int scales = COLUMNS * QK_K / 2, ds = scales + COLUMNS * groups, size = ds + COLUMNS * 2;
    static uint32_t word(const TB & b, int g, int v) {
        const grid_word w = block::word(b, g, v);
        return (w.magnitudes >> block::shift & 0x07070707) | bit_of_each_byte(w.signs) << 3;
    }
    static void rest(char * to, int n, const TB & b) {
        for (int g = 0; g < groups; ++g) to[scales + g * COLUMNS + n] = 2 * block::scale(b, g) + 1;
        memcpy(to + ds + 2 * n, &b.d, 2);
    }
    ALWAYS_INLINE static void load(const char * b, int g, int p, int h, ints & w0, ints & w1) {
        const __m128i plus = _mm_loadl_epi64((const __m128i *) block::magnitudes), mid = _mm_set1_epi8(offset);
        const __m128i table = _mm_unpacklo_epi64(_mm_add_epi8(mid, plus), _mm_sub_epi8(mid, plus));
        const ints bytes = ::load(b + (g * pairs + p) * LINE + h * sizeof(ints));
        w0 = lookup(table, low_nibbles(bytes));
        w1 = lookup(table, high_nibbles(bytes));
    }
    ALWAYS_INLINE static floats scale(const char * b, int g, int h) { return bytes_to_floats(b + scales + g * COLUMNS + h * LANES); }
    ALWAYS_INLINE static floats d(const char * b, int h) {
        return mul(halves_to_floats(b + ds + h * LANES * 2), broadcast(block::unit));
    }
};

template <>
struct packed<block_iq2_xxs> : packed_grid2<block_iq2_xxs> {};
template <>
struct packed<block_iq2_xs> : packed_grid2<block_iq2_xs> {};
template <>
struct packed<block_iq2_s> : packed_grid2<block_iq2_s> {};
template <>
struct packed<block_iq3_xxs> : packed_grid3<block_iq3_xxs> {};
template <>
struct packed<block_iq3_s> : packed_grid3<block_iq3_s> {};

}  // namespace
