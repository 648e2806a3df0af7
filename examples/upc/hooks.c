/* hooks.c: the functions that the tool needs, because only UPC code can look into pointers to shared. */
#include "layer.h"

int whyslow_upc_mythread(void) { return self.me; }
int whyslow_upc_threads(void) { return self.threads; }
int whyslow_upc_per_process(void) { return be_together(); }
int whyslow_upc_threadof(const void *pts) { return pts ? ((const upc_pts *)pts)->thread : -1; }

uint64_t whyslow_upc_lock_id(const void *lock) {
    const upc_lock_t *l = lock;
    return (uint64_t)(uint32_t)l->thread << 48 | l->addr;
}

int whyslow_upc_perm(const void *perm, int thread) {
    int at = -1;
    upc_pts p = upc_block(*(const upc_pts *)perm, (size_t)thread, sizeof at);
    if (p.thread >= 0) be_get(&at, p.thread, p.addr, sizeof at);
    return at;
}

void whyslow_upc_flags(int *in_all, int *in_my, int *in_no, int *out_all, int *out_my, int *out_no) {
    *in_all = UPC_IN_ALLSYNC, *in_my = UPC_IN_MYSYNC, *in_no = UPC_IN_NOSYNC;
    *out_all = UPC_OUT_ALLSYNC, *out_my = UPC_OUT_MYSYNC, *out_no = UPC_OUT_NOSYNC;
}

void whyslow_upc_put(int thread, int slot, int64_t value) {
    be_store(thread, SLOTS + 8 * (uint64_t)slot, (uint64_t)value);
    be_fence();
}

int64_t whyslow_upc_get(int thread, int slot) { return (int64_t)be_load(thread, SLOTS + 8 * (uint64_t)slot); }
