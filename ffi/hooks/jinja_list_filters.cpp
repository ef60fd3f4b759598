// Filters of lists.

#include "jinja_filters.h"

#include <algorithm>
#include <random>

namespace svc::j2 {

value attribute_path(machine & m, const value & of, const value & path, const value & otherwise) {
    value out = of;
    if (kind_of(path) == kind::integer) {
        out = item_of(m, of, path);
    } else {
        const std::string separator = ".";
        for (const text & part : split(text_of(path), &separator, -1)) {
            const std::string name = part.str();
            const bool place = !name.empty() && name.find_first_not_of("0123456789") == std::string::npos && name.size() < 10;
            out = item_of(m, out, place ? integer_of(std::stol(name)) : string_of(part));
            if (otherwise != nullptr && is_undefined(out)) return otherwise;
        }
    }
    return otherwise != nullptr && is_undefined(out) ? otherwise : out;
}

value ignoring_case(const value & of) { return is_string(of) ? string_of(lower(of->val_str)) : of; }

void sort_values(machine & m, std::vector<std::pair<value, value>> & all, bool reverse) {
    m.step(all.size());
    const auto less = [](const auto & a, const auto & b) { return order(a.first, b.first, "<") == -1; };
    if (reverse) std::reverse(all.begin(), all.end());
    std::stable_sort(all.begin(), all.end(), less);
    if (reverse) std::reverse(all.begin(), all.end());
}

namespace {

// Each element with the key that orders it: an attribute of it, several apart by commas, or itself.
std::vector<std::pair<value, value>> with_keys(machine & m, const value & of, const value & attribute, bool case_sensitive, const value & otherwise = nullptr) {
    std::vector<value> paths;
    if (attribute != nullptr && is_string(attribute)) {
        const std::string comma = ",";
        for (const text & one : split(attribute->val_str, &comma, -1)) paths.push_back(string_of(stripped(one, true, true, nullptr)));
    } else if (attribute != nullptr && kind_of(attribute) != kind::none) {
        paths.push_back(attribute);
    }
    std::vector<std::pair<value, value>> out;
    for (value & one : elements_of(m, of)) {
        std::vector<value> keys;
        for (const value & path : paths) {
            const value key = attribute_path(m, one, path, otherwise);
            keys.push_back(case_sensitive ? key : ignoring_case(key));
        }
        value key = paths.empty() ? (case_sensitive ? one : ignoring_case(one)) : keys.size() == 1 ? keys[0] : tuple_of(std::move(keys));
        out.emplace_back(std::move(key), std::move(one));
    }
    return out;
}

std::vector<value> values_of(std::vector<std::pair<value, value>> & all) {
    std::vector<value> out;
    for (auto & [key, val] : all) out.push_back(std::move(val));
    return out;
}

value sorted(const value & self, bound_arguments & a) {
    auto all = with_keys(a.m, self, a.get(2, nullptr), a.flag(1));
    sort_values(a.m, all, a.flag(0));
    return list_of(values_of(all));
}

value dictsorted(const value & self, bound_arguments & a) {
    if (!is_dict(self)) throw template_fault("dictsort needs a mapping, not " + type_of(self));
    const std::string by = a.string(1, "key");
    if (by != "key" && by != "value") throw template_fault("You can only sort by either \"key\" or \"value\"");
    if (a.m.observes()) a.m.used(self, nullptr, true);
    std::vector<std::pair<value, value>> all;
    for (const auto & [key, val] : self->val_obj) {
        const value & one = by == "key" ? key : val;
        all.emplace_back(a.flag(0) ? one : ignoring_case(one), tuple_of({key, val}));
    }
    sort_values(a.m, all, a.flag(2));
    return list_of(values_of(all));
}

value unique(const value & self, bound_arguments & a) {
    auto all = with_keys(a.m, self, a.get(1, nullptr), a.flag(0));
    std::vector<value> seen, out;
    for (auto & [key, val] : all) {
        a.m.step(seen.size());
        if (std::any_of(seen.begin(), seen.end(), [&k = key](const value & one) { return equal(one, k); })) continue;
        seen.push_back(key);
        out.push_back(val);
    }
    return yielded(std::move(out));
}

value extreme(const value & self, bound_arguments & a, int sign) {
    auto all = with_keys(a.m, self, a.get(1, nullptr), a.flag(0));
    if (all.empty()) return undefined_of("No aggregated item, sequence was empty.");
    size_t best = 0;
    for (size_t i = 1; i < all.size(); i++) {
        if (order(all[i].first, all[best].first, sign < 0 ? "<" : ">") == sign) best = i;
    }
    return all[best].second;
}

value grouped(const value & self, bound_arguments & a) {
    const value otherwise = a.given(1) ? a[1] : nullptr;
    auto all = with_keys(a.m, self, a[0], a.flag(2), otherwise);
    sort_values(a.m, all, false);
    std::vector<value> out, group;
    for (size_t i = 0; i < all.size(); i++) {
        group.push_back(all[i].second);
        if (i + 1 < all.size() && equal(all[i].first, all[i + 1].first)) continue;
        const value key = a.flag(2) ? all[i].first : attribute_path(a.m, group[0], a[0], otherwise);
        out.push_back(std::make_shared<group_t>(std::vector<value>{key, list_of(std::move(group))}));
        group.clear();
    }
    return list_of(std::move(out));
}

value summed(const value & self, bound_arguments & a) {
    value out = a.get(1, integer_of(0));
    if (is_string(out)) throw template_fault("sum() can't sum strings [use ''.join(seq) instead]");
    for (const value & one : elements_of(a.m, self)) out = binary(a.m, "+", out, a.given(0) ? attribute_path(a.m, one, a[0], nullptr) : one);
    return out;
}

value batched(const value & self, bound_arguments & a) {
    const int64_t size = a.count(0, 0);
    std::vector<value> out, group;
    for (const value & one : elements_of(a.m, self)) {
        if ((int64_t) group.size() == size) {
            out.push_back(list_of(std::move(group)));
            group.clear();
        }
        group.push_back(one);
    }
    if (!group.empty()) {
        if (a.given(1) && size > (int64_t) group.size()) {
            a.m.made((size_t) size, sizeof(value));
            group.resize((size_t) size, a[1]);
        }
        out.push_back(list_of(std::move(group)));
    }
    return yielded(std::move(out));
}

value sliced(const value & self, bound_arguments & a) {
    const std::vector<value> all = elements_of(a.m, self);
    const int64_t slices = a.count(0, 0), size = (int64_t) all.size();
    if (slices == 0) throw template_fault("integer division or modulo by zero");
    if (slices > 0) a.m.made((size_t) slices, 512);
    std::vector<value> out;
    int64_t at = 0;
    for (int64_t i = 0; i < slices; i++) {
        const int64_t n = size / slices + (i < size % slices ? 1 : 0);
        std::vector<value> part(all.begin() + at, all.begin() + at + n);
        if (a.given(1) && i >= size % slices) part.push_back(a[1]);
        out.push_back(list_of(std::move(part)));
        at += n;
    }
    return yielded(std::move(out));
}

value reversed(const value & self, bound_arguments & a) {
    if (is_string(self)) return string_of(letters_of(self->val_str, (int64_t) count_letters(self->val_str) - 1, -1, -1));
    std::vector<value> all = elements_of(a.m, self);
    std::reverse(all.begin(), all.end());
    return yielded(std::move(all));
}

value joined_list(const value & self, bound_arguments & a) {
    const text separator = a.given(0) ? text_of(a[0]) : text();
    text_writer out;
    bool first = true;
    for (const value & one : elements_of(a.m, self)) {
        if (!first) out.add(separator);
        first = false;
        const value shown = a.given(1) ? attribute_path(a.m, one, a[1], nullptr) : one;
        if (a.m.observes()) a.m.used(shown, nullptr, true);
        out.add(text_of(shown));
    }
    a.m.made(out.size());
    return string_of(out.taken());
}

// Whether the elements can be taken out of the value, without copies of all of them.
bool has_elements(const value & self) { return kind_of(self) == kind::tuple || (kind_of(self) == kind::list && dynamic_cast<view_t *>(self.get()) == nullptr); }

value first_of(const value & self, bound_arguments & a) {
    if (has_elements(self) && !self->val_arr.empty() && !a.m.observes()) return self->val_arr.front();
    const std::vector<value> all = elements_of(a.m, self);
    return all.empty() ? undefined_of("No first item, sequence was empty.") : all.front();
}

value last_of(const value & self, bound_arguments & a) {
    if (has_elements(self) && !self->val_arr.empty() && !a.m.observes()) return self->val_arr.back();
    if (const auto * const view = dynamic_cast<view_t *>(self.get()); view != nullptr && view->once) throw template_fault("'generator' object is not reversible");
    const std::vector<value> all = elements_of(a.m, self);
    return all.empty() ? undefined_of("No last item, sequence was empty.") : all.back();
}

value random_of(const value & self, bound_arguments & a) {
    const std::vector<value> all = elements_of(a.m, self);
    if (all.empty()) return undefined_of("No random item, sequence was empty.");
    static thread_local std::mt19937_64 source{std::random_device{}()};
    return all[source() % all.size()];
}

const builtin rows[] = {
    {"batch", "linecount fill_with", batched},
    {"dictsort", "case_sensitive by reverse", dictsorted},
    {"first", "", first_of},
    {"groupby", "attribute default case_sensitive", grouped},
    {"join", "d attribute", joined_list},
    {"last", "", last_of},
    {"list", "", [](const value & self, bound_arguments & a) { return list_of(elements_of(a.m, self)); }},
    {"max", "case_sensitive attribute", [](const value & self, bound_arguments & a) { return extreme(self, a, 1); }},
    {"min", "case_sensitive attribute", [](const value & self, bound_arguments & a) { return extreme(self, a, -1); }},
    {"random", "", random_of},
    {"reverse", "", reversed},
    {"slice", "slices fill_with", sliced},
    {"sort", "reverse case_sensitive attribute", sorted},
    {"sum", "attribute start", summed},
    {"unique", "case_sensitive attribute", unique},
};

}  // namespace

const filter_table list_filters = {rows, sizeof rows / sizeof *rows};

}  // namespace svc::j2
