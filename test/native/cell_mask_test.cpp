// The mask that ffi/hooks/cell_mask.h fills, in random caches and passes beside its definition: a row sees the cells of its sequence up to its
// position, within the window. With an argument, prints the time of both loops too.

#include "cell_mask.h"
#include "llama-batch.h"
#include "llama-hparams.h"
#include "llama-kv-cells.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

namespace {

std::mt19937 generator(1);

int random_int(int first, int last) { return std::uniform_int_distribution<int>(first, last)(generator); }

// What the hook reads of llama.cpp's arguments, and of a pass.
struct pass_rows {
    std::vector<llama_pos> position;
    std::vector<llama_seq_id> sequence;
    std::vector<llama_seq_id *> seq_id;
    const llama_pos * pos = nullptr;

    bool is_pos_2d() const { return false; }
    void add(llama_seq_id s, llama_pos p) {
        sequence.push_back(s);
        position.push_back(p);
    }
    void close() {
        for (auto & s : sequence) seq_id.push_back(&s);
        pos = position.data();
    }
};

struct mask_args {
    const llama_hparams & hparams;
    const pass_rows * ubatch;
    const std::vector<llama_kv_cells> & v_cells;
    const std::vector<uint32_t> & seq_to_stream;
    uint32_t n_swa;
    llama_swa_type swa_type;
    int64_t n_kv, n_stream, n_tps;
};

bool sees(const mask_args & a, int64_t row, int64_t cell) {
    const llama_seq_id s = a.ubatch->seq_id[row][0];
    const auto & cells = a.v_cells[a.seq_to_stream[s]];
    if (cells.is_empty(cell) || !cells.seq_has(cell, s) || cells.pos_get(cell) > a.ubatch->pos[row]) return false;
    return !llama_hparams::is_masked_swa(a.n_swa, a.swa_type, cells.pos_get(cell), a.ubatch->pos[row]);
}

// Every row over all cells.
void fill_by_row(const mask_args & a, ggml_fp16_t * data) {
    for (int64_t i = 0; i < a.n_stream * a.n_tps; i++) {
        for (int64_t j = 0; j < a.n_kv; j++) data[i * a.n_kv + j] = sees(a, i, j) ? 0 : 0xfc00;
    }
}

// Streams with cells of their own and a shared beginning, some of them removed, and the rows of a pass behind them.
struct random_pass {
    std::vector<llama_kv_cells> cells;
    std::vector<uint32_t> stream;
    pass_rows rows;
    int64_t n_streams;

