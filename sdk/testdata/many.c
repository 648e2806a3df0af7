/* many THREADS EVENTS [kill|exit|idle]: threads that record without a pause, so that buffers run out. Event i
 * of stream s holds s, i and a list whose length and content follow from i. kill: forever; exit: the main
 * thread exits while the others go on; idle: the threads stop recording but do not end. The variable FLUSH
 * sets flush_ms. */
#define _POSIX_C_SOURCE 200809L
#include "whyslow.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static ws_context *ctx;
static ws_kind step;
static long events;
static int begun; /* threads that have recorded some */

static void *work(void *arg) {
    uint64_t id = (uint64_t)(intptr_t)arg;
    ws_stream *s = ws_stream_open(ctx, (int)id);
    for (uint64_t i = 0; events == 0 || i < (uint64_t)events; i++) {
        uint64_t w[16] = {id, i, i % 7};
        for (uint64_t k = 0; k < i % 7; k++) w[3 + k] = i * k;
        ws_emit(s, step, w, 3 + i % 7);
        if (i == 2000) __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
        if (i % 1000 == 0) ws_define_name(ctx, i % 2000 ? "odd" : "even");
    }
    return 0;
}

int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    const char *mode = argc > 3 ? argv[3] : "";
    ws_options o;
    pthread_t t[64];
    memset(&o, 0, sizeof o);
    o.workers = n;
    if (getenv("FLUSH")) o.flush_ms = atoi(getenv("FLUSH"));
    ctx = ws_open(&o);
    step = ws_define_kind(ctx, "My", "onStep", "stream:Uint i:Uint list:Ints", "A step.");
    events = atol(argv[2]);
    for (int i = 0; i < n; i++) pthread_create(&t[i], 0, work, (void *)(intptr_t)i);
    if (!strcmp(mode, "exit")) {
        struct timespec ms = {0, 50000000};
        do nanosleep(&ms, 0);
        while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < n);
        exit(3);
    }
    if (!strcmp(mode, "kill")) puts("running"), fflush(stdout);
    for (int i = 0; i < n; i++) pthread_join(t[i], 0);
    for (struct timespec s = {1, 0}; !strcmp(mode, "idle");) nanosleep(&s, 0);
    printf("%llu\n", (unsigned long long)ws_lost_events(ctx));
    return ws_close(ctx, WS_DONE, 0, 0) ? 1 : 0;
}
