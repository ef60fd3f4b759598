// Chat templates and output parsing by llama.cpp's common library, which knows the model families.

#include "answer_parsers.h"
#include "generic_calls.h"
#include "guard.h"
#include "history.h"
#include "media.h"
#include "render.h"
#include "svc_llama.h"
#include "text_marks.h"
#include "template_proof.h"
#include "text_prompt.h"
#include "tool_lists.h"

#include "chat.h"
#include "common.h"
#include "json.h"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

using svc::guard;
using svc::need;

namespace {

// One prompt on its way through a renderer's thread, and the parser of the answer to it.
struct rendered {
    std::string request;
    bool long_text = false;
    std::vector<llama_token> tokens;
    std::shared_ptr<svc::media_prompt> media;  // none: text alone
    common_chat_params params;
    svc::known_parser parser;
    bool thinks = true;  // value given to the template
    svc::outcome done;
};

// A request without its tools.
common_chat_templates_inputs read_request(const common_json & request) {
    common_chat_templates_inputs in;
    in.messages = common_chat_msgs_parse_oaicompat(request.at("messages"));
    for (const auto & message : in.messages) {
        for (const auto & call : message.tool_calls) svc::check_depth(call.arguments, "arguments of calls");
    }
    in.tool_choice = common_chat_tool_choice_parse_oaicompat(request.value("tool_choice", "auto"));
    in.parallel_tool_calls = request.value("parallel_tool_calls", true);
    in.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
    if (request.contains("kwargs")) {
        for (const auto & [key, value] : request.at("kwargs").items()) {
            in.chat_template_kwargs[key] = value.dump();
        }
    }
    return in;
}

// What the request says of the files that came beside it.
void read_media(const common_json & request, svc::media_prompt & out) {
    out.marker = request.at("marker").get<std::string>();
    for (size_t i = 0; i < out.items.size(); i++) {
        const common_json & item = request.at("media").at(i);
        out.items[i].key = item.at("key").get<std::string>();
        out.items[i].audio = item.at("audio").get<bool>();
    }
}

common_json triggers_json(const std::vector<common_grammar_trigger> & triggers) {
    common_json out = common_json::array();
    for (const auto & trigger : triggers) {
        common_json entry = common_json::object();
        entry["type"] = (int) trigger.type;
        entry["value"] = trigger.value;
        entry["token"] = trigger.token;
        out.push_back(entry);
    }
    return out;
}

// The model's templates, for several threads.
class template_set {
  public:
    // `content`: texts of tokens that text may become although they are control or user-defined tokens.
    template_set(const llama_model * model, const std::string & source, const std::vector<std::string> & content) : model(model), vocab(llama_model_get_vocab(model)), content(svc::content_tokens(vocab, content)),
                                                                                                                    templates(common_chat_templates_init(model, source)),
                                                                                                                    proof(svc::proven([this](const svc::chat_messages & messages, bool tools, const auto & manner) { return tried(messages, tools, manner); })),
                                                                                                                    history([this](const svc::chat_messages & messages, bool tools) { return tried(messages, tools, proof.manner).prompt; }) {
        if (!proof.fault.empty()) throw std::runtime_error(proof.fault);
    }

    // What the template leaves out of conversations.
    const std::vector<std::string> & lost() const { return proof.lost; }

    void render(rendered & out) {
        const common_json request = common_json::parse(out.request);
        out.request.clear();
        if (out.media != nullptr) read_media(request, *out.media);
        if (request.contains("prompt")) {
            out.tokens = svc::text_prompt(model, request);
            return;
        }
        svc::marked_text prompt = format(request, out);
        if (out.media == nullptr) {
            out.tokens = svc::tokenize_marked(vocab, prompt, content, true, &fragments);
        } else {
            out.media->prompt = std::move(prompt);
            out.media->content = content;
            out.tokens = out.media->owner->lay_out(*out.media);
        }
    }

