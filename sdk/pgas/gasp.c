//go:build ignore

/* gasp.c: libwhyslow-gasp records what UPC run-time systems report through GASP 1.5. docs/c-sdk.md describes
 * settings and linking.
 *
 * An event of the interface is the START or END of an operation, or a point in time, with arguments after the
 * place in the source. START enters a region and records its description at the same time; what the operation
 * acquired or completed is known at END. Arguments that point to shared memory are opaque; functions of UPC
 * code (gasp.h) tell whose memory it is.
 *
 * Each UPC thread has a context, and with it the file of a node. A context keeps a stack of open operations,
 * because events come in any order from programs that leave functions by longjmp, switch recording off in the
 * middle, or are wrong. An END also leaves the operations that were started inside; it is ignored if there is
 * no START. Operations that start while recording is off are on the stack without being recorded.
 *
 * Nothing that is called from in here is recorded (functions of UPC code may be instrumented). Other threads
 * may use the context of a UPC thread: they get streams and contexts of their own. */

#include "collect.h"
#include "clocks.h"
#include "gasp.h"
#include "gasp_format.h"

/* ---- Events ---------------------------------------------------------------------------------------- */

#define GASP_OP(name, bupc, gupc, text, kind) OP_##name,
enum { GASP_EVENTS(GASP_OP) OP_STRICT_PUT, OP_STRICT_GET, OPS };
#define GASP_ROW(name, bupc, gupc, text, kind) {text, WS_REGION_##kind},
static const wsc_operation gasp_ops[OPS] = {
    GASP_EVENTS(GASP_ROW) /* which ends in a comma */
    {"strict shared write", WS_REGION_ACCESS},
    {"strict shared read", WS_REGION_ACCESS},
};
#define GASP_TAGS(name, bupc, gupc, text, kind) {bupc, gupc},
static const unsigned short gasp_tags[][2] = {GASP_EVENTS(GASP_TAGS)};

enum { GASP_BUPC, GASP_GUPC, GASP_AUTO }; /* tables; the first two are columns of gasp_tags */
static const char *const gasp_tables[] = {"bupc", "gupc", "auto"};
enum {
    GASP_LAST_TAG = 1410,
    GASP_USER = 100,
    GASP_USER_GUPC = 1000,
    GASP_USERS = 768,
    GASP_DEPTH = 1 << 16,
    GASP_PERMUTE = 64,
    GASP_TEXTS = 1 << 16
};

static struct {
    int table;                               /* atomic; GASP_AUTO until an event decides it */
    unsigned char op[2][GASP_LAST_TAG + 1];  /* 1 + operation, by table and tag */
    int flags[6];                            /* UPC_IN_ALLSYNC ... */
    unsigned first_user;
    int has_upc;
} gasp_set;

/* The user's events, the same for all threads of the process; under wsc_mu. */
typedef struct gasp_user {
    char *name, *desc, *kind; /* kind: its name in the trace */
} gasp_user;
static gasp_user gasp_users[GASP_USERS];
static unsigned gasp_nusers; /* atomic */

#define GASP_WEAK(f) __typeof__(f) f __attribute__((weak))
GASP_WEAK(whyslow_upc_mythread);
GASP_WEAK(whyslow_upc_threads);
GASP_WEAK(whyslow_upc_threadof);
GASP_WEAK(whyslow_upc_lock_id);
GASP_WEAK(whyslow_upc_perm);
GASP_WEAK(whyslow_upc_flags);
GASP_WEAK(whyslow_upc_per_process);
GASP_WEAK(whyslow_upc_put);
GASP_WEAK(whyslow_upc_get);

/* ---- Contexts -------------------------------------------------------------------------------------- */

typedef struct gasp_open { /* an operation that has started */
    unsigned tag;
    int op;             /* OPS: an event of the user's, or unknown */
    ws_site site;       /* 0: not recorded */
    uint64_t transfer;  /* its number, if it is non-blocking */
} gasp_open;

typedef struct gasp_calls { /* how often locks were allocated at a place */
    struct gasp_calls *link;
    ws_site site;
    unsigned n;
} gasp_calls;

typedef struct gasp_handle { /* a transfer in flight; open addressing, key 0: free */
    uintptr_t key;
    uint64_t transfer;
} gasp_handle;

