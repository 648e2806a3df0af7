/* Barriers, with the host's clock before and after each at the last PE. */
#include <shmem.h>
#include <stdio.h>
#include <time.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void) {
    enum { N = 50 };
    static long long times[2 * N];
    shmem_init();
    for (int i = 0; i < N; i++) {
        struct timespec ms = {0, 1000000};
        if (shmem_my_pe() == i % shmem_n_pes()) nanosleep(&ms, 0);
        times[2 * i] = now();
        shmem_barrier_all();
        times[2 * i + 1] = now();
    }
    if (shmem_my_pe() == shmem_n_pes() - 1)
        for (int i = 0; i < N; i++) printf("%lld %lld\n", times[2 * i], times[2 * i + 1]);
    fflush(stdout);
    shmem_finalize();
    return 0;
}
