/* Every operation at least once, in many modes, each with a check of its effect. Argument: "exit" ends with
 * upc_global_exit(7) by thread 0, "quit" with exit(8), "kill" by a signal. */
#include "upc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 100 };

static void check(int right, const char *what, int line) {
    if (right) return;
    fprintf(stderr, "thread %d, line %d: %s\n", MYTHREAD, line, what);
    upc_global_exit(1);
}
#define CHECK(what) check(what, #what, __LINE__)

static upc_pts mine(upc_pts p, size_t bytes) {
    return upc_block(p, (size_t)((MYTHREAD - p.thread + THREADS) % THREADS), bytes);
}

static void memory(void) {
    UPC_FUNCTION;
    size_t threads = (size_t)THREADS;
    upc_pts all = upc_all_alloc(threads, N), next = upc_block(all, (size_t)((MYTHREAD + 1) % THREADS), N);
    char bytes[N], got[N];
    memset(bytes, MYTHREAD + 1, N);
    upc_memput(next, bytes, N);
    upc_barrier();
    CHECK(((char *)upc_cast(mine(all, N)))[N - 1] == (MYTHREAD + THREADS - 1) % THREADS + 1);
    upc_memget(got, next, N);
    CHECK(got[0] == MYTHREAD + 1);
    upc_barrier_named(42);
    upc_memset(next, 99, N / 2);
    upc_barrier();
    CHECK(((char *)upc_cast(mine(all, N)))[0] == 99);
    upc_pts own = upc_alloc(N);
    upc_memcpy(own, next, N);
    CHECK(((char *)upc_cast(own))[0] == 99 && ((char *)upc_cast(own))[N - 1] == MYTHREAD + 1);
    upc_free(own);
    upc_barrier();
    if (!MYTHREAD) upc_free(all);
    upc_pts once = upc_global_alloc(threads, 64);
    upc_put(long, once, MYTHREAD + 5L);
    upc_fence();
    CHECK(upc_get(long, once) == MYTHREAD + 5L);
    upc_put_strict(int, upc_block(once, 1, 64), 17);
    CHECK(upc_get_strict(int, upc_block(once, 1, 64)) == 17);
    upc_free(once);
    CHECK(upc_all_alloc(0, 8).thread == -1 && upc_alloc(0).thread == -1);
    upc_free(UPC_NULL);
    CHECK(upc_phaseof(all) == 0 && upc_threadof(next) == (MYTHREAD + 1) % THREADS &&
          upc_addrfield(next) >= upc_addrfield(all));
}

static void later(void) {
    UPC_FUNCTION;
    upc_pts all = upc_all_alloc((size_t)THREADS * 2, N),
            others[2] = {upc_block(all, (size_t)((MYTHREAD + 1) % THREADS), N), upc_add(mine(all, N), N)};
    char bytes[2][N], got[2][N];
    memset(bytes, MYTHREAD + 1, sizeof bytes);
    for (int i = 0; i < 2; i++) bupc_waitsync(bupc_memput_async(others[i], bytes[i], N));
    upc_barrier();
    bupc_handle_t h[2];
    for (int i = 0; i < 2; i++) h[i] = bupc_memget_async(got[i], others[i], N);
    while (!bupc_trysync(h[1])) {}
    bupc_waitsync(h[0]);
    CHECK(got[0][5] == MYTHREAD + 1 && got[1][N - 1] == MYTHREAD + 1);
    upc_barrier();
    upc_pts own = upc_alloc(N);
    bupc_waitsync(bupc_memcpy_async(own, others[0], N));
    CHECK(((char *)upc_cast(own))[N - 1] == got[0][N - 1]);
    upc_barrier();
    upc_free(own);
    if (!MYTHREAD) upc_free(all);
}

static void locks(void) {
    UPC_FUNCTION;
    upc_lock_t lock = upc_all_lock_alloc(), own = upc_global_lock_alloc();
    upc_pts sum = upc_all_alloc((size_t)THREADS, sizeof(long));
    if (!MYTHREAD) upc_put(long, sum, 0);
    upc_barrier();
    for (int i = 0; i < 20; i++) {
        if (i % 2) upc_lock(lock);
        else while (!upc_lock_attempt(lock)) {}
        upc_put(long, sum, upc_get(long, sum) + i);
        upc_unlock(lock);
    }
    upc_lock(own);
    CHECK(!upc_lock_attempt(own));
    upc_unlock(own);
    upc_lock_free(own);
    upc_barrier();
    CHECK(upc_get(long, sum) == 190L * THREADS);
    upc_barrier();
    if (!MYTHREAD) upc_lock_free(lock), upc_free(sum);
}

static int larger(int a, int b) { return a > b ? a : b; }

