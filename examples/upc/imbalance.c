/* A function that takes threads different times, before a barrier: load imbalance of that function. It is
 * visible if functions are instrumented (UPC_INST=functions). */
#include "pattern.h"

static int64_t mean(const pattern_times *t, int threads) {
    int64_t sum = 0;
    for (int i = 0; i < threads; i++) sum += t[i].exit - t[i].enter;
    return sum / threads;
}

static int64_t over(const pattern_times *t, int threads, int i, int root) {
    int64_t ns = t[i].exit - t[i].enter - mean(t, threads);
    (void)root;
    return ns > 0 ? ns : 0;
}

static int64_t under(const pattern_times *t, int threads, int i, int root) {
    int64_t ns = mean(t, threads) - (t[i].exit - t[i].enter);
    (void)root;
    return ns > 0 ? ns : 0;
}

static void designed(pattern_times *t, int threads) {
    for (int i = 0; i < threads; i++) t[i].exit = t[i].enter, t[i].enter = 0;
}

static void work(const pattern_run *r) {
    UPC_FUNCTION;
    pattern_sleep(r->in[MYTHREAD]);
}

int upc_main(int argc, char **argv) {
    pattern_run r;
    UPC_FUNCTION;
    for (pattern_start(&r, argc, argv); r.turn < r.turns; upc_barrier()) {
        upc_align();
        r.times[r.turn].enter = upc_now();
        work(&r);
        pattern_end(&r);
    }
    pattern_print(&r, "overload", over, 0, designed);
    pattern_print(&r, "underload", under, 0, designed);
    return 0;
}
