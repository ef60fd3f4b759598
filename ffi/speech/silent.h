// Included before each source of flite where it is built from source: what flite prints about a text must not reach a log.
#ifndef SVC_SILENT_H
#define SVC_SILENT_H

#include <stdio.h>

FILE * svc_speech_null(void);

#undef stdout
#undef stderr
#define stdout svc_speech_null()
#define stderr svc_speech_null()

#endif
