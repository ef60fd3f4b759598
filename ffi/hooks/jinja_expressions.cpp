// Reads expressions.

#include "jinja_machine.h"
#include "jinja_parser.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace svc::j2 {

node_ptr parser::expression() {
    const level deeper(*this);
    node_ptr first = disjunction();
    while (took_name("if")) {
        node_ptr out = made(op::conditional, disjunction());
        add(*out, std::move(first));
        if (took_name("else")) add(*out, expression());
        first = std::move(out);
    }
    return first;
}

node_ptr parser::disjunction() {
    node_ptr out = conjunction();
    while (took_name("or")) {
        out = made(op::either, std::move(out));
        add(*out, conjunction());
    }
    return out;
}

node_ptr parser::conjunction() {
    node_ptr out = negated();
    while (took_name("and")) {
        out = made(op::both, std::move(out));
        add(*out, negated());
    }
    return out;
}

node_ptr parser::negated() {
    if (!took_name("not")) return comparison();
    const level deeper(*this);
    return made(op::negation, negated());
}

node_ptr parser::comparison() {
    node_ptr first = sum();
    node_ptr out;
    for (;;) {
        std::string sign;
        if (now().type == token_type::sign) {
            static const std::vector<std::string> signs = {"==", "!=", "<", "<=", ">", ">="};
            if (std::find(signs.begin(), signs.end(), now().text) != signs.end()) sign = now().text;
        } else if (is_name("in")) {
            sign = "in";
        } else if (is_name("not") && ahead().type == token_type::name && ahead().text == "in") {
            sign = "not in";
            place++;
        }
        if (sign.empty()) return out != nullptr ? std::move(out) : std::move(first);
        place++;
        if (out == nullptr) out = made(op::comparison, std::move(first));
        out->signs.push_back(sign);
        add(*out, sum());
    }
}

node_ptr parser::sum() {
    node_ptr out = concatenation();
    while (is_sign("+") || is_sign("-")) {
        out = made(op::arithmetic, std::move(out));
        out->name = tokens[place++].text;
        add(*out, concatenation());
    }
    return out;
}

node_ptr parser::concatenation() {
    node_ptr first = product();
    if (!is_sign("~")) return first;
    node_ptr out = made(op::concatenation, std::move(first));
    while (took_sign("~")) add(*out, product());
    return out;
}

node_ptr parser::product() {
    node_ptr out = power();
    while (is_sign("*") || is_sign("/") || is_sign("//") || is_sign("%")) {
        out = made(op::arithmetic, std::move(out));
        out->name = tokens[place++].text;
        add(*out, power());
    }
    return out;
}

node_ptr parser::power() {
    node_ptr out = unary_expression(true);
    while (is_sign("**")) {
        out = made(op::arithmetic, std::move(out));
        out->name = tokens[place++].text;
        add(*out, unary_expression(true));
    }
    return out;
}

node_ptr parser::unary_expression(bool with_filter) {
    const level deeper(*this);
    node_ptr out;
    if (is_sign("-") || is_sign("+")) {
        const op what = is_sign("-") ? op::negative : op::positive;
        place++;
        out = made(what, unary_expression(false));
    } else {
        out = primary();
    }
    out = postfix(std::move(out));
    return with_filter ? filters(std::move(out)) : std::move(out);
}

node_ptr parser::primary() {
    const token & one = now();
    if (one.type == token_type::name) {
        place++;
        if (one.text == "true" || one.text == "True") return constant_node(boolean_of(true));
        if (one.text == "false" || one.text == "False") return constant_node(boolean_of(false));
        if (one.text == "none" || one.text == "None") return constant_node(none_value());
        node_ptr out = name_node(one.text);
        out->at = one.at;
        return out;
    }
    if (one.type == token_type::string) return string_literal();
    if (one.type == token_type::integer || one.type == token_type::number) return number();
    if (took_sign("(")) {
        node_ptr out = tuple(true, true, nullptr);
        expect_sign(")");
        return out;
    }
    if (is_sign("[")) return list_literal();
    if (is_sign("{")) return dict_literal();
    fail("unexpected " + described());
}

node_ptr parser::string_literal() {
    const size_t at = now().at;
    std::string bytes;
    while (now().type == token_type::string) bytes += tokens[place++].text;
    node_ptr out = constant_node(string_of(bytes));
    out->at = at;
    return out;
}

node_ptr parser::number() {
    const std::string & bytes = now().text;
    node_ptr out = made(op::constant);
    if (now().type == token_type::number) {
        out->constant = number_of(strtod(bytes.c_str(), nullptr));
    } else {
        const char base = bytes.size() > 1 ? (char) (bytes[1] | 0x20) : 0;
        errno = 0;
        const bool prefixed = base == 'x' || base == 'o' || base == 'b';
        out->constant = integer_of(strtoll(bytes.c_str() + (prefixed ? 2 : 0), nullptr, base == 'x' ? 16 : base == 'o' ? 8 : base == 'b' ? 2 : 10));
        if (errno == ERANGE) fail("integers of more than 64 bits are not supported");
    }
    place++;
    return out;
}

node_ptr parser::list_literal() {
    node_ptr out = made(op::list);
    expect_sign("[");
    while (!is_sign("]")) {
        if (!out->parts.empty()) expect_sign(",");
        if (is_sign("]")) break;
        add(*out, expression());
    }
    expect_sign("]");
    return out;
}

