// Rows of packed weights by memory node: each node has a region with its part of every matrix, and the threads that run there compute that
// part first. The environment names the nodes; it is read once, before the first buffer.
//
//   SVC_MEMORY_NODES  unset: one node; "0,1": the system's numbers of two to eight nodes, set by svc (ffi/linux/interleaving.ts); "emulated:2":
//                     as many that are only pretended, with an equal part of the threads each, for tests
//
// Contract: the same results bit for bit, whatever threads run where. A refused binding costs speed only.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SVC_NODES_MAX 8
#define SVC_THREADS_MAX 512  // GGML_MAX_N_THREADS

// Part of a thread pool. What a product has set its threads read after a barrier.
struct svc_pool_nodes {
    struct {
        int next;  // chunk of the node's rows
        char gap[60];  // in a cache line of its own
    } chunks[2][SVC_NODES_MAX];  // in turn: a product sets those of the next to 0
    uint8_t of_thread[SVC_THREADS_MAX];  // an index of a node
};

#ifdef __cplusplus
extern "C" {
#endif

struct ggml_threadpool;

struct svc_pool_nodes * svc_nodes_of_pool(struct ggml_threadpool * pool);

// How many nodes there are.
int svc_nodes(void);

// The index of the node on which the calling thread, one of `threads`, runs.
int svc_node_of_thread(int thread, int threads);

// Pages of this memory, whole ones, that are touched from now on lie on a node, as long as it has free ones.
void svc_bind_to_node(void * memory, size_t size, int node);

#ifdef __cplusplus
}
#endif
