/* fortran.h wraps the most used functions of MPI's Fortran interfaces mpif.h and "use mpi", which do not call
 * those of C. Part of mpi.c. Names are those of gfortran, and of most other compilers on Linux: mpi_send_.
 *
 * Each calls the original by its second name, so that special addresses (MPI_IN_PLACE, MPI_BOTTOM) need no
 * translation; what it calls in turn is inside of it and left out. "use mpi_f08" has other names: its calls
 * are not recorded. */

#define WSF_API WSC_API WSS_APART
#define WSF_COMM MPI_Comm_f2c(*comm)
#define WSF_WEAK __attribute__((weak))

typedef MPI_Fint wsf;

enum { WSF_STATUS = 32 }; /* integers, at least, in a status of Fortran's */

/* wsf_arrived is wsm_arrived for a status of Fortran's. */
static void wsf_arrived(const wsc_call *c, int64_t end, const wsm_comm *m, const wsf *status, uint64_t number,
                        int64_t posted) {
    MPI_Status s;
    memset(&s, 0, sizeof s);
    if (PMPI_Status_f2c(status, &s) == MPI_SUCCESS) wsm_arrived(c, end, m, &s, number, posted);
}

#define WSF_START(NAME, FORTRAN, PARAMS, ARGS) \
    extern void p##FORTRAN PARAMS WSF_WEAK; \
    WSF_API void FORTRAN PARAMS { \
        const void *caller = WSS_CALLER; \
        pthread_once(&wss_once, wss_init_once); \
        int64_t since = ws_now(), cpu = ws_process_cpu(); \
        p##FORTRAN ARGS; \
        if (*err == MPI_SUCCESS && !__atomic_exchange_n(&wsm_begun, 1, __ATOMIC_ACQ_REL)) \
            wsm_started(WSS_OP_##NAME, caller, since, cpu); \
    }

WSF_START(MPI_Init, mpi_init_, (wsf *err), (err))
WSF_START(MPI_Init_thread, mpi_init_thread_, (wsf *required, wsf *provided, wsf *err), (required, provided,
    err))

WSF_API void mpi_finalize_(wsf *err) {
    wsm_from = WSS_CALLER;
    *err = MPI_Finalize();
    wsm_from = 0;
}

#define WSF_PLAIN(NAME, FORTRAN, PARAMS, ARGS, BEGUN) \
    extern void p##FORTRAN PARAMS WSF_WEAK; \
    WSF_API void FORTRAN PARAMS { \
        wsc_call c = wss_enter(WSS_OP_##NAME, WSS_CALLER); \
        if (c.s) { BEGUN; } \
        p##FORTRAN ARGS; \
        wss_leave(&c); \
    }

#define WSF_SEND(NAME, FORTRAN) \
    extern void p##FORTRAN(void *, wsf *, wsf *, wsf *, wsf *, wsf *, wsf *) WSF_WEAK; \
    WSF_API void FORTRAN(void *buf, wsf *count, wsf *type, wsf *to, wsf *tag, wsf *comm, wsf *err) { \
        wsc_call c = wsm_enter_send(WSS_OP_##NAME, WSS_CALLER, *count, MPI_Type_f2c(*type), *to, *tag, \
            WSF_COMM, 0); \
        p##FORTRAN(buf, count, type, to, tag, comm, err); \
        wss_leave(&c); \
    }

WSF_SEND(MPI_Send, mpi_send_)
WSF_SEND(MPI_Ssend, mpi_ssend_)
WSF_SEND(MPI_Bsend, mpi_bsend_)
WSF_SEND(MPI_Rsend, mpi_rsend_)

extern void pmpi_recv_(void *, wsf *, wsf *, wsf *, wsf *, wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void mpi_recv_(void *buf, wsf *count, wsf *type, wsf *from, wsf *tag, wsf *comm, wsf *status,
    wsf *err) {
    wsf own[WSF_STATUS];
    wsc_call c = wss_enter(WSS_OP_MPI_Recv, WSS_CALLER);
    uint64_t number = wsm_number(&wsm_receives);
    if (status == MPI_F_STATUS_IGNORE) status = own;
    pmpi_recv_(buf, count, type, from, tag, comm, status, err);
    int64_t end = wss_end(&c);
    if (end && *err == MPI_SUCCESS) wsf_arrived(&c, end, wsm_of(WSF_COMM), status, number, c.time);
    wsc_leave_at(&c, end);
}

extern void pmpi_sendrecv_(void *, wsf *, wsf *, wsf *, wsf *, void *, wsf *, wsf *, wsf *, wsf *, wsf *,
    wsf *,
                           wsf *) WSF_WEAK;
WSF_API void mpi_sendrecv_(void *out, wsf *outs, wsf *outtype, wsf *to, wsf *outtag, void *in, wsf *ins,
                           wsf *intype, wsf *from, wsf *intag, wsf *comm, wsf *status, wsf *err) {
    wsf own[WSF_STATUS];
    uint64_t number = wsm_number(&wsm_receives);
    wsc_call c = wsm_enter_send(WSS_OP_MPI_Sendrecv, WSS_CALLER, *outs, MPI_Type_f2c(*outtype), *to, *outtag,
                                WSF_COMM, 0);
    if (status == MPI_F_STATUS_IGNORE) status = own;
    pmpi_sendrecv_(out, outs, outtype, to, outtag, in, ins, intype, from, intag, comm, status, err);
    int64_t end = wss_end(&c);
    if (end && *err == MPI_SUCCESS) wsf_arrived(&c, end, wsm_of(WSF_COMM), status, number, c.time);
    wsc_leave_at(&c, end);
}

/* Requests are known by their numbers in Fortran: MPI_Request_f2c is not needed, and handles of C are others.
 * */
#define WSF_HANDLE(REQUEST) (~(uintptr_t)0 - (uintptr_t)(REQUEST))

#define WSF_ISEND(NAME, FORTRAN) \
    extern void p##FORTRAN(void *, wsf *, wsf *, wsf *, wsf *, wsf *, wsf *, wsf *) WSF_WEAK; \
    WSF_API void FORTRAN(void *buf, wsf *count, wsf *type, wsf *to, wsf *tag, wsf *comm, wsf *request, \
        wsf *err) { \
        uint64_t number = wsm_number(&wsm_transfers); \
        wsc_call c = wsm_enter_send(WSS_OP_##NAME, WSS_CALLER, *count, MPI_Type_f2c(*type), *to, *tag, \
            WSF_COMM, \
                                    number); \
        p##FORTRAN(buf, count, type, to, tag, comm, request, err); \
        wsm_request r = {0, WSM_SENDS, 0, 1, number, c.time, 0, *to, *tag, 0, 0}; \
        if (*err == MPI_SUCCESS && *to != MPI_PROC_NULL) wsm_remember(WSF_HANDLE(*request), r); \
        wss_leave(&c); \
    }

WSF_ISEND(MPI_Isend, mpi_isend_)
WSF_ISEND(MPI_Issend, mpi_issend_)

extern void pmpi_irecv_(void *, wsf *, wsf *, wsf *, wsf *, wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void mpi_irecv_(void *buf, wsf *count, wsf *type, wsf *from, wsf *tag, wsf *comm, wsf *request,
    wsf *err) {
    wsc_call c = wss_enter(WSS_OP_MPI_Irecv, WSS_CALLER);
    wsm_request r = {0, WSM_RECEIVES, 0, 1, wsm_number(&wsm_receives), c.time, 0, *from, *tag,
        wsm_of(WSF_COMM), 0};
    pmpi_irecv_(buf, count, type, from, tag, comm, request, err);
    if (*err == MPI_SUCCESS && *from != MPI_PROC_NULL) wsm_remember(WSF_HANDLE(*request), r);
    wss_leave(&c);
}

static void wsf_complete(const wsc_call *c, int64_t end, uintptr_t handle, const wsf *status) {
    MPI_Status s;
    memset(&s, 0, sizeof s);
    if (PMPI_Status_f2c(status, &s) == MPI_SUCCESS) wsm_complete(c, end, handle, &s);
}

extern void pmpi_wait_(wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void mpi_wait_(wsf *request, wsf *status, wsf *err) {
    wsf own[WSF_STATUS];
    uintptr_t handle = WSF_HANDLE(*request);
    wsc_call c = wss_enter(WSS_OP_MPI_Wait, WSS_CALLER);
    if (status == MPI_F_STATUS_IGNORE) status = own;
    pmpi_wait_(request, status, err);
    int64_t end = wss_end(&c);
    if (*err == MPI_SUCCESS) wsf_complete(&c, end, handle, status);
    wsc_leave_at(&c, end);
}

extern void pmpi_waitall_(wsf *, wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void mpi_waitall_(wsf *n, wsf *requests, wsf *statuses, wsf *err) {
    const size_t each = sizeof(MPI_Status) / sizeof(wsf), count = *n > 0 ? (size_t)*n : 0;
    wsc_call c = wss_enter(WSS_OP_MPI_Waitall, WSS_CALLER);
    uintptr_t *handles = (uintptr_t *)malloc((count + 1) * sizeof *handles);
    wsf *own = (wsf *)malloc((count + 1) * sizeof(MPI_Status)), *used = statuses;
    for (size_t i = 0; handles && i < count; i++) handles[i] = WSF_HANDLE(requests[i]);
    if (own && (void *)statuses == (void *)MPI_F_STATUSES_IGNORE) used = own;
    pmpi_waitall_(n, requests, used, err);
    int64_t end = wss_end(&c);
    for (size_t i = 0; handles && own && *err == MPI_SUCCESS && i < count; i++)
        wsf_complete(&c, end, handles[i], used + i * each);
    wsc_leave_at(&c, end);
    free(handles);
    free(own);
}

#define WSF_COLLECTIVE(NAME, FORTRAN, PARAMS, ARGS, KIND, ROOT, BYTES) \
    WSF_PLAIN(NAME, FORTRAN, PARAMS, ARGS, wsf_collective(&c, KIND, WSF_COMM, ROOT, BYTES))

/* wsf_collective is wsm_collective, with the bytes that one rank sends to one other. */
static void wsf_collective(const wsc_call *c, int kind, MPI_Comm comm, int root, int64_t bytes) {
    int64_t all = bytes * (wsm_size(comm) - 1), sent = bytes, received = bytes;
    int is = root >= 0 && wsm_is(comm, root);
    if (kind == WSC_BROADCAST || kind == WSC_SCATTER) sent = is ? all : 0, received = is ? 0 : bytes;
    if (kind == WSC_GATHER || kind == WSC_REDUCE) sent = is ? 0 : bytes, received = is ? all : 0;
    if (kind == WSC_GATHER_ALL || kind == WSC_EXCHANGE) sent = received = all;
    wsm_collective(c, kind, comm, root, sent, received);
}

#define WSF_BYTES(COUNT, TYPE) wsm_bytes(*COUNT, MPI_Type_f2c(*TYPE))

WSF_COLLECTIVE(MPI_Barrier, mpi_barrier_, (wsf *comm, wsf *err), (comm, err), WSC_BARRIER, -1, 0)
WSF_COLLECTIVE(MPI_Bcast, mpi_bcast_, (void *buf, wsf *count, wsf *type, wsf *root, wsf *comm, wsf *err),
               (buf, count, type, root, comm, err), WSC_BROADCAST, *root, WSF_BYTES(count, type))
WSF_COLLECTIVE(MPI_Reduce, mpi_reduce_, (void *out, void *in, wsf *count, wsf *type, wsf *op, wsf *root,
               wsf *comm, wsf *err), (out, in, count, type, op, root, comm, err), WSC_REDUCE, *root,
               WSF_BYTES(count, type))
WSF_COLLECTIVE(MPI_Allreduce, mpi_allreduce_, (void *out, void *in, wsf *count, wsf *type, wsf *op, wsf *comm,
               wsf *err), (out, in, count, type, op, comm, err), WSC_ALL_REDUCE, -1, WSF_BYTES(count, type))
WSF_COLLECTIVE(MPI_Scan, mpi_scan_, (void *out, void *in, wsf *count, wsf *type, wsf *op, wsf *comm,
    wsf *err),
               (out, in, count, type, op, comm, err), WSC_PREFIX_REDUCE, 0, WSF_BYTES(count, type))

#define WSF_TWO_BUFFERS \
    (void *out, wsf *outs, wsf *outtype, void *in, wsf *ins, wsf *intype, wsf *comm, wsf *err)
#define WSF_WITH_ROOT \
    (void *out, wsf *outs, wsf *outtype, void *in, wsf *ins, wsf *intype, wsf *root, wsf *comm, wsf *err)

WSF_COLLECTIVE(MPI_Allgather, mpi_allgather_, WSF_TWO_BUFFERS, (out, outs, outtype, in, ins, intype, comm,
    err),
               WSC_GATHER_ALL, -1, WSF_BYTES(ins, intype))
WSF_COLLECTIVE(MPI_Alltoall, mpi_alltoall_, WSF_TWO_BUFFERS, (out, outs, outtype, in, ins, intype, comm, err),
               WSC_EXCHANGE, -1, WSF_BYTES(ins, intype))
WSF_COLLECTIVE(MPI_Gather, mpi_gather_, WSF_WITH_ROOT, (out, outs, outtype, in, ins, intype, root, comm, err),
               WSC_GATHER, *root, wsm_is(WSF_COMM, *root) ? WSF_BYTES(ins, intype) : WSF_BYTES(outs, outtype))
WSF_COLLECTIVE(MPI_Scatter, mpi_scatter_, WSF_WITH_ROOT, (out, outs, outtype, in, ins, intype, root, comm,
    err),
               WSC_SCATTER, *root, wsm_is(WSF_COMM, *root) ? WSF_BYTES(outs, outtype) : WSF_BYTES(ins,
                   intype))

#define WSF_MAKES(NAME, FORTRAN, PARAMS, ARGS) \
    extern void p##FORTRAN PARAMS WSF_WEAK; \
    WSF_API void FORTRAN PARAMS { \
        wsc_call c = wss_enter(WSS_OP_##NAME, WSS_CALLER); \
        if (c.s) wsf_collective(&c, WSC_GATHER_ALL, WSF_COMM, -1, 0); \
        p##FORTRAN ARGS; \
        if (*err == MPI_SUCCESS) wsm_agree(MPI_Comm_f2c(*made)); \
        wss_leave(&c); \
    }

WSF_MAKES(MPI_Comm_dup, mpi_comm_dup_, (wsf *comm, wsf *made, wsf *err), (comm, made, err))
WSF_MAKES(MPI_Comm_split, mpi_comm_split_, (wsf *comm, wsf *colour, wsf *key, wsf *made, wsf *err),
          (comm, colour, key, made, err))
WSF_MAKES(MPI_Cart_create, mpi_cart_create_, (wsf *comm, wsf *n, wsf *sizes, wsf *periods, wsf *reorder,
          wsf *made, wsf *err), (comm, n, sizes, periods, reorder, made, err))
WSF_MAKES(MPI_Cart_sub, mpi_cart_sub_, (wsf *comm, wsf *keep, wsf *made, wsf *err), (comm, keep, made, err))

WSF_API void mpi_abort_(wsf *comm, wsf *code, wsf *err) {
    wsm_from = WSS_CALLER;
    *err = MPI_Abort(WSF_COMM, *code);
    wsm_from = 0;
}
