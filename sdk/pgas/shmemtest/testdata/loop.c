/* How long it takes to put and get 8 bytes: the median of rounds of 1000 each, in ns, at PE 0. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 200, CALLS = 1000 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(void) {
    static double put[ROUNDS], get[ROUNDS];
    static volatile long sum;
    shmem_init();
    int me = shmem_my_pe();
    long *cell = shmem_malloc(sizeof *cell);
    *cell = 0;
    for (int r = 0; r < ROUNDS; r++) {
        shmem_barrier_all();
        if (me) continue;
        double t = now();
        for (int i = 0; i < CALLS; i++) shmem_long_p(cell, i, 1);
        put[r] = (now() - t) / CALLS;
        shmem_quiet();
        t = now();
        for (int i = 0; i < CALLS; i++) sum += shmem_long_g(cell, 1);
        get[r] = (now() - t) / CALLS;
    }
    if (!me) {
        qsort(put, ROUNDS, sizeof *put, by_size);
        qsort(get, ROUNDS, sizeof *get, by_size);
        printf("%.1f %.1f\n", put[ROUNDS / 2], get[ROUNDS / 2]);
    }
    shmem_finalize();
    return 0;
}
