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

/* wsm_own marks which kind of lock of a rank of a window this process has, 0 for none. It returns the one
 * that it had. */
static int wsm_own(wsm_comm *m, int rank, int kind) {
    int had = 0;
    pthread_mutex_lock(&wsm_mu);
    if (!m->locked && kind) m->locked = (int *)calloc((size_t)m->size, sizeof *m->locked);
    if (m->locked) had = m->locked[rank], m->locked[rank] = kind;
    pthread_mutex_unlock(&wsm_mu);
    return had;
}

/* The highest bit of a lock's number tells that it is shared with others that do the same. */
#define WSM_SHARED ((uint64_t)1 << 63)

/* wsm_lock is the number of the lock of a rank of a window: the same on all ranks. */
static uint64_t wsm_lock(const wsm_comm *m, int rank, int kind) {
    uint64_t number = m->id << 16 | (uint64_t)m->world[rank];
    return kind == MPI_LOCK_SHARED ? number | WSM_SHARED : number & ~WSM_SHARED;
}

static void wsm_locked(const wsc_call *c, int64_t end, wsm_comm *m, int rank, int kind) {
    if (!m || wsm_peer(m, rank) < 0) return;
    wsm_own(m, rank, kind);
    ws_acquired_at(c->s, end, wsm_lock(m, rank, kind));
}

static void wsm_unlocked(const wsc_call *c, wsm_comm *m, int rank) {
    int kind = m && wsm_peer(m, rank) >= 0 ? wsm_own(m, rank, 0) : 0;
    if (kind && c->s) ws_released_at(c->s, c->time, wsm_lock(m, rank, kind));
}

/* If MPI takes a lock after MPI_Win_lock has ended, no wait for it is found. */
WSM_API int MPI_Win_lock(int type, int rank, int assert, MPI_Win win) {
    wsc_call c = WSM_ENTER(MPI_Win_lock);
    int result = PMPI_Win_lock(type, rank, assert, win);
    int64_t end = wss_end(&c);
    if (end && result == MPI_SUCCESS) wsm_locked(&c, end, wsm_of_win(win), rank, type);
    wsc_leave_at(&c, end);
    return result;
}

WSM_API int MPI_Win_unlock(int rank, MPI_Win win) {
    wsc_call c = WSM_ENTER(MPI_Win_unlock);
    wsm_unlocked(&c, wsm_of_win(win), rank);
    int result = PMPI_Win_unlock(rank, win);
    int64_t end = wss_end(&c);
    if (end) wsm_flushed(&c, end, win);
    wsc_leave_at(&c, end);
    return result;
}

/* MPI_Win_lock_all shares the locks of all ranks. */
WSM_API int MPI_Win_lock_all(int assert, MPI_Win win) {
    wsc_call c = WSM_ENTER(MPI_Win_lock_all);
    int result = PMPI_Win_lock_all(assert, win);
    int64_t end = wss_end(&c);
    wsm_comm *m = end && result == MPI_SUCCESS ? wsm_of_win(win) : 0;
    for (int i = 0; m && i < m->size; i++) wsm_locked(&c, end, m, i, MPI_LOCK_SHARED);
    wsc_leave_at(&c, end);
    return result;
}

WSM_API int MPI_Win_unlock_all(MPI_Win win) {
    wsc_call c = WSM_ENTER(MPI_Win_unlock_all);
    wsm_comm *m = wsm_of_win(win);
    for (int i = 0; m && i < m->size; i++) wsm_unlocked(&c, m, i);
    int result = PMPI_Win_unlock_all(win);
    int64_t end = wss_end(&c);
    if (end) wsm_flushed(&c, end, win);
    wsc_leave_at(&c, end);
    return result;
}

WSM_OF_WIN(MPI_Win_flush, (int rank, MPI_Win win), (rank, win), 1)
WSM_OF_WIN(MPI_Win_flush_all, (MPI_Win win), (win), 1)
WSM_OF_WIN(MPI_Win_flush_local, (int rank, MPI_Win win), (rank, win), 0)
WSM_OF_WIN(MPI_Win_flush_local_all, (MPI_Win win), (win), 0)
/* Post, start, complete and wait: what they tell each other is recorded as signals, see WSM_POST. */

/* wsm_begin_epoch notes the ranks of a group. */
static void wsm_begin_epoch(wsm_epoch *e, MPI_Group group, int64_t time) {
    int n = 0;
    PMPI_Group_size(group, &n);
    size_t size = (size_t)(n > 0 ? n : 1) * sizeof(int);
    int *ranks = (int *)malloc(size), *world = (int *)malloc(size);
    free(e->world);
    e->n = 0, e->world = world, e->time = time;
    if (ranks && world && n > 0) {
        for (int i = 0; i < n; i++) ranks[i] = i;
        PMPI_Group_translate_ranks(group, n, ranks, wsm_everybody, world);
        e->n = n;
    }
    free(ranks);
}

