// Pages of a model file that nothing reads after loading.

#include "file_pages.h"

#if defined(__linux__)

#include "ggml.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

// Defined by libllama for tests (src/llama-model.h).
const std::vector<std::pair<std::string, ggml_tensor *>> & llama_internal_get_tensor_map(const llama_model * model);

namespace {

using range = std::pair<uintptr_t, uintptr_t>;

// Memory of this process that reads a file, shared and read only: llama.cpp maps models so.
std::vector<range> file_mappings() {
    std::vector<range> out;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::istringstream fields(line);
        range at;
        char dash = 0;
        std::string access, offset, device;
        uint64_t inode = 0;
        fields >> std::hex >> at.first >> dash >> at.second >> access >> offset >> device >> std::dec >> inode;
        if (fields && access == "r--s" && inode != 0) out.push_back(at);
    }
    return out;
}

// A pass reads one row per token of these tables. Such pages come back when they are read; all pages do if a product uses the table too.
bool is_table_of_rows(const std::string & name) { return name == "token_embd.weight" || name == "per_layer_token_embd.weight"; }

// Tensors of a model, or those of them that whole passes read, by address.
std::vector<range> tensors_of(const llama_model * model, bool with_tables) {
    std::vector<range> out;
    for (const auto & [name, tensor] : llama_internal_get_tensor_map(model)) {
        const auto data = (uintptr_t) tensor->data;
        if (data != 0 && (with_tables || !is_table_of_rows(name))) out.emplace_back(data, data + ggml_nbytes(tensor));
    }
    std::sort(out.begin(), out.end());
    return out;
}

// Parts of `whole` outside of the ranges `used`, which are ascending.
std::vector<range> gaps_between(const range & whole, const std::vector<range> & used) {
    std::vector<range> out;
    uintptr_t at = whole.first;
    for (const auto & [begin, end] : used) {
        if (end <= whole.first) continue;
        if (begin >= whole.second) break;
        if (begin > at) out.emplace_back(at, begin);
        at = std::max(at, end);
    }
    if (at < whole.second) out.emplace_back(at, whole.second);
    return out;
}

}  // namespace

size_t svc::release_file_pages(const llama_model * model) {
    size_t released = 0;
    const auto page = (uintptr_t) sysconf(_SC_PAGESIZE);
    const std::vector<range> tensors = tensors_of(model, true), kept = tensors_of(model, false);
    for (const range & mapping : file_mappings()) {
        const auto inside = [&](const range & tensor) { return tensor.first >= mapping.first && tensor.first < mapping.second; };
        if (std::none_of(tensors.begin(), tensors.end(), inside)) continue;  // another model's
        for (const auto & [begin, end] : gaps_between(mapping, kept)) {
            const uintptr_t from = (begin + page - 1) / page * page, to = end / page * page;
            // Refused for locked memory, which is to stay.
            if (from < to && madvise((void *) from, to - from, MADV_DONTNEED) == 0) released += to - from;
        }
    }
    return released;
}

#else

size_t svc::release_file_pages(const llama_model *) { return 0; }

#endif
