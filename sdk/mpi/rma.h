/* rma.h wraps one-sided communication. Part of mpi.c. A transfer is complete when its window is flushed,
 * unlocked or fenced. */

/* wsm_enter_rma begins a call that moves data to or from a rank of a window; kind is that of the transfer. */
enum { WSM_PUT, WSM_GET, WSM_ATOMIC };

static WSS_APART wsc_call wsm_enter_rma(int op, const void *caller, int kind, int64_t count,
    MPI_Datatype type,
                                        int rank, MPI_Win win) {
    wsc_call c = wss_enter_here(op, caller);
    if (!c.s) return c;
    wsm_comm *m = wsm_of_win(win);
    int peer = wsm_peer(m, rank);
    if (peer < 0) return c;
    if (kind == WSM_ATOMIC) {
        ws_remote_atomic_at(c.s, c.time, peer, wsm_bytes(count, type));
        return c;
    }
    uint64_t number = wsm_number(&wsm_transfers);
    pthread_mutex_lock(&wsm_mu);
    if (!m->first) m->first = number;
    m->last = number;
    pthread_mutex_unlock(&wsm_mu);
    if (kind == WSM_PUT) ws_put_at(c.s, c.time, peer, wsm_bytes(count, type), number);
    else ws_get_at(c.s, c.time, peer, wsm_bytes(count, type), number);
    return c;
}

/* wsm_flushed records that the transfers of a window are complete. Numbers between them may be those of
 * others, which are complete later: telling so too early is better than never. */
static void wsm_flushed(const wsc_call *c, int64_t end, MPI_Win win) {
    wsm_comm *m = wsm_of_win(win);
    if (!m) return;
    pthread_mutex_lock(&wsm_mu);
    uint64_t first = m->first, last = m->last;
    m->first = 0;
    pthread_mutex_unlock(&wsm_mu);
    for (uint64_t n = first; first && n <= last; n++) ws_completed_at(c->s, end, n);
}

#define WSM_RMA(NAME, PARAMS, ARGS, KIND, COUNT, TYPE) \
    WSM_API int NAME PARAMS { \
        wsc_call c = wsm_enter_rma(WSS_OP_##NAME, WSM_CALLER, KIND, COUNT, TYPE, rank, win); \
        int result = P##NAME ARGS; \
        wss_leave(&c); \
        return result; \
    }

WSM_RMA(MPI_Put, (const void *out, int outs, MPI_Datatype outtype, int rank, MPI_Aint place, int count,
        MPI_Datatype type, MPI_Win win), (out, outs, outtype, rank, place, count, type, win), WSM_PUT, count,
            type)
WSM_RMA(MPI_Get, (void *in, int ins, MPI_Datatype intype, int rank, MPI_Aint place, int count,
        MPI_Datatype type, MPI_Win win), (in, ins, intype, rank, place, count, type, win), WSM_GET, count,
            type)
WSM_RMA(MPI_Accumulate, (const void *out, int outs, MPI_Datatype outtype, int rank, MPI_Aint place, int count,
        MPI_Datatype type, MPI_Op op, MPI_Win win), (out, outs, outtype, rank, place, count, type, op, win),
        WSM_PUT, count, type)
WSM_RMA(MPI_Get_accumulate, (const void *out, int outs, MPI_Datatype outtype, void *in, int ins,
        MPI_Datatype intype, int rank, MPI_Aint place, int count, MPI_Datatype type, MPI_Op op, MPI_Win win),
        (out, outs, outtype, in, ins, intype, rank, place, count, type, op, win), WSM_GET, count, type)
WSM_RMA(MPI_Fetch_and_op, (const void *out, void *in, MPI_Datatype type, int rank, MPI_Aint place, MPI_Op op,
        MPI_Win win), (out, in, type, rank, place, op, win), WSM_ATOMIC, 1, type)
WSM_RMA(MPI_Compare_and_swap, (const void *out, const void *old, void *in, MPI_Datatype type, int rank,
        MPI_Aint place, MPI_Win win), (out, old, in, type, rank, place, win), WSM_ATOMIC, 1, type)

/* FLUSHES: the transfers are complete when it returns. */
#define WSM_OF_WIN(NAME, PARAMS, ARGS, FLUSHES) \
    WSM_API int NAME PARAMS { \
        wsc_call c = WSM_ENTER(NAME); \
        int result = P##NAME ARGS; \
        int64_t end = wss_end(&c); \
        if (end && FLUSHES) wsm_flushed(&c, end, win); \
        wsc_leave_at(&c, end); \
        return result; \
    }

WSM_OF_WIN(MPI_Win_lock, (int type, int rank, int assert, MPI_Win win), (type, rank, assert, win), 0)
WSM_OF_WIN(MPI_Win_unlock, (int rank, MPI_Win win), (rank, win), 1)
WSM_OF_WIN(MPI_Win_lock_all, (int assert, MPI_Win win), (assert, win), 0)
WSM_OF_WIN(MPI_Win_unlock_all, (MPI_Win win), (win), 1)
WSM_OF_WIN(MPI_Win_flush, (int rank, MPI_Win win), (rank, win), 1)
WSM_OF_WIN(MPI_Win_flush_all, (MPI_Win win), (win), 1)
WSM_OF_WIN(MPI_Win_flush_local, (int rank, MPI_Win win), (rank, win), 0)
WSM_OF_WIN(MPI_Win_flush_local_all, (MPI_Win win), (win), 0)
WSM_OF_WIN(MPI_Win_post, (MPI_Group group, int assert, MPI_Win win), (group, assert, win), 0)
WSM_OF_WIN(MPI_Win_start, (MPI_Group group, int assert, MPI_Win win), (group, assert, win), 0)
WSM_OF_WIN(MPI_Win_complete, (MPI_Win win), (win), 1)
WSM_OF_WIN(MPI_Win_wait, (MPI_Win win), (win), 0)

WSM_API int MPI_Win_fence(int assert, MPI_Win win) {
    wsc_call c = WSM_ENTER(MPI_Win_fence);
    if (c.s) wsm_collective_of(&c, WSC_BARRIER, wsm_of_win(win), -1, 0, 0);
    int result = PMPI_Win_fence(assert, win);
    int64_t end = wss_end(&c);
    if (end) wsm_flushed(&c, end, win);
    wsc_leave_at(&c, end);
    return result;
}

WSM_API int MPI_Win_free(MPI_Win *win) {
    wsc_call c = WSM_ENTER(MPI_Win_free);
    if (c.s) wsm_collective_of(&c, WSC_BARRIER, wsm_of_win(*win), -1, 0, 0);
    int result = PMPI_Win_free(win);
    wss_leave(&c);
    return result;
}

#define WSM_MAKES_WIN(NAME, PARAMS, ARGS) \
    WSM_API int NAME PARAMS { \
        wsc_call c = WSM_ENTER(NAME); \
        if (c.s) wsm_collective(&c, WSC_GATHER_ALL, comm, -1, 0, 0); \
        int result = P##NAME ARGS; \
        wss_leave(&c); \
        return result; \
    }

WSM_MAKES_WIN(MPI_Win_create, (void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm,
    MPI_Win *win),
              (base, size, unit, info, comm, win))
WSM_MAKES_WIN(MPI_Win_allocate, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
              MPI_Win *win), (size, unit, info, comm, base, win))
WSM_MAKES_WIN(MPI_Win_allocate_shared, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
              MPI_Win *win), (size, unit, info, comm, base, win))
