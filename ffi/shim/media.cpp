// Images and audio clips in prompts, through libmtmd: their positions and encodings.

#include "media.h"

#include "guard.h"
#include "model.h"
#include "render.h"
#include "svc_llama.h"

#include "common.h"
#include "mtmd-helper.h"

#include <algorithm>
#include <atomic>

using svc::guard;
using svc::need;

namespace svc {

namespace {

// Encoding gives way to the passes of the model, which others wait for token by token.
constexpr int ENCODER_NICENESS = 10;
constexpr int RENDERER_NICENESS = 5;
// Pixels and samples of all prompts that wait for the encoder: some ten photographs, at four bytes and more for each.
constexpr int64_t HELD_MAX = 128'000'000;
// Most items kept in the cache; a bound far above normal use.
constexpr size_t KNOWN_MAX = 4096;

mtmd::input_chunk_ptr placeholder(const mtmd_input_chunk * chunk) {
    mtmd::input_chunk_ptr out(mtmd_input_chunk_get_placeholder(chunk));
    if (out == nullptr) throw std::bad_alloc();
    return out;
}

bool is_text(const mtmd_input_chunk * chunk) {
    return mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT;
}

std::vector<llama_token> tokens_of(const mtmd_input_chunk * text) {
    size_t n = 0;
    const llama_token * tokens = mtmd_input_chunk_get_tokens_text(text, &n);
    return std::vector<llama_token>(tokens, tokens + n);
}

// A control token that its text becomes again, and that no image's markup has.
llama_token text_place(const llama_vocab * vocab) {
    const auto returns = [&](llama_token id) {
        if (id == LLAMA_TOKEN_NULL || !llama_vocab_is_control(vocab, id)) return false;
        const std::string text = common_token_to_piece(vocab, id, true);
        return !text.empty() && common_tokenize(vocab, text, false, true) == std::vector<llama_token>{id};
    };
    for (const llama_token id : {llama_vocab_eos(vocab), llama_vocab_bos(vocab), llama_vocab_eot(vocab)}) {
        if (returns(id)) return id;
    }
    for (llama_token id = 0; id < llama_vocab_n_tokens(vocab); id++) {
        if (returns(id)) return id;
    }
    throw std::invalid_argument("the model's vocabulary has no control tokens, so its prompts cannot have images or audio");
}

std::string name_of(const media_item & item, int32_t index) {
    return (item.audio ? "audio clip " : "image ") + std::to_string(index + 1) + ": ";
}

}  // namespace

mtmd_context_params projector_params(const int32_t * params, int32_t n) {
    mtmd_helper_log_set(log_callback(), nullptr);
    mtmd_context_params p = mtmd_context_params_default();
    p.print_timings = false;
    p.n_threads = column(params, n, 0, 1);
    const int32_t device = column(params, n, 1, -1);
    if (device >= (int32_t) ggml_backend_dev_count()) throw std::invalid_argument("there is no such device");
    p.use_gpu = device >= 0;
    p.device = device < 0 ? nullptr : ggml_backend_dev_get(device);
    p.image_min_tokens = column(params, n, 2, -1);
    p.image_max_tokens = column(params, n, 3, -1);
    return p;
}

struct media::piece {
    std::vector<llama_token> text;
    int32_t item = -1;
    mtmd::bitmap_ptr bitmap;
};

struct media::placed {
    mtmd::input_chunk_ptr chunk;
    int32_t item;  // -1 for text
    bool content;  // it can be encoded
    std::vector<llama_token> text;
};

media::media(const llama_model * model, const char * path, const int32_t * params, int32_t n) : renderer(RENDERER_NICENESS), encoder(ENCODER_NICENESS), vocab(llama_model_get_vocab(model)), place(text_place(vocab)),
                                                                                                embd(llama_model_n_embd_inp(model)) {
    const mtmd_context_params p = projector_params(params, n);
    limits.pixels_max = column(params, n, 4, 1);
    limits.seconds_max = column(params, n, 5, 1);
    whole_max = column(params, n, 6, 1);
    take_log_error();
    ctx.reset(mtmd_init_from_file(path, model, p));
    if (ctx == nullptr) {
        const std::string reason = take_log_error();
        throw std::runtime_error(reason.empty() ? "the projector file could not be loaded" : reason);
    }
}

media_prompt::~media_prompt() { owner->let_go(held); }

bool media::hold(media_prompt & prompt, int64_t count) {
    if (held.fetch_add(count) + count > HELD_MAX) {
        held -= count;
        return false;
    }
    prompt.held += count;
    return true;
}

std::optional<media::known_item> media::find(const media_item & item) {
    std::lock_guard<std::mutex> lock(mutex);
    const auto found = known.find(item.key);
    if (found == known.end()) return std::nullopt;
    return found->second;
}

void media::remember(const media_item & item, known_item && what) {
    std::lock_guard<std::mutex> lock(mutex);
    if (known.size() >= KNOWN_MAX) known.clear();
    known[item.key] = std::move(what);
}

// The pixels of an image. Without `content` they are omitted if the image is known or the limit on waiting pixels is reached.
mtmd::bitmap_ptr media::image_bitmap(media_prompt & prompt, int32_t index, bool content) {
    const media_item & item = prompt.items[index];
    if (!mtmd_support_vision(ctx.get())) throw std::invalid_argument("this model does not accept images");
    if (!content) {
        const auto seen = find(item);
        if (seen) return mtmd::bitmap_ptr(mtmd_bitmap_init(seen->width, seen->height, nullptr));
    }
    mtmd::bitmap_ptr bitmap = decode_image(item.bytes, limits);
    known_item size;
    size.width = mtmd_bitmap_get_nx(bitmap.get());
    size.height = mtmd_bitmap_get_ny(bitmap.get());
    const int64_t pixels = (int64_t) size.width * size.height;
    if (!content && !hold(prompt, pixels)) bitmap.reset(mtmd_bitmap_init(size.width, size.height, nullptr));
    remember(item, std::move(size));
    return bitmap;
}

// libmtmd tokenizes texts itself, and knows no marks. It is given a token in place of each text.
std::vector<media::placed> media::tokenize(const std::vector<piece> & pieces) const {
    const std::string place_text = common_token_to_piece(vocab, place, true);
    std::vector<mtmd_input_text> texts(pieces.size());
    std::vector<mtmd_input_part> parts(pieces.size());
    std::vector<const mtmd_input_part *> pointers;
    for (size_t i = 0; i < pieces.size(); i++) {
        texts[i] = {place_text.data(), place_text.size(), false, true};
        parts[i] = {pieces[i].bitmap == nullptr ? &texts[i] : nullptr, pieces[i].bitmap.get()};
        pointers.push_back(&parts[i]);
    }
    mtmd::input_chunks_ptr chunks(mtmd_input_chunks_init());
    const int32_t code = mtmd_tokenize_from_parts(ctx.get(), chunks.get(), pointers.data(), pointers.size(), false);
    if (code != 0) throw std::invalid_argument("the model's encoder cannot take it");
    std::vector<placed> out;
    auto next = pieces.begin();
    const auto is_written = [](const piece & p) { return p.bitmap == nullptr; };
    for (size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); i++) {
        const mtmd_input_chunk * chunk = mtmd_input_chunks_get(chunks.get(), i);
        std::vector<llama_token> text;
        for (const llama_token token : is_text(chunk) ? tokens_of(chunk) : std::vector<llama_token>()) {
            const auto written = token == place ? std::find_if(next, pieces.end(), is_written) : pieces.end();
            if (written == pieces.end()) {
                text.push_back(token);
            } else {
                text.insert(text.end(), written->text.begin(), written->text.end());
                next = written + 1;
            }
        }
        const int32_t item = is_text(chunk) ? -1 : atoi(mtmd_input_chunk_get_id(chunk));
        const auto whose = std::find_if(pieces.begin(), pieces.end(), [&](const piece & p) { return p.bitmap != nullptr && p.item == item; });
        const bool content = whose != pieces.end() && mtmd_bitmap_get_n_bytes(whose->bitmap.get()) > 0;
        out.push_back({mtmd::input_chunk_ptr(mtmd_input_chunk_copy(chunk)), item, content, std::move(text)});
    }
    if (std::find_if(next, pieces.end(), is_written) != pieces.end()) throw std::logic_error("a text of the prompt has no place");
    return out;
}

