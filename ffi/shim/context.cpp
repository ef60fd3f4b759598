// The KV cache and the forward pass.

#include "draft.h"
#include "guard.h"
#include "model.h"
#include "svc_llama.h"

#include <algorithm>
#include <memory>

using svc::guard;
using svc::need;

namespace {

llama_memory_t memory(svc::context & c) { return llama_get_memory(c.ctx); }

llama_state_seq_flags part_flags(int32_t part) { return part == 1 ? LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY : LLAMA_STATE_SEQ_FLAGS_NONE; }

void count_pass(svc::context & c, int32_t n, const int8_t * output) {
    const auto rows = n - std::count(output, output + n, 0);
    c.traffic.passes++;
    c.traffic.rows += rows;
    if (c.on_device != nullptr || rows == 0) return;
    c.traffic.bytes += rows * llama_vocab_n_tokens(llama_model_get_vocab(c.model)) * sizeof(float);
    c.traffic.waits++;
    c.traffic.whole_rows += rows;
}

int32_t decode_rows(svc::context & c, const svc::row_columns & rows) {
    for (int32_t i = 0; i < rows.n; i++) c.seq_id[i] = const_cast<llama_seq_id *>(rows.sequence) + i;
    llama_batch batch = {};
    batch.n_tokens = rows.n;
    batch.token = const_cast<llama_token *>(rows.token);
    batch.pos = const_cast<llama_pos *>(rows.position);
    batch.n_seq_id = c.n_seq_id.data();
    batch.seq_id = c.seq_id.data();
    batch.logits = const_cast<int8_t *>(rows.output);
    const int32_t result = llama_decode(c.ctx, batch);
    if (c.on_device != nullptr) svc::begin_pass(*c.on_device, result == 0 ? rows.n : 0, rows.output);
    if (result == 0 && c.drafter != nullptr) {
        if (c.on_device != nullptr) svc::wait_for_pass(*c.on_device);
        svc::draft_compute(*c.drafter, c.ctx, batch);
    }
    return result;
}

bool is_truncatable(const svc::context & c) { return !llama_model_is_recurrent(c.model) && !llama_model_is_hybrid(c.model); }

// Whether passes may have fillers, whose cells are taken out again: no rows are to be collected, no window is to move, one part has all sequences.
bool may_arrange(const svc::context & c) {
    return c.on_device != nullptr && c.drafter == nullptr && !svc::nodes_are_watched(c) && llama_model_n_swa(c.model) == 0 &&
        is_truncatable(c) && c.params.kv_unified;
}

// A filler costs little of a pass that reads all weights anyway, but llama.cpp looks at all cells to remove its own: a tenth of a millisecond
// for the most of them, where a new graph takes one or two milliseconds once.
size_t most_fillers(const svc::context & c, int32_t rows) {
    constexpr size_t CELLS_MAX = 1 << 20;
    return std::min<size_t>(rows / 2, CELLS_MAX / llama_n_ctx(c.ctx));
}

int32_t decode_arranged(svc::context & c, const svc::row_columns & given) {
    if (!c.layout.arrange(given, memory(c), most_fillers(c, given.n))) return decode_rows(c, given);
    int32_t result = decode_rows(c, c.layout.columns());
    if (result == 0) c.layout.drop_fillers(memory(c));
    if (result == 1 && c.layout.has_fillers()) {  // no room for fillers
        c.layout.arrange(given, memory(c), 0);
        result = decode_rows(c, c.layout.columns());
    }
    return result;
}

}  // namespace

llama_context_params svc::context_params(const int32_t * params, int32_t n) {
    llama_context_params p = llama_context_default_params();
    p.n_ctx = column(params, n, 0, 0);
    p.n_batch = column(params, n, 1, 2048);
    p.n_ubatch = column(params, n, 2, 512);
    p.n_seq_max = column(params, n, 3, 1);
    p.n_threads = column(params, n, 4, 1);
    p.n_threads_batch = column(params, n, 5, 1);
    p.type_k = (ggml_type) column(params, n, 6, GGML_TYPE_F16);
    p.type_v = (ggml_type) column(params, n, 7, GGML_TYPE_F16);
    p.embeddings = column(params, n, 8, 0) != 0;
    p.pooling_type = (enum llama_pooling_type) column(params, n, 9, LLAMA_POOLING_TYPE_UNSPECIFIED);
    p.kv_unified = column(params, n, 10, 1) != 0;
    p.flash_attn_type = (llama_flash_attn_type) column(params, n, 11, LLAMA_FLASH_ATTN_TYPE_AUTO);
    p.offload_kqv = column(params, n, 12, 1) != 0;
    p.swa_full = column(params, n, 13, 0) != 0;
    p.n_rs_seq = column(params, n, 14, 0);
    p.no_perf = true;
    return p;
}

