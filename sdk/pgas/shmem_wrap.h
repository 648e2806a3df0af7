/* shmem_wrap.h: the common part of the wrappers of OpenSHMEM's functions; shmem.c has the plan. It is not
 * called shmem.h because that is OpenSHMEM's own header. */

#ifndef wss_ctx /* a test sets it to compare all prototypes with OpenSHMEM's own */
#define wss_ctx void * /* a context of OpenSHMEM, shmem_ctx_t: some pointer */
#endif

/* In a shared library all functions of OpenSHMEM are weak: the library may be preloaded into programs that
 * have none of them, like the shell that starts the program. In a program they must not be weak, or a linker
 * that drops libraries nobody needs would drop OpenSHMEM. */
#if defined(__PIC__) && !defined(__PIE__)
#define WSS_WEAK __attribute__((weak))
#else
#define WSS_WEAK
#endif
#define WSS_APART __attribute__((noinline))
#define WSS_CALLER __builtin_return_address(0)

/* The functions that are wrapped, numbered. */
enum {
#define WSS_NAME(NAME, KIND) WSS_OP_##NAME,
#include "shmem_names.h"
#undef WSS_NAME
    WSS_OPS
};

static const wsc_operation wss_ops[WSS_OPS] = {
#define WSS_NAME(NAME, KIND) {#NAME, WS_REGION_##KIND},
#include "shmem_names.h"
#undef WSS_NAME
};

static wsc_node *wss_node; /* this PE; null before shmem_init; atomic */
static int wss_me, wss_pes;
static int wss_paused;     /* shmem_pcontrol has switched recording off */
static int wss_own;        /* transfers to the PE itself are recorded */
static char *wss_anchor;   /* an address in the symmetric heap, the same place on all PEs */

extern wss_ctx oshmem_ctx_default __attribute__((weak)); /* Open MPI's SHMEM_CTX_DEFAULT */

/* ---- The thread's own ------------------------------------------------------------------------------ */

enum { WSS_CONTEXTS = 16, WSS_LOCKS = 4, WSS_RECENT = 32 };

/* Non-blocking transfers in a context of OpenSHMEM that may not be complete. Their numbers are successive. */
typedef struct wss_pending {
    wss_ctx ctx;
    uint64_t first, last; /* first 0: none */
} wss_pending;

typedef struct wss_frame { /* a function or phase of the program that is executing */
    const void *function;
    const void *caller;
    char *phase; /* a copy of the phase's name; null: a function */
    ws_site site; /* 0: not recorded, or the trace was not open yet */
} wss_frame;

typedef struct wss_recent { /* a recently used site */
    const void *caller;
    int op;
    ws_site site;
} wss_recent;

typedef struct wss_local {
    wss_recent recent[WSS_RECENT]; /* in front of collect.h's tables */
    wss_pending pending[WSS_CONTEXTS];
    int contexts;  /* entries of pending in use */
    wsc_call poll; /* the polls that have failed so far; their region is still open if poll.s is set */
    int64_t polled, poll_since;
    int poll_op;
    const void *poll_caller, *poll_address;
    struct {
        const volatile void *address;
        uint64_t id;
    } locks[WSS_LOCKS];
    wss_frame *frames;
    size_t depth, room, beyond; /* beyond: functions entered that found no memory */
} wss_local;

WSC_THREAD wss_local wss_mine;
static pthread_once_t wss_once = PTHREAD_ONCE_INIT;
static pthread_key_t wss_key; /* set in threads that have something to do when they end */

/* For what the process knows about functions and locks. Taken before the mutex of a node. */
static pthread_mutex_t wss_mu = PTHREAD_MUTEX_INITIALIZER;
static void wss_before_fork(void) { pthread_mutex_lock(&wss_mu); }
static void wss_after_fork(void) { pthread_mutex_unlock(&wss_mu); }

/* ---- Entering and leaving -------------------------------------------------------------------------- */

