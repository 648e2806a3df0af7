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

#define WSS_NAMES "shmem_names.h"
#include "process.h"

static int wss_own;      /* transfers to the PE itself are recorded */
static char *wss_anchor; /* an address in the symmetric heap, the same place on all PEs */

extern wss_ctx oshmem_ctx_default __attribute__((weak)); /* Open MPI's SHMEM_CTX_DEFAULT */

enum { WSS_CONTEXTS = 16, WSS_LOCKS = 4 };

/* Non-blocking transfers in a context of OpenSHMEM that may not be complete. Their numbers are successive. */
typedef struct wss_pending {
    wss_ctx ctx;
    uint64_t first, last; /* first 0: none */
} wss_pending;

/* The thread's own. */
typedef struct wss_shmem {
    wss_pending pending[WSS_CONTEXTS];
    int contexts; /* entries of pending in use */
    struct {
        const volatile void *address;
        uint64_t id;
    } locks[WSS_LOCKS];
} wss_shmem;

WSC_THREAD wss_shmem wss_own_shmem;

/* wss_begin numbers a non-blocking transfer. The number also tells its context. */
static uint64_t wss_begin(wss_ctx ctx) {
    wss_shmem *l = &wss_own_shmem;
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
    wss_shmem *l = &wss_own_shmem;
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
    for (int i = 0; i < wss_own_shmem.contexts; i++) {
        any |= wss_own_shmem.pending[i].first != 0;
        wss_own_shmem.pending[i].first = 0;
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
