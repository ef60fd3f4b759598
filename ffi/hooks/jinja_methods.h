// Methods of values.
#pragma once

#include "jinja_machine.h"

namespace svc::j2 {

struct method_table {
    const builtin * begin;
    size_t size;
};
extern const method_table text_methods;

}  // namespace svc::j2
