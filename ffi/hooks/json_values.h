// Values of templates, from JSON that came in with a request.
#pragma once

#include "jinja_marks.h"

#include <string>

namespace svc {

// The value of a text in JSON, with all strings marked, keys too. As global_from_json() makes it, without a tree of JSON.
jinja_value marked_values(const std::string & text);

}  // namespace svc
