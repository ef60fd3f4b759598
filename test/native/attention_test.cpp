// Property tests of the attention kernel (ffi/kernels/attention.h) against a scalar reference in double precision: random shapes,
// strides, masks, streams and numbers of threads. Includes the kernel's source: the compiler's flags select its vector width. With
// SVC_BATCH_INVARIANT=1 the KV cache's positions are there, and rows are the same bit for bit in all batches.

#include "harness.h"

#include "attention.cpp"

#include <cmath>
#include <numeric>

namespace {

constexpr int CASES = 150;
constexpr int BATCHES = 8;
constexpr ggml_type CELL_TYPES[] = {GGML_TYPE_F16, GGML_TYPE_F32, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q5_1, GGML_TYPE_IQ4_NL};

struct attention_case {
    int DK, DV, key_heads, heads, rows, cells, streams, threads;
    ggml_type k_type, v_type;
    float max_bias, softcap;
    bool masked, sinks;
    int64_t gap;

    static attention_case random() {
        attention_case c = {};
        c.DK = LANES * random_int(1, 9);
        c.DV = LANES * random_int(1, 9);
        c.key_heads = random_int(1, 3);
        c.heads = c.key_heads * random_int(1, 5);
        c.rows = random_int(0, 2) == 0 ? random_int(1, random_int(0, 3) == 0 ? 300 : 90) : random_int(1, 9);
        const bool is_long = random_int(0, 3) == 0;  // ranges of cells, which are merged
        c.cells = is_long ? random_int(1000, 2500) : random_int(1, 300);
        if (is_long) c.rows = std::min(c.rows, 9);
        c.streams = random_int(0, 5) == 0 ? 2 : 1;
        c.threads = random_int(1, 3);
        c.max_bias = random_int(0, 4) == 0 ? 8.0f : 0.0f;
        c.softcap = random_int(0, 4) == 0 ? 5.0f : 0.0f;
        c.masked = random_int(0, 5) != 0;
        c.sinks = random_int(0, 4) == 0;
        c.gap = random_int(0, 1) * 64;
        c.k_type = c.v_type = GGML_TYPE_F16;
        if (random_int(0, 3) == 0) {  // converted in blocks of 32 values
            c.DK = (c.DK + 31) / 32 * 32;
            c.DV = (c.DV + 31) / 32 * 32;
            c.k_type = CELL_TYPES[random_int(0, std::size(CELL_TYPES) - 1)];
            c.v_type = CELL_TYPES[random_int(0, std::size(CELL_TYPES) - 1)];
        }
        return c;
    }
};

// Rows of several sequences: each sees some of the cells of its own; sometimes with ALiBi distances. `positions`: those of a sequence
// differ.
void fill_mask(tensor & mask, const attention_case & c, std::vector<int32_t> & positions) {
    const ggml_fp16_t hidden = ggml_fp32_to_fp16(-INFINITY);
    for (int stream = 0; stream < c.streams; ++stream) {
        const int sequences = random_int(1, 4);
        std::vector<int> owner(c.cells);
        for (int & sequence : owner) sequence = random_int(0, sequences - 1);
        std::vector<int32_t> order(c.cells);
        std::iota(order.begin(), order.end(), random_int(0, 1000));
        std::shuffle(order.begin(), order.end(), generator);
        std::vector<int> used(sequences, 0);
        for (int cell = 0; cell < c.cells; ++cell) {
            positions.push_back(random_int(0, 30) == 0 ? order[cell] + 5000 : 3000 + used[owner[cell]]++);
        }
        int sequence = 0;
        for (int row = 0; row < c.rows; ++row) {
            if (random_int(0, 12) == 0) sequence = random_int(0, sequences - 1);
            const int length = random_int(0, 20) == 0 ? 0 : c.cells - random_int(0, c.cells / 3);
            for (int cell = 0; cell < c.cells; ++cell) {
                const bool visible = cell < length && owner[cell] == sequence;
                const float bias = c.max_bias > 0 ? (float) (cell - length) / 64 : 0.0f;
                mask.row<ggml_fp16_t>(row, 0, stream)[cell] = visible ? ggml_fp32_to_fp16(bias) : hidden;
            }
        }
    }
}

void fill_cells(tensor & cells) {
    const int n = cells.t.ne[0];
    std::vector<float> values(n);
    cells.each_row<char>([&](char * row) {
        std::generate(values.begin(), values.end(), random_float);
        ggml_quantize_chunk(cells.t.type, values.data(), row, 0, 1, n, nullptr);
    });
}

using cell_values = std::vector<std::vector<float>>;

// The values of a head's cells.
cell_values values_of(tensor & cells, int head, int stream) {
    const ggml_type_traits * traits = ggml_get_type_traits(cells.t.type);
    cell_values values(cells.t.ne[1], std::vector<float>(cells.t.ne[0]));
    for (size_t cell = 0; cell < values.size(); ++cell) {
        const char * row = cells.row<char>(cell, head, stream);
        if (traits->to_float) traits->to_float(row, values[cell].data(), values[cell].size());
        if (!traits->to_float) memcpy(values[cell].data(), row, values[cell].size() * sizeof(float));
    }
    return values;
}

struct operands {
    tensor q, k, v, mask, sinks, dst;
    std::vector<int32_t> positions;  // [streams][cells]

