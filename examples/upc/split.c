/* A barrier in two parts with work between them, by thread: "10,0,30" ms, the program's own argument. Work
 * between the parts is not waiting. */
#include "pattern.h"

static int64_t wait_at(const pattern_times *t, int threads, int i, int root) {
    int64_t ns = pattern_last(t, threads) - t[i].other; /* when it began to wait */
    (void)root;
    return ns < 0 ? 0 : ns > t[i].exit - t[i].other ? t[i].exit - t[i].other : ns;
}

static double between[PATTERN_THREADS]; /* the same for all threads, and set before any of them continues */

static void designed(pattern_times *t, int threads) {
    for (int i = 0; i < threads; i++) {
        t[i].other = t[i].enter + (int64_t)(between[i] * 1e6);
        if (t[i].exit < t[i].other) t[i].exit = t[i].other;
    }
}

int upc_main(int argc, char **argv) {
    pattern_run r;
    pattern_start(&r, argc, argv);
    if (!MYTHREAD) pattern_delays(pattern_word(&r, 0, "10,0,30"), between);
    double mine[PATTERN_THREADS];
    pattern_delays(pattern_word(&r, 0, "10,0,30"), mine);
    for (; r.turn < r.turns; pattern_end(&r)) {
        pattern_begin(&r);
        upc_notify();
        pattern_sleep(mine[MYTHREAD]);
        r.times[r.turn].other = upc_now();
        upc_wait();
    }
    pattern_print(&r, "wait-at-barrier", wait_at, 0, designed);
    return 0;
}
