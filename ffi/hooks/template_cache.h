// Hooks in the chat library that compute once what depends on a template and on tools alone.
#pragma once

#include "chat-auto-parser.h"
#include "json-schema-to-grammar.h"

#include <future>
#include <memory>
#include <string>

namespace svc {

// The format of a template, for which it is rendered dozens of times.
std::shared_ptr<const autoparser::autoparser> analysis_of(const common_chat_template & tmpl);

// Parser of answers; those of recent requests with the same tools and options are kept. That of a long list of tools is made on a
// thread of its own while the prompt is rendered.
class answer_format {
  public:
    // The arguments must outlive it.
    answer_format(const autoparser::autoparser & format, const autoparser::generation_params & inputs, const common_chat_template & tmpl);

    // The words that begin an answer, as upstream finds them; `prompt` is the conversation with them, which is not rendered again.
    std::string generation_prompt(const std::string & prompt);
    // The parser's text; after `generation_prompt`.
    std::string save();
    void build_grammar(const common_grammar_builder & builder, bool lazy);

  private:
    struct built;

    const autoparser::autoparser & format;
    const autoparser::generation_params & inputs;
    const common_chat_template & tmpl;
    std::string begun;  // the words that begin an answer, or are expected to
    std::shared_ptr<built> texts;
    std::unique_ptr<common_peg_arena> arena;
    std::future<void> making;  // last: it uses all of the above

    void find(const std::string & generation_prompt);
    bool is_made() const;
    common_peg_arena & parser();
};

}  // namespace svc
