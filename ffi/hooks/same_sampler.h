// Hook in the reuse of graphs: a row may belong to another sequence than in the graph's first pass where the sequence does not change the
// graph. What each sequence adds is its sampler's part.
#pragma once

#include "llama.h"

#include <map>

// Whether two sequences have chains of the same samplers: the same objects, not only the same kinds.
static inline bool svc_same_sampler(const std::map<llama_seq_id, llama_sampler *> & samplers, llama_seq_id a, llama_seq_id b) {
    if (a == b) return true;
    const auto of_a = samplers.find(a), of_b = samplers.find(b);
    if (of_a == samplers.end() || of_b == samplers.end()) return of_a == of_b;
    if (of_a->second == of_b->second) return true;
    for (int32_t i = 0;; i++) {
        const llama_sampler * sa = llama_sampler_chain_get(of_a->second, i);
        const llama_sampler * sb = llama_sampler_chain_get(of_b->second, i);
        if (sa == nullptr || sb == nullptr) return i > 0 && sa == sb;
        if (sa->iface != sb->iface || sa->ctx != sb->ctx) return false;
    }
}
