// Kernel recurrent: gated delta net and short convolutions over recurrent states, in place, for AVX2 and AVX-512.
//
// Upstream gathers the states of a batch's sequences with one thread, copies them into the operation's result and from there back into
// the cache; the convolution's window is gathered element by element by one thread. recurrent_nodes.h finds these nodes in a graph;
// the kernels below read a state where it lies and write it where it belongs.
//
// Contract: the same products and sums in the same order as upstream's operations at the same vector width, so results are equal bit
// for bit. A token's result does not depend on the batch, on other sequences or on the number of threads.
#pragma once

#include "ggml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ggml_compute_params;

#define SVC_STATE_SLOTS 8
#define SVC_STATE_SEQUENCES 64

// Where the states of a batch's sequences are, and where the new ones belong. A state may be replaced in its own place. Copies after
// one of the last tokens are slots: slot 0 has the state after the last token. A delta net has the state after `slot` tokens fewer there.
struct svc_states {
    const char * source;
    size_t source_row;  // bytes between states
    int32_t rows[SVC_STATE_SEQUENCES];  // index of each sequence's state. A copy: the tensor's memory may be used again
    bool in_order;  // sequence s's state has the index s, for any number of sequences
    char * target[SVC_STATE_SLOTS];
    size_t target_row[SVC_STATE_SLOTS];
    int window[SVC_STATE_SLOTS];  // of a convolution: the first column of the window that a slot keeps
    int slots;
};

// Whether the kernel computes this GGML_OP_GATED_DELTA_NET.
bool svc_delta_net_supported(const struct ggml_tensor * dst);

// `states` NULL: as the operation is defined, from its operand into its result.
void svc_delta_net(const struct ggml_compute_params * params, struct ggml_tensor * dst, const struct svc_states * states);

// Whether the kernel computes `conv`, a GGML_OP_SSM_CONV, whose operand is `window`, a GGML_OP_CONCAT of states and columns.
bool svc_conv_supported(const struct ggml_tensor * window, const struct ggml_tensor * conv);

// Updates the states and computes the convolution into the memory of `window`, which its columns are not written to: the memory of
// `conv` may still be another tensor's.
void svc_conv(const struct ggml_compute_params * params, struct ggml_tensor * window, const struct ggml_tensor * conv, const struct svc_states * states);

// Moves the convolution from the memory of `window` to that of `conv`, through SiLU if `silu`.
void svc_conv_finish(const struct ggml_compute_params * params, const struct ggml_tensor * window, struct ggml_tensor * conv, bool silu);

#ifdef __cplusplus
}
#endif
