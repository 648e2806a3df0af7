#ifndef WHYSLOW_GASP_ARGS_H
#define WHYSLOW_GASP_ARGS_H
/* gasp_args.h: the part of gasp.c that interprets the arguments of events. */

/* What is known about an operation that starts. */
typedef struct gasp_call {
    int op;
    const char *name; /* for a function */
    int collective;   /* WSC_BARRIER ..., -1: none */
    int mode, root;
    int64_t sent, received;
    int to, from; /* threads of a transfer; -1: none, or unknown */
    int64_t bytes;
    uint64_t transfer; /* not 0: it is non-blocking */
    uint64_t lock;
    int has_lock;
} gasp_call;

/* gasp_thread returns the thread that a pointer-to-shared points to, or -1 if it is unknown. */
static int gasp_thread(struct _gasp_context_S *g, const void *pts) {
    int t = pts && whyslow_upc_threadof ? whyslow_upc_threadof(pts) : -1;
    return t >= 0 && t < g->node->nodes ? t : -1;
}

/* No address space is larger than this. A wrong number beyond it would spoil all sums. */
static const int64_t gasp_most = (int64_t)1 << 48;

static int64_t gasp_bytes(size_t n) { return n > (size_t)gasp_most ? gasp_most : (int64_t)n; }

/* gasp_times returns n bytes times a number of threads, at most gasp_most. */
static int64_t gasp_times(int64_t n, int64_t threads) {
    int64_t product;
    return __builtin_mul_overflow(n, threads, &product) || product > gasp_most ? gasp_most : product;
}

static int gasp_mode(int flags) {
    const int *f = gasp_set.flags;
    int in = flags & f[2] ? WSC_NO : flags & f[1] ? WSC_MY : WSC_ALL;
    int out = flags & f[5] ? WSC_NO : flags & f[4] ? WSC_MY : WSC_ALL;
    return WSC_SYNC_MODE(in, out);
}

/* gasp_lock stores the lock of an operation in c. */
static void gasp_lock(gasp_call *c, const void *lock) {
    if (!lock || !whyslow_upc_lock_id) return;
    c->lock = whyslow_upc_lock_id(lock);
    c->has_lock = 1;
}

/* gasp_copy describes a copy by this thread from one thread's memory to another's. -1 is this thread's own,
 * private memory; -2 is unknown. A copy from another thread to another thread is both a get and a put. */
static void gasp_copy(struct _gasp_context_S *g, gasp_call *c, int to, int from, size_t n) {
    int me = g->node->node;
    c->bytes = gasp_bytes(n);
    if (to >= 0 && (to != me || from < 0 || from == me)) c->to = to;
    if (from >= 0 && (from != me || to == -1)) c->from = from;
}

static int gasp_shared(struct _gasp_context_S *g, const void *pts) {
    int t = gasp_thread(g, pts);
    return t < 0 ? -2 : t;
}

/* gasp_permute finds out where the block of this member goes, and whose block it gets. */
static void gasp_permute(struct _gasp_context_S *g, gasp_call *c, const void *perm, int64_t n) {
    int me = g->node->node, threads = g->node->nodes, found = 0;
    int to = perm && whyslow_upc_perm ? whyslow_upc_perm(perm, me) : -1;
    c->sent = to == me ? 0 : n;
    c->received = n;
    if (to < 0 || threads > GASP_PERMUTE) return; /* reading the elements of many others would take long */
    for (int i = 0; i < threads; i++)
        if (whyslow_upc_perm(perm, i) == me) c->root = i, found++;
    if (found != 1) c->root = -1;
    if (c->root == me) c->received = 0;
}

static int64_t gasp_type_size(int type) {
    static const unsigned char sizes[] = {
        1, 1, sizeof(short), sizeof(short), sizeof(int), sizeof(int), sizeof(long), sizeof(long),
        sizeof(float), sizeof(double), sizeof(long double)};
    return type >= 0 && type < (int)sizeof sizes ? sizes[type] : 0;
}

