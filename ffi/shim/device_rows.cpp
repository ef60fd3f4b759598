// Finds the largest logits of each row in the graph of a pass, by an operation that all back ends have: a row's tokens are dealt to
// blocks, token i to block i % n_blocks, since neighbours in a vocabulary are alike; each block is sorted, and its first tokens leave the
// device. A token that is not among them has no larger logit than the last of them in its block.
//
// llama.cpp lets a sampler add nodes to a graph (llama_sampler_i), one for each sequence. Ours does so once for all rows; what it returns
// is copied behind the pass without another wait. With it llama.cpp copies no logits, and the graph's tensor of them stays until the next
// pass, so single rows can be had. Of a pass in several parts, as recurrent models compute sequences of different lengths, the tensor has the
// rows of the last one only; whole rows are copied then, as without lists (ffi/hooks/copied_rows.h).

#include "device_rows.h"

#include "copied_rows.h"

#include "ggml-backend.h"
#include "ggml.h"

#include "../src/llama-ext.h"  // llama_model_n_devices

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace {

constexpr int64_t BLOCK_MAX = 1024;  // the longest rows that CUDA sorts in one launch
constexpr int64_t BLOCK_MIN = 512;
constexpr int64_t LISTED = 800;  // tokens of a row, together: of 152,000, as 850 of them, 7 KB
constexpr int64_t HOST_COLUMNS = 4;  // of llama.cpp's buffers, each of a vocabulary, for a sequence: logits, and three of samplers
constexpr int64_t HOST_BYTES_MAX = 2ll << 30;
constexpr int64_t ROWS_MAX = 256;  // of a pass with lists; they take three times the memory of the logits

// How a vocabulary is dealt: n_blocks of `block` tokens, of which `listed` leave the device, and the rest of less than a block, which does so
// as a whole.
struct deal {
    int64_t n_vocab = 0, block = 0, n_blocks = 0, rest = 0, listed = 0;

    int64_t n_listed() const { return n_blocks * listed; }
    int64_t width() const { return n_listed() + rest; }
};

deal deal_of(int64_t n_vocab) {
    deal best = {n_vocab, 0, 0, n_vocab, 0};
    for (int64_t block = BLOCK_MAX; block >= BLOCK_MIN; block--) {
        const int64_t rest = n_vocab % block;
        if (n_vocab >= block && rest < best.rest) best = {n_vocab, block, n_vocab / block, rest, 0};
    }
    // More of each where there are few, as the largest are dealt unevenly.
    if (best.n_blocks > 0) best.listed = std::clamp<int64_t>((LISTED + best.n_blocks - 1) / best.n_blocks, 4, 16);
    return best;
}

// Lists of the rows of a graph.
struct lists {
    ggml_tensor * logits = nullptr;  // [width][rows]: of each block its largest, best first, then the rest
    ggml_tensor * places = nullptr;  // [n_blocks * listed][rows] within the block
    ggml_tensor * shares = nullptr;  // [n_blocks][rows] part of e^(largest logit) in the sum over its block
};

lists add_lists(ggml_context * ctx, ggml_cgraph * gf, ggml_tensor * all, const deal & d) {
    const int64_t rows = all->ne[1];
    ggml_tensor * dealt = ggml_view_3d(ctx, all, d.n_blocks, d.block, rows, d.n_blocks * sizeof(float), all->nb[1], 0);
    dealt = ggml_cont(ctx, ggml_permute(ctx, dealt, 1, 0, 2, 3));
    ggml_tensor * order = ggml_argsort(ctx, dealt, GGML_SORT_ORDER_DESC);
    ggml_tensor * first = ggml_cont(ctx, ggml_view_3d(ctx, order, d.listed, d.n_blocks, rows, order->nb[1], order->nb[2], 0));
    ggml_tensor * best = ggml_cont(ctx, ggml_view_3d(ctx, order, 1, d.n_blocks, rows, order->nb[1], order->nb[2], 0));
    const auto of_each = [&](ggml_tensor * t, ggml_tensor * places) {
        return ggml_get_rows(ctx, ggml_reshape_4d(ctx, t, 1, d.block, d.n_blocks, rows), places);
    };
    lists l;
    l.logits = ggml_reshape_2d(ctx, of_each(dealt, first), d.n_listed(), rows);
    if (d.rest > 0) {
        ggml_tensor * rest = ggml_view_2d(ctx, all, d.rest, rows, all->nb[1], d.n_blocks * d.block * sizeof(float));
        l.logits = ggml_concat(ctx, l.logits, ggml_cont(ctx, rest), 0);
    }
    l.places = ggml_reshape_2d(ctx, first, d.n_listed(), rows);
    l.shares = ggml_reshape_2d(ctx, of_each(ggml_soft_max(ctx, dealt), best), d.n_blocks, rows);
    for (ggml_tensor * t : {l.logits, l.places, l.shares}) {
        ggml_set_output(t);
        ggml_build_forward_expand(gf, t);
    }
    return l;
}

bool is_supported(ggml_backend_buffer_type_t buffer, const deal & d) {
    ggml_backend_dev_t device = ggml_backend_buft_get_device(buffer);
    if (device == nullptr) return true;  // the CPU's buffers name none
    const ggml_init_params params = {64 * ggml_tensor_overhead() + ggml_graph_overhead_custom(64, false), nullptr, true};
    const std::unique_ptr<ggml_context, decltype(&ggml_free)> ctx(ggml_init(params), ggml_free);
    ggml_cgraph * gf = ggml_new_graph_custom(ctx.get(), 64, false);
    add_lists(ctx.get(), gf, ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, d.n_vocab, 2), d);
    for (int i = 0; i < ggml_graph_n_nodes(gf); i++) {
        if (!ggml_backend_dev_supports_op(device, ggml_graph_node(gf, i))) return false;
    }
    return true;
}

