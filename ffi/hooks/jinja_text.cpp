// Texts of templates, by letters.

#include "jinja_text.h"

#include <algorithm>

namespace svc::j2 {
namespace {

// The letter that begins at `at`.
letter letter_at(std::string_view bytes, size_t at) {
    const auto byte = [&](size_t i) { return (unsigned char) bytes[i]; };
    const unsigned char first = byte(at);
    const size_t n = first < 0x80 ? 1 : first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
    if (n == 1) return {bytes.substr(at, 1), first, false};
    const letter alone{bytes.substr(at, 1), 0x110000u + first, false};
    if (n == 0 || first >= 0xf8 || at + n > bytes.size()) return alone;
    uint32_t code = first & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((byte(at + i) & 0xc0) != 0x80) return alone;
        code = code << 6 | (byte(at + i) & 0x3fu);
    }
    return {bytes.substr(at, n), code, false};
}

bool is_ascii(std::string_view bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](char c) { return (unsigned char) c < 0x80; });
}

bool breaks_line(uint32_t code) {
    return (code >= 10 && code <= 13) || (code >= 0x1c && code <= 0x1e) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

std::string utf8_of(const std::vector<uint32_t> & codes) {
    std::string out;
    for (const uint32_t code : codes) out += utf8(code);
    return out;
}

// Places of pieces in a text: [from, to) of each.
using spans = std::vector<std::pair<size_t, size_t>>;

void add_span(spans & to, size_t from, size_t end) {
    constexpr size_t pieces_max = 4'000'000;
    if (to.size() >= pieces_max) throw std::length_error("a text is cut into more than " + std::to_string(pieces_max) + " pieces");
    to.emplace_back(from, end);
}

// Cuts pieces out of a text, one behind the other: the parts of the text are gone through once.
class cutter {
  public:
    explicit cutter(const text & of) : of(of) {}

    // Adds bytes [from, to) to `out`; not before those that were cut last.
    void cut(size_t from, size_t to, text_writer & out) {
        while (from < to && part < of.parts.size()) {
            const auto & one = of.parts[part];
            const size_t end = begin + one.val.size();
            if (from < end) {
                const size_t taken = std::min(to, end) - from;
                out.add(std::string_view(one.val).substr(from - begin, taken), one.is_input);
                from += taken;
            }
            if (from < end) return;
            begin = end;
            part++;
        }
    }

  private:
    const text & of;
    size_t part = 0, begin = 0;  // of the part, in bytes
};

std::vector<text> pieces(const text & of, const spans & all, const planned & check) {
    if (check) check(all.size());
    cutter from(of);
    std::vector<text> out;
    out.reserve(all.size());
    text_writer writer;
    for (const auto & [begin, end] : all) {
        from.cut(begin, end, writer);
        out.push_back(writer.taken());
    }
    return out;
}

// Words of white-space separated text, at most `count` cuts.
spans words(const std::string & bytes, int64_t count) {
    spans out;
    size_t begin = std::string::npos;
    for (size_t at = 0; at < bytes.size();) {
        const letter one = letter_at(bytes, at);
        const bool space = is_space(one.code);
        if (!space && begin == std::string::npos) {
            begin = at;
            if (count >= 0 && (int64_t) out.size() == count) break;
        } else if (space && begin != std::string::npos) {
            add_span(out, begin, at);
            begin = std::string::npos;
        }
        at += one.bytes.size();
    }
    if (begin != std::string::npos) add_span(out, begin, bytes.size());
    return out;
}

}  // namespace

void for_each_letter(const text & of, const std::function<void(const letter &)> & each) {
    for (const auto & part : of.parts) {
        for (size_t at = 0; at < part.val.size();) {
            letter one = letter_at(part.val, at);
            one.is_input = part.is_input;
            at += one.bytes.size();
            each(one);
        }
    }
}

std::vector<uint32_t> codes_of(std::string_view bytes) {
    std::vector<uint32_t> out;
    for (size_t at = 0; at < bytes.size();) {
        const letter one = letter_at(bytes, at);
        out.push_back(one.code);
        at += one.bytes.size();
    }
    return out;
}

