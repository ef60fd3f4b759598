// The syntax tree of a template.
#pragma once

#include "jinja_values.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace svc::j2 {

struct builtin;
struct node;
using node_ptr = std::unique_ptr<node>;
using nodes = std::vector<node_ptr>;

enum class op {
    // expressions
    constant, name, list, tuple, dict, negative, positive, negation, arithmetic, concatenation, both, either, comparison, conditional, attribute,
    item, slice, call, filter, test,
    // statements
    output, print, branch, loop, assign, assign_block, macro, call_block, filter_block, scope, evaluate, leave, again
};

struct node {
    op what;
    size_t at;  // byte of the template
    int height = 1;  // of an expression: it and what is nested in it
    std::string name;  // of a variable, an attribute, a filter, a sign
    uint32_t symbol = 0;  // of a name
    value constant;
    nodes parts;  // operands, positional arguments; of a loop: target, iterable, condition
    std::vector<std::pair<std::string, node_ptr>> named;  // arguments by name
    node_ptr more_list, more_named;  // *arguments, **arguments
    nodes body, otherwise;
    std::vector<std::string> signs;  // of comparisons
    const builtin * function = nullptr;  // of a filter or a test
    std::vector<uint32_t> parameters;  // of a macro; their default values are the last of `parts`
    bool flag = false;  // of a loop: recursive. Of a macro: uses varargs, kwargs, caller

    node(op what, size_t at) : what(what), at(at) {}
};

struct syntax_tree {
    std::string source;
    nodes body;
    std::vector<std::string> symbols;
};

// A template that is no template, or uses what is not supported.
struct syntax_fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// "line 3: message: `the line`"
std::string located(const std::string & source, size_t at, const std::string & message);

enum class token_type { data, block_begin, block_end, print_begin, print_end, name, string, integer, number, sign, end };

struct token {
    token_type type;
    std::string text;
    size_t at;
};

std::vector<token> tokens_of(const std::string & source);
std::shared_ptr<const syntax_tree> parsed(const std::string & source);
// Refuses functions, filters and tests that do not exist.
void check_names(const syntax_tree & tree);

}  // namespace svc::j2