float * svc::row_logits(context & c, int32_t row) {
    return c.on_device == nullptr ? llama_get_logits_ith(c.ctx, row) : whole_row(*c.on_device, row);
}

void * svc_context_new(void * model, const int32_t * params, int32_t n) {
    return guard<void *>(nullptr, [&]() -> void * {
        auto c = std::make_unique<svc::context>();
        c->model = &need<llama_model>(model, "model");
        llama_context_params p = svc::context_params(params, n);
        c->n_threads = p.n_threads;
        c->stats.reset(svc::new_calibration(p));
        c->params = p;
        svc::take_log_error();
        c->on_device = svc::list_rows(c->model, p);
        c->ctx = llama_init_from_model(c->model, p);
        if (c->ctx == nullptr) {
            const std::string reason = svc::take_log_error();
            const std::string detail = reason.empty() ? "" : " (" + reason + ")";
            throw std::runtime_error("the context could not be created: too little memory, or settings that do not fit the model" + detail);
        }
        if (c->on_device != nullptr && !svc::rows_are_listed(*c->on_device, c->ctx, c->traffic)) c->on_device.reset();
        // An encoder alone sees its whole input; llama_decode would let a token see those before it only.
        if (llama_model_has_encoder(c->model) && !llama_model_has_decoder(c->model)) llama_set_causal_attn(c->ctx, false);
        const uint32_t n_batch = llama_n_batch(c->ctx);
        c->n_seq_id.assign(n_batch, 1);
        c->seq_id.assign(n_batch, nullptr);
        return c.release();
    });
}

void svc_context_free(void * context) {
    guard<int32_t>(-1, [&] {
        std::unique_ptr<svc::context> c(&need<svc::context>(context, "context"));
        c->drafter.reset();
        llama_free(c->ctx);
        return 0;
    });
}

int32_t svc_context_get(void * context, int32_t which) {
    return guard<int32_t>(-1, [&]() -> int32_t {
        svc::context & c = need<svc::context>(context, "context");
        switch (which) {
            case 0: return llama_n_ctx(c.ctx);
            case 1: return llama_n_batch(c.ctx);
            case 2: return llama_n_ubatch(c.ctx);
            case 3: return llama_n_seq_max(c.ctx);
            case 4: return llama_n_ctx_seq(c.ctx);
            case 5: return is_truncatable(c);
            case 6: return memory(c) != nullptr;
            case 7: return c.on_device != nullptr && c.drafter == nullptr;
            default: throw std::invalid_argument("unknown context property");
        }
    });
}

void svc_context_threads(void * context, int32_t n_threads, int32_t n_threads_batch) {
    guard<int32_t>(-1, [&] {
        svc::context & c = need<svc::context>(context, "context");
        c.n_threads = n_threads;
        llama_set_n_threads(c.ctx, n_threads, n_threads_batch);
        if (c.drafter != nullptr) svc::draft_threads(*c.drafter, n_threads, n_threads_batch);
        return 0;
    });
}

int32_t svc_decode(void * context, int32_t n, const int32_t * token, const int32_t * position, const int32_t * sequence,
    const int8_t * output) {
    return guard<int32_t>(-2, [&]() -> int32_t {
        svc::context & c = need<svc::context>(context, "context");
        if (n < 1 || (size_t) n > c.seq_id.size()) throw std::invalid_argument("the batch is empty or larger than n_batch");
        const svc::row_columns given = {n, token, position, sequence, output};
        const int32_t result = may_arrange(c) ? decode_arranged(c, given) : decode_rows(c, given);
        if (result == 0) count_pass(c, n, output);
        return result;
    });
}

int32_t svc_sequence_remove(void * context, int32_t sequence, int32_t from, int32_t to) {
    return guard<int32_t>(-1, [&]() -> int32_t {
        svc::context & c = need<svc::context>(context, "context");
        if (!llama_memory_seq_rm(memory(c), sequence, from, to)) return 0;
        if (c.drafter != nullptr) svc::draft_remove(*c.drafter, sequence, from, to);
        return 1;
    });
}

