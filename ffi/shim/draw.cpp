// Samples a token from logits. Exact, and only as much work as the settings need:
//   greedy               one argmax over the logits
//   temperature only     two passes (weights, race); no candidate array, no sort
//   min_p                one comparison a token, then a draw from the survivors
//   top_p                probabilities binned by logit; only the bin that crosses the threshold is sorted
//   top_k (with others)  the k best by a heap that skips blocks of 64 below its minimum
// Draws by a race: the first of exponential clocks, one a token, that tick as fast as the weights are large. The noise of a clock is a
// function of seed, position and token, so that a small change of the weights rarely changes the winner: two draws with common noise from
// distributions of total variation distance d agree with a chance of (1 - d) / (1 + d) at least (Daliri, Musco, Suresh 2024). An inverse
// CDF, with one number for all tokens, moves every token behind the one whose weight has changed.
// Order of the stages: temperature, top_k, top_p, min_p; the draw is from what is left, renormalised.

#include "draw.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

// One compilation a CPU generation, chosen when the library is loaded: by glibc's loader, others cannot.
#if defined(__x86_64__) && defined(__GLIBC__)
#define SVC_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SVC_CLONES
#endif

using svc::candidate;
using svc::drawer;

namespace {

constexpr int32_t BLOCK = 64;
constexpr int32_t BINS = 4096;  // 128 an octave: weights below 2^-32 share the last one

// Largest of n values; -inf for none. NaN never wins.
SVC_CLONES float maximum(const float * x, int32_t n) {
    float best = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max \
                           : best)
    for (int32_t i = 0; i < n; i++) best = x[i] > best ? x[i] : best;
    return best;
}

// First index of the largest value, -1 when nothing is greater than -inf.
int32_t argmax(const float * x, int32_t n) {
    float best = -std::numeric_limits<float>::infinity();
    int32_t at = -1;
    for (int32_t i = 0; i < n; i += BLOCK) {
        const int32_t len = std::min(BLOCK, n - i);
        if (maximum(x + i, len) > best) {
            for (int32_t j = i; j < i + len; j++) {
                if (x[j] > best) best = x[j], at = j;
            }
        }
    }
    return at;
}

// e^x for -87 <= x <= 0, to about 2 ulp: range reduction by log2(e) and a degree-6 polynomial, written so that it vectorises.
__attribute__((always_inline)) inline float exp_nonpositive(float x) {
    const float t = x * 1.44269504f;
    const float k = (float) (int32_t) (t - 0.5f);
    const float f = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    float p = 1.3981999507e-3f;
    p = p * f + 8.3334519073e-3f;
    p = p * f + 4.1665795894e-2f;
    p = p * f + 1.6666665459e-1f;
    p = p * f + 5.0000001201e-1f;
    p = p * f * f + f + 1.0f;
    union {
        int32_t i;
        float f;
    } scale;
    scale.i = ((int32_t) k + 127) << 23;
    return p * scale.f;
}

// weight[i] = exp((x[i] - top) * inverse_temperature); the sum of each block of 64 goes to the double total.
SVC_CLONES double weights(const float * x, int32_t n, float top, float inverse_temperature, float * weight) {
    double total = 0;
    for (int32_t i = 0; i < n; i += BLOCK) {
        const int32_t len = std::min(BLOCK, n - i);
#pragma omp simd
        for (int32_t j = 0; j < len; j++) {
            const float d = (x[i + j] - top) * inverse_temperature;
            // 0 below that, for -inf and for NaN. A product, as a choice becomes a branch, and with it no loop of vectors.
            weight[i + j] = exp_nonpositive(d > -87.0f ? d : -87.0f) * (float) (d > -87.0f);
        }
        float sum = 0;
#pragma omp simd reduction(+ \
                           : sum)
        for (int32_t j = 0; j < len; j++) sum += weight[i + j];
        total += sum;
    }
    return total;
}

// Bin of a weight in [0, 1], the largest first. Positive floats sort like their bits, so the leading bits are a logarithm
// that costs nothing.
inline int32_t bin_of(float weight) {
    union {
        float f;
        int32_t i;
    } bits = {weight};
    const int32_t bin = (0x3f800000 - bits.i) >> 16;
    return bin < 0 ? 0 : bin < BINS - 1 ? bin
                                        : BINS - 1;
}