/* wss_end_poll leaves the region of polls that were not continued. */
static void wss_end_poll(wss_local *l) {
    if (!l->poll.s) return;
    if (l->poll.t == wsc_mine) ws_exited_at(l->poll.s, l->polled, l->poll.site);
    l->poll.s = 0;
}

/* wss_now is ws_now without the check whether the clock is initialised. */
static inline int64_t wss_now(void) { return ws_the_clock.mult ? ws_now() : wsi_monotonic() - wsi_fold_base; }

/* wss_enter is wsc_enter for a process with a single node: it finds a recently used site more quickly.
 * wss_enter_here is the same, always inlined. */
static inline __attribute__((always_inline)) wsc_call wss_enter_here(int op, const void *caller) {
    wsc_call c = {0, 0, 0, 0};
    wsc_thread *t = wsc_mine ? wsc_mine : wsc_here(__atomic_load_n(&wss_node, __ATOMIC_ACQUIRE));
    if (!t || t->inside || __builtin_expect(wss_paused, 0)) return c;
    t->inside = 1; /* from now on a signal handler records nothing: the stream is ours */
    if (__builtin_expect(wss_mine.poll.s != 0, 0)) wss_end_poll(&wss_mine);
    c.t = t;
    if (!wsc_recording(t) || (wsc_set.level == WSC_SYNC && !wsc_wanted(wss_ops[op].kind))) return c;
    c.time = wss_now();
    wss_recent *r = &wss_mine.recent[((uintptr_t)caller >> 2 ^ (uintptr_t)caller >> 7) % WSS_RECENT];
    if (__builtin_expect(r->caller != caller || r->op != op, 0)) {
        r->site = wsc_site(t, wsc_code(t->node, op), (const char *)caller - 1, 0, 0, 0);
        r->caller = caller, r->op = op;
    }
    c.site = r->site;
    c.s = t->s;
    ws_entered_at(c.s, c.time, c.site);
    return c;
}

static WSS_APART wsc_call wss_enter(int op, const void *caller) { return wss_enter_here(op, caller); }

/* wss_end returns the time at which a recorded operation ends, or 0 if it is not recorded. */
static inline int64_t wss_end(const wsc_call *c) { return c->s ? wss_now() : 0; }

/* wss_leave ends an operation about which there is nothing more to record. */
static WSS_APART void wss_leave(wsc_call *c) { wsc_leave_at(c, wss_end(c)); }

/* wss_begin numbers a non-blocking transfer. The number also tells its context. */
static uint64_t wss_begin(wss_ctx ctx) {
    wss_local *l = &wss_mine;
    if (&oshmem_ctx_default && ctx == oshmem_ctx_default) ctx = 0;
    int i = 0, spare = -1;
    for (; i < l->contexts; i++) {
        if (l->pending[i].ctx == ctx) break;
        if (!l->pending[i].first) spare = i;
    }
    if (i == l->contexts) {
        /* The thread uses more contexts at once than we follow. The transfer is recorded as if it were
         * blocking. */
        if (spare < 0 && l->contexts == WSS_CONTEXTS) return 0;
        if (spare >= 0) i = spare;
        else l->contexts++;
        l->pending[i].ctx = ctx;
        if (!l->pending[i].last) l->pending[i].last = (uint64_t)i << 40;
    }
    uint64_t number = ++l->pending[i].last;
    if (!l->pending[i].first) l->pending[i].first = number;
    return number;
}

/* wss_complete records that the transfers of a context are complete. */
static void wss_complete(const wsc_call *c, int64_t time, wss_ctx ctx) {
    wss_local *l = &wss_mine;
    if (&oshmem_ctx_default && ctx == oshmem_ctx_default) ctx = 0;
    wss_pending *own = 0;
    int others = 0;
    for (int i = 0; i < l->contexts; i++) {
        if (!l->pending[i].first) continue;
        if (l->pending[i].ctx == ctx) own = &l->pending[i];
        else others++;
    }
    if (!own) return;
    if (others)
        for (uint64_t n = own->first; n <= own->last; n++) ws_completed_at(c->s, time, n);
    else
        ws_completed_at(c->s, time, 0);
    own->first = 0;
}

