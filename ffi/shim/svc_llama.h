// Flat C ABI over llama.cpp and its `common` library: handles, integers, pointers and lengths.
//
// Rules, for every function:
//  - No exception leaves it. A failure is a negative code or NULL; svc_last_error() then has one English sentence.
//  - No struct crosses by value and no callback is taken.
//  - Handles are opaque and owned by the caller until the matching *_free; a NULL handle is an error, never a crash,
//    except where "may be NULL" is written.
//  - `char *` results are malloc'ed UTF-8 text ended by 0: release them with svc_free. `const char *` results stay ours.
//  - Only svc_load_state may be called while another thread works on the same handle.
//
// ffi/llama/symbols.ts is generated from this file; svc_abi_hash() proves that a library was built from the same text.
#ifndef SVC_LLAMA_H
#define SVC_LLAMA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SVC_API __attribute__((visibility("default")))

// ---- process -------------------------------------------------------------------------------------------------

// Hash of this header's declarations, baked in when the library was built.
SVC_API const char * svc_abi_hash(void);
// What went wrong in the last failed call of this thread; "" if nothing did. Valid until the next call.
SVC_API const char * svc_last_error(void);
SVC_API void svc_free(void * text);
// Loads the compute back ends (best CPU variant, RPC, GPUs) found in `dir`; verbosity 0 errors .. 3 debug, to stderr.
// 0, or -1 when no CPU back end could be loaded. Calling it again is a no-op.
SVC_API int32_t svc_init(const char * dir, int32_t verbosity);
// JSON {devices:[{name, description, type, backend, pci (its address, where known), memory_free, memory_total}], cpu_features,
//  kernels, llama_version}.
SVC_API char * svc_system_info(void);
// Free memory of each device now, in that order, into memory_free[n]. Returns the number of devices, -1 on failure.
SVC_API int32_t svc_device_memory(int32_t n, int64_t * memory_free);
// What this machine gives to `n_threads` threads, each of both measured for `ms` milliseconds, into out[2]: bytes a second, of reading `bytes`
// again and again; multiply-adds a second, of products of many rows with weights of `type` (ggml.h: enum ggml_type). 0, or -1.
SVC_API int32_t svc_machine_speed(int64_t bytes, int32_t type, int32_t n_threads, int32_t ms, double * out);
// Raises inside, to prove that nothing escapes: kind 0 std::exception, 1 an int, 2 bad_alloc. Always -1.
SVC_API int32_t svc_selftest_throw(int32_t kind);

// ---- model ---------------------------------------------------------------------------------------------------

// Starts loading the GGUF file at `path` on a thread of its own. params: int32 columns, in order:
//   0 n_gpu_layers (-1 all), 1 main_gpu, 2 use_mmap, 3 use_mlock, 4 vocab_only, 5 check_tensors, 6 load_mtp: the layers that
//   predict several tokens too, which svc_draft_open needs of the model that has them, 7 split mode (0 one device, 1 layers,
//   2 rows), 8 headers only: the model is good for svc_model_info alone.
// placement: of svc_place_begin, replaces columns 0, 1 and 7; may be NULL. It must outlive the model.
SVC_API void * svc_load_begin(const char * path, const int32_t * params, int32_t n_params, void * placement);
// Parts per thousand done, 0..1000, while loading; 1001 loaded; -1 failed. Never blocks.
SVC_API int32_t svc_load_state(void * load);
// Waits for the thread, frees `load`, returns the model; NULL when loading failed (svc_last_error says why).
SVC_API void * svc_load_finish(void * load);
// Every context, chat handle and rendered prompt of the model must have been freed before.
SVC_API void svc_model_free(void * model);
// JSON {description, architecture, name, size_bytes, n_params, n_ctx_train, n_embd, n_layer, n_layer_nextn, n_head_kv, n_vocab, n_swa, head_dim_k, head_dim_v,
//  n_head, has_encoder, has_decoder, causal, pooling (-1 unknown, 0 none, 1 mean, 2 cls, 3 last, 4 rank), recurrent, hybrid,
//  has_chat_template, add_bos, bos, eos}.
SVC_API char * svc_model_info(void * model);
// Flags of each token id into out[n]: bit 0 ends generation, bit 1 control token. Returns the vocabulary size.
SVC_API int32_t svc_vocab_flags(void * model, uint8_t * out, int32_t n);
// Tokenizes `len` bytes of UTF-8. Returns the count, or -needed when `capacity` is too small (nothing is written).
SVC_API int32_t svc_tokenize(void * model, const char * text, int32_t len, int32_t * out, int32_t capacity,
    int32_t add_special, int32_t parse_special);
