// Pages of a model file that nothing reads after loading.
#pragma once

#include "llama.h"

#include <cstddef>

namespace svc {

// Drops this process's pages of a loaded model's file except those of tensors that passes read in place: the kernels' packed weights and
// devices have copies of the others, and of the tables of tokens a pass reads few rows. llama.cpp keeps mapped all between the first and
// the last tensor that is used in place. The system can still have dropped pages in its cache of the file. Returns the bytes.
size_t release_file_pages(const llama_model * model);

}  // namespace svc