    // Tokens of the text of a message.
    std::vector<llama_token> text_tokens(const std::string & text) const {
        const svc::marked_text marked{text, {{0, text.size()}}};
        return text.empty() ? std::vector<llama_token>() : svc::tokenize_marked(vocab, marked, content, false);
    }

  private:
    const llama_model * model;
    const llama_vocab * vocab;
    const std::vector<uint8_t> content;
    svc::fragment_cache fragments;
    std::mutex mutex;  // of all below
    common_chat_templates_ptr templates;
    std::optional<bool> unasked;  // see thinks_unasked
    const svc::template_proof proof;
    svc::history history;
    svc::tool_lists lists;
    svc::answer_parsers parsers;

    // The prompt's text; how its answer is parsed goes to `out`.
    svc::marked_text format(const common_json & request, rendered & out) {
        std::lock_guard<std::mutex> lock(mutex);
        common_chat_templates_inputs in = read_request(request);
        const svc::tool_list tools = lists.read(request);
        in.tools = tools.parsed;
        in.messages = history.shown(std::move(in.messages), !in.tools.empty());
        in.enable_thinking = out.thinks =
            request.contains("enable_thinking") ? request.at("enable_thinking").get<bool>() : thinks_unasked();
        svc::renderings renderings;
        renderings.manner = proof.manner;
        renderings.tools = tools.shown;
        renderings.listed = tools.listed;
        out.params = applied(in);
        const bool generic = request.contains("generic_tools");
        if (generic) svc::add_generic_calls(out.params, request.at("generic_tools"), in.tool_choice);
        const bool calls = generic || (!in.tools.empty() && in.tool_choice != COMMON_CHAT_TOOL_CHOICE_NONE);
        out.parser = parsers.of(out.params, in.reasoning_format, calls, out.long_text);
        const bool continues = in.continue_final_message != COMMON_CHAT_CONTINUATION_NONE && !in.messages.empty();
        return svc::mark_prompt(out.params.prompt, renderings.texts, continues ? in.messages.back() : common_chat_msg());
    }

    // llama.cpp takes as the generation prompt what two renderings have not in common at their ends. Templates may end the last answer of a
    // chat in another way than earlier ones, and the parser then expects other beginnings than the model writes: a chat that ends with an
    // answer is parsed like one that ends with a question.
    common_chat_params applied(const common_chat_templates_inputs & in) const {
        common_chat_params params = common_chat_templates_apply(templates.get(), in);
        const bool answered = !in.messages.empty() && in.messages.back().role == "assistant";
        if (!answered || in.continue_final_message != COMMON_CHAT_CONTINUATION_NONE) return params;
        common_chat_templates_inputs asked = in;
        asked.messages.emplace_back();
        asked.messages.back().role = "user";
        asked.messages.back().content = "Hello";
        svc::renderings renderings;
        renderings.manner = proof.manner;
        try {
            common_chat_params other = common_chat_templates_apply(templates.get(), asked);
            if (!string_ends_with(params.prompt, other.generation_prompt)) return params;
            other.prompt = std::move(params.prompt);
            return other;
        } catch (const std::exception &) {
            return params;  // the template takes no question there
        }
    }

    // The prompt of a small conversation; none if the template refuses it.
    svc::trial tried(const svc::chat_messages & messages, bool tools, const svc::template_manner & manner) const {
        svc::renderings renderings;
        renderings.manner = manner;
        common_chat_templates_inputs in;
        in.messages = messages;
        if (tools) in.tools.push_back({"get_weather", "Tells the weather", R"({"type": "object", "properties": {"city": {"type": "string"}}})"});
        in.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
        try {
            return {common_chat_templates_apply(templates.get(), in).prompt, ""};
        } catch (const std::exception & error) {
            return {std::nullopt, error.what()};
        }
    }

