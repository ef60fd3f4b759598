#include "packed_gemm.h"

#if defined(SVC_PACKED_GEMM)

#include "expert_rows.h"
#include "node_chunks.h"
#include "packed_floats.h"
#include "packed_kernels.h"

#if defined(GGML_USE_OPENMP)
#include <omp.h>
#endif

namespace {

constexpr size_t FETCH_BYTES = 128 * 1024;  // a part of the L2 cache of a core

template <typename T>
T div_up(T x, T y) { return (x + y - 1) / y; }

// Calls f(begin, end) with this thread's share of `n` items.
template <typename F>
void for_share(int n, int threads, int thread, const F & f) {
    const int each = div_up(n, threads);
    f(std::min(thread * each, n), std::min((thread + 1) * each, n));
}

// Outside of a graph: on all threads of OpenMP.
template <typename F>
void parallel_for(int n, const F & f) {
#if defined(GGML_USE_OPENMP)
#pragma omp parallel
    for_share(n, omp_get_num_threads(), omp_get_thread_num(), f);
#else
    f(0, n);
#endif
}

// Columns of a matrix in the region of each memory node; the last ones may have fewer.
int node_columns(const struct ggml_tensor * weights) { return div_up<int>(weights->ne[1] / COLUMNS, svc_nodes()); }

// Where packed weights are.
struct column_places {
    char * data;  // of the first node
    size_t region, column;  // bytes
    int all, each;  // columns of a matrix, and of a node

    column_places(const struct ggml_tensor * weights, size_t column)
        : data((char *) weights->data), region(0), column(column), all(weights->ne[1] / COLUMNS), each(node_columns(weights)) {
        const auto * regions = (const svc_packed_regions *) weights->extra;
        if (regions == nullptr) return;
        data = regions->begin + (data - regions->begin) / svc_nodes();
        region = regions->size;
    }

    char * at(int node, int i, int expert = 0) const { return data + node * region + ((size_t) expert * each + i) * column; }
    int of_node(int node) const { return std::max(0, std::min(each, all - node * each)); }
};

}  // namespace

int svc_packed_block_values(enum ggml_type type) {
    return dispatch(
        type, [](auto tag) { return packed<typename decltype(tag)::type>::values; }, [] { return 0; });
}

bool svc_packed_grows(enum ggml_type type) {
    return dispatch(
        type,
        [](auto tag) {
            using block = typename decltype(tag)::type;
            return packed<block>::size > 1.25 * COLUMNS * sizeof(block);
        },
        [] { return false; });
}

size_t svc_packed_alloc_size(const struct ggml_tensor * tensor) {
    if (svc_packed_block_values(tensor->type) == 0) {
        return ggml_nbytes(tensor);
    }
    return dispatch(tensor->type, [&](auto tag) {
        using column = packed<typename decltype(tag)::type>;
        const size_t part = (size_t) node_columns(tensor) * tensor->ne[2] * (tensor->ne[0] / column::values) * column::size;
        return svc_nodes() == 1 ? part : svc_nodes() * GGML_PAD(part, 64);
    });
}

void svc_packed_convert(struct ggml_tensor * tensor, const void * data, size_t offset, size_t size) {
    GGML_ASSERT(offset == 0 && size == ggml_nbytes(tensor));  // only full tensor conversion is supported for now

    const int K = tensor->ne[0];  // ne0: in_features
    const int N = tensor->ne[1] / COLUMNS, experts = tensor->ne[2];  // ne1: out_features, ne2: experts, one after the other

    dispatch(tensor->type, [&](auto tag) {
        using type = typename decltype(tag)::type;
        const int KB = K / packed<type>::values;
        const column_places places(tensor, (size_t) KB * packed<type>::size);
        parallel_for(N * experts, [&](int begin, int end) {
            for (int n = begin; n < end; ++n) {
                const int i = n % N, node = i / places.each;
                char * column = places.at(node, i - node * places.each, n / N);
                for (int k = 0; k < KB; ++k) {
                    char * to = column + (size_t) k * packed<type>::size;
                    const type * from = (const type *) data + (size_t) n * COLUMNS * KB + k;
                    if constexpr (is_float<type>) pack_floats(to, from, KB);
                    else pack_block(to, from, KB);
                }
            }
        });
    });
}

namespace {

// Row `i` of all rows of an activation tensor.
const float * row_of(const struct ggml_tensor * t, int64_t i) {
    const int64_t i1 = i % t->ne[1], i2 = i / t->ne[1] % t->ne[2], i3 = i / t->ne[1] / t->ne[2];
    return (const float *) ((const char *) t->data + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3]);
}

