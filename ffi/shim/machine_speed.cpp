// What memory and cores of this machine give: the two limits of a pass's speed.

#include "guard.h"
#include "svc_llama.h"

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

using svc::guard;

namespace {

// A product of a prompt: weights of a layer's size, which stay in the caches, and rows of a micro-batch.
constexpr int64_t INPUTS = 2048, OUTPUTS = 2048, ROWS = 512;
constexpr size_t HUGE_PAGE = 2 << 20;

constexpr int SLICES = 5;

// Seconds of `once`, in the fastest of some slices of the time: other processes only slow runs down, and a single run may be lucky.
template <typename F>
double fastest(int32_t ms, F && once) {
    using clock = std::chrono::steady_clock;
    double best = 0;
    once();  // the first one finds cold caches
    for (int slice = 0; slice < SLICES; slice++) {
        const auto start = clock::now();
        double seconds = 0;
        int runs = 0;
        do {
            once();
            runs++;
            seconds = std::chrono::duration<double>(clock::now() - start).count();
        } while (seconds * 1000 * SLICES < ms);
        best = slice == 0 ? seconds / runs : std::min(best, seconds / runs);
    }
    return best;
}

uint64_t sum_of(const uint64_t * from, const uint64_t * to) {
    uint64_t sums[8] = {};  // so many that no addition waits for another
    for (; from < to; from += 8) {
        for (int i = 0; i < 8; i++) sums[i] += from[i];
    }
    return sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
}

// Reads a block of memory of its own.
class reader {
  public:
    explicit reader(size_t bytes) : memory(bytes + HUGE_PAGE) {}

    // By the thread that reads: memory lies near the processor that writes it first.
    void write() {
        const size_t aligned = ((uintptr_t) memory.get() + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        begin = (uint64_t *) aligned;
        end = begin + (memory.size - HUGE_PAGE) / sizeof(uint64_t);
#if defined(__linux__)
        madvise(begin, (char *) end - (char *) begin, MADV_HUGEPAGE);  // as packed weights have
#endif
        std::fill(begin, end, 1);
    }
    void read() { sum = sum_of(begin, end); }

  private:
    struct block {
        explicit block(size_t bytes) : size(bytes), at(malloc(bytes)) {
            if (at == nullptr) throw std::bad_alloc();
        }
        block(block && other) noexcept : size(other.size), at(std::exchange(other.at, nullptr)) {}
        ~block() { free(at); }
        void * get() const { return at; }
        size_t size;
        void * at;
    };

    block memory;
    uint64_t * begin = nullptr;
    uint64_t * end = nullptr;
    volatile uint64_t sum = 0;
};

template <typename F>
void on_threads(std::vector<reader> & readers, F && work) {
    std::vector<std::thread> threads;
    threads.reserve(readers.size());
    for (reader & one : readers) threads.emplace_back([&one, &work] { work(one); });
    for (std::thread & thread : threads) thread.join();
}

double bytes_per_second(int64_t bytes, int32_t n_threads, int32_t ms) {
    const size_t each = (bytes / n_threads + 63) / 64 * 64;
    std::vector<reader> readers;
    readers.reserve(n_threads);
    for (int32_t i = 0; i < n_threads; i++) readers.emplace_back(each);
    on_threads(readers, [](reader & one) { one.write(); });
    return each * n_threads / fastest(ms, [&] { on_threads(readers, [](reader & one) { one.read(); }); });
}

template <typename F>
F * cpu_function(ggml_backend_dev_t cpu, const char * name) {
    return (F *) ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu), name);
}