// Bytes of one token into out, without a terminating 0; `special` also renders control tokens.
// Returns the count, or -needed when `capacity` is too small; tokens outside the vocabulary give 0.
SVC_API int32_t svc_token_bytes(void * model, int32_t token, int32_t special, uint8_t * out, int32_t capacity);

// ---- placement: which device holds which layers ------------------------------------------------------------------

// Starts to divide a model between the CPU and the devices by their free memory. Reads headers of files only, on a thread of
// its own. place: int32 columns, in order:
//   0 layers on devices, the output layer is one (-1: as many as fit), 1 split mode (0 one device, 1 layers, 2 rows), 2 device of
//   mode 0, 3 layers from the first one whose experts stay on the CPU (-1: all), 4 load_mtp, 5 MiB left free on each device,
//   6 MiB held of each device (0: all), 7 most draft tokens of the head in the file, or of a draft model (0: without either), 8
//   whether they are a head's, 9 + i MiB of other files on device i of svc_system_info.
// split[n_split]: shares of the devices; by free memory without any. context: columns of svc_context_new. base: the file of the
// model that this one drafts for, with that model's context; NULL if it drafts for none.
SVC_API void * svc_place_begin(const char * path, const int32_t * place, int32_t n_place, const float * split, int32_t n_split,
    const int32_t * context, int32_t n_context, const char * base);
// Waits up to wait_ms. 1 placed, 0 still working, -1 failed.
SVC_API int32_t svc_place_wait(void * placement, int32_t wait_ms);
// JSON {layers, device_layers, divided_layers (with experts on the CPU), fits, devices:[{name, description, free, total, weights, cache,
//  compute}]}, the CPU last. Only of a placement that is placed.
SVC_API char * svc_place_report(void * placement);
// Waits for the thread. Not while a model uses it.
SVC_API void svc_place_free(void * placement);

// ---- context: one KV cache shared by all sequences ------------------------------------------------------------

// params: int32 columns, in order:
//   0 n_ctx (cells), 1 n_batch, 2 n_ubatch, 3 n_seq_max, 4 n_threads, 5 n_threads_batch, 6 type_k, 7 type_v (ggml type ids),
//   8 embeddings, 9 pooling (-1 model's), 10 kv_unified, 11 flash attention (-1 auto, 0, 1), 12 offload_kqv, 13 swa_full,
//   14 n_rs_seq: tokens that may be cut off the end of a recurrent state, where the architecture can.
// NULL when memory does not suffice or a setting does not fit the model.
SVC_API void * svc_context_new(void * model, const int32_t * params, int32_t n_params);
SVC_API void svc_context_free(void * context);
// JSON [{name, description, buffer, weights, cache, compute}], bytes: what the context, its model and its draft model hold in each
// type of buffer. name: of the device; that of the CPU for memory of the machine.
SVC_API char * svc_context_memory(void * context);
// What the library made of the settings: which = 0 n_ctx, 1 n_batch, 2 n_ubatch, 3 n_seq_max, 4 context of one sequence,
// 5 whether part of a sequence can be removed (0 for recurrent memory), 6 whether it remembers what it has computed: with 0,
// as for BERT, every pass starts without state, so an input must be complete and nothing can be generated, 7 whether a device computes the
// logits and svc_decode may return before it has, so that svc_sample waits.
SVC_API int32_t svc_context_get(void * context, int32_t which);
SVC_API void svc_context_threads(void * context, int32_t n_threads, int32_t n_threads_batch);
// Ties n_threads compute threads to sets of CPUs, thread i to set i % n_sets, each a cpu_set_t of 128 bytes. Writes the ids of the
// threads into ids[n_threads]. Other threads that exist now stay free, so call it again when more have been started. Returns 1; 0 if
// it can tie none: fewer than two threads, systems other than Linux, libraries without OpenMP.
SVC_API int32_t svc_tie_threads(int32_t n_threads, int32_t n_sets, const uint8_t * sets, int32_t * ids);
// For engine processes: when native code fails, says so in a sentence on stderr and ends the process by the same signal,
// without a core file. Replaces the runtime's own handlers; Linux only.
SVC_API void svc_catch_crashes(void);
// One forward pass over n <= n_batch rows, given as columns [n]: token id, position, sequence id, 1 if logits are wanted.
//   0 done; 1 no room in the cache: memory unchanged, free cells and try a smaller batch; 2 aborted;
//   -1 bad batch: memory unchanged; < -1 compute failed: rows may be partly in the cache, remove their sequences.
SVC_API int32_t svc_decode(void * context, int32_t n, const int32_t * token, const int32_t * position,
    const int32_t * sequence, const int8_t * output);
