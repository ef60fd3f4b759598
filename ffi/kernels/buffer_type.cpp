// The buffer type through which ggml reaches our kernels. Its buffers hold packed weights (packed_gemm.h); its traits also claim
// attention operations (attention.h), whatever buffers these use. Knows nothing of how kernels compute.

#include "attention.h"
#include "memory_nodes.h"
#include "packed_gemm.h"
#include "svc_kernels.h"

#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"
#include "traits.h"

#include <string>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#if defined(SVC_ATTENTION)

namespace {

#if defined(SVC_PACKED_GEMM)

bool packed_gemm_enabled() {
    static const bool enabled = svc_kernel_enabled("packed-gemm");
    return enabled;
}

// Whether packed weights may be larger than the file's.
bool packed_grids_enabled() {
    static const bool enabled = svc_kernel_enabled("packed-grids");
    return enabled;
}

ggml_backend_buffer_type_t buffer_type();

struct packed_gemm_traits final : ggml::cpu::tensor_traits {
    bool work_size(int n_threads, const ggml_tensor * op, size_t & size) override {
        size = svc_packed_work_size(n_threads, op);
        return true;
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        if (op->op == GGML_OP_MUL_MAT) {
            svc_chunk_counter unknown = {};
            svc_packed_mul_mats(params, &op, 1, &unknown);
        } else {
            svc_packed_mul_mat_id(params, op);
        }
        return true;
    }
};

packed_gemm_traits packed_gemm;

bool is_product(const ggml_tensor * op) { return op->op == GGML_OP_MUL_MAT || op->op == GGML_OP_MUL_MAT_ID; }

bool is_packed(const ggml_tensor * weights) { return weights->buffer != nullptr && weights->buffer->buft == buffer_type(); }

bool supports_product(const ggml_tensor * op) {
    if (!packed_gemm_enabled() || !is_product(op)) return false;
    const ggml_tensor * weights = op->src[0];
    const ggml_tensor * input = op->src[1];
    const int matrix_dims = op->op == GGML_OP_MUL_MAT ? 2 : 3;  // one matrix, or one per expert
    const int values = svc_packed_block_values(weights->type);
    if (svc_packed_grows(weights->type) && !packed_grids_enabled()) return false;
    return is_packed(weights) && ggml_is_contiguous(weights) && ggml_n_dims(weights) <= matrix_dims && values != 0 &&
        weights->ne[0] % values == 0 && op->ne[0] % 32 == 0 && input->type == GGML_TYPE_F32 && input->nb[0] == sizeof(float) &&
        (input->buffer == nullptr || ggml_backend_buft_is_host(input->buffer->buft));
}

ggml::cpu::tensor_traits * product_traits(const ggml_tensor * op) {
    return is_product(op) && is_packed(op->src[0]) ? &packed_gemm : nullptr;
}

}  // namespace

bool svc_is_packed_product(const ggml_tensor * node) { return node->op == GGML_OP_MUL_MAT && is_packed(node->src[0]); }

namespace {

size_t packed_size(ggml_backend_buffer_type_t, const ggml_tensor * tensor) { return svc_packed_alloc_size(tensor); }

constexpr size_t PAGE = 4096, HUGE_PAGE = 2048 * 1024;

struct packed_memory {
    void * allocated;
    size_t size;  // of what is allocated
    svc_packed_regions regions;  // of the memory nodes, one behind the other
};

packed_memory * memory_of(ggml_backend_buffer_t buffer) { return (packed_memory *) buffer->context; }

void free_buffer(ggml_backend_buffer_t buffer) {
    ggml_aligned_free(memory_of(buffer)->allocated, memory_of(buffer)->size);
    delete memory_of(buffer);
}

void * get_base(ggml_backend_buffer_t buffer) { return memory_of(buffer)->regions.begin; }

enum ggml_status init_tensor(ggml_backend_buffer_t buffer, ggml_tensor * tensor) {
    tensor->extra = svc_nodes() == 1 ? nullptr : &memory_of(buffer)->regions;
    return GGML_STATUS_SUCCESS;
}

void memset_tensor(ggml_backend_buffer_t, ggml_tensor * tensor, uint8_t value, size_t offset, size_t size) {
    memset((char *) tensor->data + offset, value, size);
}

void set_tensor(ggml_backend_buffer_t, ggml_tensor * tensor, const void * data, size_t offset, size_t size) {
    svc_packed_convert(tensor, data, offset, size);
}

void clear(ggml_backend_buffer_t buffer, uint8_t value) { memset(get_base(buffer), value, buffer->size); }

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, size_t size) {
    packed_memory memory = {nullptr, size, {nullptr, size}};
    const int nodes = svc_nodes();
    if (nodes > 1) {
        memory.regions.size = GGML_PAD((size + nodes - 1) / nodes, HUGE_PAGE);
        size = memory.regions.size * nodes;
        memory.size = size + HUGE_PAGE;
    }
    memory.allocated = ggml_aligned_malloc(memory.size);
    if (memory.allocated == nullptr) {
        GGML_LOG_ERROR("%s: cannot allocate %zu bytes for packed weights\n", __func__, memory.size);
        return nullptr;
    }
    char * begin = (char *) GGML_PAD((uintptr_t) memory.allocated, nodes > 1 ? HUGE_PAGE : TENSOR_ALIGNMENT);
    memory.regions.begin = begin;
    for (int node = 0; node < nodes; ++node) svc_bind_to_node(begin + node * memory.regions.size, memory.regions.size, node);
#if defined(__linux__)
    // Huge pages, if the system grants them: weights are read sequentially, and each page of 4 KB would end a prefetch.
    const uintptr_t first = GGML_PAD((uintptr_t) begin, PAGE), last = ((uintptr_t) begin + size) & ~(PAGE - 1);
    if (first < last) madvise((void *) first, last - first, MADV_HUGEPAGE);
#endif
    ggml_backend_buffer_i interface = {};
    interface.free_buffer = free_buffer;
    interface.get_base = get_base;
    interface.init_tensor = init_tensor;
    interface.memset_tensor = memset_tensor;
    interface.set_tensor = set_tensor;
    interface.clear = clear;
    return ggml_backend_buffer_init(type, interface, new packed_memory(memory), size);
}

