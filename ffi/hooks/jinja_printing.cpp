// The texts of values: as printed, as Python's repr() and as JSON.

#include "jinja_machine.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace svc::j2 {
namespace {

constexpr int depth_max = 200;

void write_escape(text_writer & out, const char * form, uint32_t code, bool is_input) {
    char bytes[16];
    snprintf(bytes, sizeof bytes, form, code);
    out.add(bytes, is_input);
}

// Writes values as Python's repr().
class repr_writer {
  public:
    text_writer out;

    void write(const value & of, int depth) {
        if (depth > depth_max) throw template_fault("a value that is printed is nested more than " + std::to_string(depth_max) + " deep");
        switch (kind_of(of)) {
            case kind::none: return out.add("None");
            case kind::undefined: return out.add("Undefined");
            case kind::boolean: return out.add(of->val_int ? "True" : "False");
            case kind::integer: return out.add(std::to_string(of->val_int).c_str());
            case kind::number: return out.add(float_text(of->val_flt).c_str());
            case kind::string: return is_markup(of) ? write_markup(of) : write_string(of->val_str);
            case kind::list:
                if (const auto * const view = dynamic_cast<const view_t *>(of.get())) return write_view(*view, depth);
                return write_items(of->val_arr, "[", "]", depth);
            case kind::tuple: return write_items(of->val_arr, "(", of->val_arr.size() == 1 ? ",)" : ")", depth);
            case kind::dict: return write_object(of, depth);
            case kind::thing: break;
        }
        const thing_t * const thing = thing_of(of);
        out.add(thing == nullptr ? "<object>" : thing->shown().c_str());
    }

  private:
    void write_markup(const value & of) {
        out.add("Markup(");
        write_string(of->val_str);
        out.add(")");
    }

    void write_view(const view_t & view, int depth) {
        out.add(view.before.c_str());
        if (view.after.empty()) return;
        write_items(view.val_arr, "[", "]", depth);
        out.add(view.after.c_str());
    }

    void write_items(const std::vector<value> & items, const char * open, const char * close, int depth) {
        out.add(open);
        for (size_t i = 0; i < items.size(); i++) {
            if (i > 0) out.add(", ");
            write(items[i], depth + 1);
        }
        out.add(close);
    }

    void write_object(const value & of, int depth) {
        out.add("{");
        bool first = true;
        for (const auto & [key, val] : of->val_obj) {
            if (!first) out.add(", ");
            first = false;
            write(key, depth + 1);
            out.add(": ");
            write(val, depth + 1);
        }
        out.add("}");
    }

    void write_string(const text & of) {
        const std::string bytes = of.str();
        const char quote = bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos ? '"' : '\'';
        const std::string mark(1, quote);
        out.add(mark, false);
        for_each_letter(of, [&](const letter & one) {
            const uint32_t c = one.code;
            if (c == (unsigned char) quote || c == '\\') {
                out.add("\\" + std::string(one.bytes), one.is_input);
            } else if (c == '\n' || c == '\r' || c == '\t') {
                out.add(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", one.is_input);
            } else if (is_printable(c)) {
                out.add(one.bytes, one.is_input);
            } else {
                write_escape(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c, one.is_input);
            }
        });
        out.add(mark, false);
    }
};

// Writes values as Python's json.dumps().
class json_writer {
  public:
    text_writer out;
    explicit json_writer(const json_form & form) : form(form) {}

    void write(const value & of, int depth) {
        if (depth > depth_max) throw template_fault("a value for tojson is nested more than " + std::to_string(depth_max) + " deep");
        switch (kind_of(of)) {
            case kind::none: return out.add("null");
            case kind::boolean: return out.add(of->val_int ? "true" : "false");
            case kind::integer: return out.add(std::to_string(of->val_int).c_str());
            case kind::number: return out.add(number(of->val_flt).c_str());
            case kind::string: return write_string(of->val_str);
            case kind::list:
                if (dynamic_cast<const view_t *>(of.get()) != nullptr) break;
                [[fallthrough]];
            case kind::tuple: return write_items(of->val_arr, depth);
            case kind::dict: return write_object(of, depth);
            default: break;
        }
        throw template_fault("Object of type " + type_of(of) + " is not JSON serializable");
    }

  private:
    const json_form & form;

    static std::string number(double n) {
        if (std::isnan(n)) return "NaN";
        return std::isinf(n) ? n < 0 ? "-Infinity" : "Infinity" : float_text(n);
    }

    void newline(int depth) {
        if (form.indent < 0) return;
        out.add("\n");
        for (int i = 0; i < depth; i++) out.add(form.margin, false);
    }

    void write_items(const std::vector<value> & items, int depth) {
        out.add("[");
        for (size_t i = 0; i < items.size(); i++) {
            if (i > 0) out.add(form.item_separator, false);
            newline(depth + 1);
            write(items[i], depth + 1);
        }
        if (!items.empty()) newline(depth);
        out.add("]");
    }