struct _gasp_context_S {
    wsc_node *node; /* null: nothing is recorded */
    wsc_thread *t;
    gasp_open *stack;
    size_t depth, cap;
    size_t deeper; /* open operations beyond those that the stack can hold */
    gasp_handle *handles;
    size_t nhandles, handles_cap;
    ws_site gap;                 /* of the region that covers the time without recording */
    unsigned texts;              /* strings in the file when the last text was made */
    unsigned short *kinds;       /* of the user's events; 0: not declared yet */
    gasp_calls *allocs;
    int worker;                  /* it is the UPC thread's own, not that of a thread it has started */
    int round, met;              /* comparisons of clocks: the last one announced; the first one is over */
    int64_t here;                /* what it has announced */
    wsc_talk talk;
};

static struct _gasp_context_S gasp_nowhere; /* what the run-time system gets if nothing is recorded */

static void gasp_ends(wsc_thread *t);

static pthread_once_t gasp_once = PTHREAD_ONCE_INIT;

static void gasp_init_once(void) {
    static const int flags[6] = {1, 2, 4, 8, 16, 32};
    wsc_init();
    gasp_set.table = wsi_env_choice(0, "WHYSLOW_GASP_TABLE", GASP_AUTO, gasp_tables, 3);
    /* Neither table uses the tags 100 to 999, so the user's events never hide which table a tag belongs
     * to. */
    gasp_set.first_user = gasp_set.table == GASP_GUPC ? GASP_USER_GUPC : GASP_USER;
    for (int op = 0; op < OP_STRICT_PUT; op++)
        for (int k = 0; k < 2; k++)
            if (gasp_tags[op][k]) gasp_set.op[k][gasp_tags[op][k]] = (unsigned char)(op + 1);
    memcpy(gasp_set.flags, flags, sizeof flags);
    int *f = gasp_set.flags;
    if (whyslow_upc_flags) whyslow_upc_flags(f, f + 1, f + 2, f + 3, f + 4, f + 5);
    gasp_set.has_upc = whyslow_upc_mythread && whyslow_upc_threads;
    if (!gasp_set.has_upc)
        fprintf(stderr, "whyslow: the program has no whyslow_upc_mythread: link it with whyslow_upc.upc; "
                        "nothing is recorded\n");
    wsc_ending = gasp_ends;
}

/* gasp_of returns the context of the calling thread for the node, and makes it if need be. Null: no
 * memory. */
static struct _gasp_context_S *gasp_of(wsc_node *node) {
    wsc_thread *t = wsc_here(node);
    if (!t) return 0;
    struct _gasp_context_S *g = (struct _gasp_context_S *)t->front;
    if (!g && (g = (struct _gasp_context_S *)calloc(1, sizeof *g)) != 0) {
        g->node = node;
        g->t = t;
        t->front = g;
    }
    return g;
}

WSC_API gasp_context_t gasp_init(gasp_model_t model, int *argc, char ***argv) {
    (void)model, (void)argc, (void)argv;
    int saved = errno;
    pthread_once(&gasp_once, gasp_init_once);
    struct _gasp_context_S *g = 0;
    if (gasp_set.has_upc) {
        int64_t since = ws_now(), cpu = ws_process_cpu();
        int me = whyslow_upc_mythread(), threads = whyslow_upc_threads();
        int here = whyslow_upc_per_process ? whyslow_upc_per_process() : 1;
        wsc_node *node = 0;
        pthread_mutex_lock(&wsc_mu); /* a second call of a thread must not start the file again */
        for (wsc_node *n = wsc_nodes; n && !node; n = n->link)
            if (n->node == me && !n->closed) node = n;
        pthread_mutex_unlock(&wsc_mu);
        int opened = !node;
        if (opened)
            node = wsc_open(me, threads, here, 0, since, cpu, gasp_ops, OPS,
                            "it ended without a collective exit: what followed the last events is not known");
        if (node) g = gasp_of(node);
        if (g && opened) g->worker = 1;
    }
    errno = saved;
    return g ? g : &gasp_nowhere;
}

/* gasp_mine returns the context for the calling thread: g, or the thread's own for the same node. It returns
 * null if nothing is to be recorded. */
static struct _gasp_context_S *gasp_mine(gasp_context_t g) {
    if (!g || !g->node || __atomic_load_n(&g->node->closed, __ATOMIC_RELAXED)) return 0;
    int other = wsc_mine == 0 || __atomic_load_n(&g->t->owner, __ATOMIC_RELAXED) != pthread_self();
    if (__builtin_expect(other, 0)) g = gasp_of(g->node);
    return g && g->t->s->cap && !g->t->inside ? g : 0;
}

