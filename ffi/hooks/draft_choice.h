// Hook in the speculative library: lets the caller choose draft tokens from the logits of the draft model.
#pragma once

#include "llama.h"

namespace svc {

// Chooses the draft tokens of a thread while it exists.
class draft_chooser {
  public:
    draft_chooser();
    draft_chooser(const draft_chooser &) = delete;
    virtual ~draft_chooser();

    // Whether it chooses the next draft token of a sequence by the logits of this row; a negative token ends the draft.
    virtual bool choose(llama_seq_id sequence, llama_context * ctx, int32_t row, llama_token & token) = 0;

  private:
    draft_chooser * const outer;
};

// Replaces the likeliest token of a row by the chosen one, with a probability that continues or ends the draft.
void choose_draft_token(llama_seq_id sequence, llama_context * ctx, int32_t row, llama_token_data & likeliest);

}  // namespace svc