// The largest weight of a bin.
float top_of(int32_t bin) {
    union {
        int32_t i;
        float f;
    } bits = {0x3f800000 - (bin << 16)};
    return bits.f;
}

// Adds up the weights in each bin.
SVC_CLONES void fill_bins(const float * weight, int32_t n, std::vector<double> & mass) {
    std::vector<double> odd(BINS, 0.0);  // neighbours often share a bin, and would wait for each other
    mass.assign(BINS, 0.0);
    int32_t bin[BLOCK];
    for (int32_t i = 0; i < n; i += BLOCK) {
        const int32_t len = std::min(BLOCK, n - i);
#pragma omp simd
        for (int32_t j = 0; j < len; j++) bin[j] = bin_of(weight[i + j]);
        for (int32_t j = 0; j < len; j++) (j % 2 == 0 ? mass : odd)[bin[j]] += weight[i + j];
    }
    for (int32_t b = 0; b < BINS; b++) mass[b] += odd[b];
}

// The positive weights of a bin.
SVC_CLONES void collect(const float * weight, int32_t n, int32_t bin, std::vector<float> & inside) {
    const float most = top_of(bin), least = bin < BINS - 1 ? top_of(bin + 1) : 0.0f;
    inside.clear();
    for (int32_t i = 0; i < n; i += BLOCK) {
        const int32_t len = std::min(BLOCK, n - i);
        int32_t found = 0;
#pragma omp simd reduction(+ \
                           : found)
        for (int32_t j = i; j < i + len; j++) found += weight[j] > least && weight[j] <= most;
        for (int32_t j = i; found > 0 && j < i + len; j++) {
            if (weight[j] > least && weight[j] <= most) inside.push_back(weight[j]);
        }
    }
}

// The smallest weight that belongs to the nucleus: bins find where the mass crosses top_p, one bin is sorted. Tokens
// whose weight equals that of the crossing one all stay in.
float nucleus_floor(const float * weight, int32_t n, double total, float top_p) {
    thread_local std::vector<double> mass;
    thread_local std::vector<float> inside;
    fill_bins(weight, n, mass);
    const double wanted = total * top_p;
    double sum = 0;
    int32_t bin = 0;
    while (bin < BINS - 1 && sum + mass[bin] < wanted) sum += mass[bin++];
    collect(weight, n, bin, inside);
    std::sort(inside.begin(), inside.end(), std::greater<float>());
    for (float w : inside) {
        sum += w;
        if (sum >= wanted) return w;
    }
    return inside.empty() ? 0.0f : inside.back();
}

// Uniform in (0, 1), of each token its own. The finalizer of MurmurHash3 (Appleby, public domain), fed with both halves of the
// noise; 31 bits, of which small values keep all digits.
__attribute__((always_inline)) inline float noise_of(int32_t id, uint32_t low, uint32_t high) {
    uint32_t h = (uint32_t) id * 0x9e3779b9u ^ low;
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h += high;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return ((float) (int32_t) (h & 0x7fffffff) + 0.5f) * 0x1.0p-31f;
}

struct lead {
    double time = std::numeric_limits<double>::infinity();
    int32_t id = -1;

    void take(int32_t runner, double weight, uint64_t noise) {
        const double clock = -std::log1p(-(double) noise_of(runner, (uint32_t) noise, (uint32_t) (noise >> 32)));
        if (clock < time * weight) time = clock / weight, id = runner;
    }
};

// How many of up to 64 weights may still win: an exponential is never less than the uniform it is made from.
SVC_CLONES int32_t contenders(const float * weight, int32_t first, int32_t len, float floor, uint64_t noise, float time) {
    const uint32_t low = (uint32_t) noise, high = (uint32_t) (noise >> 32);
    int32_t found = 0;
#pragma omp simd reduction(+ \
                           : found)
    for (int32_t j = 0; j < len; j++) {
        const float w = weight[first + j];
        found += (w > 0) & (w >= floor) & (noise_of(first + j, low, high) < time * w);
    }
    return found;
}

