// Kernel product-groups: products of one input (queries, keys and values; gate and up) are computed together. Included by ggml-cpu.c.
//
// The input is converted once for weights of one type, and threads meet once after all columns instead of twice in each product. While
// the first thread computes small nodes, the others fetch the weights that they multiply next.
//
// Contract: the same results bit for bit. Decisions depend on the graph only: every thread takes the same ones.
#pragma once

#include "packed_gemm.h"
#include "svc_kernels.h"

struct svc_product_groups {
    bool enabled;
    struct svc_chunk_counter chunks;
};

#if defined(SVC_PACKED_GEMM)

static bool svc_in_group(const struct ggml_tensor * node, const struct ggml_tensor * first) {
    return svc_is_packed_product(node) && node->src[1] == first->src[1] && (node->flags & GGML_TENSOR_FLAG_COMPUTE) != 0;
}

// Computes the packed product `*node_n` and the products of its input that follow it; advances `*node_n` to the last.
static void svc_products_compute(
    struct svc_product_groups * state, const struct ggml_compute_params * params, const struct ggml_cgraph * cgraph, int * node_n) {
    struct ggml_tensor ** nodes = cgraph->nodes + *node_n;
    int n = 1;
    while (n < SVC_PRODUCTS_MAX && *node_n + n < cgraph->n_nodes && svc_in_group(nodes[n], nodes[0])) ++n;
    n = svc_packed_group_size(params, nodes, n);
    svc_packed_mul_mats(params, nodes, n, &state->chunks);
    *node_n += n - 1;
}

// Fetches weights of the product that comes next, if it comes soon.
static void svc_products_fetch(
    const struct svc_product_groups * state, const struct ggml_compute_params * params, const struct ggml_cgraph * cgraph, int node_n) {
    const int nodes_ahead = 8;
    for (int i = node_n; i < MIN(cgraph->n_nodes, node_n + nodes_ahead); ++i) {
        if (!svc_is_packed_product(cgraph->nodes[i])) continue;
        svc_packed_fetch(params, cgraph->nodes[i], &state->chunks);
        return;
    }
}

#else

static bool svc_is_packed_product(const struct ggml_tensor * node) {
    (void) node;
    return false;
}

static void svc_products_compute(
    struct svc_product_groups * state, const struct ggml_compute_params * params, const struct ggml_cgraph * cgraph, int * node_n) {
    (void) state, (void) params, (void) cgraph, (void) node_n;
}

static void svc_products_fetch(
    const struct svc_product_groups * state, const struct ggml_compute_params * params, const struct ggml_cgraph * cgraph, int node_n) {
    (void) state, (void) params, (void) cgraph, (void) node_n;
}

#endif
