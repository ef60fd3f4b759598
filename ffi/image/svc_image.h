// Flat C ABI over stable-diffusion.cpp: images from texts.
//
// Rules, for every function:
//  - No exception leaves it. A failure is a negative code or NULL; svc_image_last_error() then has one English sentence.
//  - No struct crosses by value and no callback is taken.
//  - Handles are opaque and owned by the caller until the matching *_free or *_finish; a NULL handle is an error, never a
//    crash. `const char *` results stay ours.
//  - Loads and image jobs run on a thread of their own, one of them at a time in a process. Meanwhile only *_state,
//    svc_image_job_progress and svc_image_job_cancel of that work may be called.
//
// An assertion of the library that fails on the thread of a load or a job is caught: the work fails, and
// svc_image_is_broken() is 1 from then on, as after any error of a device. What the library holds is in an unknown state, so the process should end.
// An assertion on another thread of the library ends the process.
//
// ffi/image-symbols.ts is generated from this file; svc_image_abi_hash() proves that a library was built from it.
#ifndef SVC_IMAGE_H
#define SVC_IMAGE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SVC_API __attribute__((visibility("default")))

// ---- process -------------------------------------------------------------------------------------------------

// Hash of this header's declarations, baked in when the library was built.
SVC_API const char * svc_image_abi_hash(void);
// What went wrong in the last failed call of this thread; "" if nothing did. Valid until the next call.
SVC_API const char * svc_image_last_error(void);
// After svc_init, which loads the back ends: both libraries compute with one ggml. verbosity 0 errors .. 3 debug, to stderr. 0, or -1
// without a back end for the CPU.
SVC_API int32_t svc_image_init(int32_t verbosity);
// Raises inside, to prove that nothing escapes: kind 0 std::exception, 1 an int, 2 a failed assertion of the library (which
// breaks it, see above). Always -1.
SVC_API int32_t svc_image_selftest_throw(int32_t kind);
// 1 after a failed assertion.
SVC_API int32_t svc_image_is_broken(void);

// ---- model ---------------------------------------------------------------------------------------------------

// Starts loading. Paths, each may be NULL: `model` is a checkpoint with all parts in one file, `diffusion` the diffusion
// weights alone; the others add parts or replace those of the checkpoint. `vae` may be a tiny autoencoder. threads: that
// compute on the CPU. device: the name of the one that computes instead, or NULL; it gets the weights with the first image, or, with a
// budget above 0, keeps at most that many bytes at a time and the weights stay in main memory. NULL when no path is given.
SVC_API void * svc_image_load_begin(const char * model, const char * diffusion, const char * vae, const char * clip_l,
                                    const char * clip_g, const char * t5xxl, const char * llm, int32_t threads, const char * device,
                                    int64_t budget);
// Parts per thousand read, 0..1000, while loading; 1001 loaded; -1 failed. Never blocks.
SVC_API int32_t svc_image_load_state(void * load);
// Waits for the thread, frees `load`, returns the model; NULL when loading failed.
SVC_API void * svc_image_load_finish(void * load);
// No job of the model may be unfinished.
SVC_API void svc_image_model_free(void * model);
// The library's name for the family of the model, such as "SD 1.x" or "Flux". Valid as long as the model.
SVC_API const char * svc_image_model_family(void * model);

// ---- image job -----------------------------------------------------------------------------------------------

// Starts the generation of one image. params: int32 columns, in order: 0 width, 1 height, 2 steps, 3 decode in tiles
// (0 or 1), which takes less memory, 4 measure alone (0 or 1): graphs are built and not computed, weights not read, and the image is black.
// guidance: how strongly the text counts,
// 1 for models that need no second pass without it. Same seed, same image. The library rounds width and height up to
// what the model can do; svc_image_job_size returns the result.
SVC_API void * svc_image_job_begin(void * model, const char * prompt, const int32_t * params, int32_t n_params,
                                    float guidance, int64_t seed);
// 0 running, 1 done, 2 cancelled, -1 failed. Never blocks.
SVC_API int32_t svc_image_job_state(void * job);
// Steps done so far.
SVC_API int32_t svc_image_job_progress(void * job);
// Ends the job soon, in the middle of a step. The model can be used again afterwards.
SVC_API void svc_image_job_cancel(void * job);
// Of a finished job: bytes of the buffer of its largest graph, beside weights.
SVC_API int64_t svc_image_job_bytes(void * job);
// Of a finished image: which = 0 width, 1 height, 2 channels (3: RGB).
SVC_API int32_t svc_image_job_size(void * job, int32_t which);
// Its pixels, width * height * channels bytes row by row, into out[n]. 0, or -1 when n is another number.
SVC_API int32_t svc_image_job_pixels(void * job, uint8_t * out, int32_t n);
// Why it failed; "" if it did not. Valid until it is freed.
SVC_API const char * svc_image_job_error(void * job);
// Waits for the thread and frees everything of the job.
SVC_API void svc_image_job_free(void * job);

#ifdef __cplusplus
}
#endif

#endif
