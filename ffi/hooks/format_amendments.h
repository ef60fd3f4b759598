// What the chat library's analysis of a template does not find: amended by renderings of our own.
#pragma once

#include "chat-auto-parser.h"

#include <string>

namespace svc {

// Adds what templates say of their answers only by how they begin one, and takes away what is not a format.
void amend(autoparser::autoparser & format, const common_chat_template & tmpl);

// Whether calls are written as in Python: `<calls>name(argument='text', other=1)</calls>`.
bool calls_as_python(const autoparser::autoparser & format);

// The parser of answers with such calls.
common_peg_arena python_parser(const autoparser::autoparser & format, const autoparser::generation_params & inputs, const std::string & begun);

}  // namespace svc
