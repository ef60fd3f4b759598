// The depth of JSON that requests bring.
#pragma once

#include <stdexcept>
#include <string>

namespace svc {

// Refuses JSON that is nested so deep that copying or writing its values, which is recursive, could end the process. Texts that are no
// JSON are for their readers to refuse.
inline void check_depth(const std::string & json, const char * what) {
    constexpr size_t depth_max = 500;
    size_t depth = 0;
    bool quoted = false;
    for (size_t at = 0; at < json.size(); at++) {
        const char c = json[at];
        if (quoted && c == '\\') at++;
        else if (c == '"') quoted = !quoted;
        else if (!quoted && (c == ']' || c == '}') && depth > 0) depth--;
        else if (!quoted && (c == '[' || c == '{') && ++depth > depth_max) {
            throw std::runtime_error(std::string(what) + " are nested more than " + std::to_string(depth_max) + " deep");
        }
    }
}

}  // namespace svc