// The chunks of an audio clip, with the texts around them; `content` as of an image.
std::vector<media::placed> media::audio_chunks(media_prompt & prompt, int32_t index, bool content) {
    const media_item & item = prompt.items[index];
    std::vector<placed> out;
    const auto seen = content ? std::nullopt : find(item);
    if (seen) {
        for (const auto & chunk : seen->audio) {
            const bool text = is_text(chunk.get());
            out.push_back({mtmd::input_chunk_ptr(mtmd_input_chunk_copy(chunk.get())), text ? -1 : index, false,
                text ? tokens_of(chunk.get()) : std::vector<llama_token>()});
        }
        return out;
    }
    const int32_t rate = mtmd_get_audio_sample_rate(ctx.get());
    if (rate <= 0) throw std::invalid_argument("this model does not accept audio");
    std::vector<piece> alone(1);
    alone[0].item = index;
    alone[0].bitmap = decode_audio(item.bytes, rate, limits);
    mtmd_bitmap_set_id(alone[0].bitmap.get(), std::to_string(index).c_str());
    out = tokenize(alone);
    known_item parts;
    for (const auto & part : out) parts.audio.emplace_back(placeholder(part.chunk.get()).release(), mtmd_input_chunk_free);
    const int64_t samples = mtmd_bitmap_get_nx(alone[0].bitmap.get());
    if (!content && !hold(prompt, samples)) {
        for (auto & part : out) part = {placeholder(part.chunk.get()), part.item, false, std::move(part.text)};
    }
    remember(item, std::move(parts));
    return out;
}