/* gasp_note adds a fact to the settings in run.json, once per node. bit identifies the fact. */
static void gasp_note(struct _gasp_context_S *g, int bit, const char *key, const char *value) {
    if (__atomic_load_n(&g->node->notes, __ATOMIC_RELAXED) & bit) return;
    if (!(__atomic_fetch_or(&g->node->notes, bit, __ATOMIC_RELAXED) & bit))
        ws_setting(g->node->ctx, key, value);
}

/* gasp_op returns the operation of a tag, or OPS for the user's tags and unknown ones. */
static int gasp_op(struct _gasp_context_S *g, unsigned tag) {
    int table = __atomic_load_n(&gasp_set.table, __ATOMIC_RELAXED);
    if (tag - gasp_set.first_user < __atomic_load_n(&gasp_nusers, __ATOMIC_ACQUIRE) || tag > GASP_LAST_TAG)
        return OPS;
    if (table == GASP_AUTO) {
        table = gasp_set.op[GASP_BUPC][tag] ? GASP_BUPC : GASP_GUPC;
        if (!gasp_set.op[table][tag]) return OPS;
        __atomic_store_n(&gasp_set.table, table, __ATOMIC_RELAXED);
    }
    gasp_note(g, 1, "gasp_table", gasp_tables[table]);
    return gasp_set.op[table][tag] ? gasp_set.op[table][tag] - 1 : OPS;
}

/* ---- Starts and ends ------------------------------------------------------------------------------- */

/* gasp_push adds an operation that starts to the stack. If there is no memory, or the recursion is endless,
 * it only counts the depth. */
static void gasp_push(struct _gasp_context_S *g, unsigned tag, int op, ws_site site, uint64_t transfer) {
    if (g->depth == g->cap) {
        size_t cap = g->cap ? 2 * g->cap : 64;
        gasp_open *p = cap <= GASP_DEPTH ? (gasp_open *)realloc(g->stack, cap * sizeof *p) : 0;
        if (!p) {
            g->deeper++;
            return;
        }
        g->stack = p;
        g->cap = cap;
    }
    gasp_open o = {tag, op, site, transfer};
    g->stack[g->depth++] = o;
}

static int gasp_full(const struct _gasp_context_S *g) {
    return g->deeper || (g->depth == g->cap && g->cap == GASP_DEPTH);
}

/* gasp_gap begins or ends the region that covers the time in which the program has switched recording off. */
static void gasp_gap(struct _gasp_context_S *g, int64_t now, int begins) {
    if (!g->gap)
        g->gap = wsc_site(g->t, wsc_named_code(g->node, "not recorded", WS_REGION_FUNCTION, 0), 0, 0, 0, 0);
    if (begins) ws_entered_at(g->t->s, now, g->gap);
    else ws_exited_at(g->t->s, now, g->gap);
}

/* gasp_pop ends the operation on top of the stack. */
static void gasp_pop(struct _gasp_context_S *g, int64_t now) {
    gasp_open *o = &g->stack[--g->depth];
    if (!o->site) return;
    if (!g->t->on) gasp_gap(g, now, 0);
    ws_exited_at(g->t->s, now, o->site);
    if (!g->t->on) gasp_gap(g, now, 1);
}

/* gasp_find returns the innermost open operation with the tag, after ending all operations above it. Null:
 * there is none. */
static gasp_open *gasp_find(struct _gasp_context_S *g, unsigned tag, int64_t now) {
    size_t i = g->depth;
    if (g->deeper) {
        g->deeper--;
        return 0;
    }
    while (i && g->stack[i - 1].tag != tag) i--;
    if (!i) return 0;
    while (g->depth > i) gasp_pop(g, now);
    return &g->stack[i - 1];
}

/* gasp_unwind ends all open operations. */
static void gasp_unwind(struct _gasp_context_S *g, int64_t now) {
    g->deeper = 0;
    while (g->depth) gasp_pop(g, now);
    if (!g->t->on) gasp_gap(g, now, 0);
    g->t->on = 1;
}

static void gasp_ends(wsc_thread *t) {
    if (t->front && t->s->cap && !__atomic_load_n(&t->node->closed, __ATOMIC_ACQUIRE))
        gasp_unwind((struct _gasp_context_S *)t->front, ws_now());
}

