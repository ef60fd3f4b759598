// Property test of the kernel rms-norm (ffi/kernels/rms_norm.h): random shapes, strides and threads give the bits of upstream's loop.
// Includes the kernel's source: the compiler's flags select its vector width.

#include "harness.h"

#include "rms_norm.cpp"

namespace {

// Upstream's loop.
std::vector<float> reference(const float * x, int64_t n, float eps, const float * weights) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) sum += (double) (x[i] * x[i]);
    const float mean = sum / n;
    const float scale = 1.0f / sqrtf(mean + eps);
    std::vector<float> y(n);
    for (int64_t i = 0; i < n; ++i) y[i] = weights ? x[i] * scale * weights[i] : x[i] * scale;
    return y;
}

// The number of wrong rows.
int test_case(bool weighted, bool in_place) {
    const int threads = random_int(1, 3);
    const int64_t n = 8 * random_int(1, 40), ne1 = random_int(1, 20), ne2 = random_int(1, 5), ne3 = random_int(1, 2);
    const float eps = 1e-6f;
    tensor x(GGML_TYPE_F32, n, ne1, ne2, ne3, random_int(0, 1) * 64), norm(GGML_TYPE_F32, n, ne1, ne2, ne3), product(GGML_TYPE_F32, n, ne1, ne2, ne3);
    tensor weights(GGML_TYPE_F32, n);
    x.fill();
    weights.fill();
    std::vector<std::vector<float>> wanted;
    x.each_row([&](float * row) { wanted.push_back(reference(row, n, eps, weighted ? weights.row(0) : nullptr)); });
    tensor & result = in_place ? x : weighted ? product
                                              : norm;
    if (in_place) norm.t = product.t = x.t;
    norm.t.src[0] = &x.t;
    memcpy(norm.t.op_params, &eps, sizeof(eps));
    const bool swapped = random_int(0, 1) == 1;
    product.t.src[swapped] = &norm.t;
    product.t.src[!swapped] = &weights.t;
    std::atomic<int> computed{0};
    run_threads(threads, 0, [&](const ggml_compute_params * params) { computed += svc_rms_norm(params, &norm.t, weighted ? &product.t : nullptr); });
    if (computed != (ne1 * ne2 * ne3 < 8 * threads ? 0 : threads)) return 1;
    if (computed == 0) return 0;
    int wrong = 0;
    auto row_wanted = wanted.begin();
    result.each_row([&](float * row) { wrong += memcmp(row, (row_wanted++)->data(), n * sizeof(float)) != 0; });
    return wrong;
}

}  // namespace

int main() {
    int wrong = 0;
    for (int i = 0; i < 400; ++i) wrong += test_case(i % 2 == 1, i % 3 == 0);
    return report("rms norm", wrong, 0) ? 0 : 1;
}
