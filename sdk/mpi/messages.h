/* messages.h wraps point-to-point communication. Part of mpi.c. */

/* wsm_enter_send begins a call that sends a message; number is that of a non-blocking transfer, or 0. */
static WSS_APART wsc_call wsm_enter_send(int op, const void *caller, int64_t count, MPI_Datatype type, int to,
                                         int tag, MPI_Comm comm, uint64_t number) {
    wsc_call c = wss_enter_here(op, caller);
    if (!c.s) return c;
    wsm_comm *m = wsm_of(comm);
    int peer = wsm_peer(m, to);
    if (peer >= 0) ws_sent_at(c.s, c.time, peer, wsm_bytes(count, type), tag, m->id, number);
    return c;
}

/* wsm_arrived records that a message has been received, at the time end, by a receive posted at the time
 * posted. */
static void wsm_arrived(const wsc_call *c, int64_t end, const wsm_comm *m, const MPI_Status *status,
                        uint64_t number, int64_t posted) {
    MPI_Count bytes = 0;
    int peer = wsm_peer(m, status->MPI_SOURCE);
    if (peer < 0) return;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    ws_received_at(c->s, end, peer, bytes > 0 ? (int64_t)bytes : 0, status->MPI_TAG, m->id, number,
                   posted && posted < end ? end - posted : 0);
}

#define WSM_SEND(NAME) \
    WSM_API int NAME(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) { \
        wsc_call c = wsm_enter_send(WSS_OP_##NAME, WSM_CALLER, count, type, to, tag, comm, 0); \
        int result = P##NAME(buf, count, type, to, tag, comm); \
        wss_leave(&c); \
        return result; \
    }

WSM_SEND(MPI_Send)
WSM_SEND(MPI_Bsend)
WSM_SEND(MPI_Ssend)
WSM_SEND(MPI_Rsend)

WSM_API int MPI_Recv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Status *status) {
    MPI_Status own;
    wsc_call c = WSM_ENTER(MPI_Recv);
    uint64_t number = wsm_number(&wsm_receives);
    if (status == MPI_STATUS_IGNORE) status = &own;
    int result = PMPI_Recv(buf, count, type, from, tag, comm, status);
    int64_t end = wss_end(&c);
    if (end && result == MPI_SUCCESS) wsm_arrived(&c, end, wsm_of(comm), status, number, c.time);
    wsc_leave_at(&c, end);
    return result;
}

/* What follows a call that sends one message and receives another. */
#define WSM_SENDRECV_END \
    int64_t end = wss_end(&c); \
    if (end && result == MPI_SUCCESS) wsm_arrived(&c, end, wsm_of(comm), status, number, c.time); \
    wsc_leave_at(&c, end); \
    return result

WSM_API int MPI_Sendrecv(const void *out, int outs, MPI_Datatype outtype, int to, int outtag, void *in,
    int ins,
                         MPI_Datatype intype, int from, int intag, MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    uint64_t number = wsm_number(&wsm_receives);
    wsc_call c = wsm_enter_send(WSS_OP_MPI_Sendrecv, WSM_CALLER, outs, outtype, to, outtag, comm, 0);
    if (status == MPI_STATUS_IGNORE) status = &own;
    int result = PMPI_Sendrecv(out, outs, outtype, to, outtag, in, ins, intype, from, intag, comm, status);
    WSM_SENDRECV_END;
}

WSM_API int MPI_Sendrecv_replace(void *buf, int count, MPI_Datatype type, int to, int outtag, int from,
    int intag,
                                 MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    uint64_t number = wsm_number(&wsm_receives);
    wsc_call c = wsm_enter_send(WSS_OP_MPI_Sendrecv_replace, WSM_CALLER, count, type, to, outtag, comm, 0);
    if (status == MPI_STATUS_IGNORE) status = &own;
    int result = PMPI_Sendrecv_replace(buf, count, type, to, outtag, from, intag, comm, status);
    WSM_SENDRECV_END;
}

/* ---- Probes ---------------------------------------------------------------------------------------- */

WSM_PLAIN(MPI_Probe, (int from, int tag, MPI_Comm comm, MPI_Status *status), (from, tag, comm, status))

WSM_API int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    wsc_call c = wss_enter_poll(WSS_OP_MPI_Iprobe, WSM_CALLER, flag);
    int result = PMPI_Iprobe(from, tag, comm, flag, status);
    wss_leave_poll(&c, WSS_OP_MPI_Iprobe, WSM_CALLER, flag, result != MPI_SUCCESS || *flag, wss_end(&c));
    return result;
}

