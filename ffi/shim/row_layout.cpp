// Keeps the number of rows from pass to pass, with fillers for streams that have ended.

#include "row_layout.h"

#include <set>

namespace svc {

bool row_layout::arrange(const row_columns & given, llama_memory_t memory, size_t most) {
    const size_t n = given.n, before = sequence.size();
    const std::vector<int32_t> earlier = std::move(sequence);
    const std::set<int32_t> streams(given.sequence, given.sequence + n);
    sequence.clear();
    bool is_plain = streams.size() == n;
    for (size_t i = 0; i < n; i++) is_plain = is_plain && given.output[i] != 0;
    if (!is_plain) return false;
    n_given = n;
    token.assign(given.token, given.token + n);
    position.assign(given.position, given.position + n);
    sequence.assign(given.sequence, given.sequence + n);
    const size_t wanted = before > n && before - n <= most ? before : n;
    for (size_t i = 0; sequence.size() < wanted; i++) {
        if (streams.count(earlier[i]) > 0) continue;
        sequence.push_back(earlier[i]);
        position.push_back(llama_memory_seq_pos_max(memory, earlier[i]) + 1);
    }
    token.resize(wanted, given.token[0]);
    output.assign(wanted, 1);
    return true;
}

void row_layout::drop_fillers(llama_memory_t memory) {
    for (size_t i = n_given; i < sequence.size(); i++) llama_memory_seq_rm(memory, sequence[i], position[i], -1);
}

}  // namespace svc
