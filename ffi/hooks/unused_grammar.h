// Hook in the chat library: no grammar of answers is built, since ffi/constraint has its own.
#pragma once

namespace svc {

constexpr bool builds_grammars = false;

// In place of a grammar; not empty, which would mean that an answer needs none.
constexpr const char * unused_grammar = "root ::= unused";

}  // namespace svc