static uintptr_t wsm_message_handle(MPI_Message message) {
    uintptr_t h = 0;
    memcpy(&h, &message, sizeof message < sizeof h ? sizeof message : sizeof h);
    return ~h; /* apart from requests */
}

/* wsm_probed: the message is taken by this call, and received later. */
static void wsm_probed(MPI_Comm comm, MPI_Message message, int64_t time) {
    wsm_request r = {0, WSM_RECEIVES, 0, 1, wsm_number(&wsm_receives), time, 0, 0, 0, wsm_of(comm), 0};
    if (message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC)
        wsm_remember(wsm_message_handle(message), r);
}

WSM_API int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    wsc_call c = WSM_ENTER(MPI_Mprobe);
    int result = PMPI_Mprobe(from, tag, comm, message, status);
    if (result == MPI_SUCCESS) wsm_probed(comm, *message, c.time);
    wss_leave(&c);
    return result;
}

WSM_API int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
    MPI_Status *status) {
    wsc_call c = wss_enter_poll(WSS_OP_MPI_Improbe, WSM_CALLER, flag);
    int result = PMPI_Improbe(from, tag, comm, flag, message, status);
    if (result == MPI_SUCCESS && *flag) wsm_probed(comm, *message, c.time);
    wss_leave_poll(&c, WSS_OP_MPI_Improbe, WSM_CALLER, flag, result != MPI_SUCCESS || *flag, wss_end(&c));
    return result;
}

WSM_API int MPI_Mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
    MPI_Status own;
    wsm_request r;
    wsc_call c = WSM_ENTER(MPI_Mrecv);
    int known = wsm_take(wsm_message_handle(*message), 1, &r);
    if (status == MPI_STATUS_IGNORE) status = &own;
    int result = PMPI_Mrecv(buf, count, type, message, status);
    int64_t end = wss_end(&c);
    if (end && known && result == MPI_SUCCESS) wsm_arrived(&c, end, r.comm, status, r.number, r.posted);
    wsc_leave_at(&c, end);
    if (known) wsm_release(r.comm);
    return result;
}

/* ---- Non-blocking and persistent ------------------------------------------------------------------- */

#define WSM_ISEND(NAME) \
    WSM_API int NAME(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, \
                     MPI_Request *request) { \
        uint64_t number = wsm_number(&wsm_transfers); \
        wsc_call c = wsm_enter_send(WSS_OP_##NAME, WSM_CALLER, count, type, to, tag, comm, number); \
        int result = P##NAME(buf, count, type, to, tag, comm, request); \
        wsm_request r = {0, WSM_SENDS, 0, 1, number, c.time, 0, to, tag, 0, 0}; \
        if (result == MPI_SUCCESS && to != MPI_PROC_NULL) wsm_remember(wsm_handle(*request), r); \
        wss_leave(&c); \
        return result; \
    }

WSM_ISEND(MPI_Isend)
WSM_ISEND(MPI_Ibsend)
WSM_ISEND(MPI_Issend)
WSM_ISEND(MPI_Irsend)

WSM_API int MPI_Irecv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                      MPI_Request *request) {
    wsc_call c = WSM_ENTER(MPI_Irecv);
    wsm_request r = {0, WSM_RECEIVES, 0, 1, wsm_number(&wsm_receives), c.time, 0, from, tag, wsm_of(comm), 0};
    int result = PMPI_Irecv(buf, count, type, from, tag, comm, request);
    if (result == MPI_SUCCESS && from != MPI_PROC_NULL) wsm_remember(wsm_handle(*request), r);
    wss_leave(&c);
    return result;
}

WSM_API int MPI_Imrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request) {
    wsm_request r;
    wsc_call c = WSM_ENTER(MPI_Imrecv);
    int known = wsm_take(wsm_message_handle(*message), 1, &r);
    int result = PMPI_Imrecv(buf, count, type, message, request);
    if (known && result == MPI_SUCCESS) wsm_remember(wsm_handle(*request), r);
    wss_leave(&c);
    if (known) wsm_release(r.comm);
    return result;
}

