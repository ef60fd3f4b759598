#include "packed_gemm.h"

#if defined(SVC_PACKED_GEMM)

#include "packed_kernels.h"

#if defined(GGML_USE_OPENMP)
#include <omp.h>
#endif

namespace {

template <typename T>
T div_up(T x, T y) { return (x + y - 1) / y; }

// Calls f(begin, end) with this thread's share of `n` items.
template <typename F>
void for_share(int n, int threads, int thread, const F & f) {
    const int each = div_up(n, threads);
    f(std::min(thread * each, n), std::min((thread + 1) * each, n));
}

template <typename F>
void for_thread_share(const ggml_compute_params * params, int n, const F & f) { for_share(n, params->nth, params->ith, f); }

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

// Packs F16 weights as {N / 16, K, 16}.
void pack_f16(ggml_fp16_t * RESTRICT to, const ggml_fp16_t * RESTRICT from, int N, int K) {
    parallel_for(N / COLUMNS, [&](int begin, int end) {
        for (int n = begin; n < end; ++n) {
            for (int j = 0; j < COLUMNS; ++j) {
                for (int k = 0; k < K; ++k) {
                    to[((size_t) n * K + k) * COLUMNS + j] = from[((size_t) n * COLUMNS + j) * K + k];
                }
            }
        }
    });
}

}  // namespace

bool svc_packed_is_quantized(enum ggml_type type) {
    switch (type) {
        case GGML_TYPE_Q4_0:
        case GGML_TYPE_Q4_1:
        case GGML_TYPE_Q8_0:
        case GGML_TYPE_Q4_K:
        case GGML_TYPE_Q5_K:
        case GGML_TYPE_Q6_K:
        case GGML_TYPE_IQ4_XS:
            return true;
        default:
            return false;
    }
}

size_t svc_packed_alloc_size(const struct ggml_tensor * tensor) {
    if (!svc_packed_is_quantized(tensor->type)) {
        return ggml_nbytes(tensor);
    }
    return dispatch(tensor->type, [&](auto tag) {
        using column = packed<typename decltype(tag)::type>;
        return (size_t) (tensor->ne[1] * tensor->ne[2] / COLUMNS) * (tensor->ne[0] / column::values) * column::size;
    });
}

