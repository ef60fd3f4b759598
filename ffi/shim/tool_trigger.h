// Where in an answer the grammar of tool calls begins, for formats that tell it by patterns. llama.cpp's own lazy grammar
// searches the whole answer for them at every token; here only its last piece is looked at, in which a match must lie.
#pragma once

#include "chat.h"
#include "llama.h"

#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace svc {

class tool_trigger {
  public:
    // Throws when a pattern does not compile.
    tool_trigger(const llama_vocab * vocab, std::shared_ptr<const common_chat_params> params);

    // Takes a token of the answer. True if with it a tool call has begun; push must not be called again then.
    bool push(llama_token token);

    // The grammar, brought to where the answer is; after push has returned true. Throws when the answer, with the very
    // tokens that began the call, does not follow it.
    llama_sampler * grammar() const;

  private:
    struct pattern {
        std::regex regex;
        std::string beginning;  // what every match begins with; "" if that is not fixed
        bool at_start;          // matches only from the beginning of the answer
    };

    const llama_vocab * vocab;
    std::shared_ptr<const common_chat_params> params;
    std::vector<pattern> patterns;
    std::vector<llama_token> triggers;                  // tokens that begin a call by themselves
    std::string text;                                   // the end of the answer
    std::vector<std::pair<llama_token, size_t>> tokens; // its tokens, and where in `text` each begins
    bool whole = true;                                  // `text` is all of the answer

    size_t find() const;
    void forget();
};

}  // namespace svc
