// Encodings of images and audio clips, and the passes over them.

#include "guard.h"
#include "media.h"
#include "model.h"
#include "render.h"
#include "svc_llama.h"

using svc::guard;
using svc::need;

namespace svc {

namespace {

// A chunk on its way through the encoder's thread.
struct encoding {
    outcome done;
    std::vector<float> embeddings;
};
using encoding_handle = std::shared_ptr<encoding>;

// Positions of a chunk's tokens [from, from + n), of which the first token of all has `first`: n of them, or 4 n where each
// token has four, then those of one dimension after the other.
std::vector<llama_pos> positions(const media_prompt & prompt, const media_chunk & chunk, int32_t from, int32_t n, int32_t first) {
    const bool several = mtmd_decode_use_mrope(prompt.owner->context());
    std::vector<llama_pos> out((size_t) n * (several ? 4 : 1));
    const mtmd_image_tokens * image = mtmd_input_chunk_get_tokens_image(chunk.shape.get());
    for (int32_t i = 0; i < n; i++) {
        if (several && image != nullptr) {
            const mtmd_decoder_pos at = mtmd_image_tokens_get_decoder_pos(image, first, from + i);
            out[i] = at.t;
            out[i + n] = at.y;
            out[i + 2 * n] = at.x;
            out[i + 3 * n] = at.z;
        } else {
            for (size_t dimension = 0; dimension < out.size() / n; dimension++) out[dimension * n + i] = first + from + i;
        }
    }
    return out;
}

// Lets the tokens of a pass see each other, later ones too, while it exists.
class mutual_attention {
  public:
    mutual_attention(llama_context * ctx, bool on) : ctx(on ? ctx : nullptr) {
        if (on) llama_set_causal_attn(ctx, false);
    }
    ~mutual_attention() {
        if (ctx != nullptr) llama_set_causal_attn(ctx, true);
    }

  private:
    llama_context * ctx;
};

const media_chunk & need_chunk(const media_prompt & prompt, int32_t index) {
    if (index < 0 || (size_t) index >= prompt.chunks.size()) throw std::invalid_argument("the prompt has no such chunk");
    return prompt.chunks[index];
}

}  // namespace

}  // namespace svc

void * svc_encode_begin(void * rendered, int32_t chunk) {
    return guard<void *>(nullptr, [&]() -> void * {
        const auto prompt = svc::render_media(rendered);
        if (prompt == nullptr) throw std::invalid_argument("the prompt has no media");
        svc::need_chunk(*prompt, chunk);
        const auto task = std::make_shared<svc::encoding>();
        auto out = std::make_unique<svc::encoding_handle>(task);
        prompt->owner->encoder.add([prompt, chunk, weak = std::weak_ptr<svc::encoding>(task)] {
            const auto wanted = weak.lock();
            if (wanted == nullptr) return;  // all waiting requests were cancelled
            wanted->done.take([&] { wanted->embeddings = prompt->owner->encode(*prompt, chunk); },
                "an unknown error was raised while encoding");
        });
        return out.release();
    });
}

int32_t svc_encode_wait(void * encoding, int32_t wait_ms) {
    return guard<int32_t>(-1, [&] { return need<svc::encoding_handle>(encoding, "encoding")->done.wait(wait_ms); });
}

int64_t svc_encode_bytes(void * encoding) {
    return guard<int64_t>(0, [&]() -> int64_t {
        return need<svc::encoding_handle>(encoding, "encoding")->embeddings.size() * sizeof(float);
    });
}

void svc_encode_free(void * encoding) {
    guard<int32_t>(-1, [&] {
        delete &need<svc::encoding_handle>(encoding, "encoding");
        return 0;
    });
}

int32_t svc_decode_media(void * context, void * rendered, int32_t chunk, void * encoding, int32_t from, int32_t n,
    int32_t position, int32_t sequence) {
    return guard<int32_t>(-2, [&]() -> int32_t {
        svc::context & c = need<svc::context>(context, "context");
        const auto prompt = svc::render_media(rendered);
        if (prompt == nullptr) throw std::invalid_argument("the prompt has no media");
        const svc::media_chunk & place = svc::need_chunk(*prompt, chunk);
        auto & embeddings = need<svc::encoding_handle>(encoding, "encoding")->embeddings;
        const size_t n_embd = prompt->owner->n_embd();
        const bool fits = n >= 1 && (size_t) n <= c.seq_id.size() && from >= 0 && from + n <= place.tokens;
        if (!fits || embeddings.size() != place.tokens * n_embd) throw std::invalid_argument("these are not the chunk's tokens");
        // llama.cpp aborts if tokens that see each other do not go through in one piece.
        if (place.whole && (from != 0 || n != place.tokens || n > (int32_t) llama_n_ubatch(c.ctx))) {
            throw std::invalid_argument("the chunk must be computed as a whole");
        }
        std::vector<llama_pos> pos = svc::positions(*prompt, place, from, n, position);
        std::vector<llama_seq_id *> seq_id(n, &sequence);
        std::vector<int8_t> logits(n);  // of none: text follows
        llama_batch batch = {};
        batch.n_tokens = n;
        batch.embd = embeddings.data() + from * n_embd;
        batch.pos = pos.data();
        batch.n_seq_id = c.n_seq_id.data();
        batch.seq_id = seq_id.data();
        batch.logits = logits.data();
        const svc::mutual_attention scope(c.ctx, place.whole);
        return llama_decode(c.ctx, batch);
    });
}
