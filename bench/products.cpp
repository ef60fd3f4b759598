// Products of few rows beside a plain read of as many bytes, in turn: how much of the memory's speed the CPU kernels reach.
//
//   g++ -O2 -march=native -fopenmp -isystem BUILD/llama.cpp/ggml/include -isystem BUILD/llama.cpp/ggml/src bench/products.cpp
//       -o /tmp/products -LBUILD/llama/bin -lggml-base -ldl -Wl,-rpath,BUILD/llama/bin
//   OMP_NUM_THREADS=2 OMP_PROC_BIND=true chrt -f 1 /tmp/products TYPE,… INPUTS,… OUTPUTS ROWS ROUNDS LIBRARY[:off] …
//
// A library is a CPU variant, BUILD/llama/bin/libggml-cpu-zen4.so; with ":off" it runs llama.cpp's code, repacked where it has that. Prints the
// speed of the read, and for each library the median and quartiles of its share of the reads before and after it, and the largest difference
// of its results from the first library's, relative to the largest result. A share is of the bytes that a library holds for the weights.
// Tries in which a thread was interrupted are repeated; chrt keeps others off for a second or two, so that a busy machine can be measured on.

#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "ggml.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <immintrin.h>
#include <omp.h>
#include <random>
#include <sstream>
#include <string>
#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr size_t BYTES = 128 << 20;  // of weights, beyond the caches
constexpr int TRIES = 100;  // of a measurement, until no thread is interrupted

std::vector<std::string> words(const char * list) {
    std::vector<std::string> found;
    std::stringstream text(list);
    for (std::string word; std::getline(text, word, ',');) found.push_back(word);
    return found;
}

ggml_type type_named(const std::string & name) {
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const char * known = ggml_type_name((ggml_type) i);
        if (known != nullptr && strcasecmp(known, name.c_str()) == 0) return (ggml_type) i;
    }
    fprintf(stderr, "no type is named %s\n", name.c_str());
    exit(1);
}

long interruptions() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

// Seconds of f(); the shortest of all tries if every one was interrupted.
template <typename F>
double seconds_of(const F & f) {
    double shortest = 1e9;
    for (int i = 0; i < TRIES; ++i) {
#pragma omp parallel
        __asm__ volatile("" ::: "memory");  // wakes the threads
        const long before = interruptions();
        const auto start = std::chrono::steady_clock::now();
        f();
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (interruptions() == before) return seconds;
        shortest = std::min(shortest, seconds);
        usleep(1000);
    }
    return shortest;
}

// A plain read of memory in huge pages, with hints: without them it is slower than a product.
struct plain_memory {
    char * data;
    plain_memory() {
        constexpr size_t page = 2 << 20;
        char * mapped = (char *) mmap(nullptr, BYTES + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        data = (char *) (((uintptr_t) mapped + page - 1) / page * page);
        madvise(data, BYTES, MADV_HUGEPAGE);
        memset(data, 1, BYTES);
    }
    double speed() const {
        long long total = 0;
        const double seconds = seconds_of([&] {
#pragma omp parallel reduction(+ : total)
            {
                const size_t share = BYTES / omp_get_num_threads() / 256 * 256;
                const char * at = data + omp_get_thread_num() * share;
                __m256i sums[8] = {};
                for (size_t i = 0; i < share; i += 256) {
                    for (int j = 0; j < 8; ++j) {
                        if (j % 2 == 0) _mm_prefetch(at + i + 32 * j + 8192, _MM_HINT_T0);
                        sums[j] = _mm256_add_epi64(sums[j], _mm256_load_si256((const __m256i *) (at + i + 32 * j)));
                    }
                }
                for (const __m256i & sum : sums) total += _mm256_extract_epi64(sum, 0);
            }
        });
        static volatile long long kept;
        kept = total;
        return BYTES / seconds;
    }
};

// A CPU variant, as an instance of its own with its own switches.
struct library {
    std::string name;
    ggml_backend_dev_t device;
    ggml_backend_t backend;