    // Whether the template enables thinking by default.
    bool thinks_unasked() {
        if (!unasked.has_value()) {
            common_chat_templates_inputs in;
            in.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
            in.messages.emplace_back();
            in.messages.back().role = "user";
            in.messages.back().content = "Hello";
            const auto prompt = [&](bool says, bool thinks) {
                svc::renderings renderings;
                renderings.manner = proof.manner;
                renderings.says_thinking = says;
                in.enable_thinking = thinks;
                return common_chat_templates_apply(templates.get(), in).prompt;
            };
            try {
                // A template without a switch ignores the value.
                unasked = prompt(false, true) == prompt(true, true) || prompt(false, false) != prompt(true, false);
            } catch (const std::exception &) {
                unasked = true;  // it does not take so simple a conversation
            }
        }
        return *unasked;
    }
};

// Renders with the templates, on a thread of its own. Very long prompts have another, and prompts with media the projector's:
// files take longer to read than texts.
class chat {
  public:
    chat(const llama_model * model, const std::string & source, const std::vector<std::string> & content) : templates(std::make_shared<template_set>(model, source, content)) {}

    void add(const std::shared_ptr<rendered> & prompt) {
        svc::worker & text = prompt->long_text ? long_texts : texts;
        svc::worker & line = prompt->media == nullptr ? text : prompt->media->owner->renderer;
        line.add([templates = templates, weak = std::weak_ptr<rendered>(prompt)] {
            const auto wanted = weak.lock();
            if (wanted == nullptr) return;  // the caller has gone meanwhile
            wanted->done.take([&] { templates->render(*wanted); }, "an unknown error was raised while rendering");
            wanted->parser.loaded.wait();  // a parser of a long list: the prompt may be computed meanwhile
        });
    }

    const std::vector<std::string> & lost() const { return templates->lost(); }

    std::vector<llama_token> tokenize(const std::string & text) const { return templates->text_tokens(text); }

  private:
    std::shared_ptr<template_set> templates;
    svc::worker texts;
    svc::worker long_texts{5};
};

rendered & need_prompt(void * handle) {
    return *need<std::shared_ptr<rendered>>(handle, "rendered prompt");
}

}  // namespace

std::shared_ptr<svc::media_prompt> svc::render_media(void * handle) {
    return need<std::shared_ptr<rendered>>(handle, "rendered prompt")->media;
}

void * svc_chat_open(void * model, const char * source, const char * content_tokens) {
    return guard<void *>(nullptr, [&]() -> void * {
        std::vector<std::string> content;
        for (const auto & token : common_json::parse(content_tokens)) content.push_back(token.get<std::string>());
        return new chat(&need<llama_model>(model, "model"), source == nullptr ? "" : source, content);
    });
}

char * svc_chat_lost(void * handle) {
    return guard<char *>(nullptr, [&] {
        common_json out = common_json::array();
        for (const auto & one : need<chat>(handle, "chat template").lost()) out.push_back(one);
        return svc::copy_text(out.dump_safe());
    });
}

char * svc_template_text(const char * source, const char * variables) {
    return guard<char *>(nullptr, [&] {
        const jinja::program program = svc::parsed_template(source);
        jinja::context context(source);
        jinja::global_from_json(context, common_json::parse(variables), true);
        jinja::runtime runtime(context);
        const auto parts = jinja::runtime::gather_string_parts(runtime.execute(program));
        common_json out = common_json::object();
        common_json inputs = common_json::array();
        size_t at = 0;
        for (const auto & part : parts->val_str.parts) {
            if (part.is_input && !part.val.empty()) inputs.push_back(common_json::array({at, at + part.val.size()}));
            at += part.val.size();
        }
        out["text"] = parts->as_string().str();
        out["inputs"] = inputs;
        return svc::copy_text(out.dump_safe());
    });
}

int32_t svc_chat_tokenize(void * handle, const char * text, int32_t len, int32_t * out, int32_t capacity) {
    return guard<int32_t>(INT32_MIN, [&]() -> int32_t {
        const auto tokens = need<chat>(handle, "chat template").tokenize(std::string(text, len));
        const int32_t n = (int32_t) tokens.size();
        if (n > capacity) return -n;
        std::copy(tokens.begin(), tokens.end(), out);
        return n;
    });
}

void svc_chat_free(void * handle) {
    guard<int32_t>(-1, [&] {
        delete &need<chat>(handle, "chat template");
        return 0;
    });
}

