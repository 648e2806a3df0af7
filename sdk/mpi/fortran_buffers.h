/* fortran_buffers.h: functions of MPI's Fortran interfaces that take buffers. Part of mpi.c. WSF_NAME makes
 * their names: see fortran.h. A buffer may be an address or a descriptor. */

/* ---- Messages -------------------------------------------------------------------------------------- */

WSF_SEND(MPI_Send, send)
WSF_SEND(MPI_Ssend, ssend)
WSF_SEND(MPI_Bsend, bsend)
WSF_SEND(MPI_Rsend, rsend)

extern void WSF_REAL(recv)(void *, wsf *, wsf *, wsf *, wsf *, wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void WSF_NAME(recv)(void *buf, wsf *count, wsf *type, wsf *from, wsf *tag, wsf *comm, wsf *status,
                            wsf *err) {
    wsf own[WSF_STATUS];
    wsc_call c = WSF_ENTER(MPI_Recv);
    uint64_t number = wsm_number(&wsm_receives);
    WSF_ERR;
    if (WSF_UNWANTED(status, STATUS_IGNORE)) status = own;
    WSF_REAL(recv)(buf, count, type, from, tag, comm, status, err);
    int64_t end = wss_end(&c);
    if (end && *err == MPI_SUCCESS) wsf_arrived(&c, end, wsm_of(WSF_COMM), status, number, c.time);
    wsc_leave_at(&c, end);
}

extern void WSF_REAL(sendrecv)(void *, wsf *, wsf *, wsf *, wsf *, void *, wsf *, wsf *, wsf *, wsf *,
                               wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void WSF_NAME(sendrecv)(void *out, wsf *count, wsf *type, wsf *to, wsf *tag, void *in, wsf *ins,
                                wsf *intype, wsf *from, wsf *intag, wsf *comm, wsf *status, wsf *err) {
    wsf own[WSF_STATUS];
    uint64_t number = wsm_number(&wsm_receives);
    wsc_call c = WSF_SENDING(MPI_Sendrecv, 0);
    WSF_ERR;
    if (WSF_UNWANTED(status, STATUS_IGNORE)) status = own;
    WSF_REAL(sendrecv)(out, count, type, to, tag, in, ins, intype, from, intag, comm, status, err);
    int64_t end = wss_end(&c);
    if (end && *err == MPI_SUCCESS) wsf_arrived(&c, end, wsm_of(WSF_COMM), status, number, c.time);
    wsc_leave_at(&c, end);
}

extern void WSF_REAL(sendrecv_replace)(void *, wsf *, wsf *, wsf *, wsf *, wsf *, wsf *, wsf *, wsf *,
                                       wsf *) WSF_WEAK;
WSF_API void WSF_NAME(sendrecv_replace)(void *buf, wsf *count, wsf *type, wsf *to, wsf *tag, wsf *from,
                                        wsf *intag, wsf *comm, wsf *status, wsf *err) {
    wsf own[WSF_STATUS];
    uint64_t number = wsm_number(&wsm_receives);
    wsc_call c = WSF_SENDING(MPI_Sendrecv_replace, 0);
    WSF_ERR;
    if (WSF_UNWANTED(status, STATUS_IGNORE)) status = own;
    WSF_REAL(sendrecv_replace)(buf, count, type, to, tag, from, intag, comm, status, err);
    int64_t end = wss_end(&c);
    if (end && *err == MPI_SUCCESS) wsf_arrived(&c, end, wsm_of(WSF_COMM), status, number, c.time);
    wsc_leave_at(&c, end);
}

WSF_ISEND(MPI_Isend, isend)
WSF_ISEND(MPI_Issend, issend)
WSF_ISEND(MPI_Ibsend, ibsend)
WSF_ISEND(MPI_Irsend, irsend)

extern void WSF_REAL(irecv) WSF_LATER_PARAMS WSF_WEAK;
WSF_API void WSF_NAME(irecv) WSF_LATER_PARAMS {
    wsc_call c = WSF_ENTER(MPI_Irecv);
    wsm_request r = {0, WSM_RECEIVES, 0, 1, wsm_number(&wsm_receives), c.time, 0, *peer, *tag,
                     wsm_of(WSF_COMM), 0};
    WSF_ERR;
    WSF_REAL(irecv) WSF_LATER_ARGS;
    wsf_remember(*request, *err, *peer, r);
    wss_leave(&c);
}

WSF_SEND_INIT(MPI_Send_init, send_init)
WSF_SEND_INIT(MPI_Ssend_init, ssend_init)
WSF_SEND_INIT(MPI_Bsend_init, bsend_init)
WSF_SEND_INIT(MPI_Rsend_init, rsend_init)
WSF_CALL(recv_init, WSF_LATER_PARAMS, WSF_LATER_ARGS, WSF_ENTER(MPI_Recv_init),
         wsf_remember(*request, *err, *peer,
                      (wsm_request){0, WSM_RECEIVES, 1, 0, 0, 0, 0, *peer, *tag, wsm_of(WSF_COMM), 0}))

/* ---- Collectives ----------------------------------------------------------------------------------- */

WSF_COLLECTIVE(MPI_Bcast, bcast, MPI_Ibcast, ibcast,
               (void *buf, wsf *count, wsf *type, wsf *root, wsf *comm), (buf, count, type, root, comm),
               WSF_EVEN(WSC_BROADCAST, *root, WSF_BYTES(count, type)))
WSF_COLLECTIVE(MPI_Reduce, reduce, MPI_Ireduce, ireduce,
               (void *out, void *in, wsf *count, wsf *type, wsf *op, wsf *root, wsf *comm),
               (out, in, count, type, op, root, comm), WSF_EVEN(WSC_REDUCE, *root, WSF_BYTES(count, type)))

#define WSF_REDUCES (void *out, void *in, wsf *count, wsf *type, wsf *op, wsf *comm)
WSF_COLLECTIVE(MPI_Allreduce, allreduce, MPI_Iallreduce, iallreduce, WSF_REDUCES,
               (out, in, count, type, op, comm), WSF_EVEN(WSC_ALL_REDUCE, -1, WSF_BYTES(count, type)))
WSF_COLLECTIVE(MPI_Scan, scan, MPI_Iscan, iscan, WSF_REDUCES, (out, in, count, type, op, comm),
               WSF_EVEN(WSC_PREFIX_REDUCE, 0, WSF_BYTES(count, type)))
WSF_COLLECTIVE(MPI_Exscan, exscan, MPI_Iexscan, iexscan, WSF_REDUCES,
               (out, in, count, type, op, comm), WSF_EVEN(WSC_PREFIX_REDUCE, 0, WSF_BYTES(count, type)))
WSF_COLLECTIVE(MPI_Reduce_scatter, reduce_scatter, MPI_Ireduce_scatter, ireduce_scatter, WSF_REDUCES,
               (out, in, count, type, op, comm), WSF_EVEN(WSC_ALL_REDUCE, -1, WSF_SUM(count, type)))
WSF_COLLECTIVE(MPI_Reduce_scatter_block, reduce_scatter_block, MPI_Ireduce_scatter_block,
               ireduce_scatter_block, WSF_REDUCES, (out, in, count, type, op, comm),
               WSF_EVEN(WSC_ALL_REDUCE, -1, WSF_BYTES(count, type) * wsm_size(WSF_COMM)))
#undef WSF_REDUCES

#define WSF_TWO_BUFFERS (void *out, wsf *outs, wsf *outtype, void *in, wsf *ins, wsf *intype, wsf *comm)
WSF_COLLECTIVE(MPI_Allgather, allgather, MPI_Iallgather, iallgather, WSF_TWO_BUFFERS,
               (out, outs, outtype, in, ins, intype, comm),
               WSF_EVEN(WSC_GATHER_ALL, -1, WSF_BYTES(ins, intype)))
WSF_COLLECTIVE(MPI_Alltoall, alltoall, MPI_Ialltoall, ialltoall, WSF_TWO_BUFFERS,
               (out, outs, outtype, in, ins, intype, comm),
               WSF_EVEN(WSC_EXCHANGE, -1, WSF_BYTES(ins, intype)))
WSF_NEIGHBOURS(MPI_Neighbor_allgather, neighbor_allgather, MPI_Ineighbor_allgather, ineighbor_allgather,
               WSF_TWO_BUFFERS, (out, outs, outtype, in, ins, intype, comm), WSF_BYTES(outs, outtype),
               WSF_BYTES(ins, intype))
WSF_NEIGHBOURS(MPI_Neighbor_alltoall, neighbor_alltoall, MPI_Ineighbor_alltoall, ineighbor_alltoall,
               WSF_TWO_BUFFERS, (out, outs, outtype, in, ins, intype, comm), WSF_BYTES(outs, outtype),
               WSF_BYTES(ins, intype))
#undef WSF_TWO_BUFFERS

#define WSF_WITH_ROOT \
    (void *out, wsf *outs, wsf *outtype, void *in, wsf *ins, wsf *intype, wsf *root, wsf *comm)
WSF_COLLECTIVE(MPI_Gather, gather, MPI_Igather, igather, WSF_WITH_ROOT,
               (out, outs, outtype, in, ins, intype, root, comm),
               WSF_EVEN(WSC_GATHER, *root, wsm_is(WSF_COMM, *root) ? WSF_BYTES(ins, intype)
                                                              : WSF_BYTES(outs, outtype)))
WSF_COLLECTIVE(MPI_Scatter, scatter, MPI_Iscatter, iscatter, WSF_WITH_ROOT,
               (out, outs, outtype, in, ins, intype, root, comm),
               WSF_EVEN(WSC_SCATTER, *root, wsm_is(WSF_COMM, *root) ? WSF_BYTES(outs, outtype)
                                                               : WSF_BYTES(ins, intype)))
#undef WSF_WITH_ROOT
WSF_COLLECTIVE(MPI_Gatherv, gatherv, MPI_Igatherv, igatherv,
               (void *out, wsf *outs, wsf *outtype, void *in, wsf *ins, wsf *places, wsf *intype, wsf *root,
                wsf *comm),
               (out, outs, outtype, in, ins, places, intype, root, comm),
               WSF_UNEVEN(WSC_GATHER, *root, wsm_is(WSF_COMM, *root) ? 0 : WSF_BYTES(outs, outtype),
                          wsm_is(WSF_COMM, *root) ? WSF_SUM(ins, intype) : 0))
WSF_COLLECTIVE(MPI_Scatterv, scatterv, MPI_Iscatterv, iscatterv,
               (void *out, wsf *outs, wsf *places, wsf *outtype, void *in, wsf *ins, wsf *intype, wsf *root,
                wsf *comm),
               (out, outs, places, outtype, in, ins, intype, root, comm),
               WSF_UNEVEN(WSC_SCATTER, *root, wsm_is(WSF_COMM, *root) ? WSF_SUM(outs, outtype) : 0,
                          wsm_is(WSF_COMM, *root) ? 0 : WSF_BYTES(ins, intype)))
WSF_COLLECTIVE(MPI_Allgatherv, allgatherv, MPI_Iallgatherv, iallgatherv,
               (void *out, wsf *outs, wsf *outtype, void *in, wsf *ins, wsf *places, wsf *intype, wsf *comm),
               (out, outs, outtype, in, ins, places, intype, comm),
               WSF_UNEVEN(WSC_GATHER_ALL, -1, wsm_own_part(ins, WSF_COMM, WSF_TYPE(intype)) *
                          (wsm_size(WSF_COMM) - 1),
                          WSF_SUM(ins, intype) - wsm_own_part(ins, WSF_COMM, WSF_TYPE(intype))))
WSF_NEIGHBOURS(MPI_Neighbor_alltoallv, neighbor_alltoallv, MPI_Ineighbor_alltoallv, ineighbor_alltoallv,
               (void *out, wsf *outs, wsf *outplaces, wsf *outtype, void *in, wsf *ins, wsf *places,
                wsf *intype, wsf *comm),
               (out, outs, outplaces, outtype, in, ins, places, intype, comm),
               wsm_bytes(outs[i], WSF_TYPE(outtype)), wsm_bytes(ins[i], WSF_TYPE(intype)))
WSF_COLLECTIVE(MPI_Alltoallv, alltoallv, MPI_Ialltoallv, ialltoallv,
               (void *out, wsf *outs, wsf *outplaces, wsf *outtype, void *in, wsf *ins, wsf *places,
                wsf *intype, wsf *comm),
               (out, outs, outplaces, outtype, in, ins, places, intype, comm),
               WSF_UNEVEN(WSC_EXCHANGE, -1, WSF_SUM(ins, intype), WSF_SUM(ins, intype)))

/* ---- One-sided ------------------------------------------------------------------------------------- */

WSF_MAKES_WIN(MPI_Win_create, win_create,
              (void *base, MPI_Aint *size, wsf *unit, wsf *info, wsf *comm, wsf *win, wsf *err),
              (base, size, unit, info, comm, win, err))

#define WSF_PUTS \
    (void *buf, wsf *count, wsf *type, wsf *rank, MPI_Aint *place, wsf *theirs, wsf *their_type, wsf *win, \
     wsf *err)
WSF_RMA(MPI_Put, put, WSF_PUTS, (buf, count, type, rank, place, theirs, their_type, win, err), WSM_PUT,
        *theirs, their_type)
WSF_RMA(MPI_Get, get, WSF_PUTS, (buf, count, type, rank, place, theirs, their_type, win, err), WSM_GET,
        *theirs, their_type)
#undef WSF_PUTS
WSF_RMA(MPI_Accumulate, accumulate,
        (void *buf, wsf *count, wsf *type, wsf *rank, MPI_Aint *place, wsf *theirs, wsf *their_type, wsf *op,
         wsf *win, wsf *err),
        (buf, count, type, rank, place, theirs, their_type, op, win, err), WSM_PUT, *theirs, their_type)
WSF_RMA(MPI_Fetch_and_op, fetch_and_op,
        (void *out, void *in, wsf *type, wsf *rank, MPI_Aint *place, wsf *op, wsf *win, wsf *err),
        (out, in, type, rank, place, op, win, err), WSM_ATOMIC, 1, type)
