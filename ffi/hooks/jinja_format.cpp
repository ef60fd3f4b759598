// Text with values put in: `text % values`, text.format(), and the numbers of both.

#include "jinja_machine.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace svc::j2 {
namespace {

constexpr int64_t width_max = 1 << 20;

// What a format says of one value: format()'s [[fill]align][sign][#][0][width][,][.precision][type], and of `%` the same things.
struct spec {
    std::string fill = " ";
    char align = 0, sign = '-', type = 0, grouping = 0;
    bool alternate = false;
    int64_t width = 0, precision = -1;
};

int64_t digits_at(const std::string & from, size_t & at) {
    int64_t n = 0;
    for (; at < from.size() && from[at] >= '0' && from[at] <= '9'; at++) n = std::min(n * 10 + (from[at] - '0'), width_max + 1);
    if (n > width_max) throw template_fault("a width of a format is too large");
    return n;
}

spec read_spec(const std::string & from) {
    spec out;
    size_t at = 0;
    const auto aligns = [&](size_t i) { return i < from.size() && std::string("<>=^").find(from[i]) != std::string::npos; };
    const size_t first = from.empty() ? 0 : byte_of_letter(from, 1);
    if (!from.empty() && aligns(first)) {
        out.fill = from.substr(0, first);
        out.align = from[first];
        at = first + 1;
    } else if (aligns(0)) {
        out.align = from[at++];
    }
    if (at < from.size() && std::string("+- ").find(from[at]) != std::string::npos) out.sign = from[at++];
    if (at < from.size() && from[at] == '#') out.alternate = ++at > 0;
    if (at < from.size() && from[at] == '0') {
        if (out.align == 0) out.align = '=', out.fill = "0";
        at++;
    }
    out.width = digits_at(from, at);
    if (at < from.size() && (from[at] == ',' || from[at] == '_')) out.grouping = from[at++];
    if (at < from.size() && from[at] == '.') out.precision = digits_at(from, ++at);
    if (at < from.size()) out.type = from[at++];
    if (at != from.size()) throw template_fault("Invalid format specifier '" + from + "'");
    return out;
}

std::string grouped(const std::string & digits, char by, size_t size) {
    std::string out;
    for (size_t i = 0; i < digits.size(); i++) {
        if (i > 0 && (digits.size() - i) % size == 0) out += by;
        out += digits[i];
    }
    return out;
}

std::string in_base(uint64_t n, unsigned base, bool large) {
    std::string out;
    do {
        out.insert(out.begin(), (large ? "0123456789ABCDEF" : "0123456789abcdef")[n % base]);
        n /= base;
    } while (n > 0);
    return out;
}

std::string float_digits(double n, const spec & form) {
    const char type = form.type == '%' ? 'f' : form.type == 0 || form.type == 'n' ? 'g' : form.type;
    if (form.type == 0 && form.precision < 0) return float_text(n);
    const std::string pattern = std::string("%") + (form.alternate ? "#" : "") + ".*" + type;
    const int precision = (int) std::min<int64_t>(form.precision < 0 ? 6 : form.precision, 1000);
    const double shown = form.type == '%' ? n * 100 : n;
    std::string out((size_t) snprintf(nullptr, 0, pattern.c_str(), precision, shown), 0);
    snprintf(out.data(), out.size() + 1, pattern.c_str(), precision, shown);
    const bool bare = form.type == 0 && out.find_first_of(".en") == std::string::npos;
    return out + (form.type == '%' ? "%" : bare ? ".0" : "");
}

// A number without its sign.
std::string magnitude(const value & of, const spec & form) {
    const bool floats = std::string("eEfFgGn%").find(form.type) != std::string::npos && form.type != 0;
    if (kind_of(of) == kind::number || floats) {
        if (!floats && form.type != 0) throw template_fault(std::string("Unknown format code '") + form.type + "' for object of type 'float'");
        std::string out = float_digits(std::fabs(real(of)), form);
        if (form.grouping == 0) return out;
        const size_t end = std::min(out.find_first_not_of("0123456789"), out.size());
        return grouped(out.substr(0, end), form.grouping, 3) + out.substr(end);
    }
    const int64_t n = of->val_int;
    const uint64_t size = n < 0 ? 0 - (uint64_t) n : (uint64_t) n;
    switch (form.type) {
        case 0:
        case 'd':
            return form.grouping == 0 ? std::to_string(size) : grouped(std::to_string(size), form.grouping, 3);
        case 'x':
        case 'X': return (form.alternate ? std::string("0") + form.type : "") + in_base(size, 16, form.type == 'X');
        case 'o': return (form.alternate ? "0o" : "") + in_base(size, 8, false);
        case 'b': return (form.alternate ? "0b" : "") + in_base(size, 2, false);
        default: throw template_fault(std::string("Unknown format code '") + form.type + "' for object of type 'int'");
    }
}

text padded(const text & of, const std::string & sign, const spec & form, char align) {
    const auto size = (int64_t) count_letters(of) + (int64_t) sign.size();
    const int64_t missing = std::max<int64_t>(form.width - size, 0);
    const int64_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
    const auto fill = [&](int64_t n) { return repeated(text(form.fill), n); };
    text_writer out;
    if (align == '=') out.add(sign, false);
    out.add(fill(left));
    if (align != '=') out.add(sign, false);
    out.add(of);
    out.add(fill(missing - left));
    return out.taken();
}

std::string sign_of(const value & of, const spec & form) {
    const bool negative = kind_of(of) == kind::number ? std::signbit(of->val_flt) : of->val_int < 0;
    return negative ? "-" : form.sign == '-' ? "" : std::string(1, form.sign);
}

// A number as `%c` takes it.
std::string letter_of_code(const value & of) {
    if (kind_of(of) == kind::number) throw template_fault("%c requires int or char");
    if (of->val_int < 0 || of->val_int > 0x10ffff) throw template_fault("%c arg not in range(0x110000)");
    return utf8((uint32_t) of->val_int);
}

int64_t whole_part(double n) {
    constexpr double end = 9223372036854775808.0;
    if (std::isnan(n) || n < -end || n >= end) throw template_fault("integers of more than 64 bits are not supported");
    return (int64_t) n;
}

text formatted_value(const value & of, const std::string & how) {
    const spec form = read_spec(how);
    if (how.empty()) return text_of(of);
    if (is_number(of) && (kind_of(of) != kind::boolean || form.type != 0)) {
        if (form.type == 'c') return padded(text(letter_of_code(of)), "", form, form.align == 0 ? '<' : form.align);
        return padded(text(magnitude(of, form)), sign_of(of, form), form, form.align == 0 ? '>' : form.align);
    }
    const bool plain = is_string(of) || kind_of(of) == kind::boolean;
    if (!plain) throw template_fault("unsupported format string passed to " + type_of(of) + ".__format__");
    if (form.type != 0 && form.type != 's') throw template_fault(std::string("Unknown format code '") + form.type + "' for object of type 'str'");
    text shown = text_of(of);
    if (form.precision >= 0) shown = letters_of(shown, 0, form.precision, 1);
    return padded(shown, "", form, form.align == 0 || form.align == '=' ? '<' : form.align);
}

// The values of `%`: a tuple, an object by name, or one value.
class percent_values {
  public:
    explicit percent_values(const value & all) : all(all), several(kind_of(all) == kind::tuple) {}
    value next() {
        if (at >= (several ? all->val_arr.size() : 1)) throw template_fault("not enough arguments for format string");
        return several ? all->val_arr[at++] : (at++, all);
    }
    value named(const std::string & name) {
        if (!is_dict(all)) throw template_fault("format requires a mapping");
        const value found = found_in(all, string_of(name));
        if (found == nullptr) throw template_fault("'" + name + "'");
        at = 1;
        return found;
    }
    bool all_used() const { return several ? at == all->val_arr.size() : at == 1 || is_dict(all); }

