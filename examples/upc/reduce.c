/* Data goes from all threads to one: early reduce if that one arrives before all others. What it and the
 * others wait beyond that is synchronisation on entry or, in mode MYSYNC, waiting inside, by the root only.
 * Arguments: reduce or gather, modes ("all/no"), the root. */
#include "pattern.h"

enum { BYTES = 512 };

static int64_t first_other(const pattern_times *t, int threads, int root) {
    int64_t first = INT64_MAX;
    for (int i = 0; i < threads; i++)
        if (i != root && t[i].enter < first) first = t[i].enter;
    return first;
}

static int64_t early(const pattern_times *t, int threads, int i, int root) {
    return i == root && threads > 1 ? pattern_clip(first_other(t, threads, root) - t[root].enter, t[root])
                                    : 0;
}

static int64_t beyond(const pattern_times *t, int threads, int i, int root) {
    int64_t from = t[i].enter;
    if (i == root && threads > 1 && first_other(t, threads, root) > from)
        from = first_other(t, threads, root);
    return pattern_clip(pattern_last(t, threads) - from, t[i]);
}

static int64_t inside(const pattern_times *t, int threads, int i, int root) {
    return i == root ? beyond(t, threads, i, root) : 0;
}

int upc_main(int argc, char **argv) {
    pattern_run r;
    pattern_start(&r, argc, argv);
    int gather = !strcmp(pattern_word(&r, 0, "reduce"), "gather"), root = pattern_number(&r, 2, 0) % THREADS;
    upc_flag_t flags = pattern_flags(pattern_word(&r, 1, "all/no"));
    size_t n = BYTES / sizeof(long), threads = (size_t)THREADS;
    upc_pts src = upc_all_alloc(threads, BYTES), all = upc_all_alloc(threads, BYTES * threads),
            dst = upc_block(all, (size_t)root, BYTES * threads);
    long sum = 0;
    for (size_t i = 0; i < n; i++)
        ((long *)upc_cast(upc_block(src, (size_t)MYTHREAD, BYTES)))[i] = (long)i + MYTHREAD;
    for (size_t i = 0; i < n * threads; i++) sum += (long)(i % n + i / n);
    upc_barrier();
    for (; r.turn < r.turns; pattern_end(&r)) {
        pattern_begin(&r);
        if (gather) upc_all_gather(dst, src, BYTES, flags);
        else upc_all_reduceL(dst, src, UPC_ADD, n * threads, n, NULL, flags);
    }
    upc_barrier();
    if (MYTHREAD == root) {
        long got = 0;
        for (size_t i = 0; i < (gather ? n * threads : 1); i++) got += ((long *)upc_cast(dst))[i];
        if (got != sum) return fprintf(stderr, "%ld instead of %ld\n", got, sum), 1;
    }
    pattern_print(&r, "early-reduce", early, root, NULL);
    if (flags & UPC_IN_ALLSYNC) pattern_print(&r, "sync-on-entry", beyond, root, NULL);
    if (flags & UPC_IN_MYSYNC) pattern_print(&r, "wait-inside", inside, root, NULL);
    if (flags & UPC_OUT_ALLSYNC) pattern_print(&r, "sync-on-exit", pattern_completion, root, NULL);
    return 0;
}