static void wss_complete_all(const wsc_call *c, int64_t time) {
    int any = 0;
    for (int i = 0; i < wss_mine.contexts; i++) {
        any |= wss_mine.pending[i].first != 0;
        wss_mine.pending[i].first = 0;
    }
    if (any) ws_completed_at(c->s, time, 0);
}

/* How transfers begin. Transfers to the PE itself are recorded only from level "local" on. */
static inline wsc_call wss_enter_to(int op, const void *caller, int pe) {
    wsc_call none = {0, 0, 0, 0};
    return pe == wss_me && !wss_own ? none : wss_enter_here(op, caller);
}

static WSS_APART wsc_call wss_put(int op, const void *caller, int pe, size_t bytes) {
    wsc_call c = wss_enter_to(op, caller, pe);
    if (c.s) ws_put_at(c.s, c.time, pe, (int64_t)bytes, 0);
    return c;
}

static WSS_APART wsc_call wss_put_nbi(int op, const void *caller, int pe, size_t bytes, wss_ctx ctx) {
    wsc_call c = wss_enter_to(op, caller, pe);
    if (c.s) ws_put_at(c.s, c.time, pe, (int64_t)bytes, wss_begin(ctx));
    return c;
}

static WSS_APART wsc_call wss_get(int op, const void *caller, int pe, size_t bytes) {
    wsc_call c = wss_enter_to(op, caller, pe);
    if (c.s) ws_get_at(c.s, c.time, pe, (int64_t)bytes, 0);
    return c;
}

static WSS_APART wsc_call wss_get_nbi(int op, const void *caller, int pe, size_t bytes, wss_ctx ctx) {
    wsc_call c = wss_enter_to(op, caller, pe);
    if (c.s) ws_get_at(c.s, c.time, pe, (int64_t)bytes, wss_begin(ctx));
    return c;
}

static WSS_APART wsc_call wss_atomic(int op, const void *caller, int pe, size_t bytes) {
    wsc_call c = wss_enter_to(op, caller, pe);
    if (c.s) ws_remote_atomic_at(c.s, c.time, pe, (int64_t)bytes);
    return c;
}

/* wss_others returns the number of members of a set other than this one. */
static size_t wss_others(int members) { return members > 0 ? (size_t)members - 1 : 0; }

/* wss_collective records that the operation just entered is a collective of an active set. root is an index
 * into the set, or -1 if there is none; a root only sends, and the others only receive. */
static void wss_collective(const wsc_call *c, int kind, int first, int log_stride, int members, int root,
                           size_t sent, size_t received) {
    uint64_t stride = (uint64_t)1 << (log_stride & 31);
    int pe = -1;
    if (members < 2) sent = received = 0;
    if (root >= 0) {
        pe = first + root * (int)stride;
        if (pe == wss_me) received = 0;
        else sent = 0;
    }
    wsc_collective(c, kind, WSC_SYNC_NONE, first, stride, members > 0 ? (uint64_t)members : 0, pe,
                   (int64_t)sent, (int64_t)received);
}

static void wss_all(const wsc_call *c, int kind) {
    wsc_collective(c, kind, WSC_SYNC_NONE, 0, 1, (uint64_t)wss_pes, -1, 0, 0);
}

static wsc_call wss_enter_all(int op, const void *caller, int kind) {
    wsc_call c = wss_enter(op, caller);
    if (c.s) wss_all(&c, kind);
    return c;
}

static wsc_call wss_enter_poll(int op, const void *caller, const volatile void *address);
static void wss_leave_poll(wsc_call *c, int op, const void *caller, const volatile void *address, int done,
                           int64_t end);

/* ---- The wrappers -------------------------------------------------------------------------------------
 *
 * NAME is the function, PARAMS its parameters with types, in parentheses, ARGS the same without types. */

