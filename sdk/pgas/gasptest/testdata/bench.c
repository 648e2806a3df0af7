/* bench.c prints what recording costs: nanoseconds of CPU time per operation, of this thread and of the
 * process, and the wall time.
 *
 * bench N SPIN: N operations, each after SPIN turns of a loop; if SPIN begins with '-', only the loop. */
#include "hooks.h"
#include <time.h>

static double cpu(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 1000000, spin = argc > 2 ? atol(argv[2]) : 0;
    int record = spin >= 0 && !(argc > 2 && *argv[2] == '-');
    if (spin < 0) spin = -spin;
    gasp_context_t g = record ? gasp_init(GASP_MODEL_UPC, &argc, &argv) : NULL;
    pts p = {0, 0};
    char mine[8];
    volatile long x = 0;
    double mine0 = cpu(CLOCK_THREAD_CPUTIME_ID), all0 = cpu(CLOCK_PROCESS_CPUTIME_ID),
           wall0 = cpu(CLOCK_MONOTONIC);
    for (long i = 0; i < n; i++) {
        for (long k = 0; k < spin; k++) x += k;
        if (!record) continue;
        gasp_event_notify(g, GASP_BUPC_MEMGET, GASP_START, "bench.upc", 10 + (int)(i & 7), 0, mine, &p,
                          (size_t)(i & 1023));
        gasp_event_notify(g, GASP_BUPC_MEMGET, GASP_END, "bench.upc", 10 + (int)(i & 7), 0, mine, &p,
                          (size_t)(i & 1023));
    }
    double mine1 = cpu(CLOCK_THREAD_CPUTIME_ID), all1 = cpu(CLOCK_PROCESS_CPUTIME_ID),
           wall1 = cpu(CLOCK_MONOTONIC);
    gasp_event_notify(g, GASP_BUPC_COLLECTIVE_EXIT, GASP_START, NULL, 0, 0, 0);
    gasp_event_notify(g, GASP_BUPC_COLLECTIVE_EXIT, GASP_END, NULL, 0, 0, 0);
    printf("%.1f %.1f %.1f\n", (mine1 - mine0) / (double)n, (all1 - all0) / (double)n,
           (wall1 - wall0) / (double)n);
    return 0;
}
