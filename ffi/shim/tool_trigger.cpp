#include "tool_trigger.h"

#include "tool_grammar.h"

#include "common.h"

#include <cctype>
#include <cstring>

namespace {

// A match must begin within so many bytes before its end. What announces a call is a few tags and the name of a tool, of
// which no more than 256 characters are taken.
constexpr size_t REACH = 1024;

// What every match of an expression begins with, read up to the first character with a meaning of its own.
std::string fixed_beginning(const std::string & pattern) {
    std::string out;
    size_t at = 0;
    for (; at < pattern.size(); at++) {
        if (pattern[at] == '\\') {
            if (at + 1 == pattern.size() || isalnum((unsigned char) pattern[at + 1])) break;  // a class or a reference
            at++;
        } else if (strchr("^$.*+?()[]{}|", pattern[at]) != nullptr) {
            break;
        }
        out += pattern[at];
    }
    // What follows may make the last character optional, or be an alternative to all of it.
    if (at < pattern.size() && strchr("*?{", pattern[at]) != nullptr && !out.empty()) out.pop_back();
    int depth = 0;
    for (; at < pattern.size(); at++) {
        if (pattern[at] == '\\') at++;
        else if (pattern[at] == '(') depth++;
        else if (pattern[at] == ')') depth--;
        else if (pattern[at] == '|' && depth <= 0) return "";
    }
    return out;
}

}  // namespace

svc::tool_trigger::tool_trigger(const llama_vocab * vocab, std::shared_ptr<const common_chat_params> params) :
    vocab(vocab), params(std::move(params)) {
    for (const auto & trigger : this->params->grammar_triggers) {
        const std::string source = trigger_pattern(trigger);
        if (source.empty()) triggers.push_back(trigger.token);
        else patterns.push_back({ std::regex(source), fixed_beginning(source), source.front() == '^' });
    }
}

bool svc::tool_trigger::push(llama_token token) {
    tokens.emplace_back(token, text.size());
    text += common_token_to_piece(vocab, token, true);
    size_t start = text.size();
    for (llama_token trigger : triggers) {
        if (token == trigger) start = tokens.back().second;
    }
    start = std::min(start, find());
    if (start < text.size()) {
        // From the token on in which the match begins: those before it are of no concern to the grammar.
        while (tokens.size() > 1 && tokens[1].second <= start) tokens.erase(tokens.begin());
        return true;
    }
    if (text.size() > 2 * REACH) forget();
    return false;
}

// Where the first match of any pattern begins; the size of the text if there is none.
size_t svc::tool_trigger::find() const {
    size_t first = text.size();
    for (const pattern & p : patterns) {
        if (p.at_start && !whole) continue;
        const size_t from = text.find(p.beginning);
        if (from == std::string::npos) continue;
        const auto flags = whole && from == 0 ? std::regex_constants::match_default : std::regex_constants::match_not_bol;
        std::smatch match;
        if (!std::regex_search(text.begin() + from, text.end(), match, p.regex, flags)) continue;
        first = std::min(first, from + (size_t) match.position(0));
    }
    return first;
}

void svc::tool_trigger::forget() {
    size_t kept = 0;
    while (text.size() - tokens[kept].second > REACH) kept++;
    const size_t cut = tokens[kept].second;
    text.erase(0, cut);
    tokens.erase(tokens.begin(), tokens.begin() + kept);
    for (auto & entry : tokens) entry.second -= cut;
    whole = false;
}

llama_sampler * svc::tool_trigger::grammar() const {
    std::vector<llama_token> begun;
    for (const auto & entry : tokens) begun.push_back(entry.first);
    return tool_grammar(vocab, *params, begun);
}