// The winner among the weights >= floor; -1 where there are none.
int32_t winner(const float * weight, int32_t n, float floor, uint64_t noise) {
    lead first;
    for (int32_t i = 0; i < n; i += BLOCK) {
        const int32_t len = std::min(BLOCK, n - i);
        if (maximum(weight + i, len) < floor) continue;  // most blocks, where few tokens are left
        // A little later than it was, so that no rounding leaves one out.
        if (contenders(weight, i, len, floor, noise, (float) first.time * 1.00001f) == 0) continue;
        for (int32_t j = i; j < i + len; j++) {
            if (weight[j] > 0 && weight[j] >= floor) first.take(j, weight[j], noise);
        }
    }
    return first.id;
}

int32_t sample_full(drawer & s, const float * logits, int32_t n, float top) {
    s.weight.resize(n);
    const double total = weights(logits, n, top, 1.0f / s.temperature, s.weight.data());
    float floor = s.min_p;  // the largest weight is 1, so a share of it is the share itself
    if (s.top_p < 1) floor = std::max(floor, nucleus_floor(s.weight.data(), n, total, s.top_p));
    return winner(s.weight.data(), n, floor, s.random.next());
}

// The k largest logits, best first. Equal logits: the lower id first.
void top_k(drawer & s, const float * logits, int32_t n) {
    auto better = [](const candidate & a, const candidate & b) {
        return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
    };
    std::vector<candidate> & heap = s.candidates;  // its front is the worst one kept
    heap.clear();
    const size_t k = std::min<size_t>(s.top_k, n);
    for (int32_t i = 0; i < n; i += BLOCK) {
        const int32_t len = std::min(BLOCK, n - i);
        if (heap.size() == k && maximum(logits + i, len) <= heap.front().logit) continue;
        for (int32_t j = i; j < i + len; j++) {
            const candidate c = {logits[j], j};
            if (std::isnan(c.logit)) continue;
            if (heap.size() < k) {
                heap.push_back(c);
                std::push_heap(heap.begin(), heap.end(), better);
            } else if (better(c, heap.front())) {
                std::pop_heap(heap.begin(), heap.end(), better);
                heap.back() = c;
                std::push_heap(heap.begin(), heap.end(), better);
            }
        }
    }
    std::sort_heap(heap.begin(), heap.end(), better);
}

// From candidates, best first.
int32_t sample_best(drawer & s, const candidate * best, size_t n, float top) {
    s.weight.resize(std::max(s.weight.size(), n));
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        s.weight[i] = std::exp((best[i].logit - top) / s.temperature);
        total += s.weight[i];
    }
    size_t keep = 0;
    double sum = 0;
    while (keep < n && (keep == 0 || (sum < total * s.top_p && s.weight[keep] >= s.min_p))) sum += s.weight[keep++];
    const uint64_t noise = s.random.next();
    lead first;
    for (size_t i = 0; i < keep; i++) first.take(best[i].id, s.weight[i], noise);
    return first.id;
}

// The weight at which the sum, from the largest on, reaches `wanted`; -1 where it does not.
float crossing(const std::vector<float> & descending, double wanted) {
    double sum = 0;
    for (const float w : descending) {
        sum += w;
        if (sum >= wanted) return w;
    }
    return -1;
}

// The floor of a nucleus in the listed weights, whose sum is `sum`; -1 where it depends on the sum of the others.
float listed_floor(const drawer & s, const svc::shortlist & few, const std::vector<float> & weight, double sum, int32_t n) {
    const double power = 1.0 / s.temperature, at_cut = std::exp((double) few.cut - few.best[0].logit);
    double least = few.rest_least, most = few.rest_most;  // of e^(power * …): between these, as no term is above that of the cut
    if (power > 1) least = 0, most *= std::pow(at_cut, power - 1);
    if (power < 1) least *= at_cut > 0 ? std::pow(at_cut, power - 1) : 0, most = std::pow(most, power) * std::pow((double) n, 1 - power);
    constexpr double ROUNDING = 1e-5;  // of the sum over a row, in single precision within blocks
    std::vector<float> sorted = weight;
    std::sort(sorted.begin(), sorted.end(), std::greater<float>());
    const float low = crossing(sorted, (sum + least) * s.top_p * (1 - ROUNDING));
    const float high = crossing(sorted, (sum + most) * s.top_p * (1 + ROUNDING));
    return low == high ? low : -1;
}

