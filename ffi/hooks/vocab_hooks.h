// Hooks in the tokenizer, src/llama-vocab.cpp, in which spans of a text are plain text (token_marks.h).
//
// A special token matches only where it touches no marked span. What is left between special tokens is tokenized, and if it touches
// a span, special tokens that a tokenizer has put together from its pieces are spelled out.
#pragma once

#include "token_marks.h"

#include <algorithm>
#include <forward_list>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

thread_local const svc_token_marks * svc_marks = nullptr;
thread_local bool svc_is_fragment = false;  // the text has no more special tokens

bool svc_touches_mark(size_t begin, size_t end) {
    // first span that ends behind `begin`
    size_t lo = 0, hi = svc_marks->n_spans;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (svc_marks->spans[2 * mid + 1] <= begin) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < svc_marks->n_spans && svc_marks->spans[2 * lo] < end;
}

// Where the text of a special token matches.
size_t svc_find_special(std::string_view text, const std::string & special, size_t from, llama_token token) {
    size_t match = text.find(special, from);
    if (svc_marks == nullptr || svc_marks->passes[token] != 0) return match;
    while (match != std::string_view::npos && svc_touches_mark(match, match + special.size())) match = text.find(special, match + 1);
    return match;
}

// Replaces special tokens by tokens of single bytes.
template <class Vocab>
void svc_spell_special(const Vocab & vocab, std::vector<llama_token> & tokens) {
    const auto is_special = [&](llama_token token) {
        return (vocab.token_get_attr(token) & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_USER_DEFINED)) != 0;
    };
    const auto stays = [&](llama_token token) { return !is_special(token) || svc_marks->passes[token] != 0; };
    if (std::all_of(tokens.begin(), tokens.end(), stays)) return;
    // Tokens from texts come before those that only stand for bytes.
    std::map<std::string, llama_token> spelling;
    for (llama_token id = 0; id < (llama_token) vocab.id_to_token.size(); id++) {
        const std::string & piece = vocab.token_to_piece(id);
        if (piece.size() == 1 && !is_special(id)) spelling.emplace(piece, id);
    }
    std::vector<llama_token> spelled;
    for (const llama_token token : tokens) {
        if (stays(token)) {
            spelled.push_back(token);
            continue;
        }
        for (const char c : vocab.token_to_piece(token)) {
            const auto found = spelling.find(std::string(1, c));
            if (found != spelling.end()) spelled.push_back(found->second);
        }
    }
    tokens = std::move(spelled);
}

// Tokens of a text that touches a span and has no more special tokens.
template <class Vocab>
std::vector<llama_token> svc_fragment_tokens(const Vocab & vocab, const std::string & text) {
    svc::fragment_cache * const cache = svc::fragment_cache::takes(text.size()) ? svc_marks->cache : nullptr;
    std::vector<llama_token> tokens;
    if (cache != nullptr && cache->find(text, tokens)) return tokens;
    struct fragment {
        fragment() { svc_is_fragment = true; }
        ~fragment() { svc_is_fragment = false; }
    };
    {
        const fragment whole;
        tokens = vocab.tokenize(text, false, true);
    }
    svc_spell_special(vocab, tokens);
    if (cache != nullptr) cache->keep(text, tokens);
    return tokens;
}

// Divides a text at special tokens; fragments that touch a marked span become their tokens.
template <class Vocab, class Fragment>
void svc_partition(const Vocab & vocab, std::forward_list<Fragment> & buffer, bool parse_special) {
    if (svc_is_fragment) return;
    vocab.tokenizer_st_partition(buffer, parse_special);
    if (svc_marks == nullptr) return;
    for (auto before = buffer.before_begin(), it = buffer.begin(); it != buffer.end(); it = std::next(before)) {
        const bool is_text = it->length > 0;
        if (!is_text || !svc_touches_mark(it->offset, it->offset + it->length)) {
            before = it;
            continue;
        }
        const std::vector<llama_token> tokens = svc_fragment_tokens(vocab, it->raw_text.substr(it->offset, it->length));
        buffer.erase_after(before);
        for (const llama_token token : tokens) before = buffer.emplace_after(before, token);
    }
}

// The words of a text that byte pairs were merged in, with the symbols that are left of each. A text repeats most of its words, and the
// symbols of a word do not depend on others.
class svc_merged_words {
  public:
    // Appends the symbols of an earlier word that is equal. False if it is the first; then `add` must follow.
    template <class Symbol>
    bool repeat(const std::string & word, std::vector<Symbol> & symbols, int & last) {
        const auto found = places.find(word);
        from = symbols.size();
        if (found == places.end()) return false;
        for (size_t i = found->second.first; i < found->second.second; i++) {
            Symbol symbol = symbols[i];
            symbol.prev = last;
            symbol.next = -1;
            if (last != -1) symbols[last].next = (int) symbols.size();
            last = (int) symbols.size();
            symbols.push_back(symbol);
        }
        return true;
    }

    // The word must outlive this.
    template <class Symbol>
    void add(const std::string & word, const std::vector<Symbol> & symbols) {
        places.emplace(word, std::make_pair(from, symbols.size()));
    }

  private:
    std::unordered_map<std::string_view, std::pair<size_t, size_t>> places;
    size_t from = 0;  // where the symbols of the present word begin
};

}  // namespace

void svc_set_token_marks(const svc_token_marks * marks) { svc_marks = marks; }
