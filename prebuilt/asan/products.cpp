// Products with packed weights (prebuilt/patches/rows-of-packed-weights.patch) under the sanitizers, against sums in double
// precision: every type, any number of rows, rows that lie apart or in several planes, and those of experts. Includes the
// patched source, so that it is built for one width of vectors after the other.

#include "ggml-cpu/amx/rows.cpp"

#include <cmath>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

// One thread meets nobody.
static int next_chunk;
extern "C" void ggml_barrier(struct ggml_threadpool *) { }
extern "C" void ggml_threadpool_chunk_set(struct ggml_threadpool *, int value) { next_chunk = value; }
extern "C" int ggml_threadpool_chunk_add(struct ggml_threadpool *, int value) { return std::exchange(next_chunk, next_chunk + value); }

namespace {

constexpr int K = 512, N = 96, EXPERTS = 5, CHOICES = 3;

std::mt19937 dice(1);
float number() { return std::uniform_real_distribution<float>(-3, 3)(dice); }

// A tensor over memory of its own, exactly as large as it must be: the sanitizer sees what lies beyond.
struct tensor {
    ggml_tensor t = {};
    std::vector<char> memory;

    tensor(ggml_type type, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1, int64_t gap = 0) {
        t.type = type;
        const int64_t ne[] = { ne0, ne1, ne2, 1 };
        std::copy(ne, ne + 4, t.ne);
        t.nb[0] = ggml_type_size(type);
        t.nb[1] = ggml_row_size(type, ne0) + gap;
        t.nb[2] = t.nb[1] * ne1 + gap;
        t.nb[3] = t.nb[2] * ne2;
        memory.resize(t.nb[3]);
        t.data = memory.data();
    }

    float * row(int64_t i1, int64_t i2) { return (float *) (memory.data() + i1 * t.nb[1] + i2 * t.nb[2]); }

    void fill() {
        for (int64_t i2 = 0; i2 < t.ne[2]; ++i2) {
            for (int64_t i1 = 0; i1 < t.ne[1]; ++i1) std::generate(row(i1, i2), row(i1, i2) + t.ne[0], number);
        }
    }
};

// Weights: what they were rounded to, and packed.
struct weights {
    std::vector<float> values;
    tensor packed;

    weights(ggml_type type, int experts) : values((size_t) K * N * experts), packed(type, K, N, experts) {
        std::generate(values.begin(), values.end(), number);
        std::vector<char> rounded(packed.memory.size());
        if (type == GGML_TYPE_F16) ggml_fp32_to_fp16_row(values.data(), (ggml_fp16_t *) rounded.data(), values.size());
        else ggml_quantize_chunk(type, values.data(), rounded.data(), 0, (int64_t) N * experts, K, nullptr);
        if (type == GGML_TYPE_Q8_0) ((block_q8_0 *) rounded.data())->qs[3] = -128;
        ggml_get_type_traits(type)->to_float(rounded.data(), values.data(), values.size());
        packed.memory.resize(ggml_backend_amx_get_alloc_size(&packed.t));
        packed.t.data = packed.memory.data();
        ggml_backend_amx_convert_weight(&packed.t, rounded.data(), 0, rounded.size());
    }

    const float * row(int expert, int n) const { return values.data() + ((size_t) expert * N + n) * K; }
};

double worst;

// The product is of rows that are rounded to 8 bits: compared with what that may cost at most, many times over.
void compare(float found, const float * w, const float * a) {
    double sum = 0, size = 0;
    for (int k = 0; k < K; ++k) {
        sum += (double) w[k] * a[k];
        size += (double) w[k] * w[k] + (double) a[k] * a[k];
    }
    worst = std::max(worst, std::fabs(found - sum) / size);
}

void run(tensor & dst, void (*multiply)(const ggml_compute_params *, ggml_tensor *)) {
    std::vector<char> memory(ggml_backend_amx_desired_wsize(&dst.t));
    ggml_compute_params params = {};
    params.nth   = 1;
    params.wsize = memory.size();
    params.wdata = memory.data();
    multiply(&params, &dst.t);
}

void one_matrix(ggml_type type, int rows, int planes, int64_t gap) {
    weights w(type, 1);
    tensor a(GGML_TYPE_F32, K, rows, planes, gap), c(GGML_TYPE_F32, N, rows, planes);
    a.fill();
    c.t.op     = GGML_OP_MUL_MAT;
    c.t.src[0] = &w.packed.t;
    c.t.src[1] = &a.t;
    run(c, ggml_backend_amx_mul_mat);
    for (int p = 0; p < planes; ++p) {
        for (int r = 0; r < rows; ++r) {
            for (int n = 0; n < N; ++n) compare(c.row(r, p)[n], w.row(0, n), a.row(r, p));
        }
    }
}

void experts(ggml_type type, int tokens, bool shared, int64_t gap) {
    weights w(type, EXPERTS);
    tensor a(GGML_TYPE_F32, K, shared ? 1 : CHOICES, tokens, gap), c(GGML_TYPE_F32, N, CHOICES, tokens);
    tensor ids(GGML_TYPE_I32, CHOICES, tokens, 1, gap);
    a.fill();
    for (int t = 0; t < tokens; ++t) {
        for (int i = 0; i < CHOICES; ++i) ((int32_t *) ids.row(t, 0))[i] = tokens == 7 ? i : (int32_t) (dice() % EXPERTS);
    }
    c.t.op     = GGML_OP_MUL_MAT_ID;
    c.t.src[0] = &w.packed.t;
    c.t.src[1] = &a.t;
    c.t.src[2] = &ids.t;
    run(c, ggml_backend_amx_mul_mat_id);
    for (int t = 0; t < tokens; ++t) {
        for (int i = 0; i < CHOICES; ++i) {
            const int expert = ((const int32_t *) ids.row(t, 0))[i];
            for (int n = 0; n < N; ++n) compare(c.row(i, t)[n], w.row(expert, n), a.row(shared ? 0 : i, t));
        }
    }
}

} // anonymous namespace

int main() {
    const ggml_type types[] = { GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K,
                                GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_XS, GGML_TYPE_F16 };
    int failed = 0;
    for (const ggml_type type : types) {
        worst = 0;
        for (const int rows : { 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 21 }) {
            one_matrix(type, rows, 1, 0);
            one_matrix(type, rows, 3, 64);
            if (type == GGML_TYPE_F16) continue; // those of experts are not packed
            experts(type, rows, true, 0);
            experts(type, rows, false, 64);
        }
        const bool fits = worst < 1e-3;
        printf("%d lanes, %s: %s (%.1e)\n", LANES, ggml_type_name(type), fits ? "right" : "WRONG", worst);
        failed += !fits;
    }
    return failed;
}