    static text key_text(const value & key) {
        switch (kind_of(key)) {
            case kind::string: return key->val_str;
            case kind::none: return text("null");
            case kind::boolean: return text(key->val_int ? "true" : "false");
            case kind::integer: return text(std::to_string(key->val_int));
            case kind::number: return text(number(key->val_flt));
            default: throw template_fault("keys must be str, int, float, bool or None, not " + type_of(key));
        }
    }

    void write_object(const value & of, int depth) {
        auto pairs = of->val_obj;
        if (form.sorted) {
            std::stable_sort(pairs.begin(), pairs.end(), [](const auto & a, const auto & b) { return order(a.first, b.first, "<") == -1; });
        }
        out.add("{");
        bool first = true;
        for (const auto & [key, val] : pairs) {
            if (!first) out.add(form.item_separator, false);
            first = false;
            newline(depth + 1);
            write_string(key_text(key));
            out.add(form.key_separator, false);
            write(val, depth + 1);
        }
        if (!pairs.empty()) newline(depth);
        out.add("}");
    }

    void write_string(const text & of) {
        out.add("\"");
        for (const auto & part : of.parts) form.ascii ? write_ascii(part.val, part.is_input) : write_escaped(part.val, part.is_input);
        out.add("\"");
    }

    void write_escaped(const std::string & bytes, bool is_input) {
        const std::string_view all = bytes;
        size_t from = 0;
        for (size_t at = 0; at < all.size(); at++) {
            const auto c = (unsigned char) all[at];
            if (c >= 0x20 && c != '"' && c != '\\') continue;
            out.add(all.substr(from, at - from), is_input);
            from = at + 1;
            write_control(c, is_input);
        }
        out.add(all.substr(from), is_input);
    }

    void write_control(unsigned char c, bool is_input) {
        static const std::string named = "\"\\\b\f\n\r\t", names = "\"\\bfnrt";
        const size_t at = named.find((char) c);
        if (at == std::string::npos) return write_escape(out, "\\u%04x", c, is_input);
        const char escape[] = {'\\', names[at]};
        out.add({escape, 2}, is_input);
    }

    void write_ascii(const std::string & bytes, bool is_input) {
        for (const uint32_t code : codes_of(bytes)) {
            if (code >= 0x10000 && code <= 0x10ffff) {
                write_escape(out, "\\u%04x", 0xd800 + ((code - 0x10000) >> 10), is_input);
                write_escape(out, "\\u%04x", 0xdc00 + ((code - 0x10000) & 0x3ff), is_input);
            } else if (code >= 0x7f) {
                write_escape(out, "\\u%04x", code & 0xffff, is_input);
            } else {
                write_escaped(std::string(1, (char) code), is_input);
            }
        }
    }
};

}  // namespace

std::string float_text(double n) {
    if (std::isnan(n)) return "nan";
    if (std::isinf(n)) return n < 0 ? "-inf" : "inf";
    char bytes[40];
    for (int digits = 0; digits < 17; digits++) {  // the shortest text that is read as the same number
        snprintf(bytes, sizeof bytes, "%.*e", digits, n);
        if (strtod(bytes, nullptr) == n) break;
    }
    const std::string all = bytes;
    const size_t e = all.find('e');
    const int exponent = atoi(all.c_str() + e + 1);
    std::string digits;
    for (const char c : all.substr(0, e)) {
        if (c >= '0' && c <= '9') digits += c;
    }
    const std::string sign = all[0] == '-' ? "-" : "";
    if (exponent < -4 || exponent >= 16) {
        const std::string fraction = digits.size() > 1 ? "." + digits.substr(1) : "";
        snprintf(bytes, sizeof bytes, "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
        return sign + digits[0] + fraction + bytes;
    }
    if (exponent < 0) return sign + "0." + std::string((size_t) (-exponent - 1), '0') + digits;
    const auto whole = (size_t) exponent + 1;
    if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
    return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

text repr_of(const value & of) {
    repr_writer writer;
    writer.write(of, 0);
    return writer.out.taken();
}

text text_of(const value & of) {
    const kind type = kind_of(of);
    if (type == kind::string) return of->val_str;
    return type == kind::undefined ? text() : repr_of(of);
}

text escaped(const text & of) {
    return mapped(of, [](uint32_t code, size_t) -> std::string {
        switch (code) {
            case '&': return "&amp;";
            case '<': return "&lt;";
            case '>': return "&gt;";
            case '\'': return "&#39;";
            case '"': return "&#34;";
            default: return utf8(code);
        }
    });
}

text json_of(const value & of, const json_form & form) {
    json_writer writer(form);
    writer.write(of, 0);
    return writer.out.taken();
}

}  // namespace svc::j2
