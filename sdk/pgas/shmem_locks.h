/* shmem_locks.h: the numbers of locks, and what they are called. Part of shmem.c.
 *
 * The number of a lock is its offset among the variables of the executable or of a library (with bits set
 * above), or its distance from a place in the symmetric heap: the same on all PEs. When a thread first meets
 * a lock, it looks the lock up in a table of the process. When the process first meets it, the trace gets a
 * description: the address of the variable, or the call that allocated the memory. Therefore allocated memory
 * is tracked in a tree by address. That costs little: allocations are collective and take far longer. */

#include <search.h>

/* A block allocated in the symmetric heap. */
typedef struct wss_block {
    const char *from;
    size_t size;
    const void *caller;
    int op;
    unsigned call; /* which of the calls from there, counted from 1 */
} wss_block;

typedef struct wss_caller { /* a place that allocates */
    const void *caller;
    unsigned calls;
} wss_caller;

typedef struct wss_lock_entry { /* open addressing; address 0: the entry is free */
    const volatile void *address;
    uint64_t id;
} wss_lock_entry;

enum { WSS_KNOWN = 2 * WSC_LOCKS }; /* a power of two; at most half of the entries are used */

static void *wss_blocks, *wss_callers; /* trees of tsearch; under wss_mu, like everything below */
static wss_lock_entry wss_lock_table[WSS_KNOWN];
static int wss_nlocks;

/* Blocks that overlap compare as equal. */
static int wss_apart(const void *a, const void *b) {
    const wss_block *p = (const wss_block *)a, *q = (const wss_block *)b;
    if (p->from + p->size <= q->from) return -1;
    return q->from + q->size <= p->from;
}

static int wss_by_caller(const void *a, const void *b) {
    const char *p = (const char *)((const wss_caller *)a)->caller;
    const char *q = (const char *)((const wss_caller *)b)->caller;
    return p < q ? -1 : p > q;
}

/* wss_block_at returns the block that contains any of some bytes, or null. The caller holds wss_mu. */
static wss_block *wss_block_at(const void *address, size_t size) {
    wss_block key = {(const char *)address, size, 0, 0, 0};
    wss_block *const *found = (wss_block *const *)tfind(&key, &wss_blocks, wss_apart);
    return found ? *found : 0;
}

/* wss_remove forgets the blocks that contain any of some bytes. The caller holds wss_mu. */
static void wss_remove(const void *address, size_t size) {
    for (wss_block *b; (b = wss_block_at(address, size)) != 0; free(b)) tdelete(b, &wss_blocks, wss_apart);
}

/* wss_call_number counts the calls from a place, and returns their number so far; 0: no memory. The caller
 * holds wss_mu. */
static unsigned wss_call_number(const void *caller) {
    wss_caller *c = (wss_caller *)calloc(1, sizeof *c), **found;
    if (!c) return 0;
    c->caller = caller;
    if (!(found = (wss_caller **)tsearch(c, &wss_callers, wss_by_caller))) {
        free(c);
        return 0;
    }
    if (*found != c) free(c);
    return ++(*found)->calls;
}

/* Calls that OpenSHMEM itself makes do not count: they run inside another call. While recording is off they
 * look like the program's calls, but the call around them is counted after them and replaces their block. */
static int wss_counts(const wsc_call *c) { return c->t || wss_paused; }

/* wss_freed is called before memory is freed. */
static void wss_freed(const wsc_call *c, const void *old) {
    if (!old || !wss_counts(c)) return;
    pthread_mutex_lock(&wss_mu);
    wss_remove(old, 1);
    pthread_mutex_unlock(&wss_mu);
}

static void wss_allocated(const wsc_call *c, int op, const void *caller, const void *old, const void *from,
                          size_t size) {
    if (!from || !size || !wss_counts(c)) return;
    int saved = errno;
    wss_block *b = (wss_block *)calloc(1, sizeof *b);
    if (old != from) wss_freed(c, old);
    pthread_mutex_lock(&wss_mu);
    wss_remove(from, size);
    unsigned call = wss_call_number(caller);
    if (b) {
        wss_block block = {(const char *)from, size, caller, op, call};
        *b = block;
        if (!tsearch(b, &wss_blocks, wss_apart)) free(b);
    }
    pthread_mutex_unlock(&wss_mu);
    errno = saved;
}

/* wss_lock_slot returns the entry of a lock, or the free entry where it belongs. The caller holds wss_mu. */
static wss_lock_entry *wss_lock_slot(const volatile void *lock) {
    size_t i = (size_t)((uint64_t)(uintptr_t)lock * 0x9e3779b97f4a7c15u >> 40) % WSS_KNOWN;
    while (wss_lock_table[i].address && wss_lock_table[i].address != lock) i = (i + 1) % WSS_KNOWN;
    return &wss_lock_table[i];
}

/* wss_name_lock describes a lock in the trace. */
static void wss_name_lock(wsc_thread *t, const void *lock, uint64_t id, int in_heap) {
    wss_block block = {0, 0, 0, 0, 0};
    if (!in_heap) {
        wsc_define_lock(t->node, WSS_OP_shmem_set_lock, id, lock, 0, 0, "");
        return;
    }
    pthread_mutex_lock(&wss_mu);
    wss_block *b = wss_block_at(lock, 1);
    if (b) block = *b;
    pthread_mutex_unlock(&wss_mu);
    if (!b) return; /* it was allocated before the trace began */
    char more[64];
    snprintf(more, sizeof more, " byte %zu call %u", (size_t)((const char *)lock - block.from), block.call);
    wsc_define_lock(t->node, block.op, id, (const char *)block.caller - 1, 0, 0, more);
}

/* wss_lock returns the number of a lock. */
static uint64_t wss_lock(const volatile long *lock) {
    wss_shmem *l = &wss_own_shmem;
    for (int i = 0; i < WSS_LOCKS; i++)
        if (l->locks[i].address == lock) return l->locks[i].id;
    const uint64_t heap = (uint64_t)1 << 47, low = heap - 1;
    const void *address = (const void *)(uintptr_t)lock;
    int saved = errno;
    pthread_mutex_lock(&wss_mu);
    wss_lock_entry *known = wss_lock_slot(lock);
    uint64_t id = known->id;
    int is_known = known->address != 0;
    pthread_mutex_unlock(&wss_mu);
    if (!is_known) {
        Dl_info info;
        struct link_map *map = 0;
        int in_heap = !dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map;
        if (in_heap) {
            id = heap | ((uint64_t)((const char *)address - wss_anchor) & low);
        } else {
            id = ((uint64_t)(uintptr_t)address - map->l_addr) & low;
            if (map->l_name && *map->l_name)
                id |= (uint64_t)(1 + wsi_hash(map->l_name, strlen(map->l_name)) % 0x3fff) << 48;
        }
        pthread_mutex_lock(&wss_mu);
        known = wss_lock_slot(lock);
        int first = !known->address && wss_nlocks < WSC_LOCKS;
        if (first) {
            known->address = lock, known->id = id;
            wss_nlocks++;
        }
        pthread_mutex_unlock(&wss_mu);
        if (first) wss_name_lock(wsc_mine, address, id, in_heap);
    }
    memmove(l->locks + 1, l->locks, (WSS_LOCKS - 1) * sizeof *l->locks);
    l->locks[0].address = lock;
    l->locks[0].id = id;
    errno = saved;
    return id;
}
