// Waits until the copies of the last pass's inputs no longer read main memory (uploads.h): before it is written again. Returns at once where the
// device has been waited for since.
#pragma once

#include "ggml-backend.h"

extern "C" {
GGML_API void svc_wait_for_uploads(ggml_backend_sched_t sched);
}
