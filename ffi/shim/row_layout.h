// The number of rows of passes that have one row of each sequence.
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

// llama.cpp uses the graph of the pass before again where as many sequences have a row (and ffi/hooks/same_sampler.h). So their number stays
// while streams end: their rows become fillers, whose cells are taken from their sequences as soon as the pass has begun.
class row_layout {
  public:
    // Adds fillers to the rows of a pass, or none where it takes more than `most`. False: the pass has other rows than one of each sequence
    // with an output.
    bool arrange(const row_columns & given, llama_memory_t memory, size_t most);
    bool has_fillers() const { return n_given < sequence.size(); }
    row_columns columns() const { return {(int32_t) sequence.size(), token.data(), position.data(), sequence.data(), output.data()}; }
    // Takes the cells of the fillers out of their sequences again.
    void drop_fillers(llama_memory_t memory);

  private:
    std::vector<int32_t> token, position, sequence;  // of the present pass
    std::vector<int8_t> output;
    size_t n_given = 0;
};

}  // namespace svc
