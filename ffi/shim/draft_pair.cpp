#include "draft_pair.h"

#include "../src/llama-model.h"  // which tensors a model has; before llama-ext.h, which it includes
#include "../src/llama-ext.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// Architectures whose graphs name the inputs of their layers (t_layer_inp in src/models). With others llama.cpp fails an assertion.
const char * const READABLE[] = {
    "bailingmoe3", "deepseek4", "gemma4", "gpt-oss", "hunyuan_vl", "lfm2", "llama", "minimax-01", "minimax-m2", "muse-glimmer",
    "nanbeige", "nemotron_h", "nemotron_h_moe", "qwen3", "qwen35", "qwen35moe", "qwen3moe", "qwen3next", "qwen4exp",
};

std::string value_of(const llama_model * model, const char * key) {
    char text[64] = "";
    llama_model_meta_val_str(model, key, text, sizeof(text));
    return text;
}

std::string architecture(const llama_model * model) { return value_of(model, "general.architecture"); }

int32_t vocabulary(const llama_model * model) { return llama_vocab_n_tokens(llama_model_get_vocab(model)); }

// Whether a head of this architecture can read what the model computes.
bool is_head_for(const std::string & model, const std::string & head) {
    return head == model || head == model + "-assistant";
}

// Whether the graphs of an architecture compute several blocks of a head. The others fail an assertion.
bool may_have_blocks(const std::string & architecture) {
    return architecture == "hy_v3" || architecture == "mimo2" || architecture == "step35";
}

// Files may name a head and leave its weights out, and llama.cpp loads most of them: it fails an assertion at the first pass of the head.
void check_weights(const llama_model * head) {
    const std::string own = architecture(head);
    const uint32_t begin = head->hparams.n_layer(), end = head->hparams.n_layer_all;
    if (end - begin > 1 && !may_have_blocks(own)) {
        throw std::invalid_argument("the prediction head has " + std::to_string(end - begin) + " blocks, and those of the architecture " + own + " have one");
    }
    for (uint32_t i = begin; i < end; i++) {
        const llama_layer & layer = head->layers[i];
        const llama_layer_nextn & block = layer.nextn;
        const bool has_norm = block.shared_head_norm != nullptr || (head->output_norm != nullptr && own != "bailingmoe3");
        const bool has_output = block.shared_head_head != nullptr || head->output != nullptr;
        const bool is_whole = block.eh_proj != nullptr && block.enorm != nullptr && block.hnorm != nullptr && has_norm && has_output;
        if (!is_whole || (own == "mimo2" && layer.wqkv == nullptr)) {
            throw std::invalid_argument("the file names a prediction head and lacks its weights");
        }
    }
    if (own == "glm4moe" && head->hparams.use_mrope()) {
        throw std::invalid_argument("llama.cpp cannot compute the prediction head of this architecture with positions of images");
    }
}

void check_head(const llama_model * model, const llama_model * head) {
    const std::string own = architecture(model), other = architecture(head);
    if (!is_head_for(own, other)) {
        throw std::invalid_argument("the prediction head is for models of the architecture " + other + ", and this one is " + own);
    }
    if (llama_model_n_embd_out(head) != llama_model_n_embd_out(model) || vocabulary(head) != vocabulary(model)) {
        throw std::invalid_argument("the prediction head is for a model of another size or vocabulary");
    }
    if (own == other) check_weights(head);  // assistants have no layers of a model beside them
}

void check_plain(const llama_model * model, const llama_model * draft) {
    if (draft == model) throw std::invalid_argument("the model file has no multi-token prediction head");
    if (llama_model_has_encoder(draft)) throw std::invalid_argument("the draft model needs an encoder");
    if (llama_model_is_recurrent(draft) || llama_model_is_hybrid(draft)) {
        throw std::invalid_argument("the draft model is recurrent: rejected draft tokens could not be removed");
    }
}

// What the drafter takes from its model must have the width of its own rows.
void check_shared(const ggml_tensor * own, const ggml_tensor * shared, int64_t n_embd, const std::string & what) {
    if (own != nullptr) return;
    if (shared == nullptr || shared->ne[0] != n_embd) {
        throw std::invalid_argument("the draft model has no " + what + " of its own, and those of this model have another size");
    }
}

void check_layers(const llama_model * model, const llama_model * draft, svc::draft_kind kind) {
    const int32_t * layers = llama_model_target_layer_ids(draft);
    const int32_t n = llama_model_target_layer_ids_n(draft);
    // An EAGLE-3 drafter may read the last layer's output, which counts as the input of one more.
    const int32_t end = llama_model_n_layer(model) + (kind == svc::draft_kind::eagle3 ? 1 : 0);
    const bool fits = n > 0 && std::all_of(layers, layers + n, [&](int32_t layer) { return layer >= 0 && layer < end; });
    if (!fits || (int64_t) draft->hparams.n_embd_inp_enc() != (int64_t) n * llama_model_n_embd(model)) {
        throw std::invalid_argument("the draft model was made for a model with other layers or of another size");
    }
}

