/* Three kernels as in many MPI programs: a stencil with a halo, conjugate gradients, a sample sort. Each
 * prints a result that does not depend on the time. */

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int me, n;

/* stencil smooths a row of cells, whose edges go around to the neighbours while the inner cells are computed.
 * */
static double stencil(int cells, int steps) {
    double *a = calloc((size_t)cells + 2, sizeof *a), *b = calloc((size_t)cells + 2, sizeof *b), sum = 0,
        all = 0;
    int left = (me + n - 1) % n, right = (me + 1) % n;
    for (int i = 1; i <= cells; i++) a[i] = (me * cells + i) % 17;
    for (int s = 0; s < steps; s++) {
        MPI_Request r[4];
        MPI_Irecv(&a[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(&a[cells + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[1]);
        MPI_Isend(&a[cells], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &r[2]);
        MPI_Isend(&a[1], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[3]);
        for (int i = 2; i < cells; i++) b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        b[1] = (a[0] + a[1] + a[2]) / 3;
        b[cells] = (a[cells - 1] + a[cells] + a[cells + 1]) / 3;
        double *turn = a;
        a = b;
        b = turn;
    }
    for (int i = 1; i <= cells; i++) sum += a[i] * a[i];
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    free(a);
    free(b);
    return all;
}

static double dot(const double *x, const double *y, int rows) {
    double sum = 0, all;
    for (int i = 1; i <= rows; i++) sum += x[i] * y[i];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* gradients solves a system with 4 on the diagonal and -1 beside it; it returns the sum of the solution. */
static double gradients(int rows, int steps) {
    size_t size = (size_t)rows + 2;
    double *x = calloc(size, sizeof *x), *r = calloc(size, sizeof *r), *p = calloc(size, sizeof *p),
           *q = calloc(size, sizeof *q), *one = calloc(size, sizeof *one);
    int left = me ? me - 1 : MPI_PROC_NULL, right = me < n - 1 ? me + 1 : MPI_PROC_NULL;
    for (int i = 1; i <= rows; i++) r[i] = p[i] = 1 + (me * rows + i) % 5, one[i] = 1;
    double old = dot(r, r, rows);
    for (int s = 0; s < steps; s++) {
        MPI_Sendrecv(&p[rows], 1, MPI_DOUBLE, right, 0, &p[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(&p[1], 1, MPI_DOUBLE, left, 1, &p[rows + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int i = 1; i <= rows; i++) q[i] = 4 * p[i] - p[i - 1] - p[i + 1];
        double step = old / dot(p, q, rows);
        for (int i = 1; i <= rows; i++) x[i] += step * p[i], r[i] -= step * q[i];
        double new = dot(r, r, rows);
        for (int i = 1; i <= rows; i++) p[i] = r[i] + new / old * p[i];
        old = new;
    }
    double sum = dot(x, one, rows);
    free(x), free(r), free(p), free(q), free(one);
    return sum;
}

static int compare(const void *a, const void *b) { return (*(int *)a > *(int *)b) - (*(int *)a < *(int *)b); }

/* sort sorts numbers of all ranks by samples; it returns how many are out of place, and -1 if some are lost.
 * */
static int sort(int count) {
    int *own = malloc((size_t)count * sizeof *own), *samples = malloc((size_t)(n * n) * sizeof *samples);
    int *to = calloc((size_t)n, sizeof *to), *from = calloc((size_t)n, sizeof *from);
    int *at = calloc((size_t)n + 1, sizeof *at), *into = calloc((size_t)n + 1, sizeof *into), *cuts = samples;
    unsigned seed = (unsigned)me + 1;
    for (int i = 0; i < count; i++) own[i] = (int)((seed = seed * 1103515245u + 12345u) >> 8);
    qsort(own, (size_t)count, sizeof *own, compare);
    int some[64];
    for (int i = 0; i < n; i++) some[i] = own[i * (count / n)];
    MPI_Gather(some, n, MPI_INT, samples, n, MPI_INT, 0, MPI_COMM_WORLD);
    if (!me) {
        qsort(samples, (size_t)(n * n), sizeof *samples, compare);
        for (int i = 1; i < n; i++) cuts[i - 1] = samples[i * n];
    }
    MPI_Bcast(cuts, n - 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0, k = 0; i < count; i++) {
        while (k < n - 1 && own[i] >= cuts[k]) k++;
        to[k]++;
    }
    MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) at[i + 1] = at[i] + to[i], into[i + 1] = into[i] + from[i];
    int *mine = malloc((size_t)(into[n] + 1) * sizeof *mine), wrong = 0, all, total;
    MPI_Alltoallv(own, to, at, MPI_INT, mine, from, into, MPI_INT, MPI_COMM_WORLD);
    qsort(mine, (size_t)into[n], sizeof *mine, compare);
    for (int i = 0; i < into[n]; i++) wrong += (me && mine[i] < cuts[me - 1]) || (me < n - 1 && mine[i] >=
        cuts[me]);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&into[n], &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    free(own), free(samples), free(to), free(from), free(at), free(into), free(mine);
    return total == n * count ? all : -1;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    double cells = stencil(1000, 50), solution = gradients(1000, 20);
    int wrong = sort(4000);
    if (!me) printf("stencil %.9e\ngradients %.9e\nsort %d\n", cells, solution, wrong);
    MPI_Finalize();
    return 0;
}
