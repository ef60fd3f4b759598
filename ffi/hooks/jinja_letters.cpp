// Properties and cases of letters.

#include "jinja_letter_tables.h"
#include "jinja_text.h"

#include <algorithm>
#include <cstddef>

namespace {

template <size_t N>
bool in_runs(const uint32_t (&runs)[N], uint32_t code) {
    // The first number above `code` is the end of a run within which it lies, if its place is odd.
    const size_t at = (size_t) (std::upper_bound(runs, runs + N, code) - runs);
    return at % 2 == 1 || (at > 0 && runs[at - 1] == code);
}

template <size_t N, size_t M>
std::vector<uint32_t> case_of(const int32_t (&rows)[N], const uint32_t (&several)[M], uint32_t code) {
    if (code > 0x10ffff) return {code};
    for (size_t i = 0; i < M; i += 4) {
        if (several[i] != code) continue;
        std::vector<uint32_t> out = {several[i + 1], several[i + 2]};
        if (several[i + 3] != 0) out.push_back(several[i + 3]);
        return out;
    }
    for (size_t i = 0; i < N; i += 4) {
        const int32_t first = rows[i], last = rows[i + 1], at = (int32_t) code;
        if (at < first) break;
        if (at <= last && (at - first) % rows[i + 2] == 0) return {(uint32_t) (at + rows[i + 3])};
    }
    return {code};
}

}  // namespace

namespace svc::j2 {

std::vector<uint32_t> upper_of(uint32_t code) {
    if (code < 128) return {code >= 'a' && code <= 'z' ? code - 32 : code};
    return case_of(upper_cases, long_upper_cases, code);
}

std::vector<uint32_t> lower_of(uint32_t code) {
    if (code < 128) return {code >= 'A' && code <= 'Z' ? code + 32 : code};
    return case_of(lower_cases, long_lower_cases, code);
}

bool is_alpha(uint32_t code) { return in_runs(alpha_runs, code); }
bool is_numeric(uint32_t code) { return in_runs(numeric_runs, code); }
bool is_decimal(uint32_t code) { return in_runs(decimal_runs, code); }
bool is_lowercase(uint32_t code) { return in_runs(lowercase_runs, code); }
bool is_uppercase(uint32_t code) { return in_runs(uppercase_runs, code); }
bool is_printable(uint32_t code) { return code == ' ' || (code <= 0x10ffff && !in_runs(unprintable_runs, code)); }

bool is_space(uint32_t code) {
    return (code >= 9 && code <= 13) || (code >= 0x1c && code <= 0x20) || code == 0x85 || code == 0xa0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

}  // namespace svc::j2
