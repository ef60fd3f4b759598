#include "generic_calls.h"

#include "chat-peg-parser.h"

void svc::add_generic_calls(common_chat_params & params, const common_json & tools, common_chat_tool_choice choice) {
    const std::string open = "<tool_call>", close = "</tool_call>";
    const std::string think_start = params.thinking_start_tag;
    const std::string think_end = params.thinking_end_tags.empty() ? "" : params.thinking_end_tags.front();
    const bool must = choice == COMMON_CHAT_TOOL_CHOICE_REQUIRED;
    const auto parser = build_chat_peg_parser([&](common_chat_peg_builder & p) {
        auto reasoning = p.eps();
        if (!think_start.empty() && !think_end.empty()) {
            reasoning = p.optional(p.optspace(think_start) + p.reasoning(p.until(think_end)) + p.optspace(think_end));
        }
        auto call = p.standard_json_tools(open, close, tools, /* parallel_tool_calls = */ false,
            /* force_tool_calls = */ true);
        auto calls = p.trigger_rule("tool-calls", p.one_or_more(call + p.space()));
        return (p.prefix(params.generation_prompt, think_start) << reasoning) + p.space() +
            p.optional(p.content(p.until(open))) + (must ? calls : p.optional(calls)) + p.end();
    });
    params.parser = parser.save();
    params.grammar_triggers = {{COMMON_GRAMMAR_TRIGGER_TYPE_WORD, open, LLAMA_TOKEN_NULL}};
    params.preserved_tokens.push_back(open);
    params.preserved_tokens.push_back(close);
}
