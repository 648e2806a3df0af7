/* collectives.h wraps collective communication and what makes communicators. Part of mpi.c. */

/* wsm_collective_of records that the call just entered is a collective of a communicator, in the mode
 * WSC_SYNC_NONE or WSC_SYNC_LATER. root is a rank of it, or -1. sent and received are the bytes that this
 * rank sends to others and gets from them. */
static void wsm_collective_of(const wsc_call *c, int kind, int mode, wsm_comm *m, int root, int64_t sent,
                              int64_t received) {
    if (!m || m->inter || m->size < 1) return;
    if (m->size == 1) sent = received = 0;
    wsc_collective(c, kind, mode, m->start, m->stride, (uint64_t)m->size, wsm_peer(m, root), sent, received);
    if (m->stride) return;
    int64_t few[64], *members = few;
    size_t n = (size_t)m->size;
    if (__atomic_load_n(&m->told, __ATOMIC_RELAXED) == (void *)c->t) n = 0;
    if (n > 64 && !(members = (int64_t *)malloc(n * sizeof *members))) return;
    for (size_t i = 0; i < n; i++) members[i] = m->world[i] < 0 ? 65535 : m->world[i];
    ws_group_at(c->s, c->time, m->group, members, n);
    if (members != few) free(members);
    __atomic_store_n(&m->told, (void *)c->t, __ATOMIC_RELAXED);
}

static void wsm_collective(const wsc_call *c, int kind, MPI_Comm comm, int root, int64_t sent,
                           int64_t received) {
    wsm_collective_of(c, kind, WSC_SYNC_NONE, wsm_of(comm), root, sent, received);
}

/* wsm_collective_begun remembers the request of a collective that the call c has begun. */
static void wsm_collective_begun(const wsc_call *c, MPI_Comm comm, uintptr_t handle) {
    wsm_request r = {0, WSM_COLLECTIVES, 0, 1, wsm_number(&wsm_receives), c->time, 0, 0, 0, wsm_of(comm), 0};
    if (c->s && r.comm) wsm_remember(handle, r);
}

/* What follows says how many bytes a rank sends and receives, for use within WSM_COLLECTIVE: comm, root and
 * the other parameters have their names there. Where MPI_IN_PLACE is given the other buffer tells. */
static int wsm_size(MPI_Comm comm) {
    wsm_comm *m = wsm_of(comm);
    return m ? m->size : 0;
}

static int wsm_is(MPI_Comm comm, int root) {
    int rank = -1;
    PMPI_Comm_rank(comm, &rank);
    return rank == root;
}

static int64_t wsm_sum(const int counts[], MPI_Comm comm, MPI_Datatype type) {
    int64_t sum = 0;
    for (int i = 0, n = wsm_size(comm); i < n; i++) sum += counts[i];
    return wsm_bytes(sum, type);
}

/* wsm_own_part is what this rank gives to a gathering of so many elements of each. */
static int64_t wsm_own_part(const int counts[], MPI_Comm comm, MPI_Datatype type) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return wsm_bytes(counts[rank], type);
}

#define WSM_OTHERS (wsm_size(comm) - 1)
#define WSM_ROOT wsm_is(comm, root)

/* LATER is the name of the function that only begins it. SENT and RECEIVED may use what BEFORE defines. */
#define WSM_COLLECTIVE(NAME, LATER, PARAMS, ARGS, KIND, ROOT, BEFORE, SENT, RECEIVED) \
    WSM_API int NAME PARAMS { \
        wsc_call c = WSM_ENTER(NAME); \
        if (c.s) { \
            BEFORE; \
            wsm_collective(&c, KIND, comm, ROOT, SENT, RECEIVED); \
        } \
        int result = P##NAME ARGS; \
        wss_leave(&c); \
        return result; \
    } \
    WSM_API int LATER(WSM_OPEN PARAMS, MPI_Request *request) { \
        wsc_call c = WSM_ENTER(LATER); \
        if (c.s) { \
            BEFORE; \
            wsm_collective_of(&c, KIND, WSC_SYNC_LATER, wsm_of(comm), ROOT, SENT, RECEIVED); \
        } \
        int result = P##LATER(WSM_OPEN ARGS, request); \
        if (result == MPI_SUCCESS) wsm_collective_begun(&c, comm, wsm_handle(*request)); \
        wss_leave(&c); \
        return result; \
    }
