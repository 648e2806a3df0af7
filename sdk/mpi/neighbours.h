/* neighbours.h wraps neighbourhood collectives. Part of mpi.c. Neighbours wait for each other only: each
 * tells those that get data from it that it has begun (WSM_NEAR), and hears the same of those that it gets
 * data from. */

/* wsm_near_ranks stores the processes that have these ranks in a communicator, -1 for MPI_PROC_NULL. */
static void wsm_near_ranks(const wsm_comm *m, int n, int *ranks) {
    for (int i = 0; i < n; i++) ranks[i] = wsm_peer(m, ranks[i]);
}

/* wsm_near is wsm_of for a communicator of which the neighbours of this process are needed. */
static wsm_comm *wsm_near(MPI_Comm comm) {
    wsm_comm *m = wsm_of(comm);
    int kind = MPI_UNDEFINED, ins = 0, outs = 0, n = 0, rank = 0, weighted;
    if (!m || m->inter || m->near) return m;
    PMPI_Topo_test(comm, &kind);
    PMPI_Comm_rank(comm, &rank);
    if (kind == MPI_CART && PMPI_Cartdim_get(comm, &n) == MPI_SUCCESS) ins = outs = 2 * n;
    if (kind == MPI_GRAPH && PMPI_Graph_neighbors_count(comm, rank, &n) == MPI_SUCCESS) ins = outs = n;
    if (kind == MPI_DIST_GRAPH) PMPI_Dist_graph_neighbors_count(comm, &ins, &outs, &weighted);
    size_t size = (size_t)(ins + outs + 2);
    int *from = (int *)calloc(size, sizeof *from), *to = from + ins + 1;
    int *weights = (int *)calloc(2 * size, sizeof *weights);
    if (from && weights) {
        for (int d = 0; kind == MPI_CART && d < n; d++)
            PMPI_Cart_shift(comm, d, 1, from + 2 * d, from + 2 * d + 1);
        if (kind == MPI_GRAPH) PMPI_Graph_neighbors(comm, rank, n, from);
        if (kind == MPI_DIST_GRAPH)
            PMPI_Dist_graph_neighbors(comm, ins, from, weights, outs, to, weights + size);
        else memcpy(to, from, (size_t)outs * sizeof *to);
        wsm_near_ranks(m, ins, from);
        wsm_near_ranks(m, outs, to);
        m->near = from, m->ins = ins, m->outs = outs;
    } else {
        free(from);
    }
    free(weights);
    return m;
}

/* wsm_near_begun keeps the numbers of what this process is going to hear, and returns the one before them. */
static uint64_t wsm_near_begun(const wsm_comm *m) {
    return m && m->near ? __atomic_fetch_add(&wsm_receives, (uint64_t)m->ins, __ATOMIC_RELAXED) : 0;
}

/* wsm_near_ended records that all neighbours have begun, by the time end. The bytes of all of them count as
 * those of the first. */
static void wsm_near_ended(const wsc_call *c, int64_t end, const wsm_comm *m, uint64_t number, int64_t since,
                           int64_t bytes) {
    for (int i = 0; end && m && m->near && i < m->ins; i++) {
        if (m->near[i] < 0) continue;
        ws_received_at(c->s, end, m->near[i], bytes, WSM_NEAR, m->id, number + 1 + (uint64_t)i, end - since);
        bytes = 0;
    }
}

/* SENT are the bytes for the neighbour number i, RECEIVED those from it. */
#define WSM_NEIGHBOURS(NAME, LATER, PARAMS, ARGS, SENT, RECEIVED) \
    WSM_API int NAME PARAMS { \
        wsc_call c = WSM_ENTER(NAME); \
        wsm_comm *m = c.s ? wsm_near(comm) : 0; \
        uint64_t number = wsm_near_begun(m); \
        int64_t bytes = 0; \
        WSM_NEAR_BEGIN(SENT, RECEIVED) \
        int result = P##NAME ARGS; \
        int64_t end = wss_end(&c); \
        if (result == MPI_SUCCESS) wsm_near_ended(&c, end, m, number, c.time, bytes); \
        wsc_leave_at(&c, end); \
        return result; \
    } \
    WSM_API int LATER(WSM_OPEN PARAMS, MPI_Request *request) { \
        wsc_call c = WSM_ENTER(LATER); \
        wsm_comm *m = c.s ? wsm_near(comm) : 0; \
        uint64_t number = wsm_near_begun(m); \
        int64_t bytes = 0; \
        WSM_NEAR_BEGIN(SENT, RECEIVED) \
        int result = P##LATER(WSM_OPEN ARGS, request); \
        wsm_request r = {0, WSM_NEIGHBOURHOODS, 0, 1, number, c.time, bytes, 0, 0, m, 0}; \
        if (result == MPI_SUCCESS && m) wsm_remember(wsm_handle(*request), r); \
        wss_leave(&c); \
        return result; \
    }

#define WSM_NEAR_BEGIN(SENT, RECEIVED) \
    for (int i = 0; m && m->near && i < m->outs; i++) { \
        const int *to = m->near + m->ins + 1; \
        if (to[i] >= 0) ws_sent_at(c.s, c.time, to[i], SENT, WSM_NEAR, m->id, 0); \
    } \
    for (int i = 0; m && m->near && i < m->ins; i++) \
        if (m->near[i] >= 0) bytes += RECEIVED;

WSM_NEIGHBOURS(MPI_Neighbor_allgather, MPI_Ineighbor_allgather,
               (const void *out, int outs, MPI_Datatype outtype, void *in, int ins, MPI_Datatype intype,
                MPI_Comm comm), (out, outs, outtype, in, ins, intype, comm),
               wsm_bytes(outs, outtype), wsm_bytes(ins, intype))
WSM_NEIGHBOURS(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv,
               (const void *out, int outs, MPI_Datatype outtype, void *in, const int ins[],
                const int places[], MPI_Datatype intype, MPI_Comm comm),
               (out, outs, outtype, in, ins, places, intype, comm),
               wsm_bytes(outs, outtype), wsm_bytes(ins[i], intype))
WSM_NEIGHBOURS(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall,
               (const void *out, int outs, MPI_Datatype outtype, void *in, int ins, MPI_Datatype intype,
                MPI_Comm comm), (out, outs, outtype, in, ins, intype, comm),
               wsm_bytes(outs, outtype), wsm_bytes(ins, intype))
WSM_NEIGHBOURS(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv,
               (const void *out, const int outs[], const int outplaces[], MPI_Datatype outtype, void *in,
                const int ins[], const int places[], MPI_Datatype intype, MPI_Comm comm),
               (out, outs, outplaces, outtype, in, ins, places, intype, comm),
               wsm_bytes(outs[i], outtype), wsm_bytes(ins[i], intype))
WSM_NEIGHBOURS(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw,
               (const void *out, const int outs[], const MPI_Aint outplaces[], const MPI_Datatype outtypes[],
                void *in, const int ins[], const MPI_Aint places[], const MPI_Datatype intypes[],
                MPI_Comm comm),
               (out, outs, outplaces, outtypes, in, ins, places, intypes, comm),
               wsm_bytes(outs[i], outtypes[i]), wsm_bytes(ins[i], intypes[i]))
