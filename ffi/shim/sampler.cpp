// Samples tokens from the logits of a step: bias, penalties, masks, then the draw. Bias and penalties change few logits, so they
// are written into the row and reverted after the draw; log probabilities need the row as the model computed it.

#include "device_rows.h"
#include "draw.h"
#include "guard.h"
#include "model.h"
#include "svc_llama.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

using svc::candidate;
using svc::guard;
using svc::need;

namespace {

struct native_deleter {
    void operator()(llama_sampler * sampler) { llama_sampler_free(sampler); }
};

using native_sampler = std::unique_ptr<llama_sampler, native_deleter>;

// How often a token occurred.
struct occurrence {
    int32_t in_prompt = 0;
    int32_t in_answer = 0;
};

struct sampler {
    svc::drawer drawer;
    float repetition = 1, frequency = 0, presence = 0;
    native_sampler dry;
    std::vector<llama_logit_bias> bias;
    std::unordered_map<int32_t, occurrence> history;  // kept only if something reads it
    std::vector<std::pair<int32_t, float>> undo;  // (token, logit as the model left it), oldest first
    std::vector<llama_token_data> dry_data;  // scratch
    std::vector<float> masked;  // [n_vocab] scratch: the row without forbidden tokens

    bool reads_history() const { return repetition != 1 || frequency != 0 || presence != 0 || dry != nullptr; }

    void accept(int32_t token, bool generated) {
        if (!reads_history()) return;
        occurrence & seen = history[token];
        (generated ? seen.in_answer : seen.in_prompt)++;
        if (dry != nullptr) llama_sampler_accept(dry.get(), token);
    }
};

// A row of which all logits are known.
struct full_row {
    sampler & s;
    float * logits;
    int32_t n;

    const float * find(int32_t token) const { return logits + token; }
    void set(int32_t token, float value) {
        s.undo.emplace_back(token, logits[token]);
        logits[token] = value;
    }
    // Never called: all logits are known.
    void unknown(bool) {}
};

// A row of which the largest logits are known.
struct part_row {
    std::vector<candidate> & tokens;  // sorted by id
    int32_t n;
    bool lowered = false;  // an unknown logit may have become smaller
    bool raised = false;

