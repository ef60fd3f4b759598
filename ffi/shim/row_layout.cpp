// Keeps the order of rows from pass to pass, with fillers for streams that have ended.

#include "row_layout.h"

#include <algorithm>
#include <unordered_map>

namespace svc {

bool row_layout::arrange(const row_columns & given, llama_memory_t memory, size_t most) {
    fillers.clear();
    std::unordered_map<int32_t, int32_t> row_of;  // by sequence
    for (int32_t i = 0; i < given.n; i++) {
        if (given.output[i] == 0 || !row_of.emplace(given.sequence[i], i).second) {
            sequence.clear();
            return false;
        }
    }
    const auto known = std::count_if(sequence.begin(), sequence.end(), [&](int32_t s) { return row_of.count(s) > 0; });
    const size_t missing = sequence.size() - known;
    if (known != given.n || missing > most) sequence.assign(given.sequence, given.sequence + given.n);
    const size_t n = sequence.size();
    token.resize(n);
    position.resize(n);
    output.assign(n, 1);
    place.resize(given.n);
    for (size_t row = 0; row < n; row++) {
        const auto found = row_of.find(sequence[row]);
        if (found == row_of.end()) {
            fillers.push_back((int32_t) row);
            token[row] = given.token[0];
            position[row] = llama_memory_seq_pos_max(memory, sequence[row]) + 1;
            continue;
        }
        place[found->second] = (int32_t) row;
        token[row] = given.token[found->second];
        position[row] = given.position[found->second];
    }
    return true;
}

void row_layout::drop_fillers(llama_memory_t memory) {
    for (const int32_t row : fillers) llama_memory_seq_rm(memory, sequence[row], position[row], -1);
}

}  // namespace svc
