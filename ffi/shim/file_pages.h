// Pages of a model file that nothing reads after loading.
#pragma once

#include "llama.h"

#include <cstddef>

namespace svc {

// Drops this process's pages of a loaded model's file except those of tensors that are used in place: the kernels' packed weights and
// devices have copies of the others, but llama.cpp keeps mapped all between the first and the last tensor that is used in place.
// The system can still have them in its cache of the file. Returns the bytes.
size_t release_file_pages(const llama_model * model);

}  // namespace svc