  private:
    const value & all;
    const bool several;
    size_t at = 0;
};

text percent_value(const value & of, spec form, bool left) {
    const char type = form.type;
    const bool is_text = type == 's' || type == 'r' || type == 'a' || type == 'c';
    if (left) form.fill = " ";
    if (is_text) {
        const bool by_code = type == 'c' && is_number(of);
        text shown = by_code ? text(letter_of_code(of)) : type == 'r' || type == 'a' ? repr_of(of) : text_of(of);
        if (form.precision >= 0) shown = letters_of(shown, 0, form.precision, 1);
        form.fill = " ";
        return padded(shown, "", form, left ? '<' : '>');
    }
    if (std::string("diuxXoeEfFgG").find(type) == std::string::npos) {
        throw template_fault(std::string("unsupported format character '") + type + "'");
    }
    if (!is_number(of)) throw template_fault(std::string("%") + type + " format: a real number is required, not " + type_of(of));
    const bool floats = std::string("eEfFgG").find(type) != std::string::npos;
    const bool decimal = type == 'd' || type == 'i' || type == 'u';
    const value shown = decimal && kind_of(of) == kind::number ? integer_of(whole_part(of->val_flt)) : of;
    if (decimal) form.type = 'd';
    std::string digits = magnitude(shown, form);
    if (!floats && form.precision > (int64_t) digits.size()) digits.insert(0, (size_t) form.precision - digits.size(), '0');
    return padded(text(digits), sign_of(shown, form), form, left ? '<' : form.fill == "0" ? '=' : '>');
}

}  // namespace

