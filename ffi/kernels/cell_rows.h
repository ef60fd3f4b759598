// Keys and values of attention where they are in the KV cache, and as vectors are loaded from them. Included by attention.cpp only.
#pragma once

#include "ggml-cpu-impl.h"
#include "simd-mappings.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace {

constexpr int UNIT_CELLS = 32;  // cells per step of a work unit

// Where the keys or values of one step are: one row per cell; the last row is repeated up to 32.
template <typename T>
struct cell_sources {
    static constexpr bool is_f16 = std::is_same_v<T, ggml_fp16_t>;

    const char * at[UNIT_CELLS];
    int count;
    const ggml_type type;
    const int span_bytes;  // of 32 values

    // `data`: the first cell of a head; `stride`: bytes between cells.
    cell_sources(ggml_type type, const char * data, size_t stride, const int32_t * cells, int n)
        : count(std::max(0, std::min(n, UNIT_CELLS))), type(type), span_bytes(is_f16 ? 32 * sizeof(ggml_fp16_t) : ggml_row_size(type, 32)) {
        for (int j = 0; j < UNIT_CELLS && count > 0; ++j) at[j] = data + cells[std::min(j, count - 1)] * stride;
    }

    // Prefetches part of a row that is needed next, in small portions during computation: more than a few at once would stall. Into
    // the second-level cache, as the first is too small for all heads.
    void prefetch(int j, int i) const {
        if (j < count) __builtin_prefetch(at[j] + (is_f16 ? i * sizeof(T) : i / 32 * span_bytes), 0, 2);
    }
};

// y[n] = a row's values from `d` on. Both are multiples of 32.
inline void convert_row(const cell_sources<float> & sources, int j, int d, int n, float * y) {
    const char * x = sources.at[j] + d / 32 * sources.span_bytes;
    if (sources.type == GGML_TYPE_F32) {
        memcpy(y, x, n * sizeof(float));
    } else if (sources.type != GGML_TYPE_Q8_0) {
        ggml_get_type_traits(sources.type)->to_float(x, y, n);
    } else {
        for (int i = 0; i < n; i += 32, x += sources.span_bytes) {
            ggml_fp16_t scale;
            memcpy(&scale, x, sizeof(scale));
            const float d = GGML_CPU_FP16_TO_FP32(scale);
            const int8_t * values = (const int8_t *) x + sizeof(scale);
            for (int k = 0; k < 32; ++k) y[i + k] = d * values[k];
        }
    }
}

// Rows of one step as vectors are loaded from them: F16 in the cache itself, other types converted before.
template <typename T>
class cell_rows {
  public:
    const int count;

    // `converted`: [32][D]
    cell_rows(const cell_sources<T> & sources, int D, float * converted) : count(sources.count), sources(sources), D(D), converted(converted) {
        if constexpr (std::is_same_v<T, float>) {
            for (int j = 0; j < count; ++j) convert_row(sources, j, 0, D, converted + j * D);
        }
    }

    const T * at(int j) const {
        if constexpr (std::is_same_v<T, float>) return converted + std::min(j, count - 1) * D;
        return (const T *) sources.at[j];
    }

  private:
    const cell_sources<T> & sources;
    const int D;
    float * const converted;
};

}  // namespace