// A prompt's text and items in order. `content_of` is the one item whose content is wanted, or -1: that of all which are
// not known yet.
std::vector<media::placed> media::place_all(media_prompt & prompt, int32_t content_of) {
    std::vector<placed> out;
    std::vector<piece> group;
    auto flush = [&] {
        if (group.empty()) return;
        for (auto & chunk : tokenize(group)) out.push_back(std::move(chunk));
        group.clear();
    };
    size_t from = 0;
    const std::string & text = prompt.prompt.text;
    std::vector<bool> shown(prompt.items.size());
    const std::string begin = prompt.marker + "x";
    for (;;) {
        const size_t at = text.find(begin, from);
        if (at != from) {
            const marked_text between = prompt.prompt.part(from, at == std::string::npos ? at : at - from);
            group.push_back({tokenize_marked(vocab, between, prompt.content, false), -1, nullptr});
        }
        if (at == std::string::npos) break;
        const size_t end = text.find('x', at + begin.size());
        const size_t index = strtoul(text.c_str() + at + begin.size(), nullptr, 10);
        if (end == std::string::npos || index >= prompt.items.size() || shown[index]) {
            throw std::invalid_argument("the chat template does not show each image and audio clip once");
        }
        shown[index] = true;
        from = end + 1;
        const media_item & item = prompt.items[index];
        const bool content = content_of == (int32_t) index;
        try {
            if (item.audio) {
                flush();
                for (auto & chunk : audio_chunks(prompt, index, content)) out.push_back(std::move(chunk));
            } else {
                piece place;
                place.item = index;
                place.bitmap = image_bitmap(prompt, index, content);
                mtmd_bitmap_set_id(place.bitmap.get(), std::to_string(index).c_str());
                group.push_back(std::move(place));
            }
        } catch (const std::exception & e) {
            throw std::invalid_argument(name_of(item, index) + e.what());
        }
    }
    flush();
    if (std::find(shown.begin(), shown.end(), false) != shown.end()) {
        throw std::invalid_argument("the chat template leaves out an image or audio clip at this place");
    }
    return out;
}

