// Chat templates and output parsing: a doorway to llama.cpp's common library, which knows the model families.

#include "guard.h"
#include "media.h"
#include "render.h"
#include "svc_llama.h"

#include "chat.h"
#include "common.h"
#include "json.h"

#include <deque>
#include <memory>
#include <mutex>
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
    std::shared_ptr<const common_chat_parser_params> parser = std::make_shared<common_chat_parser_params>();
    std::string call_marker;  // what begins a tool call, where one must be made
    svc::outcome done;
};

common_chat_templates_inputs read_request(const common_json & request) {
    common_chat_templates_inputs in;
    in.messages = common_chat_msgs_parse_oaicompat(request.at("messages"));
    if (request.contains("tools")) in.tools = common_chat_tools_parse_oaicompat(request.at("tools"));
    in.tool_choice = common_chat_tool_choice_parse_oaicompat(request.value("tool_choice", "auto"));
    in.parallel_tool_calls = request.value("parallel_tool_calls", true);
    in.enable_thinking = request.value("enable_thinking", true);
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
    template_set(const llama_model * model, const std::string & source) :
        vocab(llama_model_get_vocab(model)), templates(common_chat_templates_init(model, source)) { }

    void render(rendered & out) {
        const common_json request = common_json::parse(out.request);
        out.request.clear();
        if (out.media != nullptr) read_media(request, *out.media);
        if (request.contains("prompt")) {
            out.tokens = request.contains("suffix") ? fill_in(request) : plain(request.at("prompt").get<std::string>());
            return;
        }
        format(request, out);
        if (out.media == nullptr) {
            out.tokens = common_tokenize(vocab, out.params.prompt, true, true);
        } else {
            out.media->text = out.params.prompt;
            out.tokens = out.media->owner->lay_out(*out.media);
        }
    }

  private:
    const llama_vocab * vocab;
    std::mutex mutex;  // of all below
    common_chat_templates_ptr templates;
    // With what each was made from, the latest first.
    std::deque<std::pair<std::string, std::shared_ptr<const common_chat_parser_params>>> recent_parsers;

    // The prompt's text, and how its answer is parsed.
    void format(const common_json & request, rendered & out) {
        common_chat_templates_inputs in = read_request(request);
        std::lock_guard<std::mutex> lock(mutex);
        out.params = common_chat_templates_apply(templates.get(), in);
        const bool calls = !in.tools.empty() && in.tool_choice != COMMON_CHAT_TOOL_CHOICE_NONE;
        out.parser = parser_for(out.params, in.reasoning_format, calls);
        if (in.tool_choice == COMMON_CHAT_TOOL_CHOICE_REQUIRED) {
            // Only the lazy form of the grammar names the marker.
            in.tool_choice = COMMON_CHAT_TOOL_CHOICE_AUTO;
            for (const auto & trigger : common_chat_templates_apply(templates.get(), in).grammar_triggers) {
                if (trigger.type != COMMON_GRAMMAR_TRIGGER_TYPE_WORD) continue;
                out.call_marker = trigger.value;  // the first: the others begin particular tools
                break;
            }
        }
    }

    // The parser of answers, made once for the requests of a conversation: with a thousand tools that takes 200 ms.
    std::shared_ptr<const common_chat_parser_params> parser_for(const common_chat_params & params,
                                                                common_reasoning_format reasoning_format, bool calls) {
        constexpr size_t recent_max = 8;
        auto made = std::make_shared<common_chat_parser_params>(params);
        made->reasoning_format = reasoning_format;
        made->parse_tool_calls = calls;
        if (params.parser.empty()) return made;
        for (const auto & [source, recent] : recent_parsers) {
            if (source == params.parser && same_options(*recent, *made)) return recent;
        }
        made->parser.load(params.parser);
        recent_parsers.emplace_front(params.parser, made);
        if (recent_parsers.size() > recent_max) recent_parsers.pop_back();
        return made;
    }

    static bool same_options(const common_chat_parser_params & a, const common_chat_parser_params & b) {
        return a.format == b.format && a.reasoning_format == b.reasoning_format &&
               a.generation_prompt == b.generation_prompt && a.parse_tool_calls == b.parse_tool_calls;
    }

    std::vector<llama_token> plain(const std::string & text) const {
        std::vector<llama_token> tokens = common_tokenize(vocab, text, true, false);
        // Nothing to continue is still something for a model that knows how texts begin.
        if (tokens.empty() && llama_vocab_bos(vocab) != LLAMA_TOKEN_NULL) tokens.push_back(llama_vocab_bos(vocab));
        return tokens;
    }

    // Prefix, suffix, middle: the order that models with these tokens were trained on.
    std::vector<llama_token> fill_in(const common_json & request) const {
        const llama_token pre = llama_vocab_fim_pre(vocab), suf = llama_vocab_fim_suf(vocab), mid = llama_vocab_fim_mid(vocab);
        if (pre == LLAMA_TOKEN_NULL || suf == LLAMA_TOKEN_NULL || mid == LLAMA_TOKEN_NULL) {
            throw std::invalid_argument("it has no fill-in-the-middle tokens, so `suffix` cannot be used");
        }
        std::vector<llama_token> tokens;
        if (llama_vocab_get_add_bos(vocab)) tokens.push_back(llama_vocab_bos(vocab));
        auto add = [&](llama_token mark, const std::string & text) {
            tokens.push_back(mark);
            const auto more = common_tokenize(vocab, text, false, false);
            tokens.insert(tokens.end(), more.begin(), more.end());
        };
        add(pre, request.at("prompt").get<std::string>());
        add(suf, request.at("suffix").get<std::string>());
        tokens.push_back(mid);
        return tokens;
    }
};

