// Filters of texts.

#include "jinja_filters.h"

#include <algorithm>
#include <cstring>

namespace svc::j2 {
namespace {

value kept_markup(const value & self, text out) { return is_markup(self) ? std::make_shared<markup_t>(std::move(out)) : string_of(std::move(out)); }

template <text (*change)(const text &)>
value changed(const value & self, bound_arguments & a) {
    const text of = text_of(self);
    a.m.made(of.length());
    return kept_markup(self, change(of));
}

// Words begin after white space, hyphens and opening brackets.
text title_words(const text & of) {
    bool begins = true;
    return mapped(of, [&](uint32_t code, size_t) {
        const bool apart = is_space(code) || (code < 128 && code != 0 && strchr("-({[<", (int) code) != nullptr);
        std::string out;
        for (const uint32_t one : begins && !apart ? upper_of(code) : lower_of(code)) out += utf8(one);
        begins = apart;
        return out;
    });
}

value centered(const value & self, bound_arguments & a) {
    const text of = text_of(self);
    const int64_t width = a.count(0, 80), missing = width - (int64_t) count_letters(of);
    if (missing <= 0) return kept_markup(self, of);
    a.m.made((size_t) missing);
    const int64_t left = missing / 2 + (missing & width & 1);
    return kept_markup(self, joined(joined(repeated(text(" "), left), of), repeated(text(" "), missing - left)));
}

value escape_once(const value & self, bound_arguments &) {
    if (is_markup(self)) return self;
    return std::make_shared<markup_t>(escaped(text_of(self)));
}

value format_filter(const value & self, bound_arguments & a) {
    if (!a.raw.list.empty() && !a.raw.named.empty()) throw template_fault("can't handle positional and keyword arguments at the same time");
    value values = tuple_of(a.raw.list);
    if (!a.raw.named.empty()) {
        values = mk_val<jinja::value_object>();
        for (const auto & [name, val] : a.raw.named) insert(values, string_of(name), val);
    }
    const text out = formatted(text_of(self), values);
    a.m.made(out.length());
    return string_of(out);
}

value indented(const value & self, bound_arguments & a) {
    const text of = text_of(self);
    const bool by_text = a.has(0) && is_string(a[0]);
    const text margin = by_text ? text_of(a[0]) : repeated(text(" "), a.count(0, 4));
    const bool first = a.flag(1), blank = a.flag(2);
    const std::vector<text> lines = split_lines(joined(of, text("\n")), false);
    text_writer out;
    if (first) out.add(margin);
    for (size_t i = 0; i < lines.size(); i++) {
        if (i > 0) out.add("\n");
        if (i > 0 && (blank || lines[i].length() > 0)) out.add(margin);
        out.add(lines[i]);
        a.m.made(margin.length() + lines[i].length());
    }
    return kept_markup(self, out.taken());
}

value replace_filter(const value & self, bound_arguments & a) {
    const text out = replaced(text_of(self), text_of(a[0]).str(), text_of(a[1]), a.count(2, -1));
    a.m.made(out.length());
    return string_of(out);
}

value without_tags(const value & self, bound_arguments &) {
    std::string bytes = text_of(self).str();
    const bool is_input = has_input(text_of(self));
    for (size_t at = 0; (at = bytes.find("<!--", at)) != std::string::npos;) {
        const size_t end = bytes.find("-->", at);
        if (end == std::string::npos) break;
        bytes.erase(at, end + 3 - at);
    }
    for (size_t at = 0; (at = bytes.find('<', at)) != std::string::npos;) {
        const size_t end = bytes.find('>', at);
        if (end == std::string::npos) break;
        bytes.erase(at, end + 1 - at);
    }
    text_writer out;
    for (const text & word : split(text(bytes, is_input), nullptr, -1)) {
        if (out.size() > 0) out.add(" ");
        out.add(word);
    }
    text plain = out.taken();
    for (const auto & [name, letter] : {std::pair("&lt;", "<"), {"&gt;", ">"}, {"&#39;", "'"}, {"&#34;", "\""}, {"&quot;", "\""}, {"&amp;", "&"}}) {
        plain = replaced(plain, name, text(letter, is_input), -1);
    }
    return string_of(plain);
}

value trimmed(const value & self, bound_arguments & a) {
    const std::string chars = a.string(0);
    return kept_markup(self, stripped(text_of(self), true, true, a.given(0) ? &chars : nullptr));
}

value truncated(const value & self, bound_arguments & a) {
    const text of = text_of(self), end = a.given(2) ? text_of(a[2]) : text("...");
    const int64_t length = a.count(0, 255), leeway = a.count(3, 5), ends = (int64_t) count_letters(end);
    if (length < ends) throw template_fault("truncate: expected length >= " + std::to_string(ends) + ", got " + std::to_string(length));
    if (leeway < 0) throw template_fault("truncate: expected leeway >= 0, got " + std::to_string(leeway));
    if ((int64_t) count_letters(of) <= length + leeway) return kept_markup(self, of);
    text cut = letters_of(of, 0, length - ends, 1);
    const std::string space = " ";
    if (!a.flag(1)) cut = split_from_right(cut, &space, 1)[0];
    return kept_markup(self, joined(cut, end));
}

std::string quoted(const std::string & bytes, bool query) {
    static const char * const digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : bytes) {
        const auto byte = (unsigned char) c;
        const bool safe = (byte < 128 && std::isalnum(byte) != 0) || (byte != 0 && strchr(query ? "_.-~" : "_.-~/", c) != nullptr);
        if (safe) out += c;
        else if (query && c == ' ') out += '+';
        else out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    return out;
}

value url_encoded(const value & self, bound_arguments & a) {
    if (is_string(self) || (!is_dict(self) && kind_of(self) != kind::list && kind_of(self) != kind::tuple)) {
        const text of = text_of(self);
        return string_of(text(quoted(of.str(), false), has_input(of)));
    }
    std::vector<std::pair<value, value>> pairs;
    if (is_dict(self)) {
        pairs = self->val_obj;
    } else {
        for (const value & one : elements_of(a.m, self)) {
            const std::vector<value> both = elements_of(a.m, one);
            if (both.size() != 2) throw template_fault("urlencode needs pairs");
            pairs.emplace_back(both[0], both[1]);
        }
    }
    text_writer out;
    for (const auto & [key, val] : pairs) {
        if (out.size() > 0) out.add("&");
        const text name = text_of(key), of = text_of(val);
        out.add(quoted(name.str(), true), has_input(name));
        out.add("=");
        out.add(quoted(of.str(), true), has_input(of));
    }
    return string_of(out.taken());
}

value word_count(const value & self, bound_arguments &) {
    int64_t n = 0;
    bool within = false;
    for (const uint32_t code : codes_of(text_of(self).str())) {
        const bool word = is_word(code);
        n += word && !within ? 1 : 0;
        within = word;
    }
    return integer_of(n);
}

// The pieces between which a line can be broken: white space, words, and their parts after hyphens.
std::vector<text> chunks_of(const text & line, bool on_hyphens) {
    std::vector<letter> all;
    for_each_letter(line, [&](const letter & one) { all.push_back(one); });
    std::vector<text> out;
    text_writer run;
    for (size_t i = 0; i < all.size(); i++) {
        run.add(all[i].bytes, all[i].is_input);
        const bool last = i + 1 == all.size();
        const bool turns = !last && is_space(all[i].code) != is_space(all[i + 1].code);
        const bool hyphen = !last && on_hyphens && all[i].code == '-' && i > 1 && is_alpha(all[i - 1].code) && is_word(all[i - 2].code) && is_alpha(all[i + 1].code);
        if (last || turns || hyphen) out.push_back(run.taken());
    }
    return out;
}

bool is_blank(const text & of) { return stripped(of, true, false, nullptr).length() == 0; }

struct wrapping {
    int64_t width;
    bool long_words, hyphens;
    text separator;
};

// A line, broken where it is longer than the width.
void wrap(const text & line, const wrapping & how, std::vector<text> & out) {
    std::vector<text> chunks = chunks_of(line, how.hyphens);
    std::reverse(chunks.begin(), chunks.end());
    while (!chunks.empty()) {
        std::vector<text> row;
        int64_t size = 0;
        if (is_blank(chunks.back()) && !out.empty()) chunks.pop_back();
        while (!chunks.empty() && size + (int64_t) count_letters(chunks.back()) <= how.width) {
            size += (int64_t) count_letters(chunks.back());
            row.push_back(chunks.back());
            chunks.pop_back();
        }
        if (!chunks.empty() && (int64_t) count_letters(chunks.back()) > how.width) {
            const int64_t room = how.long_words ? std::max<int64_t>(how.width - size, 1) : (int64_t) count_letters(chunks.back());
            if (how.long_words || row.empty()) {
                row.push_back(letters_of(chunks.back(), 0, room, 1));
                chunks.back() = letters_of(chunks.back(), room, (int64_t) count_letters(chunks.back()), 1);
                if (chunks.back().length() == 0) chunks.pop_back();
            }
        }
        if (!row.empty() && is_blank(row.back())) row.pop_back();
        if (row.empty()) continue;
        text joined_row;
        for (const text & one : row) joined_row = joined(joined_row, one);
        out.push_back(joined_row);
    }
}

value wrapped(const value & self, bound_arguments & a) {
    const wrapping how{a.count(0, 79), a.flag(1, true), a.flag(3, true), a.given(2) ? text_of(a[2]) : text("\n")};
    if (how.width <= 0) throw template_fault("invalid width " + std::to_string(how.width) + " (must be > 0)");
    text_writer out;
    bool first = true;
    for (const text & line : split_lines(text_of(self), false)) {
        std::vector<text> rows;
        wrap(line, how, rows);
        if (!first) out.add(how.separator);
        first = false;
        for (size_t i = 0; i < rows.size(); i++) {
            if (i > 0) out.add(how.separator);
            out.add(rows[i]);
        }
        a.m.step(rows.size());
    }
    return string_of(out.taken());
}

value xml_attributes(const value & self, bound_arguments & a) {
    if (!is_dict(self)) throw template_fault("xmlattr needs a mapping, not " + type_of(self));
    text_writer out;
    for (const auto & [key, val] : self->val_obj) {
        if (is_undefined(val) || kind_of(val) == kind::none) continue;
        const std::string name = text_of(key).str();
        if (name.find_first_of(" \t\n\r\f\v/>=") != std::string::npos) throw template_fault("Invalid character in attribute name: '" + name + "'");
        if (out.size() > 0 || a.flag(0, true)) out.add(" ");
        out.add(escaped(text_of(key)));
        out.add("=\"");
        out.add(is_markup(val) ? val->val_str : escaped(text_of(val)));
        out.add("\"");
    }
    return string_of(out.taken());
}

const builtin rows[] = {
    {"capitalize", "", changed<capitalized>},
    {"center", "width", centered},
    {"e", "", escape_once},
    {"escape", "", escape_once},
    {"forceescape", "", [](const value & self, bound_arguments &) -> value { return std::make_shared<markup_t>(escaped(text_of(self))); }},
    {"format", "*", format_filter},
    {"indent", "width first blank", indented},
    {"lower", "", changed<lower>},
    {"replace", "old new count", replace_filter},
    {"safe", "", [](const value & self, bound_arguments &) -> value { return std::make_shared<markup_t>(text_of(self)); }},
    {"string", "", [](const value & self, bound_arguments & a) {
         if (a.m.observes()) a.m.used(self, nullptr, true);
         return is_string(self) ? self : string_of(text_of(self));
     }},
    {"striptags", "", without_tags},
    {"title", "", changed<title_words>},
    {"trim", "chars", trimmed},
    {"truncate", "length killwords end leeway", truncated},
    {"upper", "", changed<upper>},
    {"urlencode", "", url_encoded},
    {"wordcount", "", word_count},
    {"wordwrap", "width break_long_words wrapstring break_on_hyphens", wrapped},
    {"xmlattr", "autospace", xml_attributes},
};

}  // namespace

const filter_table text_filters = {rows, sizeof rows / sizeof *rows};

}  // namespace svc::j2
