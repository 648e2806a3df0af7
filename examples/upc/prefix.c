/* Sums over all elements before each element: early prefix reduce if threads before are late, synchronisation
 * on entry if later ones are. Arguments: modes ("all/no"), the thread that has the first element, how often
 * the array goes round the threads (more than once: everyone depends on all). */
#include "pattern.h"

enum { BLOCK = 32 };

static int rounds; /* set by thread 0 for its own print */

static int64_t needed(const pattern_times *t, int threads, int i, int root) {
    int64_t last = t[root].enter;
    if (rounds > 1) return pattern_last(t, threads);
    for (int p = 0; p <= (i - root + threads) % threads; p++)
        if (t[(root + p) % threads].enter > last) last = t[(root + p) % threads].enter;
    return last;
}

static int64_t early(const pattern_times *t, int threads, int i, int root) {
    return pattern_clip(needed(t, threads, i, root) - t[i].enter, t[i]);
}

static int64_t on_entry(const pattern_times *t, int threads, int i, int root) {
    return pattern_clip(pattern_last(t, threads) - needed(t, threads, i, root), t[i]);
}

int upc_main(int argc, char **argv) {
    pattern_run r;
    pattern_start(&r, argc, argv);
    upc_flag_t flags = pattern_flags(pattern_word(&r, 0, "all/no"));
    int root = pattern_number(&r, 1, 0) % THREADS, times = pattern_number(&r, 2, 1);
    if (!MYTHREAD) rounds = times;
    size_t threads = (size_t)THREADS, n = BLOCK * threads * (size_t)times, bytes = BLOCK * sizeof(int);
    upc_pts src = upc_block(upc_all_alloc(threads * ((size_t)times + 1), bytes), (size_t)root, bytes);
    upc_pts dst = upc_block(upc_all_alloc(threads * ((size_t)times + 1), bytes), (size_t)root, bytes);
    size_t first = (size_t)((MYTHREAD - root + THREADS) % THREADS);
    for (size_t b = first; b * BLOCK < n; b += threads)
        for (int i = 0; i < BLOCK; i++) ((int *)upc_cast(upc_block(src, b, bytes)))[i] = (int)b * BLOCK + i;
    upc_barrier();
    for (; r.turn < r.turns; pattern_end(&r)) {
        pattern_begin(&r);
        upc_all_prefix_reduceI(dst, src, UPC_ADD, n, BLOCK, NULL, flags);
    }
    for (size_t b = first; b * BLOCK < n; b += threads)
        for (int i = 0; i < BLOCK; i++) {
            int k = (int)b * BLOCK + i, got = ((int *)upc_cast(upc_block(dst, b, bytes)))[i];
            if (got != k * (k + 1) / 2) return fprintf(stderr, "element %d: %d\n", k, got), 1;
        }
    pattern_print(&r, "early-prefix", early, root, NULL);
    if (flags & UPC_IN_ALLSYNC) pattern_print(&r, "sync-on-entry", on_entry, root, NULL);
    if (flags & UPC_OUT_ALLSYNC) pattern_print(&r, "sync-on-exit", pattern_completion, root, NULL);
    return 0;
}
