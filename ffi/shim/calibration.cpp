// Importance statistics collected from live traffic: what llama-imatrix computes from a text file.
// Method and file format: tools/imatrix of llama.cpp.

#include "guard.h"
#include "model.h"
#include "svc_llama.h"

#include "ggml-backend.h"
#include "ggml.h"
#include "gguf.h"

#ifndef _WIN32
#include "../src/llama-context.h"
#endif

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

using svc::guard;
using svc::need;

namespace svc {

// The sums of one weight matrix; matrices of experts have a row of sums and a count for each expert.
struct matrix_stats {
    std::vector<float> sums;  // [matrices * columns] squares of the inputs
    std::vector<int64_t> counts;  // [matrices] rows
};

struct calibration {
    bool collecting = false;
    int64_t rows_max = 0;
    std::map<std::string, matrix_stats> matrices;
    std::vector<char> staged;  // inputs copied from a device
    std::vector<char> ids;  // chosen experts, likewise
    std::string * variance = nullptr;  // see inspect_nodes

    void collect(const ggml_tensor * t);
};

void free_calibration(calibration * c) { delete c; }

}  // namespace svc

namespace {

using svc::calibration;

// Splitting over devices wraps names in '#'.
std::string weight_name(const ggml_tensor * weight) {
    std::string name = weight->name;
    const size_t begin = name.find('#');
    if (begin == std::string::npos) return name;
    const size_t end = name.find('#', begin + 1);
    return name.substr(begin + 1, end == std::string::npos ? std::string::npos : end - begin - 1);
}

bool is_layer_weight(const std::string & name) {
    return name.rfind("blk.", 0) == 0 && name.size() > 7 && name.compare(name.size() - 7, 7, ".weight") == 0;
}

bool wanted(const calibration & c, const ggml_tensor * t) {
    if (!c.collecting || (t->op != GGML_OP_MUL_MAT && t->op != GGML_OP_MUL_MAT_ID)) return false;
    if (t->src[1]->type != GGML_TYPE_F32) return false;
    const std::string name = weight_name(t->src[0]);
    if (!is_layer_weight(name)) return false;
    if (c.rows_max == 0) return true;
    const auto found = c.matrices.find(name);
    if (found == c.matrices.end()) return true;
    const auto & counts = found->second.counts;
    return *std::max_element(counts.begin(), counts.end()) < c.rows_max;
}

// A tensor's bytes, from the device if they are there.
const char * bytes_of(const ggml_tensor * t, std::vector<char> & staged) {
    if (ggml_backend_buffer_is_host(t->buffer)) return static_cast<const char *>(t->data);
    staged.resize(ggml_nbytes(t));
    ggml_backend_tensor_get(t, staged.data(), 0, staged.size());
    return staged.data();
}

void add_squares(float * sums, const float * row, int64_t n) {
    for (int64_t i = 0; i < n; i++) sums[i] += row[i] * row[i];
}

bool on_node(ggml_tensor * t, bool ask, void * user_data) {
    calibration & c = *static_cast<calibration *>(user_data);
    if (ask && c.variance != nullptr && c.variance->empty()) *c.variance = svc::node_variance(t);
    if (ask) return wanted(c, t);
    try {
        c.collect(t);
    } catch (...) {
        c.collecting = false;  // out of memory: the answer matters more than the statistics
    }
    return true;
}

}  // namespace

namespace svc {

calibration * new_calibration([[maybe_unused]] llama_context_params & params) {
    auto * c = new calibration();
#ifdef _WIN32  // the library exports no more than its interface there: the callback stays
    params.cb_eval = on_node;
    params.cb_eval_user_data = c;
#endif
    return c;
}

bool nodes_are_watched(const context & c) { return c.stats->collecting || c.stats->variance != nullptr; }

void watch_nodes(context & c) {
#ifdef _WIN32
    (void) c;
#else
    const bool wanted = nodes_are_watched(c);
    // The interface takes a callback for the life of a context, and with one, every pass is waited for, node by node on a device.
    auto & params = const_cast<llama_cparams &>(c.ctx->get_cparams());
    params.cb_eval = wanted ? on_node : nullptr;
    params.cb_eval_user_data = wanted ? c.stats.get() : nullptr;
    // A graph that is used again keeps the callback of its scheduler.
    ggml_backend_sched_set_eval_callback(c.ctx->get_sched(), params.cb_eval, params.cb_eval_user_data);
#endif
}

void inspect_nodes(context & c, std::string * variance) {
    c.stats->variance = variance;
    watch_nodes(c);
}

void calibration::collect(const ggml_tensor * t) {
    const ggml_tensor * weight = t->src[0];
    const ggml_tensor * input = t->src[1];
    const char * data = bytes_of(input, staged);
    const int64_t columns = input->ne[0];
    const int64_t n_matrices = weight->ne[2] * weight->ne[3];
    matrix_stats & m = matrices[weight_name(weight)];
    if (m.sums.empty()) {
        m.sums.assign(columns * n_matrices, 0.0f);
        m.counts.assign(n_matrices, 0);
    }
    if ((int64_t) m.sums.size() != columns * n_matrices) return;
    if (t->op == GGML_OP_MUL_MAT_ID) {
        const ggml_tensor * chosen = t->src[2];  // [experts used, tokens]
        const char * expert_ids = bytes_of(chosen, ids);
        for (int64_t token = 0; token < chosen->ne[1]; token++) {
            for (int64_t k = 0; k < chosen->ne[0]; k++) {
                const int32_t expert = *(const int32_t *) (expert_ids + token * chosen->nb[1] + k * chosen->nb[0]);
                if (expert < 0 || expert >= n_matrices) continue;
                const char * row = data + (k % input->ne[1]) * input->nb[1] + token * input->nb[2];
                add_squares(m.sums.data() + expert * columns, (const float *) row, columns);
                m.counts[expert]++;
            }
        }
        return;
    }
    for (int64_t i3 = 0; i3 < input->ne[3]; i3++) {
        for (int64_t i2 = 0; i2 < input->ne[2]; i2++) {
            const int64_t matrix = (i3 % weight->ne[3]) * weight->ne[2] + i2 % weight->ne[2];
            for (int64_t row = 0; row < input->ne[1]; row++) {
                const char * at = data + row * input->nb[1] + i2 * input->nb[2] + i3 * input->nb[3];
                add_squares(m.sums.data() + matrix * columns, (const float *) at, columns);
            }
            m.counts[matrix] += input->ne[1];
        }
    }
}

}  // namespace svc

