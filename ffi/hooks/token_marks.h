// Tokenization of texts with marked spans, in which control and user-defined tokens are plain text.
#pragma once

#include "llama.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct svc_token_marks {
    const size_t * spans;  // begin and end of each span of the text, ascending and apart
    size_t n_spans;
    const uint8_t * passes;  // for each token: whether it is recognized in marked spans all the same
};

// Marks the text of the next calls of llama_tokenize on this thread, which must be with parse_special; NULL: none.
LLAMA_API void svc_set_token_marks(const struct svc_token_marks * marks);

#ifdef __cplusplus
}
#endif
