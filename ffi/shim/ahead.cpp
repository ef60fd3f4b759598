// Multi-step decode: several steps in one native call. Where a step takes a fraction of a millisecond, a return to JavaScript
// between two steps, which evicts caches and lets threads sleep, costs as much as a step.

#include "guard.h"
#include "model.h"
#include "svc_llama.h"

#include <algorithm>
#include <numeric>

using svc::guard;
using svc::need;

namespace {

bool is_end(const llama_vocab * vocab, int32_t token) { return token < 0 || llama_vocab_is_eog(vocab, token); }

}  // namespace

int32_t svc_decode_steps(void * context, int32_t n, const int32_t * token, const int32_t * position,
    const int32_t * sequence, const uint64_t * sampler, int32_t n_steps, int32_t * drawn,
    int32_t * n_done) {
    *n_done = 0;
    return guard<int32_t>(-2, [&]() -> int32_t {
        svc::context & c = need<svc::context>(context, "context");
        const llama_vocab * vocab = llama_model_get_vocab(c.model);
        const std::vector<int8_t> output(n, 1);
        const std::vector<uint64_t> no_masks(n, 0);
        std::vector<int32_t> rows(n);
        std::iota(rows.begin(), rows.end(), 0);
        std::vector<int32_t> at(position, position + n);
        for (int32_t step = 0; step < n_steps; step++) {
            const int32_t result = svc_decode(context, n, token, at.data(), sequence, output.data());
            // What follows a step that was done tries again, and learns of it then.
            if (result != 0 && step == 0) return result;
            if (result != 0) {
                for (int32_t i = 0; i < n; i++) svc_sequence_remove(context, sequence[i], at[i], -1);
                return 0;
            }
            int32_t * row = drawn + (int64_t) step * n;
            if (svc_sample(context, n, rows.data(), sampler, no_masks.data(), row) != 0) std::fill_n(row, n, -1);
            *n_done = step + 1;
            if (std::any_of(row, row + n, [&](int32_t t) { return is_end(vocab, t); })) return 0;
            token = row;
            for (int32_t & p : at) p++;
        }
        return 0;
    });
}
