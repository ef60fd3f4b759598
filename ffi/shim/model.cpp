// Process start, model loading and the tokenizer.

#include "file_pages.h"
#include "guard.h"
#include "model.h"
#include "placement.h"
#include "svc_kernels.h"
#include "svc_llama.h"

#include "common.h"
#include "ggml-backend.h"
#include "json.h"
#include "log.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

using svc::guard;
using svc::need;

namespace {

std::atomic<int> verbosity{0};
std::mutex log_mutex;
std::string first_log_error;  // the library reports why a load failed through its log only
char last_device_error[256] = "";

// "CUDA error: out of memory", after which ggml ends the process.
bool is_device_error(const char * text) {
    const char * found = strstr(text, " error: ");
    return found != nullptr && found - text <= 4;
}

void on_log(ggml_log_level level, const char * text, void *) {
    static ggml_log_level previous = GGML_LOG_LEVEL_INFO;
    std::lock_guard<std::mutex> lock(log_mutex);
    const ggml_log_level actual = level == GGML_LOG_LEVEL_CONT ? previous : level;
    previous = actual;
    if (actual == GGML_LOG_LEVEL_ERROR && first_log_error.empty()) {  // what follows the first only reports that it failed
        first_log_error = text;
        while (!first_log_error.empty() && first_log_error.back() == '\n') first_log_error.pop_back();
    }
    if (actual == GGML_LOG_LEVEL_ERROR && is_device_error(text)) {
        snprintf(last_device_error, sizeof(last_device_error), "%.*s", (int) strcspn(text, "\n"), text);
    }
    const int needed = actual == GGML_LOG_LEVEL_ERROR ? 1 : actual == GGML_LOG_LEVEL_WARN ? 1
        : actual == GGML_LOG_LEVEL_INFO                                                   ? 2
                                                                                          : 3;
    if (verbosity.load() >= needed) {
        fputs(text, stderr);
    }
}

std::string meta(const llama_model * model, const char * key) {
    char value[512];
    const int32_t n = llama_model_meta_val_str(model, key, value, sizeof(value));
    return n < 0 ? "" : std::string(value, std::min<size_t>(n, sizeof(value) - 1));
}

std::string token_text(const llama_vocab * vocab, llama_token token) {
    return token == LLAMA_TOKEN_NULL ? "" : common_token_to_piece(vocab, token, true);
}

struct load_task {
    std::thread thread;
    std::atomic<int32_t> state{0};
    llama_model * model = nullptr;
    std::string error;

    void run(const std::string & path, llama_model_params params) {
        try {
            svc::take_log_error();
            model = llama_model_load_from_file(path.c_str(), params);
            if (model == nullptr) {
                const std::string reason = svc::take_log_error();
                error = reason.empty() ? "the model file could not be loaded" : reason;
            } else {
                svc::release_file_pages(model);
            }
        } catch (const std::exception & e) {
            error = e.what();
        } catch (...) {
            error = "an unknown error was raised while loading";
        }
        state.store(model != nullptr ? 1001 : -1);
    }
};

const char * device_kind(enum ggml_backend_dev_type type) {
    if (type == GGML_BACKEND_DEVICE_TYPE_CPU) return "cpu";
    const bool is_card = type == GGML_BACKEND_DEVICE_TYPE_GPU || type == GGML_BACKEND_DEVICE_TYPE_IGPU;
    return is_card ? "gpu" : "other";
}

// Names of the enabled kernels of ffi/kernels. The CPU back end names those that its instruction set allows.
common_json enabled_kernels() {
    common_json names = common_json::array();
    ggml_backend_reg_t cpu = ggml_backend_dev_backend_reg(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    const auto extra_types = (ggml_backend_dev_get_extra_bufts_t) ggml_backend_reg_get_proc_address(cpu, "ggml_backend_dev_get_extra_bufts");
    ggml_backend_buffer_type_t * type = extra_types == nullptr ? nullptr : extra_types(ggml_backend_reg_dev_get(cpu, 0));
    for (; type != nullptr && *type != nullptr; ++type) {
        const std::string name = ggml_backend_buft_name(*type);
        for (const char * kernel : {"packed-gemm", "packed-grids", "attention", "product-groups", "recurrent", "rms-norm"}) {
            if (name.rfind("svc-kernels:", 0) == 0 && name.find(kernel) != std::string::npos) names.push_back(std::string(kernel));
        }
    }
    for (const char * kernel : {"small-nodes", "zero-pages"}) {
        if (svc_kernel_enabled(kernel)) names.push_back(std::string(kernel));
    }
    return names;
}

}  // namespace

ggml_log_callback svc::log_callback() { return on_log; }

std::string svc::take_log_error() {
    std::lock_guard<std::mutex> lock(log_mutex);
    std::string text;
    text.swap(first_log_error);
    return text;
}

const char * svc::device_error() { return last_device_error; }

const char * svc_abi_hash(void) { return SVC_ABI_HASH; }

const char * svc_last_error(void) { return svc::last_error().c_str(); }

void svc_free(void * text) { free(text); }

int32_t svc_init(const char * dir, int32_t level) {
    return guard<int32_t>(-1, [&] {
        verbosity.store(level);
        static bool loaded = false;
        if (!loaded) {
            llama_log_set(on_log, nullptr);
            common_log_set_verbosity_thold(LOG_LEVEL_ERROR);  // its warnings quote what models wrote
            ggml_backend_load_all_from_path(dir);
            llama_backend_init();
            loaded = true;
        }
        if (ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) == nullptr) {
            throw std::runtime_error("no CPU back end could be loaded");
        }
        return 0;
    });
}

