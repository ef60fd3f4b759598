// Finds the nodes of a graph that the kernel recurrent replaces. Included by ggml-cpu.c.
//
// llama.cpp builds a step over recurrent states as
//   rows = GET_ROWS(cache, ids); result = GATED_DELTA_NET(..., RESHAPE(rows)); CPY(VIEW(result), VIEW(cache))
//   rows = GET_ROWS(cache, ids); window = CONCAT(RESHAPE(rows), columns); CPY(VIEW(window), VIEW(cache)) ...; UNARY(SSM_CONV(window, weights))
// The rows are not gathered where nothing else uses them and no state is overwritten that another sequence of the batch still needs.
// Then the delta net, or the concatenation, reads and writes the cache, and the copies are left out. Any other graph is computed as
// it is. Decisions depend on the graph and its inputs only: every thread takes the same ones.
#pragma once

#include "recurrent.h"

#include "svc_kernels.h"

#define SVC_NODES_AHEAD 64  // where the nodes that belong together are looked for

// Nodes whose work is done elsewhere, or on another node's turn. Of one layer at a time: they follow each other closely.
struct svc_recurrent_step {
    const struct ggml_tensor * main;  // the delta net or the concatenation; NULL: none is due
    const struct ggml_tensor * conv;
    const struct ggml_tensor * silu;  // NULL: the convolution has no SiLU in its own memory
    const struct ggml_tensor * copies[SVC_STATE_SLOTS];
    struct svc_states states;
};

struct svc_recurrent {
    bool enabled;
    struct svc_recurrent_step net, conv;
};

static int svc_uses(const struct ggml_cgraph * cgraph, const struct ggml_tensor * t) {
    const size_t at = ggml_hash_find(&cgraph->visited_hash_set, t);
    return at != GGML_HASHSET_FULL && ggml_bitset_get(cgraph->visited_hash_set.used, at) ? cgraph->use_counts[at] : 0;
}

static const struct ggml_tensor * svc_root(const struct ggml_tensor * t) { return t->view_src ? t->view_src : t; }

// Whether `t` is `of` in another shape and nothing else uses either.
static bool svc_only_reshapes(const struct ggml_cgraph * cgraph, const struct ggml_tensor * t, const struct ggml_tensor * of) {
    return t->op == GGML_OP_RESHAPE && t->src[0] == of && svc_uses(cgraph, t) == 1 && svc_uses(cgraph, of) == 1 &&
        ((t->flags | of->flags) & GGML_TENSOR_FLAG_OUTPUT) == 0;
}

// Adds a copy into the cache as a slot.
static bool svc_add_slots(struct svc_recurrent_step * step, const struct ggml_cgraph * cgraph, const struct ggml_tensor * copy, int64_t size, int64_t sequences) {
    const struct ggml_tensor * target = copy->src[1];
    const int64_t slots = target->ne[2];
    if (target->type != GGML_TYPE_F32 || copy->src[0]->type != GGML_TYPE_F32 || target->nb[0] != sizeof(float)) return false;
    if (target->ne[0] != size || target->ne[1] != sequences || target->ne[3] != 1) return false;
    if (step->states.slots + slots > SVC_STATE_SLOTS || svc_uses(cgraph, copy->src[0]) != 1 || svc_uses(cgraph, copy) != 0) return false;
    for (int64_t i = 0; i < slots; ++i) {
        step->states.target[step->states.slots] = (char *) target->data + i * target->nb[2];
        step->states.target_row[step->states.slots] = target->nb[1];
        step->copies[step->states.slots++] = copy;
    }
    return true;
}

// Whether every sequence's state can be read when those before it in the batch have been written.
static bool svc_states_independent(const struct svc_states * states, int64_t sequences, int64_t bytes) {
    for (int64_t s = 0; s < sequences; ++s) {
        const char * source = states->source + states->rows[s] * states->source_row;
        if (source == states->target[0] + s * states->target_row[0]) continue;
        for (int64_t other = 0; other < sequences; ++other) {
            for (int i = 0; other != s && i < states->slots; ++i) {
                const char * target = states->target[i] + other * states->target_row[i];
                if (source < target + bytes && target < source + bytes) return false;
            }
        }
    }
    return true;
}

