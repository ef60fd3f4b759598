// LoRA adapters: loaded beside a model, selected for a context.

#include "guard.h"
#include "model.h"
#include "svc_llama.h"

using svc::guard;
using svc::need;

void * svc_adapter_load(void * model, const char * path) {
    return guard<void *>(nullptr, [&]() -> void * {
        llama_adapter_lora * adapter = llama_adapter_lora_init(&need<llama_model>(model, "model"), path);
        if (adapter == nullptr) throw std::runtime_error("the adapter could not be loaded: its tensors do not fit this model");
        return adapter;
    });
}

void svc_adapter_free(void * adapter) {
    guard<int32_t>(-1, [&] {
        llama_adapter_lora_free(&need<llama_adapter_lora>(adapter, "adapter"));
        return 0;
    });
}

int32_t svc_context_adapter(void * context, void * adapter) {
    return guard<int32_t>(-1, [&]() -> int32_t {
        svc::context & c = need<svc::context>(context, "context");
        auto * one = static_cast<llama_adapter_lora *>(adapter);
        float scale = 1.0f;
        return llama_set_adapters_lora(c.ctx, &one, one == nullptr ? 0 : 1, &scale);
    });
}
