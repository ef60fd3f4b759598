// Rows of weights by memory node, on pretended nodes: which share of the bytes of packed weights each thread reads from its own node. Pages in
// turn would be one of N. It says nothing of speed.
//
//   g++ -O2 -march=native -fopenmp -DGGML_USE_OPENMP -I ffi/kernels -I test/native -isystem BUILD/llama.cpp/ggml/include
//       -isystem BUILD/llama.cpp/ggml/src -isystem BUILD/llama.cpp/ggml/src/ggml-cpu bench/node-rows.cpp -o /tmp/node-rows
//       -LBUILD/llama/bin -lggml-base -lpthread -Wl,-rpath,BUILD/llama/bin
//   SVC_MEMORY_NODES=emulated:2 chrt -f 1 /tmp/node-rows

#define ggml_barrier sleeping_barrier
#include "harness.h"
#undef ggml_barrier

#include "packed_kernels.h"

#include <sched.h>

// As the threads of a pass wait: who has to be woken comes too late to its chunks.
extern "C" void ggml_barrier(ggml_threadpool * pool) {
    static std::atomic<int> waiting, rounds;
    const int round = rounds;
    if (++waiting == pool->threads) {
        waiting = 0;
        ++rounds;
    }
    while (rounds == round) sched_yield();
}

namespace {

thread_local int own_node;
char * begin;  // of the regions
size_t region;
std::atomic<size_t> own_bytes, all_bytes;

template <typename TB>
void counted_gemm(int rows, int blocks, const char * A, const char * B, float * C, int ldc) {
    const size_t bytes = (size_t) blocks * packed<TB>::size;
    all_bytes += bytes;
    if ((int) ((B - begin) / region) == own_node) own_bytes += bytes;
    gemm<TB>(rows, blocks, A, B, C, ldc);
}

}  // namespace

#define gemm counted_gemm
#include "memory_nodes.cpp"
#include "packed_gemm.cpp"

namespace {

constexpr ggml_type TYPE = GGML_TYPE_Q4_K;
constexpr int EXPERTS = 16, CHOICES = 4;

// Percent of a product of `rows` rows with one matrix, or with some of EXPERTS.
double own_share(int inputs, int outputs, int rows, bool mixture, int threads) {
    tensor weights(TYPE, inputs, outputs, mixture ? EXPERTS : 1), ids(GGML_TYPE_I32, CHOICES, rows);
    tensor a(GGML_TYPE_F32, inputs, mixture ? 1 : rows, mixture ? rows : 1);
    tensor c(GGML_TYPE_F32, outputs, mixture ? CHOICES : rows, mixture ? rows : 1);
    a.fill();
    region = svc_packed_alloc_size(&weights.t) / svc_nodes();
    std::vector<char> memory(region * svc_nodes());
    svc_packed_regions regions = {begin = memory.data(), region};
    weights.t.data = begin;
    weights.t.extra = svc_nodes() == 1 ? nullptr : &regions;
    svc_packed_convert(&weights.t, weights.memory.data(), 0, weights.memory.size());
    for (int t = 0; t < rows; ++t) {
        for (int i = 0; i < CHOICES; ++i) ids.row<int32_t>(t)[i] = (t + i) % EXPERTS;
    }
    c.t.op = mixture ? GGML_OP_MUL_MAT_ID : GGML_OP_MUL_MAT;
    c.t.src[0] = &weights.t;
    c.t.src[1] = &a.t;
    c.t.src[2] = &ids.t;
    own_bytes = all_bytes = 0;
    run_threads(threads, svc_packed_work_size(threads, &c.t), [&](const ggml_compute_params * params) {
        own_node = svc_node_of_thread(params->ith, params->nth);
        ggml_tensor * product = &c.t;
        for (int round = 0; round < 20; ++round) {
            svc_chunk_counter unknown = {};
            if (mixture) svc_packed_mul_mat_id(params, product);
            else svc_packed_mul_mats(params, &product, 1, &unknown);
            ggml_barrier(params->threadpool);
        }
    });
    return 100.0 * own_bytes / all_bytes;
}

}  // namespace

int main() {
    printf("%d nodes; percent of the bytes from the own node, pages in turn: %.0f\n", svc_nodes(), 100.0 / svc_nodes());
    printf("%7s %7s %7s %5s %8s %8s\n", "threads", "inputs", "outputs", "rows", "matrix", "experts");
    const int threads = svc_nodes();  // more than there are cores would be late
    for (const auto & [inputs, outputs] : {std::pair<int, int>{1024, 3072}, {4096, 4096}}) {
        for (const int rows : {1, 8, 64}) {
            const double matrix = own_share(inputs, outputs, rows, false, threads), experts = own_share(inputs, outputs, rows, true, threads);
            printf("%7d %7d %7d %5d %8.1f %8.1f\n", threads, inputs, outputs, rows, matrix, experts);
        }
    }
    return 0;
}
