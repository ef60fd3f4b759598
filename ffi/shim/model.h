// What the shim's files share about llama.cpp's types.
#pragma once

#include "device_rows.h"
#include "llama.h"
#include "row_layout.h"

#include <memory>
#include <string>
#include <vector>

namespace svc {

// Where the libraries' log goes, and the first error since it was last asked for: all that some failures say.
ggml_log_callback log_callback();
std::string take_log_error();
// The last error of a device that a back end has logged, empty before that. For the handler of crashes: it waits for no lock.
const char * device_error();

// Parameters from the columns of svc_load_begin and of svc_context_new.
llama_model_params load_params(const int32_t * columns, int32_t n);
llama_context_params context_params(const int32_t * columns, int32_t n);

struct calibration;
void free_calibration(calibration * c);
struct calibration_deleter {
    void operator()(calibration * c) const { free_calibration(c); }
};

// Makes what collects importance statistics, switched off.
calibration * new_calibration(llama_context_params & params);

// What makes a row of this node depend on other rows, on cells or on threads; empty if nothing does.
std::string node_variance(const ggml_tensor * node);

struct draft;
void free_draft(draft * d);
struct draft_deleter {
    void operator()(draft * d) const { free_draft(d); }
};

// A context together with the columns llama_decode wants and JavaScript does not keep.
struct context {
    llama_model * model = nullptr;
    llama_context * ctx = nullptr;
    llama_context_params params = {};  // what ctx was made with
    std::vector<int32_t> n_seq_id;  // [n_batch], all 1
    std::vector<llama_seq_id *> seq_id;  // [n_batch], each points into the caller's sequence column
    int32_t n_threads = 1;
    std::unique_ptr<calibration, calibration_deleter> stats;  // outlives ctx, whose graphs call it
    row_traffic traffic;
    row_layout layout;  // of passes whose logits a device computes
    device_rows_ptr on_device;  // outlives ctx, whose graphs it adds to; empty where the CPU computes the logits
    std::unique_ptr<draft, draft_deleter> drafter;  // freed before ctx, to which it refers
};

// Has the nodes of a context's graphs shown to its statistics while something reads them.
void watch_nodes(context & c);
bool nodes_are_watched(const context & c);
// While `variance` is not NULL, it gets the first node of a graph whose rows may depend on their batch.
void inspect_nodes(context & c, std::string * variance);
// The logits of a row of the last pass, in main memory; NULL if it has none.
float * row_logits(context & c, int32_t row);

}  // namespace svc
