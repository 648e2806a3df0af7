/* skew.c: a library to preload in tests on one host. whyslow's libraries read a clock that is wrong in each
 * process, and the program reads the right one. SKEW is "FROM NS PPB": the clock of rank r is r * NS ahead of
 * the right one at FROM, and gains r * PPB ns per second. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *t) {
    static __thread struct { const void *caller; int ours; } last;
    static long long from, ns, ppb;
    const void *caller = __builtin_return_address(0);
    int result = (int)syscall(SYS_clock_gettime, id, t);
    if (id != CLOCK_MONOTONIC || result) return result;
    if (last.caller != caller) {
        Dl_info info;
        const char *skew = getenv("SKEW"), *rank = getenv("OMPI_COMM_WORLD_RANK");
        last.ours = skew && rank && dladdr(caller, &info) && strstr(info.dli_fname, "libwhyslow-");
        last.caller = caller;
        if (last.ours && !from) {
            sscanf(skew, "%lld %lld %lld", &from, &ns, &ppb);
            ns *= atoi(rank), ppb *= atoi(rank);
        }
    }
    if (!last.ours) return 0;
    int64_t now = t->tv_sec * (int64_t)1000000000 + t->tv_nsec;
    now += ns + (now - from) / 1000 * ppb / 1000000;
    t->tv_sec = now / 1000000000, t->tv_nsec = now % 1000000000;
    return 0;
}
