// Hooks in the chat library that compute once what depends on a template and on tools alone.
#pragma once

#include "chat-auto-parser.h"
#include "json-schema-to-grammar.h"

#include <functional>
#include <memory>
#include <string>

namespace svc {

// The format of a template, for which it is rendered dozens of times.
std::shared_ptr<const autoparser::autoparser> analysis_of(const common_chat_template & tmpl);

// The words that begin an answer, as upstream finds them; `prompt` is the conversation with them, which is not rendered again.
std::string generation_prompt(const common_chat_template & tmpl, const autoparser::generation_params & inputs, const std::string & prompt);

// Parser of answers; those of recent requests with the same tools and options are kept.
class answer_format {
  public:
    answer_format(const autoparser::autoparser & format, const autoparser::generation_params & inputs, const std::string & generation_prompt, const common_chat_template & tmpl);

    std::string save();
    void build_grammar(const common_grammar_builder & builder, bool lazy);

  private:
    struct built;

    std::shared_ptr<built> texts;
    std::function<common_peg_arena()> make;
    std::unique_ptr<common_peg_arena> arena;

    common_peg_arena & parser();
};

}  // namespace svc