#define WSS_VOID(NAME, PARAMS, ARGS, ENTER) \
    extern void p##NAME PARAMS WSS_WEAK; \
    WSC_API WSS_APART void NAME PARAMS { \
        wsc_call c = ENTER; \
        p##NAME ARGS; \
        wss_leave(&c); \
    }

#define WSS_VALUE(RESULT, NAME, PARAMS, ARGS, ENTER) \
    extern RESULT p##NAME PARAMS WSS_WEAK; \
    WSC_API WSS_APART RESULT NAME PARAMS { \
        wsc_call c = ENTER; \
        RESULT result = p##NAME ARGS; \
        wss_leave(&c); \
        return result; \
    }

/* DESCRIBE runs after a recorded function is entered; ENDED runs at its end, at the time end. */
#define WSS_MORE(NAME, PARAMS, ARGS, DESCRIBE, ENDED) \
    extern void p##NAME PARAMS WSS_WEAK; \
    WSC_API WSS_APART void NAME PARAMS { \
        wsc_call c = WSS_ENTER(NAME); \
        if (c.s) { DESCRIBE; } \
        p##NAME ARGS; \
        int64_t end = wss_end(&c); \
        if (end) { ENDED; } \
        wsc_leave_at(&c, end); \
    }

#define WSS_NONE (void)0
#define WSS_ENTER(NAME) wss_enter(WSS_OP_##NAME, WSS_CALLER)

