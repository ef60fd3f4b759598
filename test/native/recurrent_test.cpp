// Property test of the kernel recurrent (ffi/kernels/recurrent.h) in the built libraries: random steps over recurrent states, as
// llama.cpp builds them, give the same results and states bit for bit as upstream's operations (SVC_KERNELS=off).
//
//   recurrent_test LIBRARY...    of CPU variants; those that this processor lacks are left out

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int CASES = 120;
constexpr int WIDTH = 4;  // of the convolution

std::mt19937 generator(1);

int random_int(int first, int last) { return std::uniform_int_distribution<int>(first, last)(generator); }

struct step_case {
    int S, heads, key_heads, tokens, sequences, slots, cells, head, extra, threads;
    bool zeroes, silu;
    std::vector<int32_t> ids;

    static step_case random() {
        step_case c = {};
        const int sizes[] = {32, 64, 128, 128, 256};
        c.S = sizes[random_int(0, 4)];
        c.key_heads = random_int(1, 2);
        c.heads = c.key_heads * random_int(1, 3);
        c.tokens = random_int(0, 1) ? 1 : random_int(2, 40);
        c.sequences = random_int(1, 4);
        c.slots = random_int(0, 2) ? 1 : random_int(2, 3);
        c.extra = random_int(0, 4) ? 0 : 1;
        c.cells = c.sequences + c.extra + random_int(0, 3);
        c.head = random_int(0, c.cells - c.sequences - c.extra);
        c.threads = random_int(1, 3);
        c.zeroes = random_int(0, 4) == 0;
        c.silu = random_int(0, 4) != 0;
        // In place, in another order, from anywhere, or several from one.
        c.ids.resize(c.sequences + c.extra);
        std::iota(c.ids.begin(), c.ids.end(), c.head);
        const int kind = random_int(0, 3);
        if (kind == 1) std::shuffle(c.ids.begin(), c.ids.end(), generator);
        if (kind == 2) std::generate(c.ids.begin(), c.ids.end(), [&] { return random_int(0, c.cells * c.slots - 1); });
        if (kind == 3) std::fill(c.ids.begin(), c.ids.end(), random_int(0, c.cells - 1));
        return c;
    }

    int channels() const { return S * (2 * key_heads + heads); }
};

// A graph of one layer, its states and its inputs.
struct layer {
    const step_case & c;
    ggml_backend_t backend;
    ggml_context *kept, *ctx;
    ggml_backend_buffer_t buffer, apart;  // apart: no tensor's memory is used for another
    ggml_gallocr_t allocator;
    ggml_cgraph * graph;
    ggml_tensor *conv_cache, *net_cache, *weights, *ids, *qkv, *gate, *beta, *out, *rows;

    ggml_tensor * gathered(ggml_tensor * cache, int64_t size) {
        if (c.zeroes) ggml_build_forward_expand(graph, ggml_scale_inplace(ctx, ggml_view_1d(ctx, cache, size, c.ids[0] * cache->nb[1]), 0));
        rows = ggml_get_rows(ctx, cache, ggml_view_1d(ctx, ids, c.sequences, 0));
        ggml_build_forward_expand(graph, rows);
        ggml_tensor * others = ggml_get_rows(ctx, cache, ggml_view_1d(ctx, ids, c.extra, c.sequences * ids->nb[0]));
        ggml_tensor * place = ggml_view_2d(ctx, cache, size, c.extra, cache->nb[1], (c.head + c.sequences) * cache->nb[1]);
        ggml_build_forward_expand(graph, ggml_cpy(ctx, others, place));
        return rows;
    }

    ggml_tensor * convolution() {
        const int64_t C = c.channels(), size = (WIDTH - 1) * C;
        ggml_tensor * before = ggml_reshape_3d(ctx, gathered(conv_cache, size), WIDTH - 1, C, c.sequences);
        ggml_tensor * window = ggml_concat(ctx, before, ggml_transpose(ctx, ggml_scale(ctx, qkv, 0.5f)), 0);
        for (int i = 1; i <= c.slots; ++i) {
            const int64_t first = std::max<int64_t>(0, window->ne[0] - (WIDTH - 1) - c.slots + i);
            ggml_tensor * last = ggml_view_3d(ctx, window, WIDTH - 1, C, c.sequences, window->nb[1], window->nb[2], first * sizeof(float));
            ggml_tensor * place = ggml_view_2d(ctx, conv_cache, size, c.sequences, conv_cache->nb[1], ((c.slots - i) * c.cells + c.head) * conv_cache->nb[1]);
            ggml_build_forward_expand(graph, ggml_cpy(ctx, last, place));
        }
        return window;
    }

