/* A permutation in mode MYSYNC: a thread waits inside it for the thread whose data it gets. Arguments: by how
 * many threads data is shifted (default 1), the mode at the end (default no). */
#include "pattern.h"

enum { BYTES = 256 };

static int shift; /* set by thread 0 for its own print */

static int64_t inside(const pattern_times *t, int threads, int i, int root) {
    (void)root;
    return pattern_clip(t[(i - shift % threads + threads) % threads].enter - t[i].enter, t[i]);
}

int upc_main(int argc, char **argv) {
    pattern_run r;
    pattern_start(&r, argc, argv);
    int by = pattern_number(&r, 0, 1), from = (MYTHREAD - by % THREADS + THREADS) % THREADS;
    upc_flag_t flags = pattern_flags("my/") | pattern_flags(pattern_word(&r, 1, "no")) << 3;
    if (!MYTHREAD) shift = by;
    size_t threads = (size_t)THREADS, me = (size_t)MYTHREAD;
    upc_pts src = upc_all_alloc(threads, BYTES), dst = upc_all_alloc(threads, BYTES),
            perm = upc_all_alloc(threads, sizeof(int));
    memset(upc_cast(upc_block(src, me, BYTES)), MYTHREAD + 1, BYTES);
    *(int *)upc_cast(upc_block(perm, me, sizeof(int))) = (MYTHREAD + by) % THREADS;
    upc_barrier();
    for (; r.turn < r.turns; pattern_end(&r)) {
        pattern_begin(&r);
        upc_all_permute(dst, src, perm, BYTES, flags);
    }
    upc_barrier();
    if (((char *)upc_cast(upc_block(dst, me, BYTES)))[BYTES - 1] != from + 1)
        return fprintf(stderr, "wrong data\n"), 1;
    pattern_print(&r, "wait-inside", inside, 0, NULL);
    return 0;
}