// Where a model's weights of this type lie: the first of the processor's buffer types that can compute the product.
ggml_backend_buffer_type_t weights_place(ggml_backend_dev_t cpu, ggml_tensor * product) {
    const auto extra = cpu_function<std::remove_pointer_t<ggml_backend_dev_get_extra_bufts_t>>(cpu, "ggml_backend_dev_get_extra_bufts");
    for (auto * one = extra == nullptr ? nullptr : extra(cpu); one != nullptr && *one != nullptr; one++) {
        const ggml_backend_buffer_ptr empty(ggml_backend_buft_alloc_buffer(*one, 0));
        product->src[0]->buffer = empty.get();
        const bool can = ggml_backend_dev_supports_op(cpu, product);
        product->src[0]->buffer = nullptr;
        if (can) return *one;
    }
    return ggml_backend_dev_buffer_type(cpu);
}

// All rows alike: what they are changes no speed.
std::vector<char> weights_of(ggml_type type) {
    std::vector<float> row(INPUTS), importance(INPUTS, 1);
    for (int64_t i = 0; i < INPUTS; i++) row[i] = (float) (i * 37 % 101 - 50) / 64;
    const size_t bytes = ggml_row_size(type, INPUTS);
    std::vector<char> out(bytes * OUTPUTS);
    ggml_quantize_chunk(type, row.data(), out.data(), 0, 1, INPUTS, importance.data());
    for (int64_t i = 1; i < OUTPUTS; i++) memcpy(out.data() + i * bytes, out.data(), bytes);
    return out;
}

double products_per_second(ggml_type type, int32_t n_threads, int32_t ms) {
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    const ggml_backend_ptr backend(ggml_backend_dev_init(cpu, nullptr));
    if (!backend) throw std::runtime_error("the CPU back end could not be started");
    const auto threads = cpu_function<std::remove_pointer_t<ggml_backend_set_n_threads_t>>(cpu, "ggml_backend_set_n_threads");
    if (threads != nullptr) threads(backend.get(), n_threads);
    const ggml_init_params params = {ggml_tensor_overhead() * 8 + ggml_graph_overhead(), nullptr, true};
    const ggml_context_ptr of_weights(ggml_init(params)), of_rows(ggml_init(params));
    ggml_tensor * weights = ggml_new_tensor_2d(of_weights.get(), type, INPUTS, OUTPUTS);
    ggml_tensor * rows = ggml_new_tensor_2d(of_rows.get(), GGML_TYPE_F32, INPUTS, ROWS);
    ggml_tensor * product = ggml_mul_mat(of_rows.get(), weights, rows);
    const ggml_backend_buffer_ptr weights_buffer(
        ggml_backend_alloc_ctx_tensors_from_buft(of_weights.get(), weights_place(cpu, product)));
    const ggml_backend_buffer_ptr rows_buffer(ggml_backend_alloc_ctx_tensors(of_rows.get(), backend.get()));
    if (!weights_buffer || !rows_buffer) throw std::bad_alloc();
    ggml_backend_buffer_set_usage(weights_buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    const std::vector<char> data = weights_of(type);
    ggml_backend_tensor_set(weights, data.data(), 0, data.size());
    const std::vector<float> ones(INPUTS * ROWS, 1);
    ggml_backend_tensor_set(rows, ones.data(), 0, ggml_nbytes(rows));
    ggml_cgraph * graph = ggml_new_graph(of_rows.get());
    ggml_build_forward_expand(graph, product);
    const double seconds = fastest(ms, [&] {
        if (ggml_backend_graph_compute(backend.get(), graph) != GGML_STATUS_SUCCESS) throw std::runtime_error("a product failed");
    });
    return INPUTS * OUTPUTS * ROWS / seconds;
}

}  // namespace

int32_t svc_machine_speed(int64_t bytes, int32_t type, int32_t n_threads, int32_t ms, double * out) {
    return guard<int32_t>(-1, [&] {
        const bool known = type >= 0 && type < GGML_TYPE_COUNT && ggml_type_size((ggml_type) type) > 0;
        if (bytes < 64 || !known || n_threads < 1 || ms < 0) throw std::invalid_argument("bytes, type, threads or time are not valid");
        out[0] = bytes_per_second(bytes, n_threads, ms);
        out[1] = products_per_second((ggml_type) type, n_threads, ms);
        return 0;
    });
}
