// Divides a model between the CPU and the devices by their free memory, and reports what a context has taken of each. Measures with
// llama.cpp's simulated allocation, which reads the headers of files alone.

#include "placement.h"

#include "device_rows.h"
#include "draft.h"
#include "guard.h"
#include "model.h"
#include "svc_llama.h"

#include "common.h"
#include "fit.h"
#include "json.h"
#include "llama-cpp.h"

#include "ggml-backend.h"

#include <algorithm>
#include <chrono>

using svc::guard;
using svc::need;

namespace {

constexpr int64_t MIB = 1024 * 1024;
// Of the memory of a small device, less than the wanted reserve is left free.
constexpr int64_t RESERVE_SHARE = 8;

constexpr uint32_t SMALL_CONTEXT = 256;

// The device besides the CPU that holds a tensor, or what it is a view of; NULL: none.
ggml_backend_dev_t device_of(const ggml_tensor * t) {
    while (t->view_src != nullptr) t = t->view_src;
    if (t->buffer == nullptr || ggml_backend_buffer_is_host(t->buffer)) return nullptr;
    return ggml_backend_buft_get_device(ggml_backend_buffer_get_type(t->buffer));
}

int64_t taken(const common_device_memory_data & n) { return n.model + n.context + n.compute; }

bool is_used(const llama_model_tensor_buft_override & rule) { return rule.pattern != nullptr; }

common_device_memory_data_vec memory_of(const std::string & path, const llama_model_params & model, const llama_context_params & context,
    std::vector<ggml_backend_dev_t> & devices, uint32_t & n_layers, uint32_t & n_trained, uint32_t & n_experts) {
    return common_get_device_memory_data(path.c_str(), &model, &context, devices, n_layers, n_trained, n_experts, GGML_LOG_LEVEL_ERROR);
}

}  // namespace

namespace svc {

placement::placement(const char * path, const int32_t * place, int32_t n_place, const float * shares,
    int32_t n_shares, const llama_context_params & context_params, const char * base)
    : path(path), base(base == nullptr ? "" : base), context(context_params) {
    params = load_params(nullptr, 0);
    layers = column(place, n_place, 0, -1);
    params.split_mode = (llama_split_mode) column(place, n_place, 1, LLAMA_SPLIT_MODE_LAYER);
    params.main_gpu = column(place, n_place, 2, 0);
    params.load_mtp = column(place, n_place, 4, 0) != 0;
    reserve = column(place, n_place, 5, 1024) * MIB;
    most = column(place, n_place, 6, 0) * MIB;
    n_draft = column(place, n_place, 7, 0);
    is_head = column(place, n_place, 8, 0) != 0;
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) others.push_back(column(place, n_place, 9 + i, 0) * MIB);
    split.assign(llama_max_devices(), 0.0f);
    if (n_shares > (int32_t) split.size()) throw std::invalid_argument("tensor_split has more entries than llama.cpp has devices");
    std::copy_n(shares, shares == nullptr ? 0 : n_shares, split.begin());
    this->n_shares = shares == nullptr ? 0 : n_shares;
    if (this->n_shares > 0) params.tensor_split = split.data();
    rules.resize(llama_max_tensor_buft_overrides() + 1);
    experts = column(place, n_place, 3, 0);
    keep_experts(experts);
}

// Experts of the first n layers stay on the CPU; -1: of all layers.
void placement::keep_experts(int32_t n) {
    if (n == 0) return;
    if (n < 0) patterns.emplace_back(LLM_FFN_EXPS_REGEX);
    for (int32_t layer = 0; layer < std::min<int32_t>(n, rules.size() - 1); layer++) {
        patterns.push_back(llm_ffn_block_regex(layer, LLM_FFN_EXPS_REGEX));
    }
    for (size_t i = 0; i < patterns.size(); i++) rules[i] = {patterns[i].c_str(), ggml_backend_cpu_buffer_type()};
    params.tensor_buft_overrides = rules.data();
}

// llama.cpp turns fused attention on for a quantized cache, whether the device has it or not.
void placement::check_attention() {
    if (!ggml_is_quantized(context.type_k) && !ggml_is_quantized(context.type_v)) return;
    llama_context_params small = context;
    small.n_ctx = small.n_batch = small.n_ubatch = SMALL_CONTEXT;
    const llama_context_ptr ctx(llama_init_from_model(header.get(), small));
    ggml_cgraph * graph = ctx == nullptr ? nullptr : llama_graph_reserve(ctx.get(), 1, 1, 1);
    for (int i = 0; graph != nullptr && i < ggml_graph_n_nodes(graph); i++) {
        const ggml_tensor * node = ggml_graph_node(graph, i);
        ggml_backend_dev_t device = node->op == GGML_OP_FLASH_ATTN_EXT ? device_of(node->src[1]) : nullptr;
        if (device == nullptr || ggml_backend_dev_supports_op(device, node)) continue;
        without_attention = ggml_backend_dev_name(device);
        return;
    }
}

