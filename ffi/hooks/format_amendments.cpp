#include "format_amendments.h"

#include "chat-peg-parser.h"

#include <algorithm>
#include <array>
#include <optional>

using autoparser::generation_params;
using autoparser::reasoning_mode;
using autoparser::tool_format;

namespace {

// Names that no template has.
const std::string FUNCTION = "lookup_q7x", ARGUMENT = "place_q7x", VALUE = "Zq7x", TEXT = "Saidq7x.";

std::string trimmed(const std::string & text) {
    const char * const blank = " \t\r\n";
    const size_t from = text.find_first_not_of(blank);
    return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(blank) - from + 1);
}

bool ends_with(const std::string & text, const std::string & end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// The tag at the end of a text; none: empty.
std::string last_tag(const std::string & text) {
    if (text.empty() || text.back() != '>') return "";
    const size_t open = text.find_last_of("<>", text.size() - 2);
    return open == std::string::npos || text[open] != '<' ? "" : text.substr(open);
}

// The tag at the beginning of a text; none: empty.
std::string first_tag(const std::string & text) {
    if (text.empty() || text[0] != '<') return "";
    const size_t close = text.find_first_of("<>", 1);
    return close == std::string::npos || text[close] != '>' ? "" : text.substr(0, close + 1);
}

common_json message(const std::string & role, const std::string & content) { return common_json{{"role", role}, {"content", content}}; }

// What the template makes of a conversation; none if it refuses it.
std::optional<std::string> rendered(const common_chat_template & tmpl, const generation_params & inputs) {
    try {
        return common_chat_template_direct_apply(tmpl, inputs);
    } catch (const std::exception &) {
        return std::nullopt;
    }
}

// A question, answered by calls with some text beside them.
std::optional<std::string> rendered_calls(const common_chat_template & tmpl, const std::string & text, int count) {
    const auto called = common_json{{"name", FUNCTION}, {"arguments", common_json{{ARGUMENT, VALUE}}}};
    common_json answer = message("assistant", text), calls = common_json::array(), tools = common_json::array();
    for (int i = 1; i <= count; i++) calls.push_back(common_json{{"id", "call0000" + std::to_string(i)}, {"type", "function"}, {"function", called}});
    answer["tool_calls"] = calls;
    const auto parameters = common_json{{"type", "object"}, {"properties", common_json{{ARGUMENT, common_json{{"type", "string"}}}}}};
    tools.push_back(common_json{{"type", "function"}, {"function", common_json{{"name", FUNCTION}, {"description", ""}, {"parameters", parameters}}}});
    generation_params inputs;
    inputs.messages = common_json::array();
    inputs.messages.push_back(message("user", "Hello"));
    inputs.messages.push_back(answer);
    inputs.tools = tools;
    return rendered(tmpl, inputs);
}

void preserve(autoparser::autoparser & format, const std::string & tag) {
    auto & all = format.preserved_tokens;
    if (std::find(all.begin(), all.end(), tag) == all.end()) all.push_back(tag);
}

// How the template begins an answer.
std::optional<std::string> begun_answer(const common_chat_template & tmpl, bool thinks) {
    generation_params inputs;
    inputs.messages = common_json::array();
    inputs.messages.push_back(message("user", "Hello"));
    inputs.add_generation_prompt = true;
    inputs.enable_thinking = thinks;
    return rendered(tmpl, inputs);
}

// A template that begins an answer with `<think>` if the model is to think, else with an empty block, has these tags.
void find_reasoning(autoparser::autoparser & format, const common_chat_template & tmpl) {
    if (format.reasoning.mode != reasoning_mode::NONE) return;
    const auto on = begun_answer(tmpl, true), off = begun_answer(tmpl, false);
    if (!on || !off || *on == *off) return;
    const std::string open = trimmed(*on), closed = trimmed(*off);
    const std::string start = last_tag(open), end = last_tag(closed);
    if (start.empty() || end.empty() || start == end || trimmed(closed.substr(0, closed.size() - end.size())) != open) return;
    format.reasoning.mode = reasoning_mode::TAG_BASED;
    format.reasoning.start = start;
    format.reasoning.end = end;
    preserve(format, start);
    preserve(format, end);
}

// A marker of calls that begins with the tags around thinking or around the text beside them, which were empty.
void drop_empty_text(autoparser::autoparser & format, const common_chat_template & tmpl) {
    auto & tools = format.tools.format;
    std::string & marker = tools.section_start.empty() ? tools.per_call_start : tools.section_start;
    const std::string all = trimmed(marker), open = first_tag(all);
    const std::string close = open.empty() ? "" : first_tag(trimmed(all.substr(open.size())));
    if (close.empty()) return;
    const auto holds_text = [&] {
        const auto shown = rendered_calls(tmpl, TEXT, 1);
        const size_t at = shown ? shown->find(TEXT) : std::string::npos;
        return at != std::string::npos && ends_with(trimmed(shown->substr(0, at)), open) &&
            trimmed(shown->substr(at + TEXT.size())).compare(0, close.size(), close) == 0;
    };
    const bool thinks = open == trimmed(format.reasoning.start) && close == trimmed(format.reasoning.end);
    if (!thinks && !holds_text()) return;
    auto & kept = format.preserved_tokens;
    kept.erase(std::remove(kept.begin(), kept.end(), all), kept.end());
    marker = trimmed(trimmed(all.substr(open.size())).substr(close.size()));
    if (!marker.empty()) preserve(format, marker);
}

// Whether a part of the format has words of the calls from which it was derived, which no model writes.
bool has_samples(const autoparser::autoparser & format) {
    const auto & t = format.tools.format;
    const auto & f = format.tools.function;
    const auto & a = format.tools.arguments;
    const std::array<const std::string *, 15> parts = {&t.section_start, &t.section_end, &t.per_call_start, &t.per_call_end, &f.name_prefix, &f.name_suffix,
        &f.args_separator, &f.close, &a.start, &a.end, &a.name_prefix, &a.name_suffix, &a.value_prefix, &a.value_suffix, &a.separator};
    return std::any_of(parts.begin(), parts.end(), [](const std::string * part) {
        return part->find("FFF_FIRST") != std::string::npos || part->find("AA_ARG") != std::string::npos || part->find("XXXX") != std::string::npos;
    });
}

// Calls as in Python between tags; else none that svc knows.
void find_python_calls(autoparser::autoparser & format, const common_chat_template & tmpl) {
    if (format.tools.format.mode == tool_format::NONE || !has_samples(format)) return;
    format.tools = autoparser::analyze_tools();
    const auto shown = rendered_calls(tmpl, "", 1);
    const size_t at = shown ? shown->rfind(FUNCTION + "(" + ARGUMENT + "=") : std::string::npos;
    const size_t end = at == std::string::npos ? at : shown->find(')', at);
    std::string before = at == std::string::npos ? "" : trimmed(shown->substr(0, at));
    const std::string after = end == std::string::npos ? "" : trimmed(shown->substr(end + 1));
    const bool listed = !before.empty() && before.back() == '[' && !after.empty() && after[0] == ']';
    if (listed) before = trimmed(before.substr(0, before.size() - 1));
    const std::string open = last_tag(before), close = first_tag(listed ? trimmed(after.substr(1)) : after);
    const auto begun = begun_answer(tmpl, true);
    if (open.empty() || close.empty() || !begun || ends_with(trimmed(*begun), open)) {  // no marker of calls
        format.jinja_caps.supports_tool_calls = false;
        return;
    }
    auto & tools = format.tools;
    tools.format.mode = tool_format::TAG_WITH_TAGGED;
    tools.format.section_start = open;
    tools.format.section_end = close;
    tools.format.tools_array_wrapped = listed;
    tools.function.name_suffix = "(";
    tools.function.close = ")";
    tools.arguments.name_suffix = "=";
    preserve(format, open);
    preserve(format, close);
}

// Calls of one section that blanks part, where the chat library expects a comma.
void find_gaps(autoparser::autoparser & format, const common_chat_template & tmpl) {
    auto & t = format.tools;
    const bool one_section = !t.format.section_start.empty() && !t.format.section_end.empty() && t.format.per_call_start.empty();
    if (t.format.mode != tool_format::TAG_WITH_TAGGED && t.format.mode != tool_format::TAG_WITH_JSON) return;
    const std::string open = t.function.name_prefix, close = trimmed(t.function.close);
    if (!one_section || first_tag(open + ">").empty() || close.empty()) return;
    const auto shown = rendered_calls(tmpl, "", 2);
    const size_t second = shown ? shown->rfind(open + FUNCTION) : std::string::npos;
    if (second == std::string::npos || !ends_with(trimmed(shown->substr(0, second)), close)) return;
    t.format.per_call_start = open;
    t.function.name_prefix.clear();
    t.function.close = close;
}

// The marker after the id of a call, found after the name as well.
void find_repeated_marker(autoparser::analyze_tools & tools) {
    const std::string marker = trimmed(tools.call_id.suffix.empty() ? tools.arguments.start : tools.call_id.suffix);
    if (tools.call_id.pos != autoparser::call_id_position::BETWEEN_FUNC_AND_ARGS || marker.empty()) return;
    for (std::string * const part : {&tools.function.name_suffix, &tools.function.args_separator}) {
        if (trimmed(*part) == marker) part->clear();
    }
}

// One call: the name of a tool, and its arguments in any order.
common_peg_parser python_call(common_chat_peg_builder & p, const common_json & function) {
    const common_json parameters = common_chat_tool_parameters(function);
    auto any = p.choice();
    bool has_any = false;
    if (parameters.contains("properties")) {
        for (const auto & [name, schema] : parameters.at("properties").items()) {
            const bool is_text = schema.is_object() && schema.contains("type") && schema.at("type").is_string() && schema.at("type").get<std::string>() == "string";
            const auto quoted = p.choice({p.literal("'") + p.string_content('\'') + p.literal("'"), p.literal("\"") + p.string_content('"') + p.literal("\"")});
            any |= p.tool_arg(p.tool_arg_open(p.tool_arg_name(p.literal(name)) + p.literal("=")) +
                p.tool_arg_value(is_text ? quoted : p.json()) + p.tool_arg_close(p.eps()));
            has_any = true;
        }
    }
    const auto arguments = has_any ? any + p.zero_or_more(p.literal(",") + p.space() + any) : p.eps();
    const std::string name = function.at("name").get<std::string>();
    return p.rule("tool-" + name, p.tool(p.tool_open(p.tool_name(p.literal(name)) + p.literal("(")) + p.space() + p.tool_args(arguments) + p.space() + p.tool_close(p.literal(")"))));
}

}  // namespace

