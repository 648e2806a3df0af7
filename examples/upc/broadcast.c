/* Data goes from one thread to all: late broadcast if that one is late, synchronisation on entry if others
 * are late, and synchronisation on exit if some leave slowly. Arguments: broadcast or scatter, modes
 * ("all/no"), which thread is the root. */
#include "pattern.h"

enum { BYTES = 1024 };

static int64_t late(const pattern_times *t, int threads, int i, int root) {
    (void)threads;
    return pattern_clip(t[root].enter - t[i].enter, t[i]);
}

static int64_t on_entry(const pattern_times *t, int threads, int i, int root) {
    return pattern_clip(pattern_last(t, threads) - (t[i].enter > t[root].enter ? t[i].enter : t[root].enter),
                        t[i]);
}

int upc_main(int argc, char **argv) {
    pattern_run r;
    pattern_start(&r, argc, argv);
    int scatter = !strcmp(pattern_word(&r, 0, "broadcast"), "scatter"),
        root = pattern_number(&r, 2, 0) % THREADS;
    upc_flag_t flags = pattern_flags(pattern_word(&r, 1, "all/no"));
    size_t n = scatter ? BYTES * (size_t)THREADS : BYTES;
    upc_pts all = upc_all_alloc((size_t)THREADS, n), dst = upc_all_alloc((size_t)THREADS, BYTES),
            src = upc_block(all, (size_t)root, n);
    if (MYTHREAD == root)
        for (size_t i = 0; i < n; i++) ((unsigned char *)upc_cast(src))[i] = (unsigned char)(i / 7);
    upc_barrier();
    for (; r.turn < r.turns; pattern_end(&r)) {
        pattern_begin(&r);
        if (scatter) upc_all_scatter(dst, src, BYTES, flags);
        else upc_all_broadcast(dst, src, BYTES, flags);
    }
    upc_barrier();
    const unsigned char *got = upc_cast(upc_block(dst, (size_t)MYTHREAD, BYTES));
    for (size_t i = 0; i < BYTES; i++)
        if (got[i] != (unsigned char)((i + (scatter ? BYTES * (size_t)MYTHREAD : 0)) / 7))
            return fprintf(stderr, "wrong data\n"), 1;
    void (*design)(pattern_times *, int) = flags & UPC_IN_NOSYNC ? pattern_at_once : NULL;
    pattern_print(&r, "late-broadcast", late, root, design);
    if (flags & UPC_IN_ALLSYNC) pattern_print(&r, "sync-on-entry", on_entry, root, design);
    if (flags & UPC_OUT_ALLSYNC) pattern_print(&r, "sync-on-exit", pattern_completion, root, design);
    return 0;
}
