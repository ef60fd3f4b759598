// Macros and `loop`.
#pragma once

#include "jinja_runner.h"

namespace svc::j2 {

struct macro_t : thing_t {
    runner & r;
    const node & of;
    const names_ptr around;
    macro_t(runner & r, const node & of, names_ptr around) : r(r), of(of), around(std::move(around)) {}
    value attribute(machine & m, const std::string & name) override;
    bool callable() const override { return true; }
    value call(machine & m, call_values & args) override;
    std::string python_type() const override { return "Macro"; }
    std::string shown() const override { return "<Macro '" + of.name + "'>"; }

  private:
    bool uses(const char * name) const;
    value bound(machine & m, size_t i, call_values & args) const;
};

// What a loop goes through: a list, or the numbers of a range, each of which is made in its turn.
struct loop_items {
    std::vector<value> list;
    number_range numbers{0, 0, 1, 0};
    size_t size() const { return numbers.size > 0 ? numbers.size : list.size(); }
    value operator[](size_t i) const { return numbers.size > 0 ? integer_of(numbers.at(i)) : list[i]; }
};

struct loop_t : thing_t, std::enable_shared_from_this<loop_t> {
    runner & r;
    const node & of;
    const names_ptr around;
    const loop_items items;
    const int64_t depth;
    size_t index = 0;
    std::vector<value> last_changed;
    bool has_changed = false;
    loop_t(runner & r, const node & of, names_ptr around, loop_items items, int64_t depth)
        : r(r), of(of), around(std::move(around)), items(std::move(items)), depth(depth) {}
    value attribute(machine & m, const std::string & name) override;
    bool callable() const override { return of.flag; }
    value call(machine & m, call_values & args) override;
    std::string python_type() const override { return "LoopContext"; }
    std::string shown() const override;
};

}  // namespace svc::j2
