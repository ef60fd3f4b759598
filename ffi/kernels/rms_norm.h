// Kernel rms-norm: RMS norms of several rows at once, for AVX2 and AVX-512.
//
// Upstream adds up a row's squares one by one in double precision, each after the one before it: four cycles a value. The kernel does
// so for eight rows side by side.
//
// Contract: the same sums in the same order as upstream's, so results are equal bit for bit. A row does not depend on others.
#pragma once

#include "ggml.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ggml_compute_params;

// Computes the GGML_OP_RMS_NORM `norm`, and its product with a row of weights into `product` unless that is NULL. False, with nothing
// done: upstream's code is needed, or as good.
bool svc_rms_norm(const struct ggml_compute_params * params, struct ggml_tensor * norm, struct ggml_tensor * product);

#ifdef __cplusplus
}
#endif
