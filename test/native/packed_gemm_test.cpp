// Property tests of the packed GEMM (ffi/kernels/packed_gemm.h) against a scalar reference in double precision: every type, number
// of rows, planes, gaps between rows, experts and threads; and the same bits for a row whatever the batch. Prints a hash of all results, which
// memory nodes (SVC_MEMORY_NODES) must not change. Includes the kernel's source: the compiler's flags select its vector width.

#include "harness.h"

#include "memory_nodes.cpp"
#include "packed_gemm.cpp"

#include <cmath>

namespace {

constexpr int K = 512, N = 96, EXPERTS = 5, CHOICES = 3;

// Blocks of IQ2: all codes are valid, and rounding values to them takes seconds. The scale comes first.
void fill_codes(std::vector<char> & blocks, size_t block_size) {
    const ggml_half scale = ggml_fp32_to_fp16(0.01f);
    std::generate(blocks.begin(), blocks.end(), [] { return (char) generator(); });
    for (size_t at = 0; at < blocks.size(); at += block_size) memcpy(blocks.data() + at, &scale, sizeof(scale));
}

// Weights after rounding to their type, and packed.
struct weights {
    std::vector<float> values;
    tensor packed;
    svc_packed_regions regions;

    weights(ggml_type type, int experts) : values((size_t) K * N * experts), packed(type, K, N, experts) {
        std::generate(values.begin(), values.end(), random_float);
        std::vector<char> rounded(packed.memory.size());
        if (type == GGML_TYPE_F16) ggml_fp32_to_fp16_row(values.data(), (ggml_fp16_t *) rounded.data(), values.size());
        else if (type == GGML_TYPE_BF16) ggml_fp32_to_bf16_row(values.data(), (ggml_bf16_t *) rounded.data(), values.size());
        else if (type == GGML_TYPE_IQ2_S || type == GGML_TYPE_IQ2_XS || type == GGML_TYPE_IQ2_XXS) fill_codes(rounded, ggml_type_size(type));
        else ggml_quantize_chunk(type, values.data(), rounded.data(), 0, (int64_t) N * experts, K, nullptr);
        if (type == GGML_TYPE_Q8_0) ((block_q8_0 *) rounded.data())->qs[3] = -128;
        ggml_get_type_traits(type)->to_float(rounded.data(), values.data(), values.size());
        // Behind something else in its buffer.
        constexpr size_t others = 64;
        regions.size = others + svc_packed_alloc_size(&packed.t) / svc_nodes();
        packed.memory.resize(regions.size * svc_nodes());
        regions.begin = packed.memory.data();
        packed.t.data = regions.begin + others * svc_nodes();
        packed.t.extra = svc_nodes() == 1 ? nullptr : &regions;
        svc_packed_convert(&packed.t, rounded.data(), 0, rounded.size());
    }

