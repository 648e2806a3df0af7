/* process.h: what the collectors of OpenSHMEM and MPI programs have in common, whose nodes are processes: the
 * functions that they wrap, entering and leaving them, polls. The collector defines WSS_NAMES, the file with
 * the list of functions as WSS_NAME(function, kind of region), and includes collect.h first. */

#define WSS_APART __attribute__((noinline))
#define WSS_CALLER __builtin_return_address(0)

/* The functions that are wrapped, numbered. */
enum {
#define WSS_NAME(NAME, KIND) WSS_OP_##NAME,
#include WSS_NAMES
#undef WSS_NAME
    WSS_OPS
};

/* Operations that are no functions: numbered after these. */
#ifndef WSS_MORE_OPS
#define WSS_MORE_OPS
#endif

static const wsc_operation wss_ops[] = {
#define WSS_NAME(NAME, KIND) {#NAME, WS_REGION_##KIND},
#include WSS_NAMES
#undef WSS_NAME
    WSS_MORE_OPS};
enum { WSS_ALL_OPS = sizeof wss_ops / sizeof *wss_ops };

static wsc_node *wss_node; /* of this process; null before the run-time system has started; atomic */
static int wss_me, wss_pes; /* the number of the process, and how many there are */
static int wss_paused; /* the program has switched recording off */

/* ---- The thread's own ------------------------------------------------------------------------------ */

enum { WSS_RECENT = 32 };

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
    wsc_call poll; /* the polls that have failed so far; their region is still open if poll.s is set */
    int64_t polled, poll_since;
    int poll_op;
    const void *poll_caller, *poll_address;
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

/* ---- Polls ----------------------------------------------------------------------------------------- */

enum { WSS_POLL_GAP = 250, WSS_POLL_REGION = 10000000 }; /* ns */

static wsc_call wss_enter_poll(int op, const void *caller, const volatile void *address) {
    wss_local *l = &wss_mine;
    wsc_thread *t = l->poll.s ? l->poll.t : 0;
    if (!t || t != wsc_mine || t->inside || wss_paused || l->poll_op != op || l->poll_caller != caller ||
        l->poll_address != address)
        return wss_enter(op, caller);
    int64_t now = wss_now();
    if (now - l->polled > WSS_POLL_GAP || now - l->poll_since > WSS_POLL_REGION) return wss_enter(op, caller);
    wsc_call c = l->poll;
    l->poll.s = 0;
    t->inside = 1;
    return c;
}

static void wss_leave_poll(wsc_call *c, int op, const void *caller, const volatile void *address, int done,
                           int64_t end) {
    wss_local *l = &wss_mine;
    if (!end || done) {
        wsc_leave_at(c, end);
        return;
    }
    if (!l->poll_op) pthread_setspecific(wss_key, l); /* the thread's first poll */
    l->poll = *c; /* c->time is the time of the first */
    l->poll_since = c->time, l->polled = end;
    l->poll_op = op, l->poll_caller = caller, l->poll_address = (const void *)(uintptr_t)address;
    c->t->inside = 0;
}