void * svc_render_begin(void * handle, const char * request, int32_t long_prompt) {
    return guard<void *>(nullptr, [&]() -> void * {
        chat & c = need<chat>(handle, "chat template");
        auto prompt = std::make_shared<rendered>();
        prompt->request = request == nullptr ? "" : request;
        prompt->long_text = long_prompt != 0;
        auto out = std::make_unique<std::shared_ptr<rendered>>(prompt);
        c.add(prompt);
        return out.release();
    });
}

void * svc_render_media_begin(void * handle, void * media, const char * request, int32_t n, const uint64_t * data,
    const int64_t * size) {
    return guard<void *>(nullptr, [&]() -> void * {
        chat & c = need<chat>(handle, "chat template");
        auto prompt = std::make_shared<rendered>();
        prompt->request = request == nullptr ? "" : request;
        prompt->media = std::make_shared<svc::media_prompt>(need<std::shared_ptr<svc::media>>(media, "projector"));
        for (int32_t i = 0; i < n; i++) {
            const auto * bytes = reinterpret_cast<const uint8_t *>(data[i]);
            prompt->media->items.push_back({"", false, std::vector<uint8_t>(bytes, bytes + size[i])});
        }
        auto out = std::make_unique<std::shared_ptr<rendered>>(prompt);
        c.add(prompt);
        return out.release();
    });
}

int32_t svc_render_wait(void * handle, int32_t wait_ms) {
    return guard<int32_t>(-1, [&] { return need_prompt(handle).done.wait(wait_ms); });
}

void svc_render_free(void * handle) {
    guard<int32_t>(-1, [&] {
        delete &need<std::shared_ptr<rendered>>(handle, "rendered prompt");
        return 0;
    });
}

char * svc_render_info(void * handle) {
    return guard<char *>(nullptr, [&] {
        const rendered & r = need_prompt(handle);
        const common_chat_params & p = r.params;
        common_json out = common_json::object();
        out["format"] = std::string(common_chat_format_name(p.format));
        out["thinking_start"] = p.thinking_start_tag;
        out["thinking_ends"] = p.thinking_end_tags;
        out["supports_thinking"] = p.supports_thinking;
        out["generation_prompt"] = p.generation_prompt;
        out["additional_stops"] = p.additional_stops;
        out["preserved_tokens"] = p.preserved_tokens;
        out["has_grammar"] = !p.grammar.empty();
        out["grammar_lazy"] = p.grammar_lazy;
        out["calls"] = r.parser.params->parse_tool_calls;
        out["parser"] = r.parser.id;
        out["writes_calls"] = p.parser.find("\"tool-name\"") != std::string::npos;
        out["thinks"] = r.thinks;
        out["grammar_triggers"] = triggers_json(p.grammar_triggers);
        return svc::copy_text(out.dump_safe());
    });
}

char * svc_render_parser(void * handle) {
    return guard<char *>(nullptr, [&] { return svc::copy_text(need_prompt(handle).params.parser); });
}

char * svc_render_prompt(void * handle) {
    return guard<char *>(nullptr, [&] { return svc::copy_text(need_prompt(handle).params.prompt); });
}

int32_t svc_render_tokens(void * handle, int32_t * out, int32_t capacity) {
    return guard<int32_t>(0, [&]() -> int32_t {
        const std::vector<llama_token> & tokens = need_prompt(handle).tokens;
        const int32_t n = (int32_t) tokens.size();
        if (n > capacity) return -n;
        std::copy(tokens.begin(), tokens.end(), out);
        return n;
    });
}

char * svc_render_parse(void * handle, const char * text, int32_t len, int32_t partial) {
    return guard<char *>(nullptr, [&] {
        const rendered & r = need_prompt(handle);
        r.parser.loaded.get();
        const common_chat_msg message = common_chat_parse(std::string(text, len), partial != 0, *r.parser.params);
        return svc::copy_text(message.to_json_oaicompat().dump_safe());
    });
}
