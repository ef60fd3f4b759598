// What several filters share.
#pragma once

#include "jinja_machine.h"

#include <string>
#include <vector>

namespace svc::j2 {

// The attribute that a filter's argument names: 'a.b', 'items.0', 2. `otherwise` stands for undefined ones; nullptr: none.
value attribute_path(machine & m, const value & of, const value & path, const value & otherwise);
// A text in small letters, other values as they are.
value ignoring_case(const value & of);
// Sorts without changing the order of equal values.
void sort_values(machine & m, std::vector<std::pair<value, value>> & keys_and_values, bool reverse);

struct filter_table {
    const builtin * begin;
    size_t size;
};
extern const filter_table list_filters, choice_filters, text_filters, value_filters;

}  // namespace svc::j2
