// Images and audio clips in prompts: declarations shared by the files of the shim.
#pragma once

#include "text_marks.h"
#include "worker.h"

#include "mtmd.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace svc {

// What a file may be at most; checked before its content is unpacked wherever its format tells.
struct media_limits {
    int64_t pixels_max;
    int64_t seconds_max;
};

// An image's or audio clip's file, as a request brought it.
struct media_item {
    std::string key;  // equal for equal content
    bool audio = false;
    std::vector<uint8_t> bytes;
};

// Pixels of a PNG, JPEG, GIF or BMP file. Throws what is wrong with the file.
mtmd::bitmap_ptr decode_image(const std::vector<uint8_t> & file, const media_limits & limits);
// Samples of a WAV, MP3 or FLAC file at this rate. Throws what is wrong with the file.
mtmd::bitmap_ptr decode_audio(const std::vector<uint8_t> & file, int32_t rate, const media_limits & limits);

// A run of a prompt's tokens that stands for (a part of) an image or audio clip.
struct media_chunk {
    int32_t at = 0;  // first token
    int32_t tokens = 0;
    int32_t positions = 0;  // fewer than tokens where a token has several
    int32_t item = 0;
    int32_t part = 0;  // a large image may be several chunks
    bool whole = false;  // its tokens see each other, so they must be computed at once
    mtmd::input_chunk_ptr shape;  // without content
    mtmd::input_chunk_ptr data;  // input of the encoder; null: read the file again. Used by the encoder only.
};

class media;

// What a prompt with media is made of.
struct media_prompt {
    media_prompt(std::shared_ptr<media> owner) : owner(std::move(owner)) {}
    media_prompt(const media_prompt &) = delete;
    ~media_prompt();

    const std::shared_ptr<media> owner;
    int64_t held = 0;  // pixels and samples that wait for the encoder
    std::string marker;  // where item i belongs the text has marker + "x" + i + "x"
    marked_text prompt;
    std::vector<uint8_t> content;  // see content_tokens
    std::vector<media_item> items;
    std::vector<media_chunk> chunks;
};

// The library's parameters, from the columns of svc_media_open.
mtmd_context_params projector_params(const int32_t * params, int32_t n_params);

// A projector file that is open for a model.
class media : public std::enable_shared_from_this<media> {
  public:
    media(const llama_model * model, const char * path, const int32_t * params, int32_t n_params);

    mtmd_context * context() const { return ctx.get(); }
    int32_t n_embd() const { return embd; }

    // Tokenizes a prompt's text and finds out how many tokens each of its items takes. Throws what is wrong with an item.
    std::vector<llama_token> lay_out(media_prompt & prompt);
    // The embeddings of a chunk, [tokens][n_embd]. Only the encoder's thread may call it.
    std::vector<float> encode(media_prompt & prompt, int32_t chunk);

    // Whether this number of pixels or samples may wait for the encoder; if not, their file is read again then. Otherwise they count
    // until the prompt has gone.
    bool hold(media_prompt & prompt, int64_t count);
    void let_go(int64_t count) { held -= count; }

    worker renderer;  // renders prompts with media and takes their files apart
    worker encoder;

  private:
    // What is known of an item that was seen before. An image's size tells how it is tokenized; for an audio clip that costs
    // time, so the result is kept.
    struct known_item {
        uint32_t width = 0, height = 0;
        std::vector<std::shared_ptr<mtmd_input_chunk>> audio;  // without content
    };
    struct piece;  // of a prompt's text, or the place of an item
    struct placed;  // tokens or a media chunk, and whose it is

    const llama_vocab * vocab;
    const llama_token place;  // stands for a text of a prompt
    mtmd::context_ptr ctx;
    int32_t embd;
    media_limits limits;
    int32_t whole_max;
    std::atomic<int64_t> held{0};
    std::mutex mutex;
    std::map<std::string, known_item> known;

    std::optional<known_item> find(const media_item & item);
    void remember(const media_item & item, known_item && what);
    mtmd::bitmap_ptr image_bitmap(media_prompt & prompt, int32_t index, bool content);
    std::vector<placed> audio_chunks(media_prompt & prompt, int32_t index, bool content);
    std::vector<placed> tokenize(const std::vector<piece> & pieces) const;
    std::vector<placed> place_all(media_prompt & prompt, int32_t content_of);
};

}  // namespace svc