#else  // attention only: supports no product, so that no weights get into a buffer of this type

bool packed_gemm_enabled() { return false; }
bool packed_grids_enabled() { return false; }
bool supports_product(const ggml_tensor *) { return false; }
ggml::cpu::tensor_traits * product_traits(const ggml_tensor *) { return nullptr; }
size_t packed_size(ggml_backend_buffer_type_t, const ggml_tensor * tensor) { return ggml_nbytes(tensor); }
ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t, size_t) { return nullptr; }

#endif

bool attention_enabled() {
    static const bool enabled = svc_kernel_enabled("attention");
    return enabled;
}

struct attention_traits final : ggml::cpu::tensor_traits {
    bool work_size(int n_threads, const ggml_tensor * op, size_t & size) override {
        size = svc_attention_work_size(n_threads, op);
        return true;
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        if (params->use_ref) return false;
        svc_attention(params, op);
        return true;
    }
};

attention_traits attention;

struct kernels_buffer_type final : ggml::cpu::extra_buffer_type {
    bool supports_op(ggml_backend_dev_t, const ggml_tensor * op) override { return supports_product(op); }

    ggml::cpu::tensor_traits * get_tensor_traits(const ggml_tensor * op) override {
        if (ggml::cpu::tensor_traits * traits = product_traits(op)) return traits;
        return attention_enabled() && svc_attention_supported(op) ? &attention : nullptr;
    }
};

// Names the enabled kernels and the vector width, for logs and `svc doctor`.
const char * get_name(ggml_backend_buffer_type_t) {
    static const std::string name = [] {
        std::string kernels;
        if (packed_gemm_enabled()) kernels += ",packed-gemm";
        if (packed_gemm_enabled() && packed_grids_enabled()) kernels += ",packed-grids";
        if (attention_enabled()) kernels += ",attention";
#if defined(SVC_PACKED_GEMM)  // needs the same instructions
        if (packed_gemm_enabled() && svc_kernel_enabled("product-groups")) kernels += ",product-groups";
        if (svc_kernel_enabled("recurrent")) kernels += ",recurrent";
        if (svc_kernel_enabled("rms-norm")) kernels += ",rms-norm";
#endif
        return "svc-kernels:" + kernels.substr(1);
    }();
    return name.c_str();
}

ggml_backend_buffer_type_t buffer_type() {
    static ggml_backend_buffer_type type = [] {
        ggml_backend_buffer_type made = {};
        made.iface.get_name = get_name;
        made.iface.alloc_buffer = alloc_buffer;
        made.iface.get_alignment = [](ggml_backend_buffer_type_t) { return (size_t) TENSOR_ALIGNMENT; };
        made.iface.get_alloc_size = packed_size;
        made.device = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0);
        made.context = new kernels_buffer_type();
        return made;
    }();
    return &type;
}

}  // namespace

ggml_backend_buffer_type_t svc_kernels_buffer_type(bool * replaces_amx) {
    *replaces_amx = packed_gemm_enabled();
    return packed_gemm_enabled() || attention_enabled() ? buffer_type() : nullptr;
}

#else

ggml_backend_buffer_type_t svc_kernels_buffer_type(bool * replaces_amx) {
    *replaces_amx = false;
    return nullptr;
}

#endif
