// Exact draws from a row of logits, and log probabilities. A second draw with the same noise from similar logits mostly gives the same
// token: draft models draw so, and rounding rarely changes an answer with a seed.
#pragma once

#include <cstdint>
#include <vector>

namespace svc {

struct candidate {
    float logit;
    int32_t id;
};

// SplitMix64 (Steele, Lea, Flood 2014): passes BigCrush, one multiply-xor chain a draw, any seed is good.
struct random_stream {
    uint64_t state = 0;

    uint64_t next() {
        uint64_t z = (state += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
};

// The largest logits of a row, and what is known of the others.
struct shortlist {
    std::vector<candidate> best;  // every token whose logit is above `cut`, best first, of equals the lower id first
    float cut = 0;  // no other token's logit is larger
    double rest_least = 0, rest_most = 0;  // bounds of the sum of e^(logit - that of the best) over the others
};

// No token id: the draw depends on tokens that are not in the list.
constexpr int32_t UNDECIDED = -2;

// The settings of the draw, its random stream (a number a draw), and scratch memory that is kept between draws.
struct drawer {
    float temperature = 1, top_p = 1, min_p = 0;
    int32_t top_k = 0;
    random_stream random;
    std::vector<float> weight;  // [n_vocab] exp((logit - max) / temperature)
    std::vector<candidate> candidates;  // [top_k]

    // A token id; -1 when no logit is finite. Logits of -inf and NaN are never drawn.
    int32_t draw(const float * logits, int32_t n);
    // The same token from a list of the largest of n logits, or UNDECIDED, which consumes no random number.
    int32_t draw(const shortlist & few, int32_t n);
    // Takes over settings and random stream, to draw what the other will.
    void follow(const drawer & other);
};

// The drawer of a svc_sampler_new handle.
const drawer & drawer_of(void * sampler);

// The logits [n] whose bit is set in `mask`, words with the lowest bit first; -inf for the others.
void copy_allowed(const float * logits, const uint32_t * mask, int32_t n, float * out);

// Natural logarithm of the sum of e^logit.
double log_sum_exp(const float * logits, int32_t n, std::vector<float> & scratch);

// The k largest logits, best first; of equals the lower id first.
std::vector<candidate> best(const float * logits, int32_t n, int32_t k);

}  // namespace svc
