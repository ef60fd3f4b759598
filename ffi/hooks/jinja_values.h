// Values of templates, as Python has them, over those of common/jinja.
#pragma once

#include "jinja_text.h"

#include "jinja/value.h"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace svc::j2 {

using jinja::mk_val;
using jinja::value;

class machine;

// A template that cannot be rendered with what it was given.
struct template_fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What a template itself says against a conversation: raise_exception().
struct template_refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class kind { undefined, none, boolean, integer, number, string, list, tuple, dict, thing };
kind kind_of(const value & of);

struct call_values {
    std::vector<value> list;
    std::vector<std::pair<std::string, value>> named;
};

// An object with attributes, which may be called: functions, macros, `loop`, namespaces, cyclers.
struct thing_t : jinja::value_t {
    // None of that name: nullptr.
    virtual value attribute(machine &, const std::string &) { return nullptr; }
    virtual bool callable() const { return false; }
    virtual value call(machine &, call_values &) { throw template_fault("'" + python_type() + "' object is not callable"); }
    virtual std::string python_type() const = 0;
    virtual std::string shown() const { return "<" + python_type() + " object>"; }

    std::string type() const override { return python_type(); }
    bool as_bool() const override { return true; }
    bool is_hashable() const override { return true; }
    jinja::hasher unique_hash() const noexcept override {
        const void * const self = this;
        return jinja::hasher().update(&self, sizeof self);
    }

  protected:
    bool equivalent(const jinja::value_t & other) const override { return this == &other; }
};

struct function_t : thing_t {
    using body_t = std::function<value(machine &, call_values &)>;
    std::string name;
    body_t body;
    function_t(std::string name, body_t body) : name(std::move(name)), body(std::move(body)) {}
    bool callable() const override { return true; }
    value call(machine & m, call_values & args) override { return body(m, args); }
    std::string python_type() const override { return "function"; }
    std::string shown() const override { return "<function " + name + ">"; }
};

struct namespace_t : thing_t {
    std::vector<std::pair<std::string, value>> names;
    value attribute(machine &, const std::string & name) override;
    void set(const std::string & name, const value & to);
    std::string python_type() const override { return "Namespace"; }
};

// A list that Python does not make one: what a filter yields once (`once`), a range, or the keys, values or items of an object.
struct view_t : jinja::value_array_t {
    bool once = false;
    std::string before = "<generator object>", after;  // around the text of the list, which is left out if `after` is empty
    view_t(std::vector<value> items, bool once) : jinja::value_array_t(std::move(items)), once(once) {}
    bool as_bool() const override { return once || !val_arr.empty(); }
};

// A named tuple of groupby().
struct group_t : jinja::value_tuple_t {
    using jinja::value_tuple_t::value_tuple_t;
};

// A string that needs no escapes in HTML.
struct markup_t : jinja::value_string_t {
    using jinja::value_string_t::value_string_t;
};

inline value string_of(text of) { return mk_val<jinja::value_string>(std::move(of)); }
inline value string_of(const std::string & of) { return mk_val<jinja::value_string>(of); }
inline value boolean_of(bool is) { return mk_val<jinja::value_bool>(is); }
inline value integer_of(int64_t n) { return mk_val<jinja::value_int>(n); }
inline value number_of(double n) { return mk_val<jinja::value_float>(n); }
inline value none_value() { return mk_val<jinja::value_none>(); }
inline value undefined_of(const std::string & why) { return mk_val<jinja::value_undefined>(why); }
inline value list_of(std::vector<value> items) { return mk_val<jinja::value_array>(std::move(items)); }
inline value tuple_of(std::vector<value> items) { return mk_val<jinja::value_tuple>(std::move(items)); }
inline value yielded(std::vector<value> items) { return std::make_shared<view_t>(std::move(items), true); }
value list_of_texts(const std::vector<text> & texts);

inline bool is_string(const value & of) { return kind_of(of) == kind::string; }
inline bool is_number(const value & of) { return kind_of(of) == kind::integer || kind_of(of) == kind::number || kind_of(of) == kind::boolean; }
inline bool is_undefined(const value & of) { return kind_of(of) == kind::undefined; }
inline bool is_dict(const value & of) { return kind_of(of) == kind::dict; }
inline bool is_markup(const value & of) { return dynamic_cast<const markup_t *>(of.get()) != nullptr; }
inline thing_t * thing_of(const value & of) { return dynamic_cast<thing_t *>(of.get()); }

// Python's name of a type: 'str', 'dict'.
std::string type_of(const value & of);
bool is_true(const value & of);
// A number as a whole or a float; else a fault that names `what`.
int64_t whole(const value & of, const char * what);
double real(const value & of);

bool equal(const value & a, const value & b);
// Less than 0, 0 or more: the order of two values that have one, else a fault.
int order(const value & a, const value & b, const char * sign);
bool contains(const value & in, const value & one);
// Object with `key`: Python's hash and equality.
value key_of(const value & key);  // as objects hold it
void insert(const value & into, const value & key, const value & to);
value found_in(const value & object, const value & key);  // none: nullptr

// str(), repr(), and the text of a float.
text text_of(const value & of);
text repr_of(const value & of);
std::string float_text(double n);
text escaped(const text & of);  // for HTML

struct json_form {
    int64_t indent = -1;  // none
    std::string margin;   // indentation in other letters than spaces
    std::string item_separator = ", ", key_separator = ": ";
    bool ascii = false, sorted = false;
};
text json_of(const value & of, const json_form & form);

value unary(const std::string & sign, const value & a);
value binary(machine & m, const std::string & sign, const value & a, const value & b);
value concatenated(machine & m, const std::vector<value> & all);

// `text % values`, and text.format(), whose formats may have fields, and those again.
text formatted(const text & of, const value & values);
text formatted_braces(machine & m, const text & of, const call_values & args, int nested_max = 2);
std::string formatted_number(const value & of, const std::string & form);  // as format(): '.2f', ',', '05d'

}  // namespace svc::j2
