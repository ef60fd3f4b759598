// The order of the rows of passes that have one row of each sequence.
#pragma once

#include "llama.h"

#include <cstdint>
#include <vector>

namespace svc {

// Columns of the rows of a pass.
struct row_columns {
    int32_t n;
    const int32_t *token, *position, *sequence;
    const int8_t * output;
};

// llama.cpp uses the graph of the pass before again where the same sequences have the same rows. So an order stays while streams end: their
// rows become fillers, whose cells are taken from their sequences as soon as the pass has begun.
struct row_layout {
    std::vector<int32_t> token, position, sequence;  // of the present pass; `sequence` is the order
    std::vector<int8_t> output;
    std::vector<int32_t> place;  // [given rows] where each is now
    std::vector<int32_t> fillers;  // rows

    // Puts the rows of a pass into the order of those before, or into their own where that takes more than `most` fillers. False: the pass
    // has other rows than one of each sequence with an output.
    bool arrange(const row_columns & given, llama_memory_t memory, size_t most);
    row_columns columns() const { return {(int32_t) token.size(), token.data(), position.data(), sequence.data(), output.data()}; }
    // Takes the cells of the fillers out of their sequences again.
    void drop_fillers(llama_memory_t memory);
};

}  // namespace svc
