// Caches of template formats and parsers. Requests of several threads share them.

#include "template_cache.h"

#include "format_amendments.h"
#include "template_marks.h"

#include "chat.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace {

// One model has two templates; tests have more.
constexpr size_t FORMATS_MAX = 16;
constexpr size_t RECENT_MAX = 8;

std::mutex mutex;  // of both caches

// Long lists of tools are cut before the template is rendered only to see how its answers begin.
constexpr size_t TOOLS_FEW = 16;

// The inputs with the first tool alone. The others are put aside meanwhile: to copy a long list takes longer than the rendering.
autoparser::generation_params with_first_tool(const autoparser::generation_params & inputs) {
    common_json & tools = const_cast<common_json &>(inputs.tools);  // of the caller's local variable
    common_json all = common_json::array();
    all.push_back(tools.at(0));
    std::swap(all, tools);
    try {
        autoparser::generation_params few = inputs;
        std::swap(all, tools);
        return few;
    } catch (...) {
        std::swap(all, tools);
        throw;
    }
}

// The tools of the inputs, to tell lists apart.
std::string tools_text(const autoparser::generation_params & inputs) {
    const svc::listed_tools * const listed = svc::listed_of(inputs.tools.size());
    return listed == nullptr ? inputs.tools.dump() : listed->text;
}

// Shows templates the first of this thread's kept tools alone, while it exists.
class first_tool_shown {
  public:
    first_tool_shown() : options(svc::current_renderings()) { set(true); }
    first_tool_shown(const first_tool_shown &) = delete;
    ~first_tool_shown() { set(false); }

  private:
    svc::renderings * const options;

    void set(bool first_only) {
        if (options != nullptr) options->first_tool_only = first_only;
    }
};

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
    const svc::renderings * const asked = svc::current_renderings();
    svc::renderings own;  // the trials have other tools, and lack things that a template may read
    if (asked != nullptr) own.manner.forms = asked->manner.forms;
    own.manner.forgiving = true;
    try {
        fresh->analyze_template(tmpl);
        svc::amend(*fresh, tmpl);
    } catch (const std::exception &) {  // its answers are text, and calls have svc's own format
        fresh = std::make_shared<autoparser::autoparser>();
        fresh->jinja_caps = tmpl.original_caps();
        fresh->analysis_complete = true;
    }
    if (formats.size() >= FORMATS_MAX) formats.clear();
    return formats[std::move(key)] = std::move(fresh);
}

svc::answer_format::answer_format(const autoparser::autoparser & format, const autoparser::generation_params & inputs, const common_chat_template & tmpl) : format(format), inputs(inputs), tmpl(tmpl) {
    if (!inputs.add_generation_prompt || !inputs.tools.is_array() || inputs.tools.size() <= TOOLS_FEW) return;
    {
        const first_tool_shown shown;
        autoparser::generation_params few = with_first_tool(inputs);
        begun = added_to(common_chat_template_direct_apply(tmpl, few), tmpl, few);
    }
    if (begun.empty()) return;
    find(begun);
    if (is_made()) return;
    const svc::renderings * const options = svc::current_renderings();
    making = std::async(std::launch::async, [this, told = options == nullptr ? nullptr : options->on_parser] {
        const std::string text = save();
        if (told != nullptr) told(text);
    });
}

std::string svc::answer_format::generation_prompt(const std::string & prompt) {
    const bool ends = begun.size() < prompt.size() && prompt.compare(prompt.size() - begun.size(), begun.size(), begun) == 0;
    if (ends && !begun.empty()) return begun;
    if (making.valid()) making.wait();
    autoparser::generation_params other = inputs;
    begun = inputs.add_generation_prompt ? added_to(prompt, tmpl, other) : common_chat_template_generation_prompt(tmpl, inputs);
    find(begun);
    return begun;
}

// The texts of recent requests with the same tools and options, or new ones.
void svc::answer_format::find(const std::string & generation_prompt) {
    static std::deque<std::shared_ptr<built>> recent;  // the latest first
    std::string key = common_json::array({key_of(tmpl), (int) inputs.tool_choice, inputs.parallel_tool_calls, (int) inputs.reasoning_format,
                                             inputs.json_schema, generation_prompt})
                          .dump() +
        tools_text(inputs);
    arena = nullptr;
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto & one : recent) {
        if (one->key == key) {
            texts = one;
            return;
        }
    }
    texts = std::make_shared<built>();
    texts->key = std::move(key);
    recent.push_front(texts);
    if (recent.size() > RECENT_MAX) recent.pop_back();
}

bool svc::answer_format::is_made() const {
    std::lock_guard<std::mutex> lock(texts->mutex);
    return !texts->parser.empty();
}

common_peg_arena & svc::answer_format::parser() {
    const auto made = [this] {
        const bool calls = inputs.tools.is_array() && !inputs.tools.empty() && inputs.tool_choice != COMMON_CHAT_TOOL_CHOICE_NONE;
        return calls && svc::calls_as_python(format) ? svc::python_parser(format, inputs, begun) : format.build_parser(inputs, begun);
    };
    if (arena == nullptr) arena = std::make_unique<common_peg_arena>(made());
    return *arena;
}

std::string svc::answer_format::save() {
    std::lock_guard<std::mutex> lock(texts->mutex);
    if (texts->parser.empty()) texts->parser = parser().save();
    return texts->parser;
}

void svc::answer_format::build_grammar(const common_grammar_builder & builder, bool lazy) { parser().build_grammar(builder, lazy); }