int32_t svc_sequence_copy(void * context, int32_t source, int32_t target, int32_t from, int32_t to) {
    return guard<int32_t>(-1, [&] {
        svc::context & c = need<svc::context>(context, "context");
        llama_memory_seq_cp(memory(c), source, target, from, to);
        if (c.drafter != nullptr) svc::draft_copy(*c.drafter, source, target, from, to);
        return 0;
    });
}

int32_t svc_sequence_end(void * context, int32_t sequence) {
    return guard<int32_t>(-1, [&] {
        return llama_memory_seq_pos_max(memory(need<svc::context>(context, "context")), sequence);
    });
}

int32_t svc_memory_clear(void * context) {
    return guard<int32_t>(-1, [&] {
        svc::context & c = need<svc::context>(context, "context");
        llama_memory_clear(memory(c), false);
        if (c.drafter != nullptr) svc::draft_clear(*c.drafter);
        return 0;
    });
}

int64_t svc_state_size(void * context, int32_t sequence, int32_t part) {
    return guard<int64_t>(-1, [&]() -> int64_t {
        svc::context & c = need<svc::context>(context, "context");
        const size_t n = llama_state_seq_get_size_ext(c.ctx, sequence, part_flags(part));
        return n + (part == 0 && c.drafter != nullptr ? svc::draft_state_size(*c.drafter, sequence) : 0);
    });
}

int64_t svc_state_get(void * context, int32_t sequence, int32_t part, uint8_t * out, int64_t capacity) {
    return guard<int64_t>(-1, [&]() -> int64_t {
        svc::context & c = need<svc::context>(context, "context");
        const size_t n = llama_state_seq_get_data_ext(c.ctx, out, capacity, sequence, part_flags(part));
        if (n == 0) throw std::runtime_error("the sequence could not be saved");
        return n + (part == 0 && c.drafter != nullptr ? svc::draft_state_get(*c.drafter, sequence, out + n, capacity - n) : 0);
    });
}

int64_t svc_state_set(void * context, int32_t sequence, int32_t part, const uint8_t * data, int64_t size) {
    return guard<int64_t>(-1, [&]() -> int64_t {
        svc::context & c = need<svc::context>(context, "context");
        const size_t n = llama_state_seq_set_data_ext(c.ctx, data, size, sequence, part_flags(part));
        if (n == 0) {
            llama_memory_seq_rm(memory(c), sequence, -1, -1);
            if (c.drafter != nullptr) svc::draft_remove(*c.drafter, sequence, -1, -1);
            throw std::runtime_error("the saved sequence does not fit this context");
        }
        if (part == 0 && c.drafter != nullptr) svc::draft_state_set(*c.drafter, sequence, data + n, size - n);
        return n;
    });
}

void svc_context_traffic(void * context, int64_t * out) {
    guard<int32_t>(-1, [&] {
        const svc::context & c = need<svc::context>(context, "context");
        const svc::row_traffic & t = c.traffic;
        const int64_t values[] = {t.passes, t.rows, t.bytes, t.waits, t.whole_rows, llama_perf_context(c.ctx).n_reused};
        std::copy(std::begin(values), std::end(values), out);
        return 0;
    });
}

const float * svc_logits(void * context, int32_t i) {
    return guard<const float *>(nullptr, [&]() -> const float * {
        return svc::row_logits(need<svc::context>(context, "context"), i);
    });
}

int32_t svc_embeddings_add(void * context, int32_t n, const int32_t * row, float * sum) {
    return guard<int32_t>(-1, [&] {
        svc::context & c = need<svc::context>(context, "context");
        const int32_t n_embd = llama_model_n_embd_out(c.model);
        for (int32_t i = 0; i < n; i++) {
            const float * embedding = llama_get_embeddings_ith(c.ctx, row[i]);
            if (embedding == nullptr) throw std::invalid_argument("the row has no embedding");
            for (int32_t j = 0; j < n_embd; j++) sum[j] += embedding[j];
        }
        return 0;
    });
}

int32_t svc_sequence_score(void * context, int32_t sequence, float * score) {
    return guard<int32_t>(-1, [&] {
        const float * scores = llama_get_embeddings_seq(need<svc::context>(context, "context").ctx, sequence);
        if (scores == nullptr) throw std::invalid_argument("the sequence has no score");
        *score = scores[0];
        return 0;
    });
}
