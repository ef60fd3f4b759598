// The grammar of tool calls.
#pragma once

#include "chat.h"
#include "llama.h"

#include <string>
#include <vector>

namespace svc {

// A grammar sampler for the tool calls that a rendered prompt allows; NULL if it allows none. If the template starts the
// grammar only at a marker, `recent` are the last tokens, with the marker among them.
llama_sampler * tool_grammar(const llama_vocab * vocab, const common_chat_params & params,
                             const std::vector<llama_token> & recent);

// What begins a tool call, as an expression; "" for triggers that are tokens.
std::string trigger_pattern(const common_grammar_trigger & trigger);

}  // namespace svc