char * svc_system_info(void) {
    return guard<char *>(nullptr, [&] {
        common_json devices = common_json::array();
        for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
            ggml_backend_dev_t device = ggml_backend_dev_get(i);
            size_t memory_free = 0, memory_total = 0;
            ggml_backend_dev_memory(device, &memory_free, &memory_total);
            const auto type = ggml_backend_dev_type(device);
            common_json entry = common_json::object();
            entry["name"] = std::string(ggml_backend_dev_name(device));
            entry["description"] = std::string(ggml_backend_dev_description(device));
            entry["type"] = std::string(device_kind(type));
            entry["backend"] = std::string(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)));
            ggml_backend_dev_props props = {};
            ggml_backend_dev_get_props(device, &props);
            if (props.device_id != nullptr) entry["pci"] = std::string(props.device_id);
            entry["memory_free"] = (int64_t) memory_free;
            entry["memory_total"] = (int64_t) memory_total;
            devices.push_back(entry);
        }
        common_json out = common_json::object();
        out["devices"] = devices;
        out["cpu_features"] = std::string(llama_print_system_info());
        out["kernels"] = enabled_kernels();
        out["llama_version"] = std::string(llama_version());
        return svc::copy_text(out.dump_safe());
    });
}

int32_t svc_device_memory(int32_t n, int64_t * memory_free) {
    return guard<int32_t>(-1, [&] {
        const int32_t count = ggml_backend_dev_count();
        for (int32_t i = 0; i < std::min(n, count); i++) {
            size_t left = 0, total = 0;
            ggml_backend_dev_memory(ggml_backend_dev_get(i), &left, &total);
            memory_free[i] = left;
        }
        return count;
    });
}

int32_t svc_selftest_throw(int32_t kind) {
    return guard<int32_t>(-1, [&]() -> int32_t {
        if (kind == 1) throw 42;
        if (kind == 2) throw std::bad_alloc();
        throw std::runtime_error("raised on purpose");
    });
}

llama_model_params svc::load_params(const int32_t * params, int32_t n) {
    llama_model_params p = llama_model_default_params();
    p.n_gpu_layers = column(params, n, 0, -1);
    p.main_gpu = column(params, n, 1, 0);
    const bool use_mmap = column(params, n, 2, 1) != 0, use_mlock = column(params, n, 3, 0) != 0;
    p.load_mode = use_mmap ? (use_mlock ? LLAMA_LOAD_MODE_MMAP_MLOCK : LLAMA_LOAD_MODE_MMAP)
                           : (use_mlock ? LLAMA_LOAD_MODE_MLOCK : LLAMA_LOAD_MODE_NONE);
    p.vocab_only = column(params, n, 4, 0) != 0;
    p.check_tensors = column(params, n, 5, 0) != 0;
    p.load_mtp = column(params, n, 6, 0) != 0;
    p.split_mode = (llama_split_mode) column(params, n, 7, LLAMA_SPLIT_MODE_LAYER);
    if (column(params, n, 8, 0) != 0) {
        p.no_alloc = true;
        p.load_mode = LLAMA_LOAD_MODE_NONE;
    }
    p.no_host = true;  // a device's host buffers would take the weights of the CPU's layers from the kernels of ffi/kernels
    return p;
}

void * svc_load_begin(const char * path, const int32_t * params, int32_t n, void * placement) {
    return guard<void *>(nullptr, [&]() -> void * {
        if (path == nullptr) throw std::invalid_argument("no path was given");
        auto task = std::make_unique<load_task>();
        llama_model_params p = svc::load_params(params, n);
        if (placement != nullptr) svc::apply(*static_cast<svc::placement *>(placement), p);
        p.progress_callback_user_data = &task->state;
        p.progress_callback = [](float done, void * state) {
            static_cast<std::atomic<int32_t> *>(state)->store((int32_t) (done * 1000));
            return true;
        };
        load_task * raw = task.get();
        raw->thread = std::thread([raw, file = std::string(path), p] { raw->run(file, p); });
        return task.release();
    });
}

