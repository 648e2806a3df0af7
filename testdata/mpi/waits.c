/* Waits on purpose for non-blocking collectives and in windows, and sleeps. It prints how long by its own
 * clock, by the names of the patterns. Run it with 3 ranks. See patterns.c. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 4, MS = 5 /* of each delay */, RANKS = 3, MUCH = 1 << 18 };

static int me, n, much[MUCH], result[MUCH];
/* When each rank began an operation, entered and left the call that waited, and another moment. */
static long long begun[RANKS], entered[RANKS], left[RANKS], marked[RANKS];

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

__attribute__((noinline)) static void spin(int units) {
    long long end = now() + units * MS * 1000000LL;
    while (now() < end) {}
}

static long long begin, enter, leave, mark;
#define BEGUN(CALL) (begin = now(), CALL)
#define TIMED(CALL) (enter = now(), CALL, leave = now())

static void tell(void) {
    long long own[4] = {begin, enter, leave, mark}, all[4 * RANKS];
    PMPI_Allgather(own, 4, MPI_LONG_LONG, all, 4, MPI_LONG_LONG, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) begun[i] = all[4 * i], entered[i] = all[4 * i + 1], left[i] = all[4 * i + 2],
        marked[i] = all[4 * i + 3];
}

/* lost is how long a rank waited in the call just timed, from a time on until another one. */
static long long lost(int rank, long long from, long long until) {
    if (from < entered[rank]) from = entered[rank];
    if (until > left[rank]) until = left[rank];
    return until > from ? until - from : 0;
}

static long long last(void) {
    long long t = begun[0];
    for (int i = 1; i < n; i++)
        if (begun[i] > t) t = begun[i];
    return t;
}

/* progress is how long a rank waited after all had begun until the last of the others waited, too. */
static long long progress(int rank) {
    long long until = 0;
    for (int i = 0; i < n; i++)
        if (i != rank && entered[i] > until && entered[i] < left[rank]) until = entered[i];
    return lost(rank, last(), until);
}

