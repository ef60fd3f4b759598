// Implements svc_image.h.

#include "svc_image.h"

#include "../shim/guard.h"
#include "graph.h"

#include "ggml.h"
#include "stable-diffusion.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

using svc::guard;
using svc::need;

namespace {

std::atomic<int> verbosity{0};
std::atomic<bool> broken{false};
std::mutex log_mutex;
std::string log_error;  // the library says why something failed through its log only
std::string log_family;

// Set while the library works for us on this thread: only there can an exception find its way out.
thread_local bool inside = false;

struct failed_assertion : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// In place of abort(): unwinds through the library to the start of the work, where that is possible.
void on_assertion(const char * message) {
    broken = true;
    if (inside) throw failed_assertion(std::string("the library gave up: ") + message);
    fprintf(stderr, "%s\n", message);
}

void on_log(sd_log_level_t level, const char * text, void *) {
    if (svc_image_is_cancelled()) return;  // a cancelled job logs that it could not go on
    std::string line = text;
    const auto place = line.find(" - ");  // the library begins with its source file and line
    if (place != std::string::npos && place < 40) line.erase(0, place + 3);
    while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
    std::lock_guard<std::mutex> lock(log_mutex);
    if (level == SD_LOG_ERROR && log_error.empty()) log_error = line;  // what follows the first only reports that it failed
    const auto version = line.find("Version: ");
    if (level == SD_LOG_INFO && version != std::string::npos) log_family = line.substr(version + 9);
    const int needed = level >= SD_LOG_WARN ? 1 : level == SD_LOG_INFO ? 2 : 3;
    // Prompts are private: the library logs them at "debug", and they are never shown.
    if (verbosity.load() >= needed && level != SD_LOG_DEBUG) fprintf(stderr, "%s\n", line.c_str());
}

std::string take(std::string & from) {
    std::lock_guard<std::mutex> lock(log_mutex);
    std::string text;
    text.swap(from);
    return text;
}

struct model_t {
    sd_ctx_t * context = nullptr;
    std::string family;
    bool is_on_device = false;
    ~model_t() {
        if (context != nullptr) free_sd_ctx(context);
    }
};

// Work of the library on a thread of its own. `finish` must have been called before it is destroyed.
struct work_t {
    std::thread thread;
    std::atomic<int32_t> state{0};
    std::string error;

    template <typename F> void start(F && body) {
        thread = std::thread([this, body]() {
            inside = true;
            take(log_error);
            int32_t outcome = -1;
            try {
                outcome = body();
                if (outcome < 0) error = take(log_error);
            } catch (const std::exception & e) {
                error = e.what();
            } catch (...) {
                error = "an unknown error was raised in native code";
            }
            if (outcome < 0 && error.empty()) error = "the library does not say why";
            inside = false;
            state.store(outcome);
        });
    }

