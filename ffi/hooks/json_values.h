// Values of templates, from JSON that came in with a request.
#pragma once

#include <memory>
#include <string>

namespace jinja {
struct value_t;
}  // namespace jinja

namespace svc {

using jinja_value = std::shared_ptr<jinja::value_t>;

// The value of a text in JSON, with all strings marked, keys too. As global_from_json() makes it, without a tree of JSON.
jinja_value marked_values(const std::string & text);

}  // namespace svc
