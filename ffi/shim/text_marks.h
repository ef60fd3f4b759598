// Which parts of a prompt are text, and the tokens that text may become.
#pragma once

#include "chat.h"
#include "llama.h"
#include "template_marks.h"
#include "token_marks.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace svc {

// A prompt, and the spans [begin, end) of it that a request brought: message content, names, arguments, tool definitions.
// Ascending, apart, none empty.
struct marked_text {
    std::string text;
    std::vector<std::pair<size_t, size_t>> spans;

    // Bytes [from, from + n).
    marked_text part(size_t from, size_t n) const;
};

// One flag for each token: whether text may become it although it is a control or user-defined token. `named` are texts
// of such tokens. Throws when the model has no such token.
std::vector<uint8_t> content_tokens(const llama_vocab * vocab, const std::vector<std::string> & named);

// `prompt` with the marks of the rendered text that it is or begins with. What follows is the beginning of the answer, which
// has the reasoning and ends with the content of a message that is continued. Throws when it is none of `rendered`.
marked_text mark_prompt(const std::string & prompt, const std::vector<rendered_text> & rendered,
    const common_chat_msg & continued);

// Tokens of a prompt; control and user-defined tokens only where they are outside its spans, or flagged in `content`. `cache`, if any, is
// of this vocabulary and `content`.
std::vector<llama_token> tokenize_marked(const llama_vocab * vocab, const marked_text & prompt,
    const std::vector<uint8_t> & content, bool add_special, fragment_cache * cache = nullptr);

}  // namespace svc
