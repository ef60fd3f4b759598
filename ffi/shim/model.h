// What the shim's files share about llama.cpp's types.
#pragma once

#include "llama.h"

#include <vector>

namespace svc {

// A context together with the columns llama_decode wants and JavaScript does not keep.
struct context {
    llama_model * model = nullptr;
    llama_context * ctx = nullptr;
    std::vector<int32_t> n_seq_id;         // [n_batch], all 1
    std::vector<llama_seq_id *> seq_id;    // [n_batch], each points into the caller's sequence column
    int32_t n_threads = 1;
};

}  // namespace svc
