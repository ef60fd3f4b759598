// Macros and `loop`.

#include "jinja_things.h"

#include <algorithm>

namespace svc::j2 {

bool macro_t::uses(const char * name) const { return std::find(of.signs.begin(), of.signs.end(), name) != of.signs.end(); }

value macro_t::attribute(machine &, const std::string & name) {
    if (name == "name") return string_of(of.name);
    if (name == "catch_kwargs") return boolean_of(uses("kwargs"));
    if (name == "catch_varargs") return boolean_of(uses("varargs"));
    if (name == "caller") return boolean_of(uses("caller"));
    if (name != "arguments") return nullptr;
    std::vector<value> out;
    for (const uint32_t symbol : of.parameters) out.push_back(string_of(r.tree.symbols[symbol]));
    return tuple_of(std::move(out));
}

// The argument of the parameter `i`, taken out of the named ones; none: nullptr.
value macro_t::bound(machine &, size_t i, call_values & args) const {
    const std::string & name = r.tree.symbols[of.parameters[i]];
    const auto named = std::find_if(args.named.begin(), args.named.end(), [&](const auto & one) { return one.first == name; });
    value out = i < args.list.size() ? args.list[i] : nullptr;
    if (named == args.named.end()) return out;
    if (out != nullptr) throw template_fault("macro '" + of.name + "' got multiple values for argument '" + name + "'");
    out = named->second;
    args.named.erase(named);
    return out;
}

value macro_t::call(machine & m, call_values & args) {
    const runner::part inner(r, around);
    const size_t n = of.parameters.size();
    for (size_t i = 0; i < n; i++) {
        value one = bound(m, i, args);
        const size_t required = n - of.parts.size();
        if (one == nullptr && i >= required) one = r.eval(*of.parts[i - required]);
        if (one == nullptr) one = undefined_of("parameter '" + r.tree.symbols[of.parameters[i]] + "' was not provided");
        r.set(of.parameters[i], one);
    }
    const auto symbol = [&](const char * name) { return (uint32_t) (std::find(r.tree.symbols.begin(), r.tree.symbols.end(), name) - r.tree.symbols.begin()); };
    const auto caller = std::find_if(args.named.begin(), args.named.end(), [](const auto & one) { return one.first == "caller"; });
    if (uses("caller")) r.set(symbol("caller"), caller != args.named.end() ? caller->second : undefined_of("No caller defined"));
    if (uses("caller") && caller != args.named.end()) args.named.erase(caller);
    if (uses("varargs")) {
        const size_t taken = std::min(n, args.list.size());
        r.set(symbol("varargs"), tuple_of({args.list.begin() + (std::ptrdiff_t) taken, args.list.end()}));
    } else if (args.list.size() > n) {
        throw template_fault("macro '" + of.name + "' takes not more than " + std::to_string(n) + " argument(s)");
    }
    if (uses("kwargs")) {
        const value all = mk_val<jinja::value_object>();
        for (const auto & [name, val] : args.named) j2::insert(all, string_of(name), val);
        r.set(symbol("kwargs"), all);
    } else if (!args.named.empty()) {
        throw template_fault("macro '" + of.name + "' takes no keyword argument '" + args.named[0].first + "'");
    }
    return string_of(r.block(of.body));
}

std::string loop_t::shown() const { return "<LoopContext " + std::to_string(index + 1) + "/" + std::to_string(items.size()) + ">"; }

value loop_t::attribute(machine &, const std::string & name) {
    const auto at = (int64_t) index, size = (int64_t) items.size();
    if (name == "index") return integer_of(at + 1);
    if (name == "index0") return integer_of(at);
    if (name == "revindex") return integer_of(size - at);
    if (name == "revindex0") return integer_of(size - at - 1);
    if (name == "first") return boolean_of(at == 0);
    if (name == "last") return boolean_of(at + 1 == size);
    if (name == "length") return integer_of(size);
    if (name == "depth") return integer_of(depth + 1);
    if (name == "depth0") return integer_of(depth);
    if (name == "previtem") return at > 0 ? items[index - 1] : undefined_of("there is no previous item");
    if (name == "nextitem") return at + 1 < size ? items[index + 1] : undefined_of("there is no next item");
    if (name == "cycle") {
        return std::make_shared<function_t>(name, [self = shared_from_this()](machine &, call_values & args) {
            if (args.list.empty()) throw template_fault("no items for cycling given");
            return args.list[self->index % args.list.size()];
        });
    }
    if (name == "changed") {
        return std::make_shared<function_t>(name, [self = shared_from_this()](machine &, call_values & args) {
            const bool same = self->has_changed && equal(list_of(self->last_changed), list_of(args.list));
            self->last_changed = args.list;
            self->has_changed = true;
            return boolean_of(!same);
        });
    }
    return nullptr;
}

value loop_t::call(machine & m, call_values & args) {
    if (args.list.size() != 1) throw template_fault("loop() takes one argument");
    const runner::part inner(r, around);
    text_writer out;
    (void) m;
    r.loop_over(of, {r.selected(of, args.list[0])}, out, depth + 1);
    return string_of(out.taken());
}

}  // namespace svc::j2