    candidate * at(int32_t token) const {
        const auto found = std::lower_bound(tokens.begin(), tokens.end(), token, [](const candidate & c, int32_t id) { return c.id < id; });
        return found != tokens.end() && found->id == token ? &*found : nullptr;
    }
    const float * find(int32_t token) const {
        const candidate * c = at(token);
        return c == nullptr ? nullptr : &c->logit;
    }
    void set(int32_t token, float value) { at(token)->logit = value; }
    void unknown(bool is_raised) { (is_raised ? raised : lowered) = true; }
};

// The forms are llama.cpp's; the windows are those of the interface: repetition over prompt and answer, the other two
// over the answer.
template <typename R>
void apply_penalties(const sampler & s, R & row) {
    if (s.repetition == 1 && s.frequency == 0 && s.presence == 0) return;
    const bool raises = s.repetition < 1 || s.frequency < 0 || s.presence < 0;
    for (const auto & [token, seen] : s.history) {
        const float * known = row.find(token);
        if (known == nullptr) {
            row.unknown(raises);
            continue;
        }
        float logit = *known;
        logit = logit <= 0 ? logit * s.repetition : logit / s.repetition;
        if (seen.in_answer > 0) logit -= (float) seen.in_answer * s.frequency + s.presence;
        if (logit != *known) row.set(token, logit);
    }
}

// DRY can only punish tokens that occurred, so these are all it is shown.
template <typename R>
void apply_dry(sampler & s, R & row) {
    if (s.dry == nullptr) return;
    s.dry_data.clear();
    for (const auto & entry : s.history) {
        const float * known = row.find(entry.first);
        if (known == nullptr) row.unknown(false);
        else s.dry_data.push_back({entry.first, *known, 0});
    }
    llama_token_data_array array = {s.dry_data.data(), s.dry_data.size(), -1, false};
    llama_sampler_apply(s.dry.get(), &array);
    for (size_t i = 0; i < array.size; i++) {
        const llama_token_data & data = array.data[i];
        if (data.logit != *row.find(data.id)) row.set(data.id, data.logit);
    }
}

template <typename R>
void apply_bias(const sampler & s, R & row) {
    for (const llama_logit_bias & b : s.bias) {
        if (b.token < 0 || b.token >= row.n) continue;
        const float * known = row.find(b.token);
        if (known == nullptr) row.unknown(b.bias > 0);
        else row.set(b.token, *known + b.bias);
    }
}

template <typename R>
void apply_changes(sampler & s, R & row) {
    apply_bias(s, row);
    apply_penalties(s, row);
    apply_dry(s, row);
}

int32_t sample_row(sampler & s, float * logits, const uint32_t * mask, int32_t n) {
    full_row row = {s, logits, n};
    apply_changes(s, row);
    int32_t token;
    if (mask == nullptr) {
        token = s.drawer.draw(logits, n);
    } else {
        s.masked.resize(n);
        svc::copy_allowed(logits, mask, n, s.masked.data());
        token = s.drawer.draw(s.masked.data(), n);
    }
    for (auto it = s.undo.rbegin(); it != s.undo.rend(); ++it) logits[it->first] = it->second;
    s.undo.clear();
    if (token >= 0) s.accept(token, true);
    return token;
}

// e^(logit - top) of all tokens together.
double sum_of(const std::vector<candidate> & tokens, float top) {
    double sum = 0;
    for (const candidate & c : tokens) sum += std::exp((double) c.logit - top);
    return sum;
}

// The same token from what a device has listed; UNDECIDED where that does not suffice, and nothing has changed then.
int32_t sample_listed(sampler & s, svc::listed_row & listed, const uint32_t * mask, int32_t n) {
    constexpr double ROUNDING = 1e-5;  // of a sum on a device
    std::vector<candidate> & tokens = listed.tokens;
    double rest = listed.sum - sum_of(tokens, listed.top);
    std::sort(tokens.begin(), tokens.end(), [](const candidate & a, const candidate & b) { return a.id < b.id; });
    part_row row = {tokens, n};
    apply_changes(s, row);
    if (row.raised) return svc::UNDECIDED;
    if (mask != nullptr) {
        tokens.erase(std::remove_if(tokens.begin(), tokens.end(), [&](const candidate & c) { return (mask[c.id / 32] >> c.id % 32 & 1) == 0; }), tokens.end());
        row.lowered = true;
    }
    svc::shortlist few;
    few.cut = listed.cut;
    std::vector<candidate> below;
    for (const candidate & c : tokens) (c.logit > few.cut ? few.best : below).push_back(c);
    if (few.best.empty()) return svc::UNDECIDED;
    std::sort(few.best.begin(), few.best.end(),
        [](const candidate & a, const candidate & b) { return a.logit > b.logit || (a.logit == b.logit && a.id < b.id); });
    const double margin = ROUNDING * listed.sum, known = sum_of(below, listed.top);
    const double scale = std::exp((double) listed.top - few.best[0].logit);
    few.rest_least = scale * (known + (row.lowered ? 0 : std::max(0.0, rest - margin)));
    few.rest_most = scale * (known + std::max(0.0, rest + margin));
    const int32_t token = s.drawer.draw(few, n);
    if (token >= 0) s.accept(token, true);
    return token;
}

// Calls `draw` for each row that has a sampler, in parallel.
template <typename F>
void for_rows(const svc::context & c, int32_t n, F && draw, const uint64_t * samplers) {
    const auto one = [&](int32_t i) {
        sampler * s = reinterpret_cast<sampler *>(samplers[i]);
        try {  // nothing may leave a parallel region
            if (s != nullptr) draw(i, *s);
        } catch (...) {}
    };
    [[maybe_unused]] const int32_t threads = std::min(n, c.n_threads);  // without OpenMP there is one
    [[maybe_unused]] const int64_t work = (int64_t) n * llama_vocab_n_tokens(llama_model_get_vocab(c.model));
// A parallel region costs a few microseconds, about one argmax over a 32k vocabulary.
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (work > 65536 && threads > 1)
    for (int32_t i = 0; i < n; i++) one(i);
}

}  // namespace

const svc::drawer & svc::drawer_of(void * handle) { return need<sampler>(handle, "sampler").drawer; }

void * svc_sampler_new(const float * params, int32_t n, uint32_t seed_low, uint32_t seed_high, uint32_t stream) {
    return guard<void *>(nullptr, [&]() -> void * {
        if (params == nullptr || n < 7) throw std::invalid_argument("a sampler needs seven parameters");
        auto s = std::make_unique<sampler>();
        s->drawer.temperature = params[0];
        s->drawer.top_p = params[1];
        s->drawer.min_p = params[2];
        s->drawer.top_k = (int32_t) params[3];
        s->repetition = params[4];
        s->frequency = params[5];
        s->presence = params[6];
        // Streams of one seed start far apart: each is a draw of a generator that is never used otherwise.
        svc::random_stream base;
        base.state = ((uint64_t) seed_high << 32 | seed_low) ^ 0x6a09e667f3bcc909ull;
        for (uint32_t i = 0; i <= stream; i++) s->drawer.random.state = base.next();
        return s.release();
    });
}