static long long nxn, barrier, broadcast, advance, lock, near, post, early, late, naps;

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (n != RANKS) MPI_Abort(MPI_COMM_WORLD, 3);
    int *base, one = 1, sum = 0, first[1] = {0}, others[2] = {1, 2};
    MPI_Win win;
    MPI_Win_allocate(4 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    memset(base, 0, 4 * sizeof *base);
    MPI_Group world, target, origins;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, first, &target);
    MPI_Group_incl(world, 2, others, &origins);
    MPI_Request request;
    MPI_Comm chain; /* 0 - 1 - 2 */
    int length[1] = {RANKS}, open[1] = {0}, few[4] = {0};
    MPI_Cart_create(MPI_COMM_WORLD, 1, length, open, 0, &chain);

    for (int round = 0; round < ROUNDS; round++) {
        PMPI_Barrier(MPI_COMM_WORLD); /* ranks begin late what all need, and wait at once */
        spin(me);
        BEGUN(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
        TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
        tell();
        for (int i = 0; i < n; i++) nxn += lost(i, entered[i], last()), advance += progress(i);
        if (sum != n) MPI_Abort(MPI_COMM_WORLD, 4);

        PMPI_Barrier(MPI_COMM_WORLD); /* ranks compute meanwhile: only the rest is lost */
        spin(2 * me);
        BEGUN(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        spin(1);
        TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
        tell();
        for (int i = 0; i < n; i++) barrier += lost(i, entered[i], last());

        PMPI_Barrier(MPI_COMM_WORLD); /* the root is late */
        if (me == 1) spin(2);
        BEGUN(MPI_Ibcast(&sum, 1, MPI_INT, 1, MPI_COMM_WORLD, &request));
        TIMED(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
        tell();
        for (int i = 0; i < n; i++) {
            if (i != 1) broadcast += lost(i, entered[i], begun[1]);
            advance += progress(i);
        }

        PMPI_Barrier(MPI_COMM_WORLD); /* all begin at once, but some compute before they wait for much data */
        BEGUN(MPI_Iallreduce(much, result, MUCH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
        spin(2 * me);
        TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
        tell();
        for (int i = 0; i < n; i++) nxn += lost(i, entered[i], last()), advance += progress(i);

        PMPI_Barrier(MPI_COMM_WORLD); /* rank 1 has the lock of rank 0's window, rank 2 wants it */
        mark = 0;
        if (me == 1) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            PMPI_Send(&one, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
            spin(2);
            mark = now();
            MPI_Win_unlock(0, win);
        } else if (me == 2) {
            PMPI_Recv(&one, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            TIMED(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            MPI_Win_unlock(0, win);
        }
        tell();
        lock += lost(2, entered[2], marked[1]);

        PMPI_Barrier(MPI_COMM_WORLD); /* rank 1 and then rank 0 share a lock that rank 2 wants alone */
        mark = 0;
        if (me < 2) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
            PMPI_Send(&one, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
            spin(2 - me);
            mark = now();
            MPI_Win_unlock(0, win);
        } else {
            for (int i = 0; i < 2; i++) PMPI_Recv(&one, 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            TIMED(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            MPI_Win_unlock(0, win);
        }
        tell();
        lock += lost(2, entered[2], marked[0] > marked[1] ? marked[0] : marked[1]);

        PMPI_Barrier(MPI_COMM_WORLD); /* rank 2 has the lock, and the others want to share it */
        mark = 0;
        if (me == 2) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            for (int i = 0; i < 2; i++) PMPI_Send(&one, 1, MPI_INT, i, 0, MPI_COMM_WORLD);
            spin(2);
            mark = now();
            MPI_Win_unlock(0, win);
        } else {
            PMPI_Recv(&one, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            TIMED(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            PMPI_Sendrecv(&one, 1, MPI_INT, 1 - me, 0, &sum, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE); /* both have it */
            MPI_Win_unlock(0, win);
        }
        tell();
        for (int i = 0; i < 2; i++) lock += lost(i, entered[i], marked[2]);

        PMPI_Barrier(MPI_COMM_WORLD); /* neighbours: rank 0 does not need rank 2 */
        spin(2 * me);
        begin = now();
        TIMED(MPI_Neighbor_allgather(&one, 1, MPI_INT, few, 1, MPI_INT, chain));
        tell();
        near += lost(0, entered[0], begun[1]) + lost(1, entered[1], begun[2]) + lost(2, entered[2], begun[1]);

        PMPI_Barrier(MPI_COMM_WORLD); /* likewise, and computing meanwhile */
        spin(2 * me);
        BEGUN(MPI_Ineighbor_alltoall(few, 1, MPI_INT, few + 2, 1, MPI_INT, chain, &request));
        spin(1);
        TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
        tell();
        near += lost(0, entered[0], begun[1]) + lost(1, entered[1], begun[2]) + lost(2, entered[2], begun[1]);

        PMPI_Barrier(MPI_COMM_WORLD); /* rank 0 opens its window late; ranks 1 and 2 are late to be done */
        long long posted = 0, transferred = 0, completed = 0, inside = 0;
        if (me == 0) {
            spin(1);
            posted = now();
            MPI_Win_post(origins, 0, win);
            TIMED(MPI_Win_wait(win));
        } else {
            TIMED(MPI_Win_start(target, 0, win));
            begin = enter, mark = leave;
            MPI_Put(&one, 1, MPI_INT, 0, me, 1, MPI_INT, win);
            transferred = now();
            spin(me);
            completed = now();
            TIMED(MPI_Win_complete(win));
        }
        long long own[3] = {posted, transferred, completed}, all[3 * RANKS];
        PMPI_Allgather(own, 3, MPI_LONG_LONG, all, 3, MPI_LONG_LONG, MPI_COMM_WORLD);
        tell();
        for (int i = 1; i < n; i++) {
            inside = (all[0] < marked[i] ? all[0] : marked[i]) - begun[i];
            post += (inside > 0 ? inside : 0) + lost(i, entered[i], all[0]);
        }
        transferred = completed = 0;
        for (int i = 1; i < n; i++) {
            if (all[3 * i + 1] > transferred) transferred = all[3 * i + 1];
            if (all[3 * i + 2] > completed) completed = all[3 * i + 2];
        }
        early += lost(0, entered[0], completed), late += lost(0, transferred, completed);

        PMPI_Barrier(MPI_COMM_WORLD);
        enter = leave = 0;
        if (me == 0) TIMED(usleep(2 * MS * 1000));
        tell();
        naps += left[0] - entered[0];
    }
    MPI_Group_free(&world), MPI_Group_free(&target), MPI_Group_free(&origins);
    MPI_Comm_free(&chain);
    MPI_Win_free(&win);
    if (!me) {
        printf("wait-at-nxn %lld\nwait-at-barrier %lld\nlate-broadcast %lld\n", nxn, barrier, broadcast);
        printf("wait-for-progress %lld\nlock-contention %lld\n", advance, lock);
        printf("wait-at-neighbours %lld\n", near);
        printf("late-post %lld\nearly-wait %lld\nlate-complete %lld\nsleep %lld\n", post, early, late, naps);
    }
    MPI_Finalize();
    return 0;
}
