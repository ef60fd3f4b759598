// Tool calls are constrained by the grammar that llama.cpp's common library derives from template and tools.

#include "tool_grammar.h"

#include "common.h"

#include <stdexcept>
#include <string>

namespace {

llama_sampler * lazy_grammar(const llama_vocab * vocab, const common_chat_params & params) {
    std::vector<std::string> patterns;
    std::vector<llama_token> tokens;
    for (const auto & trigger : params.grammar_triggers) {
        const std::string pattern = svc::trigger_pattern(trigger);
        if (pattern.empty()) tokens.push_back(trigger.token);
        else patterns.push_back(pattern);
    }
    std::vector<const char *> texts;
    for (const auto & pattern : patterns) texts.push_back(pattern.c_str());
    return llama_sampler_init_grammar_lazy_patterns(vocab, params.grammar.c_str(), "root", texts.data(), texts.size(),
                                                    tokens.data(), tokens.size());
}

// Tokens of what the template wrote of the answer. Some tokenizers begin a text with a space that is not in it.
std::vector<llama_token> written_tokens(const llama_vocab * vocab, const std::string & text) {
    std::vector<llama_token> tokens = common_tokenize(vocab, text, false, true);
    if (tokens.empty() || text.empty()) return tokens;
    const std::string first = common_token_to_piece(vocab, tokens.front(), true);
    if (!first.empty() && isspace((unsigned char) first[0]) && !isspace((unsigned char) text[0])) tokens.erase(tokens.begin());
    return tokens;
}

}  // namespace

std::string svc::trigger_pattern(const common_grammar_trigger & trigger) {
    switch (trigger.type) {
        case COMMON_GRAMMAR_TRIGGER_TYPE_WORD: return regex_escape(trigger.value);
        case COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN: return trigger.value;
        case COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN_FULL: return "^(?:" + trigger.value + ")$";
        default: return "";
    }
}

llama_sampler * svc::tool_grammar(const llama_vocab * vocab, const common_chat_params & params,
                                  const std::vector<llama_token> & recent) {
    if (params.grammar.empty()) return nullptr;
    llama_sampler * grammar = params.grammar_lazy ? lazy_grammar(vocab, params)
                                                  : llama_sampler_init_grammar(vocab, params.grammar.c_str(), "root");
    if (grammar == nullptr) throw std::runtime_error("the grammar of the tools could not be compiled");
    // What the template already wrote of the answer is part of the grammar's text.
    const std::vector<llama_token> seen = params.grammar_lazy ? recent : written_tokens(vocab, params.generation_prompt);
    try {
        for (llama_token token : seen) llama_sampler_accept(grammar, token);
    } catch (...) {
        llama_sampler_free(grammar);
        throw;
    }
    return grammar;
}
