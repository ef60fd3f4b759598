// Strings of the template engine with shared parts against strings with a plain vector, under random operations of upstream's
// common/jinja/string.cpp and runtime.h.

#include "shared_parts.h"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

struct part {
    bool is_input = false;
    std::string val;

    bool operator==(const part & other) const { return is_input == other.is_input && val == other.val; }
};

template <class Parts>
struct text {
    Parts parts;

    void append(const text & other) {
        for (const auto & one : other.parts) parts.push_back(one);
    }
    void mark() {
        for (auto & one : parts) one.is_input = true;
    }
    void trim_first() {
        if (!parts.empty()) parts.erase(parts.begin());
    }
    void insert(const text & other) { parts.insert(parts.end(), other.parts.begin(), other.parts.end()); }
    void add_to_last(const std::string & more) {
        if (!parts.empty()) parts.back().val += more;
    }
    // Neighbours with the same mark become one part.
    void join() {
        auto & p = parts;
        if (p.empty()) return;
        size_t w = 0;
        for (size_t r = 1; r < p.size(); r++) {
            if (p[w].is_input == p[r].is_input) {
                p[w].val += p[r].val;
            } else if (++w != r) {
                p[w] = std::move(p[r]);
            }
        }
        p.resize(w + 1);
    }
    std::vector<part> list() const {
        std::vector<part> out;
        for (const auto & one : parts) out.push_back(one);
        return out;
    }
};

constexpr size_t TEXTS = 6;
constexpr size_t PARTS_MAX = 200;

template <class Parts>
void step(std::vector<text<Parts>> & texts, unsigned operation, size_t to, size_t from, const std::string & word) {
    text<Parts> & target = texts[to];
    const text<Parts> & source = texts[from];
    switch (operation) {
        case 0: target = source; break;
        case 1: {  // set to = from + word
            text<Parts> copy = source;
            copy.parts.push_back({word.size() % 2 == 0, word});
            target = copy;
            break;
        }
        case 2: {  // set to = to + from, which share their parts at times
            text<Parts> copy = target;
            copy.append(source);
            target = std::move(copy);
            break;
        }
        case 3: target.mark(); break;
        case 4: target.trim_first(); break;
        case 5: {
            const text<Parts> other = source;
            target.insert(other);
            break;
        }
        case 6: target.add_to_last(word); break;
        case 7: target.join(); break;
        default: target = {}; break;
    }
    if (target.parts.size() > PARTS_MAX) target = {};
}

bool equal(const std::vector<text<svc::shared_parts<part>>> & a, const std::vector<text<std::vector<part>>> & b) {
    for (size_t i = 0; i < a.size(); i++) {
        if (a[i].parts.size() != b[i].parts.size() || a[i].list() != b[i].list()) return false;
        if (!b[i].parts.empty() && !(a[i].parts.back() == b[i].parts.back())) return false;
    }
    return true;
}

// A copy that grows by one part at a time takes linear time: its parts stay where they are.
bool appends_in_place() {
    text<svc::shared_parts<part>> whole;
    whole.parts.push_back({false, "first"});
    for (int i = 0; i < 1000; i++) {
        text<svc::shared_parts<part>> longer = whole;
        longer.parts.push_back({true, "more"});
        const svc::shared_parts<part> &before = whole.parts, &after = longer.parts;
        if (&before[0] != &after[0] || before.size() + 1 != after.size()) return false;
        whole = longer;
    }
    return true;
}

}  // namespace

int main() {
    std::mt19937 random(1);
    std::vector<text<svc::shared_parts<part>>> shared(TEXTS);
    std::vector<text<std::vector<part>>> plain(TEXTS);
    for (int i = 0; i < 50000; i++) {
        const unsigned operation = random() % 9;
        const size_t to = random() % TEXTS, from = random() % TEXTS;
        if (operation == 5 && to == from) continue;
        const std::string word(random() % 4, (char) ('a' + random() % 26));
        step(shared, operation, to, from, word);
        step(plain, operation, to, from, word);
        if (!equal(shared, plain)) {
            std::printf("FAILED: operation %u number %d gives another text\n", operation, i);
            return 1;
        }
    }
    if (!appends_in_place()) {
        std::printf("FAILED: appending to a copy copies\n");
        return 1;
    }
    std::printf("shared parts: ok\n");
    return 0;
}
