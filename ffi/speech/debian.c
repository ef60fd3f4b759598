// What Debian's static archives of flite want besides the C library. They were built to be linked into programs, and with
// sound output, which svc never uses.
#include <stdio.h>

// Their references to these must be to objects of the same library: others would need copies that only programs have.
// Nothing is read from them, and what flite would tell about the sounds of a text is not for a log.
#undef stdin
#undef stdout
#undef stderr
FILE * stdin;
FILE * stdout;
FILE * stderr;

__attribute__((constructor)) static void open_streams(void) {
    stdin = fopen("/dev/null", "r");
    stdout = fopen("/dev/null", "w");
    stderr = stdout;
}

// ALSA's functions, each of which fails.
#define NO_SOUND(name) int name(void) { return -1; }
NO_SOUND(snd_config_update_free_global)
NO_SOUND(snd_pcm_close)
NO_SOUND(snd_pcm_drain)
NO_SOUND(snd_pcm_drop)
NO_SOUND(snd_pcm_hw_params)
NO_SOUND(snd_pcm_hw_params_any)
NO_SOUND(snd_pcm_hw_params_set_access)
NO_SOUND(snd_pcm_hw_params_set_channels)
NO_SOUND(snd_pcm_hw_params_set_format)
NO_SOUND(snd_pcm_hw_params_set_rate)
NO_SOUND(snd_pcm_hw_params_sizeof)
NO_SOUND(snd_pcm_open)
NO_SOUND(snd_pcm_prepare)
NO_SOUND(snd_pcm_resume)
NO_SOUND(snd_pcm_set_params)
NO_SOUND(snd_pcm_state)
NO_SOUND(snd_pcm_wait)
NO_SOUND(snd_pcm_writei)

const char * snd_strerror(int code) {
    (void) code;
    return "svc plays no sound";
}
