// Methods of texts.

#include "jinja_methods.h"

#include <algorithm>

namespace svc::j2 {
namespace {

const text & own(const value & self) { return self->val_str; }

text text_argument(bound_arguments & a, size_t i) {
    if (!is_string(a[i])) throw template_fault("must be str, not " + type_of(a[i]));
    return a[i]->val_str;
}

template <text (*change)(const text &)>
value changed(const value & self, bound_arguments & a) {
    a.m.made(own(self).length());
    return string_of(change(own(self)));
}

// Whether the text is not empty and `is` holds for each letter.
template <bool (*is)(uint32_t)>
value all_letters(const value & self, bound_arguments &) {
    const std::vector<uint32_t> all = codes_of(own(self).str());
    return boolean_of(!all.empty() && std::all_of(all.begin(), all.end(), is));
}

bool is_alnum(uint32_t code) { return is_alpha(code) || is_numeric(code); }
bool is_ascii(uint32_t code) { return code < 128; }
bool is_digit(uint32_t code) {
    return is_decimal(code) || code == 0xb2 || code == 0xb3 || code == 0xb9 || code == 0x2070 || (code >= 0x2074 && code <= 0x2079) || (code >= 0x2080 && code <= 0x2089);
}

template <bool (*is)(uint32_t), bool (*is_other)(uint32_t)>
value is_case(const value & self, bound_arguments &) {
    const std::vector<uint32_t> all = codes_of(own(self).str());
    return boolean_of(std::any_of(all.begin(), all.end(), is) && std::none_of(all.begin(), all.end(), is_other));
}

value is_title(const value & self, bound_arguments &) {
    bool any = false, within = false;
    for (const uint32_t code : codes_of(own(self).str())) {
        const bool large = is_uppercase(code), small = is_lowercase(code);
        if ((large && within) || (small && !within)) return boolean_of(false);
        any = any || large;
        within = large || small;
    }
    return boolean_of(any);
}

value is_identifier(const value & self, bound_arguments &) {
    const std::vector<uint32_t> all = codes_of(own(self).str());
    const bool first = !all.empty() && (is_alpha(all[0]) || all[0] == '_');
    return boolean_of(first && std::all_of(all.begin(), all.end(), is_word));
}

// The bytes that letters [start, end) of the arguments are.
std::pair<size_t, size_t> range_of(const std::string & bytes, bound_arguments & a, size_t first) {
    const auto size = (int64_t) codes_of(bytes).size();
    const auto place = [&](size_t i, int64_t otherwise) {
        const int64_t n = a.count(i, otherwise);
        return n < 0 ? std::max<int64_t>(n + size, 0) : n;
    };
    const int64_t from = place(first, 0), to = std::min(place(first + 1, size), size);
    if (from > to) return {std::string::npos, 0};
    return {byte_of_letter(bytes, (size_t) from), byte_of_letter(bytes, (size_t) to)};
}

int64_t found_at(const value & self, bound_arguments & a, bool last) {
    const std::string bytes = own(self).str(), sought = text_argument(a, 0).str();
    const auto [from, to] = range_of(bytes, a, 1);
    if (from == std::string::npos || to < from || to - from < sought.size()) return -1;
    const size_t at = last ? bytes.rfind(sought, to - sought.size()) : bytes.find(sought, from);
    if (at == std::string::npos || at < from || at + sought.size() > to) return -1;
    return (int64_t) codes_of(std::string_view(bytes).substr(0, at)).size();
}

template <bool last>
value find(const value & self, bound_arguments & a) { return integer_of(found_at(self, a, last)); }

template <bool last>
value index_of(const value & self, bound_arguments & a) {
    const int64_t at = found_at(self, a, last);
    if (at < 0) throw template_fault("substring not found");
    return integer_of(at);
}

value count(const value & self, bound_arguments & a) {
    const std::string bytes = own(self).str(), sought = text_argument(a, 0).str();
    const auto [from, to] = range_of(bytes, a, 1);
    if (from == std::string::npos || to < from) return integer_of(0);
    if (sought.empty()) return integer_of((int64_t) codes_of(std::string_view(bytes).substr(from, to - from)).size() + 1);
    int64_t n = 0;
    for (size_t at = from; (at = bytes.find(sought, at)) != std::string::npos && at + sought.size() <= to; at += sought.size()) n++;
    return integer_of(n);
}

template <bool at_end>
value has_edge(const value & self, bound_arguments & a) {
    const std::string bytes = own(self).str();
    const auto [from, to] = range_of(bytes, a, 1);
    if (from == std::string::npos || to < from) return boolean_of(false);
    const std::vector<value> all = kind_of(a[0]) == kind::tuple ? a[0]->val_arr : std::vector<value>{a[0]};
    for (const value & one : all) {
        if (!is_string(one)) throw template_fault("first arg must be str or a tuple of str, not " + type_of(one));
        const std::string edge = one->val_str.str();
        if (edge.size() > to - from) continue;
        if (bytes.compare(at_end ? to - edge.size() : from, edge.size(), edge) == 0) return boolean_of(true);
    }
    return boolean_of(false);
}

template <bool left, bool right>
value strip(const value & self, bound_arguments & a) {
    const std::string chars = a.string(0);
    return string_of(stripped(own(self), left, right, a.given(0) ? &chars : nullptr));
}

// Counts the pieces of a text, each of which is a value.
planned counted(const value & self, bound_arguments & a) {
    return [&self, &a](size_t n) {
        a.m.step(n);
        a.m.made(own(self).length());
        a.m.made(n, 256);
    };
}

template <std::vector<text> (*cut)(const text &, const std::string *, int64_t, const planned &)>
value split_method(const value & self, bound_arguments & a) {
    const bool by_text = a.given(0);
    const std::string separator = by_text ? text_argument(a, 0).str() : "";
    if (by_text && separator.empty()) throw template_fault("empty separator");
    return list_of_texts(cut(own(self), by_text ? &separator : nullptr, a.count(1, -1), counted(self, a)));
}

template <bool last>
value partition(const value & self, bound_arguments & a) {
    const std::string bytes = own(self).str(), separator = text_argument(a, 0).str();
    if (separator.empty()) throw template_fault("empty separator");
    const size_t at = last ? bytes.rfind(separator) : bytes.find(separator);
    const text none;
    if (at == std::string::npos) {
        const std::vector<value> out = last ? std::vector<value>{string_of(none), string_of(none), self} : std::vector<value>{self, string_of(none), string_of(none)};
        return tuple_of(out);
    }
    return tuple_of({string_of(part_of(own(self), 0, at)), string_of(part_of(own(self), at, separator.size())), string_of(part_of(own(self), at + separator.size()))});
}

value without_prefix(const value & self, bound_arguments & a) {
    const std::string prefix = text_argument(a, 0).str();
    return own(self).str().compare(0, prefix.size(), prefix) == 0 ? string_of(part_of(own(self), prefix.size())) : self;
}

value without_suffix(const value & self, bound_arguments & a) {
    const std::string bytes = own(self).str(), suffix = text_argument(a, 0).str();
    const bool has = bytes.size() >= suffix.size() && bytes.compare(bytes.size() - suffix.size(), suffix.size(), suffix) == 0;
    return has ? string_of(part_of(own(self), 0, bytes.size() - suffix.size())) : self;
}

// Filled up to a width: how much of what is missing goes to the left.
value filled(const value & self, bound_arguments & a, int64_t (*left_of)(int64_t missing, int64_t width)) {
    const int64_t width = a.count(0, 0), missing = width - (int64_t) count_letters(own(self));
    const text fill = a.has(1) ? text_argument(a, 1) : text(" ");
    if (count_letters(fill) != 1) throw template_fault("The fill character must be exactly one character long");
    if (missing <= 0) return self;
    a.m.made((size_t) missing);
    const int64_t left = left_of(missing, width);
    return string_of(joined(joined(repeated(fill, left), own(self)), repeated(fill, missing - left)));
}

value zero_filled(const value & self, bound_arguments & a) {
    const int64_t missing = a.count(0, 0) - (int64_t) count_letters(own(self));
    if (missing <= 0) return self;
    a.m.made((size_t) missing);
    const std::string bytes = own(self).str();
    const size_t sign = !bytes.empty() && (bytes[0] == '-' || bytes[0] == '+') ? 1 : 0;
    return string_of(joined(joined(part_of(own(self), 0, sign), repeated(text("0"), missing)), part_of(own(self), sign)));
}

value join(const value & self, bound_arguments & a) {
    text_writer out;
    bool first = true;
    for (const value & one : elements_of(a.m, a[0])) {
        if (!is_string(one)) throw template_fault("sequence item: expected str instance, " + type_of(one) + " found");
        if (!first) out.add(own(self));
        first = false;
        out.add(one->val_str);
    }
    a.m.made(out.size());
    return string_of(out.taken());
}

value replace(const value & self, bound_arguments & a) {
    const text out = replaced(own(self), text_argument(a, 0).str(), text_argument(a, 1), a.count(2, -1));
    a.m.made(out.length());
    return string_of(out);
}

value expanded(const value & self, bound_arguments & a) {
    const int64_t size = a.count(0, 8);
    int64_t column = 0;
    return string_of(mapped(own(self), [&](uint32_t code, size_t) {
        if (code != '\t') {
            column = code == '\n' || code == '\r' ? 0 : column + 1;
            return utf8(code);
        }
        const int64_t n = size <= 0 ? 0 : size - column % size;
        column += n;
        a.m.made((size_t) n);
        return std::string((size_t) n, ' ');
    }));
}

value format(const value & self, bound_arguments & a) {
    const text out = formatted_braces(a.m, own(self), a.raw);
    a.m.made(out.length());
    return string_of(out);
}

value format_map(const value & self, bound_arguments & a) {
    call_values args;
    if (!is_dict(a[0])) throw template_fault("format_map() needs a mapping");
    for (const auto & [key, val] : a[0]->val_obj) args.named.emplace_back(text_of(key).str(), val);
    return string_of(formatted_braces(a.m, own(self), args));
}

const builtin rows[] = {
    {"capitalize", "", changed<capitalized>},
    {"casefold", "", [](const value & self, bound_arguments &) { return string_of(replaced(lower(own(self)), "ß", text("ss", has_input(own(self))), -1)); }},
    {"center", "width fillchar", [](const value & self, bound_arguments & a) { return filled(self, a, [](int64_t n, int64_t width) { return n / 2 + (n & width & 1); }); }},
    {"count", "sub start end", count},
    {"endswith", "suffix start end", has_edge<true>},
    {"expandtabs", "tabsize", expanded},
    {"find", "sub start end", find<false>},
    {"format", "*", format},
    {"format_map", "mapping", format_map},
    {"index", "sub start end", index_of<false>},
    {"isalnum", "", all_letters<is_alnum>},
    {"isalpha", "", all_letters<is_alpha>},
    {"isascii", "", [](const value & self, bound_arguments & a) { return boolean_of(own(self).length() == 0 || is_true(all_letters<is_ascii>(self, a))); }},
    {"isdecimal", "", all_letters<is_decimal>},
    {"isdigit", "", all_letters<is_digit>},
    {"isidentifier", "", is_identifier},
    {"islower", "", is_case<is_lowercase, is_uppercase>},
    {"isnumeric", "", all_letters<is_numeric>},
    {"isprintable", "", [](const value & self, bound_arguments & a) { return boolean_of(own(self).length() == 0 || is_true(all_letters<is_printable>(self, a))); }},
    {"isspace", "", all_letters<is_space>},
    {"istitle", "", is_title},
    {"isupper", "", is_case<is_uppercase, is_lowercase>},
    {"join", "iterable", join},
    {"ljust", "width fillchar", [](const value & self, bound_arguments & a) { return filled(self, a, [](int64_t, int64_t) -> int64_t { return 0; }); }},
    {"lower", "", changed<lower>},
    {"lstrip", "chars", strip<true, false>},
    {"partition", "sep", partition<false>},
    {"removeprefix", "prefix", without_prefix},
    {"removesuffix", "suffix", without_suffix},
    {"replace", "old new count", replace},
    {"rfind", "sub start end", find<true>},
    {"rindex", "sub start end", index_of<true>},
    {"rjust", "width fillchar", [](const value & self, bound_arguments & a) { return filled(self, a, [](int64_t n, int64_t) { return n; }); }},
    {"rpartition", "sep", partition<true>},
    {"rsplit", "sep maxsplit", split_method<split_from_right>},
    {"rstrip", "chars", strip<false, true>},
    {"split", "sep maxsplit", split_method<split>},
    {"splitlines", "keepends", [](const value & self, bound_arguments & a) { return list_of_texts(split_lines(own(self), a.flag(0), counted(self, a))); }},
    {"startswith", "prefix start end", has_edge<false>},
    {"strip", "chars", strip<true, true>},
    {"swapcase", "", changed<swapped_case>},
    {"title", "", changed<title>},
    {"upper", "", changed<upper>},
    {"zfill", "width", zero_filled},
};

}  // namespace

const method_table text_methods = {rows, sizeof rows / sizeof *rows};

}  // namespace svc::j2