#define WSM_SEND_INIT(NAME) \
    WSM_API int NAME(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, \
                     MPI_Request *request) { \
        wsc_call c = WSM_ENTER(NAME); \
        wsm_comm *m = wsm_of(comm); \
        int result = P##NAME(buf, count, type, to, tag, comm, request); \
        wsm_request r = {0, WSM_SENDS, 1, 0, 0, 0, wsm_bytes(count, type), wsm_peer(m, to), tag, m, 0}; \
        if (result == MPI_SUCCESS && to != MPI_PROC_NULL) wsm_remember(wsm_handle(*request), r); \
        wss_leave(&c); \
        return result; \
    }

WSM_SEND_INIT(MPI_Send_init)
WSM_SEND_INIT(MPI_Bsend_init)
WSM_SEND_INIT(MPI_Ssend_init)
WSM_SEND_INIT(MPI_Rsend_init)

WSM_API int MPI_Recv_init(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                          MPI_Request *request) {
    wsc_call c = WSM_ENTER(MPI_Recv_init);
    wsm_request r = {0, WSM_RECEIVES, 1, 0, 0, 0, 0, from, tag, wsm_of(comm), 0};
    int result = PMPI_Recv_init(buf, count, type, from, tag, comm, request);
    if (result == MPI_SUCCESS && from != MPI_PROC_NULL) wsm_remember(wsm_handle(*request), r);
    wss_leave(&c);
    return result;
}

#if MPI_VERSION >= 4

/* Partitioned messages: their parts become ready one by one. They are sent when they are started, whole. */
WSM_API int MPI_Psend_init(const void *buf, int parts, MPI_Count count, MPI_Datatype type, int to, int tag,
                           MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    wsc_call c = WSM_ENTER(MPI_Psend_init);
    wsm_comm *m = wsm_of(comm);
    int result = PMPI_Psend_init(buf, parts, count, type, to, tag, comm, info, request);
    int64_t bytes = wsm_bytes((int64_t)count * parts, type);
    wsm_request r = {0, WSM_SENDS, 1, 0, 0, 0, bytes, wsm_peer(m, to), tag, m, 0};
    if (result == MPI_SUCCESS && to != MPI_PROC_NULL) wsm_remember(wsm_handle(*request), r);
    wss_leave(&c);
    return result;
}

WSM_API int MPI_Precv_init(void *buf, int parts, MPI_Count count, MPI_Datatype type, int from, int tag,
                           MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    wsc_call c = WSM_ENTER(MPI_Precv_init);
    wsm_comm *m = wsm_of(comm);
    int result = PMPI_Precv_init(buf, parts, count, type, from, tag, comm, info, request);
    int64_t bytes = wsm_bytes((int64_t)count * parts, type);
    wsm_request r = {0, WSM_PARTS, 1, 0, 0, 0, bytes, wsm_peer(m, from), tag, m, 0};
    if (result == MPI_SUCCESS && from != MPI_PROC_NULL) wsm_remember(wsm_handle(*request), r);
    wss_leave(&c);
    return result;
}

WSM_PLAIN(MPI_Pready, (int part, MPI_Request request), (part, request))
WSM_PLAIN(MPI_Pready_range, (int first, int last, MPI_Request request), (first, last, request))

WSM_API int MPI_Parrived(MPI_Request request, int part, int *flag) {
    wsc_call c = wss_enter_poll(WSS_OP_MPI_Parrived, WSM_CALLER, flag);
    int result = PMPI_Parrived(request, part, flag);
    wss_leave_poll(&c, WSS_OP_MPI_Parrived, WSM_CALLER, flag, result != MPI_SUCCESS || *flag, wss_end(&c));
    return result;
}

#endif

/* wsm_start_one records that a persistent request is started. */
static void wsm_start_one(const wsc_call *c, uintptr_t handle) {
    wsm_request r;
    if (wsm_again(handle, c->time, &r) && c->s && r.kind == WSM_SENDS && r.peer >= 0)
        ws_sent_at(c->s, c->time, r.peer, r.bytes, r.tag, r.comm->id, r.number);
}

WSM_API int MPI_Start(MPI_Request *request) {
    wsc_call c = WSM_ENTER(MPI_Start);
    wsm_start_one(&c, wsm_handle(*request));
    int result = PMPI_Start(request);
    wss_leave(&c);
    return result;
}

WSM_API int MPI_Startall(int n, MPI_Request requests[]) {
    wsc_call c = WSM_ENTER(MPI_Startall);
    for (int i = 0; i < n; i++) wsm_start_one(&c, wsm_handle(requests[i]));
    int result = PMPI_Startall(n, requests);
    wss_leave(&c);
    return result;
}

