// Marks of strings through the operations of the template language.

#include "jinja_marks.h"

#include "jinja/value.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

using jinja::func_args;
using jinja::is_val;
using jinja::mk_val;
using jinja::value;
using jinja::value_array;
using jinja::value_int;
using jinja::value_object;
using jinja::value_string;

namespace {

using marked = jinja::string;

void append(marked & out, const std::string & text, bool is_input) {
    if (text.empty()) return;
    if (!out.parts.empty() && out.parts.back().is_input == is_input) {
        out.parts.back().val += text;
    } else {
        out.parts.push_back({is_input, text});
    }
}

void append(marked & out, const marked & text) {
    for (const auto & part : text.parts) append(out, part.val, part.is_input);
}

bool has_input(const marked & text) {
    for (const auto & part : text.parts) {
        if (part.is_input && !part.val.empty()) return true;
    }
    return false;
}

// `text` with the marks of `own`, which is the same text if nothing has changed upstream.
marked checked(const marked & own, const std::string & text) {
    size_t at = 0;
    for (const auto & part : own.parts) {
        if (text.compare(at, part.val.size(), part.val) != 0) return marked(text, has_input(own));
        at += part.val.size();
    }
    return at == text.size() ? own : marked(text, has_input(own));
}

// ---- texts of values -----------------------------------------------------------------------------------------------

// Puts a marked text together.
class marked_text {
  public:
    void add(std::string_view text, bool is_input) {
        if (text.empty()) return;
        if (is_input != run.is_input) flush();
        run.is_input = is_input;
        run.val += text;
    }

    void add(const marked & text) {
        for (const auto & part : text.parts) add(part.val, part.is_input);
    }

    marked taken() {
        flush();
        return std::move(out);
    }

  private:
    marked out;
    jinja::string_part run;

    void flush() {
        if (run.val.empty()) return;
        out.parts.push_back(std::move(run));
        run.val.clear();
    }
};

struct json_form {
    int indent;
    std::string item_separator;
    std::string key_separator;
};

// Writes JSON as value_to_json does.
class json_writer {
  public:
    explicit json_writer(const json_form & form) : form(form) {}

    marked written(const value & val) {
        write(val, 0);
        return out.taken();
    }

  private:
    const json_form & form;
    marked_text out;

    void write(const value & val, int level) {
        if (is_val<value_string>(val)) {
            write_string(val->val_str);
        } else if (is_val<value_array>(val)) {
            const auto & items = val->val_arr;
            write_list("[", "]", items.size(), level, [&](size_t i) { write(items[i], level + 1); });
        } else if (is_val<value_object>(val)) {
            const auto & pairs = val->val_obj;
            write_list("{", "}", pairs.size(), level, [&](size_t i) {
                write_string(is_val<value_string>(pairs[i].first) ? pairs[i].first->val_str : pairs[i].first->as_string());
                out.add(form.key_separator, false);
                write(pairs[i].second, level + 1);
            });
        } else {
            out.add(jinja::value_to_json(val), false);
        }
    }

    // Elements between brackets, `one` writes an element.
    template <class One>
    void write_list(const char * open, const char * close, size_t n, int level, const One & one) {
        const auto margin = [&](int depth) {
            if (form.indent > 0) out.add(std::string((size_t) depth * form.indent, ' '), false);
        };
        const auto newline = [&] {
            if (form.indent >= 0) out.add("\n", false);
        };
        out.add(open, false);
        if (n > 0) newline();
        for (size_t i = 0; i < n; i++) {
            margin(level + 1);
            one(i);
            if (i + 1 < n) out.add(form.item_separator, false);
            newline();
        }
        if (n > 0) margin(level);
        out.add(close, false);
    }

    void write_string(const marked & text) {
        out.add("\"", false);
        for (const auto & part : text.parts) write_escaped(part.val, part.is_input);
        out.add("\"", false);
    }