// Renders with the templates, on a thread of its own. Very long prompts have another, and prompts with media the projector's:
// files take longer to read than texts.
class chat {
  public:
    chat(const llama_model * model, const std::string & source) : templates(std::make_shared<template_set>(model, source)) { }

    void add(const std::shared_ptr<rendered> & prompt) {
        svc::worker & text = prompt->long_text ? long_texts : texts;
        svc::worker & line = prompt->media == nullptr ? text : prompt->media->owner->renderer;
        line.add([templates = templates, weak = std::weak_ptr<rendered>(prompt)] {
            const auto wanted = weak.lock();
            if (wanted == nullptr) return;  // the caller has gone meanwhile
            wanted->done.take([&] { templates->render(*wanted); }, "an unknown error was raised while rendering");
        });
    }

  private:
    std::shared_ptr<template_set> templates;
    svc::worker texts;
    svc::worker long_texts{ 5 };
};

rendered & need_prompt(void * handle) {
    return *need<std::shared_ptr<rendered>>(handle, "rendered prompt");
}

}  // namespace

std::shared_ptr<const common_chat_params> svc::render_params(void * handle) {
    const auto & prompt = need<std::shared_ptr<rendered>>(handle, "rendered prompt");
    return std::shared_ptr<const common_chat_params>(prompt, &prompt->params);
}

std::shared_ptr<svc::media_prompt> svc::render_media(void * handle) {
    return need<std::shared_ptr<rendered>>(handle, "rendered prompt")->media;
}

void * svc_chat_open(void * model, const char * source) {
    return guard<void *>(nullptr, [&]() -> void * {
        return new chat(&need<llama_model>(model, "model"), source == nullptr ? "" : source);
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
            prompt->media->items.push_back({ "", false, std::vector<uint8_t>(bytes, bytes + size[i]) });
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
        out["grammar"] = p.grammar;
        out["grammar_lazy"] = p.grammar_lazy;
        out["call_marker"] = r.call_marker;
        out["grammar_triggers"] = triggers_json(p.grammar_triggers);
        return svc::copy_text(out.dump_safe());
    });
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
        const common_chat_msg message = common_chat_parse(std::string(text, len), partial != 0, *r.parser);
        return svc::copy_text(message.to_json_oaicompat().dump_safe());
    });
}
