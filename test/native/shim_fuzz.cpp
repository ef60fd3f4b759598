// Feeds the shim's string entry points with texts that are nearly right: requests, templates, answers, tokens, sequence
// breakers, model files; and generates, with guesses and without. Calls may fail, and then must say why; the sanitizers judge
// everything else.
//
//   driver BACKENDS_DIR MODEL ROUNDS SEED

#include "svc_llama.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace {

std::mt19937_64 dice;

size_t below(size_t n) { return n == 0 ? 0 : dice() % n; }

const std::vector<std::string> PIECES = {
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "1e999",
    "-1",
    "\\ud800",
    "\xff\xfe",
    "\xf0\x9f",
    std::string(1, '\0'),
    "{%",
    "%}",
    "{{",
    "}}",
    "{% for x in messages %}",
    "{{ messages[9].content }}",
    "{{ ''.join(messages) }}",
    "|tojson",
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "{\"$ref\":\"#\"}",
    "{\"type\":\"object\"}",
    "\"pattern\":\"(\"",
    "\n",
    std::string(300, 'a'),
};

std::string mutate(std::string text) {
    for (size_t edits = 1 + below(4); edits > 0; edits--) {
        const size_t at = below(text.size() + 1);
        switch (below(4)) {
            case 0: text.insert(at, PIECES[below(PIECES.size())]); break;
            case 1: text.erase(at, below(12)); break;
            case 2:
                if (at < text.size()) text[at] = (char) below(256);
                break;
            default: text.insert(at, text.substr(below(text.size() + 1), below(60)));
        }
    }
    return text;
}

std::string escaped(const std::string & text) {
    std::string out;
    for (unsigned char c : text) {
        char hex[8];
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') out += (char) c;
        else out += (snprintf(hex, sizeof hex, "\\u%04x", c), hex);
    }
    return out;
}

void replace(std::string & text, const std::string & what, const std::string & by) {
    const size_t at = text.find(what);
    if (at != std::string::npos) text.replace(at, what.size(), by);
}

struct counts {
    long done = 0, refused = 0;
    void add(bool ok) {
        ok ? done++ : refused++;
        // A refusal without a reason would reach a client as an empty sentence.
        if (!ok && svc_last_error()[0] == 0) {
            fprintf(stderr, "a call failed and did not say why\n");
            abort();
        }
    }
};

const char * CHAT = R"({"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},
{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},
{"role":"tool","tool_call_id":"c1","content":"2"}],"tools":[{"type":"function","function":{"name":"f","description":"d",
"parameters":{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]{1,9}$"},"b":{"enum":[1,"x",null]},
"c":{"$ref":"#/$defs/d"}},"required":["a"],"$defs":{"d":{"anyOf":[{"type":"integer","minimum":1,"maximum":99},{"type":"null"}]}}}}}],
"tool_choice":"required","parallel_tool_calls":true,"enable_thinking":true,"kwargs":{"x":1}})";
const char * TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if m.tool_calls %}{{ m.tool_calls|tojson }}{% endif %}"
                        "{% endfor %}{% if tools %}{{ tools|tojson }}{% endif %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
const char * ANSWER = "<think>Well.</think>Hello.<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"b\"}}\n</tool_call>";

// Half of them broken as JSON, half with strange things in the right places.
std::string request() {
    if (below(2) == 0) return mutate(CHAT);
    std::string out = CHAT;
    const char * places[] = {"Be brief.", "Hi", "c1", "^[a-z]{1,9}$", "#/$defs/d", "required\",\"parallel", "integer", "{\\\"a\\\":1}"};
    for (size_t edits = 1 + below(3); edits > 0; edits--) {
        const std::string place = places[below(std::size(places))];
        replace(out, place, escaped(below(2) == 0 ? mutate(place) : mutate(ANSWER)));
    }
    return out;
}

std::vector<int32_t> tokens_of(void * model, const std::string & text, int32_t special) {
    const int32_t length = (int32_t) text.size();
    const int32_t needed = -svc_tokenize(model, text.data(), length, nullptr, 0, special, special);
    std::vector<int32_t> tokens(std::max(needed, 0));
    svc_tokenize(model, text.data(), length, tokens.data(), (int32_t) tokens.size(), special, special);
    return tokens;
}