static void collectives(upc_flag_t flags, int strict) {
    UPC_FUNCTION;
    size_t threads = (size_t)THREADS, me = (size_t)MYTHREAD, n = N * sizeof(int), big = n * threads;
    upc_pts a = upc_all_alloc(threads, big), b = upc_all_alloc(threads, big), c = upc_all_alloc(threads, big),
            perm = upc_all_alloc(threads, sizeof(int));
    int *src = upc_cast(mine(a, big)), *dst = upc_cast(mine(b, big));
    for (size_t i = 0; i < N * threads; i++) src[i] = (int)(me * 10000 + i);
    *(int *)upc_cast(mine(perm, sizeof(int))) = (MYTHREAD + THREADS - 1) % THREADS;
    if (!strict) upc_barrier(); /* in mode NOSYNC the data must be there beforehand */
#define DONE if (!strict) upc_barrier()
    upc_pts root = upc_block(a, threads - 1, big);
    upc_all_broadcast(b, root, n, flags);
    DONE;
    CHECK(dst[3] == (THREADS - 1) * 10000 + 3);
    upc_all_scatter(b, root, n, flags);
    DONE;
    CHECK(dst[3] == (THREADS - 1) * 10000 + 3 + MYTHREAD * N);
    upc_all_gather(upc_block(c, threads - 1, big), a, n, flags);
    DONE;
    if (MYTHREAD == THREADS - 1)
        CHECK(((int *)upc_cast(mine(c, big)))[3 + (THREADS > 1 ? N : 0)] == (THREADS > 1 ? 10003 : 3));
    upc_all_gather_all(c, a, n, flags);
    DONE;
    CHECK(((int *)upc_cast(mine(c, big)))[(threads - 1) * N] == (THREADS - 1) * 10000);
    upc_all_exchange(b, a, n, flags);
    DONE;
    CHECK(dst[(threads - 1) * N] == (int)((threads - 1) * 10000 + me * N));
    upc_all_permute(c, a, perm, n, flags);
    DONE;
    CHECK(((int *)upc_cast(mine(c, big)))[1] == (MYTHREAD + 1) % THREADS * 10000 + 1);
    upc_all_reduceI(c, a, UPC_FUNC, threads * N, N, larger, flags);
    DONE;
    if (!MYTHREAD) CHECK(*(int *)upc_cast(c) == (THREADS - 1) * 10000 + N - 1);
    upc_all_prefix_reduceI(b, a, UPC_MAX, threads * N, N, NULL, flags);
    DONE;
    CHECK(dst[N - 1] == MYTHREAD * 10000 + N - 1);
    for (size_t i = 0; i < N; i++) ((double *)(void *)src)[i] = 0.5;
    if (!strict) upc_barrier();
    upc_all_reduceD(c, a, UPC_ADD, threads * N / 2 * 2, N / 2, NULL, flags);
    DONE;
    if (!MYTHREAD) CHECK(*(double *)upc_cast(c) == 0.5 * N * THREADS);
    for (size_t i = 0; i < N / 4; i++) ((long *)(void *)src)[i] = MYTHREAD + 2;
    if (!strict) upc_barrier();
    upc_all_prefix_reduceL(upc_block(b, threads - 1, big), upc_block(a, threads - 1, big), UPC_ADD, 5, 0,
                           NULL, flags);
    DONE;
    if (MYTHREAD == THREADS - 1) CHECK(((long *)(void *)dst)[4] == 5 * (THREADS + 1));
    upc_barrier();
    if (!MYTHREAD) upc_free(a), upc_free(b), upc_free(c), upc_free(perm);
}

int upc_main(int argc, char **argv) {
    UPC_FUNCTION;
    memory();
    later();
    locks();
    collectives(UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC, 1);
    collectives(0, 1);
    collectives(UPC_IN_NOSYNC | UPC_OUT_NOSYNC, 0);
    collectives(UPC_IN_ALLSYNC | UPC_OUT_NOSYNC, 0);
    collectives(UPC_IN_MYSYNC | UPC_OUT_MYSYNC, 0);
    collectives(UPC_IN_NOSYNC | UPC_OUT_ALLSYNC, 0);
    upc_notify();
    upc_wait();
    int sum = 0;
    upc_forall(int i = 0, i < 3 * THREADS, i++, i) sum += i;
    CHECK(sum == 3 * MYTHREAD + 3 * THREADS);
    unsigned int step = pupc_create_event("step", "of %d, residual %g");
    pupc_event_start(step, 3, 0.25);
    pupc_event_end(step, 3, 0.125);
    pupc_event_atomic(step, 4, 1.0);
    int before = pupc_control(0);
    upc_barrier();
    pupc_control(before);
    upc_barrier();
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "exit") && !MYTHREAD) upc_global_exit(7);
    if (!strcmp(how, "quit") && !MYTHREAD) exit(8);
    if (!strcmp(how, "kill") && !MYTHREAD) raise(SIGKILL);
    upc_barrier();
    if (!MYTHREAD) printf("all of it works\n");
    return 0;
}
