/* Ranks with two threads each, which call MPI outside of parallel regions and inside of them. Rank 1 waits
 * for rank 0, which spins before it sends; it prints how long, by its own clock: the messages are times. */

#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <time.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void spin(int ms) {
    long long end = now() + ms * 1000000LL;
    while (now() < end) {}
}

/* pass is a message from rank 0 to rank 1, which returns how long it waited for its sending. */
static long long pass(int me, int ms, int tag) {
    long long time, since;
    if (me == 0) {
        spin(ms);
        time = now();
        MPI_Send(&time, 1, MPI_LONG_LONG, 1, tag, MPI_COMM_WORLD);
        return 0;
    }
    since = now();
    MPI_Recv(&time, 1, MPI_LONG_LONG, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return time > since ? time - since : 0;
}

int main(int argc, char **argv) {
    int me, level, sum = 0;
    long long waited;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (level < MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 1);
#pragma omp parallel num_threads(2)
    spin(omp_get_thread_num() ? 40 : 10);
    waited = pass(me, 60, 1); /* outside of regions */
    long long of[2] = {0, 0};
#pragma omp parallel num_threads(2)
    of[omp_get_thread_num()] = pass(me, omp_get_thread_num() ? 50 : 30, 2 + omp_get_thread_num());
#pragma omp parallel num_threads(2)
    {
        spin(5);
#pragma omp master
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (me) printf("late-sender %lld\nsum %d\n", waited + of[0] + of[1], sum);
    MPI_Finalize();
    return 0;
}
