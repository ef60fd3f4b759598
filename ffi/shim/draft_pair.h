// Whether a draft model fits the model that it drafts for, and what it reads of it. llama.cpp finds that out by assertions, which end
// the process.
#pragma once

#include "common.h"
#include "llama.h"

namespace svc {

enum class draft_kind {
    plain,  // a model with the same vocabulary
    head,  // predicts the token after the next, from the model's last layer
    eagle3,  // one layer over inputs of three of the model's layers, a token at a time
    dflash,  // a block of tokens at once, from inputs of the model's layers
    dspark,  // the same with a Markov head
};

// Those made for a model whose layers they read.
inline bool is_block(draft_kind kind) {
    return kind == draft_kind::eagle3 || kind == draft_kind::dflash || kind == draft_kind::dspark;
}

draft_kind kind_of(const llama_model * model, const llama_model * draft);
common_speculative_type type_of(draft_kind kind);
// Throws with the reason where the two do not fit.
void check_pair(const llama_model * model, const llama_model * draft, draft_kind kind);
// Whether it says how sure it is of a token.
bool has_probabilities(const llama_model * draft, draft_kind kind);
// Has the context of the model hand out what the draft model reads of its layers, for all rows of a prompt.
void read_layers(llama_context * ctx, const llama_model * draft, draft_kind kind, bool on);

}  // namespace svc
