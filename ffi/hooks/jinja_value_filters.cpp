// Filters of numbers, objects and any values; and the table of all filters.

#include "jinja_filters.h"
#include "json_values.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace svc::j2 {
namespace {

// The number that a text is in Python's int(): signs, one underscore between digits, white space around. Overflow: a fault.
bool read_integer(const std::string & from, int64_t base, int64_t & out) {
    const std::string bytes = stripped(text(from), true, true, nullptr).str();
    size_t at = !bytes.empty() && (bytes[0] == '-' || bytes[0] == '+') ? 1 : 0;
    const bool negative = at == 1 && bytes[0] == '-';
    const char letter = bytes.size() > at + 2 && bytes[at] == '0' ? (char) (bytes[at + 1] | 0x20) : 0;
    const int64_t named = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (named != 0 && (base == named || base == 0)) base = named, at += 2;
    if (base == 0) base = 10;
    bool digits = false;
    out = 0;
    for (; at < bytes.size(); at++) {
        if (bytes[at] == '_' && digits && at + 1 < bytes.size() && bytes[at + 1] != '_') continue;
        const int c = std::tolower((unsigned char) bytes[at]);
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
        if (digit >= base) return false;
        digits = true;
        if (__builtin_mul_overflow(out, base, &out) || __builtin_add_overflow(out, negative ? -digit : digit, &out)) {
            throw template_fault("integers of more than 64 bits are not supported");
        }
    }
    return digits;
}

bool read_float(const std::string & from, double & out) {
    std::string bytes = stripped(text(from), true, true, nullptr).str();
    for (size_t i = 1; i + 1 < bytes.size(); i++) {
        if (bytes[i] == '_' && std::isdigit((unsigned char) bytes[i - 1]) && std::isdigit((unsigned char) bytes[i + 1])) bytes.erase(i, 1);
    }
    if (bytes.empty() || bytes.find_first_of("xXpP(") != std::string::npos) return false;
    char * end = nullptr;
    out = strtod(bytes.c_str(), &end);
    return *end == 0;
}

bool fits_integer(double n) { return n >= -9.2e18 && n <= 9.2e18; }

value integer_filter(const value & self, bound_arguments & a) {
    const value otherwise = a.get(0, integer_of(0));
    double n = 0;
    if (is_string(self)) {
        int64_t out = 0;
        const std::string bytes = self->val_str.str();
        if (read_integer(bytes, a.count(1, 10), out)) return integer_of(out);
        if (!read_float(bytes, n)) return otherwise;
    } else if (is_number(self)) {
        if (kind_of(self) != kind::number) return integer_of(self->val_int);
        n = self->val_flt;
    } else {
        return otherwise;
    }
    return fits_integer(n) ? integer_of((int64_t) n) : otherwise;
}

value float_filter(const value & self, bound_arguments & a) {
    double n = 0;
    if (is_number(self)) return number_of(real(self));
    return is_string(self) && read_float(self->val_str.str(), n) ? number_of(n) : a.get(0, number_of(0));
}

// Rounded half to even, in decimal digits as they are written.
double rounded_common(double n, int64_t precision) {
    if (!std::isfinite(n)) return n;
    if (precision > 300) return n;
    if (precision < -300) return std::copysign(0.0, n);
    if (precision < 0) {
        const double by = std::pow(10.0, (double) -precision);
        return std::nearbyint(n / by) * by;
    }
    char bytes[700];
    snprintf(bytes, sizeof bytes, "%.*f", (int) precision, n);
    return strtod(bytes, nullptr);
}

value rounded(const value & self, bound_arguments & a) {
    const int64_t precision = a.count(0, 0);
    const std::string method = a.string(1, "common");
    if (is_undefined(self)) throw template_fault(undefined_text(self));
    if (!is_number(self)) throw template_fault("type " + type_of(self) + " doesn't define __round__ method");
    if (method == "common") {
        if (kind_of(self) != kind::number) return integer_of(precision >= 0 ? self->val_int : (int64_t) rounded_common((double) self->val_int, precision));
        return number_of(rounded_common(self->val_flt, precision));
    }
    if (method != "ceil" && method != "floor") throw template_fault("method must be common, ceil or floor");
    const double by = std::pow(10.0, (double) precision), scaled = real(self) * by;
    return number_of((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / by);
}

value absolute(const value & self, bound_arguments &) {
    if (kind_of(self) == kind::number) return number_of(std::fabs(self->val_flt));
    if (is_undefined(self)) throw template_fault(undefined_text(self));
    if (!is_number(self)) throw template_fault("bad operand type for abs(): '" + type_of(self) + "'");
    return integer_of(self->val_int < 0 ? -self->val_int : self->val_int);
}

value defaulted(const value & self, bound_arguments & a) {
    const bool absent = is_undefined(self) || (a.flag(1) && !is_true(self));
    return absent ? a.get(0, string_of(std::string())) : self;
}

value attribute_only(const value & self, bound_arguments & a) {
    const std::string name = a.string(0);
    if (is_dict(self) && method_named(self, name) == nullptr) return undefined_of("'dict object' has no attribute '" + name + "'");
    return attribute_of(a.m, self, name);
}

value items_filter(const value & self, bound_arguments & a) {
    std::vector<value> out;
    if (is_undefined(self)) return yielded({});
    if (!is_dict(self)) throw template_fault("Can only get item pairs from a mapping.");
    if (a.m.observes()) a.m.used(self, "object_access");
    for (const auto & [key, val] : self->val_obj) out.push_back(tuple_of({key, val}));
    return yielded(std::move(out));
}

// What json.dumps() refuses, as what it stands for.
value serializable(const value & of, int depth) {
    if (depth > 100) throw template_fault("a value for tojson is nested too deep");
    const kind type = kind_of(of);
    if (type == kind::undefined) return none_value();
    if (type != kind::list && type != kind::tuple) return of;
    std::vector<value> out;
    for (const value & one : of->val_arr) out.push_back(serializable(one, depth + 1));
    return list_of(std::move(out));
}

value as_json(const value & self, bound_arguments & a) {
    json_form form;
    form.ascii = a.flag(0);
    if (a.given(1)) {
        form.indent = is_string(a[1]) ? 1 : std::max<int64_t>(whole(a[1], "indent"), 0);
        form.margin = is_string(a[1]) ? a.string(1) : std::string((size_t) std::min<int64_t>(form.indent, 1000), ' ');
        form.item_separator = ",";
    }
    if (a.given(2)) {
        const std::vector<value> both = elements_of(a.m, a[2]);
        if (both.size() != 2) throw template_fault("separators must be a pair");
        form.item_separator = text_of(both[0]).str();
        form.key_separator = text_of(both[1]).str();
    }
    form.sorted = a.flag(3);
    if (a.m.observes()) a.m.used(self, nullptr, true);
    const text out = json_of(a.m.forgives() ? serializable(self, 0) : self, form);
    a.m.made(out.length());
    return string_of(out);
}

value from_json(const value & self, bound_arguments &) {
    if (!is_string(self)) throw template_fault("from_json needs a text, not " + type_of(self));
    std::string reason = "the text is no JSON";
    try {
        const value out = marked_values(self->val_str.str());
        if (out != nullptr) return out;
    } catch (const std::exception & error) {
        reason = error.what();
    }
    throw template_fault("from_json: " + reason);
}

value file_size(const value & self, bound_arguments & a) {
    static const char * const decimal[] = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
    static const char * const powers[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
    call_values none;
    bound_arguments plain(a.m, none, "float", "default");
    const double bytes = float_filter(self, plain)->val_flt, base = a.flag(0) ? 1024 : 1000;
    if (bytes == 1) return string_of(std::string("1 Byte"));
    if (bytes < base) return string_of(std::to_string((int64_t) bytes) + " Bytes");
    double unit = base;
    size_t i = 0;
    for (; i < 7 && bytes >= unit * base; i++) unit *= base;
    return string_of(formatted_number(number_of(bytes / unit), ".1f") + " " + (a.flag(0) ? powers : decimal)[i]);
}

value length_filter(const value & self, bound_arguments & a) { return integer_of(length_of(a.m, self)); }

// A value whose objects have their keys in order.
value in_order(const value & of, int depth) {
    if (depth > 100) throw template_fault("a value for pprint is nested too deep");
    const kind type = kind_of(of);
    if (type == kind::list || type == kind::tuple) {
        std::vector<value> out;
        for (const value & one : of->val_arr) out.push_back(in_order(one, depth + 1));
        return type == kind::list ? list_of(std::move(out)) : tuple_of(std::move(out));
    }
    if (type != kind::dict) return of;
    auto pairs = of->val_obj;
    std::stable_sort(pairs.begin(), pairs.end(), [](const auto & a, const auto & b) { return repr_of(a.first).str() < repr_of(b.first).str(); });
    const value out = mk_val<jinja::value_object>();
    for (const auto & [key, val] : pairs) insert(out, key, in_order(val, depth + 1));
    return out;
}

value pretty(const value & self, bound_arguments & a) {
    if (a.m.observes()) a.m.used(self, nullptr, true);
    text out = repr_of(in_order(self, 0));
    if (count_letters(out) > 80) throw template_fault("pprint of a value that takes several lines is not supported");
    return string_of(out);
}

const builtin rows[] = {
    {"abs", "", absolute},
    {"attr", "name", attribute_only},
    {"count", "", length_filter},
    {"d", "default_value boolean", defaulted},
    {"default", "default_value boolean", defaulted},
    {"filesizeformat", "binary", file_size},
    {"float", "default", float_filter},
    {"from_json", "", from_json},
    {"fromjson", "", from_json},
    {"int", "default base", integer_filter},
    {"items", "", items_filter},
    {"length", "", length_filter},
    {"pprint", "", pretty},
    {"round", "precision method", rounded},
    {"tojson", "ensure_ascii indent separators sort_keys", as_json},
};

}  // namespace

const filter_table value_filters = {rows, sizeof rows / sizeof *rows};

const builtin * filter_named(const std::string & name) {
    for (const filter_table * table : {&value_filters, &text_filters, &list_filters, &choice_filters}) {
        for (size_t i = 0; i < table->size; i++) {
            if (name == table->begin[i].name) return &table->begin[i];
        }
    }
    return nullptr;
}

}  // namespace svc::j2