    explicit operands(const attention_case & c) : q(GGML_TYPE_F32, c.DK, c.rows, c.heads, c.streams, c.gap), k(c.k_type, c.DK, c.cells, c.key_heads, c.streams, c.gap),
                                                  v(c.v_type, c.DV, c.cells, c.key_heads, c.streams, c.gap), mask(GGML_TYPE_F16, c.cells, c.rows, 1, c.streams),
                                                  sinks(GGML_TYPE_F32, c.heads), dst(GGML_TYPE_F32, c.DV, c.heads, c.rows, c.streams) {
        q.fill();
        sinks.fill();
        fill_cells(k);
        fill_cells(v);
        if (c.masked) fill_mask(mask, c, positions);
        mask.t.extra = positions.data();
        dst.t.op = GGML_OP_FLASH_ATTN_EXT;
        dst.t.src[0] = &q.t;
        dst.t.src[1] = &k.t;
        dst.t.src[2] = &v.t;
        dst.t.src[3] = c.masked ? &mask.t : nullptr;
        dst.t.src[4] = c.sinks ? &sinks.t : nullptr;
        const float params[] = {0.2f, c.max_bias, c.softcap};
        memcpy(dst.t.op_params, params, sizeof(params));
    }

    float bias(const attention_case & c, int stream, int row, int cell) {
        return c.masked ? ggml_fp16_to_fp32(mask.row<ggml_fp16_t>(row, 0, stream)[cell]) : 0.0f;
    }