// Forgets positions [from, to) of a sequence (to < 0: to the end). 1 done, 0 this memory cannot be cut there
// (nothing changed), -1 failed.
SVC_API int32_t svc_sequence_remove(void * context, int32_t sequence, int32_t from, int32_t to);
// Makes `target` share positions [from, to) of `source` without copying or computing. 0, or -1.
SVC_API int32_t svc_sequence_copy(void * context, int32_t source, int32_t target, int32_t from, int32_t to);
// Highest position held for the sequence, -1 if it is empty.
SVC_API int32_t svc_sequence_end(void * context, int32_t sequence);
// What keeps this context's rows from being the same bit for bit in every batch, for a message; "" if nothing does, with
// SVC_BATCH_INVARIANT set. Computes a few rows and clears the memory. Free with svc_free.
SVC_API char * svc_context_variance(void * context);
SVC_API int32_t svc_memory_clear(void * context);
// A sequence as bytes. part = 0: its cells, those of the draft model after them, and the recurrent state of a hybrid model; 1: only
// the recurrent state, as it is at the sequence's end, and whole windows.
// Bytes that svc_state_get would write for the sequence; -1 on failure.
SVC_API int64_t svc_state_size(void * context, int32_t sequence, int32_t part);
// Saves it. Returns the bytes written, -1 on failure.
SVC_API int64_t svc_state_get(void * context, int32_t sequence, int32_t part, uint8_t * out, int64_t capacity);
// Restores what svc_state_get has saved with the same part: cells into an empty sequence, a state alone into any, whose cells stay.
// Without cells of the draft model, or with those of another one, the draft model begins with the next rows. Returns the bytes
// read; -1 failed, the sequence is empty.
SVC_API int64_t svc_state_set(void * context, int32_t sequence, int32_t part, const uint8_t * data, int64_t size);
// Logits of output row i of the last decode: [n_vocab] f32, valid until the next decode. NULL if it has none.
SVC_API const float * svc_logits(void * context, int32_t i);

// Since the context was made, into out[6]: passes; rows with logits; bytes of logits that were copied from where they were computed;
// waits for that; rows that were copied whole; passes that used the graph of the one before.
SVC_API void svc_context_traffic(void * context, int64_t * out);
// Adds the embeddings of n output rows of the last decode to sum[n_embd]. The context must have been made with embeddings
// on and pooling 0. 0, or -1: a row has none, sum may be partly filled.
SVC_API int32_t svc_embeddings_add(void * context, int32_t n, const int32_t * row, float * sum);
// The first output of a ranking model's head for the sequence, as of the last decode that had tokens of it, into score[1]. The
// context must have been made with embeddings on and the model's own pooling, which must be 4. 0, or -1: it has none.
SVC_API int32_t svc_sequence_score(void * context, int32_t sequence, float * score);

// ---- draft tokens of a draft model -----------------------------------------------------------------------------

