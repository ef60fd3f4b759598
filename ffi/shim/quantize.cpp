// Writes model files with another type of weights.

#include "guard.h"
#include "model.h"
#include "svc_llama.h"

#include "imatrix-loader.h"

#include <cstdio>
#include <unistd.h>

using svc::guard;

namespace {

struct progress {
    int fd = -1;
    std::string line;  // text of the line that is being logged
};

// llama_model_quantize tells how far it is in its log alone: "[   3/ 290] blk.0.attn_q.weight …", a line in pieces.
void on_log(ggml_log_level level, const char * text, void * user_data) {
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
    progress & p = *static_cast<progress *>(user_data);
    p.line += text;
    int done = 0, total = 0;
    if (p.fd >= 0 && sscanf(p.line.c_str(), "[%d/%d]", &done, &total) == 2) {
        const std::string report = std::to_string(done) + ' ' + std::to_string(total) + '\n';
        [[maybe_unused]] const auto written = write(p.fd, report.data(), (unsigned) report.size());
        p.line = " ";  // the rest of this line says nothing
    }
    if (text[0] != '\0' && text[strlen(text) - 1] == '\n') p.line.clear();
}

// Means of the squares a row; experts that saw nothing count as if all columns mattered alike.
std::vector<float> means(const common_imatrix_entry & entry) {
    std::vector<float> out(entry.sums.size());
    const size_t n_matrices = std::max<size_t>(1, entry.counts.size());
    const size_t columns = entry.sums.size() / n_matrices;
    for (size_t i = 0; i < out.size(); i++) {
        const int64_t count = entry.counts.empty() ? 1 : entry.counts[i / std::max<size_t>(1, columns)];
        out[i] = count > 0 ? entry.sums[i] / (float) count : 1.0f;
    }
    return out;
}

}  // namespace

int32_t svc_quantize(const char * input, const char * output, int32_t ftype, int32_t n_threads, const char * importance,
    int32_t progress_fd) {
    return guard<int32_t>(-1, [&]() -> int32_t {
        llama_model_quantize_params params = llama_model_quantize_default_params();
        params.ftype = (llama_ftype) ftype;
        params.nthread = n_threads;
        params.allow_requantize = true;  // the source may be all there is
        common_imatrix matrix;
        std::vector<std::vector<float>> data;
        std::vector<llama_model_imatrix_data> columns;
        if (importance != nullptr) {
            if (!common_imatrix_load(importance, matrix) || matrix.entries.empty()) {
                throw std::runtime_error("the file of the importance matrix could not be read, or holds none");
            }
            data.reserve(matrix.entries.size());
            for (const auto & [name, entry] : matrix.entries) {
                data.push_back(means(entry));
                columns.push_back({name.c_str(), data.back().data(), data.back().size()});
            }
            columns.push_back({nullptr, nullptr, 0});
            params.imatrix = columns.data();
        }
        progress p;
        p.fd = progress_fd;
        ggml_log_callback log = nullptr;
        void * log_data = nullptr;
        llama_log_get(&log, &log_data);
        llama_log_set(on_log, &p);
        const uint32_t code = llama_model_quantize(input, output, &params);
        llama_log_set(log, log_data);
        if (code != 0) throw std::runtime_error("the model could not be quantized to this type");
        return 0;
    });
}
