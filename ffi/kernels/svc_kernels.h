// Interface between ggml and our CPU kernels, and the switch that selects kernels at run time.
//
//   SVC_KERNELS          unset or empty: all kernels; "off": upstream's code everywhere; otherwise a comma-separated list of kernels,
//                        or of those to leave out, after a "-"
//   SVC_BATCH_INVARIANT  "1": a row's result does not depend on the other rows of a batch, on cells or on threads. Attention adds cells
//                        by position; of upstream's code, what computes several rows in another way than one is not used.
//   SVC_MEMORY_NODES     memory_nodes.h
//
// Kernels: packed-gemm (packed_gemm.h); packed-grids, packed-gemm for types whose packed weights are larger than the file's; attention
// (attention.h), small-nodes (small_nodes.h), product-groups (product_groups.h), recurrent (recurrent.h), rms-norm (rms_norm.h), zero-pages
// (zero_pages.h).
// ggml-base and each CPU variant contain a copy of this switch; all read the same environment.
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// Whether SVC_KERNELS selects the kernel `name`.
static inline bool svc_kernel_enabled(const char * name) {
    const char * list = getenv("SVC_KERNELS");
    if (list == NULL || *list == '\0') return true;
    const bool leaves_out = *list == '-';
    if (leaves_out) ++list;
    const size_t length = strlen(name);
    for (const char * item = list; item != NULL; item = strchr(item, ',')) {
        item += *item == ',';
        if (strncmp(item, name, length) == 0 && (item[length] == ',' || item[length] == '\0')) return !leaves_out;
    }
    return leaves_out;
}

// Whether SVC_BATCH_INVARIANT is set. Read once.
static inline bool svc_batch_invariant(void) {
    static int known = -1;
    if (known < 0) {
        const char * value = getenv("SVC_BATCH_INVARIANT");
        known = value != NULL && strcmp(value, "1") == 0;
    }
    return known == 1;
}

// The buffer type through which ggml reaches the kernels packed-gemm and attention; NULL where this CPU variant has neither or
// SVC_KERNELS selects neither. `*replaces_amx`: upstream's AMX buffer type must not be used beside it.
struct ggml_backend_buffer_type * svc_kernels_buffer_type(bool * replaces_amx);

#ifdef __cplusplus
}
#endif
