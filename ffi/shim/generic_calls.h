// Tool calls for models whose chat template has no format for them: see docs/tools.md.
#pragma once

#include "chat.h"
#include "json.h"

namespace svc {

// Replaces the parser of an answer by one that reads tool calls in the generic format as well:
//   <tool_call>
//   {"name": …, "arguments": {…}}
//   </tool_call>
// tools: as in the OpenAI API. The template does not receive them; the messages do.
void add_generic_calls(common_chat_params & params, const common_json & tools, common_chat_tool_choice choice);

}  // namespace svc
