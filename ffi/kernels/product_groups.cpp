// Moves products of one input next to each other, before memory is allocated for a graph.

#include "packed_gemm.h"
#include "svc_cpu_hooks.h"

#include <algorithm>

void svc_group_products(ggml_backend_t, struct ggml_cgraph * graph, struct ggml_backend_graph_optimize_params *) {
#if defined(SVC_PACKED_GEMM)
    if (!svc_kernel_enabled("product-groups")) return;
    constexpr int nodes_ahead = 32;  // between the products of a layer's input
    ggml_tensor ** nodes = graph->nodes;
    for (int i = 0; i < graph->n_nodes; ++i) {
        if (!svc_is_packed_product(nodes[i])) continue;
        // Weights and the input are there before the first of them: the others can be computed as early.
        const ggml_tensor * input = nodes[i]->src[1];
        for (int j = i + 1; j < std::min(graph->n_nodes, i + nodes_ahead); ++j) {
            if (svc_is_packed_product(nodes[j]) && nodes[j]->src[1] == input) std::rotate(nodes + ++i, nodes + j, nodes + j + 1);
        }
    }
#else
    (void) graph;
#endif
}
