// Hooks in the CPU back end. kernels.cmake includes this file before ggml-cpu.c and ggml-cpu.cpp, whose calls of some upstream functions
// then pass through the macros below.
#pragma once

#include "memory_nodes.h"
#include "rms_norm.h"
#include "svc_kernels.h"

#include "iqp.h"
#include "llamafile/sgemm.h"
#include "ops.h"

// Whether upstream may compute several rows in another way than one.
static inline bool svc_rows_may_differ(void) { return !svc_batch_invariant(); }

#define ggml_cpu_iqp_supports_mul_mat(dst) (svc_rows_may_differ() && ggml_cpu_iqp_supports_mul_mat(dst))
#define ggml_cpu_iqp_supports_mul_mat_id(dst) (svc_rows_may_differ() && ggml_cpu_iqp_supports_mul_mat_id(dst))
#define llamafile_sgemm(...) (svc_rows_may_differ() && llamafile_sgemm(__VA_ARGS__))

#define ggml_compute_forward_rms_norm(params, dst) (svc_rms_norm(params, dst, NULL) ? (void) 0 : ggml_compute_forward_rms_norm(params, dst))
#define ggml_compute_forward_rms_norm_mul_fused(params, norm, dst) \
    (svc_rms_norm(params, norm, dst) ? (void) 0 : ggml_compute_forward_rms_norm_mul_fused(params, norm, dst))

#ifdef __cplusplus

#include "amx/amx.h"
#include "ggml-backend-impl.h"
#include "repack.h"

// Whether upstream's AMX buffer type must not be used beside ours.
static inline bool svc_replaces_amx() {
    bool replaces = false;
    svc_kernels_buffer_type(&replaces);
    return replaces;
}

// Moves products of one input next to each other: ggml_backend_i.graph_optimize.
void svc_group_products(ggml_backend_t backend, struct ggml_cgraph * graph, struct ggml_backend_graph_optimize_params * params);

// Our buffer type, if it is in use.
static inline ggml_backend_buffer_type_t svc_buffer_type() {
    bool ignored = false;
    return svc_kernels_buffer_type(&ignored);
}

#define ggml_backend_cpu_repack_buffer_type() (svc_rows_may_differ() ? ggml_backend_cpu_repack_buffer_type() : NULL)

// amx.h, which has no guard, declares the name once more.
#if defined(__AMX_INT8__) && defined(__AVX512VNNI__)
static inline ggml_backend_buffer_type_t svc_amx_buffer_type(void) { return svc_replaces_amx() ? NULL : ggml_backend_amx_buffer_type(); }
#define ggml_backend_amx_buffer_type svc_amx_buffer_type
#endif

#endif
