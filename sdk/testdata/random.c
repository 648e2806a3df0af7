/* random SEED KINDS EVENTS: kinds with random fields and events with random values, from a generator that the
 * test knows as well. */
#include "whyslow.h"
#include <stdio.h>
#include <stdlib.h>

static uint64_t state;

static uint64_t next(void) { /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static const char *const types[14] = {"Int",  "Uint",    "Float", "CF",    "DF",     "Site", "Name",
                                      "Node", "Message", "NS",    "Bytes", "Reason", "Ints", "DFs"};

/* value returns random bits of a random length that fit the type. */
static uint64_t value(int type) {
    uint64_t v = next();
    v >>= next() % 64; /* one call per statement: their order matters */
    switch (type) {
    case 4:
    case 5:
    case 6:
    case 13: return v & 0xffffffffu;
    case 7: return v & 0xffff;
    case 11: return v & 0xff;
    }
    return v;
}

int main(int argc, char **argv) {
    static int type[800][16], n[800], list[800];
    static ws_kind kind[800];
    uint64_t w[16 + 64];
    ws_options o;
    if (argc < 4) return 2;
    state = strtoull(argv[1], 0, 10);
    int kinds = atoi(argv[2]), events = atoi(argv[3]);
    memset(&o, 0, sizeof o);
    o.workers = 1, o.manual = 1;
    ws_context *ctx = ws_open(&o);
    ws_stream *s = ws_stream_open(ctx, 0);
    for (int k = 0; k < kinds; k++) {
        char name[16], fields[16 * 16] = "", *p = fields;
        n[k] = (int)(next() % 17);
        for (int f = 0; f < n[k]; f++) {
            type[k][f] = (int)(next() % (f == n[k] - 1 ? 14 : 12));
            p += sprintf(p, " f%d:%s", f, types[type[k][f]]);
        }
        list[k] = n[k] > 0 && type[k][n[k] - 1] >= 12;
        sprintf(name, "on%d", k);
        kind[k] = ws_define_kind(ctx, "My", name, fields, 0);
    }
    for (int e = 0; e < events; e++) {
        int k = (int)(next() % (uint64_t)kinds), j = 0, fixed = n[k] - list[k];
        int64_t t = (int64_t)(next() << 10) >> 10;
        t >>= next() % 54;
        for (int f = 0; f < fixed; f++) w[j++] = value(type[k][f]);
        if (list[k]) {
            uint64_t len = next() % 8 ? 6 : 60;
            len = next() % len;
            w[j++] = len;
            for (uint64_t i = 0; i < len; i++) w[j++] = value(type[k][fixed]);
        }
        ws_emit_at(s, t, kind[k], w, (size_t)j);
    }
    return ws_close(ctx, WS_DONE, 0, 0) ? 1 : 0;
}