void svc::amend(autoparser::autoparser & format, const common_chat_template & tmpl) {
    find_reasoning(format, tmpl);
    drop_empty_text(format, tmpl);
    find_python_calls(format, tmpl);
    find_gaps(format, tmpl);
    find_repeated_marker(format.tools);
}

bool svc::calls_as_python(const autoparser::autoparser & format) {
    return format.tools.format.mode == tool_format::TAG_WITH_TAGGED && format.tools.function.name_suffix == "(" && format.tools.arguments.name_suffix == "=";
}

common_peg_arena svc::python_parser(const autoparser::autoparser & format, const generation_params & inputs, const std::string & begun) {
    const auto & tools = format.tools.format;
    return build_chat_peg_parser([&](common_chat_peg_builder & p) {
        autoparser::parser_build_context context(p, inputs);
        context.extracting_reasoning = inputs.reasoning_format != COMMON_REASONING_FORMAT_NONE && format.reasoning.mode != reasoning_mode::NONE;
        context.reasoning = &format.reasoning;
        const auto reasoning = format.reasoning.build_parser(context);
        auto call = p.choice();
        for (const auto & tool : inputs.tools) call |= python_call(p, tool.at("function"));
        const auto gap = tools.tools_array_wrapped ? p.literal(",") + p.space() : p.literal("\n") + p.space();
        const auto several = inputs.parallel_tool_calls ? call + p.zero_or_more(gap + call) : call;
        const auto listed = tools.tools_array_wrapped ? p.literal("[") + p.space() + several + p.space() + p.literal("]") : several;
        const auto calls = p.trigger_rule("tool-call", p.literal(tools.section_start) + p.space() + listed + p.space() + p.literal(tools.section_end));
        const bool must = inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_REQUIRED;
        return (p.prefix(begun, format.reasoning.start) << reasoning) + p.optional(p.content(p.until(tools.section_start))) +
            (must ? calls : p.optional(calls)) + p.space() + p.end();
    });
}