// Bytes of the activations of a group of at most ROWS_MAX rows in the form that the kernel of a type reads; 0 if it reads them as they are.
template <typename TB>
size_t group_size(int K) {
    if constexpr (!is_float<TB>) return K / packed<TB>::values * sizeof(activation_block<TB, ROWS_MAX>);
    else return rounds_input<TB> ? (size_t) K * ROWS_MAX * sizeof(uint16_t) : 0;
}

template <typename TB>
size_t column_bytes(int K) {
    return (size_t) K / packed<TB>::values * packed<TB>::size;
}

// Converts a thread's share of the activations of `groups` groups of rows(group) rows; row(group, r) is a row.
template <typename TB, typename Rows, typename Row>
void convert_activations(int thread, int threads, char * A, int K, int groups, const Rows & rows, const Row & row) {
    if (group_size<TB>(K) == 0) return;
    constexpr int values = packed<TB>::values;
    const int KB = K / values;
    for_share(groups * KB, threads, thread, [&](int begin, int end) {
        const float * x[ROWS_MAX] = {};
        for (int idx = begin, known = -1; idx < end; ++idx) {
            const int group = idx / KB, k = idx % KB, n = rows(group);
            if (group != known) {
                for (int r = 0; r < n; ++r) x[r] = row(group, r);
                known = group;
            }
            char * to = A + group * group_size<TB>(K);
            for (int r = 0; r < n; ++r) {
                if constexpr (is_float<TB>) round_16(x[r] + k * values, (uint16_t *) to + (size_t) r * K + k * values);
                else quantize_row_block<TB>(x[r] + k * values, to + k * n * sizeof(activation_block<TB, 1>), n, r);
            }
        }
    });
}

// C[rows][16 * columns] = a group of rows * B. `A`: the group's converted activations; row(r) is a row.
template <typename TB, typename Row>
void multiply_group(const char * A, int K, int rows, const Row & row, int columns, const char * B, float * C, int ldc) {
    if constexpr (is_float<TB>) {
        using input = typename packed<TB>::input;
        for (int from = 0; from < rows; from += ROWS_MAX_FLOATS) {
            const int n = std::min(ROWS_MAX_FLOATS, rows - from);
            const input * at[ROWS_MAX_FLOATS];
            for (int r = 0; r < n; ++r) {
                if constexpr (rounds_input<TB>) at[r] = (const input *) A + (size_t) (from + r) * K;
                else at[r] = row(from + r);
            }
            gemm_floats<TB>(n, columns, K, at, B, C + (size_t) from * ldc, ldc);
        }
    } else {
        const int KB = K / packed<TB>::values;
        for (int j = 0; j < columns; ++j) {
            gemm<TB>(rows, KB, A, B + j * column_bytes<TB>(K), C + j * COLUMNS, ldc);
        }
    }
}

constexpr size_t CACHED_BYTES = 512 * 1024;  // a chunk that stays in the cache of a core while all rows are computed
constexpr size_t READ_ONCE_BYTES = 2048 * 1024;  // of weights that are read once: a chunk begins slowly

// Columns of a chunk of at most `bytes`; at most `per_thread`.
int chunk_columns(size_t column_size, int per_thread, size_t bytes = CACHED_BYTES) {
    return std::min(per_thread, (int) std::max<size_t>(1, bytes / column_size));
}

// Bytes of the converted activations of a product.
size_t input_size(const struct ggml_tensor * product) {
    return dispatch(product->src[0]->type, [&](auto tag) {
        return GGML_PAD(div_up<int64_t>(ggml_nrows(product), ROWS_MAX) * group_size<typename decltype(tag)::type>(product->src[0]->ne[0]), 64);
    });
}

// Whether a thread converts the whole input for itself, which takes it less time than to meet the others.
bool converts_alone(const struct ggml_tensor * product) { return ggml_nrows(product) == 1 && product->src[0]->ne[0] <= 4096; }

// Products of one input, and where its forms for the types of their weights are.
struct product_group {
    const ggml_compute_params * params;
    struct ggml_tensor * const * products;
    int n, M, K;
    bool alone;
    char * input[SVC_PRODUCTS_MAX];