/* ---- Handles of non-blocking transfers ------------------------------------------------------------- */

/* Handles of transfers that are already complete are 0; those without a handle of their own have -1. */
static int gasp_trivial(uintptr_t h) { return h == 0 || h == UINTPTR_MAX; }

static gasp_handle *gasp_slot(gasp_handle *at, size_t cap, uintptr_t h) {
    size_t i = (size_t)((uint64_t)h * 0x9e3779b97f4a7c15u >> 20) & (cap - 1);
    while (at[i].key && at[i].key != h) i = (i + 1) & (cap - 1);
    return &at[i];
}

/* gasp_keep remembers the transfer of a handle. The table has a limit, because some programs never wait for
 * their handles. */
static void gasp_keep(struct _gasp_context_S *g, uintptr_t h, uint64_t transfer) {
    if (2 * (g->nhandles + 1) > g->handles_cap) {
        size_t cap = g->handles_cap ? 2 * g->handles_cap : 64;
        gasp_handle *wide = cap <= 1 << 20 ? (gasp_handle *)calloc(cap, sizeof *wide) : 0;
        if (!wide) return;
        for (size_t i = 0; i < g->handles_cap; i++)
            if (g->handles[i].key) *gasp_slot(wide, cap, g->handles[i].key) = g->handles[i];
        free(g->handles);
        g->handles = wide;
        g->handles_cap = cap;
    }
    gasp_handle *s = gasp_slot(g->handles, g->handles_cap, h);
    g->nhandles += !s->key;
    s->key = h;
    s->transfer = transfer;
}

/* gasp_take returns the transfer of a handle and forgets it. 0: unknown. */
static uint64_t gasp_take(struct _gasp_context_S *g, uintptr_t h) {
    if (!g->handles_cap || gasp_trivial(h)) return 0;
    size_t mask = g->handles_cap - 1;
    gasp_handle *s = gasp_slot(g->handles, g->handles_cap, h);
    uint64_t transfer = s->transfer;
    if (!s->key) return 0;
    s->key = 0;
    g->nhandles--;
    /* The entries that follow may be where they are only because this place was taken. */
    for (size_t i = ((size_t)(s - g->handles) + 1) & mask; g->handles[i].key; i = (i + 1) & mask) {
        gasp_handle e = g->handles[i];
        g->handles[i].key = 0;
        *gasp_slot(g->handles, g->handles_cap, e.key) = e;
    }
    return transfer;
}

#include "gasp_args.h"
#include "gasp_clock.h"

/* ---- The user's events ----------------------------------------------------------------------------- */

/* gasp_kind turns the user's name of an event into its name in the trace, "onName". */
static char *gasp_kind(const char *name) {
    char text[80] = "on";
    size_t n = 2;
    for (; *name && n < sizeof text - 1; name++) {
        char c = *name;
        int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), digit = c >= '0' && c <= '9';
        text[n] = letter || digit ? c : '_';
        if (n == 2 && c >= 'a' && c <= 'z') text[n] = (char)(c - 'a' + 'A');
        n++;
    }
    return wsi_copy(n > 2 ? text : "onEvent");
}

WSC_API unsigned int gasp_create_event(gasp_context_t g, const char *name, const char *desc) {
    int saved = errno;
    unsigned tag = 0, i = 0;
    if (!name) name = "";
    if (!desc) desc = "";
    pthread_once(&gasp_once, gasp_init_once);
    pthread_mutex_lock(&wsc_mu);
    while (i < gasp_nusers && (strcmp(gasp_users[i].name, name) || strcmp(gasp_users[i].desc, desc))) i++;
    if (i < gasp_nusers) {
        tag = gasp_set.first_user + i;
    } else if (i < GASP_USERS) {
        gasp_user u = {wsi_copy(name), wsi_copy(desc), gasp_kind(name)};
        if (u.name && u.desc && u.kind) {
            gasp_users[i] = u;
            __atomic_store_n(&gasp_nusers, i + 1, __ATOMIC_RELEASE);
            tag = gasp_set.first_user + i;
        } else {
            free(u.name), free(u.desc), free(u.kind);
        }
    }
    pthread_mutex_unlock(&wsc_mu);
    if (!tag && g && g->node)
        wsi_fail(g->node->ctx, "event %.80s: more than %d user events: it is not recorded", name,
                 (int)GASP_USERS);
    errno = saved;
    return tag;
}