    void finish() {
        if (thread.joinable()) thread.join();
    }
};

struct load_t : work_t {
    std::string paths[7];
    int32_t threads = 1;
    std::string device;  // empty: the CPU
    int64_t budget = 0;
    std::unique_ptr<model_t> model;
    std::atomic<int32_t> permille{0};
};

struct job_t : work_t {
    std::string prompt;
    int32_t steps = 0;
    std::atomic<int32_t> step{0};
    std::atomic<bool> cancelled{false};
    bool measures = false;
    int64_t bytes = 0;  // of the largest graph
    sd_image_t * image = nullptr;
    ~job_t() {
        if (image != nullptr) free_sd_images(image, 1);
    }
};

// One piece of work at a time, so that the library's global callbacks know which it is.
std::atomic<load_t *> loading{nullptr};
std::atomic<job_t *> running{nullptr};

void on_progress(int step, int steps, float, void *) {
    if (load_t * load = loading.load()) {
        if (steps > 0) load->permille.store(static_cast<int32_t>(1000.0 * step / steps));
    } else if (job_t * job = running.load()) {
        // The decoder reports its tiles the same way; their number equals that of the steps only by chance.
        if (steps == job->steps && step > job->step.load()) job->step.store(step);
    }
}

// A tiny autoencoder differs from a full one by the names of its tensors, in the header of a safetensors file.
bool is_tiny_autoencoder(const std::string & path) {
    std::ifstream file(path, std::ios::binary);
    uint64_t bytes = 0;
    if (!file.read(reinterpret_cast<char *>(&bytes), sizeof(bytes)) || bytes > 100'000'000) return false;
    std::string header(bytes, '\0');
    if (!file.read(&header[0], static_cast<std::streamsize>(bytes))) return false;
    return header.find("\"decoder.layers.") != std::string::npos;
}

int32_t load_model(load_t & load) {
    sd_ctx_params_t params;
    sd_ctx_params_init(&params);
    const bool is_tiny = !load.paths[2].empty() && is_tiny_autoencoder(load.paths[2]);
    const char ** slots[7] = {&params.model_path, &params.diffusion_model_path, is_tiny ? &params.taesd_path : &params.vae_path,
                              &params.clip_l_path, &params.clip_g_path, &params.t5xxl_path, &params.llm_path};
    for (int i = 0; i < 7; i++) {
        if (!load.paths[i].empty()) *slots[i] = load.paths[i].c_str();
    }
    params.n_threads = load.threads;
    params.enable_mmap = true;
    params.backend = load.device.empty() ? "cpu" : load.device.c_str();
    // Without it attention takes memory with the square of the pixels. The library asks the device whether it has it.
    params.diffusion_flash_attn = !load.device.empty();
    if (load.budget > 0) {
        params.params_backend = "cpu";
        params.max_vram = static_cast<float>(load.budget) / (1024.0F * 1024.0F * 1024.0F);
    }
    loading.store(&load);
    std::unique_ptr<model_t> model(new model_t());
    try {
        model->context = new_sd_ctx(&params);
    } catch (...) {
        loading.store(nullptr);
        throw;
    }
    loading.store(nullptr);
    model->family = take(log_family);
    model->is_on_device = !load.device.empty();
    if (model->context == nullptr) return -1;
    if (!sd_ctx_supports_image_generation(model->context)) {
        throw std::runtime_error("this model generates no images (" + model->family + ")");
    }
    load.model = std::move(model);
    return 1001;
}

int32_t generate(job_t & job, const model_t & model, const sd_img_gen_params_t & params) {
    running.store(&job);
    try {
        job.image = generate_image(model.context, &params);
    } catch (...) {
        running.store(nullptr);
        // An encoder that was cancelled fails an assertion of its caller. Everything on the way is freed as it unwinds.
        if (job.cancelled.load()) {
            broken = false;
            return 2;
        }
        if (model.is_on_device && !job.measures) broken = true;  // after an error of its driver it computes nothing right
        throw;
    }
    running.store(nullptr);
    if (job.cancelled.load()) return 2;
    return job.image != nullptr && job.image->data != nullptr ? 1 : -1;
}

}  // namespace

bool svc_image_is_cancelled() {
    job_t * job = running.load();
    return job != nullptr && job->cancelled.load();
}

bool svc_image_measures() {
    job_t * job = running.load();
    return job != nullptr && job->measures;
}

void svc_graph_note(size_t bytes) {
    if (job_t * job = running.load()) job->bytes = std::max(job->bytes, static_cast<int64_t>(bytes));
}

