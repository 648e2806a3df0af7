/* Data goes from all threads to all: wait at NxN if some are late, NxN completion if some leave slowly.
 * Arguments: gather-all, exchange or permute, modes ("all/all"). */
#include "pattern.h"

enum { INTS = 16 };

int upc_main(int argc, char **argv) {
    pattern_run r;
    pattern_start(&r, argc, argv);
    const char *what = pattern_word(&r, 0, "gather-all");
    upc_flag_t flags = pattern_flags(pattern_word(&r, 1, "all/all"));
    size_t threads = (size_t)THREADS, me = (size_t)MYTHREAD, part = INTS * sizeof(int);
    int gather = !strcmp(what, "gather-all"), permute = !strcmp(what, "permute");
    size_t from = gather || permute ? part : part * threads, to = permute ? part : part * threads;
    upc_pts src = upc_all_alloc(threads, from), dst = upc_all_alloc(threads, to),
            perm = upc_all_alloc(threads, sizeof(int));
    for (size_t i = 0; i < from / sizeof(int); i++)
        ((int *)upc_cast(upc_block(src, me, from)))[i] = (int)(me * 1000 + i);
    *(int *)upc_cast(upc_block(perm, me, sizeof(int))) = (MYTHREAD + 1) % THREADS;
    upc_barrier();
    for (; r.turn < r.turns; pattern_end(&r)) {
        pattern_begin(&r);
        if (permute) upc_all_permute(dst, src, perm, part, flags);
        else if (gather) upc_all_gather_all(dst, src, part, flags);
        else upc_all_exchange(dst, src, part, flags);
    }
    upc_barrier();
    const int *got = upc_cast(upc_block(dst, me, to));
    for (size_t k = 0; k < to / sizeof(int); k++) {
        size_t i = k % INTS, sender = permute ? (me + threads - 1) % threads : k / INTS;
        if (got[k] != (int)(sender * 1000 + i + (gather || permute ? 0 : me * INTS)))
            return fprintf(stderr, "element %zu: %d\n", k, got[k]), 1;
    }
    void (*design)(pattern_times *, int) = flags & UPC_IN_NOSYNC ? pattern_at_once : NULL;
    pattern_print(&r, "wait-at-nxn", pattern_last_minus, 0, design);
    pattern_print(&r, "nxn-completion", pattern_completion, 0, design);
    return 0;
}