std::vector<llama_token> media::lay_out(media_prompt & prompt) {
    std::vector<llama_token> tokens;
    if (llama_vocab_get_add_bos(vocab)) tokens.push_back(llama_vocab_bos(vocab));
    std::vector<int32_t> parts(prompt.items.size());
    for (auto & [chunk, item, content, text] : place_all(prompt, -1)) {
        if (is_text(chunk.get())) {
            tokens.insert(tokens.end(), text.begin(), text.end());
            continue;
        }
        media_chunk place;
        place.at = tokens.size();
        place.tokens = mtmd_input_chunk_get_n_tokens(chunk.get());
        place.positions = mtmd_input_chunk_get_n_pos(chunk.get());
        place.item = item;
        place.part = parts[item]++;
        place.whole = mtmd_decode_use_non_causal(ctx.get(), chunk.get());
        if (place.whole && place.tokens > whole_max) {
            throw std::invalid_argument(name_of(prompt.items[item], item) + "it takes " + std::to_string(place.tokens) +
                " tokens that this model must see at once, and the server computes at most " + std::to_string(whole_max) +
                " (ubatch)");
        }
        tokens.resize(tokens.size() + place.tokens, -1);
        place.shape = placeholder(chunk.get());
        if (content) place.data = std::move(chunk);
        prompt.chunks.push_back(std::move(place));
    }
    if (llama_vocab_get_add_eos(vocab)) tokens.push_back(llama_vocab_eos(vocab));
    if (!tokens.empty() && tokens.back() < 0) {
        throw std::invalid_argument("the chat template ends with an image or audio clip, after which no answer can begin");
    }
    return tokens;
}

std::vector<float> media::encode(media_prompt & prompt, int32_t index) {
    media_chunk & chunk = prompt.chunks[index];
    if (chunk.data == nullptr) {  // known when the prompt was laid out, so its content was not read
        int32_t part = 0;
        for (auto & [again, item, content, text] : place_all(prompt, chunk.item)) {
            if (content && item == chunk.item && part++ == chunk.part) chunk.data = std::move(again);
        }
        const bool same = chunk.data != nullptr && (int32_t) mtmd_input_chunk_get_n_tokens(chunk.data.get()) == chunk.tokens;
        if (!same) throw std::runtime_error("the encoder's input has changed");
    }
    const mtmd::input_chunk_ptr data = std::move(chunk.data);
    if (mtmd_encode_chunk(ctx.get(), data.get()) != 0) throw std::runtime_error("the encoder failed");
    const float * out = mtmd_get_output_embd(ctx.get());
    return std::vector<float>(out, out + (size_t) chunk.tokens * embd);
}

namespace {

using media_handle = std::shared_ptr<media>;

}  // namespace

}  // namespace svc

void * svc_media_open(void * model, const char * path, const int32_t * params, int32_t n) {
    return guard<void *>(nullptr, [&]() -> void * {
        return new svc::media_handle(std::make_shared<svc::media>(&need<llama_model>(model, "model"), path, params, n));
    });
}

int32_t svc_media_memory(const char * path, const int32_t * params, int32_t n_params, int32_t n, int64_t * memory) {
    return guard<int32_t>(-1, [&]() -> int32_t {
        if (path == nullptr) throw std::invalid_argument("no path was given");
        const mtmd_context_params p = svc::projector_params(params, n_params);
        svc::take_log_error();
        const auto usage = mtmd_get_memory_usage(path, p);
        if (usage.empty()) {
            const std::string reason = svc::take_log_error();
            throw std::runtime_error(reason.empty() ? "the projector file could not be read" : reason);
        }
        const int32_t count = ggml_backend_dev_count();
        for (int32_t i = 0; i < std::min(n, count); i++) {
            const auto found = usage.find(ggml_backend_dev_get(i));
            memory[i] = found == usage.end() ? 0 : found->second;
        }
        return count;
    });
}

void svc_media_free(void * media) {
    guard<int32_t>(-1, [&] {
        delete &need<svc::media_handle>(media, "projector");
        return 0;
    });
}

int32_t svc_media_abilities(void * handle) {
    return guard<int32_t>(-1, [&] {
        const mtmd_context * ctx = need<svc::media_handle>(handle, "projector")->context();
        return (mtmd_support_vision(ctx) ? 1 : 0) | (mtmd_support_audio(ctx) ? 2 : 0);
    });
}

int32_t svc_render_media(void * rendered, int32_t * out, int32_t capacity) {
    return guard<int32_t>(0, [&]() -> int32_t {
        const auto prompt = svc::render_media(rendered);
        if (prompt == nullptr) return 0;
        const int32_t n = (int32_t) prompt->chunks.size();
        if (n * 6 > capacity) return -n;
        for (const auto & chunk : prompt->chunks) {
            for (const int32_t value : {chunk.at, chunk.tokens, chunk.positions, chunk.item, chunk.part, chunk.whole ? 1 : 0}) {
                *out++ = value;
            }
        }
        return n;
    });
}
