// Makes a Vulkan driver fail on demand, for tests. Loaded before everything else (LD_PRELOAD); SVC_TEST_FAULT names a file, whose
// first word is read at each call that may fail: "lost" the device is lost, "memory" it is out of memory, "hang" a submission never
// returns, "crash" the driver crashes. Any other word, or no file: the driver works.

#define _GNU_SOURCE
#include <dlfcn.h>
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

static lookup real_instance, real_device;
static submit real_submit;
static allocate real_allocate;

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
    return real_allocate(device, info, allocator, memory);
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