static void gasp_reduce(struct _gasp_context_S *g, gasp_call *c, gasp_args *a) {
    int me = g->node->node;
    int64_t threads = g->node->nodes;
    const void *dst = va_arg(a->v, void *), *src = va_arg(a->v, void *);
    (void)va_arg(a->v, int); /* the operation */
    size_t elements = va_arg(a->v, size_t), block = va_arg(a->v, size_t);
    (void)va_arg(a->v, void *);
    c->mode = gasp_mode(va_arg(a->v, int));
    int64_t size = gasp_type_size(va_arg(a->v, int));
    if (c->op == OP_ALL_REDUCE) {
        c->collective = WSC_REDUCE;
        c->root = gasp_thread(g, dst);
        if (c->root == me) c->received = gasp_times(size, threads - 1);
        else c->sent = size;
        return;
    }
    /* Each thread passes its partial sum on to the next, once per round of the array over all threads. */
    c->collective = WSC_PREFIX_REDUCE;
    int first = gasp_thread(g, src);
    size_t round = 0, rounds = 1;
    if (block && !__builtin_mul_overflow(block, (size_t)threads, &round))
        rounds = elements / round + (elements % round != 0);
    if (rounds <= 1) c->root = first;
    if (!block || threads < 2 || !rounds) return;
    int64_t place = first < 0 ? 1 : (me - first + threads) % threads;
    c->sent = gasp_times(size, gasp_bytes(rounds) - (place == threads - 1));
    c->received = gasp_times(size, gasp_bytes(rounds) - (place == 0));
}

static void gasp_collective(struct _gasp_context_S *g, gasp_call *c, gasp_args *a) {
    int me = g->node->node;
    const void *dst = va_arg(a->v, void *), *src = va_arg(a->v, void *),
               *perm = c->op == OP_ALL_PERMUTE ? va_arg(a->v, void *) : 0;
    int64_t n = gasp_bytes(va_arg(a->v, size_t)), others = gasp_times(n, g->node->nodes - 1);
    c->mode = gasp_mode(va_arg(a->v, int));
    switch (c->op) {
    case OP_ALL_BROADCAST:
    case OP_ALL_SCATTER:
        c->collective = c->op == OP_ALL_SCATTER ? WSC_SCATTER : WSC_BROADCAST;
        c->root = gasp_thread(g, src);
        if (c->root == me) c->sent = others;
        else c->received = n;
        break;
    case OP_ALL_GATHER:
        c->collective = WSC_GATHER;
        c->root = gasp_thread(g, dst);
        if (c->root == me) c->received = others;
        else c->sent = n;
        break;
    case OP_ALL_PERMUTE:
        c->collective = WSC_PERMUTE;
        gasp_permute(g, c, perm, n);
        break;
    default:
        c->collective = c->op == OP_ALL_EXCHANGE ? WSC_EXCHANGE : WSC_GATHER_ALL;
        c->sent = c->received = others;
    }
}

/* gasp_read reads the arguments at the start of an operation. It returns 0 if the level of instrumentation
 * leaves the operation out. */
static int gasp_read(struct _gasp_context_S *g, gasp_call *c, gasp_args *a) {
    const void *p, *q;
    int relaxed;
    switch (c->op) {
    case OP_C_FUNC:
        c->name = va_arg(a->v, const char *);
        if (!c->name || !*c->name) c->name = "?";
        break;
    case OP_COLLECTIVE_EXIT: c->collective = WSC_FINISH; break;
    case OP_NOTIFY: c->collective = WSC_NOTIFY; break;
    case OP_WAIT: c->collective = WSC_WAIT; break;
    case OP_BARRIER: c->collective = WSC_BARRIER; break;
    case OP_ALL_ALLOC:
    case OP_ALL_LOCK_ALLOC: c->collective = WSC_ALLOC; break;
    case OP_UNLOCK: gasp_lock(c, va_arg(a->v, void *)); break;
    case OP_BUPC_NB_MEMGET_INIT: c->transfer = 1; /* fall through */
    case OP_MEMGET:
        p = va_arg(a->v, void *), q = va_arg(a->v, void *);
        gasp_copy(g, c, -1, gasp_shared(g, q), va_arg(a->v, size_t));
        break;
    case OP_BUPC_NB_MEMPUT_INIT: c->transfer = 1; /* fall through */
    case OP_MEMPUT:
        p = va_arg(a->v, void *), q = va_arg(a->v, void *);
        gasp_copy(g, c, gasp_shared(g, p), -1, va_arg(a->v, size_t));
        break;
    case OP_BUPC_NB_MEMCPY_INIT: c->transfer = 1; /* fall through */
    case OP_MEMCPY:
        p = va_arg(a->v, void *), q = va_arg(a->v, void *);
        gasp_copy(g, c, gasp_shared(g, p), gasp_shared(g, q), va_arg(a->v, size_t));
        break;
    case OP_MEMSET:
        p = va_arg(a->v, void *);
        (void)va_arg(a->v, int);
        gasp_copy(g, c, gasp_shared(g, p), -1, va_arg(a->v, size_t));
        break;
    case OP_NB_GET_INIT:
    case OP_GET:
        relaxed = va_arg(a->v, int), p = va_arg(a->v, void *), q = va_arg(a->v, void *);
        gasp_copy(g, c, -1, gasp_shared(g, q), va_arg(a->v, size_t));
        if (c->op == OP_NB_GET_INIT) c->transfer = 1;
        else if (!relaxed) c->op = OP_STRICT_GET;
        return c->from != g->node->node || wsc_set.level >= WSC_LOCAL;
    case OP_NB_PUT_INIT:
    case OP_PUT:
        relaxed = va_arg(a->v, int), p = va_arg(a->v, void *), q = va_arg(a->v, void *);
        gasp_copy(g, c, gasp_shared(g, p), -1, va_arg(a->v, size_t));
        if (c->op == OP_NB_PUT_INIT) c->transfer = 1;
        else if (!relaxed) c->op = OP_STRICT_PUT;
        return c->to != g->node->node || wsc_set.level >= WSC_LOCAL;
    case OP_ALL_REDUCE:
    case OP_ALL_PREFIX_REDUCE: gasp_reduce(g, c, a); break;
    default:
        if (c->op >= OP_ALL_BROADCAST && c->op <= OP_ALL_PERMUTE) gasp_collective(g, c, a);
    }
    return 1;
}

