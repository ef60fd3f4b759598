// Flat C ABI over llguidance: which tokens may come next under a JSON schema, a regular expression or a grammar.
//
// Rules, for every function:
//  - No panic leaves it. A failure is a negative code or NULL; svc_grammar_last_error() then has one English sentence.
//  - Handles are opaque and owned by the caller until the matching *_free or *_close; a NULL handle is an error, never a
//    crash. `const char *` results stay ours.
//  - All functions of one engine and its handles are called from one thread; the engine has threads of its own behind them.
//
// A mask is a bit set over the vocabulary: token t is allowed if bit t % 32 of word t / 32 is set.
// ffi/grammar-symbols.ts is generated from this file; svc_grammar_abi_hash() proves that a library was built from it.
#ifndef SVC_GRAMMAR_H
#define SVC_GRAMMAR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SVC_API __attribute__((visibility("default")))

// ---- process -------------------------------------------------------------------------------------------------

// Hash of this header's declarations, baked in when the library was built.
SVC_API const char * svc_grammar_abi_hash(void);
// What went wrong in the last failed call of this thread; "" if nothing did. Valid until the next call.
SVC_API const char * svc_grammar_last_error(void);
// Panics inside, to prove that nothing escapes: kind 0 plain text, 1 formatted text, 2 something that is no text,
// 3 within a mask thread. Always -1.
SVC_API int32_t svc_grammar_selftest_panic(int32_t kind);

// ---- engine: one vocabulary and the threads that work on it -----------------------------------------------------

// Copies the vocabulary: bytes[n_bytes] of all tokens end to end, length[n_vocab] of each, flags[n_vocab] as svc_vocab_flags gives
// them (bit 0 ends generation, bit 1 control token). Control tokens and tokens without bytes are never allowed; ending
// tokens only where the grammar may end. threads: how many compute masks, besides the caller while it waits for them.
// Returns at once; the lookup structures are built with the first grammar. NULL when the numbers do not add up.
SVC_API void * svc_grammar_open(const uint8_t * bytes, int32_t n_bytes, const int32_t * length, const uint8_t * flags,
                                int32_t n_vocab, int32_t threads);
// Stops the threads; work in progress is finished first. Matchers may outlive it, but no longer take part in batches.
SVC_API void svc_grammar_close(void * engine);

// ---- grammars --------------------------------------------------------------------------------------------------

// Starts compiling on a thread of the engine, one grammar after the other. constraint: JSON, one of
//   {type: "json_schema", schema, strict?}, {type: "regex", pattern}, {type: "lark", grammar},
//   {type: "grammars", grammars: [{name?, jsonSchema | larkGrammar}]},
//   {type: "answer", …}: the grammar of a whole answer, as src/answer.rs describes it; "type" must come first.
// The last few grammars are kept by their text, so that a repeated one is ready at once. NULL only when the engine is
// missing; what is wrong with the constraint, wait tells.
SVC_API void * svc_grammar_compile_begin(void * engine, const char * constraint);
// Waits up to wait_ms. 1 ready, 0 still working, -1 refused: svc_grammar_last_error says why.
SVC_API int32_t svc_grammar_compile_wait(void * pending, int32_t wait_ms);
// Frees `pending` and returns its matcher; NULL after a failure (`pending` is freed nevertheless).
SVC_API void * svc_grammar_compile_take(void * pending);
// Drops the work at any time; what has begun runs to its end unseen.
SVC_API void svc_grammar_compile_free(void * pending);

// ---- matchers: a grammar and how far an answer has come in it ----------------------------------------------------

// An independent copy at the same place.
SVC_API void * svc_grammar_clone(void * matcher);
SVC_API void svc_grammar_free(void * matcher);
// Moves on by one token. 0 ok; 1 ok and the answer is complete: only an ending token may follow; 2 rejected, nothing
// changed; -1 the grammar ran into a limit: the matcher is of no more use.
SVC_API int32_t svc_grammar_accept(void * matcher, int32_t token);
// Moves on by a text, markup included, in whatever tokens. As svc_grammar_accept; 2: the matcher is of no more use.
SVC_API int32_t svc_grammar_feed(void * matcher, const uint8_t * text, int32_t n);
// JSON list of the places in the constraint that are not enforced. Valid as long as the matcher. NULL: failed.
SVC_API const char * svc_grammar_unenforced(void * matcher);
// 0 more must come, 1 the answer may end here, 2 it is complete, -1 failed.
SVC_API int32_t svc_grammar_state(void * matcher);
// Writes the mask for the next token into out[n_words], n_words = ceil(n_vocab / 32). Ending tokens are in it exactly
// where the answer may end. 0; -1 failed and out is all zero.
SVC_API int32_t svc_grammar_mask(void * matcher, uint32_t * out, int32_t n_words);
// Starts to compute the masks of n different matchers, matcher[n] handles and out[n] addresses of masks, on the engine's
// threads and returns. Until svc_grammar_masks_wait neither may be touched. 0; -1 and nothing was started.
SVC_API int32_t svc_grammar_masks_begin(void * engine, int32_t n, const uint64_t * matcher, const uint64_t * out);
// Helps and waits for the batch. Returns how many masks failed: theirs are all zero, their matchers' state is -1.
// 0 also when there is no batch.
SVC_API int32_t svc_grammar_masks_wait(void * engine);

#ifdef __cplusplus
}
#endif

#endif
