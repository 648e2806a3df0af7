//go:build ignore

/* libwhyslow-shmem records what an OpenSHMEM program does, without any change to the program.
 *
 *     cc -O2 -g -fPIC -shared -pthread -o libwhyslow-shmem.so shmem.c
 *
 * Then run the program with LD_PRELOAD=libwhyslow-shmem.so, or link it with -lwhyslow-shmem (or shmem.o)
 * before OpenSHMEM.
 *
 * Problem. OpenSHMEM has about 900 functions, which differ by type and size. Each has a second name,
 * pshmem_...
 *
 * Plan. For each function there is one of the same name here. It records that it is entered, calls the
 * original by its second name, and records that it is left. sdk/pgas/gen has the table of functions and turns
 * it into calls of macros in shmem_put.h and so on; the macros are in shmem_wrap.h. collect.h does what all
 * collectors have in common, process.h what those have whose nodes are processes. A PE is a node
 * with a file of its own. Its number is known only after shmem_init, so the file is opened then, with the
 * time at which shmem_init began.
 *
 *   - A call is located by its return address; internal/record/pgas/symbols finds the file and line.
 *   - Functions that OpenSHMEM itself calls (shmem_set_lock uses atomics) run inside an operation and are
 *     left out.
 *   - A transfer to the PE itself is recorded from level "local" on.
 *   - Non-blocking transfers have numbers. shmem_quiet, shmem_ctx_quiet and the barriers record that the
 *     calling thread's transfers in their context are complete.
 *   - Programs poll (shmem_int_test, shmem_test_lock) millions of times. Failed polls from the same place for
 *     the same address, less than 250 ns apart, share one region with each other and with the poll that
 *     succeeds (process.h).
 *   - Locks are numbered by their place in the symmetric heap or in the program's data, which is the same on
 *     all PEs. shmem_locks.h also records what they are called.
 *   - Functions of a program compiled with -finstrument-functions are recorded. functions.h has the two
 *     functions that GCC and Clang then call, and those with which a program names its phases.
 *
 * OpenSHMEM's own header is not needed, and only the list of functions depends on the implementation.
 *
 * Left out on purpose: functions without a second name, and queries that take no time (shmem_my_pe). The list
 * is in sdk/pgas/gen/table.go. */

#include "collect.h"

#include "shmem_wrap.h"

#include "shmem_locks.h"

#include "shmem_put.h"
#include "shmem_get.h"
#include "shmem_atomic.h"
#include "shmem_collective.h"
#include "shmem_sync.h"

#include "shmem_clock.h"
#include "functions.h"

/* ---- Start and end --------------------------------------------------------------------------------- */

extern void pshmem_init(void) WSS_WEAK;
extern int pshmem_init_thread(int requested, int *provided) WSS_WEAK;
extern void pstart_pes(int npes) WSS_WEAK;
extern void pshmem_finalize(void) WSS_WEAK;
extern void pshmem_global_exit(int status) WSS_WEAK;

/* wss_started opens the trace, once the PEs know each other. */
static void wss_started(int op, const void *caller, int64_t since, int64_t cpu) {
    const char **hosts;
    if (!pshmem_my_pe || !pshmem_n_pes) return;
    wss_me = pshmem_my_pe(), wss_pes = pshmem_n_pes();
    hosts = wss_meet();
    wss_own = wsc_level() >= WSC_LOCAL;
    wsc_node *node = wsc_open(wss_me, wss_pes, 1, wss_me ? wsc_node_0_knows : hosts, since, cpu, wss_ops,
                              WSS_OPS, "it ended without shmem_finalize");
    free(hosts);
    if (node) {
        wsc_thread *t = wsc_here(node);
        t->inside = 1;
        wss_functions_before(t, since);
        t->inside = 0;
        wsc_call c = wsc_enter_at(t, since, op, caller);
        if (c.s) wss_all(&c, WSC_START);
        wss_compare_clocks(t);
        wss_leave(&c);
    } else {
        wss_compare_clocks(0);
    }
    __atomic_store_n(&wss_node, node, __ATOMIC_RELEASE);
}

/* wss_need ends a program that is linked with this library but not with OpenSHMEM. */
static void wss_need(int there, const char *function) {
    if (there) return;
    fprintf(stderr,
            "whyslow: %s: there is no p%s: link OpenSHMEM after whyslow's library, with -Wl,--no-as-needed\n",
            function, function);
    _exit(127);
}

#define WSS_START(NAME, CALL) \
    wss_need(p##NAME != 0, #NAME); \
    int first = !__atomic_exchange_n(&wss_begun, 1, __ATOMIC_ACQ_REL); \
    wsc_call c = WSS_ENTER(NAME); \
    pthread_once(&wss_once, wss_init_once); \
    int64_t since = ws_now(), cpu = ws_process_cpu(); \
    CALL; \
    wss_leave(&c); \
    if (first) wss_started(WSS_OP_##NAME, WSS_CALLER, since, cpu)

static int wss_begun;

WSC_API WSS_APART void shmem_init(void) { WSS_START(shmem_init, pshmem_init()); }
WSC_API WSS_APART void start_pes(int npes) { WSS_START(start_pes, pstart_pes(npes)); }
WSC_API WSS_APART int shmem_init_thread(int requested, int *provided) {
    WSS_START(shmem_init_thread, int result = pshmem_init_thread(requested, provided));
    return result;
}

WSC_API WSS_APART void shmem_finalize(void) {
    wsc_call c = WSS_ENTER(shmem_finalize);
    wsc_thread *t = wsc_here(wss_node);
    if (c.s) {
        wss_all(&c, WSC_FINISH);
        /* Some versions of Open MPI crash in pshmem_finalize. */
        ws_flush(c.s);
    }
    if (wss_seats) wss_compare_clocks(t); /* all PEs take part, recording or not */
    else if (c.s) wss_compare_clocks(t);
    pshmem_finalize();
    int64_t end = wss_end(&c);
    if (end) wss_complete_all(&c, end);
    wsc_leave_at(&c, end);
    if (t && wsc_recording(t)) {
        t->inside = 1;
        wss_functions_after(t, end ? end : wss_now());
        t->inside = 0;
    }
    wsc_close(wss_node, WS_DONE, 0, 0);
}

/* shmem_global_exit does not return, and also ends all other PEs. */
WSC_API WSS_APART void shmem_global_exit(int status) {
    wsc_call c = WSS_ENTER(shmem_global_exit);
    wss_leave(&c);
    wsc_close(wss_node, status ? WS_FAILED : WS_DONE, status, "ended by shmem_global_exit");
    pshmem_global_exit(status);
}

/* shmem_pcontrol (OpenSHMEM 1.5) switches recording off (0) and on. */
extern void pshmem_pcontrol(int level, ...) __attribute__((weak));
WSC_API void shmem_pcontrol(int level, ...) {
    wss_end_poll(&wss_mine);
    __atomic_store_n(&wss_paused, level == 0, __ATOMIC_RELAXED);
    if (pshmem_pcontrol) pshmem_pcontrol(level);
}