    explicit library(std::string path) {
        const bool off = path.size() > 4 && path.substr(path.size() - 4) == ":off";
        if (off) path.resize(path.size() - 4);
        name = path.substr(path.rfind('/') + 1) + (off ? ":off" : "");
        off ? setenv("SVC_KERNELS", "off", 1) : unsetenv("SVC_KERNELS");
        const std::string copy = "/tmp/products-" + std::to_string(getpid()) + "-" + std::to_string((size_t) this) + ".so";
        if (system(("cp " + path + " " + copy).c_str()) != 0) exit(1);
        void * handle = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
        unlink(copy.c_str());
        if (handle == nullptr) {
            fprintf(stderr, "%s\n", dlerror());
            exit(1);
        }
        device = ggml_backend_reg_dev_get(((ggml_backend_reg_t (*)()) dlsym(handle, "ggml_backend_init"))(), 0);
        backend = ggml_backend_dev_init(device, nullptr);
        ((ggml_backend_set_n_threads_t) proc("ggml_backend_set_n_threads"))(backend, omp_get_max_threads());
        buffer_types();  // reads the switch
    }

    void * proc(const char * function) const { return ggml_backend_reg_get_proc_address(device->reg, function); }

    std::vector<ggml_backend_buffer_type_t> buffer_types() const {
        std::vector<ggml_backend_buffer_type_t> types;
        const auto extra = (ggml_backend_dev_get_extra_bufts_t) proc("ggml_backend_dev_get_extra_bufts");
        for (ggml_backend_buffer_type_t * type = extra(device); type != nullptr && *type != nullptr; ++type) types.push_back(*type);
        types.push_back(ggml_backend_dev_buffer_type(device));
        return types;
    }
};

struct shape {
    ggml_type type;
    int64_t inputs, outputs, rows;
};

// Products of different matrices, one after the other.
struct products {
    const library & owner;
    size_t bytes = 0;
    ggml_context * context;
    ggml_cgraph * graph;
    std::vector<ggml_backend_buffer_t> buffers;
    ggml_tensor * first;

    products(const library & owner, const shape & of, const std::vector<char> & weights) : owner(owner) {
        const auto [type, inputs, outputs, rows_of_input] = of;
        const int count = std::max<int>(1, BYTES / weights.size());
        context = ggml_init({ggml_tensor_overhead() * (3 * count + 8) + ggml_graph_overhead(), nullptr, true});
        graph = ggml_new_graph(context);
        // Products of one input would be computed together.
        ggml_tensor * const inputs_in_turn[] = {ggml_new_tensor_2d(context, GGML_TYPE_F32, inputs, rows_of_input), ggml_new_tensor_2d(context, GGML_TYPE_F32, inputs, rows_of_input)};
        std::vector<ggml_tensor *> matrices;
        for (int i = 0; i < count; ++i) {
            matrices.push_back(ggml_new_tensor_2d(context, type, inputs, outputs));
            ggml_tensor * product = ggml_mul_mat(context, matrices.back(), inputs_in_turn[i % 2]);
            if (i == 0) first = product;
            ggml_build_forward_expand(graph, product);
        }
        ggml_backend_buffer_type_t chosen = nullptr;
        for (ggml_backend_buffer_type_t buffer_type : owner.buffer_types()) {
            ggml_backend_buffer_t trial = ggml_backend_buft_alloc_buffer(buffer_type, 0);
            for (ggml_tensor * matrix : matrices) matrix->buffer = trial;
            const bool fits = ggml_backend_dev_supports_op(owner.device, first);
            for (ggml_tensor * matrix : matrices) matrix->buffer = nullptr;
            ggml_backend_buffer_free(trial);
            if (fits && chosen == nullptr) chosen = buffer_type;
        }
        for (ggml_tensor * matrix : matrices) {
            const size_t size = ggml_backend_buft_get_alloc_size(chosen, matrix);
            if (bytes == 0) add_buffer(chosen, (size + 64) * count);
            place(matrix, bytes);
            bytes += (size + 63) / 64 * 64;
            ggml_backend_tensor_set(matrix, weights.data(), 0, weights.size());
        }
        add_buffer(ggml_backend_dev_buffer_type(owner.device), (2 * inputs + (outputs + 64) * count) * rows_of_input * sizeof(float));
        const int64_t size = inputs * rows_of_input, result = (outputs + 15) / 16 * 16 * rows_of_input;
        std::vector<float> values(size);
        for (int64_t i = 0; i < size; ++i) values[i] = (float) (i * 37 % 101) / 50 - 1;
        for (int i = 0; i < 2; ++i) {
            place(inputs_in_turn[i], i * size * sizeof(float));
            ggml_backend_tensor_set(inputs_in_turn[i], values.data(), 0, size * sizeof(float));
        }
        for (int i = 0; i < count; ++i) place(ggml_graph_node(graph, i), (2 * size + i * result) * sizeof(float));
    }

