// Pages of a model file that nothing reads after loading.

#include "file_pages.h"

#include "ggml.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

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

// Tensors of a model, by address.
std::vector<range> tensors_of(const llama_model * model) {
    std::vector<range> out;
    for (const auto & [name, tensor] : llama_internal_get_tensor_map(model)) {
        const auto data = (uintptr_t) tensor->data;
        if (data != 0) out.emplace_back(data, data + ggml_nbytes(tensor));
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
#if defined(__linux__)
    const auto page = (uintptr_t) sysconf(_SC_PAGESIZE);
    const std::vector<range> tensors = tensors_of(model);
    for (const range & mapping : file_mappings()) {
        const auto inside = [&](const range & tensor) { return tensor.first >= mapping.first && tensor.first < mapping.second; };
        if (std::none_of(tensors.begin(), tensors.end(), inside)) continue;  // another model's
        for (const auto & [begin, end] : gaps_between(mapping, tensors)) {
            const uintptr_t from = (begin + page - 1) / page * page, to = end / page * page;
            // Refused for locked memory, which is to stay.
            if (from < to && madvise((void *) from, to - from, MADV_DONTNEED) == 0) released += to - from;
        }
    }
#endif
    return released;
}
