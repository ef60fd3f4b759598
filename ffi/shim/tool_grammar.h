// The grammar of tool calls.
#pragma once

#include "llama.h"

#include <vector>

namespace svc {

// A grammar sampler for the tool calls that a rendered prompt allows; NULL if it allows none. If the template starts the
// grammar only at a marker, `recent` are the last tokens, with the marker among them.
llama_sampler * tool_grammar(const llama_vocab * vocab, void * rendered, const std::vector<llama_token> & recent);

}  // namespace svc
