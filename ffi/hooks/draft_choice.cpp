// Lets the caller choose draft tokens.

#include "draft_choice.h"

namespace {

thread_local svc::draft_chooser * current = nullptr;

}  // namespace

svc::draft_chooser::draft_chooser() : outer(current) { current = this; }

svc::draft_chooser::~draft_chooser() { current = outer; }

void svc::choose_draft_token(llama_seq_id sequence, llama_context * ctx, int32_t row, llama_token_data & likeliest) {
    if (current != nullptr && current->choose(sequence, ctx, row, likeliest.id)) likeliest.p = likeliest.id < 0 ? -1.0f : 1.0f;
}
