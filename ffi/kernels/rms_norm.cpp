#include "rms_norm.h"

#include "ggml-cpu-impl.h"
#include "svc_kernels.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

constexpr int ROWS = 8;

// Rows of a tensor by one index.
float * row_of(const ggml_tensor * t, int64_t row) {
    const int64_t plane = row / t->ne[1];
    return (float *) ((char *) t->data + row % t->ne[1] * t->nb[1] + plane % t->ne[2] * t->nb[2] + plane / t->ne[2] * t->nb[3]);
}

// Adds the squares of four columns of four rows to the rows' sums, in the columns' order.
inline __m256d add_squares(__m256d sums, const float * const * x, int64_t i) {
    __m128 a = _mm_loadu_ps(x[0] + i), b = _mm_loadu_ps(x[1] + i), c = _mm_loadu_ps(x[2] + i), d = _mm_loadu_ps(x[3] + i);
    a = _mm_mul_ps(a, a);
    b = _mm_mul_ps(b, b);
    c = _mm_mul_ps(c, c);
    d = _mm_mul_ps(d, d);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    sums = _mm256_add_pd(sums, _mm256_cvtps_pd(a));
    sums = _mm256_add_pd(sums, _mm256_cvtps_pd(b));
    sums = _mm256_add_pd(sums, _mm256_cvtps_pd(c));
    return _mm256_add_pd(sums, _mm256_cvtps_pd(d));
}

void sums_of_squares(const float * const * x, int64_t n, double * sums) {
    __m256d first = _mm256_setzero_pd(), second = _mm256_setzero_pd();
    for (int64_t i = 0; i < n; i += 4) {
        first = add_squares(first, x, i);
        second = add_squares(second, x + 4, i);
    }
    _mm256_storeu_pd(sums, first);
    _mm256_storeu_pd(sums + 4, second);
}

void scale_row(int64_t n, float * y, const float * x, float scale, const float * weights) {
    const __m256 scales = _mm256_set1_ps(scale);
    for (int64_t i = 0; i < n; i += 8) {
        __m256 value = _mm256_mul_ps(_mm256_loadu_ps(x + i), scales);
        if (weights) value = _mm256_mul_ps(value, _mm256_loadu_ps(weights + i));
        _mm256_storeu_ps(y + i, value);
    }
}

}  // namespace

bool svc_rms_norm(const ggml_compute_params * params, ggml_tensor * norm, ggml_tensor * product) {
    static const bool enabled = svc_kernel_enabled("rms-norm");
    const ggml_tensor * input = norm->src[0];
    const ggml_tensor * weights = product ? product->src[product->src[0] == norm] : nullptr;
    ggml_tensor * dst = product ? product : norm;
    const int64_t n = input->ne[0], rows = ggml_nrows(input);
    if (!enabled || params->use_ref || input->type != GGML_TYPE_F32 || dst->type != GGML_TYPE_F32 || n % 8 != 0 || rows < ROWS * params->nth) return false;
    if (weights && (weights->type != GGML_TYPE_F32 || ggml_nrows(weights) != 1)) return false;
    float eps;
    memcpy(&eps, norm->op_params, sizeof(eps));
    const int64_t begin = rows * params->ith / params->nth, end = rows * (params->ith + 1) / params->nth;
    for (int64_t row = begin; row < end; row += ROWS) {
        const int count = (int) std::min<int64_t>(ROWS, end - row);
        const float * x[ROWS];
        double sums[ROWS];
        for (int i = 0; i < ROWS; ++i) x[i] = row_of(input, row + std::min(i, count - 1));
        sums_of_squares(x, n, sums);
        for (int i = 0; i < count; ++i) {
            const float mean = sums[i] / n;
            const float scale = 1.0f / sqrtf(mean + eps);
            scale_row(n, row_of(dst, row + i), x[i], scale, weights ? (const float *) weights->data : nullptr);
        }
    }
    return true;
}

#else

bool svc_rms_norm(const ggml_compute_params *, ggml_tensor *, ggml_tensor *) { return false; }

#endif