// A drafter with fewer tokens than its model lists which of the model's each of its rows is (d2t). llama.cpp writes logits to these places
// without a look at them.
void check_map(const llama_model * model, const llama_model * draft) {
    const ggml_tensor * map = draft->d2t;
    if (map == nullptr) return;
    if (map->type != GGML_TYPE_I64) throw std::invalid_argument("the draft model's list of tokens (d2t) has no 64-bit integers");
    const ggml_tensor * output = draft->output == nullptr ? model->output : draft->output;
    if (output->ne[1] != map->ne[0]) {
        throw std::invalid_argument("the draft model lists its tokens (d2t) and has no output weights for them");
    }
    std::vector<int64_t> tokens(map->ne[0]);
    ggml_backend_tensor_get(map, tokens.data(), 0, ggml_nbytes(map));
    std::vector<bool> is_listed(vocabulary(model));
    for (const int64_t token : tokens) {
        if (token < 0 || token >= (int64_t) is_listed.size() || is_listed[token]) {
            throw std::invalid_argument("the draft model's list of tokens (d2t) names one twice, or one that the model does not have");
        }
        is_listed[token] = true;
    }
}

void check_block(const llama_model * model, const llama_model * draft, svc::draft_kind kind) {
    const std::string own = architecture(model);
    const auto is_own = [&](const char * name) { return own == name; };
    if (std::none_of(std::begin(READABLE), std::end(READABLE), is_own)) {
        throw std::invalid_argument("the draft model reads the layers of its model, which models of the architecture " + own + " do not hand out");
    }
    if (vocabulary(draft) != vocabulary(model)) throw std::invalid_argument("the draft model was made for another vocabulary");
    check_layers(model, draft, kind);
    check_shared(draft->tok_embd, model->tok_embd, llama_model_n_embd(draft), "embeddings");
    check_shared(draft->output, model->output, llama_model_n_embd(draft), "output weights");
    check_map(model, draft);
    if (kind == svc::draft_kind::eagle3) {
        if (llama_model_n_layer(draft) != 1) throw std::invalid_argument("an EAGLE-3 draft model has one layer, and this one has others");
        return;
    }
    if (llama_vocab_mask(llama_model_get_vocab(draft)) < 0) throw std::invalid_argument("the draft model's file names no mask token");
    const std::string block = value_of(draft, "dflash.block_size");
    if (block.empty() ? kind == svc::draft_kind::dflash : std::atoi(block.c_str()) > 1) return;
    throw std::invalid_argument("the draft model's file names no block size of two tokens or more");
}

}  // namespace

namespace svc {

draft_kind kind_of(const llama_model * model, const llama_model * draft) {
    const std::string name = architecture(draft);
    if (draft != model && name == "eagle3") return draft_kind::eagle3;
    if (draft != model && name == "dflash") return draft->dspark_markov_w1 == nullptr ? draft_kind::dflash : draft_kind::dspark;
    return llama_model_n_layer_nextn(draft) > 0 ? draft_kind::head : draft_kind::plain;
}

common_speculative_type type_of(draft_kind kind) {
    switch (kind) {
        case draft_kind::head: return COMMON_SPECULATIVE_TYPE_DRAFT_MTP;
        case draft_kind::eagle3: return COMMON_SPECULATIVE_TYPE_DRAFT_EAGLE3;
        case draft_kind::dflash: return COMMON_SPECULATIVE_TYPE_DRAFT_DFLASH;
        case draft_kind::dspark: return COMMON_SPECULATIVE_TYPE_DRAFT_DSPARK;
        default: return COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE;
    }
}

void check_pair(const llama_model * model, const llama_model * draft, draft_kind kind) {
    if (kind == draft_kind::plain) return check_plain(model, draft);
    if (kind == draft_kind::head) return check_head(model, draft);
    check_block(model, draft, kind);
}

bool has_probabilities(const llama_model * draft, draft_kind kind) {
    return kind != draft_kind::dspark || draft->dspark_conf_proj != nullptr;
}

void read_layers(llama_context * ctx, const llama_model * draft, draft_kind kind, bool on) {
    if (kind == draft_kind::head) llama_set_embeddings_nextn(ctx, on, /*masked*/ false);
    if (!is_block(kind)) return;
    const int32_t * layers = llama_model_target_layer_ids(draft);
    const int32_t n_layer = llama_model_n_layer(llama_get_model(ctx));
    for (uint32_t i = 0; i < llama_model_target_layer_ids_n(draft); i++) {
        if (layers[i] < n_layer) llama_set_embeddings_layer_inp(ctx, layers[i], on);
        else llama_set_embeddings_nextn(ctx, on, /*masked*/ false);
    }
}

}  // namespace svc
