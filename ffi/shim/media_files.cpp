// Decodes untrusted image and audio files to pixels and samples. Checks the claims of a format's header before it uses them, and
// unpacks nothing beyond the limits.

#include "media.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace {

// The largest single block that unpacking an image may ask for; set for each.
thread_local size_t block_max = 0;

void * bounded_malloc(size_t size) { return size > block_max ? nullptr : malloc(size); }
void * bounded_realloc(void * block, size_t size) { return size > block_max ? nullptr : realloc(block, size); }

}  // namespace

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_GIF
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_MALLOC(size) bounded_malloc(size)
#define STBI_REALLOC(block, size) bounded_realloc(block, size)
#define STBI_FREE(block) free(block)
#include "stb/stb_image.h"

#define MINIAUDIO_IMPLEMENTATION
#define MA_API static
#define MA_NO_DEVICE_IO
#define MA_NO_ENCODING
#define MA_NO_RESOURCE_MANAGER
#define MA_NO_NODE_GRAPH
#define MA_NO_ENGINE
#define MA_NO_GENERATION
#include "miniaudio/miniaudio.h"

namespace {

// Beyond this an encoder that keeps the proportions has no pixel left for the short side.
constexpr int ASPECT_MAX = 100;
// Progressive images have about ten.
constexpr int JPEG_SCANS_MAX = 100;
// An encoder's window must be filled; a shorter audio clip gets silence at its end.
constexpr double RECORDING_SECONDS_MIN = 0.1;

using bytes = std::vector<uint8_t>;

bool begins(const bytes & file, const char * magic, size_t length) {
    return file.size() >= length && memcmp(file.data(), magic, length) == 0;
}

bool is_jpeg(const bytes & file) { return begins(file, "\xff\xd8\xff", 3); }
bool is_png(const bytes & file) { return begins(file, "\x89PNG\r\n\x1a\n", 8); }
bool is_gif(const bytes & file) { return begins(file, "GIF8", 4); }
bool is_bmp(const bytes & file) { return begins(file, "BM", 2) && file.size() > 30; }

bool is_audio(const bytes & file) {
    const bool wav = begins(file, "RIFF", 4) && file.size() > 12 && memcmp(file.data() + 8, "WAVE", 4) == 0;
    const bool mp3 = begins(file, "ID3", 3) || (file.size() > 2 && file[0] == 0xff && (file[1] & 0xe0) == 0xe0);
    return wav || mp3 || begins(file, "fLaC", 4);
}

uint32_t little_endian(const bytes & file, size_t at, size_t length) {
    uint32_t value = 0;
    for (size_t i = 0; i < length; i++) value |= (uint32_t) file[at + i] << (8 * i);
    return value;
}

uint32_t big_endian(const bytes & file, size_t at) {
    return (uint32_t) file[at] << 24 | (uint32_t) file[at + 1] << 16 | (uint32_t) file[at + 2] << 8 | file[at + 3];
}

// Whether a JPEG's image data is complete: stb_image decodes truncated data without an error. Throws for a number of scans
// that only an attack would have: each scan is a pass over the whole image.
bool jpeg_ends(const bytes & file) {
    size_t at = 2;
    while (at + 4 <= file.size() && file[at] == 0xff) {  // segments before the first scan; thumbnails lie within one
        if (file[at + 1] == 0xff) {
            at++;
            continue;
        }
        const size_t length = (size_t) file[at + 2] << 8 | file[at + 3];
        if (file[at + 1] == 0xda) break;
        at += 2 + length;
    }
    int scans = 0;
    bool ends = false;
    for (size_t i = at + 1; i < file.size() && !ends; i++) {
        if (file[i - 1] != 0xff) continue;
        if (file[i] == 0xda && ++scans > JPEG_SCANS_MAX) throw std::invalid_argument("it has too many scans");
        ends = file[i] == 0xd9;
    }
    return ends;
}

bool gif_ends(const bytes & file) {
    const auto last = std::find_if(file.rbegin(), file.rend(), [](uint8_t byte) { return byte != 0; });
    return last != file.rend() && *last == 0x3b;
}

// Uncompressed, so that its size follows from its head.
bool bmp_ends(const bytes & file, int width, int height) {
    const size_t bits = little_endian(file, 28, 2);
    const size_t row = (width * bits + 31) / 32 * 4;
    return little_endian(file, 10, 4) + row * height <= file.size();
}

void check_size(int64_t width, int64_t height, const svc::media_limits & limits) {
    const std::string size = std::to_string(width) + " x " + std::to_string(height) + " pixels";
    if (width < 1 || height < 1) throw std::invalid_argument("it has no pixels");
    if (width * height > limits.pixels_max) {
        throw std::invalid_argument("it has " + size + ", and " + std::to_string(limits.pixels_max / 1000000) + " million are allowed");
    }
    if (width > height * ASPECT_MAX || height > width * ASPECT_MAX) {
        throw std::invalid_argument("it has " + size + ": one side is more than " + std::to_string(ASPECT_MAX) + " times the other");
    }
}

struct pixels_deleter {
    void operator()(stbi_uc * pixels) const { stbi_image_free(pixels); }
};

class decoder {
  public:
    decoder(const bytes & file, int32_t rate) {
        const ma_decoder_config config = ma_decoder_config_init(ma_format_f32, 1, rate);
        if (!is_audio(file) || ma_decoder_init_memory(file.data(), file.size(), &config, &state) != MA_SUCCESS) {
            throw std::invalid_argument("the file is not a WAV, MP3 or FLAC file that can be read");
        }
    }
    decoder(const decoder &) = delete;
    ~decoder() { ma_decoder_uninit(&state); }

