// Methods of lists, tuples, objects and numbers; functions that belong to no value.

#include "jinja_methods.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <set>

namespace svc::j2 {
namespace {

// ---- lists -----------------------------------------------------------------------------------------------------------

size_t place_in(const value & self, int64_t at) {
    const auto size = (int64_t) self->val_arr.size();
    if (at < 0) at += size;
    if (at < 0 || at >= size) throw template_fault("list index out of range");
    return (size_t) at;
}

value append(const value & self, bound_arguments & a) {
    a.m.made(sizeof(value));
    self->val_arr.push_back(a[0]);
    return none_value();
}

value extend(const value & self, bound_arguments & a) {
    const std::vector<value> more = elements_of(a.m, a[0]);
    self->val_arr.insert(self->val_arr.end(), more.begin(), more.end());
    return none_value();
}

value insert_item(const value & self, bound_arguments & a) {
    const auto size = (int64_t) self->val_arr.size();
    const int64_t at = a.count(0, 0);
    self->val_arr.insert(self->val_arr.begin() + std::clamp<int64_t>(at < 0 ? at + size : at, 0, size), a[1]);
    return none_value();
}

value pop_item(const value & self, bound_arguments & a) {
    if (self->val_arr.empty()) throw template_fault("pop from empty list");
    const size_t at = place_in(self, a.count(0, -1));
    const value out = self->val_arr[at];
    self->val_arr.erase(self->val_arr.begin() + (std::ptrdiff_t) at);
    return out;
}

size_t place_of(const value & self, const value & sought) {
    for (size_t i = 0; i < self->val_arr.size(); i++) {
        if (equal(self->val_arr[i], sought)) return i;
    }
    throw template_fault(repr_of(sought).str() + " is not in list");
}

value remove_item(const value & self, bound_arguments & a) {
    self->val_arr.erase(self->val_arr.begin() + (std::ptrdiff_t) place_of(self, a[0]));
    return none_value();
}

value count_items(const value & self, bound_arguments & a) {
    return integer_of(std::count_if(self->val_arr.begin(), self->val_arr.end(), [&](const value & one) { return equal(one, a[0]); }));
}

value sort_items(const value & self, bound_arguments & a) {
    if (a.given(0)) throw template_fault("sort(key=…) is not supported");
    std::vector<value> & all = self->val_arr;
    std::stable_sort(all.begin(), all.end(), [](const value & x, const value & y) { return order(x, y, "<") == -1; });
    if (a.flag(1)) std::reverse(all.begin(), all.end());
    return none_value();
}

const builtin list_rows[] = {
    {"append", "object", append},
    {"clear", "", [](const value & self, bound_arguments &) { return self->val_arr.clear(), none_value(); }},
    {"copy", "", [](const value & self, bound_arguments &) { return list_of(self->val_arr); }},
    {"count", "value", count_items},
    {"extend", "iterable", extend},
    {"index", "value", [](const value & self, bound_arguments & a) { return integer_of((int64_t) place_of(self, a[0])); }},
    {"insert", "index object", insert_item},
    {"pop", "index", pop_item},
    {"remove", "value", remove_item},
    {"reverse", "", [](const value & self, bound_arguments &) { return std::reverse(self->val_arr.begin(), self->val_arr.end()), none_value(); }},
    {"sort", "key reverse", sort_items},
};

const builtin tuple_rows[] = {
    {"count", "value", count_items},
    {"index", "value", [](const value & self, bound_arguments & a) { return integer_of((int64_t) place_of(self, a[0])); }},
};

// ---- objects ---------------------------------------------------------------------------------------------------------

value view_of(std::vector<value> items, const char * name) {
    const auto out = std::make_shared<view_t>(std::move(items), false);
    out->before = std::string(name) + "(";
    out->after = ")";
    return out;
}

value keys(const value & self, bound_arguments &) {
    std::vector<value> out;
    for (const auto & [key, val] : self->val_obj) out.push_back(key);
    return view_of(std::move(out), "dict_keys");
}

value values(const value & self, bound_arguments &) {
    std::vector<value> out;
    for (const auto & [key, val] : self->val_obj) out.push_back(val);
    return view_of(std::move(out), "dict_values");
}

value items(const value & self, bound_arguments & a) {
    if (a.m.observes()) a.m.used(self, "object_access");
    std::vector<value> out;
    for (const auto & [key, val] : self->val_obj) out.push_back(tuple_of({key, val}));
    return view_of(std::move(out), "dict_items");
}

void remove_key(const value & self, const value & key) {
    dynamic_cast<jinja::value_object_t &>(*self).unordered.erase(key_of(key));
    auto & all = self->val_obj;
    all.erase(std::remove_if(all.begin(), all.end(), [&](const auto & one) { return equal(one.first, key); }), all.end());
}

value pop_key(const value & self, bound_arguments & a) {
    const value found = found_in(self, a[0]);
    if (found == nullptr && a.has(1)) return a[1];
    if (found == nullptr) throw template_fault("KeyError: " + repr_of(a[0]).str());
    remove_key(self, a[0]);
    return found;
}

value pop_last(const value & self, bound_arguments &) {
    if (self->val_obj.empty()) throw template_fault("popitem(): dictionary is empty");
    const auto [key, val] = self->val_obj.back();
    remove_key(self, key);
    return tuple_of({key, val});
}

void update_from(machine & m, const value & self, const value & other) {
    if (is_dict(other)) {
        const auto pairs = other->val_obj;
        m.step(pairs.size());
        m.made(pairs.size() * 64);
        for (const auto & [key, val] : pairs) insert(self, key, val);
        return;
    }
    for (const value & one : elements_of(m, other)) {
        const std::vector<value> both = elements_of(m, one);
        if (both.size() != 2) throw template_fault("dictionary update sequence element has length " + std::to_string(both.size()) + "; 2 is required");
        insert(self, both[0], both[1]);
    }
}

value update(const value & self, bound_arguments & a) {
    for (const value & one : a.raw.list) update_from(a.m, self, one);
    for (const auto & [name, val] : a.raw.named) insert(self, string_of(name), val);
    return none_value();
}

value get(const value & self, bound_arguments & a) {
    const value found = found_in(self, a[0]);
    if (a.m.observes()) a.m.used(self, "object_access");
    if (found != nullptr && a.m.observes()) a.m.used(found);
    return found != nullptr ? found : a.get(1, none_value());
}

value copy_of(const value & self, bound_arguments & a) {
    a.m.made(self->val_obj.size() * 64);
    return std::make_shared<jinja::value_object_t>(dynamic_cast<jinja::value_object_t &>(*self));
}

value set_default(const value & self, bound_arguments & a) {
    const value found = found_in(self, a[0]);
    if (found != nullptr) return found;
    const value out = a.get(1, none_value());
    insert(self, a[0], out);
    return out;
}

value clear_all(const value & self, bound_arguments &) {
    dynamic_cast<jinja::value_object_t &>(*self).unordered.clear();
    self->val_obj.clear();
    return none_value();
}

const builtin dict_rows[] = {
    {"clear", "", clear_all},
    {"copy", "", copy_of},
    {"get", "key default", get},
    {"items", "", items},
    {"keys", "", keys},
    {"pop", "key default", pop_key},
    {"popitem", "", pop_last},
    {"setdefault", "key default", set_default},
    {"update", "*", update},
    {"values", "", values},
};

// ---- numbers ---------------------------------------------------------------------------------------------------------

value bit_length(const value & self, bound_arguments &) {
    int64_t n = 0;
    for (uint64_t left = self->val_int < 0 ? 0 - (uint64_t) self->val_int : (uint64_t) self->val_int; left > 0; left >>= 1) n++;
    return integer_of(n);
}

const builtin integer_rows[] = {{"bit_length", "", bit_length}};
const builtin float_rows[] = {
    {"is_integer", "", [](const value & self, bound_arguments &) { return boolean_of(std::floor(self->val_flt) == self->val_flt); }},
};

template <size_t n>
const builtin * row_named(const builtin (&rows)[n], const std::string & name) {
    const auto at = std::find_if(rows, rows + n, [&](const builtin & row) { return name == row.name; });
    return at == rows + n ? nullptr : at;
}

const builtin * text_method(const std::string & name) {
    for (size_t i = 0; i < text_methods.size; i++) {
        if (name == text_methods.begin[i].name) return &text_methods.begin[i];
    }
    return nullptr;
}

// ---- functions -------------------------------------------------------------------------------------------------------

}  // namespace

number_range range_of(const call_values & args) {
    constexpr int64_t range_max = 100'000;  // as in Jinja2's sandbox
    const size_t n = args.list.size();
    if (n < 1 || n > 3 || !args.named.empty()) throw template_fault("range expected 1 to 3 arguments, got " + std::to_string(n));
    const int64_t start = n == 1 ? 0 : whole(args.list[0], "range()"), stop = whole(args.list[n == 1 ? 0 : 1], "range()");
    const int64_t step = n == 3 ? whole(args.list[2], "range()") : 1;
    if (step == 0) throw template_fault("range() arg 3 must not be zero");
    const bool empty = step > 0 ? start >= stop : start <= stop;
    const double size = empty ? 0 : std::ceil(((double) stop - (double) start) / (double) step);
    if (size > (double) range_max) throw template_fault("Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
    return {start, stop, step, (size_t) size};
}

namespace {

value range(machine & m, call_values & args) {
    constexpr size_t bytes_of_number = 300;
    const number_range all = range_of(args);
    m.made(all.size, bytes_of_number);
    std::vector<value> out;
    for (size_t i = 0; i < all.size; i++) out.push_back(integer_of(all.at(i)));
    const auto view = std::make_shared<view_t>(std::move(out), false);
    view->before = "range(" + std::to_string(all.start) + ", " + std::to_string(all.stop) + (all.step == 1 ? "" : ", " + std::to_string(all.step)) + ")";
    return view;
}

value make_dict(machine & m, call_values & args) {
    const value out = mk_val<jinja::value_object>();
    for (const value & one : args.list) update_from(m, out, one);
    for (const auto & [name, val] : args.named) insert(out, string_of(name), val);
    return out;
}

value make_namespace(machine & m, call_values & args) {
    const auto out = std::make_shared<namespace_t>();
    const value all = make_dict(m, args);
    for (const auto & [key, val] : all->val_obj) out->set(text_of(key).str(), val);
    return out;
}

// cycler(a, b): next(), current, reset().
struct cycler_t : thing_t, std::enable_shared_from_this<cycler_t> {
    std::vector<value> items;
    size_t at = 0;
    value attribute(machine &, const std::string & name) override {
        if (name == "current") return items[at];
        if (name != "next" && name != "reset") return nullptr;
        const bool next = name == "next";
        return std::make_shared<function_t>(name, [self = shared_from_this(), next](machine &, call_values &) {
            const value out = next ? self->items[self->at] : none_value();
            self->at = next ? (self->at + 1) % self->items.size() : 0;
            return out;
        });
    }
    std::string python_type() const override { return "Cycler"; }
};

value make_cycler(machine &, call_values & args) {
    if (args.list.empty()) throw template_fault("at least one item has to be provided");
    const auto out = std::make_shared<cycler_t>();
    out->items = args.list;
    return out;
}

value make_joiner(machine &, call_values & args) {
    const value separator = !args.list.empty() ? args.list[0] : !args.named.empty() ? args.named[0].second : string_of(std::string(", "));
    return std::make_shared<function_t>("joiner", [separator, used = false](machine &, call_values &) mutable {
        return std::exchange(used, true) ? separator : string_of(std::string());
    });
}

value raise(machine &, call_values & args) { throw template_refusal(args.list.empty() ? "the template refuses the conversation" : text_of(args.list[0]).str()); }

value time_text(machine & m, call_values & args) {
    const std::string form = args.list.empty() ? "%d %b %Y" : text_of(args.list[0]).str();
    std::tm now{};
#ifdef _WIN32
    localtime_s(&now, &m.context.current_time);
#else
    localtime_r(&m.context.current_time, &now);
#endif
    char bytes[512];
    return string_of(std::string(bytes, std::strftime(bytes, sizeof bytes, form.c_str(), &now)));
}

// str(), int() and others are not among the functions of templates.
const std::vector<std::pair<std::string, value>> & globals() {
    static const std::vector<std::pair<std::string, value>> all = [] {
        std::vector<std::pair<std::string, value>> out;
        const std::pair<const char *, value (*)(machine &, call_values &)> rows[] = {{"range", range}, {"dict", make_dict}, {"namespace", make_namespace},
            {"cycler", make_cycler}, {"joiner", make_joiner}, {"raise_exception", raise}, {"strftime_now", time_text}};
        for (const auto & [name, body] : rows) out.emplace_back(name, std::make_shared<function_t>(name, body));
        return out;
    }();
    return all;
}

}  // namespace

const builtin * method_named(const value & of, const std::string & name) {
    switch (kind_of(of)) {
        case kind::string: return text_method(name);
        case kind::dict: return row_named(dict_rows, name);
        case kind::list: return dynamic_cast<view_t *>(of.get()) == nullptr ? row_named(list_rows, name) : nullptr;
        case kind::tuple: return row_named(tuple_rows, name);
        case kind::integer:
        case kind::boolean: return row_named(integer_rows, name);
        case kind::number: return row_named(float_rows, name);
        default: return nullptr;
    }
}

bool is_range(const value & of) {
    static const value range = global_named("range");
    return of == range;
}

bool is_missing_method(const std::string & name) {
    static const std::set<std::string> missing = {"encode", "translate", "maketrans", "fromkeys", "bit_count", "to_bytes", "from_bytes", "as_integer_ratio",
        "conjugate", "hex", "fromhex", "isoformat", "strftime"};
    return missing.count(name) > 0;
}

value global_named(const std::string & name) {
    for (const auto & [own, val] : globals()) {
        if (own == name) return val;
    }
    return nullptr;
}

}  // namespace svc::j2
