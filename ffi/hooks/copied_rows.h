// Hook in llama.cpp's passes: whole rows of logits are copied, lists of them (ffi/shim/device_rows.cpp) or not, where a pass is computed in parts
// (micro-batches), since the device keeps the logits of the last part only, or in another order than that of its batch.
#pragma once

#include "llama.h"

#include <algorithm>

extern "C" {
// Of the last pass of this thread.
LLAMA_API bool svc_rows_are_copied(void);
}
