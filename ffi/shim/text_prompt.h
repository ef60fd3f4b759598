// Prompts without a chat template: plain text, a gap to fill, a document to rank.
#pragma once

#include "json.h"
#include "llama.h"

#include <vector>

namespace svc {

// Tokens of a request with `prompt` (see svc_render_begin). Text of the caller never becomes a control token of a gap or a pair.
// Throws when the model lacks the tokens that the request needs.
std::vector<llama_token> text_prompt(const llama_model * model, const common_json & request);

}  // namespace svc
