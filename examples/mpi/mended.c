/* slow.c with the work divided evenly instead of the cells: ranks at the hard end have fewer. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 240000, HARD = CELLS / 4, TIMES = 9 };

static double *old, *new;
static int first, count; /* cells of this rank: first, ..., first + count - 1 */

/* cell computes one cell, TIMES times if it is hard. There are far too many calls to record each. */
__attribute__((no_instrument_function)) static double cell(int i) {
    double value = old[i];
    for (int k = first + i - 1 < HARD ? TIMES : 1; k > 0; k--)
        value += 0.1 * (old[i - 1] - 2 * value + old[i + 1]);
    return value;
}

__attribute__((noinline)) static void compute(void) {
    for (int i = 1; i <= count; i++) new[i] = cell(i);
    double *turn = old;
    old = new;
    new = turn;
}

/* exchange gives the neighbours the cells at the edges. */
static void exchange(int left, int right) {
    MPI_Sendrecv(&old[1], 1, MPI_DOUBLE, left, 0, &old[count + 1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&old[count], 1, MPI_DOUBLE, right, 1, &old[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* begin is the first cell of a rank: so many that the work before it is its share. */
static int begin(int rank, int n) {
    const long hard = (long)HARD * TIMES, work = (hard + CELLS - HARD) * rank / n;
    return (int)(work < hard ? work / TIMES : HARD + work - hard);
}

int main(int argc, char **argv) {
    int me, n, steps = argc > 1 ? atoi(argv[1]) : 200;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    first = begin(me, n);
    count = begin(me + 1, n) - first;
    old = calloc((size_t)count + 2, sizeof *old);
    new = calloc((size_t)count + 2, sizeof *new);
    if (!old || !new) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 1; i <= count; i++) old[i] = (first + i) % 100;
    int left = me ? me - 1 : MPI_PROC_NULL, right = me < n - 1 ? me + 1 : MPI_PROC_NULL;
    for (int s = 0; s < steps; s++) {
        exchange(left, right);
        compute();
    }
    double sum = 0, all = 0;
    for (int i = 1; i <= count; i++) sum += old[i];
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!me) printf("%.3f\n", all);
    MPI_Finalize();
    return 0;
}