    // Samples read into out; 0 at the end.
    size_t read(float * out, size_t n) {
        ma_uint64 done = 0;
        const ma_result result = ma_decoder_read_pcm_frames(&state, out, n, &done);
        return result == MA_SUCCESS || result == MA_AT_END ? done : 0;
    }

  private:
    ma_decoder state;
};

}  // namespace

mtmd::bitmap_ptr svc::decode_image(const bytes & file, const media_limits & limits) {
    if (!is_jpeg(file) && !is_png(file) && !is_gif(file) && !is_bmp(file)) {
        throw std::invalid_argument("the file is not a PNG, JPEG, GIF or BMP image");
    }
    if (is_png(file) && file.size() >= 24) check_size(big_endian(file, 16), big_endian(file, 20), limits);  // any size fits there
    int width = 0, height = 0, channels = 0;
    const size_t file_max = file.size() * 2 + (1 << 20);  // compressed parts are put together
    block_max = file_max;
    if (stbi_info_from_memory(file.data(), file.size(), &width, &height, &channels) == 0) {
        throw std::invalid_argument("the image cannot be read: its head is damaged");
    }
    check_size(width, height, limits);
    block_max = std::max(file_max, (size_t) width * height * 8 + (1 << 20));  // four channels of 16 bits
    const bool whole = is_jpeg(file) ? jpeg_ends(file) : is_gif(file) ? gif_ends(file)
                                                                      : !is_bmp(file) || bmp_ends(file, width, height);
    if (!whole) throw std::invalid_argument("the image cannot be read: the file ends too early");
    const std::unique_ptr<stbi_uc, pixels_deleter> pixels(
        stbi_load_from_memory(file.data(), file.size(), &width, &height, &channels, 3));
    if (pixels == nullptr) throw std::invalid_argument(std::string("the image cannot be read: ") + stbi_failure_reason());
    check_size(width, height, limits);
    mtmd::bitmap_ptr bitmap(mtmd_bitmap_init(width, height, pixels.get()));
    if (bitmap == nullptr) throw std::bad_alloc();
    return bitmap;
}

mtmd::bitmap_ptr svc::decode_audio(const bytes & file, int32_t rate, const media_limits & limits) {
    decoder in(file, rate);
    const size_t most = (size_t) limits.seconds_max * rate;
    const size_t step = rate;
    std::vector<float> samples;
    for (;;) {
        const size_t before = samples.size();
        samples.resize(before + step);
        const size_t n = in.read(samples.data() + before, step);
        samples.resize(before + n);
        if (n == 0) break;
        if (samples.size() > most) {
            throw std::invalid_argument("it is longer than the " + std::to_string(limits.seconds_max) + " seconds that are allowed");
        }
    }
    if (samples.empty()) throw std::invalid_argument("the audio clip is empty");
    for (float & sample : samples) sample = std::isfinite(sample) ? std::clamp(sample, -1.0f, 1.0f) : 0.0f;
    samples.resize(std::max(samples.size(), (size_t) (RECORDING_SECONDS_MIN * rate)));
    mtmd::bitmap_ptr bitmap(mtmd_bitmap_init_from_audio(samples.size(), samples.data()));
    if (bitmap == nullptr) throw std::bad_alloc();
    return bitmap;
}
