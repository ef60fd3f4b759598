// What every entry point shares: nothing thrown gets out, and the reason is kept for svc_last_error().
#pragma once

#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace svc {

inline std::string & last_error() {
    thread_local std::string text;
    return text;
}

// Runs `body`; if it throws, remembers the message and returns `failed`.
template <typename T, typename F>
T guard(T failed, F && body) noexcept {
    try {
        last_error().clear();
        return body();
    } catch (const std::exception & e) {
        try {
            last_error() = e.what();
        } catch (...) {}
    } catch (...) {
        try {
            last_error() = "an unknown error was raised in native code";
        } catch (...) {}
    }
    return failed;
}

template <typename T>
T & need(void * handle, const char * what) {
    if (handle == nullptr) {
        throw std::invalid_argument(std::string("no ") + what + " was given");
    }
    return *static_cast<T *>(handle);
}

inline char * copy_text(const std::string & text) {
    char * out = static_cast<char *>(malloc(text.size() + 1));
    if (out == nullptr) {
        throw std::bad_alloc();
    }
    memcpy(out, text.c_str(), text.size() + 1);
    return out;
}

// One of the int32 columns of a *_new call; absent columns have their default.
inline int32_t column(const int32_t * params, int32_t n, int32_t index, int32_t fallback) {
    return params != nullptr && index < n ? params[index] : fallback;
}

}  // namespace svc
