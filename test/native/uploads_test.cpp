// Property test of ffi/kernels/uploads.h: with a device whose copies happen at the latest moment, passes give the logits that they give with
// upstream's copies, and a step waits once.
//
//   uploads_test LIBRARIES MODEL    prints the logits' hashes, for a comparison of SVC_UPLOADS=all and =off

#include "late_device.h"

#include "llama.h"

#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

namespace {

constexpr int STREAMS = 8, UBATCH = 48;
std::mt19937 generator(1);
llama_context * ctx;
int32_t n_vocab;

struct rows {
    llama_batch batch = llama_batch_init(512, 0, 1);
    ~rows() { llama_batch_free(batch); }

    void add(llama_seq_id sequence, llama_pos position, bool has_output) {
        const int i = batch.n_tokens++;
        batch.token[i] = (int32_t) (generator() % 1000) + 3;
        batch.pos[i] = position;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = sequence;
        batch.logits[i] = has_output;
    }

    void begin() const {
        if (llama_decode(ctx, batch) != 0) abort();
    }

    void print(const char * what) const {
        uint64_t hash = 14695981039346656037ull;
        for (int i = 0; i < batch.n_tokens; i++) {
            if (batch.logits[i] == 0) continue;
            const auto * bytes = (const unsigned char *) llama_get_logits_ith(ctx, i);
            for (size_t j = 0; j < n_vocab * sizeof(float); j++) hash = (hash ^ bytes[j]) * 1099511628211ull;
        }
        printf("%s: %016llx\n", what, (unsigned long long) hash);
    }
};

llama_pos end_of(int stream) { return llama_memory_seq_pos_max(llama_get_memory(ctx), stream) + 1; }

// A row of each stream; waits for it unless it is to go on.
void step(const char * what, bool waits) {
    rows r;
    for (int s = 0; s < STREAMS; s++) r.add(s, end_of(s), true);
    r.begin();
    if (waits) r.print(what);
}

void prompt(int stream, int n) {
    rows r;
    for (int i = 0, first = end_of(stream); i < n; i++) r.add(stream, first + i, false);
    r.begin();
}

// Passes of all kinds; how often 8 equal steps waited. `is_whole`: else attention is computed on the CPU, between parts on the device.
int64_t passes(llama_model * model, bool is_whole) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 2048;
    params.n_batch = 512;
    params.n_ubatch = UBATCH;
    params.n_seq_max = STREAMS;
    params.kv_unified = true;
    params.offload_kqv = is_whole;
    params.n_threads = params.n_threads_batch = 1;
    ctx = llama_init_from_model(model, params);
    n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    llama_memory_t memory = llama_get_memory(ctx);

    for (int s = 0; s < STREAMS; s++) prompt(s, 5 + 17 * s);  // micro-batches behind each other
    for (int i = 0; i < 8; i++) step("steps", true);
    const int64_t before = late::n_waits;
    for (int i = 0; i < 8; i++) step("steps with one graph", true);
    const int64_t waits = late::n_waits - before;
    for (int i = 0; i < 3; i++) step("", false);
    step("after steps that were not waited for", true);
    prompt(2, 200);
    llama_memory_seq_rm(memory, 3, 10, 20);
    llama_memory_seq_add(memory, 3, 20, -1, -10);
    step("after a shift behind a prompt", true);
    step("", false);
    std::vector<uint8_t> state(llama_state_seq_get_size(ctx, 4));
    state.resize(llama_state_seq_get_data(ctx, state.data(), state.size(), 4));
    step("", false);
    llama_memory_seq_rm(memory, 4, -1, -1);
    if (llama_state_seq_set_data(ctx, state.data(), state.size(), 4) != state.size()) abort();
    step("after a state", true);
    step("", false);
    llama_free(ctx);  // with a pass under way
    return waits;
}

}  // namespace

int main(int argc, char ** argv) {
    if (argc < 3) return 2;
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    ggml_backend_load_all_from_path(argv[1]);
    late::cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr);
    ggml_backend_register(&late::reg);
    llama_model_params of_model = llama_model_default_params();
    of_model.n_gpu_layers = 99;
    llama_model * model = llama_model_load_from_file(argv[2], of_model);
    const int64_t waits = passes(model, true);
    passes(model, false);
    llama_model_free(model);
    const char * uploads = getenv("SVC_UPLOADS");
    if (uploads != nullptr && strcmp(uploads, "all") == 0 && waits != 8) {
        fprintf(stderr, "8 steps waited %d times\n", (int) waits);
        return 1;
    }
    return 0;
}