// Adds `draft_model` to the context for speculative decoding, up to n_max draft tokens per sequence: a head or a block drafter
// (EAGLE-3, DFlash, DSpark) made for its model, or any small model with the same vocabulary. NULL: the head in the context's own
// model file. To be called before anything is in the cache. The draft model must outlive the context. Returns the most draft tokens of a call, which may be fewer; -1 when the
// two do not fit, or the context's memory cannot be cut back.
SVC_API int32_t svc_draft_open(void * context, void * draft_model, int32_t n_max);
// Whether the draft model also computes the rows of svc_decode (default: yes); without them it cannot draft. Where
// it has missed rows, or failed, it restarts with the next rows of a sequence.
SVC_API int32_t svc_draft_follow(void * context, int32_t on);
// Milliseconds that this has taken since the last call.
SVC_API float svc_draft_ms(void * context);
// Draft tokens for n sequences, all different, given as columns [n]: sequence id, its last token, which is not computed yet, that
// token's position, and the sampler that will draw what follows, to draw as it will, or 0 for the likeliest tokens. counts[n]:
// most tokens wanted, overwritten with how many row i of tokens[n][n_max] got; it may be 0. Returns 0, or -1 if it
// drafted nothing.
SVC_API int32_t svc_draft(void * context, int32_t n, const int32_t * sequence, const int32_t * last_token,
    const int32_t * position, const uint64_t * sampler, int32_t * counts, int32_t * tokens);
// Reports how many draft tokens of a sequence were accepted, after they were computed beside its last token. 0, or -1.
SVC_API int32_t svc_draft_accept(void * context, int32_t sequence, int32_t n_right);

// ---- images and audio (libmtmd) ----------------------------------------------------------------------------------

// Opens the projector file at `path` for the model, with threads of its own. params: int32 columns, in order:
//   0 n_threads, 1 device of svc_system_info (-1: the CPU), 2 fewest and 3 most tokens of an image (-1: what the file says), 4 most pixels of an image,
//   5 most seconds of an audio clip, 6 tokens that can be computed at once (n_ubatch).
// NULL when the file cannot be read or does not fit the model.
SVC_API void * svc_media_open(void * model, const char * path, const int32_t * params, int32_t n_params);
// What that would take of each device of svc_system_info, bytes, into memory[n]: weights and the buffers of its largest pass.
// Allocates both for a moment, so the device must have room for the file. Returns the number of devices; -1: the file cannot be read.
SVC_API int32_t svc_media_memory(const char * path, const int32_t * params, int32_t n_params, int32_t n, int64_t * memory);
// Every prompt, encoding and chat handle it was used with must have been freed before.
SVC_API void svc_media_free(void * media);
// Bit 0: accepts images, bit 1: accepts audio. -1 failed.
SVC_API int32_t svc_media_abilities(void * media);
// Starts to encode a media chunk of a ready prompt on the projector's encoder thread, one after the other, in the order of
// calls. The prompt may be freed meanwhile.
SVC_API void * svc_encode_begin(void * rendered, int32_t chunk);
// Waits up to wait_ms. 1 ready, 0 still working, -1 failed.
SVC_API int32_t svc_encode_wait(void * encoding, int32_t wait_ms);
// Size of a ready encoding.
SVC_API int64_t svc_encode_bytes(void * encoding);
// May be called at any time; work that has not begun is dropped.
SVC_API void svc_encode_free(void * encoding);
// One forward pass over tokens [from, from + n) of a prompt's media chunk, n <= n_batch, with their embeddings out of a ready
// encoding of equal content. position: of the chunk's first token. No row has logits. Results as of svc_decode; -2 also when
// the arguments do not belong together.
SVC_API int32_t svc_decode_media(void * context, void * rendered, int32_t chunk, void * encoding, int32_t from, int32_t n,
    int32_t position, int32_t sequence);

// ---- LoRA adapters -------------------------------------------------------------------------------------------

// Loads the GGUF adapter at `path` for the model. NULL when it can't be read or does not fit the model. The adapter must
// be freed before the model.
SVC_API void * svc_adapter_load(void * model, const char * path);
// No context may have it selected any more.
SVC_API void svc_adapter_free(void * adapter);
// Sends the rows of all later decodes through the adapter; NULL for none. Changing it makes the next decode slower by the
// planning of a graph, so let steps with the same adapter follow each other. 0, or -1: nothing has changed.
SVC_API int32_t svc_context_adapter(void * context, void * adapter);

// ---- importance statistics and quantization ---------------------------------------------------------------------

