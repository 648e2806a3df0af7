/* The first thing one would write: a line of text for each call, through the second names. It knows two
 * functions. */
#include <pshmem.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static FILE *file;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

void shmem_init(void) {
    char name[4096];
    pshmem_init();
    snprintf(name, sizeof name, "%s.%d", getenv("TEXT_TRACE"), pshmem_my_pe());
    file = fopen(name, "w");
}

void shmem_finalize(void) {
    fclose(file);
    pshmem_finalize();
}

void shmem_long_p(long *target, long value, int pe) {
    fprintf(file, "%lld enter shmem_long_p to %d bytes %zu from %p\n", now(), pe, sizeof value,
            __builtin_return_address(0));
    pshmem_long_p(target, value, pe);
    fprintf(file, "%lld leave shmem_long_p\n", now());
}

long shmem_long_g(const long *source, int pe) {
    fprintf(file, "%lld enter shmem_long_g from %d bytes %zu from %p\n", now(), pe, sizeof *source,
            __builtin_return_address(0));
    long value = pshmem_long_g(source, pe);
    fprintf(file, "%lld leave shmem_long_g\n", now());
    return value;
}
