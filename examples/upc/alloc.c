/* All threads allocate shared memory together: those that come early wait for thread 0, which allocates, and
 * for all others. Argument: memory or lock. */
#include "pattern.h"

static int64_t root_late(const pattern_times *t, int threads, int i, int root) {
    (void)threads;
    return pattern_clip(t[root].enter - t[i].enter, t[i]);
}

static int64_t other_late(const pattern_times *t, int threads, int i, int root) {
    return pattern_clip(pattern_last(t, threads) - (t[i].enter > t[root].enter ? t[i].enter : t[root].enter),
                        t[i]);
}

int upc_main(int argc, char **argv) {
    pattern_run r;
    pattern_start(&r, argc, argv);
    int lock = !strcmp(pattern_word(&r, 0, "memory"), "lock");
    for (; r.turn < r.turns; pattern_end(&r)) {
        pattern_begin(&r);
        if (lock) upc_all_lock_alloc();
        else upc_all_alloc((size_t)THREADS, 4096);
    }
    pattern_print(&r, "wait-at-alloc", pattern_last_minus, 0, NULL);
    pattern_print(&r, "alloc-root-late", root_late, 0, NULL);
    pattern_print(&r, "alloc-other-late", other_late, 0, NULL);
    return 0;
}
