// Hooks in the template engine (common/jinja) that keep the mark of strings which came in with the request.
//
// Upstream marks the strings of a request and loses the marks in several operations. Upstream computes the text of each operation
// still, but for JSON; these functions add the marks. Where they cannot reproduce the text of upstream, they mark all of it.
#pragma once

#include "shared_parts.h"

#include <functional>
#include <memory>
#include <string>

namespace jinja {
struct string;  // its header includes this one
struct value_t;
struct func_args;
}  // namespace jinja

namespace svc {

using jinja_value = std::shared_ptr<jinja::value_t>;
using jinja_function = std::function<jinja_value(const jinja::func_args &)>;

// Bytes [from, from + n) of a string.
jinja::string marked_part(const jinja::string & text, size_t from, size_t n = std::string::npos);

// A value inside the text of a list or an object.
jinja::string marked_repr(const jinja_value & val);

// Takes the place of std::ostringstream where the text of a list or an object is put together.
class marked_stream {
  public:
    marked_stream();
    marked_stream & operator<<(const jinja::string & text);
    marked_stream & operator<<(const char * text);
    const jinja::string & str() const { return *out; }

  private:
    std::shared_ptr<jinja::string> out;
};

// The JSON text of a value, as value_to_json() writes it.
jinja::string marked_json(const jinja_value & value, int indent, const std::string & item_separator, const std::string & key_separator);

// `text` with the marks of `own`; all of it is marked if `own` is another text with marks.
jinja::string marked_as(const jinja::string & own, const std::string & text);

// The built-in function `name` of a value, with marks in its result.
jinja_function marked_builtin(const std::string & name, jinja_function upstream);

}  // namespace svc
