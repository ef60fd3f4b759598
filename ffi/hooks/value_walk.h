// A walk over values of templates, which may put a list into itself.
#pragma once

#include "jinja/value.h"

#include <unordered_set>
#include <vector>

namespace svc {

// Calls `visit` with a value and with all values within it; with a list or an object once, however often it is there.
template <class Visit>
void each_value(const jinja::value & of, Visit visit) {
    std::unordered_set<const void *> seen;
    std::vector<const jinja::value *> open{&of};
    while (!open.empty()) {
        const jinja::value & one = *open.back();
        open.pop_back();
        const bool is_open = !one->val_arr.empty() || !one->val_obj.empty();
        if (is_open && !seen.insert(one.get()).second) continue;
        visit(one);
        for (const jinja::value & item : one->val_arr) open.push_back(&item);
        for (const auto & [key, item] : one->val_obj) {
            open.push_back(&key);
            open.push_back(&item);
        }
    }
}

}  // namespace svc
