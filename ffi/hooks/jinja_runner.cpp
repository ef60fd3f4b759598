// Executes statements and evaluates expressions.

#include "jinja_runner.h"

#include "jinja_things.h"

#include <algorithm>

namespace svc::j2 {

runner::runner(const syntax_tree & tree, machine & m) : tree(tree), m(m), here(std::make_shared<names>()), outside(tree.symbols.size()) {
    const auto loop = std::find(tree.symbols.begin(), tree.symbols.end(), "loop");
    loop_symbol = loop == tree.symbols.end() ? UINT32_MAX : (uint32_t) (loop - tree.symbols.begin());
}

runner::~runner() {
    for (const auto & one : captured) {
        if (const names_ptr held = one.lock()) held->own.clear();
    }
}

text runner::rendered() {
    text_writer out;
    run(tree.body, out);
    return out.taken();
}

value runner::lookup(uint32_t symbol) {
    for (const names * one = here.get(); one != nullptr; one = one->around.get()) {
        for (const auto & [name, val] : one->own) {
            if (name == symbol) return val;
        }
    }
    value & known = outside[symbol];
    if (known == nullptr) {
        const std::string & name = tree.symbols[symbol];
        known = m.context.get_val(name);
        if (is_undefined(known)) {
            const value global = global_named(name);
            known = global != nullptr ? global : undefined_of("'" + name + "' is undefined");
        }
    }
    if (m.observes() && !is_undefined(known)) m.used(known);
    return known;
}

void runner::set(uint32_t symbol, const value & to) {
    for (auto & [name, val] : here->own) {
        if (name != symbol) continue;
        val = to;
        return;
    }
    here->own.emplace_back(symbol, to);
}

void runner::assign(const node & target, const value & to) {
    if (target.what == op::name) return set(target.symbol, to);
    if (target.what == op::attribute) {
        auto * const space = dynamic_cast<namespace_t *>(eval(*target.parts[0]).get());
        if (space == nullptr) throw template_fault("cannot assign attribute on non-namespace object");
        return space->set(target.name, to);
    }
    const std::vector<value> all = elements_of(m, to);
    if (all.size() != target.parts.size()) {
        const char * const what = all.size() < target.parts.size() ? "not enough" : "too many";
        throw template_fault(std::string(what) + " values to unpack (expected " + std::to_string(target.parts.size()) + ", got " + std::to_string(all.size()) + ")");
    }
    for (size_t i = 0; i < all.size(); i++) assign(*target.parts[i], all[i]);
}

// ---- expressions -----------------------------------------------------------------------------------------------------

value runner::eval(const node & of) {
    const machine::level deeper(m);
    m.step();
    const auto part = [&](size_t i) { return i < of.parts.size() && of.parts[i] != nullptr ? eval(*of.parts[i]) : nullptr; };
    const auto all = [&] {
        std::vector<value> out;
        for (const node_ptr & one : of.parts) out.push_back(eval(*one));
        return out;
    };
    switch (of.what) {
        case op::constant: return of.constant;
        case op::name: return lookup(of.symbol);
        case op::list:
        case op::tuple:
        case op::dict: {
            const value out = of.what == op::list ? list_of(all()) : of.what == op::tuple ? tuple_of(all()) : dict(of);
            m.nested(out);
            return out;
        }
        case op::negation: return boolean_of(!is_true(part(0)));
        case op::conditional: {
            if (is_true(part(0))) return part(1);
            const value otherwise = part(2);
            return otherwise != nullptr ? otherwise : undefined_of("the inline if-expression evaluated to false and no else section was defined");
        }
        case op::both: {
            value first = part(0);
            return is_true(first) ? part(1) : first;
        }
        case op::either: {
            value first = part(0);
            return is_true(first) ? first : part(1);
        }
        case op::comparison: return compared(of);
        case op::call: return called_node(of);
        case op::filter: return filtered(of);
        case op::test: return tested(of);
        default: break;
    }
    const std::vector<value> values = [&] {
        std::vector<value> out;
        for (size_t i = 0; i < of.parts.size(); i++) out.push_back(part(i));
        return out;
    }();
    m.at = of.at;
    switch (of.what) {
        case op::negative:
        case op::positive: return unary(of.what == op::negative ? "-" : "+", values[0]);
        case op::arithmetic: return binary(m, of.name, values[0], values[1]);
        case op::concatenation: return concatenated(m, values);
        case op::attribute: return attribute_of(m, values[0], of.name);
        case op::item: return item_of(m, values[0], values[1]);
        default: return slice_of(m, values[0], values[1], values[2], values[3]);
    }
}

value runner::compared(const node & of) {
    value left = eval(*of.parts[0]);
    for (size_t i = 0; i < of.signs.size(); i++) {
        const value right = eval(*of.parts[i + 1]);
        m.at = of.at;
        const std::string & sign = of.signs[i];
        const auto ordered = [&] { return order(left, right, sign.c_str()); };
        const bool is = sign == "==" ? equal(left, right) : sign == "!=" ? !equal(left, right) : sign == "in" ? contains(right, left)
            : sign == "not in" ? !contains(right, left) : sign == "<" ? ordered() == -1 : sign == ">" ? ordered() == 1
            : sign == "<=" ? ordered() <= 0 : (ordered() == 0 || ordered() == 1);
        if (m.observes() && (sign == "in" || sign == "not in")) m.used(right);
        if (!is) return boolean_of(false);
        left = right;
    }
    return boolean_of(true);
}

value runner::dict(const node & of) {
    const value out = mk_val<jinja::value_object>();
    for (size_t i = 0; i < of.parts.size(); i += 2) {
        const value key = eval(*of.parts[i]);
        insert(out, key, eval(*of.parts[i + 1]));
    }
    return out;
}

call_values runner::arguments(const node & of, size_t first) {
    call_values out;
    for (size_t i = first; i < of.parts.size(); i++) out.list.push_back(eval(*of.parts[i]));
    if (of.more_list != nullptr) {
        for (value & one : elements_of(m, eval(*of.more_list))) out.list.push_back(std::move(one));
    }
    for (const auto & [name, one] : of.named) out.named.emplace_back(name, eval(*one));
    if (of.more_named != nullptr) {
        const value more = eval(*of.more_named);
        if (!is_dict(more)) throw template_fault("argument after ** must be a mapping, not " + type_of(more));
        for (const auto & [key, val] : more->val_obj) out.named.emplace_back(text_of(key).str(), val);
    }
    return out;
}

value runner::called_node(const node & of) {
    const value callee = eval(*of.parts[0]);
    call_values args = arguments(of, 1);
    m.at = of.at;
    return called(m, callee, args);
}

value runner::filtered(const node & of) {
    return filtered(of, eval(*of.parts[0]));
}

value runner::filtered(const node & of, value input) {
    call_values args = arguments(of, 1);
    m.at = of.at;
    if (m.observes()) m.used(input, of.name.c_str());
    return apply(m, *of.function, input, args);
}

value runner::tested(const node & of) {
    const value input = eval(*of.parts[0]);
    call_values args = arguments(of, 1);
    m.at = of.at;
    if (m.observes()) m.used(input, ("test_is_" + of.name).c_str());
    return apply(m, *of.function, input, args);
}

// ---- statements ------------------------------------------------------------------------------------------------------

void runner::print(const value & of, text_writer & out) {
    if (m.observes()) m.used(of, nullptr, true);
    const text shown = text_of(of);
    out.add(shown);
    m.made(shown.length());
}

text runner::block(const nodes & body) {
    text_writer out;
    run(body, out);
    return out.taken();
}

runner::flow runner::run(const nodes & all, text_writer & out) {
    for (const node_ptr & one : all) {
        const flow how = run(*one, out);
        if (how != flow::on) return how;
    }
    return flow::on;
}

runner::flow runner::run(const node & of, text_writer & out) {
    const machine::level deeper(m);
    m.step();
    m.at = of.at;
    switch (of.what) {
        case op::output: out.add(of.constant->val_str); break;
        case op::print: {
            const value shown = eval(*of.parts[0]);
            m.at = of.at;
            print(shown, out);
            break;
        }
        case op::branch: return run(is_true(eval(*of.parts[0])) ? of.body : of.otherwise, out);
        case op::loop: return run_loop(of, out);
        case op::assign: assign(*of.parts[0], eval(*of.parts[1])); break;
        case op::assign_block: {
            text made;
            {
                const part inner(*this);
                made = block(of.body);
            }
            assign(*of.parts[0], filtered_block(*of.parts[1], std::move(made)));
            break;
        }
        case op::filter_block: {
            const part inner(*this);
            print(filtered_block(*of.parts[0], block(of.body)), out);
            break;
        }
        case op::macro: set(of.symbol, macro_of(of)); break;
        case op::call_block: {
            const node & call = *of.parts[0];
            const value callee = eval(*call.parts[0]);
            call_values args = arguments(call, 1);
            args.named.emplace_back("caller", macro_of(*of.body[0]));
            m.at = of.at;
            print(called(m, callee, args), out);
            break;
        }
        case op::scope: return run_scope(of, out);
        case op::evaluate: eval(*of.parts[0]); break;
        case op::leave: return flow::left;
        case op::again: return flow::again;
        default: break;
    }
    return flow::on;
}

// Applies the filters of a block to its text, which stands where the innermost of them has no operand.
value runner::filtered_block(const node & of, text made) {
    if (of.what != op::filter) return string_of(std::move(made));
    return filtered(of, filtered_block(*of.parts[0], std::move(made)));
}

runner::flow runner::run_scope(const node & of, text_writer & out) {
    std::vector<value> values;
    for (size_t i = 1; i < of.parts.size(); i += 2) values.push_back(eval(*of.parts[i]));
    const part inner(*this);
    for (size_t i = 0; i < values.size(); i++) assign(*of.parts[2 * i], values[i]);
    return run(of.body, out);
}

// The elements that a loop's condition selects.
std::vector<value> runner::selected(const node & of, const value & iterable) {
    std::vector<value> all = elements_of(m, iterable);
    if (of.parts[2] == nullptr) return all;
    std::vector<value> out;
    for (value & one : all) {
        const part inner(*this);
        assign(*of.parts[0], one);
        if (is_true(eval(*of.parts[2]))) out.push_back(std::move(one));
    }
    return out;
}

runner::flow runner::run_loop(const node & of, text_writer & out) {
    return loop_over(of, items_of(of), out, 0);
}

// A loop in a loop over messages often counts through all of them: such numbers are not put into lists.
loop_items runner::items_of(const node & of) {
    const node & iterable = *of.parts[1];
    if (iterable.what != op::call || of.parts[2] != nullptr) {
        const value all = eval(iterable);
        m.at = of.at;
        return {selected(of, all)};
    }
    const value callee = eval(*iterable.parts[0]);
    call_values args = arguments(iterable, 1);
    m.at = iterable.at;
    if (is_range(callee)) return {{}, range_of(args)};
    const value all = called(m, callee, args);
    m.at = of.at;
    return {selected(of, all)};
}

runner::flow runner::loop_over(const node & of, loop_items items, text_writer & out, int64_t depth) {
    const auto loop = std::make_shared<loop_t>(*this, of, here, std::move(items), depth);
    bool whole = false;
    for (; loop->index < loop->items.size(); loop->index++) {
        m.step();
        const part inner(*this);
        if (loop_symbol != UINT32_MAX) set(loop_symbol, loop);
        assign(*of.parts[0], loop->items[loop->index]);
        const flow how = run(of.body, out);
        if (how == flow::left) break;
        whole = whole || how == flow::on;
    }
    if (!whole && !of.otherwise.empty()) {  // as in Jinja2: also where each turn was left early
        const part inner(*this);
        return run(of.otherwise, out);
    }
    return flow::on;
}

value runner::macro_of(const node & of) {
    captured.push_back(here);
    return std::make_shared<macro_t>(*this, of, here);
}

}  // namespace svc::j2
