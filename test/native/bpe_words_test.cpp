// The words of a text in the characters of bytes (ffi/hooks/bpe_words.h) against those that upstream's src/unicode.cpp makes byte by byte.

#include "bpe_words.h"

#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace {

std::string utf8(uint32_t c) {
    if (c < 0x80) return {(char) c};
    if (c < 0x800) return {(char) (0xc0 | (c >> 6)), (char) (0x80 | (c & 0x3f))};
    if (c < 0x10000) return {(char) (0xe0 | (c >> 12)), (char) (0x80 | ((c >> 6) & 0x3f)), (char) (0x80 | (c & 0x3f))};
    return {(char) (0xf0 | (c >> 18)), (char) (0x80 | ((c >> 12) & 0x3f)), (char) (0x80 | ((c >> 6) & 0x3f)), (char) (0x80 | (c & 0x3f))};
}

// GPT-2: visible bytes stand for themselves, the others are counted up from 256.
std::string of_byte(uint8_t byte) {
    const auto is_visible = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174; };
    if (is_visible(byte)) return utf8(byte);
    uint32_t character = 256;
    for (int b = 0; b < byte; b++) character += is_visible(b) ? 0 : 1;
    return utf8(character);
}

}  // namespace

int main() {
    std::mt19937 random(1);
    const uint32_t bounds[] = {0x80, 0x800, 0xd800, 0x10000, 0x110000};
    std::vector<std::string> words, expected;
    for (int n = 0; n < 5000; n++) {
        std::string word, whole, encoded;
        for (uint32_t i = random() % 12; i > 0; i--) {
            const uint32_t character = random() % bounds[random() % 5];
            whole += utf8(character);
            svc_append_character(word, character, utf8);
        }
        if (word != whole) {
            fprintf(stderr, "word %d: its characters differ\n", n);
            return 1;
        }
        for (const char byte : whole) encoded += of_byte((uint8_t) byte);
        words.push_back(word);
        expected.push_back(encoded);
    }
    if (svc_encoded_words(words, of_byte) != expected) {
        fprintf(stderr, "the words differ\n");
        return 1;
    }
    printf("bpe words: ok\n");
    return 0;
}