text formatted(const text & of, const value & values) {
    const std::string bytes = of.str();
    percent_values all(values);
    text_writer out;
    size_t from = 0;
    for (size_t at = 0; (at = bytes.find('%', from)) != std::string::npos;) {
        out.add(part_of(of, from, at++ - from));
        value named;
        if (at < bytes.size() && bytes[at] == '(') {
            const size_t end = bytes.find(')', at);
            if (end == std::string::npos) throw template_fault("incomplete format key");
            named = all.named(bytes.substr(at + 1, end - at - 1));
            at = end + 1;
        }
        spec form;
        bool left = false;
        for (; at < bytes.size() && std::string("-+ 0#").find(bytes[at]) != std::string::npos; at++) {
            if (bytes[at] == '-') left = true;
            if (bytes[at] == '+' || (bytes[at] == ' ' && form.sign != '+')) form.sign = bytes[at];
            if (bytes[at] == '0') form.fill = "0";
            if (bytes[at] == '#') form.alternate = true;
        }
        const auto size = [&]() -> int64_t {
            if (at >= bytes.size() || bytes[at] != '*') return digits_at(bytes, at);
            at++;
            return std::min(whole(all.next(), "* of a format"), width_max);
        };
        form.width = size();
        if (form.width < 0) left = true, form.width = -form.width;
        if (at < bytes.size() && bytes[at] == '.') at++, form.precision = size();
        if (at < bytes.size() && std::string("hlL").find(bytes[at]) != std::string::npos) at++;
        if (at >= bytes.size()) throw template_fault("incomplete format");
        form.type = bytes[at++];
        if (form.type == '%') out.add("%");
        else out.add(percent_value(named != nullptr ? named : all.next(), form, left));
        from = at;
    }
    out.add(part_of(of, from));
    if (!all.all_used() && !(kind_of(values) == kind::list)) throw template_fault("not all arguments converted during string formatting");
    return out.taken();
}

std::string formatted_number(const value & of, const std::string & form) { return formatted_value(of, form).str(); }

namespace {

// The value that a field of format() names: '0', 'name', 'name.attribute[key]'.
value field_value(machine & m, const std::string & name, const call_values & args, size_t & next) {
    const size_t end = std::min(name.find_first_of(".["), name.size());
    const std::string first = name.substr(0, end);
    value out;
    if (first.find_first_not_of("0123456789") == std::string::npos) {
        const size_t i = first.empty() ? next++ : (size_t) std::min(atol(first.c_str()), 1L << 20);
        if (i >= args.list.size()) throw template_fault("Replacement index " + std::to_string(i) + " out of range for positional args tuple");
        out = args.list[i];
    } else {
        for (const auto & [key, val] : args.named) {
            if (key == first) out = val;
        }
        if (out == nullptr) throw template_fault("format(): '" + first + "'");
    }
    for (size_t at = end; at < name.size();) {
        const bool item = name[at] == '[';
        const size_t stop = std::min(item ? name.find(']', at) : name.find_first_of(".[", at + 1), name.size());
        const std::string key = name.substr(at + 1, stop - at - 1);
        const bool place = item && !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
        out = place ? item_of(m, out, integer_of(atol(key.c_str()))) : item ? item_of(m, out, string_of(key)) : attribute_of(m, out, key);
        at = stop + (item ? 1 : 0);
    }
    return out;
}

}  // namespace

text formatted_braces(machine & m, const text & of, const call_values & args, int nested_max) {
    if (nested_max < 0) throw template_fault("Max string recursion exceeded");
    const std::string bytes = of.str();
    text_writer out;
    size_t next = 0;
    for (size_t at = 0; at < bytes.size();) {
        const size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
        out.add(part_of(of, at, brace - at));
        at = brace;
        if (at == bytes.size()) break;
        if (at + 1 < bytes.size() && bytes[at + 1] == bytes[at]) {
            out.add(part_of(of, at, 1));
            at += 2;
            continue;
        }
        if (bytes[at] == '}') throw template_fault("Single '}' encountered in format string");
        size_t end = at + 1;
        for (int open = 1; open > 0; end++) {
            if (end >= bytes.size()) throw template_fault("Single '{' encountered in format string");
            open += bytes[end] == '{' ? 1 : bytes[end] == '}' ? -1 : 0;
        }
        std::string field = bytes.substr(at + 1, end - at - 2), how;
        if (const size_t colon = field.find(':'); colon != std::string::npos) {
            how = field.substr(colon + 1);
            field.resize(colon);
        }
        char conversion = 0;
        if (const size_t mark = field.find('!'); mark != std::string::npos) {
            conversion = mark + 1 < field.size() ? field[mark + 1] : 0;
            field.resize(mark);
        }
        value one = field_value(m, field, args, next);
        if (how.find('{') != std::string::npos) {
            call_values rest = args;
            rest.list.erase(rest.list.begin(), rest.list.begin() + (std::ptrdiff_t) std::min(next, rest.list.size()));
            how = formatted_braces(m, text(how), rest, nested_max - 1).str();
        }
        if (conversion != 0) one = string_of(conversion == 'r' || conversion == 'a' ? repr_of(one) : text_of(one));
        out.add(formatted_value(one, how));
        at = end;
    }
    return out.taken();
}

}  // namespace svc::j2
