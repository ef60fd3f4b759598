// Prompts without a chat template: plain text, a gap to fill, a document to rank.

#include "text_prompt.h"

#include "common.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace {

using tokens = std::vector<llama_token>;

void append(tokens & out, const tokens & more) { out.insert(out.end(), more.begin(), more.end()); }

// `literal`: control tokens in the text are text, as in a document to compare. A client that writes a whole prompt writes its markup, too.
tokens plain(const llama_vocab * vocab, const std::string & text, bool literal) {
    tokens out = common_tokenize(vocab, text, true, !literal);
    // Nothing to continue is still something for a model that knows how texts begin.
    if (out.empty() && llama_vocab_bos(vocab) != LLAMA_TOKEN_NULL) out.push_back(llama_vocab_bos(vocab));
    return out;
}

// Bytes of an optional limit in tokens; absent: none.
size_t limit(const common_json & request, const char * key) {
    return request.contains(key) ? (size_t) request.at(key).get<int32_t>() : std::numeric_limits<int32_t>::max();
}

// ---- a gap to fill ---------------------------------------------------------------------------------------------

// Other files that the model sees before the gap, in the form of repository-level training where the model has its tokens.
tokens context_files(const llama_vocab * vocab, const common_json & files) {
    const llama_token separator = llama_vocab_fim_sep(vocab);
    tokens out;
    auto begin = [&](const std::string & name) {
        if (separator != LLAMA_TOKEN_NULL) out.push_back(separator);
        append(out, common_tokenize(vocab, separator != LLAMA_TOKEN_NULL ? name + "\n" : "\n\n# " + name + "\n", false, false));
    };
    for (size_t i = 0; i < files.size(); i++) {
        const common_json & file = files.at(i);
        begin(file.at("name").get<std::string>());
        append(out, common_tokenize(vocab, file.at("text").get<std::string>(), false, false));
    }
    begin("current");
    return out;
}

// Prefix, suffix, middle: the order that models with these tokens were trained on. What exceeds `room` is left out: the
// beginnings of the files, which get half of it at most, and of the text before the gap, and the end of the text after it.
tokens fill_gap(const llama_vocab * vocab, const common_json & request) {
    const llama_token pre = llama_vocab_fim_pre(vocab), suf = llama_vocab_fim_suf(vocab), mid = llama_vocab_fim_mid(vocab);
    if (pre == LLAMA_TOKEN_NULL || suf == LLAMA_TOKEN_NULL || mid == LLAMA_TOKEN_NULL) {
        throw std::invalid_argument("it has no fill-in-the-middle tokens, so `suffix` cannot be used");
    }
    tokens out;
    if (llama_vocab_get_add_bos(vocab)) out.push_back(llama_vocab_bos(vocab));
    tokens files;
    if (request.contains("files")) {
        const llama_token repository = llama_vocab_fim_rep(vocab);
        if (repository != LLAMA_TOKEN_NULL) {
            out.push_back(repository);
            append(out, common_tokenize(vocab, "project\n", false, false));
        }
        files = context_files(vocab, request.at("files"));
    }
    tokens before = common_tokenize(vocab, request.at("prompt").get<std::string>(), false, false);
    tokens after = common_tokenize(vocab, request.at("suffix").get<std::string>(), false, false);

    const size_t room = limit(request, "room");
    const size_t marks = out.size() + 3;
    const size_t rest = room > marks ? room - marks : 0;
    if (files.size() > rest / 2) files.erase(files.begin(), files.end() - rest / 2);
    const size_t near = rest - files.size();
    if (before.size() + after.size() > near) {
        after.resize(std::min(after.size(), std::max(near / 4, near - std::min(near, before.size()))));
        const size_t keep = near - after.size();
        if (before.size() > keep) {
            // Whole blocks go, so that the prompt's beginning stays the same, and cached, for many keystrokes.
            const size_t block = std::max<size_t>(1, keep / 8);
            const size_t excess = before.size() - keep;
            const size_t drop = std::min(before.size(), (excess + block - 1) / block * block);
            before.erase(before.begin(), before.begin() + drop);
        }
    }
    append(out, files);
    out.push_back(pre);
    append(out, before);
    out.push_back(suf);
    append(out, after);
    out.push_back(mid);
    return out;
}

// ---- a query and a document ------------------------------------------------------------------------------------