extern "C" {

const char * svc_image_abi_hash(void) { return SVC_ABI_HASH; }

const char * svc_image_last_error(void) { return svc::last_error().c_str(); }

int32_t svc_image_init(int32_t level) {
    return guard<int32_t>(-1, [&] {
        verbosity = level;
        if (ggml_backend_reg_by_name("CPU") == nullptr) throw std::runtime_error("no CPU back end has been loaded");
        ggml_set_abort_callback(on_assertion);
        sd_set_log_callback(on_log, nullptr);
        sd_set_progress_callback(on_progress, nullptr);
        return 0;
    });
}

int32_t svc_image_selftest_throw(int32_t kind) {
    return guard<int32_t>(-1, [&]() -> int32_t {
        if (kind == 0) throw std::runtime_error("selftest");
        if (kind == 1) throw 1;
        inside = true;
        struct leave { ~leave() { inside = false; } } leave;
        GGML_ASSERT(kind < 2 && "selftest");
        return -1;
    });
}

int32_t svc_image_is_broken(void) { return broken.load() ? 1 : 0; }

void * svc_image_load_begin(const char * model, const char * diffusion, const char * vae, const char * clip_l,
                            const char * clip_g, const char * t5xxl, const char * llm, int32_t threads, const char * device,
                            int64_t budget) {
    return guard<void *>(nullptr, [&]() -> void * {
        const char * given[7] = {model, diffusion, vae, clip_l, clip_g, t5xxl, llm};
        if (model == nullptr && diffusion == nullptr) throw std::invalid_argument("no weights were given");
        std::unique_ptr<load_t> load(new load_t());
        for (int i = 0; i < 7; i++) {
            if (given[i] != nullptr) load->paths[i] = given[i];
        }
        load->threads = threads > 0 ? threads : 1;
        load->device = device == nullptr ? "" : device;
        load->budget = budget;
        load_t * raw = load.get();
        raw->start([raw] { return load_model(*raw); });
        return load.release();
    });
}

int32_t svc_image_load_state(void * handle) {
    return guard<int32_t>(-1, [&] {
        load_t & load = need<load_t>(handle, "load");
        const int32_t state = load.state.load();
        return state == 0 ? load.permille.load() : state;
    });
}

void * svc_image_load_finish(void * handle) {
    return guard<void *>(nullptr, [&]() -> void * {
        std::unique_ptr<load_t> load(&need<load_t>(handle, "load"));
        load->finish();
        if (load->state.load() < 0) throw std::runtime_error(load->error);
        return load->model.release();
    });
}

void svc_image_model_free(void * model) {
    guard<int>(0, [&] {
        delete static_cast<model_t *>(model);
        return 0;
    });
}

const char * svc_image_model_family(void * model) {
    return guard<const char *>("", [&] { return need<model_t>(model, "model").family.c_str(); });
}

void * svc_image_job_begin(void * handle, const char * prompt, const int32_t * columns, int32_t n, float guidance,
                            int64_t seed) {
    return guard<void *>(nullptr, [&]() -> void * {
        const model_t & model = need<model_t>(handle, "model");
        if (prompt == nullptr) throw std::invalid_argument("no prompt was given");
        if (running.load() != nullptr) throw std::invalid_argument("another image is being generated");
        std::unique_ptr<job_t> job(new job_t());
        job->prompt = prompt;
        sd_img_gen_params_t params;
        sd_img_gen_params_init(&params);
        params.prompt = job->prompt.c_str();
        params.negative_prompt = "";
        params.width = svc::column(columns, n, 0, 0);
        params.height = svc::column(columns, n, 1, 0);
        params.sample_params.sample_steps = svc::column(columns, n, 2, 0);
        if (params.width <= 0 || params.height <= 0 || params.sample_params.sample_steps <= 0) {
            throw std::invalid_argument("width, height and steps must be above 0");
        }
        job->steps = params.sample_params.sample_steps;
        params.sample_params.guidance.txt_cfg = guidance;
        params.vae_tiling_params.enabled = svc::column(columns, n, 3, 0) != 0;
        params.seed = seed;
        job->measures = svc::column(columns, n, 4, 0) != 0;
        job_t * raw = job.get();
        raw->start([raw, &model, params] { return generate(*raw, model, params); });
        return job.release();
    });
}

int32_t svc_image_job_state(void * job) {
    return guard<int32_t>(-1, [&] { return need<job_t>(job, "image job").state.load(); });
}

int32_t svc_image_job_progress(void * job) {
    return guard<int32_t>(-1, [&] { return need<job_t>(job, "image job").step.load(); });
}

void svc_image_job_cancel(void * job) {
    guard<int>(0, [&] {
        need<job_t>(job, "image job").cancelled.store(true);
        return 0;
    });
}

int64_t svc_image_job_bytes(void * handle) {
    return guard<int64_t>(-1, [&] {
        const job_t & job = need<job_t>(handle, "image job");
        if (job.state.load() != 1) throw std::invalid_argument("the job is not finished");
        return job.bytes;
    });
}

int32_t svc_image_job_size(void * handle, int32_t which) {
    return guard<int32_t>(-1, [&] {
        const job_t & job = need<job_t>(handle, "image job");
        if (job.state.load() != 1) throw std::invalid_argument("the image is not finished");
        const uint32_t sizes[3] = {job.image->width, job.image->height, job.image->channel};
        if (which < 0 || which > 2) throw std::invalid_argument("there are three sizes");
        return static_cast<int32_t>(sizes[which]);
    });
}

int32_t svc_image_job_pixels(void * handle, uint8_t * out, int32_t n) {
    return guard<int32_t>(-1, [&] {
        const job_t & job = need<job_t>(handle, "image job");
        if (job.state.load() != 1) throw std::invalid_argument("the image is not finished");
        const uint64_t bytes = uint64_t(job.image->width) * job.image->height * job.image->channel;
        if (n < 0 || uint64_t(n) != bytes) throw std::invalid_argument("the image has another size");
        memcpy(out, job.image->data, bytes);
        return 0;
    });
}

const char * svc_image_job_error(void * job) {
    return guard<const char *>("", [&] {
        job_t & one = need<job_t>(job, "image job");
        return one.state.load() < 0 ? one.error.c_str() : "";
    });
}

void svc_image_job_free(void * handle) {
    guard<int>(0, [&] {
        std::unique_ptr<job_t> job(&need<job_t>(handle, "image job"));
        job->finish();
        return 0;
    });
}

}  // extern "C"
