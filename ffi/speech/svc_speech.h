// Flat C ABI over flite: text that one of its voices can read becomes samples.
//
// Rules, for every function:
//  - A failure is a negative code or NULL; svc_speech_last_error() then has one English sentence. flite's own way of
//    failing, which ends the process, is caught: memory of the sentence at hand is lost, nothing else.
//  - No struct crosses by value and no callback is taken.
//  - Handles are opaque; a NULL handle is an error, never a crash.
//  - The library has one state for all its voices: every call comes from one thread.
//
// ffi/speech-symbols.ts is generated from this file; svc_speech_abi_hash() proves that a library was built from it.
#ifndef SVC_SPEECH_H
#define SVC_SPEECH_H

#include <stdint.h>

#define SVC_API __attribute__((visibility("default")))

// Hash of this header's declarations, baked in when the library was built.
SVC_API const char * svc_speech_abi_hash(void);
// What went wrong in the last failed call; "" if nothing did. Valid until the next call.
SVC_API const char * svc_speech_last_error(void);
// Fails inside as flite does, to prove that the process goes on. Always -1.
SVC_API int32_t svc_speech_selftest_fail(void);

// The voice of that name, kept for the life of the process: `slt` or `kal16`. NULL for an unknown name.
SVC_API void * svc_speech_voice(const char * name);
// Speaks a text, ASCII. The samples stay in memory until svc_speech_free; NULL when it failed.
SVC_API void * svc_speech_say(void * voice, const char * text);
// Samples a second.
SVC_API int32_t svc_speech_rate(void * speech);
// Copies the samples, one channel, into out. Returns their count, or -needed when `capacity` is too small (nothing is
// written).
SVC_API int32_t svc_speech_samples(void * speech, int16_t * out, int32_t capacity);
SVC_API void svc_speech_free(void * speech);

#endif
