/* words.c: what the words of upc.h need, on top of the test bed. It converts the test bed's pointers to
 * shared to those of upc.h. A pointer to an array that is read becomes one to a contiguous copy.
 *
 * Static shared variables: the processes of a program share the file $WORDS_SHARED. For shared accesses it
 * takes the place of all variables of the program. */
#define _GNU_SOURCE
#include "layer.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 4, PAGE = 4096 }; /* THREADS in upc.h */
extern char __data_start[], _end[];
static uint64_t away; /* distance from the address of a variable to its place for shared accesses */
static char *copies;  /* room of each thread for an array */

__attribute__((constructor)) static void share_memory(void) {
    const char *path = getenv("WORDS_SHARED");
    uint64_t first = (uint64_t)(uintptr_t)__data_start / PAGE * PAGE,
             size = ((uint64_t)(uintptr_t)_end - first + PAGE) / PAGE * PAGE;
    int fd = open(path ? path : "", O_RDWR | O_CREAT, 0600);
    void *memory = fd < 0 || ftruncate(fd, (off_t)(size + PAGE))
                       ? MAP_FAILED
                       : mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) perror("WORDS_SHARED"), exit(2);
    close(fd);
    away = (uint64_t)(uintptr_t)memory - first;
    copies = (char *)memory + size;
    if (syscall(SYS_arch_prctl, ARCH_SET_GS, away)) perror("ARCH_SET_GS"), exit(2); /* threads inherit it */
}

int words_mythread(void) { return self.me; }

int words_threadof(const void *pts);
uint64_t words_lock_id(const void *lock);
int words_perm(const void *perm, int thread);

/* In this file, pointers to shared are numbers. */
static uint64_t pointer(const void *pts) {
    const upc_pts *p = pts;
    return (uint64_t)p->thread << 48 | p->addr;
}

int whyslow_upc_threadof(const void *pts) {
    uint64_t p = pointer(pts);
    return words_threadof(&p);
}

uint64_t whyslow_upc_lock_id(const void *lock) {
    uint64_t p = pointer(lock);
    return words_lock_id(&p);
}

int whyslow_upc_perm(const void *perm, int thread) {
    int *copy = (int *)(void *)copies + MOST * self.me;
    for (int i = 0; i < MOST; i++) {
        upc_pts p = upc_block(*(const upc_pts *)perm, (size_t)i, sizeof *copy);
        be_get(&copy[i], p.thread, p.addr, sizeof *copy);
    }
    uint64_t p = (uint64_t)(uintptr_t)copy - away;
    return words_perm(&p, thread);
}

void bupc_poll(void);
void bupc_poll(void) {} /* shared memory needs no polling */

/* All of them must exist, because the library does without any that is missing. */
extern void *const words_all[];
void *const words_all[] = {(void *)whyslow_upc_mythread, (void *)whyslow_upc_threads,
                           (void *)whyslow_upc_flags, (void *)whyslow_upc_put, (void *)whyslow_upc_get};
