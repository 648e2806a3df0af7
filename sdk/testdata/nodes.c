/* Two processes, one node each. One makes a value and sends it; the other waits for it. */
#define _POSIX_C_SOURCE 200809L
#include "whyslow.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void spin(int64_t ns) {
    for (int64_t end = ws_now() + ns; ws_now() < end;) {
    }
}

static int run(int node, int to, int from) {
    static const char *const hosts[] = {"alpha", "beta"};
    static const int64_t identity[2] = {0, 1};
    ws_options o;
    memset(&o, 0, sizeof o);
    o.node = node, o.nodes = 2, o.hosts = hosts, o.program = "nodes";
    ws_context *ctx = ws_open(&o);
    ws_stream *s = ws_stream_open(ctx, 0);
    ws_code code = ws_define_code(ctx, node ? "use" : "make", WS_ATOMIC, 0, 0, 0);
    ws_site site = ws_define_site(ctx, code, "c", 0, 0, 0, "");
    ws_df df = ws_define_df(ctx, ws_define_name(ctx, "value"), identity, 2);
    ws_cf cf = ws_new_id(ctx);
    ws_message msg = ws_id(0, 1);
    char byte = 0;
    ws_cf_created(s, cf, site, 0, 0, 1, 0, 0);
    if (node == 0) {
        ws_cf_ready(s, cf, 0);
        ws_cf_started(s, cf, 1, 0, 0);
        spin(20000000);
        ws_cf_finished(s, cf, 1, -1);
        ws_df_create(s, df, 8, cf);
        ws_df_sent(s, df, 1, 8, msg, 0, ws_id(1, 1));
        if (write(to, &byte, 1) != 1) return 1;
    } else {
        struct timespec flight = {0, 10000000};
        if (read(from, &byte, 1) != 1) return 1;
        nanosleep(&flight, 0);
        ws_df_received(s, df, 0, 8, msg, 0, cf);
        ws_cf_ready(s, cf, 0);
        ws_cf_started(s, cf, 1, &df, 1);
        spin(1000000);
        ws_cf_finished(s, cf, 1, -1);
    }
    return ws_close(ctx, WS_DONE, 0, 0) ? 1 : 0;
}

int main(void) {
    int p[2], status;
    if (pipe(p)) return 1;
    pid_t child = fork();
    int bad = run(child == 0, p[1], p[0]);
    if (child == 0) exit(bad);
    wait(&status);
    return bad || status;
}