    ggml_tensor * net(ggml_tensor * mixed, ggml_tensor * state) {
        const size_t row = c.S * sizeof(float), all = c.channels() * sizeof(float);
        const auto part = [&](int heads, int first) { return ggml_view_4d(ctx, mixed, c.S, heads, c.tokens, c.sequences, row, all, all * c.tokens, first * row); };
        ggml_tensor * q = ggml_l2_norm(ctx, part(c.key_heads, 0), 1e-6f);
        ggml_tensor * k = ggml_l2_norm(ctx, part(c.key_heads, c.key_heads), 1e-6f);
        ggml_tensor * result = ggml_gated_delta_net(ctx, q, k, part(c.heads, 2 * c.key_heads), gate, ggml_sigmoid(ctx, beta), state, c.slots);
        const int64_t size = (int64_t) c.S * c.S * c.heads, written = std::min(c.tokens, c.slots), results = (int64_t) c.S * c.heads * c.tokens * c.sequences;
        ggml_tensor * from = ggml_view_3d(ctx, result, size, c.sequences, written, size * 4, size * c.sequences * 4, results * 4);
        if (c.slots == 1) from = ggml_view_4d(ctx, result, c.S, c.S, c.heads, c.sequences, row, row * c.S, size * 4, results * 4);
        ggml_tensor * to = ggml_view_3d(ctx, net_cache, size, c.sequences, written, size * 4, size * c.cells * 4, c.head * size * 4);
        ggml_build_forward_expand(graph, ggml_cpy(ctx, from, to));
        return ggml_view_4d(ctx, result, c.S, c.heads, c.tokens, c.sequences, row, row * c.heads, row * c.heads * c.tokens, 0);
    }

    layer(const step_case & c, ggml_backend_t backend, bool is_apart = false) : c(c), backend(backend), kept(ggml_init({1 << 20, nullptr, true})), ctx(ggml_init({1 << 22, nullptr, true})) {
        const int64_t size = (int64_t) c.S * c.S * c.heads, C = c.channels();
        const auto input = [&](ggml_tensor * t) {
            ggml_set_input(t);
            return t;
        };
        conv_cache = ggml_new_tensor_2d(kept, GGML_TYPE_F32, (WIDTH - 1) * C, c.cells * c.slots);
        net_cache = ggml_new_tensor_2d(kept, GGML_TYPE_F32, size, c.cells * c.slots);
        weights = ggml_new_tensor_2d(kept, GGML_TYPE_F32, WIDTH, C);
        buffer = ggml_backend_alloc_ctx_tensors(kept, backend);
        ids = input(ggml_new_tensor_1d(ctx, GGML_TYPE_I32, c.ids.size()));
        qkv = input(ggml_new_tensor_3d(ctx, GGML_TYPE_F32, C, c.tokens, c.sequences));
        gate = input(ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 1, c.heads, c.tokens, c.sequences));
        beta = input(ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 1, c.heads, c.tokens, c.sequences));
        graph = ggml_new_graph(ctx);
        ggml_tensor * window = convolution();
        ggml_tensor * state = ggml_reshape_4d(ctx, gathered(net_cache, size), c.S, c.S, c.heads, c.sequences);
        ggml_tensor * mixed = ggml_ssm_conv(ctx, window, weights);
        out = ggml_scale(ctx, ggml_cont(ctx, net(c.silu ? ggml_silu(ctx, mixed) : mixed, state)), 2);
        ggml_set_output(out);
        ggml_build_forward_expand(graph, out);
        allocator = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
        apart = is_apart ? ggml_backend_alloc_ctx_tensors(ctx, backend) : nullptr;
        if (!is_apart) ggml_gallocr_alloc_graph(allocator, graph);
    }

    ~layer() {
        ggml_gallocr_free(allocator);
        ggml_backend_buffer_free(buffer);
        if (apart) ggml_backend_buffer_free(apart);
        ggml_free(ctx);
        ggml_free(kept);
    }

    layer(const layer &) = delete;
    layer & operator=(const layer &) = delete;

    static void fill(ggml_tensor * t, std::mt19937 & random, float first, float last) {
        std::vector<float> values(ggml_nelements(t));
        std::generate(values.begin(), values.end(), [&] { return std::uniform_real_distribution<float>(first, last)(random); });
        ggml_backend_tensor_set(t, values.data(), 0, ggml_nbytes(t));
    }

    // The results and both caches after two steps.
    std::vector<float> compute(const char * kernels) {
        setenv("SVC_KERNELS", kernels, 1);
        std::mt19937 random(7);
        fill(conv_cache, random, -1, 1);
        fill(net_cache, random, -1, 1);
        fill(weights, random, -1, 1);
        std::vector<float> found;
        for (int step = 0; step < 2; ++step) {
            ggml_backend_tensor_set(ids, c.ids.data(), 0, ggml_nbytes(ids));
            fill(qkv, random, -2, 2);
            fill(gate, random, -2, 0);
            fill(beta, random, -2, 2);
            ggml_backend_graph_compute(backend, graph);
            for (ggml_tensor * t : {out, conv_cache, net_cache}) {
                const size_t at = found.size();
                found.resize(at + ggml_nelements(t));
                ggml_backend_tensor_get(t, found.data() + at, 0, ggml_nbytes(t));
            }
        }
        return found;
    }
};

