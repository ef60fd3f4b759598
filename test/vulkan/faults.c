// Makes a Vulkan driver fail on demand, counts the memory that it hands out and never destroys its buffers, for tests. Loaded before
// everything else (LD_PRELOAD).
// SVC_TEST_MEMORY names a file for the bytes that are allocated now. SVC_TEST_CARDS has the memory that the cards claim to have, MiB each,
// "8192,24576": what is placed there by estimates is not allocated. SVC_TEST_FAULT names a file, whose
// first word is read at each call that may fail: "lost" the device is lost, "memory" it is out of memory, "hang" a submission never
// returns, "crash" the driver crashes. Any other word, or no file: the driver works.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUT_OF_DEVICE_MEMORY (-2)
#define DEVICE_LOST (-4)

typedef void (*function)(void);
typedef function (*lookup)(void *, const char *);
typedef int (*submit)(void *, unsigned, const void *, void *);
typedef int (*allocate)(void *, const void *, const void *, void *);
typedef void (*release)(void *, void *, const void *);

static lookup real_instance, real_device;
static submit real_submit;
static allocate real_allocate;
static release real_free;
struct heaps;
struct heaps_chained;
static void (*real_heaps)(void *, struct heaps *);
static void (*real_heaps_2)(void *, struct heaps_chained *);

#define ALLOCATIONS_MAX 4096
static struct { void * memory; uint64_t bytes; } allocations[ALLOCATIONS_MAX];
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

// Replaces an entry of `allocations` and writes the sum. Without an empty entry the test fails.
static void count(void * old, void * memory, uint64_t bytes) {
    const char * path = getenv("SVC_TEST_MEMORY");
    if (path == NULL) return;
    pthread_mutex_lock(&counting);
    uint64_t sum = 0;
    for (int i = 0, is_done = 0; i < ALLOCATIONS_MAX; i++) {
        if (!is_done && allocations[i].memory == old) {
            allocations[i].memory = memory;
            allocations[i].bytes = bytes;
            is_done = 1;
        }
        sum += allocations[i].bytes;
    }
    char text[32];
    const int length = snprintf(text, sizeof text, "%020llu", (unsigned long long) sum);
    const int file = open(path, O_WRONLY | O_CREAT, 0600);
    if (file < 0 || pwrite(file, text, length, 0) != length) abort();
    close(file);
    pthread_mutex_unlock(&counting);
}

static int is_now(const char * fault) {
    char word[16] = "";
    const char * path = getenv("SVC_TEST_FAULT");
    FILE * file = path == NULL ? NULL : fopen(path, "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%15s", word) != 1) word[0] = 0;
    fclose(file);
    return strcmp(word, fault) == 0;
}

static int queue_submit(void * queue, unsigned count, const void * batches, void * fence) {
    if (is_now("lost")) return DEVICE_LOST;
    if (is_now("hang")) for (;;) pause();
    if (is_now("crash")) abort();
    return real_submit(queue, count, batches, fence);
}

static int allocate_memory(void * device, const void * info, const void * allocator, void * memory) {
    if (is_now("memory")) return OUT_OF_DEVICE_MEMORY;
    const int result = real_allocate(device, info, allocator, memory);
    // VkMemoryAllocateInfo: type and pNext, 16 bytes, then the size
    if (result == 0) count(NULL, *(void **) memory, *(const uint64_t *) ((const char *) info + 16));
    return result;
}

static void free_memory(void * device, void * memory, const void * allocator) {
    if (memory != NULL) count(memory, NULL, 0);
    real_free(device, memory, allocator);
}

// ggml binds all descriptors of a set, also those that the shader does not read and that were written for an earlier one. Vulkan allows
// their buffers to be destroyed. The software device of Mesa 22.3 counts references in these freed objects and corrupts the heap. Only
// the object stays: its memory is freed by vkFreeMemory.
static void keep_buffer(void * device, void * buffer, const void * allocator) {
    (void) device, (void) buffer, (void) allocator;
}

// Cards in the order in which their memory is first asked for.
#define CARDS_MAX 4
static void * cards[CARDS_MAX];

static uint64_t claimed_bytes(void * card) {
    const char * text = getenv("SVC_TEST_CARDS");
    for (int i = 0; text != NULL && i < CARDS_MAX; i++, text = strchr(text, ',')) {
        if (i > 0) text++;
        if (cards[i] == NULL) cards[i] = card;
        if (cards[i] == card) return strtoull(text, NULL, 10) << 20;
    }
    return 0;
}

struct chained { int type; struct chained * next; };
struct heap { uint64_t bytes; uint32_t flags; };
struct heaps { uint32_t n_types; uint32_t types[32][2]; uint32_t count; struct heap heaps[16]; };
struct heaps_chained { struct chained head; struct heaps own; };
struct budget { struct chained head; uint64_t bytes[16], used[16]; };
#define BUDGET 1000237000

static void claim(void * card, struct heaps * own) {
    const uint64_t bytes = claimed_bytes(card);
    for (uint32_t i = 0; bytes > 0 && i < own->count; i++) own->heaps[i].bytes = bytes;
}

static void memory_properties(void * card, struct heaps * out) {
    real_heaps(card, out);
    claim(card, out);
}

static void memory_properties_2(void * card, struct heaps_chained * out) {
    real_heaps_2(card, out);
    claim(card, &out->own);
    for (struct chained * next = out->head.next; next != NULL; next = next->next) {
        struct budget * budget = (struct budget *) next;
        const uint64_t bytes = next->type == BUDGET ? claimed_bytes(card) : 0;
        for (uint32_t i = 0; bytes > 0 && i < out->own.count; i++) budget->bytes[i] = bytes, budget->used[i] = 0;
    }
}

static function device_function(void * device, const char * name);

static function replaced(function found, const char * name) {
    if (found == NULL) return NULL;
    if (strcmp(name, "vkQueueSubmit") == 0) {
        real_submit = (submit) found;
        return (function) queue_submit;
    }
    if (strcmp(name, "vkAllocateMemory") == 0) {
        real_allocate = (allocate) found;
        return (function) allocate_memory;
    }
    if (strcmp(name, "vkFreeMemory") == 0) {
        real_free = (release) found;
        return (function) free_memory;
    }
    if (strcmp(name, "vkGetPhysicalDeviceMemoryProperties") == 0) {
        real_heaps = (void (*)(void *, struct heaps *)) found;
        return (function) memory_properties;
    }
    if (strncmp(name, "vkGetPhysicalDeviceMemoryProperties2", 36) == 0) {
        real_heaps_2 = (void (*)(void *, struct heaps_chained *)) found;
        return (function) memory_properties_2;
    }
    if (strcmp(name, "vkDestroyBuffer") == 0) return (function) keep_buffer;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
        real_device = (lookup) found;
        return (function) device_function;
    }
    return found;
}

static function device_function(void * device, const char * name) { return replaced(real_device(device, name), name); }

function vkGetInstanceProcAddr(void * instance, const char * name) {
    if (real_instance == NULL) {
        void * loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
        real_instance = loader == NULL ? NULL : (lookup) dlsym(loader, "vkGetInstanceProcAddr");
        if (real_instance == NULL) return NULL;
    }
    return replaced(real_instance(instance, name), name);
}
