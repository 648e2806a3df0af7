/* The potential in a square whose edges are held, by Jacobi's iteration, in two ways.
 *
 *     ./jacobi root [SIDE] [ITERATIONS]    PE 0 fetches all rows and finds the largest change
 *     ./jacobi all [SIDE] [ITERATIONS]     each PE finds that of its own rows; a reduction takes the largest
 *
 * SIDE (default 1000) points along an edge; ITERATIONS (default 200). Both print the same. */
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, pes;
static long side, rows; /* rows of a PE, without those of its neighbours */
static double *old, *new; /* shared: a row of the neighbour above, the PE's, one of the neighbour below */
static double *theirs[2];
static double largest, change, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long sync_[SHMEM_REDUCE_SYNC_SIZE], sync_all[SHMEM_BCAST_SYNC_SIZE];

static void exchange(void) {
    size_t row = (size_t)side * sizeof *old;
    if (me > 0) shmem_putmem(old + (rows + 1) * side, old + side, row, me - 1);
    if (me < pes - 1) shmem_putmem(old, old + rows * side, row, me + 1);
    shmem_barrier_all();
}

static void sweep(void) {
    for (long r = 1; r <= rows; r++) {
        long y = me * rows + r - 1;
        for (long x = 0; x < side; x++) {
            double *at = old + r * side + x;
            int edge = x == 0 || x == side - 1 || y == 0 || y == pes * rows - 1;
            new[r * side + x] = edge ? *at : (at[-1] + at[1] + at[-side] + at[side]) / 4;
        }
    }
}

static double largest_change(const double *a, const double *b) {
    double most = 0;
    for (long i = side; i < (rows + 1) * side; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* change_at_root: PE 0 compares all rows of all PEs, and tells the others. */
static void change_at_root(void) {
    size_t bytes = (size_t)((rows + 2) * side) * sizeof *old;
    shmem_barrier_all();
    if (me == 0) {
        largest = 0;
        for (int pe = 0; pe < pes; pe++) {
            shmem_getmem(theirs[0], old, bytes, pe);
            shmem_getmem(theirs[1], new, bytes, pe);
            largest = fmax(largest, largest_change(theirs[0], theirs[1]));
        }
        change = largest;
    }
    shmem_barrier_all();
    shmem_broadcast64(&change, &largest, 1, 0, 0, 0, pes, sync_all);
    shmem_barrier_all();
}

/* change_of_all: each PE compares its own rows. */
static void change_of_all(void) {
    largest = largest_change(old, new);
    shmem_double_max_to_all(&change, &largest, 1, 0, 0, pes, work, sync_);
    shmem_barrier_all();
}

int main(int argc, char **argv) {
    side = argc > 2 ? atol(argv[2]) : 1000;
    int iterations = argc > 3 ? atoi(argv[3]) : 200;
    int all = argc > 1 && strcmp(argv[1], "all") == 0;
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) sync_[i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++) sync_all[i] = SHMEM_SYNC_VALUE;
    shmem_init();
    me = shmem_my_pe(), pes = shmem_n_pes();
    if ((!all && (argc < 2 || strcmp(argv[1], "root") != 0)) || side < pes) {
        if (me == 0) fprintf(stderr, "usage: jacobi root|all [SIDE] [ITERATIONS]\n");
        shmem_global_exit(2);
    }
    rows = side / pes;
    size_t bytes = (size_t)((rows + 2) * side) * sizeof *old;
    old = shmem_malloc(bytes), new = shmem_malloc(bytes);
    theirs[0] = malloc(bytes), theirs[1] = malloc(bytes);
    for (long i = 0; i < (rows + 2) * side; i++) old[i] = new[i] = i % side == 0 ? 1 : 0;
    for (int i = 0; i < iterations; i++) {
        exchange();
        sweep();
        all ? change_of_all() : change_at_root();
        double *swap = old;
        old = new, new = swap;
    }
    if (me == 0) printf("after %d iterations the largest change is %.9f\n", iterations, change);
    shmem_finalize();
    return 0;
}
