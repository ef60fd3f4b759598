// Tokenization of texts with marked spans, in which control and user-defined tokens are plain text.
#pragma once

#include "llama.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <vector>

namespace svc {

// Tokens of long texts between special tokens, of one vocabulary and one set of tokens that pass. Requests of a conversation, and those
// with the same tools, repeat them. Used by several threads.
class fragment_cache {
  public:
    static bool takes(size_t bytes) { return bytes >= TEXT_MIN && bytes <= BYTES_MAX / 2; }

    bool find(const std::string & text, std::vector<llama_token> & out) {
        const std::lock_guard<std::mutex> lock(mutex);
        const auto found = std::find_if(recent.begin(), recent.end(), [&](const fragment & one) { return one.text == text; });
        if (found == recent.end()) return false;
        recent.splice(recent.begin(), recent, found);
        out = found->tokens;
        return true;
    }

    void keep(const std::string & text, const std::vector<llama_token> & tokens) {
        const std::lock_guard<std::mutex> lock(mutex);
        recent.push_front({text, tokens});
        bytes += recent.front().bytes();
        while (bytes > BYTES_MAX || recent.size() > RECENT_MAX) {
            bytes -= recent.back().bytes();
            recent.pop_back();
        }
    }

  private:
    static constexpr size_t TEXT_MIN = 2 << 10, BYTES_MAX = 16 << 20, RECENT_MAX = 128;

    struct fragment {
        std::string text;
        std::vector<llama_token> tokens;

        size_t bytes() const { return text.size() + tokens.size() * sizeof(llama_token); }
    };

    std::mutex mutex;
    std::list<fragment> recent;  // the latest first
    size_t bytes = 0;
};

}  // namespace svc

struct svc_token_marks {
    const size_t * spans;  // begin and end of each span of the text, ascending and apart
    size_t n_spans;
    const uint8_t * passes;  // for each token: whether it is recognized in marked spans all the same
    svc::fragment_cache * cache;  // may be NULL
};

// Marks the text of the next calls of llama_tokenize on this thread, which must be with parse_special; NULL: none.
extern "C" LLAMA_API void svc_set_token_marks(const struct svc_token_marks * marks);
