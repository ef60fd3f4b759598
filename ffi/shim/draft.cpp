// Draft tokens by a draft model or a head that predicts several tokens, through llama.cpp's common library, which feeds each kind
// of head. Adapts it to a scheduler that is not llama.cpp's own.

#include "draft.h"
#include "draft_pair.h"
#include "draw.h"
#include "guard.h"
#include "svc_llama.h"

#include "common.h"
#include "draft_choice.h"
#include "llama-cpp.h"
#include "../src/llama-ext.h"  // llama_get_ctx_other
#include "speculative.h"

#include <algorithm>
#include <chrono>
#include <utility>

using svc::guard;
using svc::need;

namespace {

// Least probability of a draft token among the ten best: below it, more draft tokens are wrong than
// right.
constexpr float SHARE_MIN = 0.4f;

const llama_tokens NO_PROMPT;  // the library wants one, and its draft models do not read it

// How many rejected draft tokens can be removed from a sequence, up to n_max.
int32_t cuttable(llama_context * ctx, int32_t n_max) {
    switch (common_context_can_seq_rm(ctx)) {
        case COMMON_CONTEXT_SEQ_RM_TYPE_PART: return n_max;
        case COMMON_CONTEXT_SEQ_RM_TYPE_RS: return std::min<int32_t>(n_max, llama_n_rs_seq(ctx));
        default: throw std::invalid_argument("the memory of this model cannot remove tokens, so speculative decoding is impossible");
    }
}

}  // namespace

namespace svc {

// Samples a draft token as the sampler of the answer will sample its token.
struct foresight {
    drawer own;
    int32_t n_vocab = 0;  // of the draft model
    bool is_drawn = false;  // in the present draft

    // Whether there is anything to draw: else the likeliest token follows.
    bool follow(const drawer & other) {
        own.follow(other);
        return own.temperature > 0 && own.top_k != 1;
    }

    llama_token draw(const float * logits) { return logits == nullptr ? -1 : own.draw(logits, n_vocab); }
};

// Draws the tokens of the present draft.
struct drawn_tokens : draft_chooser {
    explicit drawn_tokens(std::vector<foresight> & foresights) : foresights(foresights) {}

    bool choose(llama_seq_id sequence, llama_context * ctx, int32_t row, llama_token & token) override {
        foresight & f = foresights[sequence];
        if (f.is_drawn) token = f.draw(llama_get_logits_ith(ctx, row));
        return f.is_drawn;
    }

    std::vector<foresight> & foresights;  // [n_seq_max]
};

// Adds the time until its end to a sum.
struct stopwatch {
    explicit stopwatch(float & ms) : ms(ms) {}
    ~stopwatch() { ms += std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin).count(); }

    float & ms;
    const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

struct draft {
    llama_context_ptr ctx;
    common_speculative_ptr spec;
    std::vector<llama_tokens> results;  // [n_seq_max]
    std::vector<foresight> foresights;  // [n_seq_max]
    int32_t n_vocab = 0;  // of the model that checks
    draft_kind kind = draft_kind::plain;
    // [n_seq_max] of a drafter whose cell of a row waits for the token after it: position of the last pass's first row, and the one due next
    std::vector<llama_pos> first, due;
    bool follows = true;
    float ms = 0;  // spent on rows of the model since this was last asked for

    llama_memory_t memory() const { return llama_get_memory(ctx.get()); }
    // Some heads read the cells of their model and have none. Block drafters have cells, and may read its embeddings.
    bool has_cells() const { return is_block(kind) || llama_get_ctx_other(ctx.get()) == nullptr; }

