// Computes the graphs of stable-diffusion.cpp (prebuilt/patches/image/graphs.patch).
#pragma once

#include "ggml-backend.h"

// In place of ggml_backend_graph_compute: ends soon after svc_image_is_cancelled(), with GGML_STATUS_ABORTED. Throws for an operation
// that the device does not have.
enum ggml_status svc_graph_compute(ggml_backend_t backend, struct ggml_cgraph * graph);

// Whether the job that runs is to be measured alone: then the buffer that the graph needs is noted. Tensors that are not of `inputs` count as
// weights, which have memory of their own.
bool svc_graph_measure(ggml_backend_t backend, struct ggml_context * inputs, struct ggml_cgraph * graph);

// Notes the buffer of a graph that is about to be computed, bytes.
void svc_graph_note(size_t bytes);

// Whether the job that runs measures.
bool svc_image_measures();

// Whether the job that runs has been cancelled.
bool svc_image_is_cancelled();
