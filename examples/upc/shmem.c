/* shmem.c: UPC threads as PEs of an OpenSHMEM program. A segment is a block of symmetric memory. */
#define _GNU_SOURCE
#include "backend.h"

#include <sched.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static char *base;

static unsigned long *word(uint64_t off) { return (unsigned long *)(void *)(base + off); }
void *be_local(uint64_t off) { return base + off; }

void be_get(void *dst, int thread, uint64_t off, size_t n) {
    if (n) shmem_getmem(dst, base + off, n, thread);
}
void be_put(int thread, uint64_t off, const void *src, size_t n) {
    if (n) shmem_putmem(base + off, src, n, thread);
}
void be_get_nb(void *dst, int thread, uint64_t off, size_t n) {
    if (n) shmem_getmem_nbi(dst, base + off, n, thread);
}
void be_put_nb(int thread, uint64_t off, const void *src, size_t n) {
    if (n) shmem_putmem_nbi(base + off, src, n, thread);
}
void be_fence(void) { shmem_quiet(); } /* order alone is not enough: the word may be on another PE */
void be_quiet(void) { shmem_quiet(); }

uint64_t be_load(int thread, uint64_t off) { return shmem_ulong_atomic_fetch(word(off), thread); }
void be_store(int thread, uint64_t off, uint64_t v) {
    shmem_quiet();
    shmem_ulong_atomic_set(word(off), v, thread);
}
uint64_t be_add(int thread, uint64_t off, uint64_t v) {
    shmem_quiet();
    return shmem_ulong_atomic_fetch_add(word(off), v, thread);
}
int be_swap(int thread, uint64_t off, uint64_t before, uint64_t after) {
    shmem_quiet();
    return shmem_ulong_atomic_compare_swap(word(off), before, after, thread) == before;
}

/* A waiting PE soon yields: there may be more PEs than cores, and one that keeps its core blocks others. */
void be_await(int thread, uint64_t off, uint64_t least) {
    for (int i = 0; be_load(thread, off) < least; i++)
        if (i < 100) sched_yield();
        else usleep(20);
}

int be_together(void) { return 1; }

void be_exit(int status) {
    shmem_global_exit(status);
    abort();
}

int main(int argc, char **argv) {
    const char *text = getenv("UPC_SEGMENT");
    uint64_t segment = (uint64_t)(text && *text ? atoll(text) : 64) << 20;
    prctl(PR_SET_TIMERSLACK, 1UL);
    shmem_init();
    if (!(base = shmem_malloc(segment))) {
        fprintf(stderr, "no %llu MiB of symmetric memory: set SHMEM_SYMMETRIC_SIZE, or UPC_SEGMENT to less\n",
                (unsigned long long)segment >> 20);
        shmem_global_exit(2);
    }
    memset(base, 0, 1 << 20); /* the layer's own words */
    shmem_barrier_all();
    int status = layer_run(shmem_my_pe(), shmem_n_pes(), segment, argc, argv);
    shmem_barrier_all();
    shmem_free(base);
    shmem_finalize();
    return status;
}
