// What values are: types, truth, equality, order.

#include "jinja_values.h"

#include "jinja_machine.h"

#include <algorithm>
#include <cmath>
#include <typeinfo>

namespace svc::j2 {

kind kind_of(const value & of) {
    const jinja::value_t & one = *of;
    const std::type_info & type = typeid(one);
    if (type == typeid(jinja::value_string_t)) return kind::string;
    if (type == typeid(jinja::value_object_t)) return kind::dict;
    if (type == typeid(jinja::value_array_t)) return kind::list;
    if (type == typeid(jinja::value_int_t)) return kind::integer;
    if (type == typeid(jinja::value_bool_t)) return kind::boolean;
    if (type == typeid(jinja::value_undefined_t)) return kind::undefined;
    if (type == typeid(jinja::value_none_t)) return kind::none;
    if (type == typeid(jinja::value_float_t)) return kind::number;
    if (type == typeid(jinja::value_tuple_t) || type == typeid(group_t)) return kind::tuple;
    if (type == typeid(markup_t)) return kind::string;
    if (type == typeid(view_t)) return kind::list;
    return kind::thing;
}

value namespace_t::attribute(machine &, const std::string & name) {
    for (const auto & [own, val] : names) {
        if (own == name) return val;
    }
    return nullptr;
}

void namespace_t::set(const std::string & name, const value & to) {
    for (auto & [own, val] : names) {
        if (own != name) continue;
        val = to;
        return;
    }
    names.emplace_back(name, to);
}

value list_of_texts(const std::vector<text> & texts) {
    std::vector<value> out;
    for (const text & one : texts) out.push_back(string_of(one));
    return list_of(std::move(out));
}

std::string type_of(const value & of) {
    switch (kind_of(of)) {
        case kind::undefined: return "Undefined";
        case kind::none: return "NoneType";
        case kind::boolean: return "bool";
        case kind::integer: return "int";
        case kind::number: return "float";
        case kind::string: return "str";
        case kind::list: return "list";
        case kind::tuple: return "tuple";
        case kind::dict: return "dict";
        case kind::thing: break;
    }
    const thing_t * const thing = thing_of(of);
    return thing == nullptr ? of->type() : thing->python_type();
}

bool is_true(const value & of) {
    switch (kind_of(of)) {
        case kind::undefined:
        case kind::none: return false;
        case kind::integer:
        case kind::boolean: return of->val_int != 0;
        case kind::number: return of->val_flt != 0;
        case kind::string:
            for (const auto & part : of->val_str.parts) {
                if (!part.val.empty()) return true;
            }
            return false;
        case kind::dict: return !of->val_obj.empty();
        case kind::list:
        case kind::tuple:
        case kind::thing: break;
    }
    return of->as_bool();
}

int64_t whole(const value & of, const char * what) {
    const kind type = kind_of(of);
    if (type != kind::integer && type != kind::boolean) throw template_fault(std::string(what) + " must be an integer, not " + type_of(of));
    return of->val_int;
}

double real(const value & of) { return kind_of(of) == kind::number ? of->val_flt : (double) of->val_int; }

namespace {

constexpr int depth_max = 200;

// Counts how deep values of values are compared.
struct depth_guard {
    static thread_local int depth;
    depth_guard() {
        if (++depth > depth_max) {
            depth--;
            throw template_fault("values are nested more than " + std::to_string(depth_max) + " deep");
        }
    }
    ~depth_guard() { depth--; }
};
thread_local int depth_guard::depth = 0;

bool equal_items(const std::vector<value> & a, const std::vector<value> & b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); i++) {
        if (!equal(a[i], b[i])) return false;
    }
    return true;
}

bool equal_objects(const value & a, const value & b) {
    if (a->val_obj.size() != b->val_obj.size()) return false;
    for (const auto & [key, val] : a->val_obj) {
        const value other = found_in(b, key);
        if (other == nullptr || !equal(val, other)) return false;
    }
    return true;
}

}  // namespace

bool equal(const value & a, const value & b) {
    if (a == b) return kind_of(a) != kind::number || !std::isnan(a->val_flt);
    const kind type = kind_of(a);
    if (is_number(a) && is_number(b)) {
        const bool floats = type == kind::number || kind_of(b) == kind::number;
        return floats ? real(a) == real(b) : a->val_int == b->val_int;
    }
    if (type != kind_of(b)) return false;
    const depth_guard guard;
    count_steps(1);
    switch (type) {
        case kind::undefined:
        case kind::none: return true;
        case kind::string: count_steps(a->val_str.length() / 256); return a->val_str.str() == b->val_str.str();
        case kind::list:
        case kind::tuple: return equal_items(a->val_arr, b->val_arr);
        case kind::dict: return equal_objects(a, b);
        default: return false;
    }
}

int order(const value & a, const value & b, const char * sign) {
    const kind type = kind_of(a);
    if (is_number(a) && is_number(b)) {
        if (type != kind::number && kind_of(b) != kind::number) return a->val_int < b->val_int ? -1 : a->val_int > b->val_int;
        const double x = real(a), y = real(b);
        return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;  // 2: no number
    }
    if (type == kind::string && kind_of(b) == kind::string) {
        const int one = a->val_str.str().compare(b->val_str.str());
        return one < 0 ? -1 : one > 0;
    }
    count_steps(1);
    if ((type == kind::list || type == kind::tuple) && type == kind_of(b)) {
        const depth_guard guard;
        const size_t n = std::min(a->val_arr.size(), b->val_arr.size());
        for (size_t i = 0; i < n; i++) {
            if (!equal(a->val_arr[i], b->val_arr[i])) return order(a->val_arr[i], b->val_arr[i], sign);
        }
        return a->val_arr.size() < b->val_arr.size() ? -1 : a->val_arr.size() > b->val_arr.size();
    }
    for (const value & one : {a, b}) {
        if (is_undefined(one)) throw template_fault(undefined_text(one));
    }
    throw template_fault("'" + std::string(sign) + "' not supported between instances of '" + type_of(a) + "' and '" + type_of(b) + "'");
}

bool contains(const value & in, const value & one) {
    switch (kind_of(in)) {
        case kind::undefined: return false;
        case kind::string:
            if (!is_string(one)) throw template_fault("'in <string>' requires string as left operand, not " + type_of(one));
            return in->val_str.str().find(one->val_str.str()) != std::string::npos;
        case kind::dict: return found_in(in, one) != nullptr;
        case kind::list:
        case kind::tuple: return std::any_of(in->val_arr.begin(), in->val_arr.end(), [&](const value & item) { return equal(item, one); });
        default: throw template_fault("argument of type '" + type_of(in) + "' is not iterable");
    }
}

// Keys are compared by upstream, which knows no subtypes of strings.
value key_of(const value & key) {
    const kind type = kind_of(key);
    if (type == kind::list || type == kind::dict) throw template_fault("unhashable type: '" + type_of(key) + "'");
    return is_markup(key) ? string_of(key->val_str) : key;
}

void insert(const value & into, const value & key, const value & to) {
    auto * const object = dynamic_cast<jinja::value_object_t *>(into.get());
    const value own = key_of(key);
    const auto [at, added] = object->unordered.insert_or_assign(own, to);
    if (added) {
        object->val_obj.emplace_back(own, to);
        return;
    }
    for (auto & [name, val] : object->val_obj) {
        if (equal(name, own)) val = to;
    }
}

value found_in(const value & object, const value & key) {
    const auto & index = dynamic_cast<jinja::value_object_t &>(*object).unordered;
    const auto at = index.find(key_of(key));
    return at == index.end() ? nullptr : at->second;
}

}  // namespace svc::j2