/* gasp_emit_user records an event of the user's, with its text. */
static void gasp_emit_user(struct _gasp_context_S *g, int64_t now, const gasp_user *u, gasp_args *a) {
    char text[GASP_TEXT + 1];
    uint64_t word = 0;
    size_t i = (size_t)(u - gasp_users);
    if (!g->kinds && !(g->kinds = (unsigned short *)calloc(GASP_USERS, sizeof *g->kinds))) return;
    if (!g->kinds[i])
        g->kinds[i] = (unsigned short)ws_define_kind(g->node->ctx, "User", u->kind, "text:Name", u->desc);
    if (!g->kinds[i]) return;
    gasp_format(text, u->desc, a);
    /* Texts stay in memory to the end of the run, so their number is limited. */
    if (g->texts < GASP_TEXTS) {
        word = ws_define_name(g->node->ctx, text);
        if (word > g->texts) g->texts = (unsigned)word;
    } else {
        gasp_note(g, 2, "gasp_texts",
                  "user events have no text after 65536 different strings");
    }
    ws_emit_at(g->t->s, now, g->kinds[i], &word, 1);
}

static void gasp_user_event(struct _gasp_context_S *g, unsigned tag, gasp_evttype_t type, const char *file,
                            int line, int column, gasp_args *a) {
    char unknown[40];
    const gasp_user *u = tag - gasp_set.first_user < gasp_nusers ? &gasp_users[tag - gasp_set.first_user] : 0;
    const char *name = u ? u->name : unknown;
    if (tag < 10000) snprintf(unknown, sizeof unknown, "GASP event %u", tag);
    else snprintf(unknown, sizeof unknown, "GASP event"); /* names stay in memory */
    ws_site site = 0;
    if (g->t->on) {
        int kind = u ? WS_REGION_FUNCTION : WS_REGION_RUNTIME;
        site = wsc_site(g->t, wsc_named_code(g->node, *name ? name : "?", kind, 0), 0, file, line, column);
    }
    int64_t now = ws_now();
    if (type == GASP_START) {
        if (gasp_full(g)) site = 0;
        if (site) ws_entered_at(g->t->s, now, site);
        if (site && u && strchr(u->desc, '%')) gasp_emit_user(g, now, u, a);
        gasp_push(g, tag, OPS, site, 0);
    } else if (site && u) {
        gasp_emit_user(g, now, u, a);
    } else if (site) {
        ws_entered_at(g->t->s, now, site);
        ws_exited_at(g->t->s, now, site);
    }
}

/* ---- The interface --------------------------------------------------------------------------------- */

/* gasp_start records that an operation starts. */
static void gasp_start(struct _gasp_context_S *g, unsigned tag, int op, const char *file, int line,
                       int column, gasp_args *a) {
    gasp_call c;
    if (op == OP_COLLECTIVE_EXIT) gasp_announce(g, GASP_END_ROUND);
    else if (!g->round && !g->met && (op == OP_NOTIFY || op == OP_BARRIER))
        gasp_announce(g, GASP_START_ROUND);
    memset(&c, 0, sizeof c);
    c.op = op, c.collective = c.to = c.from = -1, c.mode = WSC_SYNC_NONE, c.root = -1;
    int kind = gasp_ops[op].kind;
    if (kind == WS_REGION_FUNCTION && op != OP_C_FUNC) kind = WS_REGION_BULK;
    int wanted = g->t->on && wsc_wanted(kind);
    if (wanted) wanted = gasp_read(g, &c, a) && !gasp_full(g);
    if (!wanted) {
        gasp_push(g, tag, op, 0, 0);
        return;
    }
    ws_code code = op == OP_C_FUNC ? wsc_named_code(g->node, c.name, WS_REGION_FUNCTION, 0)
                                   : wsc_code(g->node, c.op);
    ws_site site = wsc_site(g->t, code, 0, file, line, column);
    int64_t now = ws_now();
    ws_stream *s = g->t->s;
    ws_entered_at(s, now, site);
    if (c.collective >= 0)
        wsc_collective_at(g->t, now, c.collective, c.mode, 0, 1, (uint64_t)g->node->nodes, c.root, c.sent,
                          c.received);
    if (c.from < 0 && c.to < 0) c.transfer = 0;
    if (c.transfer) c.transfer = wsc_new_transfer(g->t);
    if (c.from >= 0) ws_get_at(s, now, c.from, c.bytes, c.transfer);
    if (c.to >= 0) ws_put_at(s, now, c.to, c.bytes, c.transfer);
    if (c.has_lock && op == OP_UNLOCK) ws_released_at(s, now, c.lock);
    gasp_push(g, tag, op, site, c.transfer);
}

