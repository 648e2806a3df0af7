/* DFs and names that differ only far from their beginnings. With an argument, the trace is moved away. */
#define WHYSLOW_IMPLEMENTATION
#include "whyslow.h"

int main(int argc, char **argv) {
    static char name[(1 << 16) + 3];
    static int64_t identity[3000];
    ws_options o;
    memset(&o, 0, sizeof o);
    ws_context *ctx = ws_open(&o);
    memset(name, 'x', sizeof name - 1);
    for (int i = 0; i < 2; i++) {
        name[sizeof name - 2] = (char)('a' + i);
        identity[2999] = INT64_MIN + i;
        ws_define_df(ctx, ws_define_name(ctx, name), identity, 3000);
    }
    ws_idle(ws_stream_open(ctx, 0));
    if (argc > 1) {
        char moved[4096];
        snprintf(moved, sizeof moved, "%s.moved", ws_dir(ctx));
        if (chdir("/") || rename(ws_dir(ctx), moved)) return 1;
    }
    (void)argv;
    ws_close(ctx, WS_DONE, 0, 0);
    return 0;
}