// Whether a token that is not in the list may be faster than `first`, whose weight is at most `most`.
SVC_CLONES bool others_may_win(const std::vector<candidate> & best, int32_t n, uint64_t noise, double bound) {
    const uint32_t low = (uint32_t) noise, high = (uint32_t) (noise >> 32);
    const float limit = (float) std::min(bound, 2.0);
    for (int32_t i = 0; i < n; i += BLOCK) {
        const int32_t len = std::min(BLOCK, n - i);
        int32_t found = 0;
#pragma omp simd reduction(+ \
                           : found)
        for (int32_t j = 0; j < len; j++) found += noise_of(i + j, low, high) < limit;
        for (int32_t j = i; found > 0 && j < i + len; j++) {
            if (noise_of(j, low, high) >= limit) continue;
            found--;
            if (std::none_of(best.begin(), best.end(), [&](const candidate & c) { return c.id == j; })) return true;
        }
    }
    return false;
}

int32_t sample_listed(drawer & s, const svc::shortlist & few, int32_t n) {
    const float top = few.best[0].logit;
    thread_local std::vector<float> logit, weight;
    logit.clear();
    for (const candidate & c : few.best) logit.push_back(c.logit);
    weight.resize(logit.size());
    const double sum = weights(logit.data(), (int32_t) logit.size(), top, 1.0f / s.temperature, weight.data());
    // A little more than any other token's.
    const double most = std::exp(((double) few.cut - top) / s.temperature) * 1.0001;
    float floor = s.min_p;
    if (s.top_p < 1) {
        const float of_nucleus = listed_floor(s, few, weight, sum, n);
        if (of_nucleus < 0) return svc::UNDECIDED;
        floor = std::max(floor, of_nucleus);
    }
    svc::random_stream ahead = s.random;
    const uint64_t noise = ahead.next();
    lead first;
    for (size_t i = 0; i < weight.size(); i++) {
        if (weight[i] > 0 && weight[i] >= floor) first.take(few.best[i].id, weight[i], noise);
    }
    if (floor <= most && most > 0 && others_may_win(few.best, n, noise, first.time * most * 1.0001)) return svc::UNDECIDED;
    s.random = ahead;
    return first.id;
}

}  // namespace

namespace svc {

int32_t drawer::draw(const float * logits, int32_t n) {
    if (temperature <= 0 || top_k == 1) return argmax(logits, n);
    const float top = maximum(logits, n);
    if (!std::isfinite(top)) return -1;
    if (top_k <= 0 || top_k >= n) return sample_full(*this, logits, n, top);
    ::top_k(*this, logits, n);
    return sample_best(*this, candidates.data(), candidates.size(), top);
}

int32_t drawer::draw(const shortlist & few, int32_t n) {
    if (few.best.empty()) return UNDECIDED;
    if (temperature <= 0 || top_k == 1) return few.best[0].id;
    if (!std::isfinite(few.best[0].logit)) return UNDECIDED;
    if (top_k <= 0 || top_k >= n) return sample_listed(*this, few, n);
    if (few.best.size() < (size_t) top_k) return UNDECIDED;
    return sample_best(*this, few.best.data(), top_k, few.best[0].logit);
}

void drawer::follow(const drawer & other) {
    temperature = other.temperature;
    top_p = other.top_p;
    min_p = other.min_p;
    top_k = other.top_k;
    random = other.random;
}

SVC_CLONES void copy_allowed(const float * logits, const uint32_t * mask, int32_t n, float * out) {
    for (int32_t i = 0; i < n; i += 32) {
        const uint32_t bits = mask[i / 32];
        const int32_t len = std::min(32, n - i);
#pragma omp simd
        for (int32_t j = 0; j < len; j++) {
            out[i + j] = (bits >> j & 1) != 0 ? logits[i + j] : -std::numeric_limits<float>::infinity();
        }
    }
}

double log_sum_exp(const float * logits, int32_t n, std::vector<float> & scratch) {
    const float top = maximum(logits, n);
    scratch.resize(n);
    return top + std::log(weights(logits, n, top, 1.0f, scratch.data()));
}

std::vector<candidate> best(const float * logits, int32_t n, int32_t k) {
    drawer scratch;
    scratch.top_k = k;
    top_k(scratch, logits, n);
    return scratch.candidates;
}

}  // namespace svc