// Whether another node between the gathering of rows and the last copy touches the cache.
static bool svc_cache_untouched(const struct ggml_cgraph * cgraph, int first, int last, const struct svc_recurrent_step * step, const struct ggml_tensor * cache) {
    for (int i = first + 1; i < last; ++i) {
        const struct ggml_tensor * node = cgraph->nodes[i];
        bool own = ggml_op_is_empty(node->op) || ggml_is_empty(node);
        for (int slot = 0; slot < step->states.slots; ++slot) own = own || step->copies[slot] == node;
        if (own) continue;
        if (svc_root(node) == cache) return false;
        for (int src = 0; src < GGML_MAX_SRC && node->src[src]; ++src) {
            if (svc_root(node->src[src]) == cache) return false;
        }
    }
    return true;
}

// Finds the delta net that uses the rows of node `first`, and the copy of its states. Returns the last node's index, or 0.
static int svc_find_net(const struct ggml_cgraph * cgraph, int first, struct svc_recurrent_step * step) {
    const struct ggml_tensor * rows = cgraph->nodes[first];
    const int end = MIN(cgraph->n_nodes, first + SVC_NODES_AHEAD);
    for (int i = first + 1; i < end; ++i) {
        const struct ggml_tensor * node = cgraph->nodes[i];
        if (step->main == NULL) {
            if (node->op != GGML_OP_GATED_DELTA_NET || node->src[5]->src[0] != rows) continue;
            if (!svc_only_reshapes(cgraph, node->src[5], rows) || !svc_delta_net_supported(node) || svc_uses(cgraph, node) != 2) return 0;
            step->main = node;
            continue;
        }
        const size_t results = ggml_nelements(step->main->src[2]) * sizeof(float);  // before the states
        const bool of_net = node->op == GGML_OP_VIEW && node->src[0] == step->main;
        if (of_net && node->view_offs < results && node->view_offs + ggml_nbytes(node) > results) return 0;
        if (node->op != GGML_OP_CPY || node->src[0]->view_src != step->main) continue;
        if (node->src[0]->view_offs != results || !ggml_is_contiguous(node->src[0])) return 0;
        const int64_t sequences = step->main->src[2]->ne[3];
        const int64_t slots = MIN(step->main->src[2]->ne[2], ggml_get_op_params_i32(step->main, 0));
        const bool found = svc_add_slots(step, cgraph, node, ggml_nelements(rows) / sequences, sequences) && step->states.slots == slots;
        return found ? i : 0;
    }
    return 0;
}

// Finds the convolution that uses the rows of node `first`, and the copies of its states. Returns the last node's index, or 0.
static int svc_find_conv(const struct ggml_cgraph * cgraph, int first, struct svc_recurrent_step * step) {
    const struct ggml_tensor * rows = cgraph->nodes[first];
    const int end = MIN(cgraph->n_nodes, first + SVC_NODES_AHEAD);
    int copies = 0;
    for (int i = first + 1; i < end; ++i) {
        const struct ggml_tensor * node = cgraph->nodes[i];
        if (node->op == GGML_OP_CONCAT && node->src[0]->src[0] == rows) {
            if (!svc_only_reshapes(cgraph, node->src[0], rows) || ggml_get_op_params_i32(node, 0) != 0) return 0;
            step->main = node;
        } else if (step->main != NULL && node->op == GGML_OP_CPY && node->src[0]->view_src == step->main) {
            const struct ggml_tensor * window = node->src[0];
            const int slot = step->states.slots;
            if (window->nb[1] != step->main->nb[1] || window->ne[0] != step->main->src[0]->ne[0] || window->ne[1] != step->main->ne[1]) return 0;
            if (window->nb[2] != step->main->nb[2] || window->view_offs >= step->main->nb[1]) return 0;
            if (node->src[1]->ne[2] != 1 || !svc_add_slots(step, cgraph, node, window->ne[0] * window->ne[1], step->main->ne[2])) return 0;
            step->states.window[slot] = (int) (window->view_offs / sizeof(float));
            ++copies;
        } else if (step->main != NULL && node->op == GGML_OP_SSM_CONV && node->src[0] == step->main) {
            if (copies == 0 || svc_uses(cgraph, step->main) != copies + 1 || !svc_conv_supported(step->main, node)) return 0;
            step->conv = node;
            const struct ggml_tensor * next = i + 1 < cgraph->n_nodes ? cgraph->nodes[i + 1] : NULL;
            const bool silu = next && next->op == GGML_OP_UNARY && ggml_get_unary_op(next) == GGML_UNARY_OP_SILU && next->src[0] == node;
            if (silu && next->data == node->data && svc_uses(cgraph, node) == 1 && (node->flags & GGML_TENSOR_FLAG_OUTPUT) == 0) step->silu = next;
            return i;
        }
    }
    return 0;
}

