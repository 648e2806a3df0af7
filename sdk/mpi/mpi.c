//go:build ignore

/* libwhyslow-mpi records what an MPI program does, without any change to the program.
 *
 *     mpicc -O2 -g -fPIC -shared -pthread -o libwhyslow-mpi.so mpi.c
 *
 * Then run the program with LD_PRELOAD=libwhyslow-mpi.so.
 *
 * Problem. MPI's functions have second names, PMPI_..., for libraries like this one. But implementations
 * differ in what a communicator, request or status is, and much is known only when a call ends: from whom a
 * message came, and which of many requests are complete.
 *
 * Plan. The library is compiled with the mpi.h of the implementation that the program uses, so that all types
 * fit. For each function in names.h there is one of the same name here. It records that it is entered, calls
 * the original, and records that it is left. A rank of MPI_COMM_WORLD is a node with a file of its own.
 *
 *   - comms.h: which processes a communicator or window has, and its number. Ranks are recorded as those of
 *     MPI_COMM_WORLD.
 *   - messages.h: a message is recorded by the sender when its send begins, and by the receiver when the call
 *     ends that receives it. Readers of the trace match them: MPI keeps messages of one sender, receiver, tag
 *     and communicator in order, by the order in which receives were posted. So receives are numbered.
 *   - requests.h: what a request is for, until it is complete.
 *   - collectives.h, neighbours.h, rma.h, files.h: the rest. naps.h: sleep, input and output. fortran.h:
 *     MPI's Fortran functions do not call those of C.
 *   - A call is located by its return address, and the program's functions are recorded, as by shmem.c. */

/* With WSM_OPENMP the library records OpenMP, too, through OMPT (../omp/omp.c), into the same trace. Every
 * thread of a rank is a worker of its node; what it executes are CFs, and calls of MPI regions in them. */
#ifdef WSM_OPENMP
#define WSC_WORKERS (-1)
#endif

#include "../pgas/collect.h"

#include "../pgas/blocking.h"

#include <mpi.h>

#ifdef WSM_OPENMP
#include "../omp/constructs.h"
#define WSS_MORE_OPS OMP_CONSTRUCT_LIST
#define OMP_FIRST WSS_OPS
#endif

#define WSS_NAMES "../mpi/names.h"
#include "../pgas/process.h"

#include "../pgas/clocks.h"
#include "../pgas/functions.h"

#ifdef WSM_OPENMP
#define OMP_ATTACHED
#include "../omp/omp.c"
#else
static void omp_attach(wsc_node *node, int64_t since) { (void)node, (void)since; }
static void omp_at_exit(int status, void *arg) { (void)status, (void)arg; }
#endif

/* Where the function was called: set by Fortran's wrappers around a call of C's. */
WSC_THREAD const void *wsm_from;
#define WSM_CALLER (wsm_from ? wsm_from : WSS_CALLER)
#define WSM_ENTER(NAME) wss_enter(WSS_OP_##NAME, WSM_CALLER)
#define WSM_API WSC_API WSS_APART

/* WSM_PLAIN is a function about which there is nothing more to record. */
#define WSM_PLAIN(NAME, PARAMS, ARGS) \
    WSM_API int NAME PARAMS { \
        wsc_call c = WSM_ENTER(NAME); \
        int result = P##NAME ARGS; \
        wss_leave(&c); \
        return result; \
    }

#include "comms.h"
#include "requests.h"

#include "messages.h"

#include "collectives.h"

#include "neighbours.h"

#include "rma.h"

#include "files.h"

#ifndef WSM_OPENMP
#include "naps.h"
#endif

/* ---- Start and end --------------------------------------------------------------------------------- */

enum { WSM_HOST = 64 /* bytes of a name */ };

static int wsm_begun;
static int wsm_far;       /* this rank has to compare its clock */
static MPI_Comm wsm_aside = MPI_COMM_NULL; /* for that; null: nobody has to */
static volatile int64_t wsm_slots[WSC_SLOTS];

/* wsm_meet finds out whose clocks have to be compared. It returns the hosts of all ranks on rank 0, and null
 * elsewhere or if there is no memory. All ranks call it. */
