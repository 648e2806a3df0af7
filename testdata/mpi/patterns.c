/* Loses time in MPI on purpose, in one way after the other, and prints how much by its own clock, by the
 * names of the patterns. Run it with 3 ranks or more. Ranks that are late spin by the clock, so that the
 * delays are those that were designed however busy the machine is. What it needs for that it does with PMPI,
 * which is not recorded. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5, MS = 4 /* of each delay */, RANKS = 16 };

static int me, n;
static long long entered[RANKS], left[RANKS], marked[RANKS];

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

__attribute__((noinline)) static void spin(int units) {
    long long end = now() + units * MS * 1000000LL;
    while (now() < end) {}
}

static long long enter, leave, mark; /* mark: another moment */
#define TIMED(CALL) (enter = now(), CALL, leave = now())

/* tell gives everybody when each rank entered and left the call just timed, and its mark. */
static void tell(void) {
    long long own[3] = {enter, leave, mark}, all[3 * RANKS];
    PMPI_Allgather(own, 3, MPI_LONG_LONG, all, 3, MPI_LONG_LONG, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) entered[i] = all[3 * i], left[i] = all[3 * i + 1], marked[i] = all[3 * i + 2];
}

/* lost is how long a rank waited from its entry until a time, in the call just timed. */
static long long lost(int rank, long long until) {
    if (until > left[rank]) until = left[rank];
    return until > entered[rank] ? until - entered[rank] : 0;
}

static long long last(void) {
    long long t = entered[0];
    for (int i = 1; i < n; i++)
        if (entered[i] > t) t = entered[i];
    return t;
}

static long long all_until_last(void) {
    long long sum = 0;
    for (int i = 0; i < n; i++) sum += lost(i, last());
    return sum;
}

static void begin(void) { PMPI_Barrier(MPI_COMM_WORLD); }

static long long late_sender, wrong_order, late_receiver, barrier, nxn, broadcast, reduce, prefix;
static long long sends;

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (n < 3 || n > RANKS) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm backwards;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &backwards);
    int *base, one = 1, got[4] = {0, 0, 0, 0};
    MPI_Win win;
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    PMPI_Win_fence(0, win);
    MPI_Request sender, receiver, requests[2];
    MPI_Send_init(&one, 1, MPI_INT, 1, 9, backwards, &sender);
    MPI_Recv_init(got, 1, MPI_INT, n - 1, 9, backwards, &receiver);

    for (int round = 0; round < ROUNDS; round++) {
        begin(); /* rank 0 sends late */
        if (me == 0) spin(1), TIMED(MPI_Send(&one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
        else if (me == 1) TIMED(MPI_Recv(got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
            MPI_STATUS_IGNORE));
        tell();
        late_sender += lost(1, entered[0]), sends++;

        begin(); /* ranks 0 and 2 send late, to a rank that waits for both */
        if (me == 0) {
            spin(1), TIMED(MPI_Send(&one, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
        } else if (me == 2) {
            spin(2), TIMED(MPI_Isend(&one, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[0]));
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else if (me == 1) {
            MPI_Irecv(got, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(got + 1, 1, MPI_INT, 2, 3, MPI_COMM_WORLD, &requests[1]);
            TIMED(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        }
        tell();
        late_sender += lost(1, entered[0] > entered[2] ? entered[0] : entered[2]), sends += 2;

        begin(); /* the same messages again, by ranks that count backwards */
        if (me == n - 2) {
            spin(0);
            MPI_Start(&receiver);
            TIMED(MPI_Wait(&receiver, MPI_STATUS_IGNORE));
        } else if (me == 0) {
            spin(1);
            TIMED(MPI_Start(&sender));
            MPI_Wait(&sender, MPI_STATUS_IGNORE);
        }
        tell();
        late_sender += lost(n - 2, entered[0]), sends++;

        begin(); /* a message that is there is received after one that is not */
        if (me == 0) {
            MPI_Send(&one, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
            spin(1), TIMED(MPI_Send(&one, 1, MPI_INT, 1, 4, MPI_COMM_WORLD));
        } else if (me == 1) {
            TIMED(MPI_Recv(got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            MPI_Recv(got, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        tell();
        wrong_order += lost(1, entered[0]), sends += 2;

        begin(); /* rank 1 receives late what rank 0 must not buffer,
            then rank 2 what it sends without waiting */
        if (me == 0) TIMED(MPI_Ssend(&one, 1, MPI_INT, 1, 6, MPI_COMM_WORLD));
        else if (me == 1) spin(1), TIMED(MPI_Recv(got, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        tell();
        late_receiver += lost(0, entered[1]), late_sender += lost(1, entered[0]), sends++;
        begin();
        if (me == 0) {
            mark = now();
            MPI_Issend(&one, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, &requests[0]);
            TIMED(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        } else if (me == 2) {
            spin(1), TIMED(MPI_Recv(got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE));
        }
        tell();
        late_receiver += lost(0, entered[2]), late_sender += lost(2, marked[0]), sends++;

        begin();
        spin(me % 3), TIMED(MPI_Barrier(MPI_COMM_WORLD));
        tell(), barrier += all_until_last();
        begin();
        spin((me + 1) % 3), TIMED(MPI_Barrier(backwards));
        tell(), barrier += all_until_last();
        begin();
        if (me == 2) MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        spin(me == 1), TIMED(MPI_Win_fence(0, win));
        tell(), barrier += all_until_last();
        begin();
        spin(me % 3), TIMED(MPI_Allreduce(&one, got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        tell(), nxn += all_until_last();

        begin(); /* the root is late */
        spin(me == 1), TIMED(MPI_Bcast(got, 4, MPI_INT, 1, MPI_COMM_WORLD));
        tell();
        for (int i = 0; i < n; i++)
            if (i != 1) broadcast += lost(i, entered[1]);
        begin(); /* all but the root are late */
        spin(me != 1), TIMED(MPI_Reduce(&one, got, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD));
        tell();
        long long first = entered[0];
        for (int i = 0; i < n; i++)
            if (i != 1 && entered[i] < first) first = entered[i];
        reduce += lost(1, first);
        begin(); /* rank 0 is late, which all others depend on */
        spin(me == 0), TIMED(MPI_Scan(&one, got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        tell();
        long long until = entered[0];
        for (int i = 1; i < n; i++) {
            if (entered[i] > until) until = entered[i];
            prefix += lost(i, until);
        }
    }
    MPI_Request_free(&sender);
    MPI_Request_free(&receiver);
    MPI_Win_free(&win);
    MPI_Comm_free(&backwards);
    if (!me) {
        printf("wrong-order %lld\nlate-sender %lld\nlate-receiver %lld\n", wrong_order,
               late_sender + wrong_order, late_receiver);
        printf("wait-at-barrier %lld\nwait-at-nxn %lld\nlate-broadcast %lld\n", barrier, nxn, broadcast);
        printf("early-reduce %lld\nearly-prefix %lld\n", reduce, prefix);
        printf("sends %lld\n", sends);
    }
    MPI_Finalize();
    return 0;
}