node_ptr parser::dict_literal() {
    node_ptr out = made(op::dict);
    expect_sign("{");
    while (!is_sign("}")) {
        if (!out->parts.empty()) expect_sign(",");
        if (is_sign("}")) break;
        add(*out, expression());
        expect_sign(":");
        add(*out, expression());
    }
    expect_sign("}");
    return out;
}

bool parser::tuple_ends(const char * end_name) const {
    return now().type == token_type::block_end || now().type == token_type::print_end || is_sign(")") || (end_name != nullptr && is_name(end_name));
}

node_ptr parser::tuple(bool with_conditions, bool parentheses, const char * end_name) {
    const level deeper(*this);
    node_ptr out = made(op::tuple);
    bool is_tuple = false;
    for (;;) {
        if (!out->parts.empty()) expect_sign(",");
        if (tuple_ends(end_name)) break;
        add(*out, with_conditions ? expression() : disjunction());
        if (!is_sign(",")) break;
        is_tuple = true;
    }
    if (is_tuple) return out;
    if (!out->parts.empty()) return std::move(out->parts[0]);
    if (!parentheses) fail("expected an expression, got " + described());
    return out;
}

node_ptr parser::postfix(node_ptr of) {
    for (;;) {
        if (is_sign(".")) of = member(std::move(of));
        else if (is_sign("[")) of = subscript(std::move(of));
        else if (is_sign("(")) {
            of = made(op::call, std::move(of));
            arguments(*of);
        } else return of;
    }
}

node_ptr parser::filters(node_ptr of) {
    for (;;) {
        if (is_sign("|")) {
            place++;
            of = filter(std::move(of));
        } else if (is_name("is")) of = test(std::move(of));
        else if (is_sign("(")) {
            of = made(op::call, std::move(of));
            arguments(*of);
        } else return of;
    }
}

node_ptr parser::filter(node_ptr of) {
    node_ptr out = made(op::filter, std::move(of));
    out->name = any_name();
    while (took_sign(".")) out->name += "." + any_name();
    if (is_sign("(")) arguments(*out);
    out->function = filter_named(out->name);
    return out;
}

node_ptr parser::test(node_ptr of) {
    expect_name("is");
    const bool negates = took_name("not");
    node_ptr out = made(op::test, std::move(of));
    out->name = any_name();
    while (took_sign(".")) out->name += "." + any_name();
    const token_type next = now().type;
    const bool literal = next == token_type::string || next == token_type::integer || next == token_type::number || is_sign("[") || is_sign("{");
    if (is_sign("(")) {
        arguments(*out);
    } else if (literal || (next == token_type::name && !is_name("else") && !is_name("or") && !is_name("and"))) {
        if (is_name("is")) fail("You cannot chain multiple tests with is");
        add(*out, postfix(primary()));
    }
    out->function = test_named(out->name);
    return negates ? made(op::negation, std::move(out)) : std::move(out);
}

node_ptr parser::member(node_ptr of) {
    node_ptr out = made(op::attribute, std::move(of));
    expect_sign(".");
    if (now().type == token_type::integer) {
        out->what = op::item;
        add(*out, number());
    } else {
        out->name = any_name();
    }
    return out;
}

node_ptr parser::subscript(node_ptr of) {
    node_ptr out = made(op::item, std::move(of));
    expect_sign("[");
    node_ptr key = one_subscript(nullptr);
    if (is_sign(",")) {
        key = made(op::tuple, std::move(key));
        while (took_sign(",")) {
            if (is_sign("]")) break;
            add(*key, one_subscript(nullptr));
        }
    }
    expect_sign("]");
    if (key->what == op::slice) {
        note_height(*key, out->parts[0]);
        key->parts[0] = std::move(out->parts[0]);
        return key;
    }
    add(*out, std::move(key));
    return out;
}

// A key, or a slice whose first part is left open. `of` is not used.
node_ptr parser::one_subscript(node_ptr of) {
    node_ptr out = made(op::slice, std::move(of));
    const auto ends = [&] { return is_sign("]") || is_sign(",") || is_sign(":"); };
    node_ptr start;
    if (!is_sign(":")) {
        start = expression();
        if (!is_sign(":")) return start;
    }
    expect_sign(":");
    add(*out, std::move(start));
    add(*out, ends() ? nullptr : expression());
    add(*out, took_sign(":") && !ends() ? expression() : nullptr);
    return out;
}

void parser::arguments(node & into) {
    const level deeper(*this);
    expect_sign("(");
    bool first = true;
    while (!is_sign(")")) {
        if (!first) expect_sign(",");
        first = false;
        if (is_sign(")")) break;
        if (took_sign("*")) {
            into.more_list = expression();
            note_height(into, into.more_list);
        } else if (took_sign("**")) {
            into.more_named = expression();
            note_height(into, into.more_named);
        } else if (now().type == token_type::name && ahead().type == token_type::sign && ahead().text == "=") {
            const std::string name = any_name();
            expect_sign("=");
            into.named.emplace_back(name, expression());
            note_height(into, into.named.back().second);
        } else {
            if (!into.named.empty()) fail("invalid syntax for function call expression");
            add(into, expression());
        }
    }
    expect_sign(")");
}

}  // namespace svc::j2
