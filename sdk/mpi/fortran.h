/* fortran.h wraps MPI's Fortran interfaces, whose functions do not call those of C. Part of mpi.c. Names are
 * those of gfortran, and of most other compilers on Linux: mpi_send_ of mpif.h and "use mpi", mpi_send_f08_
 * of Open MPI's mpi_f08, mpi_send_f08ts_ of MPICH's. All take the same arguments, so the files that wrap them
 * are included for each. Only mpi_f08 may leave out the last one, where the error goes.
 *
 * Each calls the original by its second name, so that special addresses (MPI_IN_PLACE, MPI_BOTTOM) need no
 * translation; what it calls in turn is inside of it and left out. Many without buffers call the functions of
 * C. */

#define WSF_API WSC_API WSS_APART
#define WSF_COMM MPI_Comm_f2c(*comm)
#define WSF_WIN MPI_Win_f2c(*win)
#define WSF_TYPE(TYPE) MPI_Type_f2c(*TYPE)
#define WSF_WEAK __attribute__((weak))

typedef MPI_Fint wsf;

enum { WSF_STATUS = 32 }; /* integers, at least, in a status of Fortran's */

/* WSF_ERR: the caller need not want to know of an error. */
#define WSF_ERR \
    wsf wsf_unwanted; \
    if (!err) err = &wsf_unwanted

/* WSF_AS_C calls a function of C. */
#define WSF_AS_C(CALL) \
    WSF_ERR; \
    wsm_from = WSS_CALLER; \
    *err = CALL; \
    wsm_from = 0

