// Kernel attention: blocked attention over a cache that sequences share, for AVX2, AVX-512 and NEON.
//
// Contract: computes GGML_OP_FLASH_ATTN_EXT with F32 queries, an optional mask shared by all heads, ALiBi slopes, logit soft-capping,
// sinks and several streams. Keys and values are F16, with head sizes that are multiples of a vector (4, 8 or 16), or of any types in
// blocks of at most 32 values (F32, BF16, Q8_0, Q4_0, ...), with head sizes that are multiples of 32; these are converted to F32.
// Scores, weights and sums are F32. A cell that the mask hides from all rows of a tile costs one bit test. A row's result depends on
// the cells visible to the rows of its tile, not on other sequences in the batch; rounding depends on how cells are divided among threads.
//
// With SVC_BATCH_INVARIANT and the positions of cells (`extra` of the mask, from the KV cache), rounding depends on the row's own
// positions only: cells are added in blocks of 32 positions and segments of 512, whatever the batch, the cells and the threads. A row
// that sees two cells of one position, as within an image, is computed as without the switch.
//
// Upstream computes one cell at a time with F16 sums for decode rows, and for tiles of queries all cells that any sequence has.
#pragma once

#include "ggml-cpu-impl.h"
#include "ggml.h"

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__F16C__) && defined(__FMA__)) || defined(__aarch64__)
#define SVC_ATTENTION

// Whether the kernel can compute this operation.
bool svc_attention_supported(const struct ggml_tensor * dst);

// Work memory in bytes. At least what upstream's reference path needs, which runs where params->use_ref is set.
size_t svc_attention_work_size(int n_threads, const struct ggml_tensor * dst);

void svc_attention(const struct ggml_compute_params * params, struct ggml_tensor * dst);

#endif
