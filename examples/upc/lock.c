/* Threads request a lock that another thread holds for some ms (the program's first argument, default 20):
 * lock contention. With "try" they poll instead, and none of the calls waits. */
#include "pattern.h"

static double held; /* ms; set by thread 0 for its own print */

/* before returns the thread that had the lock before thread i, by the times at which they got it. -1: it was
 * free. */
static int before(const pattern_times *t, int threads, int i) {
    int owner = -1;
    for (int j = 0; j < threads; j++)
        if (j != i && t[j].exit < t[i].exit && (owner < 0 || t[j].exit > t[owner].exit)) owner = j;
    return owner;
}

static int64_t contention(const pattern_times *t, int threads, int i, int root) {
    int owner = before(t, threads, i);
    (void)root;
    return owner < 0 ? 0 : pattern_clip(t[owner].other - t[i].enter, t[i]);
}

static int64_t nothing(const pattern_times *t, int threads, int i, int root) {
    (void)t, (void)threads, (void)i, (void)root;
    return 0;
}

/* First come, first served. */
static void designed(pattern_times *t, int threads) {
    int done[PATTERN_THREADS] = {0};
    int64_t free_at = 0;
    for (int k = 0; k < threads; k++) {
        int next = -1;
        for (int i = 0; i < threads; i++)
            if (!done[i] && (next < 0 || t[i].enter < t[next].enter)) next = i;
        done[next] = 1;
        t[next].exit = t[next].enter > free_at ? t[next].enter : free_at;
        t[next].other = free_at = t[next].exit + (int64_t)(held * 1e6);
    }
}

int upc_main(int argc, char **argv) {
    pattern_run r;
    pattern_start(&r, argc, argv);
    double hold = atof(pattern_word(&r, 0, "20"));
    int attempts = !strcmp(pattern_word(&r, 1, ""), "try");
    if (!MYTHREAD) held = hold;
    upc_lock_t lock = upc_all_lock_alloc();
    for (; r.turn < r.turns; r.turn++) {
        pattern_begin(&r);
        if (attempts) {
            while (!upc_lock_attempt(lock)) pattern_sleep(1);
        } else {
            upc_lock(lock);
        }
        r.times[r.turn].exit = upc_now();
        pattern_sleep(hold);
        r.times[r.turn].other = upc_now();
        upc_unlock(lock);
    }
    pattern_print(&r, "lock-contention", attempts ? nothing : contention, 0, designed);
    if (!MYTHREAD) upc_lock_free(lock);
    return 0;
}