// Begins to sum up, for every weight matrix of the layers, the squares of what it is multiplied with in later decodes: the
// importance matrix of llama-imatrix. Earlier sums are dropped. A matrix stops after rows_max rows (0: never). 0, or -1.
SVC_API int32_t svc_calibration_start(void * context, int64_t rows_max);
// Stops; the sums stay. Decodes are as fast as before.
SVC_API void svc_calibration_stop(void * context);
// out[5]: collecting (0, 1), matrices with sums, fewest rows of one of them, most rows, rows of all together. 0, or -1.
SVC_API int32_t svc_calibration_status(void * context, int64_t * out);
// Writes the sums as an importance matrix in GGUF, which llama-quantize reads. 0, or -1.
SVC_API int32_t svc_calibration_save(void * context, const char * path);
// Writes the model file `input` as `output` with another type of weights (llama_ftype number). importance: file of an
// importance matrix, may be NULL. Takes minutes; call it in a process of its own. Writes a line "done total" to the file
// descriptor progress_fd for each tensor, -1 for none. 0, or -1: output may be incomplete.
SVC_API int32_t svc_quantize(const char * input, const char * output, int32_t ftype, int32_t n_threads,
    const char * importance, int32_t progress_fd);

// ---- sampling ------------------------------------------------------------------------------------------------

// params: f32 columns: 0 temperature (0 = greedy), 1 top_p (1 = off), 2 min_p (0 = off), 3 top_k (0 = off),
// 4 repetition penalty (1 = off), 5 frequency penalty (0 = off), 6 presence penalty (0 = off).
// The noise of a draw is a function of (seed_low, seed_high, stream), the number of draws before it, and the token alone.
SVC_API void * svc_sampler_new(const float * params, int32_t n_params, uint32_t seed_low, uint32_t seed_high,
    uint32_t stream);
SVC_API void svc_sampler_free(void * sampler);
// Adds bias[n] to the logits of token[n]; <= -100 bans, >= 100 forces. Replaces an earlier list. 0, or -1.
SVC_API int32_t svc_sampler_bias(void * sampler, int32_t n, const int32_t * token, const float * bias);
// Switches DRY on. breakers: texts, each ended by 0, the list by an empty one; may be NULL. Before any accept. 0, or -1.
SVC_API int32_t svc_sampler_dry(void * sampler, void * model, float multiplier, float base, int32_t allowed_length,
    const char * breakers);
// Tells the sampler tokens that it did not draw: the prompt (generated = 0), for repetition penalty and DRY, or text that
// was put into the answer (generated = 1). 0, or -1 when a grammar does not allow them.
SVC_API int32_t svc_sampler_accept(void * sampler, int32_t n, const int32_t * token, int32_t generated);
// Draws one token for each of n rows from the logits of the last decode, in parallel over rows.
// Where a device computes them, it lists the largest, and a row is copied whole only if these do not decide.
// row[n] batch index of each row's output, sampler[n] its handle, mask[n] address of its bitset of allowed tokens
// (uint32 words, lowest bit first) or 0; token[n] receives ids; -1 where no allowed token has a finite logit or the row
// had no output. Consumes one random number a row. The logits stay as the model left them. 0, or -1: nothing was drawn.
SVC_API int32_t svc_sample(void * context, int32_t n, const int32_t * row, const uint64_t * sampler,
    const uint64_t * mask, int32_t * token);
// Up to n_steps times svc_decode over n rows, one of each sequence, and svc_sample from all of them without masks: what is drawn
// is the next step's tokens, at the next positions. drawn[n_steps][n] receives the tokens, *n_done how many steps were done; a
// step that draws the end of an answer, or -1, is the last. Returns what svc_decode returned for the first step; where a later
// one fails, nothing of it stays in the cache.
SVC_API int32_t svc_decode_steps(void * context, int32_t n, const int32_t * token, const int32_t * position,
    const int32_t * sequence, const uint64_t * sampler, int32_t n_steps, int32_t * drawn,
    int32_t * n_done);
// svc_sample for one row of given logits [n_vocab]; for tests. Returns the token, -1 on failure.
SVC_API int32_t svc_sample_logits(void * sampler, float * logits, int32_t n_vocab);
// Log probabilities under the model's own distribution at an output row of the last decode: logprob[0] of `token`, then
// those of the n_top most likely tokens, whose ids go to top[n_top]; logprob has room for n_top + 1. Returns how many of
// the top there are, -1 on failure.
SVC_API int32_t svc_logprobs(void * context, int32_t row, int32_t token, int32_t n_top, int32_t * top, float * logprob);

// ---- chat templates and output parsing (llama.cpp's common library) --------------------------------------------

