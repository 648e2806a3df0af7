/* skew.c: a library to preload in tests on one host. whyslow's libraries read a clock that is wrong in each
 * process, and the program reads the right one. SKEW is "FROM NS PPB": the clock of rank r is r * NS ahead of
 * the right one at FROM, and gains r * PPB ns per second.
 *
 * The libraries can also be told that ranks are on several hosts. SYSTEMS and NAMES have a letter for each
 * rank: which running system it is on, and how that is called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ours tells whether whyslow's library calls. */
static int ours(const void *caller) {
    Dl_info info;
    return dladdr(caller, &info) && strstr(info.dli_fname, "libwhyslow-");
}

int clock_gettime(clockid_t id, struct timespec *t) {
    static __thread struct { const void *caller; int ours; } last;
    static long long from, ns, ppb;
    const void *caller = __builtin_return_address(0);
    int result = (int)syscall(SYS_clock_gettime, id, t);
    if (id != CLOCK_MONOTONIC || result) return result;
    if (last.caller != caller) {
        const char *skew = getenv("SKEW"), *rank = getenv("OMPI_COMM_WORLD_RANK");
        last.ours = skew && rank && ours(caller);
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

/* of is the letter that a variable has for this rank, 0 without one. */
static char of(const char *variable) {
    const char *letters = getenv(variable), *rank = getenv("OMPI_COMM_WORLD_RANK");
    return letters && rank && strlen(letters) > (size_t)atoi(rank) ? letters[atoi(rank)] : 0;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int access = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    char system = ours(__builtin_return_address(0)) ? of("SYSTEMS") : 0;
    if (!system || strcmp(path, "/proc/sys/kernel/random/boot_id"))
        return (int)syscall(SYS_openat, AT_FDCWD, path, flags, access);
    int fd = (int)syscall(SYS_memfd_create, "boot", 0);
    if (write(fd, &system, 1) != 1 || lseek(fd, 0, SEEK_SET)) return -1;
    return fd;
}

int gethostname(char *name, size_t size) {
    static int (*real)(char *, size_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "gethostname");
    char letter = ours(__builtin_return_address(0)) ? of("NAMES") : 0;
    if (!letter) return real(name, size);
    snprintf(name, size, "host-%c", letter);
    return 0;
}