// The ids of control tokens by their text, the longest first: where one text begins with another, the longer one is meant.
std::vector<std::pair<std::string, llama_token>> control_tokens(const llama_vocab * vocab, const std::string & form) {
    std::vector<std::pair<std::string, llama_token>> out;
    for (llama_token id = 0; id < llama_vocab_n_tokens(vocab); id++) {
        if (!llama_vocab_is_control(vocab, id)) continue;
        const std::string text = llama_vocab_get_text(vocab, id);
        if (!text.empty() && form.find(text) != std::string::npos) out.emplace_back(text, id);
    }
    std::sort(out.begin(), out.end(), [](const auto & a, const auto & b) { return a.first.size() > b.first.size(); });
    return out;
}

void fill_in(std::string & text, const std::string & place, const std::string & value) {
    for (size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + value.size())) {
        text.replace(at, place.size(), value);
    }
}

// The model's own form, "… {query} … {document} …". Only the form itself has control tokens: it is cut at them first.
tokens pair_by_form(const llama_vocab * vocab, const std::string & form, const std::string & query,
    const std::string & document) {
    const auto controls = control_tokens(vocab, form);
    tokens out;
    std::string text;
    auto flush = [&] {
        // In one pass: a query must not bring in a place for the document.
        const size_t at = text.find("{document}");
        std::string head = text.substr(0, at), tail = at == std::string::npos ? "" : text.substr(at + 10);
        fill_in(head, "{query}", query);
        fill_in(tail, "{query}", query);
        append(out, common_tokenize(vocab, at == std::string::npos ? head : head + document + tail, false, false));
        text.clear();
    };
    for (size_t at = 0; at < form.size();) {
        const auto found = std::find_if(controls.begin(), controls.end(),
            [&](const auto & one) { return form.compare(at, one.first.size(), one.first) == 0; });
        if (found == controls.end()) {
            text += form[at++];
            continue;
        }
        flush();
        out.push_back(found->second);
        at += found->first.size();
    }
    flush();
    return out;
}

// The form of cross-encoders without one of their own: both texts, each ended as the vocabulary ends texts.
tokens pair_by_marks(const llama_vocab * vocab, const tokens & query, const tokens & document) {
    const llama_token sep = llama_vocab_sep(vocab);
    const llama_token eos = llama_vocab_eos(vocab) == LLAMA_TOKEN_NULL ? sep : llama_vocab_eos(vocab);
    tokens out;
    if (llama_vocab_get_add_bos(vocab)) out.push_back(llama_vocab_bos(vocab));
    append(out, query);
    if (llama_vocab_get_add_eos(vocab)) out.push_back(eos);
    if (llama_vocab_get_add_sep(vocab)) out.push_back(sep);
    append(out, document);
    if (llama_vocab_get_add_eos(vocab) || llama_vocab_get_add_sep(vocab)) out.push_back(eos);
    return out;
}

// `document_room` caps the document's tokens; `room` the pair's, at the cost of the document's end.
tokens pair(const llama_model * model, const common_json & request) {
    const llama_vocab * vocab = llama_model_get_vocab(model);
    const std::string query = request.at("prompt").get<std::string>();
    const std::string text = request.at("document").get<std::string>();
    const tokens document = common_tokenize(vocab, text, false, false);
    const char * form = llama_model_chat_template(model, "rerank");
    auto laid_out = [&](size_t count) {
        if (form == nullptr) {
            const tokens head(document.begin(), document.begin() + count);
            return pair_by_marks(vocab, common_tokenize(vocab, query, false, false), head);
        }
        if (count == document.size()) return pair_by_form(vocab, form, query, text);
        return pair_by_form(vocab, form, query,
            common_detokenize(vocab, tokens(document.begin(), document.begin() + count), false));
    };
    const size_t room = limit(request, "room");
    size_t count = std::min(document.size(), limit(request, "document_room"));
    tokens out = laid_out(count);
    while (out.size() > room && count > 0) {
        count -= std::min(count, out.size() - room);
        out = laid_out(count);
    }
    return out;
}

}  // namespace

std::vector<llama_token> svc::text_prompt(const llama_model * model, const common_json & request) {
    const llama_vocab * vocab = llama_model_get_vocab(model);
    if (request.contains("document")) return pair(model, request);
    if (request.contains("suffix")) return fill_gap(vocab, request);
    return plain(vocab, request.at("prompt").get<std::string>(), request.contains("literal"));
}
