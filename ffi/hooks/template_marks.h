// Hooks in the chat library (common/chat.cpp): what a template is given, and the marks of what it renders.
#pragma once

#include "json.h"

#include <string>
#include <utility>
#include <vector>

namespace jinja {
struct context;
struct string;
}  // namespace jinja

namespace svc {

// A text that a template rendered, and the spans [begin, end) of it that came in with the request: ascending, apart, none empty.
struct rendered_text {
    std::string text;
    std::vector<std::pair<size_t, size_t>> inputs;
};

// Options of the renderings of a thread while it exists, and their results.
class renderings {
  public:
    renderings();
    renderings(const renderings &) = delete;
    ~renderings();

    bool says_thinking = true;  // if not, templates are not given `enable_thinking`
    std::vector<rendered_text> texts;

  private:
    renderings * const outer;
};

// Sets the variables of a template, and removes those that it must not get. Strings of the request are marked, those of which templates
// build control tokens are not.
void set_globals(jinja::context & ctx, common_json & variables, bool mark_input);

// Keeps the marks of a text; `used` is the part of it that is used, which lacks the beginning `cut` if the text begins so.
const std::string & keep_marks(const jinja::string & text, const std::string & used, const std::string & cut);

}  // namespace svc
