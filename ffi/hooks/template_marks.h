// Hooks in the chat library (common/chat.cpp): what a template is given, and the marks of what it renders.
#pragma once

#include "json.h"
#include "json_values.h"

#include <functional>
#include <future>
#include <memory>
#include <optional>
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

// A list of tools as templates get it, kept for the renderings that repeat it. For one thread at a time.
class template_tools {
  public:
    // text: the list in JSON. The values of a long one are made on a thread of their own.
    explicit template_tools(std::string text);

    // The list, or its first tool alone, as the text says: a template may have changed the values of the rendering before.
    const jinja_value & values(bool first_only);

  private:
    struct kept {
        jinja_value list;
        std::vector<std::pair<const void *, size_t>> shape;  // of the values when they were made
    };

    const std::string text;
    kept all, first;  // apart, so that the first is shown without waiting for the others
    std::future<kept> making;  // `all`, of a long list; last: it uses the text

    static kept made(const std::string & text);
};

// A list of tools as the chat library gives it to parsers, in JSON.
struct listed_tools {
    common_json list;
    std::string text;
};

// How a template gets the text of messages: as a string, or as a list of parts.
struct content_forms {
    bool system_parts = false, other_parts = false;
    bool operator==(const content_forms & other) const { return system_parts == other.system_parts && other_parts == other.other_parts; }
};

// How a template is rendered.
struct template_manner {
    std::optional<content_forms> forms;  // none: as the chat library derives them
    bool forgiving = false;  // undefined and none are empty texts and lists
};

// Options of the renderings of a thread while it exists, and their results.
class renderings {
  public:
    renderings();
    renderings(const renderings &) = delete;
    ~renderings();

    bool says_thinking = true;  // if not, templates are not given `enable_thinking`
    std::shared_ptr<template_tools> tools;  // none: those of the rendering's inputs
    std::shared_ptr<const listed_tools> listed;  // the same tools; none: the chat library lists those of the rendering's inputs
    bool first_tool_only = false;
    template_manner manner;
    std::function<void(const std::string & parser)> on_parser;  // called on some thread with the parser of calls, if that is made early
    std::vector<rendered_text> texts;

  private:
    renderings * const outer;
};

// The options of this thread's renderings; none: nullptr.
renderings * current_renderings();

// Whether the tools of this thread's renderings are kept ones.
bool keeps_tools();

// Whether this thread's renderings have forms of their own for the text of messages, and messages in these forms. `joined` makes one
// string of parts.
bool shapes_content();
common_json shaped_content(const common_json & messages, const std::function<std::string(const common_json & parts)> & joined);

// The list of this thread's renderings, if it has that many tools; NULL: none, or another rendering's.
const listed_tools * listed_of(size_t count);

// The tools of this thread's renderings in JSON; none: `list` makes it of those of the inputs.
template <class Tools, class List>
common_json tools_in_json(const Tools & tools, const List & list) {
    const listed_tools * const listed = listed_of(tools.size());
    return listed == nullptr ? list(tools) : listed->list;
}

// Sets the variables of a template, and removes those that it must not get. Strings of the request are marked, those of which templates
// build control tokens are not.
void set_globals(jinja::context & ctx, common_json & variables, bool mark_input);

// Keeps the marks of a text; `used` is the part of it that is used, which lacks the beginning `cut` if the text begins so.
const std::string & keep_marks(const jinja::string & text, const std::string & used, const std::string & cut);

}  // namespace svc