/* WSF_UNWANTED tells whether the caller wants to know nothing of a status. */
#ifdef MPICH_VERSION
#define WSF_UNWANTED(STATUS, WHICH) \
    ((void *)(STATUS) == (void *)MPI_F_##WHICH || (void *)(STATUS) == (void *)MPI_F08_##WHICH)
#else
#define WSF_UNWANTED(STATUS, WHICH) ((void *)(STATUS) == (void *)MPI_F_##WHICH)
#endif

/* wsf_arrived is wsm_arrived for a status of Fortran's. */
static void wsf_arrived(const wsc_call *c, int64_t end, const wsm_comm *m, const wsf *status, uint64_t number,
                        int64_t posted) {
    MPI_Status s;
    memset(&s, 0, sizeof s);
    if (PMPI_Status_f2c(status, &s) == MPI_SUCCESS) wsm_arrived(c, end, m, &s, number, posted);
}

/* Requests are known by their numbers in Fortran: MPI_Request_f2c is not needed, and handles of C are others.
 * */
#define WSF_HANDLE(REQUEST) (~(uintptr_t)0 - (uintptr_t)(REQUEST))

static void wsf_complete(const wsc_call *c, int64_t end, uintptr_t handle, const wsf *status) {
    MPI_Status s;
    memset(&s, 0, sizeof s);
    if (PMPI_Status_f2c(status, &s) == MPI_SUCCESS) wsm_complete(c, end, handle, &s);
}

/* What a call with several requests needs; where there is no memory, handles is null. */
typedef struct wsf_several {
    uintptr_t *handles;
    wsf *own, *statuses;
} wsf_several;

enum { WSF_EACH = sizeof(MPI_Status) / sizeof(wsf) }; /* integers in a status */

static void wsf_before(wsf_several *w, wsf n, const wsf *requests, wsf *statuses) {
    size_t count = n > 0 ? (size_t)n : 0;
    w->handles = (uintptr_t *)malloc((count + 1) * sizeof *w->handles);
    w->own = (wsf *)malloc((count + 1) * sizeof(MPI_Status));
    w->statuses = statuses;
    if (WSF_UNWANTED(statuses, STATUSES_IGNORE)) {
        if (w->own) w->statuses = w->own;
        else free(w->handles), w->handles = 0;
    }
    for (size_t i = 0; w->handles && i < count; i++) w->handles[i] = WSF_HANDLE(requests[i]);
}

/* wsf_complete_all is wsf_complete for the requests at these places, counted from 1, or for all. */
static void wsf_complete_all(const wsc_call *c, int64_t end, const wsf_several *w, wsf err, wsf n,
                             const wsf *places) {
    for (wsf i = 0; w->handles && err == MPI_SUCCESS && i < n; i++)
        wsf_complete(c, end, w->handles[places ? places[i] - 1 : i], w->statuses + i * WSF_EACH);
}

static void wsf_after(wsf_several *w) {
    free(w->handles);
    free(w->own);
}

/* wsf_collective is wsm_collective_of, with the bytes that one rank sends to one other. */
static void wsf_collective(const wsc_call *c, int kind, int mode, MPI_Comm comm, int root, int64_t bytes) {
    int64_t all = bytes * (wsm_size(comm) - 1), sent = bytes, received = bytes;
    int is = root >= 0 && wsm_is(comm, root);
    if (kind == WSC_BROADCAST || kind == WSC_SCATTER) sent = is ? all : 0, received = is ? 0 : bytes;
    if (kind == WSC_GATHER || kind == WSC_REDUCE) sent = is ? 0 : bytes, received = is ? all : 0;
    if (kind == WSC_GATHER_ALL || kind == WSC_EXCHANGE) sent = received = all;
    wsm_collective_of(c, kind, mode, wsm_of(comm), root, sent, received);
}

#define WSF_BYTES(COUNT, TYPE) wsm_bytes(*COUNT, WSF_TYPE(TYPE))
#define WSF_SUM(COUNTS, TYPE) wsm_sum(COUNTS, WSF_COMM, WSF_TYPE(TYPE))

#define WSF_START(NAME, FORTRAN, PARAMS, ARGS) \
    extern void WSF_REAL(FORTRAN) PARAMS WSF_WEAK; \
    WSF_API void WSF_NAME(FORTRAN) PARAMS { \
        const void *caller = WSS_CALLER; \
        pthread_once(&wss_once, wss_init_once); \
        int64_t since = ws_now(), cpu = ws_process_cpu(); \
        WSF_ERR; \
        WSF_REAL(FORTRAN) ARGS; \
        if (*err == MPI_SUCCESS && !__atomic_exchange_n(&wsm_begun, 1, __ATOMIC_ACQ_REL)) \
            wsm_started(WSS_OP_##NAME, caller, since, cpu); \
    }

/* WSF_CALL is a function that records what ENTER does, and then AFTER. */
#define WSF_CALL(FORTRAN, PARAMS, ARGS, ENTER, AFTER) \
    extern void WSF_REAL(FORTRAN) PARAMS WSF_WEAK; \
    WSF_API void WSF_NAME(FORTRAN) PARAMS { \
        wsc_call c = ENTER; \
        WSF_ERR; \
        WSF_REAL(FORTRAN) ARGS; \
        AFTER; \
        wss_leave(&c); \
    }

#define WSF_ENTER(NAME) wss_enter(WSS_OP_##NAME, WSS_CALLER)

#define WSF_SEND_PARAMS (void *buf, wsf *count, wsf *type, wsf *to, wsf *tag, wsf *comm, wsf *err)
#define WSF_SENDING(NAME, NUMBER) \
    wsm_enter_send(WSS_OP_##NAME, WSS_CALLER, *count, WSF_TYPE(type), *to, *tag, WSF_COMM, NUMBER)

#define WSF_SEND(NAME, FORTRAN) \
    WSF_CALL(FORTRAN, WSF_SEND_PARAMS, (buf, count, type, to, tag, comm, err), WSF_SENDING(NAME, 0), )

#define WSF_LATER_PARAMS \
    (void *buf, wsf *count, wsf *type, wsf *peer, wsf *tag, wsf *comm, wsf *request, wsf *err)
#define WSF_LATER_ARGS (buf, count, type, peer, tag, comm, request, err)

/* wsf_remember keeps the request of a call that ended well, unless the peer is none. */
static void wsf_remember(wsf request, wsf err, wsf peer, wsm_request r) {
    if (err == MPI_SUCCESS && peer != MPI_PROC_NULL) wsm_remember(WSF_HANDLE(request), r);
}

#define WSF_ISEND(NAME, FORTRAN) \
    extern void WSF_REAL(FORTRAN) WSF_LATER_PARAMS WSF_WEAK; \
    WSF_API void WSF_NAME(FORTRAN) WSF_LATER_PARAMS { \
        uint64_t number = wsm_number(&wsm_transfers); \
        wsc_call c = wsm_enter_send(WSS_OP_##NAME, WSS_CALLER, *count, WSF_TYPE(type), *peer, *tag, \
                                    WSF_COMM, number); \
        WSF_ERR; \
        WSF_REAL(FORTRAN) WSF_LATER_ARGS; \
        wsf_remember(*request, *err, *peer, \
                     (wsm_request){0, WSM_SENDS, 0, 1, number, c.time, 0, *peer, *tag, 0, 0}); \
        wss_leave(&c); \
    }

#define WSF_SEND_INIT(NAME, FORTRAN) \
    WSF_CALL(FORTRAN, WSF_LATER_PARAMS, WSF_LATER_ARGS, WSF_ENTER(NAME), \
             wsf_remember(*request, *err, *peer, \
                          (wsm_request){0, WSM_SENDS, 1, 0, 0, 0, WSF_BYTES(count, type), \
                                        wsm_peer(wsm_of(WSF_COMM), *peer), *tag, wsm_of(WSF_COMM), 0}))

/* WSF_COLLECTIVE is a collective and LATER, which only begins it. TELL may use mode. */
#define WSF_COLLECTIVE(NAME, FORTRAN, LATER, LATER_FORTRAN, PARAMS, ARGS, TELL) \
    extern void WSF_REAL(FORTRAN)(WSM_OPEN PARAMS, wsf *err) WSF_WEAK; \
    WSF_API void WSF_NAME(FORTRAN)(WSM_OPEN PARAMS, wsf *err) { \
        enum { mode = WSC_SYNC_NONE }; \
        wsc_call c = WSF_ENTER(NAME); \
        WSF_ERR; \
        if (c.s) TELL; \
        WSF_REAL(FORTRAN)(WSM_OPEN ARGS, err); \
        wss_leave(&c); \
    } \
    extern void WSF_REAL(LATER_FORTRAN)(WSM_OPEN PARAMS, wsf *request, wsf *err) WSF_WEAK; \
    WSF_API void WSF_NAME(LATER_FORTRAN)(WSM_OPEN PARAMS, wsf *request, wsf *err) { \
        enum { mode = WSC_SYNC_LATER }; \
        wsc_call c = WSF_ENTER(LATER); \
        WSF_ERR; \
        if (c.s) TELL; \
        WSF_REAL(LATER_FORTRAN)(WSM_OPEN ARGS, request, err); \
        if (*err == MPI_SUCCESS) wsm_collective_begun(&c, WSF_COMM, WSF_HANDLE(*request)); \
        wss_leave(&c); \
    }

#define WSF_EVEN(KIND, ROOT, BYTES) wsf_collective(&c, KIND, mode, WSF_COMM, ROOT, BYTES)
#define WSF_UNEVEN(KIND, ROOT, SENT, RECEIVED) \
    wsm_collective_of(&c, KIND, mode, wsm_of(WSF_COMM), ROOT, SENT, RECEIVED)

/* WSF_NEIGHBOURS is a neighbourhood collective, and LATER, which only begins it. */
#define WSF_NEIGHBOURS(NAME, FORTRAN, LATER, LATER_FORTRAN, PARAMS, ARGS, SENT, RECEIVED) \
    extern void WSF_REAL(FORTRAN)(WSM_OPEN PARAMS, wsf *err) WSF_WEAK; \
    WSF_API void WSF_NAME(FORTRAN)(WSM_OPEN PARAMS, wsf *err) { \
        wsc_call c = WSF_ENTER(NAME); \
        wsm_comm *m = c.s ? wsm_near(WSF_COMM) : 0; \
        uint64_t number = wsm_near_begun(m); \
        int64_t bytes = 0; \
        WSF_ERR; \
        WSM_NEAR_BEGIN(SENT, RECEIVED) \
        WSF_REAL(FORTRAN)(WSM_OPEN ARGS, err); \
        int64_t end = wss_end(&c); \
        if (*err == MPI_SUCCESS) wsm_near_ended(&c, end, m, number, c.time, bytes); \
        wsc_leave_at(&c, end); \
    } \
    extern void WSF_REAL(LATER_FORTRAN)(WSM_OPEN PARAMS, wsf *request, wsf *err) WSF_WEAK; \
    WSF_API void WSF_NAME(LATER_FORTRAN)(WSM_OPEN PARAMS, wsf *request, wsf *err) { \
        wsc_call c = WSF_ENTER(LATER); \
        wsm_comm *m = c.s ? wsm_near(WSF_COMM) : 0; \
        uint64_t number = wsm_near_begun(m); \
        int64_t bytes = 0; \
        WSF_ERR; \
        WSM_NEAR_BEGIN(SENT, RECEIVED) \
        WSF_REAL(LATER_FORTRAN)(WSM_OPEN ARGS, request, err); \
        wsm_request r = {0, WSM_NEIGHBOURHOODS, 0, 1, number, c.time, bytes, 0, 0, m, 0}; \
        if (*err == MPI_SUCCESS && m) wsm_remember(WSF_HANDLE(*request), r); \
        wss_leave(&c); \
    }

#define WSF_MAKES(NAME, FORTRAN, PARAMS, ARGS) \
    extern void WSF_REAL(FORTRAN) PARAMS WSF_WEAK; \
    WSF_API void WSF_NAME(FORTRAN) PARAMS { \
        wsc_call c = WSF_ENTER(NAME); \
        WSF_ERR; \
        if (c.s) wsf_collective(&c, WSC_GATHER_ALL, WSC_SYNC_NONE, WSF_COMM, -1, 0); \
        WSF_REAL(FORTRAN) ARGS; \
        if (*err == MPI_SUCCESS) wsm_agree(MPI_Comm_f2c(*made)); \
        wss_leave(&c); \
    }

#define WSF_MAKES_WIN(NAME, FORTRAN, PARAMS, ARGS) \
    extern void WSF_REAL(FORTRAN) PARAMS WSF_WEAK; \
    WSF_API void WSF_NAME(FORTRAN) PARAMS { \
        wsc_call c = WSF_ENTER(NAME); \
        WSF_ERR; \
        if (c.s) wsf_collective(&c, WSC_GATHER_ALL, WSC_SYNC_NONE, WSF_COMM, -1, 0); \
        WSF_REAL(FORTRAN) ARGS; \
        if (*err == MPI_SUCCESS) wsm_agree_on(wsm_of_win(WSF_WIN), WSF_COMM); \
        wss_leave(&c); \
    }

#define WSF_RMA(NAME, FORTRAN, PARAMS, ARGS, KIND, COUNT, TYPE) \
    WSF_CALL(FORTRAN, PARAMS, ARGS, \
             wsm_enter_rma(WSS_OP_##NAME, WSS_CALLER, KIND, COUNT, WSF_TYPE(TYPE), *rank, WSF_WIN), )

#define WSF_NAME(N) mpi_##N##_
#define WSF_REAL(N) pmpi_##N##_
#include "fortran_calls.h"
#include "fortran_buffers.h"
#undef WSF_NAME
#undef WSF_REAL

#if defined OPEN_MPI
#define WSF_NAME(N) mpi_##N##_f08_
#define WSF_REAL(N) pmpi_##N##_f08_
#include "fortran_calls.h"
#include "fortran_buffers.h"
#elif defined MPICH_VERSION
#define WSF_NAME(N) mpi_##N##_f08_
#define WSF_REAL(N) pmpir_##N##_f08_
#include "fortran_calls.h"
#undef WSF_NAME
#undef WSF_REAL
#define WSF_NAME(N) mpi_##N##_f08ts_
#define WSF_REAL(N) pmpir_##N##_f08ts_
#include "fortran_buffers.h"
#endif
