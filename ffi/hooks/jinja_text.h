// Texts of templates: UTF-8 with the mark of what came in with the request. Places are bytes unless a name says letters.
#pragma once

#include "jinja/string.h"

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace svc::j2 {

using text = jinja::string;

// Longest text that a template makes.
constexpr size_t text_max = (size_t) 64 << 20;

// Puts a text together. Throws std::length_error.
class text_writer {
  public:
    void add(std::string_view bytes, bool is_input) {
        if (bytes.empty()) return;
        if (is_input != run.is_input) flush();
        run.is_input = is_input;
        run.val += bytes;
        size_ += bytes.size();
        if (size_ > text_max) throw std::length_error("the template makes a text of more than " + std::to_string(text_max >> 20) + " MiB");
    }
    void add(const text & more) {
        for (const auto & part : more.parts) add(part.val, part.is_input);
    }
    void add(const char * bytes) { add(bytes, false); }
    size_t size() const { return size_; }
    text taken() {
        flush();
        size_ = 0;
        return std::move(out);
    }

  private:
    text out;
    jinja::string_part run;
    size_t size_ = 0;

    void flush() {
        if (!run.val.empty()) out.parts.push_back(std::move(run));
        run = {};
    }
};

// A letter of a text: its bytes, its code point (bytes that are no UTF-8 stand for themselves, above Unicode), and its mark.
struct letter {
    std::string_view bytes;
    uint32_t code;
    bool is_input;
};

// Calls `each` with each letter.
void for_each_letter(const text & of, const std::function<void(const letter &)> & each);
std::vector<uint32_t> codes_of(std::string_view bytes);
std::string utf8(uint32_t code);
size_t count_letters(const text & of);

// Bytes [from, from + n).
text part_of(const text & of, size_t from, size_t n = std::string::npos);
// Letters start, start + step, … before (or after) stop, all within the text.
text letters_of(const text & of, int64_t start, int64_t stop, int64_t step);
// The byte at which letter `n` begins.
size_t byte_of_letter(std::string_view bytes, size_t n);
bool has_input(const text & of);
text joined(const text & a, const text & b);
text repeated(const text & of, int64_t times);
// Each letter replaced; `index` counts letters.
text mapped(const text & of, const std::function<std::string(uint32_t code, size_t index)> & made);

text upper(const text & of);
text lower(const text & of);
text title(const text & of);
text capitalized(const text & of);
text swapped_case(const text & of);
// chars: none (nullptr): white space.
text stripped(const text & of, bool left, bool right, const std::string * chars);
text replaced(const text & of, const std::string & old, const text & with, int64_t count);
// Receives the number of pieces before they are made.
using planned = std::function<void(size_t)>;
// separator: none (nullptr): runs of white space. count < 0: all.
std::vector<text> split(const text & of, const std::string * separator, int64_t count, const planned & check = {});
std::vector<text> split_from_right(const text & of, const std::string * separator, int64_t count, const planned & check = {});
std::vector<text> split_lines(const text & of, bool keep_ends, const planned & check = {});

// Properties of letters, as Python's `str` has them.
std::vector<uint32_t> upper_of(uint32_t code);
std::vector<uint32_t> lower_of(uint32_t code);
bool is_alpha(uint32_t code);
bool is_numeric(uint32_t code);
bool is_decimal(uint32_t code);
bool is_lowercase(uint32_t code);
bool is_uppercase(uint32_t code);
bool is_space(uint32_t code);
bool is_printable(uint32_t code);
inline bool is_word(uint32_t code) { return is_alpha(code) || is_numeric(code) || code == '_'; }

}  // namespace svc::j2
