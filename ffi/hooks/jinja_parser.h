// Reads the syntax of a template from its tokens, as Jinja2's parser does.
#pragma once

#include "jinja_syntax.h"

#include <map>
#include <utility>

namespace svc::j2 {

class parser {
  public:
    parser(syntax_tree & tree, std::vector<token> tokens) : tree(tree), tokens(std::move(tokens)) {}
    nodes all();

  private:
    syntax_tree & tree;
    const std::vector<token> tokens;
    std::map<std::string, uint32_t> symbols;
    size_t place = 0;
    static constexpr int depth_max = 200;
    int depth = 0;
    int loops = 0;  // around the statement that is read, within its macro

    // Bounds the depth of what is read.
    struct level {
        parser & p;
        explicit level(parser & p);
        ~level() { p.depth--; }
    };

    const token & now() const { return tokens[place]; }
    const token & ahead() const { return tokens[std::min(place + 1, tokens.size() - 1)]; }
    bool is_sign(const char * sign) const { return now().type == token_type::sign && now().text == sign; }
    bool is_name(const char * name) const { return now().type == token_type::name && now().text == name; }
    bool took_sign(const char * sign);
    bool took_name(const char * name);
    void expect_sign(const char * sign);
    void expect_name(const char * name);
    std::string any_name();
    [[noreturn]] void fail(const std::string & message) const;
    [[noreturn]] void fail_nested() const;
    void note_height(node & of, const node_ptr & within) const;
    void add(node & to, node_ptr part) const;
    std::string described() const;
    uint32_t symbol_of(const std::string & name);
    node_ptr made(op what) const { return std::make_unique<node>(what, now().at); }
    node_ptr made(op what, node_ptr first) const;
    node_ptr name_node(const std::string & name);
    node_ptr constant_node(value of) const;

    // expressions
    node_ptr expression();
    node_ptr disjunction();
    node_ptr conjunction();
    node_ptr negated();
    node_ptr comparison();
    node_ptr sum();
    node_ptr concatenation();
    node_ptr product();
    node_ptr power();
    node_ptr unary_expression(bool with_filter);
    node_ptr primary();
    node_ptr number();
    node_ptr string_literal();
    node_ptr list_literal();
    node_ptr dict_literal();
    node_ptr tuple(bool with_conditions, bool parentheses, const char * end_name);
    bool tuple_ends(const char * end_name) const;
    node_ptr postfix(node_ptr of);
    node_ptr filters(node_ptr of);
    node_ptr filter(node_ptr of);
    node_ptr test(node_ptr of);
    node_ptr member(node_ptr of);
    node_ptr subscript(node_ptr of);
    node_ptr one_subscript(node_ptr of);
    void arguments(node & into);

    // statements
    nodes statements(std::initializer_list<const char *> ends);
    node_ptr statement();
    node_ptr branch();
    node_ptr loop();
    node_ptr assignment();
    node_ptr macro();
    node_ptr call_block();
    node_ptr filter_block();
    node_ptr scope();
    node_ptr body_of(op what, const char * end);
    node_ptr leave(op what);
    node_ptr target(bool with_attributes);
    void parameters(node & into);
    void end_block();
    void note_uses(node & macro);
};

}  // namespace svc::j2