    // Whether its cells reach to the row at `pos`, so that it can go on there.
    bool reaches(llama_seq_id sequence, llama_pos pos) const {
        const llama_pos last = llama_memory_seq_pos_max(memory(), sequence);
        if (kind != draft_kind::eagle3) return last == pos - 1;
        return due[sequence] == pos ? last <= pos - 1 : last == pos - 1;
    }
};

void free_draft(draft * d) { delete d; }

void draft_remove(draft & d, llama_seq_id sequence, llama_pos from, llama_pos to) {
    if (from < d.due[sequence]) d.due[sequence] = -1;
    if (!llama_memory_seq_rm(d.memory(), sequence, from, to)) llama_memory_seq_rm(d.memory(), sequence, -1, -1);
}

void draft_copy(draft & d, llama_seq_id source, llama_seq_id target, llama_pos from, llama_pos to) {
    llama_memory_seq_cp(d.memory(), source, target, from, to);
    d.due[target] = -1;
}

size_t draft_state_size(draft & d, llama_seq_id sequence) {
    return d.has_cells() ? llama_state_seq_get_size(d.ctx.get(), sequence) : 0;
}

size_t draft_state_get(draft & d, llama_seq_id sequence, uint8_t * out, size_t capacity) {
    return d.has_cells() ? llama_state_seq_get_data(d.ctx.get(), out, capacity, sequence) : 0;
}

void draft_state_set(draft & d, llama_seq_id sequence, const uint8_t * data, size_t size) {
    if (!d.has_cells() || size == 0) return;
    if (llama_state_seq_set_data(d.ctx.get(), data, size, sequence) == 0) draft_remove(d, sequence, -1, -1);
}

const llama_context * draft_context_of(const context & c) { return c.drafter == nullptr ? nullptr : c.drafter->ctx.get(); }

llama_context_params draft_params(llama_context_params of_model, bool is_head, int32_t n_max) {
    llama_context_params p = of_model;
    // Several heads read all draft tokens; a block of them is computed in one piece.
    p.n_batch = std::max<uint32_t>(p.n_batch, p.n_seq_max * (n_max + 1));
    p.n_ubatch = std::max<uint32_t>(p.n_ubatch, p.n_seq_max * (n_max + 1));
    p.n_outputs_max = p.n_seq_max;
    p.n_rs_seq = 0;
    p.ctx_type = is_head ? LLAMA_CONTEXT_TYPE_MTP : LLAMA_CONTEXT_TYPE_DEFAULT;
    p.cb_eval = nullptr;  // statistics are those of the model itself
    p.cb_eval_user_data = nullptr;
    p.samplers = nullptr;
    p.n_samplers = 0;
    return p;
}

void draft_clear(draft & d) {
    llama_memory_clear(d.memory(), false);
    std::fill(d.due.begin(), d.due.end(), -1);
}

void draft_threads(draft & d, int32_t n_threads, int32_t n_threads_batch) {
    llama_set_n_threads(d.ctx.get(), n_threads, n_threads_batch);
}

void draft_compute(draft & d, llama_context * of_model, const llama_batch & batch) {
    if (!d.follows) return;
    if (d.kind != draft_kind::plain) llama_synchronize(of_model);  // it reads what the model computes: not its own time
    const stopwatch watch(d.ms);
    for (int32_t i = 0; i < batch.n_tokens; i++) {
        const llama_seq_id sequence = batch.seq_id[i][0];
        if (i > 0 && batch.seq_id[i - 1][0] == sequence) continue;
        // After an image, a failure or a pause: an empty sequence may begin at any position.
        if (!d.reaches(sequence, batch.pos[i])) draft_remove(d, sequence, -1, -1);
    }
    bool done = false;
    try {
        done = common_speculative_process(d.spec.get(), batch);
    } catch (const std::exception &) {
        // the same as a failure that it reports
    }
    for (int32_t i = 0; i < batch.n_tokens; i++) {
        const llama_seq_id sequence = batch.seq_id[i][0];
        if (!done) draft_remove(d, sequence, -1, -1);
        if (i == 0 || batch.seq_id[i - 1][0] != sequence) d.first[sequence] = batch.pos[i];
        d.due[sequence] = done ? batch.pos[i] + 1 : -1;
    }
}

}  // namespace svc

namespace {

svc::draft & draft_of(void * context) {
    svc::context & c = need<svc::context>(context, "context");
    if (c.drafter == nullptr) throw std::invalid_argument("the context has no draft model");
    return *c.drafter;
}

llama_context_ptr draft_context(const svc::context & c, llama_model * model, svc::draft_kind kind, int32_t n_max) {
    llama_context_params p = svc::draft_params(c.params, kind == svc::draft_kind::head, n_max);
    p.n_ctx = llama_n_ctx(c.ctx);
    p.n_batch = std::max<uint32_t>(p.n_batch, llama_n_batch(c.ctx));
    p.ctx_other = c.ctx;
    if (svc::is_block(kind)) p.n_outputs_max = p.n_seq_max * (n_max + 1);  // of all tokens of a block
    llama_context_ptr ctx(llama_init_from_model(model, p));
    if (ctx == nullptr) throw std::runtime_error("the draft model's context could not be created: too little memory, or a setting that does not fit it");
    if (llama_get_memory(ctx.get()) == nullptr) throw std::invalid_argument("the draft model does not generate text");
    return ctx;
}

common_params_speculative speculation_of(const svc::context & c, const svc::draft & d, const llama_model * model, int32_t n_max) {
    common_params_speculative p;
    p.types = {svc::type_of(d.kind)};
    p.draft.n_max = n_max;
    p.draft.p_min = svc::has_probabilities(model, d.kind) ? SHARE_MIN : 0;
    p.draft.backend_sampling = false;
    p.draft.ctx_tgt = c.ctx;
    p.draft.ctx_dft = d.ctx.get();
    return p;
}

}  // namespace

