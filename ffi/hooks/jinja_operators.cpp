// Operators between values.

#include "jinja_machine.h"

#include <algorithm>
#include <cmath>

namespace svc::j2 {
namespace {

[[noreturn]] void unsupported(const std::string & sign, const value & a, const value & b) {
    for (const value & one : {a, b}) {
        if (is_undefined(one)) throw template_fault(undefined_text(one));
    }
    if (sign == "+" && is_string(a)) throw template_fault("can only concatenate str (not \"" + type_of(b) + "\") to str");
    throw template_fault("unsupported operand type(s) for " + sign + ": '" + type_of(a) + "' and '" + type_of(b) + "'");
}

int64_t fits(bool overflows, int64_t result) {
    if (overflows) throw template_fault("integers of more than 64 bits are not supported");
    return result;
}

void not_zero(bool is_zero, const char * what) {
    if (is_zero) throw template_fault(what);
}

int64_t power(int64_t base, int64_t exponent) {
    int64_t out = 1;
    if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    for (; exponent > 0; exponent--) {
        const bool overflows = __builtin_mul_overflow(out, base, &out);
        fits(overflows, 0);
    }
    return out;
}

value between_integers(const std::string & sign, int64_t a, int64_t b) {
    int64_t out = 0;
    if (sign == "+") {
        const bool over = __builtin_add_overflow(a, b, &out);
        return integer_of(fits(over, out));
    }
    if (sign == "-") {
        const bool over = __builtin_sub_overflow(a, b, &out);
        return integer_of(fits(over, out));
    }
    if (sign == "*") {
        const bool over = __builtin_mul_overflow(a, b, &out);
        return integer_of(fits(over, out));
    }
    if (sign == "**") return b < 0 ? number_of(std::pow((double) a, (double) b)) : integer_of(power(a, b));
    if (sign == "/") {
        not_zero(b == 0, "division by zero");
        return number_of((double) a / (double) b);
    }
    not_zero(b == 0, "integer division or modulo by zero");
    fits(a == INT64_MIN && b == -1, 0);
    const int64_t rest = a % b;
    const bool differs = rest != 0 && (rest < 0) != (b < 0);
    return integer_of(sign == "%" ? rest + (differs ? b : 0) : a / b - (differs ? 1 : 0));
}

value between_numbers(const std::string & sign, double a, double b) {
    if (sign == "+") return number_of(a + b);
    if (sign == "-") return number_of(a - b);
    if (sign == "*") return number_of(a * b);
    if (sign == "**") return number_of(std::pow(a, b));
    not_zero(b == 0, sign == "/" ? "float division by zero" : sign == "%" ? "float modulo" : "float floor division by zero");
    if (sign == "/") return number_of(a / b);
    double rest = std::fmod(a, b);
    if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
    if (sign == "%") return number_of(rest == 0 ? std::copysign(0.0, b) : rest);
    const double whole = (a - rest) / b;
    return number_of(whole == 0 ? std::copysign(0.0, a / b) : std::floor(whole + 0.5));
}

value repeated_value(machine & m, const value & of, int64_t times) {
    const auto n = (size_t) std::max<int64_t>(times, 0);
    if (is_string(of)) {
        const size_t size = of->val_str.length();
        m.made(n, size);
        const text out = size == 0 ? text() : repeated(of->val_str, times);
        return is_markup(of) ? std::make_shared<markup_t>(out) : string_of(out);
    }
    const size_t size = of->val_arr.size();
    m.made(n, size * sizeof(value));
    std::vector<value> out;
    for (size_t i = 0; size > 0 && i < n; i++) out.insert(out.end(), of->val_arr.begin(), of->val_arr.end());
    return kind_of(of) == kind::tuple ? tuple_of(std::move(out)) : list_of(std::move(out));
}

// Says what is made where `b` is joined to `a`, whose own parts are copied where others were joined to them.
void made_joined(machine & m, const text & a, const text & b) {
    constexpr size_t bytes_of_part = 64;
    const auto bytes = [](const text & of) { return of.length() + bytes_of_part * (1 + of.parts.size()); };
    m.made(bytes(b) + (a.parts.appends_in_place() ? 0 : bytes(a)));
}

value added(machine & m, const value & a, const value & b) {
    const kind type = kind_of(a);
    if (type == kind::string && is_string(b)) {
        made_joined(m, a->val_str, b->val_str);
        const bool html = is_markup(a) || is_markup(b);
        if (!html) return string_of(joined(a->val_str, b->val_str));
        const auto part = [](const value & of) { return is_markup(of) ? of->val_str : escaped(of->val_str); };
        return std::make_shared<markup_t>(joined(part(a), part(b)));
    }
    if ((type == kind::list || type == kind::tuple) && type == kind_of(b) && dynamic_cast<view_t *>(a.get()) == nullptr) {
        m.made((a->val_arr.size() + b->val_arr.size()) * sizeof(value));
        std::vector<value> out = a->val_arr;
        out.insert(out.end(), b->val_arr.begin(), b->val_arr.end());
        return type == kind::tuple ? tuple_of(std::move(out)) : list_of(std::move(out));
    }
    const auto nothing = [](const value & of) { return kind_of(of) == kind::undefined || kind_of(of) == kind::none; };
    if (m.forgives() && is_string(a) && nothing(b)) return a;
    if (m.forgives() && is_string(b) && nothing(a)) return b;
    unsupported("+", a, b);
}

bool repeats(const value & a, const value & b) {
    const kind type = kind_of(a), times = kind_of(b);
    return (type == kind::string || type == kind::list || type == kind::tuple) && (times == kind::integer || times == kind::boolean);
}

}  // namespace

value unary(const std::string & sign, const value & a) {
    const kind type = kind_of(a);
    if (type == kind::number) return number_of(sign == "-" ? -a->val_flt : a->val_flt);
    if (type == kind::undefined) throw template_fault(undefined_text(a));
    if (!is_number(a)) throw template_fault("bad operand type for unary " + sign + ": '" + type_of(a) + "'");
    return integer_of(sign == "-" ? fits(a->val_int == INT64_MIN, -a->val_int) : a->val_int);
}

value binary(machine & m, const std::string & sign, const value & a, const value & b) {
    if (is_number(a) && is_number(b)) {
        const bool floats = kind_of(a) == kind::number || kind_of(b) == kind::number;
        return floats ? between_numbers(sign, real(a), real(b)) : between_integers(sign, a->val_int, b->val_int);
    }
    if (sign == "+") return added(m, a, b);
    if (sign == "*" && repeats(a, b)) return repeated_value(m, a, b->val_int);
    if (sign == "*" && repeats(b, a)) return repeated_value(m, b, a->val_int);
    if (sign == "%" && is_string(a)) {
        const text out = formatted(a->val_str, b);
        m.made(out.length());
        return string_of(out);
    }
    unsupported(sign, a, b);
}

value concatenated(machine & m, const std::vector<value> & all) {
    text out;
    for (const value & one : all) {
        text more = text_of(one);
        const bool shared = out.parts.empty() && is_string(one);
        if (!shared) made_joined(m, out, more);
        out = out.parts.empty() ? std::move(more) : joined(out, more);
    }
    return string_of(std::move(out));
}

}  // namespace svc::j2