    ~products() {
        ggml_free(context);
        for (ggml_backend_buffer_t buffer : buffers) ggml_backend_buffer_free(buffer);
    }
    products(const products &) = delete;

    void add_buffer(ggml_backend_buffer_type_t type, size_t size) {
        buffers.push_back(ggml_backend_buft_alloc_buffer(type, size));
        ggml_backend_buffer_set_usage(buffers.back(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }

    void place(ggml_tensor * tensor, size_t offset) {
        ggml_backend_tensor_alloc(buffers.back(), tensor, (char *) ggml_backend_buffer_get_base(buffers.back()) + offset);
    }

    std::vector<float> results() const {
        std::vector<float> found(ggml_nelements(first));
        ggml_backend_tensor_get(first, found.data(), 0, ggml_nbytes(first));
        return found;
    }

    double speed() const {
        return bytes / seconds_of([&] { ggml_backend_graph_compute(owner.backend, graph); });
    }
};

double difference(const std::vector<float> & a, const std::vector<float> & b) {
    double largest = 0, size = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        largest = std::max(largest, std::fabs((double) a[i] - b[i]));
        size = std::max(size, std::fabs((double) a[i]));
    }
    return largest / size;
}

double part(std::vector<double> values, double at) {
    std::sort(values.begin(), values.end());
    return values[(size_t) (at * (values.size() - 1))];
}

void measure(const std::vector<library> & libraries, const shape & of, int rounds) {
    const auto [type, inputs, outputs, rows] = of;
    std::mt19937 generator(1);
    std::vector<float> values(inputs * 64);
    for (float & value : values) value = std::uniform_real_distribution<float>(-1, 1)(generator);
    const size_t row = ggml_row_size(type, inputs);
    std::vector<char> weights(row * outputs);
    ggml_quantize_chunk(type, values.data(), weights.data(), 0, 64, inputs, nullptr);
    for (int64_t i = 64; i < outputs; ++i) memcpy(weights.data() + i * row, weights.data() + i % 64 * row, row);

    static const plain_memory plain;
    std::vector<std::vector<double>> shares(libraries.size());
    std::vector<double> reads;
    std::vector<products *> cases;
    for (const library & one : libraries) cases.push_back(new products(one, of, weights));
    for (int round = -1; round < rounds; ++round) {
        for (size_t i = 0; i < cases.size(); ++i) {
            const double before = plain.speed(), found = cases[i]->speed(), read = (before + plain.speed()) / 2;
            if (round < 0) continue;
            reads.push_back(read);
            shares[i].push_back(found / read);
        }
    }
    printf("%-8s %6ld %6ld %4ld %6.1f", ggml_type_name(type), (long) inputs, (long) outputs, (long) rows, part(reads, 0.5) / 1e9);
    for (size_t i = 0; i < cases.size(); ++i) {
        const std::vector<double> & share = shares[i];
        printf("  %.3f (%.2f..%.2f) %.0e", part(share, 0.5), part(share, 0.25), part(share, 0.75), difference(cases[0]->results(), cases[i]->results()));
    }
    printf("\n");
    fflush(stdout);
    for (products * one : cases) delete one;
}

}  // namespace

int main(int count, char ** arguments) {
    if (count < 7) {
        fprintf(stderr, "usage: products TYPES INPUTS OUTPUTS ROWS ROUNDS LIBRARY[:off] ...\n");
        return 1;
    }
    std::vector<library> libraries;
    libraries.reserve(count);
    for (int i = 6; i < count; ++i) libraries.emplace_back(arguments[i]);
    printf("%-8s %6s %6s %4s %6s", "type", "inputs", "out", "rows", "GB/s");
    for (const library & one : libraries) printf("  %s", one.name.c_str());
    printf("\n");
    for (const std::string & type : words(arguments[1])) {
        for (const std::string & inputs : words(arguments[2])) measure(libraries, {type_named(type), std::stol(inputs), std::stol(arguments[3]), std::stol(arguments[4])}, std::stoi(arguments[5]));
    }
    return 0;
}
