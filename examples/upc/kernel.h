/* kernel.h: for small programs modelled on the kernels of the NAS Parallel Benchmarks. Each checks itself and
 * prints a checksum that is the same for any number of threads: values are hashes of global indices, and sums
 * over threads are sums of integers. */
#ifndef KERNEL_H
#define KERNEL_H

#include "upc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t kernel_hash(uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* kernel_unit returns a number from 0 to 1. */
static inline double kernel_unit(uint64_t x) { return (double)(kernel_hash(x) >> 11) * 0x1p-53; }

static inline void kernel_fail(const char *what) {
    fprintf(stderr, "thread %d: %s\n", MYTHREAD, what);
    upc_global_exit(1);
}

/* kernel_number returns an argument of the program, which must be at least least. */
static inline long kernel_number(int argc, char **argv, int i, long otherwise, long least) {
    long v = i < argc ? atol(argv[i]) : otherwise;
    if (v < least) kernel_fail("an argument is too small");
    return v;
}

static inline void *kernel_memory(size_t n) {
    void *p = calloc(n ? n : 1, 1);
    if (!p) kernel_fail("no memory");
    return p;
}

/* An exact sum over all threads: of integers, or of numbers in units of 2^-30. */
typedef struct { upc_pts src, dst; } kernel_sums;

static inline kernel_sums kernel_sums_new(void) {
    return (kernel_sums){upc_all_alloc((size_t)THREADS, sizeof(long)),
                         upc_all_alloc((size_t)THREADS, sizeof(long))};
}

static inline long kernel_over_all(upc_at at, kernel_sums s, long mine, upc_op_t op) {
    *(long *)upc_cast(upc_block(s.src, (size_t)MYTHREAD, sizeof mine)) = mine;
    upc_all_reduceL_at(at, s.dst, s.src, op, (size_t)THREADS, 1, NULL, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    long sum;
    upc_read_at(at, 1, &sum, s.dst, sizeof sum);
    return sum;
}
#define kernel_sum(sums, mine) kernel_over_all(UPC_AT, sums, mine, UPC_ADD)
/* kernel_check combines the threads' parts of a checksum by exclusive or. */
#define kernel_check(sums, part) ((uint64_t)kernel_over_all(UPC_AT, sums, (long)(part), UPC_XOR))

static inline long kernel_fixed(double x) { return lround(x * 0x1p30); }
static inline double kernel_real(long x) { return (double)x * 0x1p-30; }

static inline void kernel_end(const char *name, uint64_t checksum, int64_t since) {
    upc_barrier();
    if (!MYTHREAD)
        printf("%s checksum %016llx seconds %.6f\n", name, (unsigned long long)checksum,
               (double)(upc_now() - since) * 1e-9);
}

#endif