void svc_sampler_free(void * handle) {
    guard<int32_t>(-1, [&] {
        delete &need<sampler>(handle, "sampler");
        return 0;
    });
}

int32_t svc_sampler_bias(void * handle, int32_t n, const int32_t * token, const float * bias) {
    return guard<int32_t>(-1, [&] {
        sampler & s = need<sampler>(handle, "sampler");
        s.bias.clear();
        for (int32_t i = 0; i < n; i++) {
            // The ends of the interface's range mean "never" and "always", which a finite number would only approach.
            const float value = bias[i] <= -100 ? -std::numeric_limits<float>::infinity() : bias[i] >= 100 ? 1e6f
                                                                                                           : bias[i];
            s.bias.push_back({token[i], value});
        }
        return 0;
    });
}

int32_t svc_sampler_dry(void * handle, void * model, float multiplier, float base, int32_t allowed_length,
    const char * breakers) {
    return guard<int32_t>(-1, [&] {
        sampler & s = need<sampler>(handle, "sampler");
        const llama_model * m = &need<llama_model>(model, "model");
        std::vector<const char *> list;
        for (const char * text = breakers; text != nullptr && *text != 0; text += strlen(text) + 1) list.push_back(text);
        s.dry.reset(llama_sampler_init_dry(llama_model_get_vocab(m), multiplier, base, allowed_length,
            llama_model_n_ctx_train(m), list.data(), list.size()));
        if (s.dry == nullptr) throw std::runtime_error("the DRY sampler could not be made");
        return 0;
    });
}

int32_t svc_sampler_accept(void * handle, int32_t n, const int32_t * token, int32_t generated) {
    return guard<int32_t>(-1, [&] {
        sampler & s = need<sampler>(handle, "sampler");
        for (int32_t i = 0; i < n; i++) s.accept(token[i], generated != 0);
        return 0;
    });
}

int32_t svc_sample(void * context, int32_t n, const int32_t * row, const uint64_t * samplers, const uint64_t * masks,
    int32_t * token) {
    return guard<int32_t>(-1, [&] {
        svc::context & c = need<svc::context>(context, "context");
        const int32_t n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(c.model));
        const auto mask_of = [&](int32_t i) { return reinterpret_cast<const uint32_t *>(masks[i]); };
        std::fill_n(token, n, svc::UNDECIDED);
        if (c.on_device != nullptr) {
            svc::wait_for_pass(*c.on_device);
            for_rows(c, n, [&](int32_t i, sampler & s) {
                thread_local svc::listed_row few;
                if (svc::listed(*c.on_device, row[i], few)) token[i] = sample_listed(s, few, mask_of(i), n_vocab);
            }, samplers);
        } else {
            llama_synchronize(c.ctx);
        }
        // Looked up before the parallel part: the getters are not meant for several threads.
        std::vector<float *> logits(n, nullptr);
        for (int32_t i = 0; i < n; i++) {
            if (token[i] != svc::UNDECIDED) continue;
            logits[i] = svc::row_logits(c, row[i]);
            token[i] = -1;
        }
        for_rows(c, n, [&](int32_t i, sampler & s) {
            if (logits[i] != nullptr) token[i] = sample_row(s, logits[i], mask_of(i), n_vocab);
        }, samplers);
        return 0;
    });
}

int32_t svc_sample_logits(void * handle, float * logits, int32_t n_vocab) {
    return guard<int32_t>(-1, [&] { return sample_row(need<sampler>(handle, "sampler"), logits, nullptr, n_vocab); });
}

int32_t svc_logprobs(void * context, int32_t row, int32_t token, int32_t n_top, int32_t * top, float * logprob) {
    return guard<int32_t>(-1, [&] {
        svc::context & c = need<svc::context>(context, "context");
        const int32_t n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(c.model));
        const float * logits = svc::row_logits(c, row);
        if (logits == nullptr) throw std::invalid_argument("the row has no logits");
        if (token < 0 || token >= n_vocab) throw std::invalid_argument("the token is outside the vocabulary");
        thread_local std::vector<float> scratch;
        const double total = svc::log_sum_exp(logits, n_vocab, scratch);
        logprob[0] = (float) (logits[token] - total);
        const std::vector<svc::candidate> best = n_top > 0 ? svc::best(logits, n_vocab, n_top) : std::vector<svc::candidate>();
        for (size_t i = 0; i < best.size(); i++) {
            top[i] = best[i].id;
            logprob[i + 1] = (float) (best[i].logit - total);
        }
        return (int32_t) best.size();
    });
}