static const char **wsm_meet(void) {
    typedef struct {
        int64_t clock;
        char host[WSM_HOST];
    } seat;
    size_t n = (size_t)wss_pes;
    seat own = {(int64_t)wsc_clock_of_host(), ""};
    seat *all = (seat *)calloc(n, sizeof own);
    int64_t told[2] = {0, own.clock}; /* 1: clocks differ, 2: all compare theirs; the clock of rank 0 */
    const char **hosts = 0;
    gethostname(own.host, sizeof own.host - 1);
    int some = all != 0, every = 0;
    PMPI_Allreduce(&some, &every, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (every) PMPI_Gather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (every && !wss_me && (hosts = (const char **)malloc(n * (sizeof *hosts + WSM_HOST))) != 0) {
        char *names = (char *)(hosts + n);
        for (size_t i = 0; i < n; i++, names += WSM_HOST) {
            memcpy(names, all[i].host, WSM_HOST);
            hosts[i] = names;
            if (all[i].clock != own.clock) told[0] = 1;
        }
    }
    free(all);
    /* Settings may differ from host to host; rank 0 decides for all. */
    if (wsc_set.clock_sync == WSC_CLOCK_ALWAYS) told[0] = 2;
    if (wsc_set.clock_sync == WSC_CLOCK_OFF) told[0] = 0;
    PMPI_Bcast(told, 2, MPI_INT64_T, 0, MPI_COMM_WORLD);
    if (told[0]) PMPI_Comm_dup(MPI_COMM_WORLD, &wsm_aside);
    wsm_far = wss_me && told[0] && (told[0] == 2 || told[1] != own.clock);
    return hosts;
}

static void wsm_tell(int rank, int slot, int64_t value) {
    int64_t said[2] = {slot, value};
    if (rank == wss_me) wsm_slots[slot] = value;
    else PMPI_Send(said, 2, MPI_INT64_T, rank, 0, wsm_aside);
}

/* wsm_look reads a slot of this rank, after what others have told. */
static int64_t wsm_look(int rank, int slot) {
    int there = 0;
    (void)rank;
    while (PMPI_Iprobe(MPI_ANY_SOURCE, 0, wsm_aside, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS && there) {
        int64_t said[2];
        PMPI_Recv(said, 2, MPI_INT64_T, MPI_ANY_SOURCE, 0, wsm_aside, MPI_STATUS_IGNORE);
        if (said[0] >= 0 && said[0] < WSC_SLOTS) wsm_slots[said[0]] = said[1];
    }
    return wsm_slots[slot];
}

enum { WSM_TURN = 60 /* seconds */ };

/* wsm_compare_clocks records how far the clock is from rank 0's. All ranks call it. */
static void wsm_compare_clocks(wsc_thread *t) {
    static wsc_talk talk = {0, wsm_tell, wsm_look, 0};
    wsc_offset found = {0, 0, 0};
    if (wsm_aside != MPI_COMM_NULL) {
        talk.me = wss_me;
        PMPI_Barrier(wsm_aside);
        for (int i = 1; i < wss_pes && !wss_me; i++) wsc_answer(&talk, i);
        if (wss_me) {
            wsc_offset asked = wsc_take_turn(&talk, WSM_TURN, wsm_far && wsc_set.clock_sync != WSC_CLOCK_OFF);
            if (wsm_far) found = asked;
        }
        PMPI_Barrier(wsm_aside);
    }
    wsc_clock_sync(t, found);
}

/* wsm_started opens the trace, once the ranks know each other. */
static void wsm_started(int op, const void *caller, int64_t since, int64_t cpu) {
    PMPI_Comm_rank(MPI_COMM_WORLD, &wss_me);
    PMPI_Comm_size(MPI_COMM_WORLD, &wss_pes);
    wsm_start_comms();
    const char **hosts = wsm_meet();
    wsc_node *node = wsc_open(wss_me, wss_pes, 1, wss_me ? wsc_node_0_knows : hosts, since, cpu, wss_ops,
                              WSS_ALL_OPS, "it ended without MPI_Finalize");
    free(hosts);
    if (node) {
        ws_setting(node->ctx, "program", WSC_WORKERS < 0 ? "MPI and OpenMP" : "MPI");
        omp_attach(node, since);
        wsc_thread *t = wsc_here(node);
        t->inside = 1;
        wss_functions_before(t, since);
        t->inside = 0;
        wsc_call c = wsc_enter_at(t, since, op, caller);
        if (c.s) wsm_collective(&c, WSC_START, MPI_COMM_WORLD, -1, 0, 0);
        wsm_compare_clocks(t);
        wss_leave(&c);
    } else {
        wsm_compare_clocks(0);
    }
    __atomic_store_n(&wss_node, node, __ATOMIC_RELEASE);
}

#define WSM_START(NAME, CALL) \
    const void *caller = WSM_CALLER; \
    pthread_once(&wss_once, wss_init_once); \
    int64_t since = ws_now(), cpu = ws_process_cpu(); \
    int result = CALL; \
    if (result == MPI_SUCCESS && !__atomic_exchange_n(&wsm_begun, 1, __ATOMIC_ACQ_REL)) \
        wsm_started(WSS_OP_##NAME, caller, since, cpu); \
    return result

WSM_API int MPI_Init(int *argc, char ***argv) { WSM_START(MPI_Init, PMPI_Init(argc, argv)); }
WSM_API int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    WSM_START(MPI_Init_thread, PMPI_Init_thread(argc, argv, required, provided));
}

WSM_API int MPI_Finalize(void) {
    wsc_call c = WSM_ENTER(MPI_Finalize);
    wsc_thread *t = wsc_here(wss_node);
    if (c.s) {
        wsm_collective(&c, WSC_FINISH, MPI_COMM_WORLD, -1, 0, 0);
        ws_flush(c.s); /* so that a crash in it loses nothing */
    }
    if (wsm_aside != MPI_COMM_NULL) {
        wsm_compare_clocks(t); /* all ranks take part, recording or not */
        PMPI_Comm_free(&wsm_aside);
    } else if (c.s) {
        wsm_compare_clocks(t);
    }
    int result = PMPI_Finalize();
    int64_t end = wss_end(&c);
    wsc_leave_at(&c, end);
    if (t && wsc_recording(t)) {
        t->inside = 1;
        wss_functions_after(t, end ? end : wss_now());
        t->inside = 0;
    }
    omp_at_exit(0, 0);
    wsc_close(wss_node, WS_DONE, 0, 0);
    return result;
}

/* MPI_Abort does not return, and also ends all other ranks. */
WSM_API int MPI_Abort(MPI_Comm comm, int code) {
    wsc_call c = WSM_ENTER(MPI_Abort);
    wss_leave(&c);
    omp_at_exit(code, 0);
    wsc_close(wss_node, WS_FAILED, code, "ended by MPI_Abort");
    return PMPI_Abort(comm, code);
}

/* MPI_Pcontrol switches recording off (0) and on. */
WSM_API int MPI_Pcontrol(const int level, ...) {
    wss_end_poll(&wss_mine);
    __atomic_store_n(&wss_paused, level == 0, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

#include "fortran.h"
