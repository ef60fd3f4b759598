// Caches of template formats and parsers. Requests of several threads share them.

#include "template_cache.h"

#include "chat.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

namespace {

// One model has two templates; tests have more.
constexpr size_t FORMATS_MAX = 16;
constexpr size_t RECENT_MAX = 8;

std::mutex mutex;  // of both caches

// Long lists of tools are cut before the template is rendered only to see how its answers begin.
constexpr size_t TOOLS_FEW = 16;

// Keeps the first of a long list of tools; whether it was long.
bool keep_first(common_json & tools) {
    if (!tools.is_array() || tools.size() <= TOOLS_FEW) return false;
    common_json first = common_json::array();
    first.push_back(tools.at(0));
    tools = std::move(first);
    return true;
}

bool keep_first(common_json & variables, const char * name) { return variables.is_object() && variables.contains(name) && keep_first(variables.at(name)); }

// What the template appends to a conversation for an answer; `prompt` is the conversation with it.
std::string added_to(const std::string & prompt, const common_chat_template & tmpl, autoparser::generation_params & inputs) {
    inputs.add_generation_prompt = false;
    const std::string other = common_chat_template_direct_apply(tmpl, inputs);
    const auto shared = std::mismatch(prompt.begin(), prompt.begin() + std::min(prompt.size(), other.size()), other.begin());
    return std::string(shared.first, prompt.end());
}

std::string key_of(const common_chat_template & tmpl) { return common_json::array({tmpl.source(), tmpl.bos_token(), tmpl.eos_token()}).dump(); }

}  // namespace

struct svc::answer_format::built {
    std::string key;
    std::mutex mutex;
    std::string parser;
};

std::shared_ptr<const autoparser::autoparser> svc::analysis_of(const common_chat_template & tmpl) {
    static std::map<std::string, std::shared_ptr<const autoparser::autoparser>> formats;
    std::string key = key_of(tmpl);
    std::lock_guard<std::mutex> lock(mutex);
    const auto found = formats.find(key);
    if (found != formats.end()) return found->second;
    auto fresh = std::make_shared<autoparser::autoparser>();
    fresh->analyze_template(tmpl);
    if (formats.size() >= FORMATS_MAX) formats.clear();
    return formats[std::move(key)] = std::move(fresh);
}

std::string svc::generation_prompt(const common_chat_template & tmpl, const autoparser::generation_params & inputs, const std::string & prompt) {
    if (!inputs.add_generation_prompt) return common_chat_template_generation_prompt(tmpl, inputs);
    autoparser::generation_params other = inputs;
    if (keep_first(other.tools) + keep_first(other.extra_context, "tools") > 0) {
        std::string found = added_to(common_chat_template_direct_apply(tmpl, other), tmpl, other);
        const bool ends = found.size() < prompt.size() && prompt.compare(prompt.size() - found.size(), found.size(), found) == 0;
        if (ends && !found.empty()) return found;
        other = inputs;
    }
    return added_to(prompt, tmpl, other);
}

svc::answer_format::answer_format(const autoparser::autoparser & format, const autoparser::generation_params & inputs, const std::string & generation_prompt, const common_chat_template & tmpl) : make([&] { return format.build_parser(inputs, generation_prompt); }) {
    static std::deque<std::shared_ptr<built>> recent;  // the latest first
    std::string key = common_json::array({key_of(tmpl), inputs.tools, (int) inputs.tool_choice, inputs.parallel_tool_calls,
                                             (int) inputs.reasoning_format, inputs.json_schema, generation_prompt})
                          .dump();
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto & one : recent) {
        if (one->key == key) texts = one;
    }
    if (texts != nullptr) return;
    texts = std::make_shared<built>();
    texts->key = std::move(key);
    recent.push_front(texts);
    if (recent.size() > RECENT_MAX) recent.pop_back();
}

common_peg_arena & svc::answer_format::parser() {
    if (arena == nullptr) arena = std::make_unique<common_peg_arena>(make());
    return *arena;
}

std::string svc::answer_format::save() {
    std::lock_guard<std::mutex> lock(texts->mutex);
    if (texts->parser.empty()) texts->parser = parser().save();
    return texts->parser;
}

void svc::answer_format::build_grammar(const common_grammar_builder & builder, bool lazy) { parser().build_grammar(builder, lazy); }