void svc_packed_convert(struct ggml_tensor * tensor, const void * data, size_t offset, size_t size) {
    GGML_ASSERT(offset == 0 && size == ggml_nbytes(tensor));  // only full tensor conversion is supported for now

    const int K = tensor->ne[0];  // ne0: in_features
    const int N = tensor->ne[1] * tensor->ne[2];  // ne1: out_features, ne2: experts, one after the other

    if (tensor->type == GGML_TYPE_F16) {
        pack_f16((ggml_fp16_t *) tensor->data, (const ggml_fp16_t *) data, N, K);
        return;
    }
    dispatch(tensor->type, [&](auto tag) {
        using type = typename decltype(tag)::type;
        const int KB = K / packed<type>::values;
        parallel_for(N / COLUMNS, [&](int begin, int end) {
            for (int n = begin; n < end; ++n) {
                for (int k = 0; k < KB; ++k) {
                    char * to = (char *) tensor->data + ((size_t) n * KB + k) * packed<type>::size;
                    pack_block(to, (const type *) data + (size_t) n * COLUMNS * KB + k, KB);
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

// Rows of A sorted by expert, in groups of at most ROWS_MAX rows of one expert.
struct expert_rows {
    int32_t n_rows, n_experts;
    int32_t * rows;  // [n_rows] token * choices + choice
    int32_t * first;  // [groups + 1] start of a group in `rows`
    int32_t * expert;  // [groups]
    int32_t * start;  // [n_experts + 1] start of an expert in `rows`; the last finally is the number of groups
    char * blocks;

    expert_rows(const struct ggml_tensor * dst, void * memory) {
        const struct ggml_tensor * ids = dst->src[2];
        n_rows = ids->ne[0] * ids->ne[1];
        n_experts = dst->src[0]->ne[2];
        rows = (int32_t *) memory;
        first = rows + n_rows;
        expert = first + groups_max() + 1;
        start = expert + groups_max();
        blocks = (char *) GGML_PAD((uintptr_t) (start + n_experts + 1), 64);
    }

    int32_t groups_max() const { return std::min(n_rows, n_experts + n_rows / ROWS_MAX); }
    int32_t groups() const { return start[n_experts]; }

    size_t ints() const { return (n_rows + 2 * (size_t) groups_max() + n_experts + 2) * sizeof(int32_t) + 64; }

    void sort(const struct ggml_tensor * ids) {
        const auto id = [&](int32_t row) {
            const char * at = (const char *) ids->data + row / ids->ne[0] * ids->nb[1] + row % ids->ne[0] * ids->nb[0];
            const int32_t e = *(const int32_t *) at;
            GGML_ASSERT(e >= 0 && e < n_experts);
            return e;
        };
        std::fill(start, start + n_experts + 1, 0);
        for (int32_t row = 0; row < n_rows; ++row) ++start[id(row) + 1];
        for (int32_t e = 0; e < n_experts; ++e) start[e + 1] += start[e];
        for (int32_t row = 0; row < n_rows; ++row) rows[start[id(row)]++] = row;  // `start` now has each expert's end
        int32_t n = 0;
        for (int32_t e = 0, from = 0; e < n_experts; from = start[e++]) {
            for (int32_t at = from; at < start[e]; at += ROWS_MAX) {
                first[n] = at;
                expert[n++] = e;
            }
        }
        first[n] = n_rows;
        start[n_experts] = n;
    }
};

}  // namespace

size_t svc_packed_work_size(const struct ggml_tensor * dst) {
    const struct ggml_tensor * src0 = dst->src[0];
    if (src0->type == GGML_TYPE_F16) {
        return 0;
    }
    return dispatch(src0->type, [&](auto tag) {
        using type = typename decltype(tag)::type;
        const size_t group_size = src0->ne[0] / packed<type>::values * sizeof(activation_block<type>);
        if (dst->op == GGML_OP_MUL_MAT_ID) {
            const expert_rows sorted(dst, NULL);
            return sorted.ints() + sorted.groups_max() * group_size;
        }
        return div_up<int64_t>(ggml_nrows(dst), ROWS_MAX) * group_size;
    });
}

void svc_packed_mul_mat(const ggml_compute_params * params, struct ggml_tensor * dst) {
    const struct ggml_tensor * src0 = dst->src[0];
    const struct ggml_tensor * src1 = dst->src[1];

    const int M = ggml_nrows(dst);
    const int N = dst->ne[0];
    const int K = src0->ne[0];

    // A chunk of columns stays in the cache of a core while all rows are computed. More chunks than threads: some threads share a
    // core with other processes.
    const int columns = N / COLUMNS;
    auto for_each_chunk = [&](size_t column_size, int rows, const auto & compute) {
        const int per_thread = div_up(columns, params->nth * 4);
        const int per_cache = (int) std::max<size_t>(1, 512 * 1024 / column_size);
        const int chunk = std::min(per_thread, per_cache);
        const int chunks = div_up(columns, chunk);

        if (params->ith == 0) {
            ggml_threadpool_chunk_set(params->threadpool, params->nth);
        }
        ggml_barrier(params->threadpool);  // A is ready as well

        for (int c = params->ith; c < chunks; c = ggml_threadpool_chunk_add(params->threadpool, 1)) {
            const int first = c * chunk;
            const char * B = (const char *) src0->data + first * column_size;
            float * C = (float *) dst->data + first * COLUMNS;
            for (int m = 0; m < M; m += rows) {
                compute(m, std::min(rows, M - m), std::min(chunk, columns - first), B, C + (size_t) m * N);
            }
        }
    };

    if (src0->type == GGML_TYPE_F16) {
        for_each_chunk((size_t) K * COLUMNS * sizeof(ggml_fp16_t), ROWS_MAX_F16, [&](int m, int rows, int n, const char * B, float * C) {
            const int lda = src1->nb[1] / sizeof(float);
            const float * A = row_of(src1, m);
            if (row_of(src1, m + rows - 1) == A + (rows - 1) * (ptrdiff_t) lda) {
                gemm_f16(rows, n, K, A, lda, (const ggml_fp16_t *) B, C, N);
                return;
            }
            for (int r = 0; r < rows; ++r) {  // rows of two planes
                gemm_f16(1, n, K, row_of(src1, m + r), lda, (const ggml_fp16_t *) B, C + (size_t) r * N, N);
            }
        });
        return;
    }

    dispatch(src0->type, [&](auto tag) {
        using type = typename decltype(tag)::type;
        constexpr int values = packed<type>::values;
        const int KB = K / values;
        const size_t column_size = (size_t) KB * packed<type>::size;
        activation_block<type> * blocks = (activation_block<type> *) params->wdata;
        if (params->wsize < svc_packed_work_size(dst)) {
            GGML_ABORT("insufficient work space size");
        }

        for_thread_share(params, div_up(M, ROWS_MAX) * KB, [&](int begin, int end) {
            for (int idx = begin; idx < end; ++idx) {
                for (int m = idx / KB * ROWS_MAX, r = 0; r < ROWS_MAX && m + r < M; ++r) {
                    quantize_row_block<type>(row_of(src1, m + r) + idx % KB * values, blocks + idx, r);
                }
            }
        });

        for_each_chunk(column_size, ROWS_MAX, [&](int m, int rows, int n, const char * B, float * C) {
            for (int j = 0; j < n; ++j) {
                gemm<type>(rows, KB, blocks + m / ROWS_MAX * KB, B + j * column_size, C + j * COLUMNS, N);
            }
        });
    });
}

void svc_packed_mul_mat_id(const ggml_compute_params * params, struct ggml_tensor * dst) {
    const struct ggml_tensor * src0 = dst->src[0];
    const struct ggml_tensor * src1 = dst->src[1];
    const int choices = dst->src[2]->ne[0];

    expert_rows sorted(dst, params->wdata);
    if (params->wsize < svc_packed_work_size(dst)) {
        GGML_ABORT("insufficient work space size");
    }
    if (params->ith == 0) {
        sorted.sort(dst->src[2]);
    }
    ggml_barrier(params->threadpool);

    dispatch(src0->type, [&](auto tag) {
        using type = typename decltype(tag)::type;
        constexpr int values = packed<type>::values;
        const int KB = src0->ne[0] / values;
        const int columns = dst->ne[0] / COLUMNS;
        const size_t column_size = (size_t) KB * packed<type>::size;
        activation_block<type> * blocks = (activation_block<type> *) sorted.blocks;

        for_thread_share(params, sorted.groups() * KB, [&](int begin, int end) {
            for (int idx = begin; idx < end; ++idx) {
                const int group = idx / KB;
                for (int at = sorted.first[group]; at < sorted.first[group + 1]; ++at) {
                    const int choice = sorted.rows[at] % choices, token = sorted.rows[at] / choices;
                    const char * row = (const char *) src1->data + choice % src1->ne[1] * src1->nb[1] + token * src1->nb[2];
                    quantize_row_block<type>((const float *) row + idx % KB * values, blocks + idx, at - sorted.first[group]);
                }
            }
        });

        // Work unit: a chunk of an expert's columns, which stays in the cache of a core while all rows of the expert are computed.
        int experts = 0;
        for (int group = 0; group < sorted.groups(); ++group) experts += group == 0 || sorted.expert[group] != sorted.expert[group - 1];
        const int per_thread = div_up(columns, div_up(params->nth * 4, std::max(1, experts)));
        const int per_cache = (int) std::max<size_t>(1, 512 * 1024 / column_size);
        const int chunk = std::min(per_thread, per_cache);
        const int chunks = div_up(columns, chunk);

        if (params->ith == 0) {
            ggml_threadpool_chunk_set(params->threadpool, params->nth);
        }
        ggml_barrier(params->threadpool);  // blocks are ready as well

        int unit = 0, mine = params->ith;
        for (int from = 0, to; from < sorted.groups(); from = to) {
            for (to = from + 1; to < sorted.groups() && sorted.expert[to] == sorted.expert[from]; ++to) {}
            for (int c = 0; c < chunks; ++c, ++unit) {
                if (unit != mine) continue;
                mine = ggml_threadpool_chunk_add(params->threadpool, 1);
                const char * B = (const char *) src0->data + sorted.expert[from] * column_size * columns;
                for (int group = from; group < to; ++group) {
                    const int32_t * rows = sorted.rows + sorted.first[group];
                    const int n = sorted.first[group + 1] - sorted.first[group];
                    for (int j = c * chunk; j < std::min((c + 1) * chunk, columns); ++j) {
                        float C[ROWS_MAX * COLUMNS];
                        gemm<type>(n, KB, blocks + (size_t) group * KB, B + j * column_size, C, COLUMNS);
                        for (int r = 0; r < n; ++r) {
                            char * row = (char *) dst->data + rows[r] % choices * dst->nb[1] + rows[r] / choices * dst->nb[2];
                            memcpy((float *) row + j * COLUMNS, C + r * COLUMNS, sizeof(float) * COLUMNS);
                        }
                    }
                }
            }
        }
    });
}

#endif  // SVC_PACKED_GEMM
