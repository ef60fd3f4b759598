// What reading expressions and statements has in common.

#include "jinja_parser.h"

namespace svc::j2 {

parser::level::level(parser & p) : p(p) {
    if (++p.depth > depth_max) p.fail_nested();
}

void parser::fail_nested() const { fail("the template is nested more than " + std::to_string(depth_max) + " deep"); }

bool parser::took_sign(const char * sign) {
    if (!is_sign(sign)) return false;
    place++;
    return true;
}

bool parser::took_name(const char * name) {
    if (!is_name(name)) return false;
    place++;
    return true;
}

void parser::expect_sign(const char * sign) {
    if (!took_sign(sign)) fail(std::string("expected '") + sign + "', got " + described());
}

void parser::expect_name(const char * name) {
    if (!took_name(name)) fail(std::string("expected '") + name + "', got " + described());
}

std::string parser::any_name() {
    if (now().type != token_type::name) fail("expected a name, got " + described());
    return tokens[place++].text;
}

std::string parser::described() const {
    switch (now().type) {
        case token_type::block_end: return "end of statement block";
        case token_type::print_end: return "end of print statement";
        case token_type::end: return "end of template";
        default: return "'" + now().text + "'";
    }
}

void parser::fail(const std::string & message) const { throw syntax_fault(located(tree.source, now().at, message)); }

uint32_t parser::symbol_of(const std::string & name) {
    const auto [at, added] = symbols.try_emplace(name, (uint32_t) tree.symbols.size());
    if (added) tree.symbols.push_back(name);
    return at->second;
}

// Chains, too, are nested: `a + b + c` has `a + b` in it.
void parser::note_height(node & of, const node_ptr & within) const {
    if (within == nullptr) return;
    of.height = std::max(of.height, within->height + 1);
    if (of.height > depth_max) fail_nested();
}

void parser::add(node & to, node_ptr part) const {
    note_height(to, part);
    to.parts.push_back(std::move(part));
}

node_ptr parser::made(op what, node_ptr first) const {
    node_ptr out = made(what);
    add(*out, std::move(first));
    return out;
}

node_ptr parser::name_node(const std::string & name) {
    node_ptr out = made(op::name);
    out->name = name;
    out->symbol = symbol_of(name);
    return out;
}

node_ptr parser::constant_node(value of) const {
    node_ptr out = made(op::constant);
    if (is_string(of)) of->val_str.parts.seal();
    out->constant = std::move(of);
    return out;
}

}  // namespace svc::j2
