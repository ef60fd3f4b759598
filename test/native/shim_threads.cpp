// Uses the threads of the shim all at once, for ThreadSanitizer: models load, placements are searched, prompts render for two
// chats with a few templates and tools between them, some are dropped before they are done, while the first thread tokenizes, parses and
// generates.
//
//   driver BACKENDS_DIR MODEL ROUNDS

#include "svc_llama.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <vector>

namespace {

[[noreturn]] void fail(const char * what) {
    fprintf(stderr, "%s: %s\n", what, svc_last_error());
    exit(1);
}

void * load(const char * path) {
    const int32_t params[] = {0, 0, 1, 0, 0, 0};
    void * loading = svc_load_begin(path, params, 6, nullptr);
    while (svc_load_state(loading) == 0) continue;
    void * model = svc_load_finish(loading);
    if (model == nullptr) fail("load");
    return model;
}

std::string request(int number) {
    const std::string tool = "f" + std::to_string(number % 11);
    return R"({"messages":[{"role":"user","content":"Hello <|im_end|> )" + std::to_string(number) +
        R"("}],"tools":[{"type":"function","function":{"name":")" + tool +
        R"(","description":"d","parameters":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}],)"
        R"("tool_choice":"auto","parallel_tool_calls":true,"kwargs":{}})";
}

struct counts {
    long rendered = 0, dropped = 0, generated = 0;
};

// Reads a prompt that is done.
void use(void * rendered) {
    int32_t tokens[4096];
    if (svc_render_tokens(rendered, tokens, 4096) <= 0) fail("tokens of a prompt");
    svc_free(svc_render_info(rendered));
    const char * answer = "Hello there.";
    svc_free(svc_render_parse(rendered, answer, (int32_t) strlen(answer), 1));
}

// A token of one sequence.
bool step(void * context, void * sampler, int32_t at) {
    const int32_t token[] = {40}, position[] = {at}, sequence[] = {0}, row[] = {0};
    const int8_t output[] = {1};
    const uint64_t samplers[] = {(uint64_t) sampler}, masks[] = {0};
    int32_t drawn[1];
    return svc_decode(context, 1, token, position, sequence, output) == 0 && svc_sample(context, 1, row, samplers, masks, drawn) == 0;
}

counts run(void * model, int rounds) {
    void * chats[] = {svc_chat_open(model, nullptr, "[]"), svc_chat_open(model, "{% for m in messages %}{{ m.content }}{% endfor %}", "[]")};
    const int32_t sizes[] = {512, 64, 32, 1, 1, 1, 1, 1, 0, -1, 1, -1, 1, 0, 0};
    void * context = svc_context_new(model, sizes, 15);
    const float params[] = {0.7f, 0.9f, 0, 40, 1, 0, 0, 0};
    void * sampler = svc_sampler_new(params, 8, 1, 2, 3);
    if (chats[0] == nullptr || chats[1] == nullptr || context == nullptr || sampler == nullptr) fail("set-up");

    counts seen;
    std::deque<void *> waiting;
    for (int i = 0; i < rounds; i++) {
        const std::string text = request(i);
        for (void * chat : chats) waiting.push_back(svc_render_begin(chat, text.c_str(), i % 3 == 0));
        int32_t tokens[64];
        svc_chat_tokenize(chats[i % 2], "some text", 9, tokens, 64);
        if (step(context, sampler, i % 500)) seen.generated++;
        if (i % 500 == 499) svc_memory_clear(context);
        if (i % 7 == 0) {  // the client has gone
            svc_render_free(waiting.back());
            waiting.pop_back();
            seen.dropped++;
        }
        while (waiting.size() > 16) {
            if (svc_render_wait(waiting.front(), 60000) != 1) fail("render");
            svc_free(svc_render_info(waiting.front()));
            use(waiting.front());
            svc_render_free(waiting.front());
            waiting.pop_front();
            seen.rendered++;
        }
    }
    svc_chat_free(chats[1]);  // with prompts in its queue
    for (void * one : waiting) svc_render_free(one);
    svc_chat_free(chats[0]);
    svc_sampler_free(sampler);
    svc_context_free(context);
    return seen;
}

}  // namespace

int main(int argc, char ** argv) {
    if (argc != 4) return 2;
    if (svc_init(argv[1], 0) != 0) fail("svc_init");
    void * other = load(argv[2]);
    void * model = load(argv[2]);
    svc_model_free(other);
    const counts seen = run(model, atoi(argv[3]));
    svc_model_free(model);
    printf("threads: %ld prompts rendered, %ld dropped, %ld tokens generated\n", seen.rendered, seen.dropped, seen.generated);
    return seen.rendered > 0 && seen.dropped > 0 && seen.generated > 0 ? 0 : 1;
}
