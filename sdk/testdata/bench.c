/* bench: nanoseconds per event, compared in turns with reading the counter and appending 24 bytes to a buffer
 * of the same size. Each figure is the best of many short runs, because the machine has other work. */
#define _POSIX_C_SOURCE 200809L
#include "whyslow.h"
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 16 << 10, ROUNDS = 300, BATCH = 5000 };

static uint64_t bare_buffer[WORDS + 3];
static size_t bare_used;

/* What any recorder must do: read the clock, store three words. */
static void bare(int n) {
    for (int i = 0; i < n; i++) {
#if defined(__x86_64__)
        uint32_t lo, hi;
        __asm__ __volatile__("rdtsc" : "=a"(lo), "=d"(hi));
        uint64_t t = (uint64_t)hi << 32 | lo;
#else
        uint64_t t = (uint64_t)ws_now();
#endif
        if (bare_used + 3 > WORDS) bare_used = 0;
        uint64_t *p = bare_buffer + bare_used;
        p[0] = t, p[1] = (uint64_t)i, p[2] = (uint64_t)n;
        bare_used += 3;
        __asm__ __volatile__("" ::: "memory");
    }
}

static void typed(ws_stream *s, int n) {
    for (int i = 0; i < n; i++) {
        ws_df_stored(s, (ws_df)i, n);
        __asm__ __volatile__("" ::: "memory");
    }
}

static void lists(ws_stream *s, int n) {
    static const ws_df inputs[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < n; i++) {
        ws_cf_started(s, (ws_cf)i, 1, inputs, 8);
        __asm__ __volatile__("" ::: "memory");
    }
}

static void generic(ws_stream *s, ws_kind kind, int n) {
    for (int i = 0; i < n; i++) {
        uint64_t w[2];
        w[0] = (uint64_t)i, w[1] = (uint64_t)n;
        ws_emit(s, kind, w, 2);
        __asm__ __volatile__("" ::: "memory");
    }
}

int main(void) {
    ws_options o;
    memset(&o, 0, sizeof o);
    o.pool = 64;
    ws_context *ctx = ws_open(&o);
    ws_stream *s = ws_stream_open(ctx, 0);
    ws_kind kind = ws_define_kind(ctx, "My", "onStep", "a:Uint b:Uint", 0);
    setenv("WHYSLOW_OFF", "1", 1);
    ws_context *off_ctx = ws_open(&o);
    ws_stream *off = ws_stream_open(off_ctx, 0);
    static const char *const names[5] = {"bare", "typed", "list of 8", "ws_emit", "off"};
    int64_t best[5] = {0, 0, 0, 0, 0};
    for (int r = 0; r < ROUNDS; r++)
        for (int k = 0; k < 5; k++) {
            int64_t t = ws_now();
            switch (k) {
            case 0: bare(BATCH); break;
            case 1: typed(s, BATCH); break;
            case 2: lists(s, BATCH); break;
            case 3: generic(s, kind, BATCH); break;
            case 4: typed(off, BATCH); break;
            }
            t = ws_now() - t;
            if (r == 0 || t < best[k]) best[k] = t;
        }
    for (int k = 0; k < 5; k++)
        printf("%-10s %6.2f ns/event, ratio %.2f\n", names[k], (double)best[k] / BATCH,
               (double)best[k] / (double)best[0]);
    ws_close(off_ctx, WS_DONE, 0, 0);
    return ws_close(ctx, WS_DONE, 0, 0) ? 1 : 0;
}