// SVC_DEVICE_SAMPLING: "off", or "cpu" for tests, where the CPU counts as a device.
bool is_set_to(const char * value) {
    const char * set = getenv("SVC_DEVICE_SAMPLING");
    return set != nullptr && strcmp(set, value) == 0;
}

}  // namespace

namespace svc {

// Lists of a group of rows in main memory.
struct copied_group {
    const float *logits, *shares;
    const int32_t * places;
};

struct device_rows {
    deal dealt;
    std::vector<llama_sampler *> chains;  // of each sequence
    std::vector<llama_sampler_seq_config> configs;
    llama_context * ctx = nullptr;
    bool works = false;  // on the device of the logits

    ggml_tensor * logits = nullptr;  // [n_vocab][rows] of the last graph that was built
    lists listed;
    bool is_new_graph = true;
    int64_t group = 1;  // rows whose lists are copied as one

    // Of the last pass.
    bool is_over = true;
    std::vector<int32_t> output_of;  // [rows] index of its output, -1: none
    std::vector<int32_t> batch_row;  // [outputs]
    std::vector<copied_group> groups;
    std::vector<std::vector<float>> whole;  // [outputs] empty until they are asked for
    std::vector<float> everything;  // [outputs][n_vocab] of a pass without lists
    bool is_copied = false;  // whole rows, by llama.cpp
    float * copied = nullptr;  // [outputs][n_vocab] of such a pass
    row_traffic * traffic = nullptr;

    ~device_rows() {
        for (llama_sampler * chain : chains) llama_sampler_free(chain);
    }
};

void free_device_rows(device_rows * d) { delete d; }

}  // namespace svc

