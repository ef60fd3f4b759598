// Tokens of a template, with the white space that trim_blocks and lstrip_blocks remove.

#include "jinja_syntax.h"

#include "jinja_text.h"

#include <algorithm>
#include <cctype>

namespace svc::j2 {

std::string located(const std::string & source, size_t at, const std::string & message) {
    const size_t place = std::min(at, source.size());
    const auto line = 1 + std::count(source.begin(), source.begin() + (std::ptrdiff_t) place, '\n');
    const size_t before = place == 0 ? std::string::npos : source.rfind('\n', place - 1);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    constexpr size_t shown_max = 80;
    const size_t from = place - begin > shown_max / 2 ? place - shown_max / 2 : begin;
    const size_t end = std::min(source.find('\n', place), source.size());
    const std::string bytes = source.substr(from, std::min(end - from, shown_max));
    const size_t first = bytes.find_first_not_of(" \t");
    return "line " + std::to_string(line) + ": " + message + ", at `" + (first == std::string::npos ? "" : bytes.substr(first)) + "`";
}

namespace {

std::string normalized(const std::string & source) {
    std::string out;
    out.reserve(source.size());
    for (size_t at = 0; at < source.size(); at++) {
        if (source[at] != '\r') out += source[at];
        else if (at + 1 >= source.size() || source[at + 1] != '\n') out += '\n';
    }
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

bool white(char c) { return std::isspace((unsigned char) c) != 0; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return std::isalpha((unsigned char) c) != 0 || c == '_' || (unsigned char) c >= 0x80; }

class lexer {
  public:
    explicit lexer(const std::string & source) : src(source) {}

    std::vector<token> all() {
        while (at < src.size()) {
            const size_t open = next_opening();
            if (open == std::string::npos) {
                add(token_type::data, src.substr(at), at);
                break;
            }
            read_opening(open);
        }
        add(token_type::end, "", src.size());
        return std::move(out);
    }

  private:
    const std::string & src;
    std::vector<token> out;
    size_t at = 0;
    bool line_begins = true;

    [[noreturn]] void fail(size_t place, const std::string & message) const { throw syntax_fault(located(src, place, message)); }

    void add(token_type type, std::string bytes, size_t place) { out.push_back({type, std::move(bytes), place}); }

    bool is_at(size_t place, const char * what) const { return src.compare(place, std::char_traits<char>::length(what), what) == 0; }

    size_t next_opening() const {
        for (size_t open = at; (open = src.find('{', open)) != std::string::npos; open++) {
            if (open + 1 < src.size() && (src[open + 1] == '{' || src[open + 1] == '%' || src[open + 1] == '#')) return open;
        }
        return std::string::npos;
    }

    // Text before an opening, without the white space that the opening removes.
    void add_data(size_t from, size_t open) {
        std::string data = src.substr(from, open - from);
        const char sign = open + 2 < src.size() ? src[open + 2] : 0;
        if (sign == '-') {
            while (!data.empty() && white(data.back())) data.pop_back();
        } else if (sign != '+' && src[open + 1] != '{') {
            const size_t line = data.rfind('\n') == std::string::npos ? 0 : data.rfind('\n') + 1;
            const bool starts = line > 0 || line_begins;
            if (starts && std::all_of(data.begin() + (std::ptrdiff_t) line, data.end(), white)) data.resize(line);
        }
        if (!data.empty()) add(token_type::data, data, from);
    }

    void skip_white() {
        while (at < src.size() && white(src[at])) at++;
    }

    // After a `%}` or `#}`: the newline behind it goes, unless a sign says otherwise.
    void close(char sign, bool trims) {
        const size_t before = at;
        if (sign == '-') skip_white();
        else if (sign != '+' && trims && at < src.size() && src[at] == '\n') at++;
        line_begins = at > before && src[at - 1] == '\n';
    }

    void read_opening(size_t open) {
        add_data(at, open);
        at = open + 2;
        const char kind = src[open + 1];
        if (at < src.size() && (src[at] == '-' || src[at] == '+')) at++;
        if (kind == '#') return skip_comment(open);
        if (kind == '%' && read_raw(open)) return;
        add(kind == '%' ? token_type::block_begin : token_type::print_begin, "", open);
        read_inside(kind == '%' ? '%' : '}');
    }

    void skip_comment(size_t open) {
        const size_t end = src.find("#}", at);
        if (end == std::string::npos) fail(open, "Missing end of comment tag");
        const char sign = end > open + 1 ? src[end - 1] : 0;
        at = end + 2;
        close(sign, true);
    }

    // `{% raw %}` … `{% endraw %}`.
    bool read_raw(size_t open) {
        size_t place = at;
        const auto skip = [&] {
            while (place < src.size() && white(src[place])) place++;
        };
        skip();
        if (!is_at(place, "raw")) return false;
        place += 3;
        skip();
        const bool strips = is_at(place, "-%}");
        if (!strips && !is_at(place, "%}")) return false;
        at = place + (strips ? 3 : 2);
        close(strips ? '-' : 0, false);
        for (size_t end = at; (end = src.find("{%", end)) != std::string::npos; end++) {
            place = end + 2;
            if (place < src.size() && (src[place] == '-' || src[place] == '+')) place++;
            skip();
            if (!is_at(place, "endraw")) continue;
            place += 6;
            skip();
            const char sign = place < src.size() && (src[place] == '-' || src[place] == '+') ? src[place++] : 0;
            if (!is_at(place, "%}")) continue;
            add_data(at, end);
            at = place + 2;
            close(sign, true);
            return true;
        }
        fail(open, "Missing end of raw directive");
    }

    // Tokens up to the `%}` or `}}`.
    void read_inside(char closing) {
        std::string open;
        for (;;) {
            skip_white();
            if (at >= src.size()) fail(src.size(), std::string("unexpected end of template, expected '") + closing + "}'");
            if (open.empty() && read_closing(closing)) return;
            const char c = src[at];
            if (c == '\'' || c == '"') read_string(c);
            else if (digit(c)) read_number();
            else if (begins_name(c)) read_name();
            else read_sign(open);
        }
    }

    bool read_closing(char closing) {
        const char sign = src[at] == '-' || (src[at] == '+' && closing == '%') ? src[at] : 0;
        const size_t place = at + (sign == 0 ? 0 : 1);
        if (place + 1 >= src.size() || src[place] != closing || src[place + 1] != '}') return false;
        add(closing == '%' ? token_type::block_end : token_type::print_end, "", at);
        at = place + 2;
        close(sign, closing == '%');
        return true;
    }

    void read_name() {
        const size_t from = at;
        while (at < src.size() && (begins_name(src[at]) || digit(src[at]))) at++;
        add(token_type::name, src.substr(from, at - from), from);
    }

    void read_digits(bool (*is)(char)) {
        while (at < src.size() && (is(src[at]) || (src[at] == '_' && at + 1 < src.size() && is(src[at + 1])))) at++;
    }

    void read_number() {
        const size_t from = at;
        const char base = src[at] == '0' && at + 1 < src.size() ? (char) std::tolower((unsigned char) src[at + 1]) : 0;
        bool whole = true;
        if (base == 'x' || base == 'o' || base == 'b') {
            at += 2;
            read_digits([](char c) { return std::isxdigit((unsigned char) c) != 0; });
        } else {
            read_digits(digit);
            const auto digit_at = [&](size_t place) { return place < src.size() && digit(src[place]); };
            const bool follows_dot = !out.empty() && out.back().type == token_type::sign && out.back().text == "." && out.back().at + 1 == from;
            if (!follows_dot && at < src.size() && src[at] == '.' && digit_at(at + 1)) {
                at++;
                read_digits(digit);
                whole = false;
            }
            if (!follows_dot && at < src.size() && (src[at] == 'e' || src[at] == 'E')) {
                const size_t exponent = at + 1 < src.size() && (src[at + 1] == '+' || src[at + 1] == '-') ? at + 2 : at + 1;
                if (digit_at(exponent)) {
                    at = exponent;
                    read_digits(digit);
                    whole = false;
                }
            }
        }
        std::string bytes = src.substr(from, at - from);
        bytes.erase(std::remove(bytes.begin(), bytes.end(), '_'), bytes.end());
        add(whole ? token_type::integer : token_type::number, bytes, from);
    }

    void read_sign(std::string & open) {
        static const char * const signs[] = {"**", "//", "==", "!=", "<=", ">=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".",
            ":", "|", ",", ";"};
        for (const char * const sign : signs) {
            if (!is_at(at, sign)) continue;
            const std::string bytes = sign;
            if (bytes == "(" || bytes == "[" || bytes == "{") open += bytes == "(" ? ')' : bytes == "[" ? ']' : '}';
            if (bytes == ")" || bytes == "]" || bytes == "}") {
                if (open.empty()) fail(at, "unexpected '" + bytes + "'");
                if (open.back() != bytes[0]) fail(at, "unexpected '" + bytes + "', expected '" + open.back() + "'");
                open.pop_back();
            }
            add(token_type::sign, bytes, at);
            at += bytes.size();
            return;
        }
        fail(at, std::string("unexpected char '") + src[at] + "'");
    }

    void read_string(char quote) {
        const size_t from = at++;
        std::string bytes;
        while (at < src.size() && src[at] != quote) {
            if (src[at] == '\\' && at + 1 < src.size()) read_escape(bytes);
            else bytes += src[at++];
        }
        if (at >= src.size()) fail(from, "a string has no end");
        at++;
        add(token_type::string, bytes, from);
    }

    void read_escape(std::string & bytes) {
        static const std::string names = "\\'\"abfnrtv", values = "\\'\"\a\b\f\n\r\t\v";
        const size_t from = at++;
        const char c = src[at++];
        if (const size_t name = names.find(c); name != std::string::npos) {
            bytes += values[name];
        } else if (c >= '0' && c <= '7') {
            uint32_t code = (uint32_t) (c - '0');
            for (int i = 0; i < 2 && at < src.size() && src[at] >= '0' && src[at] <= '7'; i++) code = code * 8 + (uint32_t) (src[at++] - '0');
            bytes += utf8(code);
        } else if (c == 'x' || c == 'u' || c == 'U') {
            read_code(bytes, c == 'x' ? 2 : c == 'u' ? 4 : 8, from);
        } else if (c == 'N') {
            fail(from, "names of letters (\\N) are not supported");
        } else if (c != '\n') {
            bytes += '\\';
            bytes += c;
        }
    }

    uint32_t hexadecimal(int digits, size_t from) {
        uint32_t code = 0;
        for (int i = 0; i < digits; i++) {
            if (at >= src.size() || !std::isxdigit((unsigned char) src[at])) fail(from, "an escape in a string is cut off");
            code = code * 16 + (uint32_t) std::stoul(src.substr(at++, 1), nullptr, 16);
        }
        return code;
    }

    void read_code(std::string & bytes, int digits, size_t from) {
        uint32_t code = hexadecimal(digits, from);
        if (code >= 0xd800 && code < 0xdc00 && is_at(at, "\\u")) {
            at += 2;
            code = 0x10000 + ((code - 0xd800) << 10) + (hexadecimal(4, from) - 0xdc00);
        }
        if (code > 0x10ffff) fail(from, "an escape in a string names no letter");
        bytes += utf8(code);
    }
};

}  // namespace

std::vector<token> tokens_of(const std::string & source) { return lexer(source).all(); }

std::shared_ptr<const syntax_tree> parsed_tokens(syntax_tree tree, std::vector<token> tokens);

std::shared_ptr<const syntax_tree> parsed(const std::string & source) {
    syntax_tree tree;
    tree.source = normalized(source);
    std::vector<token> tokens = tokens_of(tree.source);
    return parsed_tokens(std::move(tree), std::move(tokens));
}

}  // namespace svc::j2
