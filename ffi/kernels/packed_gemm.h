// Kernel packed-gemm: row-count-invariant GEMM with packed weights, for AVX2, AVX-VNNI and AVX512-VNNI.
//
// Contract: dst = src1 * src0^T with src0 packed by svc_packed_convert, src1 and dst F32. Activations are quantized to 8 bits per
// block as upstream does (F16 and BF16 weights: packed_floats.h). A row's result depends on that row and the weights only: not on the
// number of rows, on the other rows, or on the number of threads; it is the same bit for bit in every batch.
//
// Up to eight rows share each byte of weights that is loaded and unpacked. Decoding is bound by memory bandwidth, so eight rows cost
// little more than one. Upstream's AMX kernel stores and reloads tiles for 32 rows; its single-row kernel and `repack` for AVX leave
// most of the bandwidth unused.
//
// Group scales (6 or 8 bits) are multiplied in F32: products and sums are exact up to 2^24, which only extreme values exceed.
#pragma once

#include "memory_nodes.h"

#include "ggml-cpu-impl.h"
#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where a thread is among the threads of the memory nodes, and which of the thread pool's counters of chunks are 0: threads need not meet before
// products then. Begins as zeros in every graph, and is unknown again after a node that uses the counters without it.
struct svc_chunk_counter {
    bool known;
    int set;
    int node, rank;
    int threads[SVC_NODES_MAX];
};

#if defined(__AVX512VNNI__) || (defined(__AVX2__) && defined(__FMA__) && defined(__F16C__))
#define SVC_PACKED_GEMM

// Values in a block of a type that has a packed layout: rows are a multiple of it. 0 for other types.
int svc_packed_block_values(enum ggml_type type);

// Whether a packed tensor takes more than 1.25 times the bytes of the file's: IQ2 and IQ3.
bool svc_packed_grows(enum ggml_type type);

// Where the parts of the memory nodes are in a buffer: tensor->extra; NULL with one node. Each node has a region; the part of a tensor is as
// far from its beginning as the tensor is from the beginning of the buffer, divided by the nodes.
struct svc_packed_regions {
    char * begin;
    size_t size;  // of a region
};

// Bytes of a packed tensor.
size_t svc_packed_alloc_size(const struct ggml_tensor * tensor);

// Packs the whole tensor `data` of `size` bytes into tensor->data. `offset` must be 0.
void svc_packed_convert(struct ggml_tensor * tensor, const void * data, size_t offset, size_t size);

// Whether `node` is a product that svc_packed_mul_mats computes.
bool svc_is_packed_product(const struct ggml_tensor * node);

// Scratch memory of an operation, in bytes, and of any group of products for which svc_packed_group_size allows it.
size_t svc_packed_work_size(int threads, const struct ggml_tensor * dst);

#define SVC_PRODUCTS_MAX 8

// How many of the `n` products of one input svc_packed_mul_mats can compute together in the scratch memory: at least one.
int svc_packed_group_size(const struct ggml_compute_params * params, struct ggml_tensor * const * products, int n);

// GGML_OP_MUL_MAT of `n` products of one input. src0: {N, K} packed; src1: {M, K} F32, any strides between rows; dst: {M, N} F32, contiguous.
void svc_packed_mul_mats(
    const struct ggml_compute_params * params, struct ggml_tensor * const * products, int n, struct svc_chunk_counter * counter);

// Fetches the weights with which this thread begins the product, while it would wait for others.
void svc_packed_fetch(
    const struct ggml_compute_params * params, const struct ggml_tensor * product, const struct svc_chunk_counter * counter);

// GGML_OP_MUL_MAT_ID. src0: {experts, N, K} packed; src1: {M, choices or 1, K}; src2: {M, choices} expert ids; dst: {M, choices, N}.
void svc_packed_mul_mat_id(const struct ggml_compute_params * params, struct ggml_tensor * dst);

#endif

#ifdef __cplusplus
}
#endif
