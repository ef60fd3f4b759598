// Limits of a rendering, attributes, items, and calls.

#include "jinja_machine.h"

#include "value_walk.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace svc::j2 {
namespace {

constexpr size_t steps_least = 20'000'000, depth_max = 600, bytes_least = (size_t) 128 << 20, bytes_of_each = 256;
// Templates look through all messages for each of them: what that takes, a pair of messages; up to what a server can bear.
constexpr size_t steps_of_pair = 8, bytes_of_pair = 32, steps_of_pairs_max = 400'000'000, bytes_of_pairs_max = (size_t) 1 << 30;

thread_local machine * current = nullptr;

size_t bytes_of(const value & of) {
    size_t n = 0;
    each_value(of, [&](const value & one) { n += 64 + one->val_str.length(); });
    return n;
}

}  // namespace

void machine::used(const value & of, const char * how, bool deep) const {
    const auto mark = [](const value & one) { one->stats.used = true; };
    if (deep) each_value(of, mark);
    else mark(of);
    if (how != nullptr) of->stats.ops.insert(how);
}

machine::machine(jinja::context & context, bool forgiving) : context(context), forgiving(forgiving || context.is_get_stats), around(current) { current = this; }

machine::~machine() { current = around; }

void count_steps(size_t n) {
    if (current != nullptr) current->step(n);
}

void machine::step(size_t n) {
    steps += n;
    if (steps <= steps_allowed) return;
    if (steps_allowed == 0) steps_allowed = steps_least + std::min(steps_of_pair * pairs(), steps_of_pairs_max);
    if (steps > steps_allowed) throw template_fault("the template takes more than " + std::to_string(steps_allowed) + " steps");
}

size_t machine::pairs() const {
    constexpr size_t counted_max = 1'000'000;  // whose square is a number
    const size_t n = std::min(context.get_val("messages")->val_arr.size(), counted_max);
    return n * n;
}

size_t machine::given() const {
    size_t n = 0;
    for (const char * const name : {"messages", "tools"}) n += bytes_of(context.get_val(name));
    return n;
}

// What a template makes is bounded by what it is given.
void machine::made(size_t more) {
    bytes += more;
    if (bytes <= bytes_least) return;
    if (bytes_allowed == 0) bytes_allowed = bytes_least + bytes_of_each * given() + std::min(bytes_of_pair * pairs(), bytes_of_pairs_max);
    if (bytes > bytes_allowed) throw template_fault("the template makes more than " + std::to_string(bytes_allowed >> 20) + " MiB of text");
}

void machine::made(size_t n, size_t each) {
    constexpr size_t most = SIZE_MAX / 4;  // more than there ever is, and no sum overflows
    made(each != 0 && n > most / each ? most : n * each);
}

void machine::measure(const value & of, int levels) {
    constexpr int nested_max = 500;
    if (levels > nested_max) throw template_fault("values are nested more than " + std::to_string(nested_max) + " deep");
    step(of->val_arr.size() + of->val_obj.size());
    for (const value & one : of->val_arr) {
        if (!one->val_arr.empty() || !one->val_obj.empty()) measure(one, levels + 1);
    }
    for (const auto & [key, one] : of->val_obj) {
        if (!one->val_arr.empty() || !one->val_obj.empty()) measure(one, levels + 1);
    }
}

void machine::nested(const value & of) {
    static thread_local std::minstd_rand random{std::random_device{}()};
    if (!of->val_arr.empty() || !of->val_obj.empty()) {
        if (random() % 64 == 0) measure(of, 0);
    }
}

machine::level::level(machine & m) : m(m) {
    if (++m.depth <= depth_max) return;
    m.depth--;
    throw template_fault("the template calls itself more than " + std::to_string(depth_max) + " levels deep");
}

