// Kernel small-nodes: computes runs of small graph nodes on one thread. Included by ggml-cpu.c, whose static functions it calls. The
// nodes of the kernels recurrent and product-groups pass through here too.
//
// After every node of a graph all threads meet at a barrier. Many nodes (a norm, an addition, a rotation of one row; every node of
// a tiny model) take no longer than the barrier does. The first thread computes consecutive small nodes alone; the others continue
// at the next large node and wait there once.
//
// Contract: the same kernels compute the same values as with one thread, so results equal those of a single-threaded run bit for
// bit. Decisions depend on the graph only: every thread takes the same ones.
#pragma once

#include "product_groups.h"
#include "recurrent_nodes.h"
#include "svc_kernels.h"

struct svc_pool_nodes * svc_nodes_of_pool(struct ggml_threadpool * pool) {
    return &pool->svc_nodes;
}

// Whether a node takes about as long as a barrier: one to three microseconds of a core.
static bool svc_node_is_small(const struct ggml_tensor * node) {
    const int64_t elements_max = 4096;
    const int64_t products_max = 32768;

    switch (node->op) {
        case GGML_OP_ADD:
        case GGML_OP_SUB:
        case GGML_OP_MUL:
        case GGML_OP_DIV:
        case GGML_OP_SCALE:
        case GGML_OP_NORM:
        case GGML_OP_RMS_NORM:
        case GGML_OP_L2_NORM:
        case GGML_OP_ROPE:
        case GGML_OP_CPY:
        case GGML_OP_DUP:
        case GGML_OP_CONT:
        case GGML_OP_GET_ROWS:
        case GGML_OP_UNARY:
        case GGML_OP_GLU:
            return ggml_nelements(node) <= elements_max;
        case GGML_OP_SET_ROWS:
            return ggml_nelements(node->src[0]) <= elements_max;
        case GGML_OP_MUL_MAT:
            return ggml_nelements(node) * node->src[0]->ne[0] <= products_max;
        case GGML_OP_FLASH_ATTN_EXT:
            return 2 * ggml_nelements(node->src[0]) * node->src[1]->ne[1] <= products_max;
        default:
            return false;
    }
}

// State of one thread during one graph.
struct svc_small_nodes {
    bool enabled;
    bool barrier_due;  // small nodes were skipped or computed since the last barrier
    struct ggml_threadpool pool;  // of one thread: its barriers return at once
    struct ggml_compute_params params;  // of one thread
    struct svc_recurrent recurrent;
    struct svc_product_groups products;
};

static struct svc_small_nodes svc_small_nodes_init(const struct ggml_compute_params * params) {
    struct svc_small_nodes state;
    memset(&state, 0, sizeof(state));
    state.enabled = params->nth > 1 && svc_kernel_enabled("small-nodes");
    state.pool.n_graph = 1;
    state.params = *params;
    state.params.nth = 1;
    state.recurrent.enabled = !params->use_ref && svc_kernel_enabled("recurrent");
    state.products.enabled = svc_kernel_enabled("product-groups");
    return state;
}

// Waits until the first thread has computed its small nodes.
static void svc_small_nodes_wait(
    struct svc_small_nodes * state, const struct ggml_compute_params * params, const struct ggml_cgraph * cgraph, int node_n) {
    if (!state->barrier_due) return;
    state->barrier_due = false;
    if (state->products.enabled && params->ith != 0) svc_products_fetch(&state->products, params, cgraph, node_n);
    ggml_barrier(params->threadpool);
}

// Handles node `*node_n` if the kernel recurrent or product-groups computes it.
static bool svc_replaced_handle(
    struct svc_small_nodes * state, const struct ggml_compute_params * params, const struct ggml_cgraph * cgraph, int * node_n) {
    const struct ggml_tensor * node = cgraph->nodes[*node_n];
    if ((node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) return false;
    if (state->products.enabled && svc_is_packed_product(node) && !(state->enabled && svc_node_is_small(node))) {
        svc_small_nodes_wait(state, params, cgraph, *node_n);
        svc_products_compute(&state->products, params, cgraph, node_n);
        ggml_barrier(params->threadpool);
        return true;
    }
    const enum svc_turn turn = state->recurrent.enabled ? svc_recurrent_turn(&state->recurrent, cgraph, *node_n) : SVC_TURN_USUAL;
    if (turn == SVC_TURN_COMPUTE) {
        svc_small_nodes_wait(state, params, cgraph, *node_n);
        svc_recurrent_compute(&state->recurrent, params, cgraph->nodes[*node_n]);
        ggml_barrier(params->threadpool);
    }
    return turn != SVC_TURN_USUAL;
}

// Handles node `*node_n` if it is replaced or small; advances `*node_n` over nodes computed with it. Otherwise waits for outstanding small nodes.
static bool svc_small_nodes_handle(
    struct svc_small_nodes * state, const struct ggml_compute_params * params, const struct ggml_cgraph * cgraph,
    const struct ggml_cplan * cplan, int * node_n) {
    const struct ggml_tensor * node = cgraph->nodes[*node_n];
    if (svc_replaced_handle(state, params, cgraph, node_n)) return true;
    if (ggml_op_is_empty(node->op) || (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) return false;
    if (!state->enabled || !svc_node_is_small(node)) {
        svc_small_nodes_wait(state, params, cgraph, *node_n);
        if (node->op == GGML_OP_MUL_MAT_ID) state->products.chunks.known = false;  // uses the counters
        return false;
    }
    state->params.threadpool = &state->pool;
    state->barrier_due = true;
    if (params->ith != 0) return true;
    const bool next_is_small = *node_n + 1 < cgraph->n_nodes && svc_node_is_small(cgraph->nodes[*node_n + 1]);
    const int n_fused = next_is_small ? ggml_cpu_try_fuse_ops(cgraph, *node_n, &state->params, cplan) : 0;
    if (n_fused > 0) {
        *node_n += n_fused;
    } else {
        ggml_compute_forward(&state->params, cgraph->nodes[*node_n]);
    }
    return true;
}
