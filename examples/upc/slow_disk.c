/* slow_disk.c: a slow disk for a program that is loaded with it (LD_PRELOAD). What the program writes to
 * files takes its time, SLOW_DISK bytes a second, in a queue: the file SLOW_DISK_QUEUE keeps when the disk
 * will have finished, for all processes that name it. Only the time is emulated. The bytes go to the real
 * file at once, nothing is kept in the system's memory beyond the queue, and the thread that writes sleeps,
 * as it would wait for a disk: it uses no core. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t *free_at; /* CLOCK_MONOTONIC, ns; null: the disk is as fast as it is */
static double ns_per_byte;

__attribute__((constructor)) static void slow_disk_start(void) {
    const char *speed = getenv("SLOW_DISK"), *queue = getenv("SLOW_DISK_QUEUE");
    if (!speed || !queue) return;
    int fd = open(queue, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    void *p = MAP_FAILED;
    if (fd >= 0 && !ftruncate(fd, sizeof *free_at))
        p = mmap(NULL, sizeof *free_at, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED || atof(speed) <= 0) {
        perror("slow_disk: SLOW_DISK, SLOW_DISK_QUEUE");
        _exit(3);
    }
    close(fd);
    ns_per_byte = 1e9 / atof(speed);
    free_at = p;
}

ssize_t write(int fd, const void *from, size_t n) {
    ssize_t done = syscall(SYS_write, fd, from, n);
    int before = errno;
    struct stat st;
    if (free_at && done > 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        int64_t now = t.tv_sec * 1000000000ll + t.tv_nsec, end;
        int64_t last = __atomic_load_n(free_at, __ATOMIC_SEQ_CST);
        do end = (last > now ? last : now) + (int64_t)((double)done * ns_per_byte);
        while (!__atomic_compare_exchange_n(free_at, &last, end, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
        t.tv_sec = end / 1000000000, t.tv_nsec = end % 1000000000;
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
    }
    errno = before;
    return done;
}
