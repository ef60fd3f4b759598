// Where the parts of a model go: the result is the parameters of its load. Owned by the caller until svc_place_free.
#pragma once

#include "fit.h"
#include "llama-cpp.h"

#include "../src/llama-ext.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace svc {

// What the wanted layers would take of a device; `needs` is what the placed ones take.
struct wish {
    std::string device;
    int64_t bytes, cache, compute;
    int64_t least;  // with a cache of the fewest cells
    int64_t limit, most;  // it may take, and could take if no reserve were left
};

struct placement {
    std::thread thread;
    std::mutex mutex;
    std::condition_variable changed;
    int32_t state = 0;  // 1 placed, -1 failed; guarded by mutex, as what follows until it is not 0
    std::string error;

    llama_model_params params;  // refers to the members below
    common_device_memory_data_vec needs;  // of each device, the CPU last
    std::vector<ggml_backend_dev_t> devices;
    uint32_t n_layers = 0, n_trained = 0, n_experts = 0;
    bool fitted = false;
    std::vector<wish> wishes;  // of each device
    int32_t fitting = 0;  // the most layers that fit on devices; the output layer is one
    // The first device that holds a quantized cache without computing attention over it; the CPU would, after a copy of it for each pass.
    std::string without_attention;

    placement(const char * path, const int32_t * place, int32_t n_place, const float * shares, int32_t n_shares,
        const llama_context_params & context_params, const char * base);
    void run();
    // Layers on devices, with the output layer as one.
    int32_t device_layers() const;
    // Those of them whose experts, or a part of them, are on the CPU.
    int32_t divided_layers() const;

  private:
    std::string path, base;  // base: the file of the model that this one drafts for; empty if it drafts for none
    llama_context_params context;
    llama_model_ptr header;  // the model without its weights
    int32_t n_draft;  // most draft tokens of a draft model, or of the head in the file; 0 without either
    bool is_head;  // draft tokens are a head's
    int32_t layers;  // wanted on devices; -1: as many as fit
    int32_t experts;  // layers whose experts stay on the CPU; -1: all
    int32_t n_shares;
    int64_t reserve, most;  // bytes of each device: left free, held at most (0: all)
    std::vector<int64_t> others;  // bytes of other files on each of the library's devices
    std::vector<float> split;  // [llama_max_devices()]
    std::vector<llama_model_tensor_buft_override> rules;  // ended by an empty one
    std::vector<std::string> patterns;

    void keep_experts(int32_t n);
    void place();
    void check_attention();
    void remember_wishes();
    void measure_least();
    common_device_memory_data_vec with_rows(bool with_lists);
    void measure();
    void measure_head();
    void measure_draft();
    int64_t limit(size_t device, bool with_reserve = true) const;
    bool fits() const;
    bool fit();
    void search();
    void count_fitting();
    void stay_on_cpu();
};

// Adds where the parts go to the parameters of a load.
void apply(const placement & p, llama_model_params & load);

}  // namespace svc