/* gasp_end records the end of the operation that started with the tag. */
static void gasp_end(struct _gasp_context_S *g, unsigned tag, int64_t now, const char *file, int line,
                     gasp_args *a) {
    gasp_open *o = gasp_find(g, tag, now);
    if (!o) return;
    int exits = o->op == OP_COLLECTIVE_EXIT, status = 0;
    int meets = !g->met && (o->op == OP_WAIT || o->op == OP_BARRIER);
    if (exits) {
        status = va_arg(a->v, int);
        gasp_compare(g, GASP_END_ROUND);
        now = ws_now();
    } else if (o->site && (o->op == OP_ALL_LOCK_ALLOC || o->op == OP_GLOBAL_LOCK_ALLOC)) {
        gasp_new_lock(g, o, file, line, a);
    } else if (o->site && o->op < OPS) {
        gasp_result(g, o, now, a);
    }
    gasp_pop(g, now);
    if (meets) gasp_compare(g, GASP_START_ROUND);
    if (exits) {
        gasp_unwind(g, now);
        wsc_close(g->node, status ? WS_FAILED : WS_DONE, status, 0);
    }
}

/* gasp_atomic records a point in time. */
static void gasp_atomic(struct _gasp_context_S *g, unsigned tag, int op, const char *file, int line,
                        int column, gasp_args *a) {
    gasp_args again;
    va_copy(again.v, a->v);
    gasp_start(g, tag, op, file, line, column, a);
    if (op == OP_NONCOLLECTIVE_EXIT) {
        int status = va_arg(again.v, int);
        gasp_unwind(g, ws_now());
        wsc_close(g->node, status ? WS_FAILED : WS_DONE, status,
                  "one thread ended the program with upc_global_exit");
    } else if (g->deeper) {
        g->deeper--;
    } else {
        gasp_open *o = &g->stack[g->depth - 1];
        int64_t now = ws_now();
        if (o->op == OP_NB_GET_DATA || o->op == OP_NB_PUT_DATA) gasp_result(g, o, now, &again);
        gasp_pop(g, now);
    }
    va_end(again.v);
}

WSC_API void gasp_event_notifyVA(gasp_context_t context, unsigned int tag, gasp_evttype_t type,
                                 const char *file, int line, int column, va_list args) {
    struct _gasp_context_S *g = gasp_mine(context);
    if (!g || !tag || (unsigned)type > GASP_ATOMIC) return;
    int saved = errno;
    int64_t now = type == GASP_END ? ws_now() : 0;
    gasp_args a;
    va_copy(a.v, args);
    g->t->inside = 1;
    if (line < 0) line = 0;
    if (column < 0) column = 0;
    if (type == GASP_END) {
        gasp_end(g, tag, now, file, line, &a);
    } else {
        int op = gasp_op(g, tag);
        if (op == OPS) gasp_user_event(g, tag, type, file, line, column, &a);
        else if (type == GASP_START) gasp_start(g, tag, op, file, line, column, &a);
        else gasp_atomic(g, tag, op, file, line, column, &a);
    }
    if (now) wsc_flush_at(g->t, now);
    g->t->inside = 0;
    va_end(a.v);
    errno = saved;
}

WSC_API void gasp_event_notify(gasp_context_t context, unsigned int tag, gasp_evttype_t type,
                               const char *file, int line, int column, ...) {
    va_list args;
    va_start(args, column);
    gasp_event_notifyVA(context, tag, type, file, line, column, args);
    va_end(args);
}

WSC_API int gasp_control(gasp_context_t context, int on) {
    struct _gasp_context_S *g = gasp_mine(context);
    if (!g) return 0;
    int prior = g->t->on, saved = errno;
    on = on != 0;
    g->t->inside = 1;
    if (on != prior) gasp_gap(g, ws_now(), !on);
    g->t->on = on;
    g->t->inside = 0;
    errno = saved;
    return prior;
}