    const float * row(int expert, int n) const { return values.data() + ((size_t) expert * N + n) * K; }
};

// Activations that eight bits represent exactly, so that an error is one of the weights or of their product.
void fill_exactly(tensor & a) {
    a.each_row([](float * row) {
        for (int k = 0; k < K; ++k) row[k] = k % 32 == 0 ? 127 : random_int(-127, 126);
    });
}

double largest;
uint64_t hash = 14695981039346656037u;  // FNV-1a

// Relative to the sizes of the factors: activations are rounded to 8 bits.
void compare(float found, const float * w, const float * a) {
    double sum = 0;
    double size = 0;
    for (int k = 0; k < K; ++k) {
        sum += (double) w[k] * a[k];
        size += (double) w[k] * w[k] + (double) a[k] * a[k];
    }
    const double error = std::fabs(found - sum) / size;
    if (!(error <= largest)) largest = error;  // keeps NaN
}

void run(tensor & dst, int threads, void (*multiply)(const ggml_compute_params *, ggml_tensor *)) {
    run_threads(threads, svc_packed_work_size(threads, &dst.t), [&](const ggml_compute_params * params) { multiply(params, &dst.t); });
    for (const char byte : dst.memory) hash = (hash ^ (uint8_t) byte) * 1099511628211u;
}

void multiply_one(const ggml_compute_params * params, ggml_tensor * dst) {
    svc_chunk_counter unknown = {};
    svc_packed_mul_mats(params, &dst, 1, &unknown);
}

void make_product(tensor & c, weights & w, tensor & a) {
    c.t.op = GGML_OP_MUL_MAT;
    c.t.src[0] = &w.packed.t;
    c.t.src[1] = &a.t;
}

void one_matrix(weights & w, int rows, int planes, int64_t gap, bool exact = false) {
    tensor a(GGML_TYPE_F32, K, rows, planes, 1, gap), c(GGML_TYPE_F32, N, rows, planes);
    if (exact) fill_exactly(a);
    else a.fill();
    make_product(c, w, a);
    run(c, random_int(1, 3), multiply_one);
    for (int p = 0; p < planes; ++p) {
        for (int r = 0; r < rows; ++r) {
            for (int n = 0; n < N; ++n) compare(c.row(r, p)[n], w.row(0, n), a.row(r, p));
        }
    }
}

void experts(weights & w, int tokens, bool shared, int64_t gap) {
    tensor a(GGML_TYPE_F32, K, shared ? 1 : CHOICES, tokens, 1, gap), c(GGML_TYPE_F32, N, CHOICES, tokens);
    tensor ids(GGML_TYPE_I32, CHOICES, tokens, 1, 1, gap);
    a.fill();
    for (int t = 0; t < tokens; ++t) {
        for (int i = 0; i < CHOICES; ++i) ((int32_t *) ids.row(t, 0))[i] = tokens == 7 ? i : (int32_t) (generator() % EXPERTS);
    }
    c.t.op = GGML_OP_MUL_MAT_ID;
    c.t.src[0] = &w.packed.t;
    c.t.src[1] = &a.t;
    c.t.src[2] = &ids.t;
    run(c, random_int(1, 3), svc_packed_mul_mat_id);
    for (int t = 0; t < tokens; ++t) {
        for (int i = 0; i < CHOICES; ++i) {
            const int expert = ((const int32_t *) ids.row(t, 0))[i];
            for (int n = 0; n < N; ++n) compare(c.row(i, t)[n], w.row(expert, n), a.row(shared ? 0 : i, t));
        }
    }
}

// Every scale of MXFP4, the two denormal ones as well.
bool exponents_are_right() {
    for (int e = 0; e < 256; e += LANES) {
        uint8_t bytes[LANES];
        float found[LANES];
        for (int i = 0; i < LANES; ++i) bytes[i] = e + i;
        store(found, exponents_to_floats(bytes));
        for (int i = 0; i < LANES; ++i) {
            if (found[i] != ggml_e8m0_to_fp32_half(bytes[i])) return false;
        }
    }
    return true;
}

// Rows alone, and as part of batches: the same bits.
bool is_row_invariant(weights & w) {
    tensor a(GGML_TYPE_F32, K, 21), together(GGML_TYPE_F32, N, 21);
    a.fill();
    const auto multiply = [&](tensor & input, tensor & output, int threads) {
        make_product(output, w, input);
        run(output, threads, multiply_one);
    };
    multiply(a, together, 2);
    for (int r = 0; r < 21; ++r) {
        tensor one(GGML_TYPE_F32, K), alone(GGML_TYPE_F32, N);
        std::copy_n(a.row(r), K, one.row(0));
        multiply(one, alone, 1);
        if (memcmp(alone.row(0), together.row(r), N * sizeof(float)) != 0) return false;
    }
    return true;
}

// Products of one input together, again and again without a barrier before them: the same bits as alone.
bool are_groups_equal(weights & w, weights & other, int rows, int threads) {
    weights * const of[] = {&w, &other, &w, &w, &other};
    constexpr int n = 5;
    tensor a(GGML_TYPE_F32, K, rows), alone(GGML_TYPE_F32, N, rows), alone_other(GGML_TYPE_F32, N, rows);
    a.fill();
    make_product(alone, w, a);
    make_product(alone_other, other, a);
    run(alone, threads, multiply_one);
    run(alone_other, threads, multiply_one);
    std::vector<tensor> together;
    ggml_tensor * products[n];
    for (int p = 0; p < n; ++p) together.emplace_back(GGML_TYPE_F32, N, rows);
    size_t bytes = 0;
    for (int p = 0; p < n; ++p) {
        make_product(together[p], *of[p], a);
        products[p] = &together[p].t;
        bytes = std::max(bytes, svc_packed_work_size(threads, products[p]));
    }
    bool right = true;
    run_threads(threads, bytes, [&](const ggml_compute_params * params) {
        svc_chunk_counter counter = {};
        if (svc_packed_group_size(params, products, n) != n) right = false;
        for (int round = 0; right && round < 3; ++round) {
            if (params->ith == 0) {
                for (tensor & t : together) std::fill(t.memory.begin(), t.memory.end(), 0x7f);
            }
            ggml_barrier(params->threadpool);
            svc_packed_fetch(params, products[0], &counter);
            svc_packed_mul_mats(params, products, 3, &counter);
            ggml_barrier(params->threadpool);
            svc_packed_mul_mats(params, products + 3, 2, &counter);
            ggml_barrier(params->threadpool);
        }
    });
    for (int p = 0; p < n; ++p) right &= together[p].memory == (of[p] == &w ? alone : alone_other).memory;
    return right;
}

}  // namespace

int main() {
    const ggml_type types[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0, GGML_TYPE_IQ4_NL,
        GGML_TYPE_MXFP4, GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_XS, GGML_TYPE_IQ3_S,
        GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ2_S, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_XXS, GGML_TYPE_TQ1_0, GGML_TYPE_TQ2_0, GGML_TYPE_NVFP4, GGML_TYPE_F16, GGML_TYPE_BF16};
    bool right = report("scales of MXFP4", exponents_are_right() ? 0 : NAN, 0);
    const char * nodes = getenv("SVC_MEMORY_NODES");
    right &= report("memory nodes", svc_nodes() == (nodes == nullptr ? 1 : atoi(strchr(nodes, ':') + 1)) ? 0 : NAN, 0);
    weights other(GGML_TYPE_Q6_K, 1);
    for (const ggml_type type : types) {
        weights matrix(type, 1), matrices(type, EXPERTS);
        largest = 0;
        for (const int rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 21}) {
            one_matrix(matrix, rows, 1, 0);
            one_matrix(matrix, rows, 3, 64);
            experts(matrices, rows, true, 0);
            experts(matrices, rows, false, 64);
        }
        char what[80];
        snprintf(what, sizeof(what), "packed GEMM, %d lanes%s, %s", LANES, VNNI ? " VNNI" : "", ggml_type_name(type));
        right &= report(what, largest, 1e-3);
        largest = 0;
        one_matrix(matrix, 9, 1, 0, true);
        right &= report("  with activations of eight bits", largest, 1e-8);
        for (const int rows : {1, 3, 19}) {
            for (const int threads : {1, 2, 7}) {
                if (!are_groups_equal(matrix, other, rows, threads)) right = report("products of one input together differ", NAN, 0);
            }
        }
        if (!is_row_invariant(matrix)) right = report("a row's result depends on the batch", NAN, 0);
    }
    printf("results: %016llx\n", (unsigned long long) hash);
    return right ? 0 : 1;
}
