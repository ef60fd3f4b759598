// Crash message of a process whose native code fails: a failed assertion of llama.cpp, or a memory fault. Without it the runtime
// reports a crash of its own, requests a report to its authors and leaves a core file.

#include "model.h"
#include "svc_llama.h"

#ifdef __linux__

#include <csignal>
#include <cstring>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

constexpr int fatal_signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};

const char * name_of(int sig) {
    switch (sig) {
        case SIGABRT: return "SIGABRT: a check in llama.cpp failed, or memory ran out";
        case SIGBUS: return "SIGBUS: a file was cut short while it was in use, or the disk failed";
        case SIGFPE: return "SIGFPE: a division by zero";
        case SIGILL: return "SIGILL: an instruction that this processor does not have";
        default: return "SIGSEGV: an access to memory that is not there";
    }
}

// In a signal handler only what signal-safety(7) lists may be called.
void say(const char * text) {
    const ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void) written;  // no other channel is left
}

void on_crash(int sig) {
    say("svc engine: native code failed (");
    say(name_of(sig));
    if (svc::device_error()[0] != '\0') say("; ");
    say(svc::device_error());
    say("). This engine process ends; svc answers its requests with an error and starts another. If it happens again, report "
        "the model, the request and the lines above to the authors of svc.\n");
    prctl(PR_SET_DUMPABLE, 0);  // no core file: it would hold the model and what users wrote
    raise(sig);  // its default action by now, so that the parent learns the signal
}

}  // namespace

void svc_catch_crashes(void) {
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_crash;
    action.sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER;
    for (int sig : fatal_signals) sigaction(sig, &action, nullptr);
}

#else

void svc_catch_crashes(void) {}

#endif