    void write_escaped(const std::string & text, bool is_input) {
        static const std::string named = "\"\\\b\f\n\r\t", names = "\"\\bfnrt", digits = "0123456789abcdef";
        const std::string_view all = text;
        size_t from = 0;
        for (size_t at = 0; at < all.size(); at++) {
            const auto c = (unsigned char) all[at];
            if (c >= 0x20 && c != '"' && c != '\\') continue;
            out.add(all.substr(from, at - from), is_input);
            from = at + 1;
            const size_t name = named.find((char) c);
            if (name != std::string::npos) {
                const char escaped[] = {'\\', names[name]};
                out.add({escaped, 2}, is_input);
            } else {
                const char escaped[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
                out.add({escaped, 6}, is_input);
            }
        }
        out.add(all.substr(from), is_input);
    }
};

marked json_of(const value & val, const json_form & form) { return json_writer(form).written(val); }

// ---- built-in functions --------------------------------------------------------------------------------------------

// The text of a result of which only the text is known, made of `input` in some way.
marked made_of(const marked & input, const std::string & text) { return marked(text, has_input(input)); }

// split and rsplit: the pieces follow each other, apart by the delimiter.
value split(const func_args & args, const value & result) {
    const marked input = args.get_pos(0)->as_string();
    const std::string text = input.str();
    const size_t gap = args.count() > 1 ? args.get_pos(1)->as_string().length() : 1;
    auto out = mk_val<value_array>();
    size_t at = 0;
    for (const value & piece : result->as_array()) {
        const std::string found = piece->as_string().str();
        const bool follows = at <= text.size() && text.compare(at, found.size(), found) == 0;
        out->push_back(mk_val<value_string>(follows ? svc::marked_part(input, at, found.size()) : made_of(input, found)));
        at += found.size() + gap;
    }
    return out;
}

marked replace(const func_args & args) {
    marked input = args.get_pos(0)->as_string();
    const marked inserted = args.get_pos(2)->as_string();
    const std::string text = input.str(), old = args.get_pos(1)->as_string().str();
    if (old == inserted.str()) return input;
    marked out;
    if (old.empty()) {
        append(out, inserted);
        for (size_t i = 0; i < text.size(); i++) {
            append(out, svc::marked_part(input, i, 1));
            append(out, inserted);
        }
        return out;
    }
    size_t from = 0;
    for (size_t at = 0; (at = text.find(old, from)) != std::string::npos; from = at + old.size()) {
        append(out, svc::marked_part(input, from, at - from));
        append(out, inserted);
    }
    append(out, svc::marked_part(input, from));
    return out;
}

marked format(const func_args & args) {
    const marked input = args.get_pos(0)->as_string();
    const std::string text = input.str();
    marked out;
    size_t from = 0, next = 1;
    for (size_t at = 0; (at = text.find("{}", from)) != std::string::npos; from = at + 2) {
        append(out, svc::marked_part(input, from, at - from));
        append(out, args.get_pos(next++)->as_string());
    }
    append(out, svc::marked_part(input, from));
    return out;
}

// As upstream's: a negative place counts from the end, but -1 is the place before the first byte when the step is negative.
marked slice(const func_args & args) {
    marked input = args.get_pos(0)->as_string();
    if (args.count() < 4) return input;
    const int64_t size = (int64_t) input.length(), step = args.get_pos(3)->as_int();
    const int64_t least = step < 0 ? -1 : 0, most = step < 0 ? size - 1 : size;
    const auto place = [&](int64_t at, int64_t none) { return at < none ? std::max(size + at, none) : std::min(at, most); };
    const int64_t start = place(args.get_pos(1)->as_int(), 0), stop = place(args.get_pos(2)->as_int(), least);
    if (step == 1) return svc::marked_part(input, (size_t) start, (size_t) std::max<int64_t>(stop - start, 0));
    std::string bytes;
    std::vector<bool> is_input;
    for (const auto & part : input.parts) {
        bytes += part.val;
        is_input.resize(bytes.size(), part.is_input);
    }
    marked out;
    for (int64_t i = start; step < 0 ? i > stop : i < stop; i += step) {
        if (i >= 0 && i < size) append(out, std::string(1, bytes[i]), is_input[i]);
    }
    return out;
}

marked indent(const func_args & args) {
    const marked input = args.get_pos(0)->as_string();
    const std::string text = input.str();
    const value width = args.get_kwarg_or_pos("width", 1);
    const bool first = args.get_kwarg_or_pos("first", 2)->as_bool(), blank = args.get_kwarg_or_pos("blank", 3)->as_bool();
    const std::string margin = is_val<value_int>(width) ? std::string(width->as_int(), ' ') : is_val<value_string>(width) ? width->as_string().str()
                                                                                                                          : "    ";
    marked out;
    for (size_t from = 0; from < text.size();) {
        const size_t end = std::min(text.find('\n', from), text.size());
        const bool begins = out.parts.empty();
        if (!begins) append(out, "\n", false);
        if (begins ? first : end > from || blank) append(out, margin, false);
        append(out, svc::marked_part(input, from, end - from));
        from = end + 1;
    }
    if (!text.empty() && text.back() == '\n') append(out, blank ? "\n" + margin : "\n", false);
    return out;
}

marked join(const func_args & args) {
    const value delimiter = args.get_kwarg_or_pos("d", 1);
    const value attribute = args.get_kwarg_or_pos("attribute", 2);
    const bool by_index = is_val<value_int>(attribute);
    const auto & items = args.get_pos(0)->as_array();
    marked out;
    for (size_t i = 0; i < items.size(); i++) {
        value item = items[i];
        if (by_index && is_val<value_array>(item)) {
            item = item->at(attribute->as_int());
        } else if (is_val<value_string>(attribute) && is_val<value_object>(item)) {
            item = item->at(attribute);
        }
        append(out, item->as_string());
        if (i + 1 < items.size() && !delimiter->is_undefined()) append(out, delimiter->as_string());
    }
    return out;
}

// A result of a function of a string that is not known here: what is made of the request's bytes is the request's.
value of_string(const func_args & args, const value & result) {
    if (is_val<value_array>(result)) {
        auto out = mk_val<value_array>();
        for (const value & item : result->as_array()) out->push_back(of_string(args, item));
        return out;
    }
    if (!is_val<value_string>(result) || has_input(result->as_string())) return result;
    for (const value & arg : args.get_args()) {
        if (arg == result) return result;  // default(): a string of the template
    }
    return mk_val<value_string>(made_of(args.get_pos(0)->as_string(), result->as_string().str()));
}

}  // namespace

jinja::string svc::marked_part(const jinja::string & text, size_t from, size_t n) {
    marked out;
    for (const auto & part : text.parts) {
        const size_t size = part.val.size();
        if (from < size && n > 0) {
            const size_t taken = std::min(n, size - from);
            append(out, part.val.substr(from, taken), part.is_input);
            n -= taken;
            from = 0;
        } else {
            from -= std::min(from, size);
        }
    }
    return out;
}

jinja::string svc::marked_repr(const jinja_value & val) {
    if (is_val<value_array>(val) || is_val<value_object>(val)) return val->as_string();
    if (!is_val<value_string>(val)) return val->as_repr();
    const marked text = val->as_string();
    if (text.str().find('\'') != std::string::npos) return json_of(val, {-1, ", ", ": "});
    marked out("'");
    append(out, text);
    append(out, "'", false);
    return out;
}

jinja::string svc::marked_json(const value & value, int indent, const std::string & item_separator, const std::string & key_separator) {
    return json_of(value, {indent, item_separator, key_separator});
}

jinja::string svc::marked_as(const jinja::string & own, const std::string & text) { return checked(own, text); }

svc::marked_stream::marked_stream() : out(std::make_shared<jinja::string>()) {}

svc::marked_stream & svc::marked_stream::operator<<(const jinja::string & text) {
    append(*out, text);
    return *this;
}

svc::marked_stream & svc::marked_stream::operator<<(const char * text) {
    append(*out, text, false);
    return *this;
}

svc::jinja_function svc::marked_builtin(const std::string & name, jinja_function upstream) {
    using function = marked (*)(const func_args &);
    static const std::map<std::string, function> of_strings = {
        {"replace", replace}, {"format", format}, {"slice", slice}, {"indent", indent}};
    return [name, upstream = std::move(upstream)](const func_args & args) -> value {
        value result = upstream(args);
        const value & input = args.get_args().at(0);
        const auto with_marks = [&](const marked & own) { return mk_val<value_string>(checked(own, result->as_string().str())); };
        if (is_val<value_array>(input) && name == "join") return with_marks(join(args));
        if (!is_val<value_string>(input)) return result;
        if (name == "split" || name == "rsplit") return split(args, result);
        const auto known = of_strings.find(name);
        return known != of_strings.end() ? with_marks(known->second(args)) : of_string(args, result);
    };
}
