// Hooks in the chat library (common/chat.cpp): what a template is given, and the marks of what it renders.
#pragma once

#include "jinja_marks.h"
#include "json.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace jinja {
struct context;
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
    // text: the list in JSON.
    explicit template_tools(std::string text) : text(std::move(text)) {}

    // The list, or its first tool alone, as the text says: a template may have changed the values of the rendering before.
    const jinja_value & values(bool first_only);

  private:
    const std::string text;
    jinja_value all, first;
    std::vector<std::pair<const void *, size_t>> shape;  // of the values when they were made
};

// Options of the renderings of a thread while it exists, and their results.
class renderings {
  public:
    renderings();
    renderings(const renderings &) = delete;
    ~renderings();

    bool says_thinking = true;  // if not, templates are not given `enable_thinking`
    std::shared_ptr<template_tools> tools;  // none: those of the rendering's inputs
    bool first_tool_only = false;
    std::vector<rendered_text> texts;

  private:
    renderings * const outer;
};

// The options of this thread's renderings; none: nullptr.
renderings * current_renderings();

// Whether the tools of this thread's renderings are kept ones.
bool keeps_tools();

// Sets the variables of a template, and removes those that it must not get. Strings of the request are marked, those of which templates
// build control tokens are not.
void set_globals(jinja::context & ctx, common_json & variables, bool mark_input);

// Keeps the marks of a text; `used` is the part of it that is used, which lacks the beginning `cut` if the text begins so.
const std::string & keep_marks(const jinja::string & text, const std::string & used, const std::string & cut);

}  // namespace svc
