// The state of one rendering, with its limits.
#pragma once

#include "jinja_values.h"

#include "jinja/runtime.h"

#include <string>

namespace svc::j2 {

// Why a value is undefined: "'name' is undefined".
inline std::string undefined_text(const value & of) {
    const auto & hint = dynamic_cast<const jinja::value_undefined_t &>(*of).hint;
    return hint.empty() ? "a value is undefined" : hint;
}

class machine {
  public:
    jinja::context & context;
    size_t at = 0;  // the byte of the template that is executed

    machine(jinja::context & context, bool forgiving);
    machine(const machine &) = delete;
    ~machine();

    bool observes() const { return context.is_get_stats; }
    // Whether nothing (undefined, none) is an empty text or list where it stands for one: for templates that fail otherwise, whatever they
    // are given.
    bool forgives() const { return forgiving; }
    // Notes that a value was used, and how, for the analysis of a template.
    void used(const value & of, const char * how = nullptr, bool deep = false) const;

    // One more step; one more list or text of n bytes: faults beyond the limits. To be said before it is made.
    void step(size_t n = 1);
    void made(size_t bytes);
    void made(size_t n, size_t each);
    // A list or object that was made or changed: a fault where values are nested so deep that releasing them could end the process. Looks
    // at one of 64, at random.
    void nested(const value & of);

    // While it exists, execution is one level deeper.
    class level {
      public:
        explicit level(machine & m);
        ~level() { m.depth--; }

      private:
        machine & m;
    };

  private:
    const bool forgiving;
    machine * const around;  // of the thread, before
    size_t depth = 0, steps = 0, bytes = 0, steps_allowed = 0, bytes_allowed = 0;

    size_t given() const;
    size_t pairs() const;  // of messages
    void measure(const value & of, int level);
};

// Steps of the thread's rendering, for code without a machine.
void count_steps(size_t n);

// obj.name and obj[key], as templates have them: an attribute or an item, else undefined.
value attribute_of(machine & m, const value & of, const std::string & name);
value item_of(machine & m, const value & of, const value & key);
value slice_of(machine & m, const value & of, const value & start, const value & stop, const value & step);
// The elements of what a `for` can go through.
std::vector<value> elements_of(machine & m, const value & of);
value called(machine & m, const value & callee, call_values & args);
int64_t length_of(machine & m, const value & of);

// Arguments by name and place.
class bound_arguments {
  public:
    machine & m;
    call_values & raw;

    // parameters: names apart by a space. "*": any.
    bound_arguments(machine & m, call_values & raw, const char * name, const char * parameters);
    bool has(size_t i) const { return i < values.size() && values[i] != nullptr; }
    const value & operator[](size_t i) const;
    // The argument, or what stands for it.
    value get(size_t i, value otherwise) const { return has(i) ? values[i] : std::move(otherwise); }
    bool flag(size_t i, bool otherwise = false) const { return has(i) ? is_true(values[i]) : otherwise; }
    int64_t count(size_t i, int64_t otherwise) const;
    // An argument that is text; `none` counts as absent.
    std::string string(size_t i, const std::string & otherwise = "") const;
    bool given(size_t i) const { return has(i) && kind_of(values[i]) != kind::none; }

  private:
    const char * name;
    std::vector<value> values;
};

// A function of a value: a filter, a test or a method.
struct builtin {
    const char * name;
    const char * parameters;
    value (*apply)(const value & self, bound_arguments & args);
};

const builtin * filter_named(const std::string & name);
const builtin * test_named(const std::string & name);
const builtin * method_named(const value & of, const std::string & name);
// Whether some value has a method of that name, and whether Python's values have one which is missing here.
bool is_missing_method(const std::string & name);
value global_named(const std::string & name);  // none: nullptr

// The numbers that range() gives.
struct number_range {
    int64_t start, stop, step;
    size_t size;
    // All lie between start and stop, though not what is multiplied.
    int64_t at(size_t i) const { return (int64_t) ((uint64_t) start + (uint64_t) i * (uint64_t) step); }
};
number_range range_of(const call_values & args);
bool is_range(const value & of);  // the function
value apply(machine & m, const builtin & function, const value & self, call_values & args);

}  // namespace svc::j2