// `source` overrides the model's own template and may be NULL. content_tokens: JSON list of control or user-defined tokens
// that the text of messages may become. NULL when the template does not parse or there is no such token. Free it only after
// every prompt it renders.
SVC_API void * svc_chat_open(void * model, const char * source, const char * content_tokens);
SVC_API void svc_chat_free(void * chat);
// What the template leaves out of conversations, whatever form they are given: a JSON list of texts for the operator. Free with
// svc_free_text.
SVC_API char * svc_chat_lost(void * chat);
// What a template makes of variables, a JSON object, whose texts count as a request's. JSON: {text, inputs: [[begin, end]…]}, bytes. For
// tests. NULL with the reason. Free with svc_free_text.
SVC_API char * svc_template_text(const char * source, const char * variables);
// Tokenizes `len` bytes of the text of a message, in which markup is text. Returns as svc_tokenize does.
SVC_API int32_t svc_chat_tokenize(void * chat, const char * text, int32_t len, int32_t * out, int32_t capacity);
// Starts rendering and tokenizing a prompt on the chat handle's own thread, one after the other, so that a long prompt or
// a slow template never holds up a decode step. request: JSON. Plain text: {prompt: text}. A gap: {prompt: text before, suffix:
// text after, files?: [{name, text}], room?: tokens into which it must fit}. A pair to rank: {prompt: query, document,
// document_room?, room?: tokens likewise}. A
// conversation in chat-completions form, {messages, tools?, template_tools?, tool_choice?, parallel_tool_calls?, enable_thinking?,
// kwargs?: {name: value}}; tools are a list or its JSON text, template_tools the JSON text of the list for the template if it differs;
// without enable_thinking the template decides. NULL only when memory is short; what is wrong with the request, wait tells.
// long_prompt: on a second such thread, which gives way to others.
SVC_API void * svc_render_begin(void * chat, const char * request, int32_t long_prompt);
// The same for a conversation with n images and audio clips, on the projector's thread, so that other prompts do not wait
// for files to be unpacked. data[n] are addresses and size[n] lengths of the files' bytes, which are copied. The request
// also has marker, a word that occurs nowhere in the conversation: its text has marker + "x" + i + "x" where item i belongs;
// and media: [{key, audio}] of the items, where equal keys mean equal bytes.
SVC_API void * svc_render_media_begin(void * chat, void * media, const char * request, int32_t n, const uint64_t * data,
    const int64_t * size);
// Waits up to wait_ms. 1 ready, 0 still working, -1 failed: svc_last_error says what the template rejected, or what is
// wrong with a file ("image 1: ...").
SVC_API int32_t svc_render_wait(void * rendered, int32_t wait_ms);
// May be called at any time; work that is still under way is dropped. All of the following need a ready prompt.
SVC_API void svc_render_free(void * rendered);
// JSON {format, thinking_start, thinking_ends, supports_thinking, generation_prompt, additional_stops, preserved_tokens,
//  calls (tools are offered), parser (number of the parser of the answer; prompts of one chat handle with equal numbers have equal
//  parsers and formats; 0: none), writes_calls (whether it knows calls), has_grammar, grammar_lazy,
//  grammar_triggers:[{type, value, token}], thinks (value given to the template)}.
SVC_API char * svc_render_info(void * rendered);
// llama.cpp's parser of the answer, as JSON; empty: none.
SVC_API char * svc_render_parser(void * rendered);
// The prompt's text, for logs and tests.
SVC_API char * svc_render_prompt(void * rendered);
// Token ids of the prompt into out. Returns the count, or -needed when `capacity` is too small (nothing is written).
SVC_API int32_t svc_render_tokens(void * rendered, int32_t * out, int32_t capacity);
// Where a prompt's media are, six numbers each: first token, tokens, positions they take, item, chunk of that item (a large
// image is several), 1 if it must be computed as a whole. Their tokens have the id -1. Returns how many there are, or
// -count when `capacity` (in numbers) is too small.
SVC_API int32_t svc_render_media(void * rendered, int32_t * out, int32_t capacity);
// Parses what the model wrote after the prompt. partial = 1 while more may come. JSON message
// {role, content, reasoning_content?, tool_calls?}; NULL when finished text does not follow the format.
SVC_API char * svc_render_parse(void * rendered, const char * text, int32_t len, int32_t partial);

#ifdef __cplusplus
}
#endif

#endif
