/* Programs that misbehave. */
#include <shmem.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long cells[64];
static volatile sig_atomic_t handled;

static void puts_of(int n, int to) {
    for (int i = 0; i < n; i++) shmem_long_p(&cells[1], i, to);
}

static void *thread(void *arg) {
    puts_of(100, 1 - shmem_my_pe());
    return arg;
}

static void *polling(void *cell) {
    for (int i = 0; i < 10; i++) shmem_long_test(cell, SHMEM_CMP_EQ, 77);
    return cell;
}

static void on_signal(int sig) {
    (void)sig;
    handled++;
}

static void pause_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, 0);
}

/* written returns the length of the PE's file. */
static off_t written(int me) {
    char path[4096];
    struct stat st;
    snprintf(path, sizeof path, "%s/%05d.wst", getenv("WHYSLOW_TRACE"), me);
    return stat(path, &st) ? 0 : st.st_size;
}

static __attribute__((noinline)) void third(int to) { shmem_long_p(&cells[1], 3, to); }
static __attribute__((noinline)) void second(int to) { third(to), third(to); }
__attribute__((noinline)) void first(int to) { second(to); }

extern void shmem_pcontrol(int level, ...) __attribute__((weak));

/* poll polls a flag, and then a lock, until PE 1 lets PE 0 have it. */
static void poll(int me) {
    /* In the heap, because shmem_long_test of Open MPI 4.1.4 does not see writes to a variable. */
    long *flag = shmem_calloc(1, sizeof *flag);
    if (me == 0) {
        while (!shmem_long_test(flag, SHMEM_CMP_EQ, 1)) continue;
    } else {
        pause_ms(100);
        shmem_long_p(flag, 1, 0);
    }
    shmem_barrier_all();
    /* A lock that PE 1 keeps. Locks are kept by the PEs in turn, by address. In Open MPI 4.1.4 a PE that
     * polls a lock which it keeps itself does not let the other PE release it. */
    static _Alignas(16) long locks[2];
    long *lock = &locks[1];
    if (me == 1) shmem_set_lock(lock);
    shmem_barrier_all();
    if (me == 0)
        while (shmem_test_lock(lock)) continue;
    else pause_ms(100);
    shmem_clear_lock(lock);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "threads")) {
        int provided;
        shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    } else {
        shmem_init();
    }
    int me = shmem_my_pe(), other = shmem_n_pes() - 1 - me;
    puts_of(100, other);
    shmem_barrier_all();
    if (!strcmp(mode, "exit")) { /* without shmem_finalize */
        exit(0);
    }
    if (!strcmp(mode, "kill")) {
        off_t
            before = 0; /* records are written though none follow: wait until nothing was written for long */
        for (int i = 0, same = 0; i < 2000 && same < 50; i++, pause_ms(10)) {
            same = written(me) == before ? same + 1 : 0;
            before = written(me);
        }
        if (me == 1) raise(SIGKILL);
        pause_ms(20000);
    }
    if (!strcmp(mode, "abort")) {
        if (me == 1) abort();
        pause_ms(20000);
    }
    if (!strcmp(mode, "global")) {
        if (me == 1) shmem_global_exit(3);
        pause_ms(20000);
    }
    if (!strcmp(mode, "fork")) {
        pid_t child = fork();
        if (!child) {
            cells[5] = (long)shmem_malloc;
            shmem_pcontrol(1);
            shmem_long_p(&cells[4], 1, me); /* to itself: no other PE is needed */
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        if (status) return 5;
        puts_of(100, other);
    }
    if (!strcmp(mode, "threads")) {
        pthread_t t[4];
        for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, thread, 0);
        for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
        for (int i = 2; i < 4; i++) { /* one after the other */
            pthread_create(&t[i], 0, polling, &cells[3]);
            pthread_join(t[i], 0);
            pthread_create(&t[i], 0, thread, 0);
            pthread_join(t[i], 0);
        }
    }
    if (!strcmp(mode, "signals")) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = on_signal;
        action.sa_flags = SA_RESTART;
        sigaction(SIGALRM, &action, 0);
        struct timespec start, now;
        clock_gettime(CLOCK_MONOTONIC, &start);
        ualarm(1000, 1000);
        do {
            puts_of(10, other);
            for (volatile int i = 0; i < 20000; i++) continue; /* signals arrive here, too */
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 <
                 start.tv_sec * 1000 + start.tv_nsec / 1000000 + 100);
        ualarm(0, 0);
        printf("%s\n", handled ? "handled" : "no signals");
    }
    if (!strcmp(mode, "full")) {
        struct rlimit l = {20000, RLIM_INFINITY};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &l);
        puts_of(100000, other);
    }
    if (!strcmp(mode, "poll")) poll(me);
    if (!strcmp(mode, "off")) {
        shmem_pcontrol(0);
        puts_of(100, other);
        shmem_barrier_all();
        shmem_pcontrol(1);
        puts_of(5, other);
    }
    if (!strcmp(mode, "functions")) first(other);
    if (!strcmp(mode, "local")) puts_of(7, me);
    shmem_finalize();
    return 0;
}
