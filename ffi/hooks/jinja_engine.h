// The template engine that takes the place of common/jinja's: docs/decisions/160. Upstream's values, contexts and analysis stay.
#pragma once

#include "jinja/runtime.h"

#include <string>

namespace svc {

// A template that failed on a conversation, "line 3: …"; or that refuses it in its own words: raise_exception().
struct template_exception : jinja::rethrown_exception {
    bool refuses;
    template_exception(const std::string & message, bool refuses) : jinja::rethrown_exception(message), refuses(refuses) {}
};

// The program of a template. Throws std::runtime_error "line 3: …" for what is no template, or not supported.
jinja::program parsed_template(const std::string & source);

}  // namespace svc