static void wsm_near_ended(const wsc_call *c, int64_t end, const wsm_comm *m, uint64_t number, int64_t since,
                           int64_t bytes);

/* wsm_complete records, at the time end, what is complete with a request. end 0: nothing is recorded. */
static void wsm_complete(const wsc_call *c, int64_t end, uintptr_t handle, const MPI_Status *status) {
    wsm_request r;
    int cancelled = 0;
    if (!wsm_take(handle, 0, &r)) return;
    if (end && r.kind == WSM_SENDS) {
        ws_completed_at(c->s, end, r.number);
    } else if (end && r.kind == WSM_RECEIVES) {
        PMPI_Test_cancelled(status, &cancelled);
        if (!cancelled) wsm_arrived(c, end, r.comm, status, r.number, r.posted);
    } else if (end && r.kind == WSM_PARTS && r.peer >= 0) { /* its status says less than it does */
        ws_received_at(c->s, end, r.peer, r.bytes, r.tag, r.comm->id, r.number,
                       r.posted && r.posted < end ? end - r.posted : 0);
    } else if (end && r.kind == WSM_COLLECTIVES && r.posted < end) {
        ws_received_at(c->s, end, wss_me, 0, WSM_BEGUN, r.comm->id, r.number, end - r.posted);
    } else if (r.kind == WSM_NEIGHBOURHOODS) {
        wsm_near_ended(c, end, r.comm, r.number, r.posted, r.bytes);
    }
    wsm_release(r.comm);
}

WSM_API int MPI_Request_free(MPI_Request *request) {
    wsm_request r;
    wsc_call c = WSM_ENTER(MPI_Request_free);
    if (wsm_take(wsm_handle(*request), 1, &r)) wsm_release(r.comm);
    int result = PMPI_Request_free(request);
    wss_leave(&c);
    return result;
}

WSM_API int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    MPI_Status own;
    uintptr_t handle = wsm_handle(*request);
    wsc_call c = WSM_ENTER(MPI_Wait);
    if (status == MPI_STATUS_IGNORE) status = &own;
    int result = PMPI_Wait(request, status);
    int64_t end = wss_end(&c);
    if (result == MPI_SUCCESS) wsm_complete(&c, end, handle, status);
    wsc_leave_at(&c, end);
    return result;
}

WSM_API int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    MPI_Status own;
    uintptr_t handle = wsm_handle(*request);
    wsc_call c = wss_enter_poll(WSS_OP_MPI_Test, WSM_CALLER, request);
    if (status == MPI_STATUS_IGNORE) status = &own;
    int result = PMPI_Test(request, flag, status);
    int64_t end = wss_end(&c);
    int done = result != MPI_SUCCESS || *flag;
    if (done && result == MPI_SUCCESS) wsm_complete(&c, end, handle, status);
    wss_leave_poll(&c, WSS_OP_MPI_Test, WSM_CALLER, request, done, end);
    return result;
}

/* What a call with several requests needs: their handles before it, and a place for statuses. */
enum { WSM_FEW = 32 };
typedef struct wsm_several {
    uintptr_t few[WSM_FEW], *handles; /* null: no memory, nothing is recorded of the requests */
    MPI_Status few_statuses[WSM_FEW], *statuses;
} wsm_several;

static void wsm_before(wsm_several *w, int n, const MPI_Request requests[], MPI_Status statuses[]) {
    size_t count = (size_t)(n > 0 ? n : 0);
    w->handles = w->few;
    w->statuses = statuses;
    if (n > WSM_FEW) w->handles = (uintptr_t *)malloc(count * sizeof *w->handles);
    if (statuses == MPI_STATUSES_IGNORE) {
        w->statuses = w->few_statuses;
        if (n > WSM_FEW && !(w->statuses = (MPI_Status *)malloc(count * sizeof *w->statuses))) {
            if (w->handles) free(w->handles);
            w->handles = 0;
            w->statuses = MPI_STATUSES_IGNORE;
        }
    }
    for (size_t i = 0; w->handles && i < count; i++) w->handles[i] = wsm_handle(requests[i]);
}

static void wsm_after(wsm_several *w, MPI_Status statuses[]) {
    if (w->handles && w->handles != w->few) free(w->handles);
    if (w->statuses != statuses && w->statuses != w->few_statuses) free(w->statuses);
}