void use_rendered(void * model, void * rendered, const std::string & answer) {
    free(svc_render_info(rendered));
    free(svc_render_prompt(rendered));
    std::vector<int32_t> tokens(std::max(-svc_render_tokens(rendered, nullptr, 0), 0));
    svc_render_tokens(rendered, tokens.data(), (int32_t) tokens.size());
    for (int32_t partial = 0; partial < 2; partial++) free(svc_render_parse(rendered, answer.data(), (int32_t) answer.size(), partial));
    const float params[] = {1, 0.9f, 0.1f, 40, 1.1f, 0.1f, 0.1f};
    void * sampler = svc_sampler_new(params, 7, 1, 2, 3);
    const std::vector<int32_t> written = tokens_of(model, answer, 1);
    svc_sampler_accept(sampler, (int32_t) written.size(), written.data(), 1);
    svc_sampler_free(sampler);
}

counts render(void * model, void * chat, const std::string & request) {
    counts seen;
    void * rendered = svc_render_begin(chat, request.c_str(), (int32_t) (request.size() % 2));
    const bool ok = rendered != nullptr && svc_render_wait(rendered, 60000) == 1;
    seen.add(ok);
    if (ok) use_rendered(model, rendered, mutate(ANSWER));
    svc_render_free(rendered);
    return seen;
}

bool open_template(void * model, const std::string & source, counts & seen) {
    void * chat = svc_chat_open(model, source.c_str(), "[]");
    seen.add(chat != nullptr);
    if (chat == nullptr) return false;
    render(model, chat, CHAT);
    svc_chat_free(chat);
    return true;
}

void dry(void * model) {
    std::string breakers = mutate(std::string("\n\0:\0\"\0*\0", 8)) + std::string(2, '\0');
    const float params[] = {1};
    void * sampler = svc_sampler_new(params, 1, 1, 2, 3);
    svc_sampler_dry(sampler, model, 0.8f, 1.75f, 2, breakers.c_str());
    const std::vector<int32_t> seen = tokens_of(model, mutate(TEMPLATE), 0);
    svc_sampler_accept(sampler, (int32_t) seen.size(), seen.data(), 0);
    const int32_t bias[] = {(int32_t) dice(), 1};
    const float by[] = {-100, 100};
    svc_sampler_bias(sampler, 2, bias, by);
    svc_sampler_free(sampler);
}

// Sequences of a few tokens and their samplers, step by step and several steps at once.
struct generation {
    static constexpr int32_t n = 3, steps = 8;
    void * context;
    int32_t guesses;  // tokens of one at most, 0: nobody guesses
    std::vector<int32_t> token, position = std::vector<int32_t>(n, 0), sequence = {0, 1, 2};
    std::vector<uint64_t> sampler;

    explicit generation(void * model) {
        const int32_t sizes[] = {512, 64, 32, n, 2, 2, 1, 1, 0, -1, 1, -1, 1, 0, 0};
        context = svc_context_new(model, sizes, 15);
        guesses = below(2) == 0 ? std::max(0, svc_draft_open(context, model, 3)) : 0;
        for (int32_t i = 0; i < n; i++) {
            const float share[] = {0, 0.5f, 1};
            const float params[] = {share[below(3)], share[1 + below(2)], share[below(2)], (float) below(50), 1, 0, 0, (float) below(2)};
            sampler.push_back((uint64_t) svc_sampler_new(params, 8, 1, 2, (uint32_t) i));
            token.push_back((int32_t) below(300));
        }
    }

    ~generation() {
        for (uint64_t one : sampler) svc_sampler_free((void *) one);
        svc_context_free(context);
    }

    void take(const int32_t * drawn, int32_t done) {
        for (int32_t i = 0; i < n; i++) {
            position[i] += done;
            token[i] = std::max(0, drawn[(done - 1) * n + i]);
        }
    }

    bool step_masked() {
        const int8_t output[n] = {1, 1, 1};
        const int32_t row[n] = {0, 1, 2};
        if (svc_decode(context, n, token.data(), position.data(), sequence.data(), output) != 0) return false;
        std::vector<uint32_t> mask(1 << 13);
        for (uint32_t & word : mask) word = (uint32_t) dice();
        const uint64_t masks[n] = {(uint64_t) mask.data(), 0, (uint64_t) mask.data()};
        int32_t drawn[n];
        svc_sample(context, n, row, sampler.data(), masks, drawn);
        take(drawn, 1);
        return true;
    }

