// Whether the graphs of a model compute a row alike in every batch (SVC_BATCH_INVARIANT, ffi/kernels/svc_kernels.h). Decided for each
// node by its operation and operands; what is not known to be invariant is not.

#include "guard.h"
#include "model.h"
#include "svc_llama.h"

#include "ggml-backend.h"
#include "ggml.h"

#include <numeric>
#include <string>

using svc::guard;
using svc::need;

namespace {

constexpr int PASS_ROWS[] = {1, 3};  // some architectures have a graph for one row and another for several

bool is_weight(const ggml_tensor * t) {
    while (t->view_src != nullptr) t = t->view_src;
    return t->buffer != nullptr && ggml_backend_buffer_get_usage(t->buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
}

// Attention by our kernel, which adds cells by position. It needs the KV cache's positions and head sizes of whole vectors.
std::string attention_variance(const ggml_tensor * t) {
    const ggml_tensor *q = t->src[0], *k = t->src[1], *v = t->src[2], *mask = t->src[3];
    if (k->type != GGML_TYPE_F16 || v->type != GGML_TYPE_F16 || q->type != GGML_TYPE_F32) return "attention over a cache that is not f16";
    if (k->ne[0] % 16 != 0 || v->ne[0] % 16 != 0) return "attention heads whose size is no multiple of 16";
    while (mask != nullptr && mask->extra == nullptr) mask = mask->src[0];
    return mask == nullptr ? "attention whose cells have no order" : "";
}

// Operations whose kernels compute each row, or each row after those before it in its sequence, by itself.
bool is_by_row(const ggml_tensor * t) {
    switch (t->op) {
        case GGML_OP_NONE:
        case GGML_OP_RESHAPE:
        case GGML_OP_VIEW:
        case GGML_OP_PERMUTE:
        case GGML_OP_TRANSPOSE:
        case GGML_OP_ADD:
        case GGML_OP_ADD_ID:
        case GGML_OP_SUB:
        case GGML_OP_MUL:
        case GGML_OP_DIV:
        case GGML_OP_SCALE:
        case GGML_OP_SQR:
        case GGML_OP_SQRT:
        case GGML_OP_LOG:
        case GGML_OP_SIN:
        case GGML_OP_COS:
        case GGML_OP_CLAMP:
        case GGML_OP_NORM:
        case GGML_OP_RMS_NORM:
        case GGML_OP_L2_NORM:
        case GGML_OP_ROPE:
        case GGML_OP_CPY:
        case GGML_OP_DUP:
        case GGML_OP_CONT:
        case GGML_OP_CONCAT:
        case GGML_OP_REPEAT:
        case GGML_OP_GET_ROWS:
        case GGML_OP_SET_ROWS:
        case GGML_OP_UNARY:
        case GGML_OP_GLU:
        case GGML_OP_SUM_ROWS:
        case GGML_OP_ARGSORT:
        case GGML_OP_TOP_K:
        case GGML_OP_MUL_MAT_ID:
        case GGML_OP_SSM_CONV:
        case GGML_OP_SSM_SCAN:
        case GGML_OP_GATED_DELTA_NET:
        case GGML_OP_RWKV_WKV6:
        case GGML_OP_RWKV_WKV7:
            return true;
        case GGML_OP_SOFT_MAX:
            return t->src[1] == nullptr;  // of attention, otherwise
        case GGML_OP_MUL_MAT:
            return is_weight(t->src[0]);
        default:
            return false;
    }
}

}  // namespace

std::string svc::node_variance(const ggml_tensor * node) {
    if (node->buffer != nullptr && !ggml_backend_buffer_is_host(node->buffer)) return "layers on a device other than the CPU";
    if (node->op == GGML_OP_FLASH_ATTN_EXT) return attention_variance(node);
    return is_by_row(node) ? "" : std::string("the operation ") + ggml_op_desc(node) + " of its graph";
}

char * svc_context_variance(void * context) {
    return guard<char *>(nullptr, [&]() -> char * {
        svc::context & c = need<svc::context>(context, "context");
        std::string variance;
        svc::inspect_nodes(c, &variance);
        for (const int rows : PASS_ROWS) {
            const std::vector<int32_t> tokens(rows, 0), sequences(rows, 0);
            std::vector<int32_t> positions(rows);
            std::iota(positions.begin(), positions.end(), 0);
            const std::vector<int8_t> outputs(rows, 1);
            const int32_t result = svc_decode(context, rows, tokens.data(), positions.data(), sequences.data(), outputs.data());
            svc_memory_clear(context);
            if (result != 0 && variance.empty()) variance = "a graph that could not be computed";
        }
        svc::inspect_nodes(c, nullptr);
        return svc::copy_text(variance);
    });
}
