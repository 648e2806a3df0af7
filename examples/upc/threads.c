/* threads.c: UPC threads as threads of one process. They wait by spinning for a short time and then by a
 * futex: the tests run more threads than there are cores, and measure time. */
#define _GNU_SOURCE
#include "backend.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static char *base; /* all segments, one after the other */
static uint64_t segment;
static int threads, turns;
static uint32_t waiting; /* threads that sleep */

typedef struct { int me, argc, status; char **argv; } job;
static __thread int me_here;

static char *at(int thread, uint64_t off) { return base + (uint64_t)thread * segment + off; }
void *be_local(uint64_t off) { return at(me_here, off); }

void be_get(void *dst, int thread, uint64_t off, size_t n) { memcpy(dst, at(thread, off), n); }
void be_put(int thread, uint64_t off, const void *src, size_t n) { memcpy(at(thread, off), src, n); }
void be_get_nb(void *dst, int thread, uint64_t off, size_t n) { be_get(dst, thread, off, n); }
void be_put_nb(int thread, uint64_t off, const void *src, size_t n) { be_put(thread, off, src, n); }
void be_fence(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); } /* words are stored with release */
void be_quiet(void) { be_fence(); }

static void wake(uint64_t *word) {
    if (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

uint64_t be_load(int thread, uint64_t off) {
    return __atomic_load_n((uint64_t *)(void *)at(thread, off), __ATOMIC_SEQ_CST);
}

void be_store(int thread, uint64_t off, uint64_t v) {
    uint64_t *word = (uint64_t *)(void *)at(thread, off);
    __atomic_store_n(word, v, __ATOMIC_SEQ_CST);
    wake(word);
}

uint64_t be_add(int thread, uint64_t off, uint64_t v) {
    uint64_t *word = (uint64_t *)(void *)at(thread, off),
             before = __atomic_fetch_add(word, v, __ATOMIC_SEQ_CST);
    wake(word);
    return before;
}

int be_swap(int thread, uint64_t off, uint64_t before, uint64_t after) {
    uint64_t *word = (uint64_t *)(void *)at(thread, off);
    int done = __atomic_compare_exchange_n(word, &before, after, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    if (done) wake(word);
    return done;
}

void be_await(int thread, uint64_t off, uint64_t least) {
    uint64_t *word = (uint64_t *)(void *)at(thread, off), v;
    for (int i = 0; i < turns; i++) {
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= least) return;
        __asm__ __volatile__("" ::: "memory");
    }
    __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
    while ((v = __atomic_load_n(word, __ATOMIC_SEQ_CST)) < least)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, (uint32_t)v, NULL, NULL, 0); /* the word's low half */
    __atomic_fetch_sub(&waiting, 1, __ATOMIC_SEQ_CST);
}

int be_together(void) { return threads; }
void be_exit(int status) { exit(status); }

static void *run(void *arg) {
    job *j = arg;
    me_here = j->me;
    prctl(PR_SET_TIMERSLACK, 1UL); /* delays are as long as requested */
    j->status = layer_run(j->me, threads, segment, j->argc, j->argv);
    return NULL;
}

static long long setting(const char *name, long long otherwise) {
    const char *text = getenv(name);
    return text && *text ? atoll(text) : otherwise;
}

int main(int argc, char **argv) {
    threads = (int)setting("UPC_THREADS", 2);
    segment = (uint64_t)setting("UPC_SEGMENT", 64) << 20;
    if (threads < 1 || threads > 256 || segment < 1 << 20) {
        fprintf(stderr, "UPC_THREADS is from 1 to 256, UPC_SEGMENT 1 or more\n");
        return 2;
    }
    turns = sysconf(_SC_NPROCESSORS_ONLN) >= threads ? 2000 : 1;
    base = mmap(NULL, segment * (uint64_t)threads, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        perror("shared memory");
        return 2;
    }
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    job *jobs = calloc((size_t)threads, sizeof *jobs);
    if (!ids || !jobs) return 2;
    for (int i = 0; i < threads; i++) {
        jobs[i] = (job){i, argc, 0, argv};
        if (i && pthread_create(&ids[i], NULL, run, &jobs[i])) {
            perror("threads");
            return 2;
        }
    }
    run(&jobs[0]);
    int status = jobs[0].status;
    for (int i = 1; i < threads; i++) {
        pthread_join(ids[i], NULL);
        if (!status) status = jobs[i].status;
    }
    free(ids), free(jobs);
    munmap(base, segment * (uint64_t)threads);
    return status;
}