namespace {

using svc::candidate;
using svc::device_rows;
using svc::listed_row;

device_rows & rows_of(llama_sampler * s) { return *static_cast<device_rows *>(s->ctx); }

const char * name_of(const llama_sampler *) { return "svc-lists"; }
void draw_nothing(llama_sampler *, llama_token_data_array *) {}
void keep_state(llama_sampler *) {}

bool begin_on(llama_sampler * s, ggml_backend_buffer_type_t buffer, uint32_t) {
    device_rows & d = rows_of(s);
    d.works = (!ggml_backend_buft_is_host(buffer) || is_set_to("cpu")) && is_supported(buffer, d.dealt);
    return d.works;
}

void begin_graph(llama_sampler * s) { rows_of(s).is_new_graph = true; }

// The logits of a row are a view of all, with a row added for sequences that are not in the pass.
ggml_tensor * all_logits(ggml_tensor * row) {
    ggml_tensor * all = row->view_src == nullptr ? row : row->view_src;
    return all->op == GGML_OP_PAD ? all->src[0] : all;
}

ggml_tensor * part(ggml_context * ctx, ggml_tensor * t, int64_t row, int64_t group) {
    const int64_t n = std::min(group, t->ne[1] - row);
    return n == t->ne[1] ? t : ggml_view_2d(ctx, t, t->ne[0], n, t->nb[1], row * t->nb[1]);
}

void add_to_graph(llama_sampler * s, ggml_context * ctx, ggml_cgraph * gf, llama_sampler_data * data) {
    device_rows & d = rows_of(s);
    ggml_tensor * row = data->logits;
    ggml_tensor * all = all_logits(row);
    data->logits = nullptr;
    if (d.is_new_graph) {
        d.is_new_graph = false;
        d.logits = all;
        d.listed = {};
        const bool is_whole = all->ne[0] == d.dealt.n_vocab && ggml_is_contiguous(all);
        if (is_whole && all->ne[1] > 0 && all->ne[1] <= ROWS_MAX) d.listed = add_lists(ctx, gf, all, d.dealt);
    }
    if (d.listed.logits == nullptr) return;
    const int64_t i = row->view_src == nullptr ? 0 : row->view_offs / row->view_src->nb[1];
    if (i % d.group != 0) return;
    data->logits = part(ctx, d.listed.logits, i, d.group);
    data->candidates = part(ctx, d.listed.places, i, d.group);
    data->probs = part(ctx, d.listed.shares, i, d.group);
}

llama_sampler_i make_lister() {
    llama_sampler_i i = {};
    i.name = name_of;
    i.apply = draw_nothing;
    i.free = keep_state;
    i.backend_init = begin_on;
    i.backend_apply = add_to_graph;
    i.backend_reset = begin_graph;
    return i;
}

llama_sampler_i lister = make_lister();

// Adds the tokens of a block. False: not all are numbers.
bool add_block(const float * logits, const int32_t * places, int64_t block, const deal & d, listed_row & out) {
    for (int64_t i = 0; i < d.listed; i++) {
        if (std::isnan(logits[i]) || places[i] < 0 || places[i] >= d.block) return false;
        out.tokens.push_back({logits[i], (int32_t) (block + d.n_blocks * places[i])});
    }
    out.cut = std::max(out.cut, logits[d.listed - 1]);
    out.top = std::max(out.top, logits[0]);
    return true;
}

}  // namespace