// Lists of logits are a part of the passes, and their rows in main memory one of the context (device_rows.h). A context of its own has lists of
// its own.
common_device_memory_data_vec placement::with_rows(bool with_lists) {
    llama_context_params listing = context;
    const bool may_list = with_lists && header != nullptr && params.devices == nullptr;
    const device_rows_ptr lists = may_list ? list_rows(header.get(), listing) : nullptr;
    auto bytes = memory_of(path, params, listing, devices, n_layers, n_trained, n_experts);
    if (header != nullptr) bytes.back().compute += row_buffer_bytes(header.get(), context, lists != nullptr);
    return bytes;
}

void placement::measure() {
    take_log_error();
    try {
        if (!base.empty()) return measure_draft();
        needs = with_rows(true);
        if (n_draft > 0) measure_head();
    } catch (const std::exception & e) {
        const std::string reason = take_log_error();
        throw std::runtime_error(reason.empty() ? e.what() : reason);
    }
}

// Adds the context of the head in the file. Its weights are those of the model's last layers.
void placement::measure_head() {
    const llama_context_params of_head = draft_params(context, true, n_draft);
    std::vector<ggml_backend_dev_t> same;
    uint32_t layers_of, trained, experts_of;
    const auto head = memory_of(path, params, of_head, same, layers_of, trained, experts_of);
    for (size_t i = 0; i < needs.size(); i++) {
        needs[i].context += head[i].context;
        needs[i].compute += head[i].compute;
    }
}

// Some draft models read the context of their model.
void placement::measure_draft() {
    llama_model_params on_cpu = load_params(nullptr, 0);
    on_cpu.n_gpu_layers = 0;
    on_cpu.no_alloc = true;
    on_cpu.load_mode = LLAMA_LOAD_MODE_NONE;
    const llama_model_ptr model(llama_model_load_from_file(base.c_str(), on_cpu));
    const llama_context_ptr other(model == nullptr ? nullptr : llama_init_from_model(model.get(), context));
    if (other == nullptr) throw std::runtime_error("the model that it drafts for could not be measured");
    llama_context_params of_draft = draft_params(context, is_head, n_draft);
    of_draft.ctx_other = other.get();
    needs = memory_of(path, params, of_draft, devices, n_layers, n_trained, n_experts);
}

int64_t placement::limit(size_t device, bool with_reserve) const {
    const auto & memory = needs[device];
    const int64_t left = memory.free - (with_reserve ? std::min(reserve, memory.total / RESERVE_SHARE) : 0);
    int64_t taken = 0;
    for (size_t i = 0; i < others.size(); i++) taken += ggml_backend_dev_get(i) == devices[device] ? others[i] : 0;
    return (most > 0 ? std::min(left, most) : left) - taken;
}

bool placement::fits() const {
    for (size_t i = 0; i < devices.size(); i++) {
        if (taken(needs[i]) > limit(i)) return false;
    }
    return true;
}

void placement::place() {
    params.n_gpu_layers = layers < 0 ? llama_model_default_params().n_gpu_layers : layers;
    llama_model_params unread = params;
    unread.no_alloc = true;
    unread.load_mode = LLAMA_LOAD_MODE_NONE;
    header.reset(base.empty() ? llama_model_load_from_file(path.c_str(), unread) : nullptr);  // where it fails, measure() says why
    if (header != nullptr) check_attention();
    measure();
    remember_wishes();
    if (devices.empty()) throw std::runtime_error("there is no device besides the CPU");
    if (n_shares > (int32_t) devices.size()) throw std::invalid_argument("tensor_split has more entries than there are devices");
    fitted = fits();
    fitting = device_layers();
    if (fitted) return;
    measure_least();
    if (layers >= 0) return count_fitting();
    const bool is_free = n_shares == 0 && patterns.empty() && params.split_mode != LLAMA_SPLIT_MODE_ROW;
    if (!is_free || !fit()) search();
    if (params.n_gpu_layers == 0) stay_on_cpu();
    measure();
    fitted = fits();
    fitting = device_layers();
}

