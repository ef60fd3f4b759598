// Tests: `x is …`.

#include "jinja_machine.h"

#include <algorithm>

namespace svc::j2 {
namespace {

value is_iterable(const value & self, bound_arguments &) {
    const kind type = kind_of(self);
    return boolean_of(type == kind::undefined || type == kind::string || type == kind::list || type == kind::tuple || type == kind::dict);
}

value is_sequence(const value & self, bound_arguments & a) {
    const auto * const view = dynamic_cast<const view_t *>(self.get());
    if (view != nullptr) return boolean_of(view->before.compare(0, 5, "range") == 0);
    return is_iterable(self, a);
}

value is_lower(const value & self, bound_arguments &) {
    const std::vector<uint32_t> all = codes_of(text_of(self).str());
    return boolean_of(std::any_of(all.begin(), all.end(), is_lowercase) && std::none_of(all.begin(), all.end(), is_uppercase));
}

value is_upper(const value & self, bound_arguments &) {
    const std::vector<uint32_t> all = codes_of(text_of(self).str());
    return boolean_of(std::any_of(all.begin(), all.end(), is_uppercase) && std::none_of(all.begin(), all.end(), is_lowercase));
}

value is_same(const value & self, bound_arguments & a) {
    const value & other = a[0];
    const kind type = kind_of(self);
    if (self == other) return boolean_of(true);
    const bool singles = type == kind::none || type == kind::boolean || type == kind::integer || type == kind::string;
    return boolean_of(singles && type == kind_of(other) && equal(self, other));
}

template <kind type>
value is_kind(const value & self, bound_arguments &) { return boolean_of(kind_of(self) == type); }

// A comparison; orders that fit: bits 1 (less), 2 (equal), 4 (greater).
template <int fits>
value is_ordered(const value & self, bound_arguments & a) {
    const int how = order(self, a[0], fits == 1 ? "<" : fits == 4 ? ">" : fits == 3 ? "<=" : ">=");
    return boolean_of(how != 2 && (fits & (how < 0 ? 1 : how == 0 ? 2 : 4)) != 0);
}

value is_equal(const value & self, bound_arguments & a) { return boolean_of(equal(self, a[0])); }
value is_unequal(const value & self, bound_arguments & a) { return boolean_of(!equal(self, a[0])); }

int64_t rest(const value & self, bound_arguments & a, int64_t by) {
    const value out = binary(a.m, "%", self, integer_of(by));
    return kind_of(out) == kind::number ? (out->val_flt == 0 ? 0 : out->val_flt == 1 ? 1 : 2) : out->val_int;
}

const builtin rows[] = {
    {"boolean", "", is_kind<kind::boolean>},
    {"callable", "", [](const value & self, bound_arguments &) { return boolean_of(thing_of(self) != nullptr && thing_of(self)->callable()); }},
    {"defined", "", [](const value & self, bound_arguments &) { return boolean_of(!is_undefined(self)); }},
    {"divisibleby", "num", [](const value & self, bound_arguments & a) { return boolean_of(!is_true(binary(a.m, "%", self, a[0]))); }},
    {"escaped", "", [](const value & self, bound_arguments &) { return boolean_of(is_markup(self)); }},
    {"even", "", [](const value & self, bound_arguments & a) { return boolean_of(rest(self, a, 2) == 0); }},
    {"false", "", [](const value & self, bound_arguments &) { return boolean_of(kind_of(self) == kind::boolean && !is_true(self)); }},
    {"filter", "", [](const value & self, bound_arguments &) { return boolean_of(filter_named(text_of(self).str()) != nullptr); }},
    {"float", "", is_kind<kind::number>},
    {"in", "seq", [](const value & self, bound_arguments & a) { return boolean_of(contains(a[0], self)); }},
    {"integer", "", is_kind<kind::integer>},
    {"iterable", "", is_iterable},
    {"lower", "", is_lower},
    {"mapping", "", is_kind<kind::dict>},
    {"none", "", is_kind<kind::none>},
    {"number", "", [](const value & self, bound_arguments &) { return boolean_of(is_number(self)); }},
    {"odd", "", [](const value & self, bound_arguments & a) { return boolean_of(rest(self, a, 2) == 1); }},
    {"sameas", "other", is_same},
    {"sequence", "", is_sequence},
    {"string", "", is_kind<kind::string>},
    {"test", "", [](const value & self, bound_arguments &) { return boolean_of(test_named(text_of(self).str()) != nullptr); }},
    {"true", "", [](const value & self, bound_arguments &) { return boolean_of(kind_of(self) == kind::boolean && is_true(self)); }},
    {"undefined", "", is_kind<kind::undefined>},
    {"upper", "", is_upper},
    {"==", "b", is_equal}, {"eq", "b", is_equal}, {"equalto", "b", is_equal},
    {"!=", "b", is_unequal}, {"ne", "b", is_unequal},
    {"<", "b", is_ordered<1>}, {"lt", "b", is_ordered<1>}, {"lessthan", "b", is_ordered<1>},
    {"<=", "b", is_ordered<3>}, {"le", "b", is_ordered<3>},
    {">", "b", is_ordered<4>}, {"gt", "b", is_ordered<4>}, {"greaterthan", "b", is_ordered<4>},
    {">=", "b", is_ordered<6>}, {"ge", "b", is_ordered<6>},
};

}  // namespace

const builtin * test_named(const std::string & name) {
    for (const builtin & row : rows) {
        if (name == row.name) return &row;
    }
    return nullptr;
}

}  // namespace svc::j2