int32_t svc_calibration_start(void * context, int64_t rows_max) {
    return guard<int32_t>(-1, [&]() -> int32_t {
        svc::context & owner = need<svc::context>(context, "context");
        svc::calibration & c = *owner.stats;
        c.matrices.clear();
        c.rows_max = rows_max;
        c.collecting = true;
        svc::watch_nodes(owner);
        return 0;
    });
}

void svc_calibration_stop(void * context) {
    guard<int32_t>(-1, [&]() -> int32_t {
        svc::context & owner = need<svc::context>(context, "context");
        owner.stats->collecting = false;
        svc::watch_nodes(owner);
        return 0;
    });
}

int32_t svc_calibration_status(void * context, int64_t * out) {
    return guard<int32_t>(-1, [&]() -> int32_t {
        const svc::calibration & c = *need<svc::context>(context, "context").stats;
        int64_t fewest = 0, most = 0, total = 0;
        bool first = true;
        for (const auto & [name, m] : c.matrices) {
            const int64_t rows = *std::max_element(m.counts.begin(), m.counts.end());
            fewest = first ? rows : std::min(fewest, rows);
            most = std::max(most, rows);
            total += rows;
            first = false;
        }
        out[0] = c.collecting ? 1 : 0;
        out[1] = (int64_t) c.matrices.size();
        out[2] = fewest;
        out[3] = most;
        out[4] = total;
        return 0;
    });
}

int32_t svc_calibration_save(void * context, const char * path) {
    return guard<int32_t>(-1, [&]() -> int32_t {
        const svc::calibration & c = *need<svc::context>(context, "context").stats;
        if (c.matrices.empty()) throw std::runtime_error("nothing has been collected");
        size_t bytes = 0;
        for (const auto & [name, m] : c.matrices) {
            for (size_t n : {m.sums.size(), m.counts.size()}) bytes += ggml_tensor_overhead() + GGML_PAD(n * sizeof(float), GGML_MEM_ALIGN);
        }
        std::unique_ptr<ggml_context, decltype(&ggml_free)> tensors(ggml_init({bytes, nullptr, false}), ggml_free);
        std::unique_ptr<gguf_context, decltype(&gguf_free)> file(gguf_init_empty(), gguf_free);
        if (tensors == nullptr || file == nullptr) throw std::bad_alloc();
        const char * dataset = "live traffic";
        gguf_set_val_str(file.get(), "general.type", "imatrix");
        gguf_set_arr_str(file.get(), "imatrix.datasets", &dataset, 1);
        gguf_set_val_u32(file.get(), "imatrix.chunk_count", 1);
        gguf_set_val_u32(file.get(), "imatrix.chunk_size", 512);
        for (const auto & [name, m] : c.matrices) {
            const int64_t n_matrices = (int64_t) m.counts.size();
            ggml_tensor * sums = ggml_new_tensor_2d(tensors.get(), GGML_TYPE_F32, (int64_t) m.sums.size() / n_matrices, n_matrices);
            ggml_tensor * counts = ggml_new_tensor_2d(tensors.get(), GGML_TYPE_F32, 1, n_matrices);
            ggml_format_name(sums, "%s.in_sum2", name.c_str());
            ggml_format_name(counts, "%s.counts", name.c_str());
            std::copy(m.sums.begin(), m.sums.end(), static_cast<float *>(sums->data));
            std::copy(m.counts.begin(), m.counts.end(), static_cast<float *>(counts->data));
            gguf_add_tensor(file.get(), sums);
            gguf_add_tensor(file.get(), counts);
        }
        if (!gguf_write_to_file(file.get(), path, false)) throw std::runtime_error("the importance matrix could not be written");
        return 0;
    });
}