/* wsm_complete_all is wsm_complete for the requests with these places, or for all where there are none. */
static void wsm_complete_all(const wsc_call *c, int64_t end, const wsm_several *w, int result, int n,
                             const int places[]) {
    if (!w->handles || (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS)) return;
    for (int i = 0; i < n; i++)
        if (result == MPI_SUCCESS || w->statuses[i].MPI_ERROR == MPI_SUCCESS)
            wsm_complete(c, end, w->handles[places ? places[i] : i], &w->statuses[i]);
}

WSM_API int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]) {
    wsm_several w;
    wsc_call c = WSM_ENTER(MPI_Waitall);
    wsm_before(&w, n, requests, statuses);
    int result = PMPI_Waitall(n, requests, w.statuses);
    int64_t end = wss_end(&c);
    wsm_complete_all(&c, end, &w, result, n, 0);
    wsc_leave_at(&c, end);
    wsm_after(&w, statuses);
    return result;
}

WSM_API int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    wsm_several w;
    wsc_call c = wss_enter_poll(WSS_OP_MPI_Testall, WSM_CALLER, requests);
    wsm_before(&w, n, requests, statuses);
    int result = PMPI_Testall(n, requests, flag, w.statuses);
    int64_t end = wss_end(&c);
    if (*flag) wsm_complete_all(&c, end, &w, result, n, 0);
    wss_leave_poll(&c, WSS_OP_MPI_Testall, WSM_CALLER, requests, result != MPI_SUCCESS || *flag, end);
    wsm_after(&w, statuses);
    return result;
}

WSM_API int MPI_Waitany(int n, MPI_Request requests[], int *place, MPI_Status *status) {
    wsm_several w;
    MPI_Status own;
    wsc_call c = WSM_ENTER(MPI_Waitany);
    if (status == MPI_STATUS_IGNORE) status = &own;
    wsm_before(&w, n, requests, status);
    int result = PMPI_Waitany(n, requests, place, status);
    int64_t end = wss_end(&c);
    if (result == MPI_SUCCESS && *place != MPI_UNDEFINED && w.handles)
        wsm_complete(&c, end, w.handles[*place], status);
    wsc_leave_at(&c, end);
    wsm_after(&w, status);
    return result;
}

WSM_API int MPI_Testany(int n, MPI_Request requests[], int *place, int *flag, MPI_Status *status) {
    wsm_several w;
    MPI_Status own;
    wsc_call c = wss_enter_poll(WSS_OP_MPI_Testany, WSM_CALLER, requests);
    if (status == MPI_STATUS_IGNORE) status = &own;
    wsm_before(&w, n, requests, status);
    int result = PMPI_Testany(n, requests, place, flag, status);
    int64_t end = wss_end(&c);
    if (result == MPI_SUCCESS && *flag && *place != MPI_UNDEFINED && w.handles)
        wsm_complete(&c, end, w.handles[*place], status);
    wss_leave_poll(&c, WSS_OP_MPI_Testany, WSM_CALLER, requests, result != MPI_SUCCESS || *flag, end);
    wsm_after(&w, status);
    return result;
}

WSM_API int MPI_Waitsome(int n, MPI_Request requests[], int *count, int places[], MPI_Status statuses[]) {
    wsm_several w;
    wsc_call c = WSM_ENTER(MPI_Waitsome);
    wsm_before(&w, n, requests, statuses);
    int result = PMPI_Waitsome(n, requests, count, places, w.statuses);
    int64_t end = wss_end(&c);
    if (*count != MPI_UNDEFINED) wsm_complete_all(&c, end, &w, result, *count, places);
    wsc_leave_at(&c, end);
    wsm_after(&w, statuses);
    return result;
}

WSM_API int MPI_Testsome(int n, MPI_Request requests[], int *count, int places[], MPI_Status statuses[]) {
    wsm_several w;
    wsc_call c = wss_enter_poll(WSS_OP_MPI_Testsome, WSM_CALLER, requests);
    wsm_before(&w, n, requests, statuses);
    int result = PMPI_Testsome(n, requests, count, places, w.statuses);
    int64_t end = wss_end(&c);
    int done = result != MPI_SUCCESS || *count != 0;
    if (*count != MPI_UNDEFINED) wsm_complete_all(&c, end, &w, result, *count, places);
    wss_leave_poll(&c, WSS_OP_MPI_Testsome, WSM_CALLER, requests, done, end);
    wsm_after(&w, statuses);
    return result;
}