namespace {

value method_value(const value & of, const builtin & method) {
    return std::make_shared<function_t>(method.name, [of, &method](machine & m, call_values & args) { return apply(m, method, of, args); });
}

std::string has_no(const value & of, const std::string & name) { return "'" + type_of(of) + " object' has no attribute '" + name + "'"; }

void note_access(machine & m, const value & of, const value & found, const char * how) {
    if (!m.observes()) return;
    m.used(of, how);
    m.used(found);
}

// An attribute in Python's sense: a method, or what a thing has.
value own_attribute(machine & m, const value & of, const std::string & name) {
    if (thing_t * const thing = thing_of(of)) return thing->attribute(m, name);
    if (const auto * const group = dynamic_cast<const group_t *>(of.get())) {
        if (name == "grouper") return group->val_arr[0];
        if (name == "list") return group->val_arr[1];
    }
    const builtin * const method = method_named(of, name);
    return method == nullptr ? nullptr : method_value(of, *method);
}

// An item in Python's sense; none: nullptr.
value own_item(machine & m, const value & of, const value & key) {
    const kind type = kind_of(of), by = kind_of(key);
    if (type == kind::dict) return by == kind::list || by == kind::dict ? nullptr : found_in(of, key);
    const bool place = by == kind::integer || by == kind::boolean;
    if (!place) return nullptr;
    if (type == kind::list || type == kind::tuple) {
        const auto size = (int64_t) of->val_arr.size();
        const auto * const view = dynamic_cast<const view_t *>(of.get());
        if (view != nullptr && view->before.compare(0, 5, "range") != 0) return nullptr;
        const int64_t at = key->val_int < 0 ? key->val_int + size : key->val_int;
        return at >= 0 && at < size ? of->val_arr[(size_t) at] : nullptr;
    }
    if (type != kind::string) return nullptr;
    const auto size = (int64_t) count_letters(of->val_str);
    const int64_t at = key->val_int < 0 ? key->val_int + size : key->val_int;
    m.step(1 + of->val_str.length() / 256);
    return at >= 0 && at < size ? string_of(letters_of(of->val_str, at, at + 1, 1)) : nullptr;
}

}  // namespace

value attribute_of(machine & m, const value & of, const std::string & name) {
    if (is_undefined(of) && m.forgives()) return of;
    if (is_undefined(of)) throw template_fault(undefined_text(of));
    value found = own_attribute(m, of, name);
    if (found == nullptr && is_dict(of)) found = found_in(of, string_of(name));
    if (found == nullptr) found = undefined_of(has_no(of, name));
    note_access(m, of, found, "object_access");
    return found;
}

value item_of(machine & m, const value & of, const value & key) {
    if (is_undefined(of) && m.forgives()) return of;
    if (is_undefined(of)) throw template_fault(undefined_text(of));
    value found = own_item(m, of, key);
    const bool named = is_string(key);
    if (found == nullptr && named) found = own_attribute(m, of, key->val_str.str());
    if (found == nullptr) found = undefined_of(named ? has_no(of, key->val_str.str()) : type_of(of) + " object has no element " + repr_of(key).str());
    note_access(m, of, found, named ? "object_access" : "array_access");
    return found;
}

namespace {

// A place within [0, size], or [-1, size - 1] when counting down, as Python's slices adjust it.
int64_t adjusted(const value & of, int64_t size, bool down, int64_t otherwise) {
    if (of == nullptr || kind_of(of) == kind::none) return otherwise;
    const int64_t n = whole(of, "slice indices");
    const int64_t least = down ? -1 : 0, most = down ? size - 1 : size;
    return n < 0 ? std::max(n + size, least) : std::min(n, most);
}

}  // namespace

value slice_of(machine & m, const value & of, const value & start, const value & stop, const value & step) {
    const kind type = kind_of(of);
    if (type == kind::undefined) throw template_fault(undefined_text(of));
    const bool sequence = type == kind::list || type == kind::tuple;
    if (!sequence && type != kind::string) return undefined_of("'" + type_of(of) + "' object is not subscriptable by a slice");
    if (m.observes()) m.used(of, sequence ? "array_access" : nullptr);
    const int64_t size = sequence ? (int64_t) of->val_arr.size() : (int64_t) count_letters(of->val_str);
    const int64_t wanted = step == nullptr || kind_of(step) == kind::none ? 1 : whole(step, "slice step");
    if (wanted == 0) throw template_fault("slice step cannot be zero");
    const int64_t by = std::clamp(wanted, -size - 1, size + 1);  // a longer one leads out of the text or list, too
    const int64_t first = adjusted(start, size, by < 0, by < 0 ? size - 1 : 0), end = adjusted(stop, size, by < 0, by < 0 ? -1 : size);
    if (!sequence) {
        m.made(of->val_str.length());
        const text out = letters_of(of->val_str, first, end, by);
        return is_markup(of) ? std::make_shared<markup_t>(out) : string_of(out);
    }
    m.made((size_t) std::max<int64_t>(by < 0 ? first - end : end - first, 0), sizeof(value));
    std::vector<value> out;
    for (int64_t i = first; by < 0 ? i > end : i < end; i += by) out.push_back(of->val_arr[(size_t) i]);
    return type == kind::tuple ? tuple_of(std::move(out)) : list_of(std::move(out));
}

