// Filters that apply a filter or a test to each element: map, select, reject, selectattr, rejectattr.

#include "jinja_filters.h"

namespace svc::j2 {
namespace {

// The elements of a value; none of what is empty or no value, as in Jinja2.
std::vector<value> given_elements(machine & m, const value & self) { return is_true(self) ? elements_of(m, self) : std::vector<value>(); }

// The name at the front of the arguments, taken out of them.
std::string taken_name(call_values & args, const char * filter) {
    if (args.list.empty() || !is_string(args.list[0])) throw template_fault(std::string(filter) + " needs the name of a filter or test");
    const std::string name = args.list[0]->val_str.str();
    args.list.erase(args.list.begin());
    return name;
}

value mapped_list(const value & self, bound_arguments & a) {
    call_values args = a.raw;
    std::vector<value> out;
    value attribute, otherwise;
    for (const auto & [name, val] : args.named) {
        if (name == "attribute") attribute = val;
        if (name == "default" && kind_of(val) != kind::none) otherwise = val;
    }
    if (args.list.empty() && attribute != nullptr) {
        if (args.named.size() > (otherwise != nullptr ? 2 : 1)) throw template_fault("map() got an unexpected keyword argument");
        for (const value & one : given_elements(a.m, self)) out.push_back(attribute_path(a.m, one, attribute, otherwise));
        return yielded(std::move(out));
    }
    const std::string name = taken_name(args, "map");
    const builtin * const filter = filter_named(name);
    if (filter == nullptr) throw template_fault("No filter named '" + name + "'");
    for (const value & one : given_elements(a.m, self)) {
        call_values own = args;
        out.push_back(apply(a.m, *filter, one, own));
    }
    return yielded(std::move(out));
}

value chosen(const value & self, bound_arguments & a, bool by_attribute, bool wanted) {
    call_values args = a.raw;
    value path;
    if (by_attribute) {
        if (args.list.empty()) throw template_fault("Missing parameter for attribute name");
        path = args.list[0];
        args.list.erase(args.list.begin());
    }
    const builtin * test = nullptr;
    if (!args.list.empty()) {
        const std::string name = taken_name(args, "select");
        test = test_named(name);
        if (test == nullptr) throw template_fault("No test named '" + name + "'");
    }
    std::vector<value> out;
    for (const value & one : given_elements(a.m, self)) {
        const value tested = by_attribute ? attribute_path(a.m, one, path, nullptr) : one;
        call_values own = args;
        const bool is = test == nullptr ? is_true(tested) : is_true(apply(a.m, *test, tested, own));
        if (is == wanted) out.push_back(one);
    }
    return yielded(std::move(out));
}

const builtin rows[] = {
    {"map", "*", mapped_list},
    {"reject", "*", [](const value & self, bound_arguments & a) { return chosen(self, a, false, false); }},
    {"rejectattr", "*", [](const value & self, bound_arguments & a) { return chosen(self, a, true, false); }},
    {"select", "*", [](const value & self, bound_arguments & a) { return chosen(self, a, false, true); }},
    {"selectattr", "*", [](const value & self, bound_arguments & a) { return chosen(self, a, true, true); }},
};

}  // namespace

const filter_table choice_filters = {rows, sizeof rows / sizeof *rows};

}  // namespace svc::j2