    bool steps_ahead() {
        int32_t drawn[steps * n], done = 0;
        const int32_t most = 1 + (int32_t) below(steps);
        const int32_t result = svc_decode_steps(context, n, token.data(), position.data(), sequence.data(), sampler.data(), most, drawn, &done);
        if (result != 0 || done == 0) return false;
        take(drawn, done);
        return true;
    }

    void guess() {
        if (guesses == 0) return;
        int32_t counts[n], tokens[n * 16];
        for (int32_t & count : counts) count = (int32_t) below((size_t) guesses + 2);
        const std::vector<uint64_t> by = below(2) == 0 ? sampler : std::vector<uint64_t>(n, 0);
        if (svc_draft(context, n, sequence.data(), token.data(), position.data(), by.data(), counts, tokens) == 0) {
            for (int32_t i = 0; i < n; i++) svc_draft_accept(context, i, (int32_t) below((size_t) counts[i] + 1));
        }
    }
};

// Tokens generated until the cache is full.
long generate(void * model) {
    generation g(model);
    while (below(2) == 0 ? g.step_masked() : g.steps_ahead()) g.guess();
    return g.position[0];
}

// In a process of its own, as an engine is: the library ends it on some files.
int load_broken(const std::string & model, const std::string & valid) {
    std::string bytes = valid;
    for (size_t edits = 1 + below(4); edits > 0; edits--) bytes[below(std::min<size_t>(bytes.size(), 4000))] = (char) below(256);
    if (below(3) == 0) bytes.resize(below(bytes.size()));
    std::ofstream(model, std::ios::binary).write(bytes.data(), (std::streamsize) bytes.size());
    const pid_t child = fork();
    if (child == 0) {
        const int32_t params[] = {0, 0, 1, 0, (int32_t) below(2), 1};
        void * load = svc_load_begin(model.c_str(), params, 6, nullptr);
        void * loaded = svc_load_finish(load);
        if (loaded != nullptr) free(svc_model_info(loaded));
        _exit(loaded != nullptr ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

}  // namespace

int main(int argc, char ** argv) {
    if (argc != 5) return 2;
    const long rounds = atol(argv[3]);
    dice.seed((uint64_t) atol(argv[4]));
    if (svc_init(argv[1], 0) != 0) {
        fprintf(stderr, "%s\n", svc_last_error());
        return 1;
    }
    std::ifstream file(argv[2], std::ios::binary);
    const std::string valid((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    long loaded = 0, refused = 0, ended = 0;
    char scratch[] = "/tmp/svc-asan-XXXXXX";
    close(mkstemp(scratch));
    for (long i = 0; i < rounds / 10; i++) {
        const int status = load_broken(scratch, valid);
        if (WIFSIGNALED(status)) ended++;
        else if (WEXITSTATUS(status) == 0) loaded++;
        else if (WEXITSTATUS(status) == 1) refused++;
        else return 1;  // a sanitizer's
    }
    unlink(scratch);
    printf("model files: %ld loaded, %ld refused, %ld ended their process\n", loaded, refused, ended);

    const int32_t params[] = {0, 0, 1, 0, 0, 0};
    void * model = svc_load_finish(svc_load_begin(argv[2], params, 6, nullptr));
    if (model == nullptr) return 1;
    void * chat = svc_chat_open(model, nullptr, "[]");
    long generated = 0;
    for (long i = 0; i < rounds / 50; i++) generated += generate(model);
    printf("tokens: %ld generated\n", generated);
    counts requests, templates;
    for (long i = 0; i < rounds; i++) {
        const counts one = render(model, chat, request());
        requests.done += one.done;
        requests.refused += one.refused;
        if (i % 20 == 0) open_template(model, mutate(TEMPLATE), templates);
        dry(model);
        const std::string text = mutate(ANSWER);
        const std::vector<int32_t> tokens = tokens_of(model, text, (int32_t) below(2));
        for (int32_t token : tokens) {
            uint8_t bytes[4];
            svc_token_bytes(model, token, (int32_t) below(2), bytes, (int32_t) below(5));
        }
        svc_token_bytes(model, (int32_t) dice(), 1, nullptr, 0);
    }
    printf("requests: %ld rendered, %ld refused\ntemplates: %ld opened, %ld refused\n", requests.done, requests.refused,
        templates.done, templates.refused);
    svc_chat_free(chat);
    svc_model_free(model);
    return generated > 0 && requests.done > 0 && requests.refused > 0 ? 0 : 1;
}