// The wanted layers stay as they are.
void placement::count_fitting() {
    const int32_t chosen = params.n_gpu_layers;
    search();
    fitting = device_layers();
    params.n_gpu_layers = chosen;
    measure();
}

void placement::remember_wishes() {
    for (size_t i = 0; i < devices.size(); i++) {
        const auto & n = needs[i];
        wishes.push_back({ggml_backend_dev_name(devices[i]), taken(n), (int64_t) n.context, (int64_t) n.compute, taken(n), limit(i), limit(i, false)});
    }
}

// What does not shrink with the cache. Between both, memory grows evenly with the cells.
void placement::measure_least() {
    if (context.n_ctx <= SMALL_CONTEXT || header == nullptr) return;
    const llama_context_params whole = context;
    context.n_ctx = SMALL_CONTEXT;
    const auto few = with_rows(true);
    for (size_t i = 0; i < wishes.size(); i++) wishes[i].least = taken(few[i]);
    context = whole;
}

// llama.cpp's own search, which also divides layers with experts. Works with its default settings only.
bool placement::fit() {
    std::vector<size_t> margins;
    const auto plain = with_rows(false);
    for (size_t i = 0; i < devices.size(); i++) {
        const int64_t lists = needs[i].compute - plain[i].compute;  // which the search does not know
        margins.push_back(std::max<int64_t>(0, needs[i].free - limit(i) + lists));
    }
    llama_model_params result = params;
    llama_context_params same = context, of_head = draft_params(context, true, n_draft);
    llama_model_params with_head = params;
    const common_fit_extra_model head = {path.c_str(), &with_head, &of_head, true};
    const auto status = common_fit_params(path.c_str(), &result, &same, split.data(), rules.data(), margins.data(), UINT32_MAX,
        n_draft > 0 ? &head : nullptr, GGML_LOG_LEVEL_ERROR);
    take_log_error();
    const llama_model_params before = params;
    if (status == COMMON_PARAMS_FIT_STATUS_SUCCESS) {
        params = result;
        measure();
        if (fits()) return true;
    }
    params = before;
    std::fill(split.begin(), split.end(), 0.0f);
    rules.assign(rules.size(), {nullptr, nullptr});
    return false;
}

// The most layers that fit with the given shares and rules.
void placement::search() {
    int32_t low = 0, high = n_layers + 1;  // low fits, or nothing does; high does not
    while (high - low > 1) {
        params.n_gpu_layers = low + (high - low) / 2;
        measure();
        (fits() ? low : high) = params.n_gpu_layers;
    }
    params.n_gpu_layers = low;
}

// Without layers a device would still get the compute buffers of a context.
void placement::stay_on_cpu() {
    static ggml_backend_dev_t none = nullptr;
    params.devices = &none;
    params.split_mode = LLAMA_SPLIT_MODE_LAYER;
    params.tensor_split = nullptr;
}

int32_t placement::device_layers() const {
    const int32_t all = n_layers + 1;
    return params.n_gpu_layers < 0 ? all : std::min(params.n_gpu_layers, all);
}

int32_t placement::divided_layers() const {
    if (n_experts == 0) return 0;
    // llama.cpp's search ends its rules with an empty one, behind which those of an earlier trial may stand.
    if (experts == 0) return std::find_if_not(rules.begin(), rules.end(), is_used) - rules.begin();
    const int32_t first = n_layers + 1 - device_layers(), last = experts < 0 ? n_layers : std::min<int32_t>(experts, n_layers);
    return std::max(0, last - first);
}

void apply(const placement & p, llama_model_params & load) {
    load.devices = p.params.devices;
    load.n_gpu_layers = p.params.n_gpu_layers;
    load.split_mode = p.params.split_mode;
    load.main_gpu = p.params.main_gpu;
    load.tensor_split = p.params.tensor_split;
    load.tensor_buft_overrides = p.params.tensor_buft_overrides;
}

void placement::run() {
    int32_t end = 1;
    try {
        place();
    } catch (const std::exception & e) {
        error = e.what();
        end = -1;
    } catch (...) {
        error = "an unknown error was raised while placing the model";
        end = -1;
    }
    std::lock_guard<std::mutex> lock(mutex);
    state = end;
    changed.notify_all();
}

}  // namespace svc