#define WSM_OPEN(...) __VA_ARGS__

WSM_COLLECTIVE(MPI_Barrier, MPI_Ibarrier, (MPI_Comm comm), (comm), WSC_BARRIER, -1, , 0, 0)
WSM_COLLECTIVE(MPI_Bcast, MPI_Ibcast, (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm),
               (buf, count, type, root, comm), WSC_BROADCAST, root,
               int64_t n = wsm_bytes(count, type); int is = WSM_ROOT, is ? n * WSM_OTHERS : 0, is ? 0 : n)
WSM_COLLECTIVE(MPI_Scatter, MPI_Iscatter, (const void *out, int outs, MPI_Datatype outtype, void *in, int ins,
               MPI_Datatype intype, int root, MPI_Comm comm), (out, outs, outtype, in, ins, intype, root,
                   comm),
               WSC_SCATTER, root, int is = WSM_ROOT, is ? wsm_bytes(outs, outtype) * WSM_OTHERS : 0,
               is ? 0 : wsm_bytes(ins, intype))
WSM_COLLECTIVE(MPI_Scatterv, MPI_Iscatterv,
               (const void *out, const int outs[], const int places[], MPI_Datatype outtype,
               void *in, int ins, MPI_Datatype intype, int root, MPI_Comm comm),
               (out, outs, places, outtype, in, ins, intype, root, comm),
               WSC_SCATTER, root, int is = WSM_ROOT, is ? wsm_sum(outs, comm, outtype) : 0,
               is ? 0 : wsm_bytes(ins, intype))
WSM_COLLECTIVE(MPI_Gather, MPI_Igather, (const void *out, int outs, MPI_Datatype outtype, void *in, int ins,
               MPI_Datatype intype, int root, MPI_Comm comm), (out, outs, outtype, in, ins, intype, root,
                   comm),
               WSC_GATHER, root, int is = WSM_ROOT, is ? 0 : wsm_bytes(outs, outtype),
               is ? wsm_bytes(ins, intype) * WSM_OTHERS : 0)
WSM_COLLECTIVE(MPI_Gatherv, MPI_Igatherv,
               (const void *out, int outs, MPI_Datatype outtype, void *in, const int ins[],
               const int places[], MPI_Datatype intype, int root, MPI_Comm comm),
               (out, outs, outtype, in, ins, places, intype, root, comm),
               WSC_GATHER, root, int is = WSM_ROOT, is ? 0 : wsm_bytes(outs, outtype),
               is ? wsm_sum(ins, comm, intype) : 0)
WSM_COLLECTIVE(MPI_Allgather, MPI_Iallgather,
               (const void *out, int outs, MPI_Datatype outtype, void *in, int ins,
               MPI_Datatype intype, MPI_Comm comm), (out, outs, outtype, in, ins, intype, comm),
               WSC_GATHER_ALL, -1, int64_t n = wsm_bytes(ins, intype) * WSM_OTHERS, n, n)
WSM_COLLECTIVE(MPI_Allgatherv, MPI_Iallgatherv,
               (const void *out, int outs, MPI_Datatype outtype, void *in, const int ins[],
               const int places[], MPI_Datatype intype, MPI_Comm comm),
               (out, outs, outtype, in, ins, places, intype, comm), WSC_GATHER_ALL, -1,
               int64_t own = wsm_own_part(ins, comm, intype),
               own * WSM_OTHERS, wsm_sum(ins, comm, intype) - own)
WSM_COLLECTIVE(MPI_Alltoall, MPI_Ialltoall,
               (const void *out, int outs, MPI_Datatype outtype, void *in, int ins,
               MPI_Datatype intype, MPI_Comm comm), (out, outs, outtype, in, ins, intype, comm),
               WSC_EXCHANGE, -1, int64_t n = wsm_bytes(ins, intype) * WSM_OTHERS, n, n)
WSM_COLLECTIVE(MPI_Alltoallv, MPI_Ialltoallv,
               (const void *out, const int outs[], const int outplaces[], MPI_Datatype outtype,
               void *in, const int ins[], const int places[], MPI_Datatype intype, MPI_Comm comm),
               (out, outs, outplaces, outtype, in, ins, places, intype, comm), WSC_EXCHANGE, -1,
               int64_t n = wsm_sum(ins, comm, intype), out == MPI_IN_PLACE ? n : wsm_sum(outs, comm,
                   outtype), n)