static void gasp_completed(struct _gasp_context_S *g, int64_t now, uint64_t transfer) {
    if (transfer) ws_completed_at(g->t->s, now, transfer);
}

/* gasp_begun remembers the handle of a non-blocking transfer, which is the last argument. */
static void gasp_begun(struct _gasp_context_S *g, const gasp_open *o, int64_t now, gasp_args *a) {
    uintptr_t h = (uintptr_t)va_arg(a->v, void *);
    if (gasp_trivial(h)) gasp_completed(g, now, o->transfer);
    else gasp_keep(g, h, o->transfer);
}

/* gasp_new_lock records where a lock was allocated. */
static void gasp_new_lock(struct _gasp_context_S *g, const gasp_open *o, const char *file, int line,
                          gasp_args *a) {
    char more[64];
    gasp_call c = {0};
    gasp_calls *calls = g->allocs;
    gasp_lock(&c, va_arg(a->v, void *));
    while (calls && calls->site != o->site) calls = calls->link;
    if (!calls && (calls = (gasp_calls *)calloc(1, sizeof *calls)) != 0) {
        calls->site = o->site;
        calls->link = g->allocs;
        g->allocs = calls;
    }
    if (!c.has_lock || !calls) return;
    int n = snprintf(more, sizeof more, " call %u", ++calls->n);
    if (o->op == OP_GLOBAL_LOCK_ALLOC)
        snprintf(more + n, sizeof more - (size_t)n, " thread %d", g->node->node);
    wsc_define_lock(g->node, o->op, c.lock, 0, file, line, more);
}

/* gasp_result reads the arguments at the end of an operation and records its result. */
static void gasp_result(struct _gasp_context_S *g, const gasp_open *o, int64_t now, gasp_args *a) {
    gasp_call c = {0};
    uintptr_t h;
    switch (o->op) {
    case OP_LOCK:
    case OP_LOCK_ATTEMPT:
        gasp_lock(&c, va_arg(a->v, void *));
        if (o->op == OP_LOCK_ATTEMPT && !va_arg(a->v, int)) c.has_lock = 0;
        if (c.has_lock) ws_acquired_at(g->t->s, now, c.lock);
        break;
    case OP_NB_GET_INIT:
    case OP_NB_PUT_INIT: (void)va_arg(a->v, int); /* fall through */
    case OP_BUPC_NB_MEMGET_INIT:
    case OP_BUPC_NB_MEMPUT_INIT:
    case OP_BUPC_NB_MEMCPY_INIT:
        (void)va_arg(a->v, void *), (void)va_arg(a->v, void *), (void)va_arg(a->v, size_t);
        gasp_begun(g, o, now, a);
        break;
    case OP_NB_SYNC:
    case OP_NB_GET_DATA:
    case OP_NB_PUT_DATA: gasp_completed(g, now, gasp_take(g, (uintptr_t)va_arg(a->v, void *))); break;
    case OP_BUPC_NB_TRYSYNC:
        h = (uintptr_t)va_arg(a->v, void *);
        if (va_arg(a->v, int)) gasp_completed(g, now, gasp_take(g, h));
    }
}

#endif /* WHYSLOW_GASP_ARGS_H */