// Whether the rows that node `i` gathers need not be gathered; then the step is due.
static bool svc_begins_step(struct svc_recurrent * state, const struct ggml_cgraph * cgraph, int i) {
    const struct ggml_tensor *rows = cgraph->nodes[i], *cache = rows->src[0], *ids = rows->src[1];
    if (rows->type != GGML_TYPE_F32 || cache->type != GGML_TYPE_F32 || cache->ne[2] != 1 || ids->type != GGML_TYPE_I32) return false;
    if (svc_root(ids)->op != GGML_OP_NONE || !ggml_is_contiguous(ids) || ggml_nelements(ids) != rows->ne[1] || rows->ne[1] > SVC_STATE_SEQUENCES) return false;
    for (int kind = 0; kind < 2; ++kind) {
        struct svc_recurrent_step found;
        memset(&found, 0, sizeof(found));
        const int last = kind == 0 ? svc_find_net(cgraph, i, &found) : svc_find_conv(cgraph, i, &found);
        if (last == 0) continue;
        found.states.source = (const char *) cache->data;
        found.states.source_row = cache->nb[1];
        memcpy(found.states.rows, ids->data, ggml_nbytes(ids));
        if (!svc_states_independent(&found.states, rows->ne[1], rows->nb[1]) || !svc_cache_untouched(cgraph, i, last, &found, svc_root(cache))) return false;
        *(kind == 0 ? &state->net : &state->conv) = found;
        return true;
    }
    return false;
}

static bool svc_is_copy_of(const struct svc_recurrent_step * step, const struct ggml_tensor * node) {
    for (int i = 0; i < step->states.slots; ++i) {
        if (step->copies[i] == node) return true;
    }
    return false;
}

enum svc_turn { SVC_TURN_USUAL,
    SVC_TURN_SKIP,
    SVC_TURN_COMPUTE };

// What to do at node `i`.
static enum svc_turn svc_recurrent_turn(struct svc_recurrent * state, const struct ggml_cgraph * cgraph, int i) {
    const struct ggml_tensor * node = cgraph->nodes[i];
    switch (node->op) {
        case GGML_OP_GET_ROWS: return !ggml_is_empty(node) && svc_begins_step(state, cgraph, i) ? SVC_TURN_SKIP : SVC_TURN_USUAL;
        case GGML_OP_CPY: return svc_is_copy_of(&state->net, node) || svc_is_copy_of(&state->conv, node) ? SVC_TURN_SKIP : SVC_TURN_USUAL;
        case GGML_OP_UNARY: return node == state->conv.silu ? SVC_TURN_SKIP : SVC_TURN_USUAL;
        case GGML_OP_GATED_DELTA_NET: return svc_delta_net_supported(node) ? SVC_TURN_COMPUTE : SVC_TURN_USUAL;
        case GGML_OP_CONCAT: return node == state->conv.main ? SVC_TURN_COMPUTE : SVC_TURN_USUAL;
        case GGML_OP_SSM_CONV: return node == state->conv.conv ? SVC_TURN_COMPUTE : SVC_TURN_USUAL;
        default: return SVC_TURN_USUAL;
    }
}

static void svc_recurrent_compute(struct svc_recurrent * state, const struct ggml_compute_params * params, struct ggml_tensor * node) {
    if (node->op == GGML_OP_GATED_DELTA_NET) {
        svc_delta_net(params, node, node == state->net.main ? &state->net.states : NULL);
    } else if (node->op == GGML_OP_CONCAT) {
        svc_conv(params, node, state->conv.conv, &state->conv.states);
    } else {
        svc_conv_finish(params, state->conv.main, node, state->conv.silu != NULL);
    }
}