    // Cells that no row sees must not matter: NaN there would show.
    void poison_hidden(const attention_case & c) {
        for (int stream = 0; stream < c.streams; ++stream) {
            for (int cell = 0; cell < c.cells; ++cell) {
                bool visible = false;
                for (int row = 0; row < c.rows; ++row) visible |= bias(c, stream, row, cell) != -INFINITY;
                for (int head = 0; !visible && head < c.key_heads; ++head) {
                    memset(k.row<char>(cell, head, stream), 0xFF, ggml_row_size(c.k_type, c.DK));  // NaN in all types
                    memset(v.row<char>(cell, head, stream), 0xFF, ggml_row_size(c.v_type, c.DV));
                }
            }
        }
    }
};

void compute(operands & o, int threads) {
    run_threads(threads, svc_attention_work_size(threads, &o.dst.t), [&](const ggml_compute_params * params) { svc_attention(params, &o.dst.t); });
}

// A row that sees the positions [from, to) of its sequence, in a batch of its own: [heads][DV].
std::vector<float> row_in_batch(attention_case c, const std::vector<float> & content, int from, int to, bool alone) {
    c.masked = true;
    c.streams = 1;
    c.k_type = c.v_type = GGML_TYPE_F16;
    c.rows = alone ? 1 : random_int(1, 40);
    c.cells = to + (alone ? 0 : random_int(0, 900));
    c.threads = alone ? 1 : random_int(1, 4);
    operands o(c);
    std::vector<int32_t> cell_of(c.cells);  // the first `to`: by position
    std::iota(cell_of.begin(), cell_of.end(), 0);
    if (!alone) std::shuffle(cell_of.begin(), cell_of.end(), generator);
    std::mt19937 same(7);
    const auto next = [&] { return content[same() % content.size()]; };
    for (int position = 0; position < to; ++position) {
        const int cell = cell_of[position];
        o.positions[cell] = position;
        for (int head = 0; head < c.key_heads; ++head) {
            std::generate_n(o.k.row<ggml_fp16_t>(cell, head), c.DK, [&] { return ggml_fp32_to_fp16(next()); });
            std::generate_n(o.v.row<ggml_fp16_t>(cell, head), c.DV, [&] { return ggml_fp32_to_fp16(next()); });
        }
    }
    // Rows after and before it are others of its sequence, or of one that shares its beginning.
    const int target = random_int(0, c.rows - 1), shared = random_int(0, to), first_own = random_int(0, target);
    for (int row = 0; row < c.rows; ++row) {
        const int end = row < first_own ? shared : to + row - target;
        for (int i = 0; i < c.cells; ++i) {
            const bool is_other = row < first_own && i >= to;
            const bool visible = i >= to ? is_other : i >= from && i < end;
            const float bias = c.max_bias > 0 ? (float) (i - to) / 64 : 0.0f;
            o.mask.row<ggml_fp16_t>(row)[cell_of[i]] = ggml_fp32_to_fp16(visible ? bias : -INFINITY);
        }
    }
    for (int i = to; i < c.cells; ++i) o.positions[cell_of[i]] = shared + i - to;
    for (int head = 0; head < c.heads; ++head) std::generate_n(o.q.row(target, head), c.DK, next);
    std::generate_n(o.sinks.row(0), c.heads, next);
    compute(o, c.threads);
    std::vector<float> out;
    for (int head = 0; head < c.heads; ++head) out.insert(out.end(), o.dst.row(head, target), o.dst.row(head, target) + c.DV);
    return out;
}

// Whether a row is the same bit for bit in random batches, at random cells, on random numbers of threads.
bool is_invariant(const attention_case & c) {
    std::vector<float> content(997);
    std::generate(content.begin(), content.end(), random_float);
    const int to = random_int(0, 2) == 0 ? random_int(600, 1800) : random_int(1, 300), from = random_int(0, 1) * random_int(0, to - 1);
    const std::vector<float> wanted = row_in_batch(c, content, from, to, true);
    for (int i = 0; i < BATCHES; ++i) {
        const std::vector<float> found = row_in_batch(c, content, from, to, false);
        if (memcmp(found.data(), wanted.data(), wanted.size() * sizeof(float)) != 0) return false;
    }
    return true;
}

double slope_of(const attention_case & c, int head) {
    if (c.max_bias == 0) return 1;
    int n = 1;
    while (n * 2 <= c.heads) n *= 2;
    return head < n ? std::exp2(-c.max_bias / n * (head + 1)) : std::exp2(-c.max_bias / 2 / n * (2 * (head - n) + 1));
}

// Softmax attention of one query by its definition.
std::vector<double> reference(operands & o, const attention_case & c, const cell_values & keys, const cell_values & values, int stream, int row, int head) {
    const float * q = o.q.row(row, head, stream);
    std::vector<double> scores(c.cells, -INFINITY);
    double top = c.sinks ? o.sinks.row(0)[head] : -INFINITY;
    for (int cell = 0; cell < c.cells; ++cell) {
        const double bias = slope_of(c, head) * o.bias(c, stream, row, cell);
        if (bias == -INFINITY) continue;
        double sum = 0;
        for (int d = 0; d < c.DK; ++d) sum += (double) q[d] * keys[cell][d];
        sum *= 0.2f;
        scores[cell] = (c.softcap != 0 ? c.softcap * std::tanh(sum / c.softcap) : sum) + bias;
        top = std::max(top, scores[cell]);
    }
    std::vector<double> out(c.DV, 0.0);
    double total = c.sinks ? std::exp(o.sinks.row(0)[head] - top) : 0;
    for (int cell = 0; cell < c.cells; ++cell) {
        if (scores[cell] == -INFINITY) continue;
        const double weight = std::exp(scores[cell] - top);
        total += weight;
        for (int d = 0; d < c.DV; ++d) out[d] += weight * values[cell][d];
    }
    for (double & value : out) value = total == 0 ? 0 : value / total;
    return out;
}

double largest_error(operands & o, const attention_case & c) {
    double largest = 0;
    for (int stream = 0; stream < c.streams; ++stream) {
        for (int head = 0; head < c.heads; ++head) {
            const int key_head = head / (c.heads / c.key_heads);
            const cell_values keys = values_of(o.k, key_head, stream), values = values_of(o.v, key_head, stream);
            for (int row = 0; row < c.rows; ++row) {
                const std::vector<double> wanted = reference(o, c, keys, values, stream, row, head);
                const float * found = o.dst.row(head, row, stream);
                for (int d = 0; d < c.DV; ++d) {
                    const double error = std::fabs(found[d] - wanted[d]);
                    if (!(error <= largest)) largest = error;  // keeps NaN
                }
            }
        }
    }
    return largest;
}

}  // namespace

int main() {
    double largest = 0;
    for (int i = 0; i < CASES; ++i) {
        const attention_case c = attention_case::random();
        operands o(c);
        o.poison_hidden(c);
        if (!svc_attention_supported(&o.dst.t)) return report("a supported shape is refused", NAN, 0) ? 0 : 1;
        compute(o, c.threads);
        const double error = largest_error(o, c);
        if (!(error <= 1e-4)) {
            printf("case %d: DK %d %s, DV %d %s, heads %d/%d, rows %d, cells %d, streams %d, threads %d, bias %g, softcap %g, sinks %d\n", i, c.DK,
                ggml_type_name(c.k_type), c.DV, ggml_type_name(c.v_type), c.heads, c.key_heads, c.rows, c.cells, c.streams, c.threads, c.max_bias, c.softcap, c.sinks);
            report("attention", error, 1e-4);
            return 1;
        }
        if (svc_batch_invariant() && !is_invariant(c)) {
            printf("case %d: DK %d, DV %d, heads %d/%d, bias %g, softcap %g\n", i, c.DK, c.DV, c.heads, c.key_heads, c.max_bias, c.softcap);
            return report("a row depends on its batch", NAN, 0) ? 0 : 1;
        }
        largest = std::max(largest, error);
    }
    char what[80];
    snprintf(what, sizeof(what), "attention%s, %d lanes, %d random operations", svc_batch_invariant() ? " by position" : "", LANES, CASES);
    return report(what, largest, 1e-4) ? 0 : 1;
}
