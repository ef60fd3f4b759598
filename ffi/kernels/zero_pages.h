// Kernel zero-pages: clears a buffer by returning its pages to the system.
//
// Contract: after svc_zero_pages(data, size) all `size` bytes read as zero. Whole pages are released with MADV_DONTNEED, so
// memory that is never written is never resident: the KV cache of a long context costs no time and no memory at start. `data`
// must be private anonymous memory (malloc, mmap), not a file mapping. Returns false, with the buffer unchanged, if the caller
// must clear it: other systems, no whole page, kernel switched off.
#pragma once

#include "svc_kernels.h"

#include <stdint.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

static inline bool svc_zero_pages(void * data, size_t size) {
#if defined(__linux__)
    if (!svc_kernel_enabled("zero-pages")) return false;
    const uintptr_t page = 4096;
    const uintptr_t begin = (uintptr_t) data;
    const uintptr_t end = begin + size;
    const uintptr_t first = (begin + page - 1) & ~(page - 1);
    const uintptr_t last = end & ~(page - 1);
    if (first >= last || madvise((void *) first, last - first, MADV_DONTNEED) != 0) return false;
    memset((void *) begin, 0, first - begin);
    memset((void *) last, 0, end - last);
    return true;
#else
    (void) data;
    (void) size;
    return false;
#endif
}