int32_t svc_load_state(void * load) {
    return load == nullptr ? -1 : static_cast<load_task *>(load)->state.load();
}

void * svc_load_finish(void * load) {
    return guard<void *>(nullptr, [&]() -> void * {
        std::unique_ptr<load_task> task(&need<load_task>(load, "load"));
        task->thread.join();
        if (task->model == nullptr) throw std::runtime_error(task->error);
        return task->model;
    });
}

void svc_model_free(void * model) {
    guard<int32_t>(-1, [&] {
        llama_model_free(&need<llama_model>(model, "model"));
        return 0;
    });
}

char * svc_model_info(void * handle) {
    return guard<char *>(nullptr, [&] {
        llama_model * model = &need<llama_model>(handle, "model");
        const llama_vocab * vocab = llama_model_get_vocab(model);
        char description[128] = "";
        llama_model_desc(model, description, sizeof(description));
        const std::string architecture = meta(model, "general.architecture");
        common_json out = common_json::object();
        out["description"] = std::string(description);
        out["architecture"] = architecture;
        out["name"] = meta(model, "general.name");
        out["size_bytes"] = (int64_t) llama_model_size(model);
        out["n_params"] = (int64_t) llama_model_n_params(model);
        out["n_ctx_train"] = llama_model_n_ctx_train(model);
        out["n_embd"] = llama_model_n_embd_out(model);
        out["n_layer"] = llama_model_n_layer(model);
        out["n_layer_nextn"] = llama_model_n_layer_nextn(model);
        out["n_head"] = llama_model_n_head(model);
        out["n_head_kv"] = llama_model_n_head_kv(model);
        const int32_t head = llama_model_n_embd(model) / std::max(1, llama_model_n_head(model));
        const std::string key = meta(model, (architecture + ".attention.key_length").c_str());
        const std::string value = meta(model, (architecture + ".attention.value_length").c_str());
        out["head_dim_k"] = key.empty() ? head : atoi(key.c_str());
        out["head_dim_v"] = value.empty() ? head : atoi(value.c_str());
        out["n_vocab"] = llama_vocab_n_tokens(vocab);
        out["n_swa"] = llama_model_n_swa(model);
        out["n_expert"] = atoi(meta(model, (architecture + ".expert_count").c_str()).c_str());
        out["n_expert_used"] = atoi(meta(model, (architecture + ".expert_used_count").c_str()).c_str());
        out["has_encoder"] = llama_model_has_encoder(model);
        out["has_decoder"] = llama_model_has_decoder(model);
        const std::string pooling = meta(model, (architecture + ".pooling_type").c_str());
        out["causal"] = meta(model, (architecture + ".attention.causal").c_str()) != "false";
        out["pooling"] = pooling.empty() ? -1 : atoi(pooling.c_str());
        out["recurrent"] = llama_model_is_recurrent(model);
        out["hybrid"] = llama_model_is_hybrid(model);
        out["has_chat_template"] = llama_model_chat_template(model, nullptr) != nullptr;
        out["add_bos"] = llama_vocab_get_add_bos(vocab);
        out["bos"] = token_text(vocab, llama_vocab_bos(vocab));
        out["eos"] = token_text(vocab, llama_vocab_eos(vocab));
        return svc::copy_text(out.dump_safe());
    });
}

int32_t svc_vocab_flags(void * handle, uint8_t * out, int32_t n) {
    return guard<int32_t>(-1, [&] {
        const llama_vocab * vocab = llama_model_get_vocab(&need<llama_model>(handle, "model"));
        const int32_t size = llama_vocab_n_tokens(vocab);
        for (int32_t i = 0; i < std::min(n, size); i++) {
            out[i] = (llama_vocab_is_eog(vocab, i) ? 1 : 0) | (llama_vocab_is_control(vocab, i) ? 2 : 0);
        }
        return size;
    });
}

int32_t svc_tokenize(void * handle, const char * text, int32_t len, int32_t * out, int32_t capacity, int32_t add_special,
    int32_t parse_special) {
    return guard<int32_t>(INT32_MIN, [&] {
        const llama_vocab * vocab = llama_model_get_vocab(&need<llama_model>(handle, "model"));
        return llama_tokenize(vocab, text, len, out, capacity, add_special != 0, parse_special != 0);
    });
}

int32_t svc_token_bytes(void * handle, int32_t token, int32_t special, uint8_t * out, int32_t capacity) {
    return guard<int32_t>(0, [&] {
        const llama_vocab * vocab = llama_model_get_vocab(&need<llama_model>(handle, "model"));
        if (token < 0 || token >= llama_vocab_n_tokens(vocab)) return 0;
        return llama_token_to_piece(vocab, token, reinterpret_cast<char *>(out), capacity, 0, special != 0);
    });
}
