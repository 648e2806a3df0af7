/* Calls functions of MPI that programs seldom call, on two ranks, and checks what they do. Rank 0 prints how
 * often each was called on both ranks together. Tests for requests are repeated until they succeed: how often
 * is not known. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };
static struct {
    const char *name;
    int times;
} called[MOST];
static int names, me, other;

static void count(const char *name) {
    int i = 0;
    while (i < names && strcmp(called[i].name, name)) i++;
    called[i].name = name;
    if (i == names) names++;
    called[i].times++;
}

static void wrong(const char *what) {
    fprintf(stderr, "rank %d: wrong: %s\n", me, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

#define CALL(NAME, ...) (count(#NAME), NAME(__VA_ARGS__))
#define CHECK(IS) ((IS) ? (void)0 : wrong(#IS))

/* messages: rank 0 sends, rank 1 receives in unusual ways. */
static void messages(void) {
    int value[4] = {0}, place, flag = 0, n, places[4];
    MPI_Message message;
    MPI_Request request[4];
    MPI_Status status;
    if (me == 0) {
        for (int i = 0; i < 15; i++) CALL(MPI_Send, &i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
    } else {
        CALL(MPI_Mprobe, 0, 0, MPI_COMM_WORLD, &message, &status);
        CALL(MPI_Mrecv, value, 1, MPI_INT, &message, &status);
        CHECK(value[0] == 0 && status.MPI_TAG == 0);
        CALL(MPI_Mprobe, 0, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        CALL(MPI_Imrecv, value, 1, MPI_INT, &message, request);
        CALL(MPI_Wait, request, MPI_STATUS_IGNORE);
        CHECK(value[0] == 1);
        while (!flag) MPI_Improbe(0, 2, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
        CALL(MPI_Mrecv, value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        CHECK(value[0] == 2);
        for (int i = 0; i < 4; i++)
            CALL(MPI_Irecv, &value[i], 1, MPI_INT, 0, 3 + i, MPI_COMM_WORLD, &request[i]);
        for (int i = 0; i < 4; i++) {
            CALL(MPI_Waitany, 4, request, &place, MPI_STATUS_IGNORE);
            CHECK(value[place] == 3 + place);
        }
        for (int i = 0; i < 4; i++)
            CALL(MPI_Irecv, &value[i], 1, MPI_INT, 0, 7 + i, MPI_COMM_WORLD, &request[i]);
        for (int left = 2; left > 0;) { /* two by one way, the rest by another */
            MPI_Testany(4, request, &place, &flag, MPI_STATUS_IGNORE);
            if (!flag) continue;
            left--;
            CHECK(value[place] == 7 + place);
        }
        for (int left = 2; left > 0; left -= n) {
            MPI_Testsome(4, request, &n, places, MPI_STATUSES_IGNORE);
            for (int i = 0; i < n; i++) CHECK(value[places[i]] == 7 + places[i]);
        }
        for (int i = 0; i < 4; i++)
            CALL(MPI_Irecv, &value[i], 1, MPI_INT, 0, 11 + i, MPI_COMM_WORLD, &request[i]);
        CALL(MPI_Waitsome, 1, &request[2], &n, places, MPI_STATUSES_IGNORE);
        CHECK(n == 1 && value[2] == 13);
        for (flag = 0; !flag;) MPI_Testall(4, request, &flag, MPI_STATUSES_IGNORE);
        CHECK(value[0] + value[1] + value[3] == 11 + 12 + 14);
    }
}

/* persistent: three rounds through the same requests. */
static void persistent(void) {
    int out = 0, in = 0;
    MPI_Request request[2];
    CALL(MPI_Send_init, &out, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &request[0]);
    CALL(MPI_Recv_init, &in, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &request[1]);
    for (int i = 0; i < 3; i++) {
        out = 10 * me + i;
        CALL(MPI_Startall, 2, request);
        CALL(MPI_Waitall, 2, request, MPI_STATUSES_IGNORE);
        CHECK(in == 10 * other + i);
    }
    for (int i = 0; i < 2; i++) CALL(MPI_Request_free, &request[i]);
}

/* partitioned: the receiver takes what four threads of the sender would have made. */
static void partitioned(void) {
#if MPI_VERSION >= 4
    int part[4] = {0}, flag = 0;
    MPI_Request request;
    if (me == 0) {
        CALL(MPI_Psend_init, part, 4, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        CALL(MPI_Start, &request);
        for (int i = 0; i < 4; i++) part[i] = i, CALL(MPI_Pready, i, request);
    } else {
        CALL(MPI_Precv_init, part, 4, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        CALL(MPI_Start, &request);
        while (!flag) MPI_Parrived(request, 3, &flag);
    }
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    CHECK(part[3] == 3);
    CALL(MPI_Request_free, &request);
#endif
}

/* windows: each rank changes the other's memory, by every way to synchronise. */
static void windows(void) {
    int *own, one = 1, got = 0, zero = 0;
    MPI_Win win;
    MPI_Group world, partner;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &partner);
    CALL(MPI_Win_allocate, 4 * sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
    memset(own, 0, 4 * sizeof *own);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    CALL(MPI_Win_lock, MPI_LOCK_EXCLUSIVE, other, 0, win);
    CALL(MPI_Put, &one, 1, MPI_INT, other, 0, 1, MPI_INT, win);
    CALL(MPI_Win_flush, other, win);
    CALL(MPI_Get, &got, 1, MPI_INT, other, 0, 1, MPI_INT, win);
    CALL(MPI_Win_unlock, other, win);
    CHECK(got == 1);
    CALL(MPI_Win_lock_all, 0, win);
    CALL(MPI_Fetch_and_op, &one, &got, MPI_INT, other, 1, MPI_SUM, win);
    CALL(MPI_Win_flush_all, win);
    CHECK(got == 0);
    CALL(MPI_Compare_and_swap, &one, &zero, &got, MPI_INT, other, 2, win);
    CALL(MPI_Win_unlock_all, win);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    CALL(MPI_Win_post, partner, 0, win);
    CALL(MPI_Win_start, partner, 0, win);
    CALL(MPI_Accumulate, &one, 1, MPI_INT, other, 3, 1, MPI_INT, MPI_SUM, win);
    CALL(MPI_Win_complete, win);
    CALL(MPI_Win_wait, win);
    CALL(MPI_Win_fence, 0, win);
    CHECK(own[0] == 1 && own[1] == 1 && own[2] == 1 && own[3] == 1);
    CALL(MPI_Win_free, &win);
    MPI_Group_free(&world), MPI_Group_free(&partner);
}

/* later: collectives that do not block, ended by every way to wait. */
static void later(void) {
    int own[2] = {me, me}, all[4] = {0}, done = 0, counts[2] = {1, 1}, places[2] = {0, 1};
    MPI_Request request[3];
    CALL(MPI_Ibarrier, MPI_COMM_WORLD, &request[0]);
    CALL(MPI_Iallgather, own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &request[1]);
    CALL(MPI_Wait, &request[1], MPI_STATUS_IGNORE); /* not in the order in which they began */
    CALL(MPI_Wait, &request[0], MPI_STATUS_IGNORE);
    CHECK(all[0] == 0 && all[1] == 1);
    CALL(MPI_Iscan, own, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[0]);
    CALL(MPI_Ireduce_scatter, own, &all[1], counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[1]);
    CALL(MPI_Irecv, &all[2], 1, MPI_INT, other, 20, MPI_COMM_WORLD, &request[2]);
    CALL(MPI_Send, own, 1, MPI_INT, other, 20, MPI_COMM_WORLD);
    CALL(MPI_Waitall, 3, request, MPI_STATUSES_IGNORE);
    CHECK(all[0] == me && all[1] == 1 && all[2] == other);
    CALL(MPI_Igatherv, own, 1, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD, &request[0]);
    while (!done) MPI_Test(&request[0], &done, MPI_STATUS_IGNORE);
    CHECK(me || all[1] == 1);
    MPI_Win win;
    MPI_Group world, partner;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &partner);
    CALL(MPI_Win_create_dynamic, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    CALL(MPI_Win_post, partner, 0, win);
    CALL(MPI_Win_start, partner, 0, win);
    CALL(MPI_Win_complete, win);
    for (done = 0; !done;) MPI_Win_test(win, &done);
    CALL(MPI_Win_free, &win);
    MPI_Group_free(&world), MPI_Group_free(&partner);
}

/* files: the ranks write and read parts of one file. */
static void files(void) {
    MPI_File file;
    int value = 10 + me, got = 0;
    MPI_Offset at = (MPI_Offset)(me * (int)sizeof value), across = (MPI_Offset)(other * (int)sizeof value);
    CHECK(!CALL(MPI_File_open, MPI_COMM_WORLD, "calls.tmp", MPI_MODE_CREATE | MPI_MODE_RDWR |
                MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CALL(MPI_File_write_at_all, file, at, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_sync, file);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    CALL(MPI_File_read_at, file, across, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(got == 10 + other);
    CALL(MPI_File_set_view, file, at, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    CALL(MPI_File_read_all, file, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(got == value);
    CALL(MPI_File_close, &file);
}

int main(int argc, char **argv) {
    int all[MOST] = {0}, own[MOST], n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (n != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    other = 1 - me;
    static const char *const order[] = {"MPI_Send", "MPI_Mprobe", "MPI_Mrecv", "MPI_Imrecv", "MPI_Wait",
                                        "MPI_Irecv", "MPI_Waitany", "MPI_Waitsome"}; /* the same on both */
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++) called[names++].name = order[i];
#if MPI_VERSION >= 4
    static const char *const more[] = {"MPI_Psend_init", "MPI_Precv_init", "MPI_Pready", "MPI_Start"};
    for (unsigned i = 0; i < sizeof more / sizeof *more; i++) called[names++].name = more[i];
#endif
    messages(), persistent(), partitioned(), windows(), later(), files();
    for (int i = 0; i < MOST; i++) own[i] = called[i].times;
    MPI_Reduce(own, all, MOST, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; i < names && !me; i++) printf("%s %d\n", called[i].name, all[i]);
    MPI_Finalize();
    return 0;
}
