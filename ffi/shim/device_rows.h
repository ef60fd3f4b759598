// Rows of logits that a device has computed: it sends the largest of each, and whole rows where one is asked for.
#pragma once

#include "draw.h"
#include "llama.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace svc {

struct device_rows;
void free_device_rows(device_rows * d);
struct device_rows_deleter {
    void operator()(device_rows * d) const { free_device_rows(d); }
};
using device_rows_ptr = std::unique_ptr<device_rows, device_rows_deleter>;

// What has been copied for sampling since a context was made, and how often it was waited for.
struct row_traffic {
    int64_t passes = 0, rows = 0, bytes = 0, waits = 0, whole_rows = 0;
};

// Adds to the parameters of a context that each of its sequences is sampled from a list of its largest logits; empty where that does
// not apply: no layers on a device, or too many sequences. The result must outlive the context.
device_rows_ptr list_rows(const llama_model * model, llama_context_params & params);

// Main memory that llama.cpp reserves for the rows that passes of such a context return, bytes; no function of its own counts it.
int64_t row_buffer_bytes(const llama_model * model, const llama_context_params & params, bool are_listed);

// To be called with the new context, whose traffic it counts from now on. False: the device lacks an operation, or the logits are computed on
// the CPU; the context gives whole rows then.
bool rows_are_listed(device_rows & d, llama_context * ctx, row_traffic & traffic);

// After the call that begins a pass of n rows; 0 where it failed.
void begin_pass(device_rows & d, int32_t n, const int8_t * output);
// Waits for it, at the first call after a pass that has begun without an error.
void wait_for_pass(device_rows & d);

// The listed tokens of a row as the model left them, in no order; `sum` of e^(logit - top) over all tokens, `top` the largest logit. False: none
// were listed, or a logit is not a number.
struct listed_row {
    std::vector<candidate> tokens;
    float cut, top;  // no other token's logit is larger than cut
    double sum;
};
bool listed(const device_rows & d, int32_t row, listed_row & out);

// The logits of a row, copied from the device at the first call after a pass; NULL if it has none.
float * whole_row(device_rows & d, int32_t row);

}  // namespace svc