namespace {

common_json device_entry(ggml_backend_dev_t device) {
    common_json entry = common_json::object();
    entry["name"] = std::string(ggml_backend_dev_name(device));
    entry["description"] = std::string(ggml_backend_dev_description(device));
    return entry;
}

void add_bytes(common_json & entry, size_t weights, size_t cache, size_t compute) {
    entry["weights"] = (int64_t) weights;
    entry["cache"] = (int64_t) cache;
    entry["compute"] = (int64_t) compute;
}

using buffers = std::map<ggml_backend_buffer_type_t, llama_memory_breakdown_data>;

// Memory of a draft model's context; its weights are counted already where it is a head in the model's own file.
void add_context(buffers & sums, const llama_context * ctx, bool with_weights) {
    for (const auto & [type, bytes] : llama_get_memory_breakdown(ctx)) {
        sums[type].model += with_weights ? bytes.model : 0;
        sums[type].context += bytes.context;
        sums[type].compute += bytes.compute;
    }
}

}  // namespace

void * svc_place_begin(const char * path, const int32_t * place, int32_t n_place, const float * split, int32_t n_split,
    const int32_t * context, int32_t n_context, const char * base) {
    return guard<void *>(nullptr, [&]() -> void * {
        if (path == nullptr) throw std::invalid_argument("no path was given");
        const llama_context_params params = svc::context_params(context, n_context);
        auto placement = std::make_unique<svc::placement>(path, place, n_place, split, n_split, params, base);
        svc::placement * raw = placement.get();
        raw->thread = std::thread([raw] { raw->run(); });
        return placement.release();
    });
}

int32_t svc_place_wait(void * placement, int32_t wait_ms) {
    return guard<int32_t>(-1, [&] {
        svc::placement & p = need<svc::placement>(placement, "placement");
        std::unique_lock<std::mutex> lock(p.mutex);
        p.changed.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] { return p.state != 0; });
        if (p.state < 0) throw std::runtime_error(p.error);
        return p.state;
    });
}

char * svc_place_report(void * placement) {
    return guard<char *>(nullptr, [&] {
        svc::placement & p = need<svc::placement>(placement, "placement");
        common_json devices = common_json::array();
        for (size_t i = 0; i < p.needs.size(); i++) {
            const bool is_cpu = i >= p.devices.size();  // the CPU comes last
            const auto & memory = p.needs[i];
            common_json entry = device_entry(is_cpu ? ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) : p.devices[i]);
            entry["free"] = memory.free;
            entry["total"] = memory.total;
            add_bytes(entry, memory.model, memory.context, memory.compute);
            devices.push_back(entry);
        }
        common_json wanted = common_json::array();
        for (const auto & [device, bytes, cache, compute, least, limit, most] : p.wishes) {
            common_json entry = common_json::object();
            entry["name"] = device;
            entry["bytes"] = bytes;
            entry["cache"] = cache;
            entry["compute"] = compute;
            entry["least"] = least;
            entry["limit"] = limit;
            entry["most"] = most;
            wanted.push_back(entry);
        }
        common_json out = common_json::object();
        out["wanted"] = wanted;
        out["without_attention"] = p.without_attention;
        out["layers"] = (int32_t) p.n_layers + 1;
        out["device_layers"] = p.device_layers();
        out["fitting_layers"] = p.fitting;
        out["divided_layers"] = p.divided_layers();
        out["fits"] = p.fitted;
        out["devices"] = devices;
        return svc::copy_text(out.dump_safe());
    });
}

void svc_place_free(void * placement) {
    guard<int32_t>(-1, [&] {
        std::unique_ptr<svc::placement> p(&need<svc::placement>(placement, "placement"));
        p->thread.join();
        return 0;
    });
}

char * svc_context_memory(void * context) {
    return guard<char *>(nullptr, [&] {
        svc::context & c = need<svc::context>(context, "context");
        buffers sums;
        add_context(sums, c.ctx, true);
        sums[ggml_backend_cpu_buffer_type()].compute += svc::row_buffer_bytes(c.model, c.params, c.on_device != nullptr);
        if (const llama_context * drafter = svc::draft_context_of(c)) add_context(sums, drafter, llama_get_model(drafter) != c.model);
        common_json out = common_json::array();
        for (const auto & [type, bytes] : sums) {
            ggml_backend_dev_t device = ggml_backend_buft_get_device(type);
            const bool is_cpu = ggml_backend_buft_is_host(type) || device == nullptr;
            common_json entry = device_entry(is_cpu ? ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) : device);
            entry["buffer"] = std::string(ggml_backend_buft_name(type));
            add_bytes(entry, bytes.model, bytes.context, bytes.compute);
            out.push_back(entry);
        }
        return svc::copy_text(out.dump_safe());
    });
}
