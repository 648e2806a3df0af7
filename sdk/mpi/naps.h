/* naps.h records calls that sleep, or read and write files, if they give the core up. Part of mpi.c. Such
 * time is no useful work, and MPI does not know of it. With OpenMP, ../omp/threads.h does the same.
 *
 * A call is looked at when it is over: most are short, and then nothing is recorded. Threads that never
 * called MPI, and calls from within MPI or this library, are left alone. */

#include <sys/resource.h>

static int64_t wsm_switches(void) {
    struct rusage u;
    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nvcsw : -1;
}

/* wsm_begin_nap gives the thread if the call is to be looked at. */
static wsc_thread *wsm_begin_nap(int64_t *since, int64_t *switches) {
    wsc_thread *t = wsc_mine;
    if (!t || t->inside || wss_paused || !wsc_recording(t)) return 0;
    *since = ws_now(), *switches = wsm_switches();
    return t;
}

static WSS_APART void wsm_end_nap(wsc_thread *t, int op, const void *caller, int64_t since,
                                  int64_t switches) {
    int saved = errno;
    int64_t end = ws_now();
    if (end - since >= WSC_LONG && wsm_switches() != switches && !t->inside) {
        wss_end_poll(&wss_mine);
        wsc_call c = wsc_enter_at(t, since, op, caller);
        wsc_leave_at(&c, c.s ? end : 0);
    }
    errno = saved;
}

#define WSM_NAP(TYPE, NAME, PARAMS, ARGS, KIND, FD) \
    WSC_API TYPE NAME PARAMS { \
        static __typeof__(&NAME) real; \
        int64_t since, switches; \
        if (!real) real = (__typeof__(&NAME))dlsym(RTLD_NEXT, #NAME); \
        wsc_thread *self = wsm_begin_nap(&since, &switches); \
        TYPE result = real ARGS; \
        if (self) wsm_end_nap(self, WSS_OP_##NAME, __builtin_return_address(0), since, switches); \
        return result; \
    }

WSC_BLOCKING_CALLS(WSM_NAP)