    product_group(const ggml_compute_params * params, struct ggml_tensor * const * products, int n) : params(params), products(products), n(0), M(ggml_nrows(products[0])), K(products[0]->src[0]->ne[0]), alone(converts_alone(products[0])) {
        size_t used = 0;
        for (; this->n < std::min(n, SVC_PRODUCTS_MAX); ++this->n) {
            const int same = same_type(this->n);
            const size_t size = same < this->n ? 0 : input_size(products[this->n]);
            if ((used + size) * (alone ? params->nth : 1) > params->wsize) break;
            input[this->n] = same < this->n ? input[same] : (char *) params->wdata + used;
            used += size;
        }
        if (alone) {
            for (int p = 0; p < this->n; ++p) input[p] += params->ith * used;
        }
    }

    // The first product whose weights have the type of those of product `p`.
    int same_type(int p) const {
        int first = 0;
        while (products[first]->src[0]->type != products[p]->src[0]->type) ++first;
        return first;
    }

    int rows(int group) const { return std::min(ROWS_MAX, M - group * ROWS_MAX); }
    const float * row(int group, int r) const { return row_of(products[0]->src[1], (int64_t) group * ROWS_MAX + r); }

    void convert() const {
        for (int p = 0; p < n; ++p) {
            if (same_type(p) < p) continue;
            dispatch(products[p]->src[0]->type, [&](auto tag) {
                convert_activations<typename decltype(tag)::type>(
                    alone ? 0 : params->ith, alone ? 1 : params->nth, input[p], K, div_up(M, ROWS_MAX), [&](int group) { return rows(group); },
                    [&](int group, int r) { return row(group, r); });
            });
        }
    }

    // Columns [first, first + columns) of a node's part of a product
    void multiply(int p, int node, int first, int columns) const {
        dispatch(products[p]->src[0]->type, [&](auto tag) {
            using type = typename decltype(tag)::type;
            const int N = products[p]->ne[0];
            const column_places places(products[p]->src[0], column_bytes<type>(K));
            const char * B = places.at(node, first);
            float * C = (float *) products[p]->data + (size_t) (node * places.each + first) * COLUMNS;
            for (int group = 0; group < div_up(M, ROWS_MAX); ++group) {
                multiply_group<type>(
                    input[p] + group * group_size<type>(K), K, rows(group), [&](int r) { return row(group, r); }, columns, B,
                    C + (size_t) group * ROWS_MAX * N, N);
            }
        });
    }
};

size_t column_bytes(const struct ggml_tensor * product) {
    return dispatch(product->src[0]->type, [&](auto tag) { return column_bytes<typename decltype(tag)::type>(product->src[0]->ne[0]); });
}

// More chunks than threads: some threads share a core with other processes.
int product_chunk(const ggml_compute_params * params, const struct ggml_tensor * product) {
    const size_t bytes = ggml_nrows(product) <= ROWS_MAX_FLOATS ? READ_ONCE_BYTES : CACHED_BYTES;
    return chunk_columns(column_bytes(product), div_up<int>(product->ne[0] / COLUMNS, params->nth * 4), bytes);
}

}  // namespace

size_t svc_packed_work_size(int threads, const struct ggml_tensor * dst) {
    const struct ggml_tensor * src0 = dst->src[0];
    if (dst->op == GGML_OP_MUL_MAT) {
        // Of two types, which are the most that products of one input usually have.
        return 2 * input_size(dst) * (converts_alone(dst) ? threads : 1);
    }
    return dispatch(src0->type, [&](auto tag) {
        const expert_rows sorted(dst, NULL);
        return sorted.ints() + sorted.groups_max() * group_size<typename decltype(tag)::type>(src0->ne[0]);
    });
}

int svc_packed_group_size(const ggml_compute_params * params, struct ggml_tensor * const * products, int n) {
    return product_group(params, products, n).n;
}

void svc_packed_mul_mats(const ggml_compute_params * params, struct ggml_tensor * const * products, int n, struct svc_chunk_counter * counter) {
    const product_group group(params, products, n);
    if (group.n < n) {
        GGML_ABORT("insufficient work space size");
    }
    group.convert();

    if (!counter->known) announce(params);
    if (!counter->known || !group.alone) ggml_barrier(params->threadpool);
    if (!counter->known) *counter = counter_of(params);

    clear_chunks(params, 1 - counter->set);
    for (int turn = 0; turn < svc_nodes(); ++turn) {
        const int node = (counter->node + turn) % svc_nodes();
        int chunk[SVC_PRODUCTS_MAX], columns[SVC_PRODUCTS_MAX], ends[SVC_PRODUCTS_MAX], count = 0;
        for (int p = 0; p < n; ++p) {
            chunk[p] = product_chunk(params, products[p]);
            columns[p] = column_places(products[p]->src[0], 0).of_node(node);
            ends[p] = count += div_up(columns[p], chunk[p]);
        }
        int p = 0;
        for (chunks_of_node chunks(params, *counter, node, count); chunks.current() < count; chunks.advance()) {
            while (chunks.current() >= ends[p]) ++p;
            const int first = (chunks.current() - (p == 0 ? 0 : ends[p - 1])) * chunk[p];
            group.multiply(p, node, first, std::min(chunk[p], columns[p] - first));
        }
    }
    counter->set = 1 - counter->set;
}

