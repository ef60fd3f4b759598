// Tokenizes prompts so that text from the request never becomes a control or user-defined token.

#include "text_marks.h"

#include "common.h"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

namespace {

// User-defined tokens of HTML elements: vocabularies of Gemma have them because the web is full of them.
const std::set<std::string> HTML_ELEMENTS = {
    "a",
    "b",
    "blockquote",
    "body",
    "br",
    "caption",
    "code",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "hr",
    "html",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "u",
    "ul",
};

bool is_html_tag(const std::string & text) {
    if (text.size() < 3 || text.front() != '<' || text.back() != '>') return false;
    const size_t from = text[1] == '/' ? 2 : 1;
    return HTML_ELEMENTS.count(text.substr(from, text.size() - from - 1)) > 0;
}

bool is_one_character(const std::string & text) {
    const auto continues = [](char c) { return ((unsigned char) c & 0xC0) == 0x80; };
    return !text.empty() && std::all_of(text.begin() + 1, text.end(), continues);
}

bool is_space(const std::string & text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char c) { return isspace(c) != 0; });
}

}  // namespace

svc::marked_text svc::marked_text::part(size_t from, size_t n) const {
    marked_text out{text.substr(from, n), {}};
    const size_t to = from + out.text.size();
    auto span = std::partition_point(spans.begin(), spans.end(), [&](const auto & s) { return s.second <= from; });
    for (; span != spans.end() && span->first < to; ++span) {
        out.spans.emplace_back(std::max(span->first, from) - from, std::min(span->second, to) - from);
    }
    return out;
}

std::vector<uint8_t> svc::content_tokens(const llama_vocab * vocab, const std::vector<std::string> & named) {
    std::vector<uint8_t> passes(llama_vocab_n_tokens(vocab));
    std::set<std::string> wanted(named.begin(), named.end());
    for (llama_token id = 0; id < (llama_token) passes.size(); id++) {
        const llama_token_attr attr = llama_vocab_get_attr(vocab, id);
        if ((attr & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_USER_DEFINED)) == 0) continue;
        const std::string text = common_token_to_piece(vocab, id, true);
        // Vocabularies have these for the sake of text, and they mark nothing.
        const bool harmless = (attr & LLAMA_TOKEN_ATTR_USER_DEFINED) != 0 &&
            (is_space(text) || is_one_character(text) || is_html_tag(text));
        passes[id] = harmless || named.end() != std::find(named.begin(), named.end(), text);
        wanted.erase(text);
    }
    if (!wanted.empty()) {
        throw std::invalid_argument("content_tokens names \"" + *wanted.begin() +
            "\", which is no control or user-defined token of this model");
    }
    return passes;
}

svc::marked_text svc::mark_prompt(const std::string & prompt, const std::vector<rendered_text> & rendered,
    const common_chat_msg & continued) {
    // The longest: others are renderings without the words that begin an answer.
    const rendered_text * found = nullptr;
    for (const auto & one : rendered) {
        const bool begins = prompt.compare(0, one.text.size(), one.text) == 0;
        if (begins && (found == nullptr || one.text.size() > found->text.size())) found = &one;
    }
    if (found == nullptr) throw std::logic_error("the prompt is not what the template rendered");
    marked_text out{prompt, found->inputs};
    const std::string content = continued.render_content();
    const bool ends = prompt.size() - found->text.size() >= content.size() &&
        prompt.compare(prompt.size() - content.size(), content.size(), content) == 0;
    const size_t end = ends ? prompt.size() - content.size() : prompt.size();
    // At any position: within the template's own text the reasoning cannot be distinguished from it.
    const std::string & reasoning = continued.reasoning_content;
    for (size_t at = found->text.size(); !reasoning.empty();) {
        at = prompt.find(reasoning, at);
        if (at == std::string::npos || at + reasoning.size() > end) break;
        out.spans.emplace_back(at, at + reasoning.size());
        at += reasoning.size();
    }
    if (end < prompt.size()) out.spans.emplace_back(end, prompt.size());
    return out;
}

std::vector<llama_token> svc::tokenize_marked(const llama_vocab * vocab, const marked_text & prompt,
    const std::vector<uint8_t> & content, bool add_special, fragment_cache * cache) {
    std::vector<size_t> edges;
    edges.reserve(2 * prompt.spans.size());
    for (const auto & [begin, end] : prompt.spans) {
        edges.push_back(begin);
        edges.push_back(end);
    }
    if (prompt.text.size() > (size_t) std::numeric_limits<int32_t>::max()) throw std::invalid_argument("the prompt is too long");
    std::vector<llama_token> tokens(prompt.text.size() + 2);
    const svc_token_marks marks = {edges.data(), prompt.spans.size(), content.data(), cache};
    const auto tokenize = [&] {
        struct marking {
            explicit marking(const svc_token_marks & marks) { svc_set_token_marks(&marks); }
            ~marking() { svc_set_token_marks(nullptr); }
        } const marked(marks);
        return llama_tokenize(vocab, prompt.text.data(), (int32_t) prompt.text.size(), tokens.data(), (int32_t) tokens.size(), add_special, true);
    };
    int32_t n = tokenize();
    if (n < 0) {  // some vocabularies put a space of their own behind each control token
        tokens.resize(-n);
        n = tokenize();
    }
    tokens.resize(n);
    return tokens;
}