#define WSS_PUT(NAME, PARAMS, ARGS, BYTES) \
    WSS_VOID(NAME, PARAMS, ARGS, wss_put(WSS_OP_##NAME, WSS_CALLER, pe, BYTES))
#define WSS_PUT_NBI(NAME, PARAMS, ARGS, BYTES, CTX) \
    WSS_VOID(NAME, PARAMS, ARGS, wss_put_nbi(WSS_OP_##NAME, WSS_CALLER, pe, BYTES, CTX))
#define WSS_P(NAME, PARAMS, ARGS, BYTES) WSS_PUT(NAME, PARAMS, ARGS, BYTES)
#define WSS_GET(NAME, PARAMS, ARGS, BYTES) \
    WSS_VOID(NAME, PARAMS, ARGS, wss_get(WSS_OP_##NAME, WSS_CALLER, pe, BYTES))
#define WSS_GET_NBI(NAME, PARAMS, ARGS, BYTES, CTX) \
    WSS_VOID(NAME, PARAMS, ARGS, wss_get_nbi(WSS_OP_##NAME, WSS_CALLER, pe, BYTES, CTX))
#define WSS_G(RESULT, NAME, PARAMS, ARGS, BYTES) \
    WSS_VALUE(RESULT, NAME, PARAMS, ARGS, wss_get(WSS_OP_##NAME, WSS_CALLER, pe, BYTES))

#define WSS_ATOMIC(NAME, PARAMS, ARGS, BYTES) \
    WSS_VOID(NAME, PARAMS, ARGS, wss_atomic(WSS_OP_##NAME, WSS_CALLER, pe, BYTES))
#define WSS_FETCH(RESULT, NAME, PARAMS, ARGS, BYTES) \
    WSS_VALUE(RESULT, NAME, PARAMS, ARGS, wss_atomic(WSS_OP_##NAME, WSS_CALLER, pe, BYTES))

/* A barrier of all PEs, or of a set. COMPLETES: it also completes the thread's transfers. */
#define WSS_ALL(NAME, PARAMS, ARGS, COMPLETES) \
    WSS_MORE(NAME, PARAMS, ARGS, wss_all(&c, WSC_BARRIER), if (COMPLETES) wss_complete(&c, end, 0))
#define WSS_SET(NAME, PARAMS, ARGS, COMPLETES)                                                          \
    WSS_MORE(NAME, PARAMS, ARGS, wss_collective(&c, WSC_BARRIER, first, log_stride, members, -1, 0, 0), \
             if (COMPLETES) wss_complete(&c, end, 0))
#define WSS_COLLECTIVE(NAME, PARAMS, ARGS, KIND, ROOT, SENT, RECEIVED)                                       \
    WSS_MORE(NAME, PARAMS, ARGS, wss_collective(&c, KIND, first, log_stride, members, ROOT, SENT, RECEIVED), \
             WSS_NONE)

/* OLD is the memory that is reallocated, or 0. */
#define WSS_ALLOC(RESULT, NAME, PARAMS, ARGS, OLD, SIZE) \
    extern RESULT p##NAME PARAMS WSS_WEAK; \
    WSC_API WSS_APART RESULT NAME PARAMS { \
        wsc_call c = wss_enter_all(WSS_OP_##NAME, WSS_CALLER, WSC_ALLOC); \
        RESULT result = p##NAME ARGS; \
        int64_t end = wss_end(&c); \
        wss_allocated(&c, WSS_OP_##NAME, WSS_CALLER, OLD, result, SIZE); \
        wsc_leave_at(&c, end); \
        return result; \
    }
#define WSS_FREE(NAME, PARAMS, ARGS) \
    extern void p##NAME PARAMS WSS_WEAK; \
    WSC_API WSS_APART void NAME PARAMS { \
        wsc_call c = wss_enter_all(WSS_OP_##NAME, WSS_CALLER, WSC_FREE); \
        wss_freed(&c, old); \
        p##NAME ARGS; \
        wss_leave(&c); \
    }

#define WSS_AWAIT(NAME, PARAMS, ARGS) WSS_VOID(NAME, PARAMS, ARGS, WSS_ENTER(NAME))
#define WSS_QUIET(NAME, PARAMS, ARGS, CTX) WSS_MORE(NAME, PARAMS, ARGS, WSS_NONE, wss_complete(&c, end, CTX))
#define WSS_FENCE(NAME, PARAMS, ARGS) WSS_VOID(NAME, PARAMS, ARGS, WSS_ENTER(NAME))
#define WSS_CTX_CREATE(RESULT, NAME, PARAMS, ARGS) WSS_VALUE(RESULT, NAME, PARAMS, ARGS, WSS_ENTER(NAME))
#define WSS_CTX_DESTROY(NAME, PARAMS, ARGS) WSS_MORE(NAME, PARAMS, ARGS, WSS_NONE, wss_complete(&c, end, ctx))

#define WSS_SET_LOCK(NAME, PARAMS, ARGS) \
    WSS_MORE(NAME, PARAMS, ARGS, WSS_NONE, ws_acquired_at(c.s, end, wss_lock(lock)))
#define WSS_CLEAR_LOCK(NAME, PARAMS, ARGS) \
    WSS_MORE(NAME, PARAMS, ARGS, ws_released_at(c.s, c.time, wss_lock(lock)), WSS_NONE)

/* A function that a program calls again and again until the condition DONE holds. */
#define WSS_POLL(RESULT, NAME, PARAMS, ARGS, ADDRESS, DONE, ENDED) \
    extern RESULT p##NAME PARAMS WSS_WEAK; \
    WSC_API WSS_APART RESULT NAME PARAMS { \
        wsc_call c = wss_enter_poll(WSS_OP_##NAME, WSS_CALLER, ADDRESS); \
        RESULT result = p##NAME ARGS; \
        int64_t end = wss_end(&c); \
        if (end && (DONE)) { ENDED; } \
        wss_leave_poll(&c, WSS_OP_##NAME, WSS_CALLER, ADDRESS, DONE, end); \
        return result; \
    }
#define WSS_TEST(RESULT, NAME, PARAMS, ARGS) \
    WSS_POLL(RESULT, NAME, PARAMS, ARGS, address, result != 0, WSS_NONE)
#define WSS_TEST_LOCK(RESULT, NAME, PARAMS, ARGS) \
    WSS_POLL(RESULT, NAME, PARAMS, ARGS, lock, result == 0, ws_acquired_at(c.s, end, wss_lock(lock)))