void svc_packed_fetch(const ggml_compute_params * params, const struct ggml_tensor * product, const struct svc_chunk_counter * counter) {
    if (!counter->known) return;
    const column_places places(product->src[0], column_bytes(product));
    const int columns = places.of_node(counter->node), chunk = product_chunk(params, product);
    const int first = std::min(counter->rank * chunk, columns);
    const char *B = places.at(counter->node, first), *end = B + std::min<size_t>(std::min(chunk, columns - first) * places.column, FETCH_BYTES);
    for (; B < end; B += 64) _mm_prefetch(B, _MM_HINT_T1);
}

void svc_packed_mul_mat_id(const ggml_compute_params * params, struct ggml_tensor * dst) {
    const struct ggml_tensor * src0 = dst->src[0];
    const struct ggml_tensor * src1 = dst->src[1];
    const int choices = dst->src[2]->ne[0], K = src0->ne[0];

    expert_rows sorted(dst, params->wdata);
    if (params->wsize < svc_packed_work_size(params->nth, dst)) {
        GGML_ABORT("insufficient work space size");
    }
    if (params->ith == 0) {
        sorted.sort(dst->src[2]);
    }
    announce(params);
    ggml_barrier(params->threadpool);
    const svc_chunk_counter counter = counter_of(params);

    const auto rows = [&](int group) { return sorted.first[group + 1] - sorted.first[group]; };
    const auto row = [&](int group, int r) {
        const int at = sorted.rows[sorted.first[group] + r], choice = at % choices, token = at / choices;
        return (const float *) ((const char *) src1->data + choice % src1->ne[1] * src1->nb[1] + token * src1->nb[2]);
    };
    dispatch(src0->type, [&](auto tag) {
        using type = typename decltype(tag)::type;
        char * A = sorted.blocks;
        convert_activations<type>(params->ith, params->nth, A, K, sorted.groups(), rows, row);

        // Work unit: a chunk of a node's part of an expert's columns.
        const column_places places(src0, column_bytes<type>(K));
        int experts = 0;
        for (int group = 0; group < sorted.groups(); ++group) experts += group == 0 || sorted.expert[group] != sorted.expert[group - 1];
        const int chunk = chunk_columns(places.column, div_up(places.all, div_up(params->nth * 4, std::max(1, experts))));
        ggml_barrier(params->threadpool);  // A is ready as well

        constexpr int STRIP = 4;  // columns whose results are scattered to the rows of `dst` at once
        const auto multiply = [&](int node, int from, int to, int first, int columns) {
            const char * B = places.at(node, first, sorted.expert[from]);
            for (int group = from; group < to; ++group) {
                const int32_t * at = sorted.rows + sorted.first[group];
                for (int j = 0; j < columns; j += STRIP) {
                    const int n = std::min(STRIP, columns - j);
                    float C[ROWS_MAX * STRIP * COLUMNS];
                    multiply_group<type>(
                        A + group * group_size<type>(K), K, rows(group), [&](int r) { return row(group, r); }, n, B + j * places.column, C, STRIP * COLUMNS);
                    for (int r = 0; r < rows(group); ++r) {
                        char * result = (char *) dst->data + at[r] % choices * dst->nb[1] + at[r] / choices * dst->nb[2];
                        memcpy((float *) result + (node * places.each + first + j) * COLUMNS, C + r * STRIP * COLUMNS, sizeof(float) * COLUMNS * n);
                    }
                }
            }
        };
        for (int turn = 0; turn < svc_nodes(); ++turn) {
            const int node = (counter.node + turn) % svc_nodes(), columns = places.of_node(node), each = div_up(columns, chunk);
            chunks_of_node chunks(params, counter, node, experts * each);
            for (int from = 0, to, end = each; from < sorted.groups(); from = to, end += each) {
                for (to = from + 1; to < sorted.groups() && sorted.expert[to] == sorted.expert[from]; ++to) {}
                for (; chunks.current() < end; chunks.advance()) {
                    const int first = (chunks.current() - (end - each)) * chunk;
                    multiply(node, from, to, first, std::min(chunk, columns - first));
                }
            }
        }
    });
}

#endif  // SVC_PACKED_GEMM