/* wsm_signal records that the call just entered tells the ranks of an epoch something. */
static void wsm_signal(const wsc_call *c, const wsm_epoch *e, int what, uint64_t id) {
    for (int i = 0; i < e->n; i++)
        if (e->world[i] >= 0 && e->world[i] < wss_pes)
            ws_sent_at(c->s, c->time, e->world[i], 0, what, id, 0);
}

/* wsm_signalled records that the ranks of an epoch have told this rank something, by the time end, and ends
 * the epoch. */
static void wsm_signalled(const wsc_call *c, int64_t end, wsm_epoch *e, int what, uint64_t id) {
    for (int i = 0; i < e->n; i++)
        if (end && e->world[i] >= 0 && e->world[i] < wss_pes)
            ws_received_at(c->s, end, e->world[i], 0, what, id, wsm_number(&wsm_receives), end - e->time);
    e->n = 0;
}

WSM_API int MPI_Win_post(MPI_Group group, int assert, MPI_Win win) {
    wsc_call c = WSM_ENTER(MPI_Win_post);
    wsm_comm *m = c.s ? wsm_of_win(win) : 0;
    if (m) {
        wsm_begin_epoch(&m->exposed, group, c.time);
        wsm_signal(&c, &m->exposed, WSM_POST, m->id);
    }
    int result = PMPI_Win_post(group, assert, win);
    wss_leave(&c);
    return result;
}

WSM_API int MPI_Win_start(MPI_Group group, int assert, MPI_Win win) {
    wsc_call c = WSM_ENTER(MPI_Win_start);
    wsm_comm *m = c.s ? wsm_of_win(win) : 0;
    if (m) wsm_begin_epoch(&m->accessed, group, c.time);
    int result = PMPI_Win_start(group, assert, win);
    wss_leave(&c);
    return result;
}

WSM_API int MPI_Win_complete(MPI_Win win) {
    wsc_call c = WSM_ENTER(MPI_Win_complete);
    wsm_comm *m = wsm_of_win(win);
    if (m && c.s) wsm_signal(&c, &m->accessed, WSM_COMPLETE, m->id);
    int result = PMPI_Win_complete(win);
    int64_t end = wss_end(&c);
    if (m) wsm_signalled(&c, end, &m->accessed, WSM_POST, m->id);
    if (end) wsm_flushed(&c, end, win);
    wsc_leave_at(&c, end);
    return result;
}

WSM_API int MPI_Win_wait(MPI_Win win) {
    wsc_call c = WSM_ENTER(MPI_Win_wait);
    int result = PMPI_Win_wait(win);
    int64_t end = wss_end(&c);
    wsm_comm *m = wsm_of_win(win);
    if (m) wsm_signalled(&c, end, &m->exposed, WSM_COMPLETE, m->id);
    wsc_leave_at(&c, end);
    return result;
}

WSM_API int MPI_Win_test(MPI_Win win, int *flag) {
    wsc_call c = wss_enter_poll(WSS_OP_MPI_Win_test, WSM_CALLER, flag);
    int result = PMPI_Win_test(win, flag);
    int64_t end = wss_end(&c);
    wsm_comm *m = wsm_of_win(win);
    if (m && result == MPI_SUCCESS && *flag) wsm_signalled(&c, end, &m->exposed, WSM_COMPLETE, m->id);
    wss_leave_poll(&c, WSS_OP_MPI_Win_test, WSM_CALLER, flag, result != MPI_SUCCESS || *flag, end);
    return result;
}

WSM_API int MPI_Win_fence(int assert, MPI_Win win) {
    wsc_call c = WSM_ENTER(MPI_Win_fence);
    if (c.s) wsm_collective_of(&c, WSC_BARRIER, WSC_SYNC_NONE, wsm_of_win(win), -1, 0, 0);
    int result = PMPI_Win_fence(assert, win);
    int64_t end = wss_end(&c);
    if (end) wsm_flushed(&c, end, win);
    wsc_leave_at(&c, end);
    return result;
}

WSM_API int MPI_Win_free(MPI_Win *win) {
    wsc_call c = WSM_ENTER(MPI_Win_free);
    if (c.s) wsm_collective_of(&c, WSC_BARRIER, WSC_SYNC_NONE, wsm_of_win(*win), -1, 0, 0);
    int result = PMPI_Win_free(win);
    wss_leave(&c);
    return result;
}

#define WSM_MAKES_WIN(NAME, PARAMS, ARGS) \
    WSM_API int NAME PARAMS { \
        wsc_call c = WSM_ENTER(NAME); \
        if (c.s) wsm_collective(&c, WSC_GATHER_ALL, comm, -1, 0, 0); \
        int result = P##NAME ARGS; \
        if (result == MPI_SUCCESS) wsm_agree_on(wsm_of_win(*win), comm); \
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
WSM_MAKES_WIN(MPI_Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win))
