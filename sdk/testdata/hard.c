/* hard MODE: what a program may do to its recorder. */
#define _POSIX_C_SOURCE 200809L
#include "whyslow.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static ws_context *ctx;
static ws_stream *s;
static ws_kind step;
static uint64_t n;

static void steps(int count) {
    for (int i = 0; i < count; i++) {
        uint64_t w = n++;
        ws_emit(s, step, &w, 1);
    }
}

static void start(const char *dir) {
    ws_options o;
    memset(&o, 0, sizeof o);
    o.level = -1;
    o.dir = dir;
    o.buffer_bytes = 4096;
    ctx = ws_open(&o);
    s = ws_stream_open(ctx, 0);
    step = ws_define_kind(ctx, "My", "onStep", "i:Uint", 0);
}

static int end(void) {
    printf("%llu %llu %s\n", (unsigned long long)n, (unsigned long long)ws_lost_events(ctx),
           ws_error(ctx) ? ws_error(ctx) : "-");
    return ws_close(ctx, WS_DONE, 0, 0) ? 1 : 0;
}

/* same records a million equal events. */
static void same(void) {
    for (int i = 0; i < 1000000; i++) ws_idle_at(s, i);
}

/* define makes more definitions than one block holds. */
static void define(void) {
    char text[2000];
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 3000; i++) {
        sprintf(text, "%d", i);
        text[strlen(text)] = ':';
        text[1000 + i % 999] = 0;
        ws_define_name(ctx, text);
        memset(text, 'x', sizeof text);
    }
    for (int64_t i = 0; i < 200000; i++) {
        int64_t identity[9];
        for (int k = 0; k < 9; k++) identity[k] = i * k;
        ws_define_df(ctx, (ws_name)(i % 3000) + 1, identity, (size_t)(i % 10));
    }
}

/* limit bounds the length of files, as a full disk does. -1: no limit. */
static void limit(long bytes) {
    struct rlimit l;
    getrlimit(RLIMIT_FSIZE, &l);
    l.rlim_cur = bytes < 0 ? l.rlim_max : (rlim_t)bytes;
    setrlimit(RLIMIT_FSIZE, &l);
}

/* wrong makes every mistake that is reported. Only the first is kept, so each has a context of its own. */
static void wrong(void) {
    static const char *const fields[] = {"x",
                                         "x:Foo",
                                         "x:Int x:Int",
                                         "x:Ints y:Int",
                                         "1x:Int",
                                         ":Int",
                                         "a:Int b:Int c:Int d:Int e:Int f:Int g:Int h:Int i:Int j:Int k:Int "
                                         "l:Int m:Int n:Int o:Int p:Int q:Int"};
    static const int64_t list[1] = {0};
    uint64_t w[2] = {1, 2};
    for (int i = 0; i < 14; i++) {
        ws_options o;
        memset(&o, 0, sizeof o);
        if (i == 7) o.node = 1;
        ctx = ws_open(&o);
        s = ws_stream_open(ctx, i == 8 ? -1 : 0);
        if (i < 7) ws_emit(s, ws_define_kind(ctx, "My", "onX", fields[i], 0), w, 1);
        if (i == 9) ws_define_kind(ctx, "DFEvents", "onCreateSize", "x:Int", 0);
        if (i == 10) ws_emit(s, WS_CF_READY, w, 1);
        if (i == 11) ws_emit(s, WS_CF_WAITING, w, 2);
        if (i == 12) ws_cf_created(s, 1, 0, 0, 1, 1, list, (size_t)1 << 20);
        if (i == 13)
            ws_define_kind(ctx, "My", "onX", "a:Int", 0), ws_define_kind(ctx, "My", "onX", "a:Uint", 0);
        ws_idle(s);
        printf("%s\n", ws_error(ctx) ? ws_error(ctx) : "-");
        ws_close(ctx, WS_DONE, 0, 0);
    }
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    signal(SIGXFSZ, SIG_IGN);
    if (!strcmp(mode, "signal"))
        signal(atoi(argv[2]), SIG_DFL); /* a shell starts background jobs with SIGINT ignored */
    if (!strcmp(mode, "wrong")) {
        wrong();
        return 0;
    }
    start(0);
    if (!strcmp(mode, "fork")) {
        steps(2000);
        pid_t child = fork();
        steps(2000);
        if (child == 0) {
            int was = ws_active(ctx);
            ws_df_stored(ws_stream_open(ctx, 5), ws_define_df(ctx, ws_define_name(ctx, "child"), 0, 0), 1);
            ws_flush(s);
            start("child.trace"); /* it may record a trace of its own */
            steps(10);
            if (ws_close(ctx, WS_DONE, 0, 0)) exit(9);
            exit(was ? 8 : 0);
        }
        int status;
        waitpid(child, &status, 0);
        if (status) return 7;
        return end();
    }
    if (!strcmp(mode, "full")) { /* for a while */
        steps(2000);
        ws_flush(s);
        limit(20000);
        steps(20000);
        ws_flush(s);
        struct timespec ms = {0, 1000000};
        while (!ws_error(ctx)) nanosleep(&ms, 0);
        limit(-1);
        steps(2000);
        return end();
    }
    if (!strcmp(mode, "fuller")) { /* forever */
        limit(20000);
        steps(20000);
        return end();
    }
    if (!strcmp(mode, "long")) { /* events longer than buffers */
        static int64_t list[100000];
        for (int i = 0; i < 100000; i++) list[i] = i * (int64_t)i;
        ws_cf_created(s, ws_id(0, 1), 0, 0, 1, 1, list, 100000);
        steps(1);
        ws_cf_created(s, ws_id(0, 2), 0, 0, 1, 1, list, 1000);
        return end();
    }
    if (!strcmp(mode, "signal")) {
        steps(1000);
        if (fork() == 0) raise(SIGTERM); /* must not affect the parent */
        int status;
        wait(&status);
        steps(1000);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM) return 6;
        raise(atoi(argv[2]));
    }
    if (!strcmp(mode, "segv")) {
        steps(1000);
        *(volatile int *)(intptr_t)argc = 0;
    }
    if (!strcmp(mode, "define")) {
        define();
        steps(1);
        define();
        steps(1);
        return end();
    }
    if (!strcmp(mode, "same")) {
        same();
        return end();
    }
    steps(1000);
    if (!strcmp(mode, "exit")) exit(3);
    if (!strcmp(mode, "return")) return 0;
    if (!strcmp(mode, "failed"))
        return ws_setting(ctx, "steal", "\"on\"\n"), ws_close(ctx, WS_FAILED, 2, "line 1\nline 2");
    return end();
}