    random_pass(int64_t n_streams, int64_t n_kv, int sequences, int rows_each) : n_streams(n_streams) {
        cells.resize(n_streams);
        for (auto & c : cells) c.resize(n_kv);
        for (int s = 0; s < sequences; s++) stream.push_back(s % n_streams);
        std::vector<llama_pos> ends(sequences, 0);
        std::vector<uint32_t> next(n_streams, 0);
        const int64_t room = n_kv / std::max<int64_t>(1, sequences / n_streams);
        for (int s = 0; s < sequences; s++) {
            auto & c = cells[stream[s]];
            const int count = random_int(rows_each, std::max<int>(rows_each, room - 1));
            for (int i = 0; i < count && next[stream[s]] < n_kv; i++) {
                const uint32_t cell = next[stream[s]]++;
                if (random_int(0, 19) == 0) continue;  // a hole
                c.pos_set(cell, ends[s]++);
                c.seq_add(cell, s);
                const int other = random_int(0, sequences - 1);
                if (random_int(0, 3) == 0 && stream[other] == stream[s] && other != s) c.seq_add(cell, other);
            }
        }
        for (int s = 0; s < sequences; s++) {
            for (int i = 0; i < rows_each; i++) rows.add(s, std::max(0, ends[s] - rows_each + i));
        }
        rows.close();
    }
};

int failures = 0;

void check(int at) {
    const int64_t n_streams = random_int(0, 3) == 0 ? random_int(2, 3) : 1;
    const int sequences = n_streams > 1 ? n_streams : random_int(1, 12);
    const int rows_each = random_int(0, 2) == 0 ? 1 : random_int(2, 40);
    const int64_t n_kv = 256 * random_int(1, 5);
    const random_pass p(n_streams, n_kv, sequences, rows_each);
    llama_hparams hparams;
    const llama_swa_type types[] = {LLAMA_SWA_TYPE_NONE, LLAMA_SWA_TYPE_STANDARD, LLAMA_SWA_TYPE_CHUNKED, LLAMA_SWA_TYPE_SYMMETRIC};
    const llama_swa_type type = types[random_int(0, 3)];
    const uint32_t window = type == LLAMA_SWA_TYPE_NONE ? 0 : random_int(1, 200);
    const mask_args args{hparams, &p.rows, p.cells, p.stream, window, type, n_kv, n_streams, (int64_t) p.rows.position.size() / n_streams};
    std::vector<ggml_fp16_t> expected(p.rows.position.size() * n_kv), given(expected.size(), 1);
    fill_by_row(args, expected.data());
    ggml_tensor mask = {};
    mask.type = GGML_TYPE_F16;
    mask.data = given.data();
    const bool is_filled = svc_fill_mask(args, &mask, true);
    if (is_filled != (p.rows.position.size() >= 4)) failures++;
    if (!is_filled) return;
    if (given != expected) {
        printf("cell_mask: case %d differs (type %d, window %u)\n", at, (int) type, window);
        failures++;
    }
    mask.type = GGML_TYPE_F32;
    std::vector<float> wide(expected.size(), 1);
    mask.data = wide.data();
    svc_fill_mask(args, &mask, true);
    for (size_t i = 0; i < wide.size(); i++) failures += (wide[i] == 0) != (expected[i] == 0) || (wide[i] != 0 && wide[i] != -INFINITY);
    failures += svc_fill_mask(args, &mask, false);  // not causal: llama.cpp's own loop
}

void check_steps() {
    ggml_tensor keys = {};  // without memory, as while sizes are estimated
    failures += svc_cell_step(256, &keys, 64, 24000) != 256;
    failures += svc_cell_step(256, nullptr, 64, 24000) != 256;
}

template <class F>
double milliseconds(F run) {
    double best = 1e9;
    for (int i = 0; i < 7; i++) {
        const auto from = std::chrono::steady_clock::now();
        run();
        best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count());
    }
    return best;
}

void print_times() {
    printf("| Rows | Cells | By row, ms | By cell, ms |\n|--:|--:|--:|--:|\n");
    for (const int rows : {8, 64, 256}) {
        for (const int64_t n_kv : {512, 6144, 24576}) {
            const random_pass p(1, n_kv, std::min<int>(rows, 255), 1);
            llama_hparams hparams;
            const mask_args args{hparams, &p.rows, p.cells, p.stream, 0, LLAMA_SWA_TYPE_NONE, n_kv, 1, (int64_t) p.rows.position.size()};
            std::vector<ggml_fp16_t> data(p.rows.position.size() * n_kv);
            ggml_tensor mask = {};
            mask.type = GGML_TYPE_F16;
            mask.data = data.data();
            const double by_row = milliseconds([&] { fill_by_row(args, data.data()); });
            const double by_cell = milliseconds([&] { svc_fill_mask(args, &mask, true); });
            printf("| %d | %lld | %.3f | %.3f |\n", rows, (long long) n_kv, by_row, by_cell);
        }
    }
}

}  // namespace

int main(int argc, char **) {
    for (int i = 0; i < 400; i++) check(i);
    check_steps();
    if (argc > 1) print_times();
    printf("cell_mask: %s\n", failures == 0 ? "400 passes ok" : "FAILED");
    return failures == 0 ? 0 : 1;
}