std::string utf8(uint32_t code) {
    std::string out;
    if (code > 0x10ffff) return std::string(1, (char) (code - 0x110000));
    if (code < 0x80) return std::string(1, (char) code);
    if (code >= 0x10000) {
        out = {(char) (0xf0 | code >> 18), (char) (0x80 | (code >> 12 & 0x3f)), (char) (0x80 | (code >> 6 & 0x3f))};
    } else if (code >= 0x800) {
        out = {(char) (0xe0 | code >> 12), (char) (0x80 | (code >> 6 & 0x3f))};
    } else {
        out = {(char) (0xc0 | code >> 6)};
    }
    return out + (char) (0x80 | (code & 0x3f));
}

size_t count_letters(const text & of) {
    size_t n = 0;
    for (const auto & part : of.parts) {
        if (is_ascii(part.val)) {
            n += part.val.size();
        } else {
            n += codes_of(part.val).size();
        }
    }
    return n;
}

text part_of(const text & of, size_t from, size_t n) {
    text_writer out;
    for (const auto & part : of.parts) {
        const size_t size = part.val.size();
        if (from < size && n > 0) {
            const size_t taken = std::min(n, size - from);
            out.add(std::string_view(part.val).substr(from, taken), part.is_input);
            n -= taken;
            from = 0;
        } else {
            from -= std::min(from, size);
        }
    }
    return out.taken();
}

size_t byte_of_letter(std::string_view bytes, size_t n) {
    if (is_ascii(bytes)) return std::min(n, bytes.size());
    size_t at = 0;
    for (; n > 0 && at < bytes.size(); n--) at += letter_at(bytes, at).bytes.size();
    return at;
}

text letters_of(const text & of, int64_t start, int64_t stop, int64_t step) {
    if (step == 1) {
        if (stop <= start) return {};
        const std::string bytes = of.str();
        const size_t from = byte_of_letter(bytes, (size_t) start);
        return part_of(of, from, byte_of_letter(std::string_view(bytes).substr(from), (size_t) (stop - start)));
    }
    std::vector<letter> all;
    for_each_letter(of, [&](const letter & one) { all.push_back(one); });
    text_writer out;
    for (int64_t i = start; step < 0 ? i > stop : i < stop; i += step) out.add(all[(size_t) i].bytes, all[(size_t) i].is_input);
    return out.taken();
}

bool has_input(const text & of) {
    for (const auto & part : of.parts) {
        if (part.is_input && !part.val.empty()) return true;
    }
    return false;
}

text joined(const text & a, const text & b) {
    text out = a;  // shares its parts
    for (const auto & part : b.parts) {
        if (!part.val.empty()) out.parts.push_back(part);
    }
    return out;
}

text repeated(const text & of, int64_t times) {
    text_writer out;
    for (int64_t i = 0; i < times; i++) out.add(of);
    return out.taken();
}

text mapped(const text & of, const std::function<std::string(uint32_t, size_t)> & made) {
    text_writer out;
    size_t index = 0;
    for_each_letter(of, [&](const letter & one) { out.add(made(one.code, index++), one.is_input); });
    return out.taken();
}

text upper(const text & of) {
    return mapped(of, [](uint32_t code, size_t) { return utf8_of(upper_of(code)); });
}

text lower(const text & of) {
    constexpr uint32_t sigma = 0x3a3, final_sigma = 0x3c2;
    const std::vector<uint32_t> all = codes_of(of.str());
    return mapped(of, [&](uint32_t code, size_t i) {
        const bool ends_word = code == sigma && i > 0 && is_alpha(all[i - 1]) && (i + 1 >= all.size() || !is_alpha(all[i + 1]));
        return ends_word ? utf8(final_sigma) : utf8_of(lower_of(code));
    });
}

namespace {

// A capital at the beginning of a word: of several letters only the first is one.
std::string title_of(uint32_t code) {
    const std::vector<uint32_t> large = upper_of(code);
    std::string out = utf8(large[0]);
    for (size_t i = 1; i < large.size(); i++) out += utf8_of(lower_of(large[i]));
    return out;
}

}  // namespace

text title(const text & of) {
    bool within = false;
    return mapped(of, [&](uint32_t code, size_t) {
        const std::string out = within ? utf8_of(lower_of(code)) : title_of(code);
        within = is_lowercase(code) || is_uppercase(code);
        return out;
    });
}

text capitalized(const text & of) {
    return mapped(of, [](uint32_t code, size_t i) { return i == 0 ? title_of(code) : utf8_of(lower_of(code)); });
}

