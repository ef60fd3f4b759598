// Hook in ggml's scheduler: copies the inputs of a split from main memory to a card one behind the other, after one wait, where upstream
// waits before and after each of them, a dozen times a pass.
//
// Contract: add() has copied an input, or will have before the split is computed, and main memory may be written again once
// svc_wait_for_uploads() has returned, which has nothing to wait for but the copies. The scheduler calls it after each split but the last,
// since others on the CPU may follow, and before it deals out memory for another graph; llama.cpp before it writes inputs into the same one
// again. So a step whose results have been waited for has no second wait. Kinds of devices whose events say when the copies are done: CUDA's
// and AMD's, which copy and compute in one stream. Vulkan writes to memory that it shares with the host without any command. SVC_UPLOADS=all
// for tests, =off as upstream.
#pragma once

#include "upload_wait.h"

#include "ggml-backend-impl.h"
#include "ggml-backend.h"

#include <cstdlib>
#include <cstring>

class svc_uploads {
  public:
    // `event`: null where the scheduler has several copies of its inputs; made when it is needed first.
    svc_uploads(ggml_backend_t backend, ggml_backend_event_t * event) : backend(backend), event(event) {}

    bool add(ggml_backend_t from, ggml_tensor * input, ggml_tensor * copy) {
        if (event == nullptr || !ggml_backend_buffer_is_host(input->buffer)) return false;
        if (ggml_backend_buffer_get_usage(input->buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS) return false;
        if (!is_begun && !begin()) return false;
        if (from->iface.synchronize != nullptr) ggml_backend_synchronize(from);  // the CPU has computed it
        ggml_backend_tensor_set_async(backend, copy, input->data, 0, ggml_nbytes(input));
        return true;
    }

    // Before the split is begun. From now on `uploading` is waited for.
    void end(ggml_backend_event_t * uploading) {
        if (!is_begun) return;
        ggml_backend_event_record(*event, backend);
        *uploading = *event;
    }

  private:
    ggml_backend_t backend;
    ggml_backend_event_t * event;
    bool is_begun = false;

    // False: this device's inputs are copied as upstream does.
    bool begin() {
        ggml_backend_dev_t device = ggml_backend_get_device(backend);
        if (!copies_in_order(device)) event = nullptr;
        if (event != nullptr && *event == nullptr) *event = ggml_backend_event_new(device);
        if (event == nullptr || *event == nullptr) return false;
        ggml_backend_synchronize(backend);  // the pass before still reads the copies
        return is_begun = true;
    }

    static bool copies_in_order(ggml_backend_dev_t device) {
        if (device == nullptr || ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU) return false;
        ggml_backend_dev_props props;
        ggml_backend_dev_get_props(device, &props);
        if (!props.caps.async || !props.caps.events) return false;
        static const char * set = getenv("SVC_UPLOADS");
        if (set != nullptr) return strcmp(set, "all") == 0;
        const char * kind = ggml_backend_reg_name(ggml_backend_dev_backend_reg(device));
        return strcmp(kind, "CUDA") == 0 || strcmp(kind, "ROCm") == 0;
    }
};

inline void svc_wait_for(ggml_backend_event_t * uploading) {
    if (*uploading != nullptr) ggml_backend_event_synchronize(*uploading);
    *uploading = nullptr;
}
