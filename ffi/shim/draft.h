// Keeps the memory of a draft model equal to that of its context. A failure costs draft tokens, never an answer.
#pragma once

#include "model.h"

namespace svc {

// Lets it compute what its context has just computed; rows of a sequence stand together.
void draft_compute(draft & d, llama_context * of_model, const llama_batch & batch);

void draft_remove(draft & d, llama_seq_id sequence, llama_pos from, llama_pos to);
void draft_copy(draft & d, llama_seq_id source, llama_seq_id target, llama_pos from, llama_pos to);
void draft_clear(draft & d);
// Its cells of a sequence as bytes; none where it reads those of the model. What does not fit is left out: the draft model begins with the next rows then.
size_t draft_state_size(draft & d, llama_seq_id sequence);
size_t draft_state_get(draft & d, llama_seq_id sequence, uint8_t * out, size_t capacity);
void draft_state_set(draft & d, llama_seq_id sequence, const uint8_t * data, size_t size);
// The context of its model; NULL without one.
const llama_context * draft_context_of(const context & c);
// Parameters of its context, from those of the context it drafts for. is_head: it is a head that predicts several tokens.
llama_context_params draft_params(llama_context_params of_model, bool is_head, int32_t n_max);
void draft_threads(draft & d, int32_t n_threads, int32_t n_threads_batch);

}  // namespace svc
