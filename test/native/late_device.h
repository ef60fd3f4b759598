// A device that does everything at the latest moment: copies from and to main memory and graphs wait in a queue until something waits for them.
// So a write to main memory that is too early changes results. It computes with the CPU's back end, on its own memory.
#pragma once

#include "ggml-backend-impl.h"
#include "ggml-cpu.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

namespace late {

inline std::vector<std::function<void()>> queue;
inline int64_t n_run, n_queued, n_waits;  // waits: calls that something had to be done for
inline ggml_backend_t cpu;

inline void push(std::function<void()> work) {
    queue.push_back(std::move(work));
    n_queued++;
}

inline void run_to(int64_t end) {
    if (n_run >= end) return;
    n_waits++;
    const size_t n = end - n_run;
    for (size_t i = 0; i < n; i++) queue[i]();
    queue.erase(queue.begin(), queue.begin() + (ptrdiff_t) n);
    n_run = end;
}

// The tensors of a graph as they are now: the scheduler's are others in the next pass.
struct snapshot {
    std::map<const ggml_tensor *, ggml_tensor *> copies;
    std::vector<ggml_tensor *> nodes;

    ggml_tensor * copy(const ggml_tensor * t) {
        if (t == nullptr) return nullptr;
        ggml_tensor *& out = copies[t];
        if (out != nullptr) return out;
        ggml_tensor * made = out = new ggml_tensor(*t);
        made->view_src = copy(t->view_src);
        for (auto & src : made->src) src = copy(src);
        return made;
    }

    explicit snapshot(ggml_cgraph * graph) {
        for (int i = 0; i < ggml_graph_n_nodes(graph); i++) nodes.push_back(copy(ggml_graph_node(graph, i)));
    }

    void compute() {
        const ggml_init_params params = {ggml_graph_overhead_custom(nodes.size(), false), nullptr, true};
        ggml_context * ctx = ggml_init(params);
        ggml_cgraph * graph = ggml_new_graph_custom(ctx, nodes.size(), false);
        for (ggml_tensor * node : nodes) ggml_graph_add_node(graph, node);
        if (ggml_backend_graph_compute(cpu, graph) != GGML_STATUS_SUCCESS) abort();
        ggml_free(ctx);
        for (const auto & [from, made] : copies) delete made;
    }
};

char * at(const ggml_tensor * t, size_t offset) { return (char *) t->data + offset; }

extern ggml_backend_buffer_type buffer_type;
extern ggml_backend_device device;
extern ggml_backend_reg reg;

const char * name(...) { return "LATE"; }

ggml_backend_buffer_t allocate(ggml_backend_buffer_type_t type, size_t size) {
    ggml_backend_buffer_i i = {};
    i.free_buffer = [](ggml_backend_buffer_t b) { free(b->context); };
    i.get_base = [](ggml_backend_buffer_t b) { return b->context; };
    i.set_tensor = [](ggml_backend_buffer_t, ggml_tensor * t, const void * from, size_t offset, size_t n) { memcpy(at(t, offset), from, n); };
    i.get_tensor = [](ggml_backend_buffer_t, const ggml_tensor * t, void * to, size_t offset, size_t n) { memcpy(to, at(t, offset), n); };
    i.memset_tensor = [](ggml_backend_buffer_t, ggml_tensor * t, uint8_t value, size_t offset, size_t n) { memset(at(t, offset), value, n); };
    i.clear = [](ggml_backend_buffer_t b, uint8_t value) { memset(b->context, value, b->size); };
    return ggml_backend_buffer_init(type, i, aligned_alloc(64, (size + 63) / 64 * 64), size);
}

ggml_backend_t new_backend(ggml_backend_dev_t dev, const char *) {
    static ggml_guid guid = {0x1a, 0x7e};
    ggml_backend_i i = {};
    i.get_name = [](ggml_backend_t) { return name(); };
    i.free = [](ggml_backend_t b) { run_to(n_queued), delete b; };
    i.set_tensor_async = [](ggml_backend_t, ggml_tensor * t, const void * from, size_t offset, size_t n) {
        push([to = at(t, offset), from, n] { memcpy(to, from, n); });
    };
    i.get_tensor_async = [](ggml_backend_t, const ggml_tensor * t, void * to, size_t offset, size_t n) {
        push([from = at(t, offset), to, n] { memcpy(to, from, n); });
    };
    i.synchronize = [](ggml_backend_t) { run_to(n_queued); };
    i.graph_compute = [](ggml_backend_t, ggml_cgraph * graph) {
        push([work = snapshot(graph)]() mutable { work.compute(); });
        return GGML_STATUS_SUCCESS;
    };
    i.event_record = [](ggml_backend_t, ggml_backend_event_t e) { *(int64_t *) e->context = n_queued; };
    i.event_wait = [](ggml_backend_t, ggml_backend_event_t) {};
    return new ggml_backend{&guid, i, dev, nullptr};
}

ggml_backend_device_i device_functions() {
    ggml_backend_device_i i = {};
    i.get_name = i.get_description = [](ggml_backend_dev_t) { return name(); };
    i.get_memory = [](ggml_backend_dev_t, size_t * free, size_t * total) { *free = *total = 1ull << 33; };
    i.get_type = [](ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_GPU; };
    i.get_props = [](ggml_backend_dev_t d, ggml_backend_dev_props * p) {
        *p = {};
        p->name = p->description = name();
        p->type = GGML_BACKEND_DEVICE_TYPE_GPU;
        d->iface.get_memory(d, &p->memory_free, &p->memory_total);
        p->caps.async = p->caps.events = true;
    };
    i.init_backend = new_backend;
    i.get_buffer_type = [](ggml_backend_dev_t) { return &buffer_type; };
    i.supports_op = [](ggml_backend_dev_t, const ggml_tensor * op) { return ggml_backend_supports_op(cpu, op); };
    i.supports_buft = [](ggml_backend_dev_t, ggml_backend_buffer_type_t type) { return type == &buffer_type; };
    i.event_new = [](ggml_backend_dev_t d) { return new ggml_backend_event{d, new int64_t(0)}; };
    i.event_free = [](ggml_backend_dev_t, ggml_backend_event_t e) { delete (int64_t *) e->context, delete e; };
    i.event_synchronize = [](ggml_backend_dev_t, ggml_backend_event_t e) { run_to(*(int64_t *) e->context); };
    return i;
}

ggml_backend_buffer_type buffer_type = {
    {[](ggml_backend_buffer_type_t) { return name(); }, allocate, [](ggml_backend_buffer_type_t) { return (size_t) 64; }, nullptr, nullptr, nullptr},
    &device, nullptr};
ggml_backend_device device = {device_functions(), &reg, nullptr};
ggml_backend_reg reg = {GGML_BACKEND_API_VERSION,
    {[](ggml_backend_reg_t) { return name(); }, [](ggml_backend_reg_t) { return (size_t) 1; },
        [](ggml_backend_reg_t, size_t) -> ggml_backend_dev_t { return &device; }, [](ggml_backend_reg_t, const char *) -> void * { return nullptr; }},
    nullptr};

}  // namespace late
