#include "memory_nodes.h"

#include <cstdio>
#include <cstdlib>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {

struct memory_nodes {
    int count = 1;
    bool emulated = false;
    int numbers[SVC_NODES_MAX] = {};

    memory_nodes() {
        const char * value = getenv("SVC_MEMORY_NODES");
        if (value == nullptr) return;
        int found = 0;
        emulated = sscanf(value, "emulated:%d", &found) == 1;
        if (!emulated) {
            for (const char * at = value; found <= SVC_NODES_MAX; ++at) {
                char * end;
                const long number = strtol(at, &end, 10);
                if (end == at) break;
                if (found < SVC_NODES_MAX) numbers[found] = (int) number;
                ++found;
                at = end;
                if (*at == '\0') break;
            }
        }
        if (found >= 1 && found <= SVC_NODES_MAX) count = found;
    }
};

const memory_nodes & nodes() {
    static const memory_nodes known;
    return known;
}

}  // namespace

int svc_nodes(void) { return nodes().count; }

int svc_node_of_thread(int thread, int threads) {
    const memory_nodes & known = nodes();
    if (known.count == 1) return 0;
    if (known.emulated) return thread * known.count / threads;
#if defined(__linux__)
    unsigned processor = 0, node = 0;
    if (syscall(SYS_getcpu, &processor, &node, nullptr) == 0) {
        for (int i = 0; i < known.count; ++i) {
            if (known.numbers[i] == (int) node) return i;
        }
    }
#endif
    return thread % known.count;
}

void svc_bind_to_node(void * memory, size_t size, int node) {
    const memory_nodes & known = nodes();
    if (known.count == 1 || known.emulated) return;
#if defined(__linux__)
    constexpr int preferred = 1;  // MPOL_PREFERRED of linux/mempolicy.h: other nodes where this one is full
    constexpr int word = 8 * sizeof(unsigned long);
    unsigned long mask[1024 / word] = {};  // as many nodes as Linux can have
    const int number = known.numbers[node];
    if (number < 0 || number >= 1024) return;
    mask[number / word] |= 1ul << number % word;
    syscall(SYS_mbind, memory, size, preferred, mask, 1024ul + 1, 0);  // the kernel counts one bit less
#else
    (void) memory;
    (void) size;
    (void) node;
#endif
}
