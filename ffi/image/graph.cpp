// The library gives a graph as a whole to one back end. The CPU's asks between nodes whether to go on; those of devices do not, and an
// operation that they lack ends the process. So graphs for devices are checked, and computed in parts.

#include "graph.h"

#include "ggml-alloc.h"
#include "ggml-impl.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

// A part should take this long, milliseconds: cancelling feels immediate, and the device waits for the CPU rarely.
constexpr double PART_MS = 50;
constexpr int PART_NODES_MIN = 16;
constexpr int PART_NODES_MAX = 4096;

bool on_abort(void *) { return svc_image_is_cancelled(); }

ggml_status compute_on_cpu(ggml_backend_t backend, ggml_backend_dev_t device, ggml_cgraph * graph) {
    auto set_abort_callback = reinterpret_cast<ggml_backend_set_abort_callback_t>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_backend_set_abort_callback"));
    if (set_abort_callback != nullptr) set_abort_callback(backend, on_abort, nullptr);
    return ggml_backend_graph_compute(backend, graph);
}

void check_operations(ggml_backend_t backend, const ggml_cgraph * graph) {
    for (int i = 0; i < graph->n_nodes; i++) {
        const ggml_tensor * node = graph->nodes[i];
        if (ggml_backend_supports_op(backend, node)) continue;
        throw std::runtime_error(std::string(ggml_backend_name(backend)) + " cannot compute " + ggml_op_desc(node) + " of " +
                                 ggml_type_name(node->src[0] != nullptr ? node->src[0]->type : node->type));
    }
}

// End of a part of at least `nodes` nodes. Back ends compute neighbours at once where the first is used by the second alone, which may
// round otherwise; after a node that is used twice a part may end without a change of the image.
int part_end(const ggml_cgraph * graph, int from, int nodes) {
    int to = std::min(graph->n_nodes, from + nodes);
    while (to < graph->n_nodes && ggml_node_get_use_count(graph, to - 1) < 2) to++;
    return to;
}

// Nodes of the next part, after one of `nodes` took `ms`.
int next_part(int nodes, double ms) {
    if (ms < PART_MS / 2) return std::min(PART_NODES_MAX, nodes * 2);
    return ms > PART_MS * 2 ? std::max(PART_NODES_MIN, nodes / 2) : nodes;
}

// Gives tensors that an allocator must leave out an address, which nothing reads.
class given_addresses {
    std::vector<ggml_tensor *> tensors;

public:
    given_addresses(const ggml_cgraph * graph, ggml_context * inputs) {
        std::unordered_set<const ggml_tensor *> own;
        for (ggml_tensor * t = ggml_get_first_tensor(inputs); t != nullptr; t = ggml_get_next_tensor(inputs, t)) own.insert(t);
        const auto give = [&](ggml_tensor * t) {
            if (t == nullptr || t->data != nullptr || t->view_src != nullptr || own.count(t) != 0) return;
            t->data = reinterpret_cast<void *>(uintptr_t(1));
            tensors.push_back(t);
        };
        for (int i = 0; i < graph->n_leafs; i++) give(graph->leafs[i]);
        for (int i = 0; i < graph->n_nodes; i++) {
            for (ggml_tensor * source : graph->nodes[i]->src) give(source != nullptr && source->view_src != nullptr ? source->view_src : source);
        }
    }

    ~given_addresses() {
        for (ggml_tensor * t : tensors) t->data = nullptr;
    }
};

}  // namespace

bool svc_graph_measure(ggml_backend_t backend, ggml_context * inputs, ggml_cgraph * graph) {
    if (!svc_image_measures()) return false;
    if (svc_image_is_cancelled()) throw std::runtime_error("cancelled");
    const given_addresses given(graph, inputs);
    const std::unique_ptr<ggml_gallocr, decltype(&ggml_gallocr_free)> allocator(
        ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend)), ggml_gallocr_free);
    size_t bytes = 0;
    ggml_gallocr_reserve_n_size(allocator.get(), graph, nullptr, nullptr, &bytes);
    svc_graph_note(bytes);
    return true;
}

ggml_status svc_graph_compute(ggml_backend_t backend, ggml_cgraph * graph) {
    const ggml_backend_dev_t device = ggml_backend_get_device(backend);
    if (ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU) return compute_on_cpu(backend, device, graph);
    check_operations(backend, graph);
    int part = PART_NODES_MIN;  // few at first in each graph: nodes of one take a thousand times as long as those of another
    for (int from = 0; from < graph->n_nodes;) {
        if (svc_image_is_cancelled()) return GGML_STATUS_ABORTED;
        const int to = part_end(graph, from, part);
        ggml_cgraph view = ggml_graph_view(graph, from, to);
        const auto start = std::chrono::steady_clock::now();
        const ggml_status status = ggml_backend_graph_compute(backend, &view);
        if (status != GGML_STATUS_SUCCESS) return status;
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        if (to < graph->n_nodes) part = next_part(part, took.count());
        from = to;
    }
    return GGML_STATUS_SUCCESS;
}