WSM_COLLECTIVE(MPI_Alltoallw, MPI_Ialltoallw, (const void *out, const int outs[], const int outplaces[],
               const MPI_Datatype outtypes[], void *in, const int ins[], const int places[],
               const MPI_Datatype intypes[], MPI_Comm comm),
               (out, outs, outplaces, outtypes, in, ins, places, intypes, comm), WSC_EXCHANGE, -1, , 0, 0)
WSM_COLLECTIVE(MPI_Reduce, MPI_Ireduce,
               (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm), (out, in, count, type, op, root, comm), WSC_REDUCE, root,
               int64_t n = wsm_bytes(count, type); int is = WSM_ROOT, is ? 0 : n, is ? n * WSM_OTHERS : 0)
WSM_COLLECTIVE(MPI_Allreduce, MPI_Iallreduce,
               (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm), (out, in, count, type, op, comm), WSC_ALL_REDUCE, -1,
               int64_t n = wsm_bytes(count, type), n, n)
WSM_COLLECTIVE(MPI_Reduce_scatter, MPI_Ireduce_scatter,
               (const void *out, void *in, const int ins[], MPI_Datatype type, MPI_Op op,
               MPI_Comm comm), (out, in, ins, type, op, comm), WSC_ALL_REDUCE, -1,
               int64_t n = wsm_sum(ins, comm, type), n, n)
WSM_COLLECTIVE(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
               (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm), (out, in, count, type, op, comm), WSC_ALL_REDUCE, -1,
               int64_t n = wsm_bytes(count, type) * wsm_size(comm), n, n)
WSM_COLLECTIVE(MPI_Scan, MPI_Iscan,
               (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
               (out, in, count, type, op, comm), WSC_PREFIX_REDUCE, 0, int64_t n = wsm_bytes(count, type), n,
                   n)
WSM_COLLECTIVE(MPI_Exscan, MPI_Iexscan, (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
    MPI_Comm comm),
               (out, in, count, type, op, comm), WSC_PREFIX_REDUCE, 0, int64_t n = wsm_bytes(count, type), n,
                   n)

/* ---- Communicators: all members of the old one agree on the new one -------------------------------- */

#define WSM_MAKES(NAME, PARAMS, ARGS) \
    WSM_API int NAME PARAMS { \
        wsc_call c = WSM_ENTER(NAME); \
        if (c.s) wsm_collective(&c, WSC_GATHER_ALL, comm, -1, 0, 0); \
        int result = P##NAME ARGS; \
        if (result == MPI_SUCCESS) wsm_agree(*made); \
        wss_leave(&c); \
        return result; \
    }

WSM_MAKES(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
WSM_MAKES(MPI_Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm *made), (comm, colour, key, made))
WSM_MAKES(MPI_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
          (comm, type, key, info, made))
WSM_MAKES(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
WSM_MAKES(MPI_Cart_create, (MPI_Comm comm, int n, const int sizes[], const int periods[], int reorder,
          MPI_Comm *made), (comm, n, sizes, periods, reorder, made))
WSM_MAKES(MPI_Cart_sub, (MPI_Comm comm, const int keep[], MPI_Comm *made), (comm, keep, made))
WSM_MAKES(MPI_Dist_graph_create_adjacent, (MPI_Comm comm, int ins, const int from[], const int inweights[],
          int outs, const int to[], const int outweights[], MPI_Info info, int reorder, MPI_Comm *made),
          (comm, ins, from, inweights, outs, to, outweights, info, reorder, made))

#define WSM_MAKES_AMONG_SOME(NAME, PARAMS, ARGS) \
    WSM_API int NAME PARAMS { \
        wsc_call c = WSM_ENTER(NAME); \
        int result = P##NAME ARGS; \
        if (result == MPI_SUCCESS) wsm_agree(*made); \
        wss_leave(&c); \
        return result; \
    }

WSM_MAKES_AMONG_SOME(MPI_Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made),
                     (comm, group, tag, made))
WSM_MAKES_AMONG_SOME(MPI_Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made))
WSM_PLAIN(MPI_Intercomm_create, (MPI_Comm comm, int leader, MPI_Comm other, int remote, int tag,
    MPI_Comm *made),
          (comm, leader, other, remote, tag, made))
WSM_PLAIN(MPI_Comm_free, (MPI_Comm *comm), (comm))
