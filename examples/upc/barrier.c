/* Threads come late to a barrier: wait at barrier. Some leave it slowly: barrier completion. */
#include "pattern.h"

int upc_main(int argc, char **argv) {
    pattern_run r;
    for (pattern_start(&r, argc, argv); r.turn < r.turns; pattern_end(&r)) {
        pattern_begin(&r);
        upc_barrier();
    }
    pattern_print(&r, "wait-at-barrier", pattern_last_minus, 0, NULL);
    pattern_print(&r, "barrier-completion", pattern_completion, 0, NULL);
    return 0;
}
