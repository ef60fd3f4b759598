#include "silent.h"

// The stream that silent.h puts in the place of stdout and stderr.
FILE * svc_speech_null(void) {
    static FILE * null;
    if (null == NULL) {
#ifdef _WIN32
        null = fopen("NUL", "w");
#else
        null = fopen("/dev/null", "w");
#endif
    }
    return null;
}
