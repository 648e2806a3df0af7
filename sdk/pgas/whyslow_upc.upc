/* whyslow_upc.upc: what libwhyslow-gasp needs from UPC code. Compile it with your UPC compiler and link it
 * with the program; see docs/c-sdk.md. gasp.h says what each function is for. */
#pragma pupc off
#include <stddef.h>
#include <stdint.h>
#include <upc.h>
#include <upc_collective.h>
#ifdef __BERKELEY_UPC__
#pragma UPCR NO_SRCPOS
#include <bupc_extensions.h>
#endif

int whyslow_upc_mythread(void) { return MYTHREAD; }
int whyslow_upc_threads(void) { return THREADS; }
int whyslow_upc_threadof(const void *pts) { return (int)upc_threadof(*(shared void *const *)pts); }

uint64_t whyslow_upc_lock_id(const void *lock) {
    shared void *p = (shared void *)*(upc_lock_t *const *)lock;
    return (uint64_t)upc_threadof(p) << 48 ^ (uint64_t)upc_addrfield(p);
}

int whyslow_upc_perm(const void *perm, int thread) {
    return ((shared const int *)*(shared void *const *)perm)[thread];
}

void whyslow_upc_flags(int *in_all, int *in_my, int *in_no, int *out_all, int *out_my, int *out_no) {
    *in_all = UPC_IN_ALLSYNC, *in_my = UPC_IN_MYSYNC, *in_no = UPC_IN_NOSYNC;
    *out_all = UPC_OUT_ALLSYNC, *out_my = UPC_OUT_MYSYNC, *out_no = UPC_OUT_NOSYNC;
}

/* The numbers through which threads compare their clocks, eight for each thread. */
struct whyslow_upc_slots { int64_t slot[8]; };
static strict shared struct whyslow_upc_slots whyslow_upc_slots[THREADS];

void whyslow_upc_put(int thread, int slot, int64_t value) { whyslow_upc_slots[thread].slot[slot] = value; }

int64_t whyslow_upc_get(int thread, int slot) {
#ifdef __BERKELEY_UPC__
    bupc_poll(); /* Berkeley UPC answers other threads only inside its own calls */
#endif
    return whyslow_upc_slots[thread].slot[slot];
}