std::vector<value> elements_of(machine & m, const value & of) {
    constexpr size_t bytes_of_letter = 128;  // each is a value of its own
    std::vector<value> out;
    const auto make = [&](size_t n, size_t each) {
        m.step(n);
        m.made(n, each);
        out.reserve(n);
    };
    switch (kind_of(of)) {
        case kind::undefined: return out;
        case kind::string:
            if (m.observes()) m.used(of, "array_access");
            make(count_letters(of->val_str), bytes_of_letter);
            for_each_letter(of->val_str, [&](const letter & one) { out.push_back(string_of(text(std::string(one.bytes), one.is_input))); });
            break;
        case kind::dict:
            if (m.observes()) m.used(of, "object_access");
            make(of->val_obj.size(), sizeof(value));
            for (const auto & [key, val] : of->val_obj) out.push_back(key);
            break;
        case kind::list:
        case kind::tuple: {
            if (m.observes()) m.used(of, "array_access");
            make(of->val_arr.size(), sizeof(value));
            auto * const view = dynamic_cast<view_t *>(of.get());
            if (view != nullptr && view->once) out.swap(view->val_arr);
            else out = of->val_arr;
            break;
        }
        case kind::none:
            if (m.forgives()) return out;
            [[fallthrough]];
        default: throw template_fault("'" + type_of(of) + "' object is not iterable");
    }
    return out;
}

int64_t length_of(machine & m, const value & of) {
    switch (kind_of(of)) {
        case kind::undefined: return 0;
        case kind::string: m.step(1 + of->val_str.length() / 256); return (int64_t) count_letters(of->val_str);
        case kind::dict: return (int64_t) of->val_obj.size();
        case kind::list:
        case kind::tuple: {
            const auto * const view = dynamic_cast<const view_t *>(of.get());
            if (view == nullptr || !view->once) return (int64_t) of->val_arr.size();
            throw template_fault("object of type 'generator' has no len()");
        }
        case kind::none:
            if (m.forgives()) return 0;
            [[fallthrough]];
        default: throw template_fault("object of type '" + type_of(of) + "' has no len()");
    }
}

value called(machine & m, const value & callee, call_values & args) {
    if (is_undefined(callee) && m.forgives()) return callee;
    if (is_undefined(callee)) throw template_fault(undefined_text(callee));
    thing_t * const thing = thing_of(callee);
    if (thing == nullptr || !thing->callable()) throw template_fault("'" + type_of(callee) + "' object is not callable");
    const machine::level deeper(m);
    m.step();
    const value out = thing->call(m, args);
    m.nested(out);
    return out;
}

value apply(machine & m, const builtin & function, const value & self, call_values & args) {
    m.step();
    bound_arguments bound(m, args, function.name, function.parameters);
    const value out = function.apply(self, bound);
    m.nested(out);
    if (kind_of(out) == kind::none) m.nested(self);  // a method that changed it
    return out;
}

bound_arguments::bound_arguments(machine & m, call_values & raw, const char * name, const char * parameters) : m(m), raw(raw), name(name) {
    if (strcmp(parameters, "*") == 0) return;
    std::vector<std::string> names;
    for (const char * at = parameters; *at != 0;) {
        const size_t n = strcspn(at, " ");
        names.emplace_back(at, n);
        at += n + (at[n] == ' ' ? 1 : 0);
    }
    if (raw.list.size() > names.size()) {
        throw template_fault(std::string(name) + "() takes at most " + std::to_string(names.size()) + " arguments (" + std::to_string(raw.list.size()) + " given)");
    }
    values = raw.list;
    values.resize(names.size());
    for (const auto & [key, val] : raw.named) {
        const auto at = (size_t) (std::find(names.begin(), names.end(), key) - names.begin());
        if (at == names.size()) throw template_fault(std::string(name) + "() got an unexpected keyword argument '" + key + "'");
        if (values[at] != nullptr) throw template_fault(std::string(name) + "() got multiple values for argument '" + key + "'");
        values[at] = val;
    }
}

const value & bound_arguments::operator[](size_t i) const {
    if (!has(i)) throw template_fault(std::string(name) + "() misses an argument");
    return values[i];
}

int64_t bound_arguments::count(size_t i, int64_t otherwise) const { return given(i) ? whole(values[i], name) : otherwise; }

std::string bound_arguments::string(size_t i, const std::string & otherwise) const { return given(i) ? text_of(values[i]).str() : otherwise; }

}  // namespace svc::j2
