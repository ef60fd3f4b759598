// For LD_PRELOAD: counts what ggml's back ends are asked to do, between two calls of bus_counts. bench/bus.ts reads it. A wait is a call
// that waits for work since the last one. Calls within a call, by back ends without asynchronous copies, do not count. Host time is what lies
// between the calls that compute graphs; on the CPU, which computes within them, all that is no computation.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { WAITS, FROM_DEVICE, TO_DEVICE, COPIES, GRAPHS, HOST_US, N_COUNTS };
static int64_t counts[N_COUNTS], computed_at;
static int depth;

// Back ends, and whether they have been asked for something since they were last waited for. The CPU computes within the call, so where there
// is another back end, nothing waits for it.
enum { BACKENDS_MAX = 8 };
static struct { const void * backend; int has_work, is_cpu; } backends[BACKENDS_MAX];
static int n_backends, has_device;

static int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

// Copies the counts and begins again.
void bus_counts(int64_t * out) {
    for (int i = 0; i < N_COUNTS; i++) out[i] = counts[i], counts[i] = 0;
}

// The function that is replaced. The library is loaded by name, outside the scope that RTLD_NEXT searches.
static void * original(const char * name) {
    void * library = dlopen("libggml-base.so.0", RTLD_NOW | RTLD_NOLOAD);
    return library == NULL ? NULL : dlsym(library, name);
}

#define ORIGINAL(name, type)                          \
    static type real;                                 \
    if (real == NULL) real = (type) original(#name)

static int * work_of(const void * backend) {
    static const char * (*name_of)(const void *);
    if (name_of == NULL) name_of = (const char * (*)(const void *)) original("ggml_backend_name");
    int i = 0;
    while (i < n_backends && backends[i].backend != backend) i++;
    if (i == BACKENDS_MAX) i = 0;
    if (i == n_backends) {
        backends[i].backend = backend, backends[i].is_cpu = strcmp(name_of(backend), "CPU") == 0, n_backends++;
        has_device |= !backends[i].is_cpu;
    }
    static int none;
    none = 0;
    return has_device && backends[i].is_cpu ? &none : &backends[i].has_work;
}

typedef void (*wait_t)(void *);
void ggml_backend_synchronize(void * backend) {
    ORIGINAL(ggml_backend_synchronize, wait_t);
    if (depth == 0) counts[WAITS] += *work_of(backend), *work_of(backend) = 0;
    real(backend);
}

typedef void (*get_async_t)(void *, const void *, void *, size_t, size_t);
void ggml_backend_tensor_get_async(void * backend, const void * tensor, void * data, size_t offset, size_t size) {
    ORIGINAL(ggml_backend_tensor_get_async, get_async_t);
    if (depth == 0) counts[FROM_DEVICE] += (int64_t) size, counts[COPIES]++, *work_of(backend) = 1;
    depth++;
    real(backend, tensor, data, offset, size);
    depth--;
}

typedef void (*get_t)(const void *, void *, size_t, size_t);
void ggml_backend_tensor_get(const void * tensor, void * data, size_t offset, size_t size) {
    ORIGINAL(ggml_backend_tensor_get, get_t);
    if (depth == 0) counts[FROM_DEVICE] += (int64_t) size, counts[COPIES]++, counts[WAITS]++;
    depth++;
    real(tensor, data, offset, size);
    depth--;
}

typedef void (*set_async_t)(void *, void *, const void *, size_t, size_t);
void ggml_backend_tensor_set_async(void * backend, void * tensor, const void * data, size_t offset, size_t size) {
    ORIGINAL(ggml_backend_tensor_set_async, set_async_t);
    if (depth == 0) counts[TO_DEVICE] += (int64_t) size, counts[COPIES]++, *work_of(backend) = 1;
    depth++;
    real(backend, tensor, data, offset, size);
    depth--;
}

// Whether a tensor lies in main memory: writing to it is no copy to a device, the scheduler makes that later. ggml_tensor begins with its
// type and its buffer; views have none and count as the device's.
static int is_in_main_memory(const void * tensor) {
    static int (*is_host)(const void *);
    if (is_host == NULL) is_host = (int (*)(const void *)) original("ggml_backend_buffer_is_host");
    const void * buffer = *(const void * const *) ((const char *) tensor + sizeof(void *));
    return buffer != NULL && (is_host(buffer) & 0xff);
}

typedef void (*set_t)(void *, const void *, size_t, size_t);
void ggml_backend_tensor_set(void * tensor, const void * data, size_t offset, size_t size) {
    ORIGINAL(ggml_backend_tensor_set, set_t);
    if (depth == 0 && !is_in_main_memory(tensor)) counts[TO_DEVICE] += (int64_t) size, counts[COPIES]++, counts[WAITS]++;
    depth++;
    real(tensor, data, offset, size);
    depth--;
}

typedef void (*copy_t)(const void *, void *);
void ggml_backend_tensor_copy(const void * from, void * to) {
    ORIGINAL(ggml_backend_tensor_copy, copy_t);
    static size_t (*bytes)(const void *);
    if (bytes == NULL) bytes = (size_t (*)(const void *)) original("ggml_nbytes");
    if (depth == 0) counts[TO_DEVICE] += (int64_t) bytes(from), counts[COPIES]++, counts[WAITS]++;
    depth++;
    real(from, to);
    depth--;
}

void ggml_backend_event_synchronize(void * event) {
    ORIGINAL(ggml_backend_event_synchronize, wait_t);
    if (depth == 0) counts[WAITS]++;
    real(event);
}

typedef int (*compute_t)(void *, void *);
int ggml_backend_graph_compute_async(void * backend, void * graph) {
    ORIGINAL(ggml_backend_graph_compute_async, compute_t);
    counts[GRAPHS]++, *work_of(backend) = 1;
    if (computed_at != 0) counts[HOST_US] += now_us() - computed_at;
    const int result = real(backend, graph);
    computed_at = now_us();
    return result;
}