namespace svc {

device_rows_ptr list_rows(const llama_model * model, llama_context_params & params) {
    const bool has_device = llama_model_n_devices(model) > 0 || is_set_to("cpu");
    const deal dealt = deal_of(llama_vocab_n_tokens(llama_model_get_vocab(model)));
    const bool fits = row_buffer_bytes(model, params, true) <= HOST_BYTES_MAX;
    if (!has_device || is_set_to("off") || params.embeddings || !fits || dealt.n_blocks == 0 || params.n_ubatch < params.n_seq_max ||
        llama_model_has_encoder(model)) {
        return nullptr;
    }
    device_rows_ptr d(new device_rows());
    d->dealt = dealt;
    d->group = std::max<int64_t>(1, dealt.n_vocab / dealt.width());
    for (uint32_t i = 0; i < params.n_seq_max; i++) {
        d->chains.push_back(llama_sampler_chain_init(llama_sampler_chain_default_params()));
        llama_sampler_chain_add(d->chains.back(), llama_sampler_init(&lister, d.get()));
        d->configs.push_back({(llama_seq_id) i, d->chains.back()});
    }
    params.samplers = d->configs.data();
    params.n_samplers = d->configs.size();
    params.n_outputs_max_per_seq = 0;  // as many as there are
    return d;
}

int64_t row_buffer_bytes(const llama_model * model, const llama_context_params & params, bool are_listed) {
    const int64_t n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    return (int64_t) params.n_seq_max * n_vocab * (are_listed ? HOST_COLUMNS : 1) * (int64_t) sizeof(float);
}

bool rows_are_listed(device_rows & d, llama_context * ctx, row_traffic & traffic) {
    d.ctx = ctx;
    d.traffic = &traffic;
    if (d.works) return true;
    for (const auto & [sequence, chain] : d.configs) llama_set_sampler(ctx, sequence, nullptr);
    return false;
}

void begin_pass(device_rows & d, int32_t n, const int8_t * output) {
    d.output_of.assign(n, -1);
    d.batch_row.clear();
    d.groups.clear();
    for (int32_t i = 0; i < n; i++) {
        if (output[i] == 0) continue;
        d.output_of[i] = (int32_t) d.batch_row.size();
        d.batch_row.push_back(i);
    }
    d.whole.assign(d.batch_row.size(), {});
    d.everything.clear();
    d.is_copied = svc_rows_are_copied();
    d.copied = nullptr;
    d.is_over = d.batch_row.empty();  // the next pass waits for this one
}

void wait_for_pass(device_rows & d) {
    if (d.is_over) return;
    d.is_over = true;
    llama_synchronize(d.ctx);
    d.traffic->waits++;
    if (d.is_copied) {
        d.copied = llama_get_logits(d.ctx);
        d.traffic->bytes += d.batch_row.size() * d.dealt.n_vocab * sizeof(float);
        d.traffic->whole_rows += d.batch_row.size();
        return;
    }
    if (d.listed.logits == nullptr) return;
    for (const ggml_tensor * t : {d.listed.logits, d.listed.places, d.listed.shares}) d.traffic->bytes += ggml_nbytes(t);
    // Once for all rows: each of these waits for the device again.
    for (size_t i = 0; i < d.batch_row.size(); i += d.group) {
        const int32_t head = d.batch_row[i];
        const copied_group group = {llama_get_sampled_logits_ith(d.ctx, head), llama_get_sampled_probs_ith(d.ctx, head),
            llama_get_sampled_candidates_ith(d.ctx, head)};
        if (group.logits != nullptr && group.shares != nullptr && group.places != nullptr) d.groups.push_back(group);
    }
}

bool listed(const device_rows & d, int32_t row, listed_row & out) {
    const int32_t output = d.output_of.at(row);
    if (output < 0 || (size_t) (output / d.group) >= d.groups.size()) return false;
    const int64_t at = output % d.group;
    const copied_group & group = d.groups[output / d.group];
    const float * logits = group.logits + at * d.dealt.width();
    const int32_t * places = group.places + at * d.dealt.n_listed();
    const float * shares = group.shares + at * d.dealt.n_blocks;
    out.tokens.clear();
    out.cut = out.top = -std::numeric_limits<float>::infinity();
    for (int64_t b = 0; b < d.dealt.n_blocks; b++) {
        if (!add_block(logits + b * d.dealt.listed, places + b * d.dealt.listed, b, d.dealt, out)) return false;
    }
    const float * rest = logits + d.dealt.n_listed();
    for (int64_t i = 0; i < d.dealt.rest; i++) {
        if (std::isnan(rest[i])) return false;
        out.tokens.push_back({rest[i], (int32_t) (d.dealt.n_blocks * d.dealt.block + i)});
        out.top = std::max(out.top, rest[i]);
    }
    if (!std::isfinite(out.top)) return false;
    out.sum = 0;
    for (int64_t b = 0; b < d.dealt.n_blocks; b++) {
        const float best = logits[b * d.dealt.listed];
        if (!std::isfinite(best)) continue;  // a block without a token that can be drawn
        if (!(shares[b] > 0)) return false;
        out.sum += std::exp((double) best - out.top) / shares[b];
    }
    for (int64_t i = 0; i < d.dealt.rest; i++) out.sum += std::exp((double) rest[i] - out.top);
    return true;
}

float * whole_row(device_rows & d, int32_t row) {
    if (row < 0 || row >= (int32_t) d.output_of.size() || d.output_of[row] < 0 || d.logits == nullptr) return nullptr;
    wait_for_pass(d);
    const int32_t output = d.output_of[row];
    const size_t n_vocab = d.dealt.n_vocab, bytes = n_vocab * sizeof(float);
    if (d.is_copied) return d.copied + output * n_vocab;
    if (d.listed.logits == nullptr) {  // a prompt whose log probabilities are wanted: of every row
        if (d.everything.empty()) {
            d.everything.resize(d.batch_row.size() * n_vocab);
            ggml_backend_tensor_get(d.logits, d.everything.data(), 0, d.everything.size() * sizeof(float));
            d.traffic->bytes += d.everything.size() * sizeof(float);
            d.traffic->waits++;
        }
        return d.everything.data() + output * n_vocab;
    }
    std::vector<float> & out = d.whole[output];
    if (out.empty()) {
        out.resize(n_vocab);
        ggml_backend_tensor_get(d.logits, out.data(), output * bytes, bytes);
        d.traffic->bytes += bytes;
        d.traffic->waits++;
        d.traffic->whole_rows++;
    }
    return out.data();
}

}  // namespace svc
