#include "svc_speech.h"

#include <flite.h>
#include <stddef.h>
#include <string.h>

// flite has no header for its voices.
cst_voice * register_cmu_us_slt(const char * folder);
cst_voice * register_cmu_us_kal16(const char * folder);

static const char * last_error = "";

static int32_t fail(const char * reason) {
    last_error = reason;
    return -1;
}

// Where flite jumps to instead of ending the process. A frame that calls setjmp must be the caller of what may fail.
static jmp_buf way_back;

static void open_once(void) {
    static int is_open = 0;
    cst_errjmp = &way_back;
    if (!is_open) {
        flite_init();
        is_open = 1;
    }
}

const char * svc_speech_abi_hash(void) {
    return SVC_ABI_HASH;
}

const char * svc_speech_last_error(void) {
    return last_error;
}

int32_t svc_speech_selftest_fail(void) {
    open_once();
    if (setjmp(way_back) != 0) {
        return fail("flite failed");
    }
    cst_error();
    return 0;
}

void * svc_speech_voice(const char * name) {
    static cst_voice * slt;
    static cst_voice * kal16;
    last_error = "";
    open_once();
    if (setjmp(way_back) != 0) {
        fail("flite could not open the voice");
        return NULL;
    }
    if (name != NULL && strcmp(name, "slt") == 0) {
        return slt != NULL ? slt : (slt = register_cmu_us_slt(NULL));
    }
    if (name != NULL && strcmp(name, "kal16") == 0) {
        return kal16 != NULL ? kal16 : (kal16 = register_cmu_us_kal16(NULL));
    }
    fail("there is no voice of that name");
    return NULL;
}

void * svc_speech_say(void * voice, const char * text) {
    last_error = "";
    if (voice == NULL || text == NULL) {
        fail("no voice or no text was given");
        return NULL;
    }
    if (setjmp(way_back) != 0) {
        fail("flite could not speak this text");
        return NULL;
    }
    cst_wave * wave = flite_text_to_wave(text, voice);
    if (wave == NULL) {
        fail("flite made no sound of this text");
    }
    return wave;
}

int32_t svc_speech_rate(void * speech) {
    return speech == NULL ? fail("no speech was given") : ((cst_wave *) speech)->sample_rate;
}

int32_t svc_speech_samples(void * speech, int16_t * out, int32_t capacity) {
    const cst_wave * wave = speech;
    if (wave == NULL) {
        return fail("no speech was given");
    }
    if (capacity < wave->num_samples) {
        return -wave->num_samples;
    }
    memcpy(out, wave->samples, (size_t) wave->num_samples * sizeof(int16_t));
    return wave->num_samples;
}

void svc_speech_free(void * speech) {
    if (speech != NULL) {
        delete_wave(speech);
    }
}
