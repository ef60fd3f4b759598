// Computes the graphs of stable-diffusion.cpp (prebuilt/patches/image/graphs.patch).
#pragma once

#include "ggml-backend.h"

// In place of ggml_backend_graph_compute: ends soon after svc_image_is_cancelled(), with GGML_STATUS_ABORTED. Throws for an operation
// that the device does not have.
enum ggml_status svc_graph_compute(ggml_backend_t backend, struct ggml_cgraph * graph);

// Whether the job that runs has been cancelled.
bool svc_image_is_cancelled();
