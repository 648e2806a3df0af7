/* sparselu BLOCKS SIZE: a sparse matrix of blocks is factored into L and U. Tasks depend on the blocks that
 * they use. */
#include "suite.h"

static int size;

static double *empty(void) {
    double *m = calloc((size_t)size * (size_t)size, sizeof *m);
    if (!m) abort();
    return m;
}

static double **matrix(int n) {
    double **blocks = calloc((size_t)n * (size_t)n, sizeof *blocks);
    uint64_t state = 1;
    if (!blocks) abort();
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (i != j && chance(&state) % 3) continue; /* two of three blocks have zeros only */
            double *m = blocks[i * n + j] = empty();
            for (int k = 0; k < size * size; k++) m[k] = chance(&state) % 1000 / 1000.0;
            for (int k = 0; i == j && k < size; k++) m[k * size + k] += 10.0 * n * size;
        }
    return blocks;
}

static void lu0(double *d) {
    for (int k = 0; k < size; k++)
        for (int i = k + 1; i < size; i++) {
            d[i * size + k] /= d[k * size + k];
            for (int j = k + 1; j < size; j++) d[i * size + j] -= d[i * size + k] * d[k * size + j];
        }
}

static void fwd(const double *d, double *row) {
    for (int j = 0; j < size; j++)
        for (int k = 0; k < size; k++)
            for (int i = k + 1; i < size; i++) row[i * size + j] -= d[i * size + k] * row[k * size + j];
}

static void bdiv(const double *d, double *col) {
    for (int i = 0; i < size; i++)
        for (int k = 0; k < size; k++) {
            col[i * size + k] /= d[k * size + k];
            for (int j = k + 1; j < size; j++) col[i * size + j] -= col[i * size + k] * d[k * size + j];
        }
}

static void bmod(const double *col, const double *row, double *in) {
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            for (int k = 0; k < size; k++) in[i * size + j] -= col[i * size + k] * row[k * size + j];
}

/* factor uses tasks, or none where serial. What creates tasks makes the blocks that fill in. */
static void factor(double **m, int n, int serial) {
    for (int k = 0; k < n; k++) {
        double *d = m[k * n + k];
        if (serial) {
            lu0(d);
        } else {
            task_made();
#pragma omp task depend(inout : d[0])
            lu0(d);
        }
        for (int j = k + 1; j < n; j++) {
            double *row = m[k * n + j];
            if (!row) continue;
            if (serial) {
                fwd(d, row);
                continue;
            }
            task_made();
#pragma omp task depend(in : d[0]) depend(inout : row[0])
            fwd(d, row);
        }
        for (int i = k + 1; i < n; i++) {
            double *col = m[i * n + k];
            if (!col) continue;
            if (serial) {
                bdiv(d, col);
                continue;
            }
            task_made();
#pragma omp task depend(in : d[0]) depend(inout : col[0])
            bdiv(d, col);
        }
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++) {
                double *col = m[i * n + k], *row = m[k * n + j], *in = m[i * n + j];
                if (!col || !row) continue;
                if (!in) in = m[i * n + j] = empty();
                if (serial) {
                    bmod(col, row, in);
                    continue;
                }
                task_made();
#pragma omp task depend(in : col[0], row[0]) depend(inout : in[0])
                bmod(col, row, in);
            }
    }
}

/* compared adds up a matrix, and tells whether two are alike. It frees them. */
static int compared(double **m, double **right, int n, double *sum) {
    int same = 1;
    for (int i = 0; i < n * n; i++) {
        double *a = m[i], *b = right[i];
        if (!a != !b || (a && memcmp(a, b, (size_t)(size * size) * sizeof *a))) same = 0;
        for (int k = 0; a && k < size * size; k++) *sum += a[k];
        free(a);
        free(b);
    }
    free(m);
    free(right);
    return same;
}

int main(int argc, char **argv) {
    int n = argument(argc, argv, 1, 8);
    size = argument(argc, argv, 2, 8);
    double **m = matrix(n), **right = matrix(n), sum = 0;
    double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    factor(m, n, 0);
    double seconds = omp_get_wtime() - start;
    factor(right, n, 1);
    int same = compared(m, right, n, &sum);
    return told("sparselu", seconds, (long)sum, same);
}
