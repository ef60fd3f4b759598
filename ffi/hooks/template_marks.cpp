// What templates are given, and the marks of what they render.

#include "template_marks.h"

#include "json_values.h"
#include "value_walk.h"

#include "jinja/runtime.h"
#include "jinja/value.h"

#include <algorithm>
#include <set>

using jinja::is_val;
using jinja::value;
using jinja::value_array;
using jinja::value_object;
using jinja::value_string;

namespace {

thread_local svc::renderings * current = nullptr;

void set_mark(const value & val, bool is_input) {
    if (!is_val<value_string>(val)) return;
    for (auto & part : val->val_str.parts) part.is_input = is_input;
}

// Upstream marks values, not the keys of objects.
void mark_keys(const value & val) {
    if (is_val<value_array>(val)) {
        for (const auto & item : val->as_array()) mark_keys(item);
    } else if (is_val<value_object>(val)) {
        for (const auto & [key, item] : val->as_ordered_object()) {
            set_mark(key, true);
            mark_keys(item);
        }
    }
}

// Templates build control tokens of these: '<|' + role + '|>'.
void unmark_words(jinja::context & ctx) {
    static const std::set<std::string> roles = {"system", "developer", "user", "assistant", "tool", "function"};
    set_mark(ctx.get_val("bos_token"), false);
    set_mark(ctx.get_val("eos_token"), false);
    const value messages = ctx.get_val("messages");
    if (!is_val<value_array>(messages)) return;
    for (const auto & message : messages->as_array()) {
        if (!is_val<value_object>(message)) continue;
        value none = jinja::mk_val<jinja::value_undefined>();
        const value role = message->at("role", none);
        if (is_val<value_string>(role) && roles.count(role->as_string().str()) > 0) set_mark(role, false);
    }
}

// All values within a value, with the number of their parts: templates replace values and add to lists, but do not change texts.
void note_shape(const value & val, std::vector<std::pair<const void *, size_t>> & out) {
    svc::each_value(val, [&](const value & one) { out.emplace_back(one.get(), one->val_arr.size() + one->val_obj.size()); });
}

bool begins_with(const jinja::string & text, const std::string & beginning) {
    size_t at = 0;
    for (const auto & part : text.parts) {
        if (at == beginning.size()) break;
        const size_t n = std::min(part.val.size(), beginning.size() - at);
        if (part.val.compare(0, n, beginning, at, n) != 0) return false;
        at += n;
    }
    return at == beginning.size();
}

// A list in JSON with the first of its objects alone, found without reading the others.
std::string first_of(const std::string & list) {
    size_t depth = 0;
    bool quoted = false;
    for (size_t at = 0; at < list.size(); at++) {
        const char c = list[at];
        if (quoted && c == '\\') {
            at++;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && c == '{') {
            depth++;
        } else if (!quoted && c == '}' && --depth == 0) {
            return list.substr(0, at + 1) + "]";
        }
    }
    return list;
}

// The reasoning of messages under the name that the template has for it, if that is not the chat library's.
void name_reasoning(const std::string & source, common_json & variables) {
    if (source.find("reasoning_content") != std::string::npos || !variables.contains("messages") || !variables.at("messages").is_array()) return;
    for (const char * const name : {"tool_plan", "thinking", "reasoning"}) {
        if (source.find(std::string(".") + name) == std::string::npos && source.find(std::string("['") + name) == std::string::npos) continue;
        for (auto & message : variables.at("messages")) {
            if (message.is_object() && message.contains("reasoning_content") && !message.contains(name)) message[name] = message.at("reasoning_content");
        }
    }
}

}  // namespace

svc::template_tools::template_tools(std::string json) : text(std::move(json)) {
    constexpr size_t long_list = 64 << 10;
    if (text.size() >= long_list) making = std::async(std::launch::async, [this] { return made(text); });
}

const value & svc::template_tools::values(bool first_only) {
    kept & one = first_only ? first : all;
    if (!first_only && making.valid()) one = making.get();
    std::vector<std::pair<const void *, size_t>> now;
    if (one.list != nullptr) {
        now.reserve(one.shape.size());
        note_shape(one.list, now);
    }
    if (one.list == nullptr || now != one.shape) one = made(first_only ? first_of(text) : text);
    return one.list;
}

svc::template_tools::kept svc::template_tools::made(const std::string & text) {
    kept out{marked_values(text), {}};
    note_shape(out.list, out.shape);
    return out;
}

svc::renderings::renderings() : outer(current) { current = this; }

svc::renderings::~renderings() { current = outer; }

svc::renderings * svc::current_renderings() { return current; }

const svc::listed_tools * svc::listed_of(size_t count) {
    const listed_tools * const listed = current == nullptr ? nullptr : current->listed.get();
    return listed != nullptr && listed->list.size() == count ? listed : nullptr;
}

bool svc::keeps_tools() { return current != nullptr && current->tools != nullptr; }

bool svc::shapes_content() { return current != nullptr && current->manner.forms.has_value(); }

common_json svc::shaped_content(const common_json & messages, const std::function<std::string(const common_json &)> & joined) {
    if (!messages.is_array()) return messages;
    common_json out = common_json::array();
    for (const auto & message : messages) {
        common_json copy = message;
        const std::string role = copy.value("role", "");
        const bool wants_parts = role == "system" || role == "developer" ? current->manner.forms->system_parts : current->manner.forms->other_parts;
        const bool has = copy.contains("content");
        if (has && wants_parts && copy.at("content").is_string()) {
            common_json part = common_json::object();
            part["type"] = "text";
            part["text"] = copy.at("content").get<std::string>();
            copy["content"] = common_json::array({part});
        } else if (has && !wants_parts && copy.at("content").is_array()) {
            copy["content"] = joined(copy.at("content"));
        }
        out.push_back(std::move(copy));
    }
    return out;
}

void svc::set_globals(jinja::context & ctx, common_json & variables, bool mark_input) {
    if (current != nullptr && !current->says_thinking) variables.erase("enable_thinking");
    if (keeps_tools()) variables.erase("tools");
    name_reasoning(*ctx.src, variables);
    jinja::global_from_json(ctx, variables, mark_input);
    if (mark_input) {
        for (auto it = variables.begin(); it != variables.end(); ++it) mark_keys(ctx.get_val(it.key()));
    }
    unmark_words(ctx);
    if (keeps_tools()) ctx.set_val("tools", current->tools->values(current->first_tool_only));
}

const std::string & svc::keep_marks(const jinja::string & text, const std::string & used, const std::string & cut) {
    if (current == nullptr) return used;
    const size_t begin = begins_with(text, cut) ? cut.size() : 0;
    const size_t end = begin + used.size();
    rendered_text out{used, {}};
    size_t at = 0;
    for (const auto & part : text.parts) {
        const size_t from = std::max(at, begin), to = std::min(at + part.val.size(), end);
        at += part.val.size();
        if (!part.is_input || from >= to) continue;
        if (!out.inputs.empty() && out.inputs.back().second == from - begin) {
            out.inputs.back().second = to - begin;
        } else {
            out.inputs.emplace_back(from - begin, to - begin);
        }
    }
    current->texts.push_back(std::move(out));
    return used;
}
