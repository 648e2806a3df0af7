/* fortran_calls.h: functions of MPI's Fortran interfaces that take no buffers. Part of mpi.c. WSF_NAME makes
 * their names: see fortran.h. */

WSF_START(MPI_Init, init, (wsf *err), (err))
WSF_START(MPI_Init_thread, init_thread, (wsf *required, wsf *provided, wsf *err),
          (required, provided, err))

WSF_API void WSF_NAME(finalize)(wsf *err) { WSF_AS_C(MPI_Finalize()); }
WSF_API void WSF_NAME(abort)(wsf *comm, wsf *code, wsf *err) { WSF_AS_C(MPI_Abort(WSF_COMM, *code)); }

/* ---- Messages -------------------------------------------------------------------------------------- */

WSF_CALL(probe, (wsf *from, wsf *tag, wsf *comm, wsf *status, wsf *err), (from, tag, comm, status, err),
         WSF_ENTER(MPI_Probe), )

extern void WSF_REAL(iprobe)(wsf *, wsf *, wsf *, wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void WSF_NAME(iprobe)(wsf *from, wsf *tag, wsf *comm, wsf *flag, wsf *status, wsf *err) {
    const void *caller = WSS_CALLER;
    wsc_call c = wss_enter_poll(WSS_OP_MPI_Iprobe, caller, flag);
    WSF_ERR;
    WSF_REAL(iprobe)(from, tag, comm, flag, status, err);
    wss_leave_poll(&c, WSS_OP_MPI_Iprobe, caller, flag, *err != MPI_SUCCESS || *flag, wss_end(&c));
}

extern void WSF_REAL(start)(wsf *, wsf *) WSF_WEAK;
WSF_API void WSF_NAME(start)(wsf *request, wsf *err) {
    wsc_call c = WSF_ENTER(MPI_Start);
    WSF_ERR;
    wsm_start_one(&c, WSF_HANDLE(*request));
    WSF_REAL(start)(request, err);
    wss_leave(&c);
}

extern void WSF_REAL(startall)(wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void WSF_NAME(startall)(wsf *n, wsf *requests, wsf *err) {
    wsc_call c = WSF_ENTER(MPI_Startall);
    WSF_ERR;
    for (wsf i = 0; i < *n; i++) wsm_start_one(&c, WSF_HANDLE(requests[i]));
    WSF_REAL(startall)(n, requests, err);
    wss_leave(&c);
}

extern void WSF_REAL(request_free)(wsf *, wsf *) WSF_WEAK;
WSF_API void WSF_NAME(request_free)(wsf *request, wsf *err) {
    wsm_request r;
    wsc_call c = WSF_ENTER(MPI_Request_free);
    WSF_ERR;
    if (wsm_take(WSF_HANDLE(*request), 1, &r)) wsm_release(r.comm);
    WSF_REAL(request_free)(request, err);
    wss_leave(&c);
}

extern void WSF_REAL(wait)(wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void WSF_NAME(wait)(wsf *request, wsf *status, wsf *err) {
    wsf own[WSF_STATUS];
    uintptr_t handle = WSF_HANDLE(*request);
    wsc_call c = WSF_ENTER(MPI_Wait);
    WSF_ERR;
    if (WSF_UNWANTED(status, STATUS_IGNORE)) status = own;
    WSF_REAL(wait)(request, status, err);
    int64_t end = wss_end(&c);
    if (*err == MPI_SUCCESS) wsf_complete(&c, end, handle, status);
    wsc_leave_at(&c, end);
}

extern void WSF_REAL(test)(wsf *, wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void WSF_NAME(test)(wsf *request, wsf *flag, wsf *status, wsf *err) {
    wsf own[WSF_STATUS];
    const void *caller = WSS_CALLER;
    uintptr_t handle = WSF_HANDLE(*request);
    wsc_call c = wss_enter_poll(WSS_OP_MPI_Test, caller, request);
    WSF_ERR;
    if (WSF_UNWANTED(status, STATUS_IGNORE)) status = own;
    WSF_REAL(test)(request, flag, status, err);
    int64_t end = wss_end(&c);
    if (*err == MPI_SUCCESS && *flag) wsf_complete(&c, end, handle, status);
    wss_leave_poll(&c, WSS_OP_MPI_Test, caller, request, *err != MPI_SUCCESS || *flag, end);
}

extern void WSF_REAL(waitall)(wsf *, wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void WSF_NAME(waitall)(wsf *n, wsf *requests, wsf *statuses, wsf *err) {
    wsf_several w;
    wsc_call c = WSF_ENTER(MPI_Waitall);
    WSF_ERR;
    wsf_before(&w, *n, requests, statuses);
    WSF_REAL(waitall)(n, requests, w.statuses, err);
    int64_t end = wss_end(&c);
    wsf_complete_all(&c, end, &w, *err, *n, 0);
    wsc_leave_at(&c, end);
    wsf_after(&w);
}

extern void WSF_REAL(testall)(wsf *, wsf *, wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void WSF_NAME(testall)(wsf *n, wsf *requests, wsf *flag, wsf *statuses, wsf *err) {
    wsf_several w;
    const void *caller = WSS_CALLER;
    wsc_call c = wss_enter_poll(WSS_OP_MPI_Testall, caller, requests);
    WSF_ERR;
    wsf_before(&w, *n, requests, statuses);
    WSF_REAL(testall)(n, requests, flag, w.statuses, err);
    int64_t end = wss_end(&c);
    if (*flag) wsf_complete_all(&c, end, &w, *err, *n, 0);
    wss_leave_poll(&c, WSS_OP_MPI_Testall, caller, requests, *err != MPI_SUCCESS || *flag, end);
    wsf_after(&w);
}

extern void WSF_REAL(waitany)(wsf *, wsf *, wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void WSF_NAME(waitany)(wsf *n, wsf *requests, wsf *place, wsf *status, wsf *err) {
    wsf own[WSF_STATUS];
    wsf_several w;
    wsc_call c = WSF_ENTER(MPI_Waitany);
    WSF_ERR;
    if (WSF_UNWANTED(status, STATUS_IGNORE)) status = own;
    wsf_before(&w, *n, requests, status);
    WSF_REAL(waitany)(n, requests, place, status, err);
    int64_t end = wss_end(&c);
    if (*place != MPI_UNDEFINED && *place > 0 && w.handles && *err == MPI_SUCCESS)
        wsf_complete(&c, end, w.handles[*place - 1], status);
    wsc_leave_at(&c, end);
    wsf_after(&w);
}

extern void WSF_REAL(waitsome)(wsf *, wsf *, wsf *, wsf *, wsf *, wsf *) WSF_WEAK;
WSF_API void WSF_NAME(waitsome)(wsf *n, wsf *requests, wsf *count, wsf *places, wsf *statuses, wsf *err) {
    wsf_several w;
    wsc_call c = WSF_ENTER(MPI_Waitsome);
    WSF_ERR;
    wsf_before(&w, *n, requests, statuses);
    WSF_REAL(waitsome)(n, requests, count, places, w.statuses, err);
    int64_t end = wss_end(&c);
    if (*count != MPI_UNDEFINED) wsf_complete_all(&c, end, &w, *err, *count, places);
    wsc_leave_at(&c, end);
    wsf_after(&w);
}

/* ---- Collectives ----------------------------------------------------------------------------------- */

WSF_COLLECTIVE(MPI_Barrier, barrier, MPI_Ibarrier, ibarrier, (wsf *comm), (comm),
               WSF_EVEN(WSC_BARRIER, -1, 0))

WSF_MAKES(MPI_Comm_dup, comm_dup, (wsf *comm, wsf *made, wsf *err), (comm, made, err))
WSF_MAKES(MPI_Comm_split, comm_split, (wsf *comm, wsf *colour, wsf *key, wsf *made, wsf *err),
          (comm, colour, key, made, err))
WSF_MAKES(MPI_Comm_split_type, comm_split_type,
          (wsf *comm, wsf *type, wsf *key, wsf *info, wsf *made, wsf *err),
          (comm, type, key, info, made, err))
WSF_MAKES(MPI_Comm_create, comm_create, (wsf *comm, wsf *group, wsf *made, wsf *err),
          (comm, group, made, err))
WSF_MAKES(MPI_Cart_create, cart_create, (wsf *comm, wsf *n, wsf *sizes, wsf *periods, wsf *reorder,
          wsf *made, wsf *err), (comm, n, sizes, periods, reorder, made, err))
WSF_MAKES(MPI_Cart_sub, cart_sub, (wsf *comm, wsf *keep, wsf *made, wsf *err), (comm, keep, made, err))
WSF_MAKES(MPI_Dist_graph_create_adjacent, dist_graph_create_adjacent,
          (wsf *comm, wsf *ins, wsf *from, wsf *inweights, wsf *outs, wsf *to, wsf *outweights, wsf *info,
           wsf *reorder, wsf *made, wsf *err),
          (comm, ins, from, inweights, outs, to, outweights, info, reorder, made, err))

/* ---- One-sided ------------------------------------------------------------------------------------- */

WSF_MAKES_WIN(MPI_Win_allocate, win_allocate,
              (MPI_Aint *size, wsf *unit, wsf *info, wsf *comm, void *base, wsf *win, wsf *err),
              (size, unit, info, comm, base, win, err))

WSF_API void WSF_NAME(win_free)(wsf *win, wsf *err) {
    MPI_Win own = WSF_WIN;
    WSF_AS_C(MPI_Win_free(&own));
    *win = MPI_Win_c2f(own);
}
WSF_API void WSF_NAME(win_fence)(wsf *assert, wsf *win, wsf *err) {
    WSF_AS_C(MPI_Win_fence(*assert, WSF_WIN));
}
WSF_API void WSF_NAME(win_lock)(wsf *type, wsf *rank, wsf *assert, wsf *win, wsf *err) {
    WSF_AS_C(MPI_Win_lock(*type, *rank, *assert, WSF_WIN));
}
WSF_API void WSF_NAME(win_unlock)(wsf *rank, wsf *win, wsf *err) {
    WSF_AS_C(MPI_Win_unlock(*rank, WSF_WIN));
}
WSF_API void WSF_NAME(win_lock_all)(wsf *assert, wsf *win, wsf *err) {
    WSF_AS_C(MPI_Win_lock_all(*assert, WSF_WIN));
}
WSF_API void WSF_NAME(win_flush)(wsf *rank, wsf *win, wsf *err) {
    WSF_AS_C(MPI_Win_flush(*rank, WSF_WIN));
}

#define WSF_WHOLE_WIN(NAME, FORTRAN) \
    WSF_API void WSF_NAME(FORTRAN)(wsf *win, wsf *err) { WSF_AS_C(NAME(WSF_WIN)); }
WSF_WHOLE_WIN(MPI_Win_unlock_all, win_unlock_all)
WSF_WHOLE_WIN(MPI_Win_flush_all, win_flush_all)
WSF_WHOLE_WIN(MPI_Win_complete, win_complete)
WSF_WHOLE_WIN(MPI_Win_wait, win_wait)
#undef WSF_WHOLE_WIN

WSF_API void WSF_NAME(win_post)(wsf *group, wsf *assert, wsf *win, wsf *err) {
    WSF_AS_C(MPI_Win_post(MPI_Group_f2c(*group), *assert, WSF_WIN));
}
WSF_API void WSF_NAME(win_start)(wsf *group, wsf *assert, wsf *win, wsf *err) {
    WSF_AS_C(MPI_Win_start(MPI_Group_f2c(*group), *assert, WSF_WIN));
}