int32_t svc_draft_open(void * context, void * draft_model, int32_t n_max) {
    return guard<int32_t>(-1, [&]() -> int32_t {
        svc::context & c = need<svc::context>(context, "context");
        if (n_max < 1) throw std::invalid_argument("at least one draft token is required");
        llama_model * model = draft_model == nullptr ? c.model : static_cast<llama_model *>(draft_model);
        auto d = std::make_unique<svc::draft>();
        d->kind = svc::kind_of(c.model, model);
        svc::check_pair(c.model, model, d->kind);
        d->n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(c.model));
        n_max = cuttable(c.ctx, n_max);
        d->ctx = draft_context(c, model, d->kind, n_max);
        common_params_speculative p = speculation_of(c, *d, model, n_max);
        d->spec.reset(common_speculative_init(p, c.params.n_seq_max));
        if (d->spec == nullptr) throw std::runtime_error("the draft model could not be set up");
        d->results.resize(c.params.n_seq_max);
        d->first.assign(c.params.n_seq_max, -1);
        d->due.assign(c.params.n_seq_max, -1);
        d->foresights.resize(c.params.n_seq_max);
        for (auto & foresight : d->foresights) foresight.n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
        c.drafter.reset(d.release());
        return common_speculative_n_max(c.drafter->spec.get());
    });
}

int32_t svc_draft_follow(void * context, int32_t on) {
    return guard<int32_t>(-1, [&] {
        svc::draft & d = draft_of(context);
        d.follows = on != 0;
        svc::read_layers(need<svc::context>(context, "context").ctx, llama_get_model(d.ctx.get()), d.kind, d.follows);
        return 0;
    });
}

float svc_draft_ms(void * context) {
    return guard<float>(0, [&] { return std::exchange(draft_of(context).ms, 0.0f); });
}

int32_t svc_draft(void * context, int32_t n, const int32_t * sequence, const int32_t * last_token, const int32_t * position,
    const uint64_t * sampler, int32_t * counts, int32_t * tokens) {
    return guard<int32_t>(-1, [&] {
        svc::draft & d = draft_of(context);
        common_speculative * spec = d.spec.get();
        const int32_t n_max = common_speculative_n_max(spec);
        for (size_t s = 0; s < d.results.size(); s++) {
            d.results[s].clear();
            common_speculative_get_draft_params(spec, s).drafting = false;  // a call that failed leaves it set
        }
        for (int32_t i = 0; i < n; i++) {
            const int32_t most = counts[i];
            counts[i] = 0;
            if (sequence[i] < 0 || (size_t) sequence[i] >= d.results.size()) throw std::invalid_argument("there is no such sequence");
            const bool is_known = d.kind == svc::draft_kind::eagle3
                ? d.due[sequence[i]] == position[i]
                : llama_memory_seq_pos_max(d.memory(), sequence[i]) == position[i] - 1;
            if (!is_known || most < 1) continue;
            svc::foresight & foresight = d.foresights[sequence[i]];
            foresight.is_drawn = sampler[i] != 0 && foresight.follow(svc::drawer_of(reinterpret_cast<void *>(sampler[i])));
            common_speculative_get_draft_params(spec, sequence[i]) = {
                /* .drafting = */ true,
                /* .n_max    = */ std::min(most, n_max),
                /* .pos0     = */ position[i],
                /* .id_last  = */ last_token[i],
                /* .prompt   = */ &NO_PROMPT,
                /* .result   = */ &d.results[sequence[i]],
            };
        }
        {
            const svc::drawn_tokens chooser(d.foresights);
            common_speculative_draft(spec);
        }
        for (int32_t i = 0; i < n; i++) {
            // Computed while drafting: svc_decode computes it again with the output of the target model.
            svc::draft_remove(d, sequence[i], position[i], -1);
            for (const llama_token token : d.results[sequence[i]]) {  // no more than were wanted
                if (token >= d.n_vocab) break;
                tokens[i * n_max + counts[i]++] = token;
            }
        }
        return 0;
    });
}

int32_t svc_draft_accept(void * context, int32_t sequence, int32_t n_right) {
    return guard<int32_t>(-1, [&] {
        svc::draft & d = draft_of(context);
        if (sequence < 0 || (size_t) sequence >= d.results.size()) throw std::invalid_argument("there is no such sequence");
        if (n_right > 0 && d.results[sequence].empty()) return 0;  // already reported; rows of fillers are none of the draft's
        common_speculative_accept(d.spec.get(), sequence, n_right);
        if (d.first[sequence] >= 0) d.due[sequence] = d.first[sequence] + n_right + 1;
        return 0;
    });
}