text swapped_case(const text & of) {
    return mapped(of, [](uint32_t code, size_t) { return utf8_of(is_uppercase(code) ? lower_of(code) : upper_of(code)); });
}

text stripped(const text & of, bool left, bool right, const std::string * chars) {
    const std::string bytes = of.str();
    const std::vector<uint32_t> set = chars == nullptr ? std::vector<uint32_t>() : codes_of(*chars);
    const auto goes = [&](uint32_t code) { return chars == nullptr ? is_space(code) : std::find(set.begin(), set.end(), code) != set.end(); };
    size_t from = 0, to = bytes.size();
    while (left && from < to) {
        const letter one = letter_at(bytes, from);
        if (!goes(one.code)) break;
        from += one.bytes.size();
    }
    while (right && to > from) {
        size_t at = to - 1;
        while (at > from && ((unsigned char) bytes[at] & 0xc0) == 0x80 && to - at < 4) at--;
        if (at + letter_at(bytes, at).bytes.size() != to) at = to - 1;
        if (!goes(letter_at(bytes, at).code)) break;
        to = at;
    }
    return from == 0 && to == bytes.size() ? of : part_of(of, from, to - from);
}

text replaced(const text & of, const std::string & old, const text & with, int64_t count) {
    if (old == with.str()) return of;  // what the request said stays its
    const std::string bytes = of.str();
    text_writer out;
    cutter pieces(of);
    size_t from = 0;
    int64_t left = count < 0 ? INT64_MAX : count;
    if (old.empty()) {
        for (; left > 0; left--) {
            out.add(with);
            if (from >= bytes.size()) break;
            const size_t n = letter_at(bytes, from).bytes.size();
            pieces.cut(from, from + n, out);
            from += n;
        }
        pieces.cut(from, bytes.size(), out);
        return out.taken();
    }
    if (bytes.find(old) == std::string::npos) return of;
    for (size_t at = 0; left > 0 && (at = bytes.find(old, from)) != std::string::npos; from = at + old.size(), left--) {
        pieces.cut(from, at, out);
        out.add(with);
    }
    pieces.cut(from, bytes.size(), out);
    return out.taken();
}

std::vector<text> split(const text & of, const std::string * separator, int64_t count, const planned & check) {
    const std::string bytes = of.str();
    if (separator == nullptr) return pieces(of, words(bytes, count), check);
    spans out;
    size_t from = 0;
    for (size_t at = 0; count != 0 && (at = bytes.find(*separator, from)) != std::string::npos; count--) {
        add_span(out, from, at);
        from = at + separator->size();
    }
    add_span(out, from, bytes.size());
    return pieces(of, out, check);
}

std::vector<text> split_from_right(const text & of, const std::string * separator, int64_t count, const planned & check) {
    const std::string bytes = of.str();
    spans out;
    if (separator == nullptr) {
        const spans all = words(bytes, -1);
        const size_t kept = count < 0 ? all.size() : std::min((size_t) count, all.size());
        const size_t merged = all.size() - kept;
        if (merged > 0) out.emplace_back(0, all[merged - 1].second);
        out.insert(out.end(), all.begin() + (std::ptrdiff_t) merged, all.end());
        std::vector<text> texts = pieces(of, out, check);
        if (merged > 0) texts[0] = stripped(texts[0], false, true, nullptr);
        return texts;
    }
    size_t to = bytes.size();
    for (; count != 0 && to >= separator->size(); count--) {
        const size_t at = bytes.rfind(*separator, to - separator->size());
        if (at == std::string::npos) break;
        add_span(out, at + separator->size(), to);
        to = at;
    }
    add_span(out, 0, to);
    std::reverse(out.begin(), out.end());
    return pieces(of, out, check);
}

std::vector<text> split_lines(const text & of, bool keep_ends, const planned & check) {
    const std::string bytes = of.str();
    spans out;
    size_t from = 0;
    for (size_t at = 0; at < bytes.size();) {
        const letter one = letter_at(bytes, at);
        size_t next = at + one.bytes.size();
        if (!breaks_line(one.code)) {
            at = next;
            continue;
        }
        if (one.code == '\r' && next < bytes.size() && bytes[next] == '\n') next++;
        add_span(out, from, keep_ends ? next : at);
        from = at = next;
    }
    if (from < bytes.size()) add_span(out, from, bytes.size());
    return pieces(of, out, check);
}

}  // namespace svc::j2