// Whether states are used where they lie: then nothing is written to the memory for gathered rows.
bool works_in_place(ggml_backend_t backend) {
    step_case c = {};
    c.S = 128;
    c.heads = c.key_heads = c.tokens = c.sequences = c.slots = c.threads = 1;
    c.cells = 2;
    c.head = 1;
    c.silu = true;
    c.ids = {1};
    layer tested(c, backend, true);
    const std::vector<float> marks(ggml_nelements(tested.rows), 12345.0f);
    ggml_backend_tensor_set(tested.rows, marks.data(), 0, ggml_nbytes(tested.rows));
    tested.compute("");
    std::vector<float> found(marks.size());
    ggml_backend_tensor_get(tested.rows, found.data(), 0, ggml_nbytes(tested.rows));
    if (found == marks) return true;
    printf("recurrent: rows of states are gathered\n");
    return false;
}

bool test_variant(const char * library) {
    ggml_backend_reg_t reg = ggml_backend_load(library);
    if (reg == nullptr) {
        printf("recurrent: SKIPPED %s, which this processor lacks\n", library);
        return true;
    }
    ggml_backend_t backend = ggml_backend_dev_init(ggml_backend_reg_dev_get(reg, 0), nullptr);
    const auto set_threads = (ggml_backend_set_n_threads_t) ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads");
    int wrong = works_in_place(backend) ? 0 : 1;
    for (int i = 0; i < CASES; ++i) {
        const step_case c = step_case::random();
        set_threads(backend, c.threads);
        layer tested(c, backend);
        const std::vector<float> wanted = tested.compute("off"), found = tested.compute("");
        if (memcmp(wanted.data(), found.data(), wanted.size() * sizeof(float)) == 0) continue;
        const size_t at = std::mismatch(wanted.begin(), wanted.end(), found.begin()).first - wanted.begin();
        printf("S %d heads %d/%d tokens %d sequences %d slots %d cells %d head %d extra %d: value %zu of %zu is %g, not %g\n", c.S, c.key_heads, c.heads, c.tokens,
            c.sequences, c.slots, c.cells, c.head, c.extra, at, wanted.size(), found[at], wanted[at]);
        ++wrong;
    }
    printf("recurrent: %s %s\n", wrong == 0 ? "same bits as upstream:" : "WRONG:", library);
    ggml_backend_free(backend);
    ggml_backend_unload(reg);
    return wrong == 0;
}

}  // namespace

int main(int argc, char ** argv) {
    bool right = argc > 1;
    for (int i = 1; i < argc; ++i) right = test_variant(argv[i]) && right;
    return right ? 0 : 1;
}
