/* strassen N BLOCK: a product of matrices of N x N by Strassen's seven products, each a task, down to blocks.
 * N is BLOCK times a power of two. All numbers are small integers, so that the result is exact. */
#include "suite.h"

static int block;

static double *room(int n) {
    double *m = malloc((size_t)n * (size_t)n * sizeof *m);
    if (!m) abort();
    return m;
}

/* add makes c of a + sign * b: n x n, of rows that are so far apart. */
static void add(int n, const double *a, int ra, double sign, const double *b, int rb, double *c, int rc) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) c[i * rc + j] = a[i * ra + j] + sign * b[i * rb + j];
}

static void multiply(int n, const double *a, int ra, const double *b, int rb, double *c, int rc) {
    for (int i = 0; i < n; i++) {
        memset(c + i * rc, 0, (size_t)n * sizeof *c);
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[i * rc + j] += a[i * ra + k] * b[k * rb + j];
    }
}

static void product(int n, const double *a, int ra, const double *b, int rb, double *c, int rc);

/* one is one of the seven products: of two sums, whose second terms may be missing. */
static void one(int h, const double *a, const double *a2, double sa, int ra, const double *b,
                const double *b2, double sb, int rb, double *m) {
    double *x = 0, *y = 0;
    if (a2) add(h, a, ra, sa, a2, ra, x = room(h), h);
    if (b2) add(h, b, rb, sb, b2, rb, y = room(h), h);
    product(h, x ? x : a, x ? h : ra, y ? y : b, y ? h : rb, m, h);
    free(x);
    free(y);
}

static void product(int n, const double *a, int ra, const double *b, int rb, double *c, int rc) {
    if (n <= block || n % 2) {
        multiply(n, a, ra, b, rb, c, rc);
        return;
    }
    int h = n / 2;
    const double *a11 = a, *a12 = a + h, *a21 = a + h * ra, *a22 = a21 + h;
    const double *b11 = b, *b12 = b + h, *b21 = b + h * rb, *b22 = b21 + h;
    double *m[7];
    for (int i = 0; i < 7; i++) {
        m[i] = room(h);
        task_made();
    }
#pragma omp task
    one(h, a11, a22, 1, ra, b11, b22, 1, rb, m[0]);
#pragma omp task
    one(h, a21, a22, 1, ra, b11, 0, 0, rb, m[1]);
#pragma omp task
    one(h, a11, 0, 0, ra, b12, b22, -1, rb, m[2]);
#pragma omp task
    one(h, a22, 0, 0, ra, b21, b11, -1, rb, m[3]);
#pragma omp task
    one(h, a11, a12, 1, ra, b22, 0, 0, rb, m[4]);
#pragma omp task
    one(h, a21, a11, -1, ra, b11, b12, 1, rb, m[5]);
#pragma omp task
    one(h, a12, a22, -1, ra, b21, b22, 1, rb, m[6]);
#pragma omp taskwait
    for (int i = 0; i < h; i++)
        for (int j = 0; j < h; j++) {
            int k = i * h + j;
            c[i * rc + j] = m[0][k] + m[3][k] - m[4][k] + m[6][k];
            c[i * rc + j + h] = m[2][k] + m[4][k];
            c[(i + h) * rc + j] = m[1][k] + m[3][k];
            c[(i + h) * rc + j + h] = m[0][k] - m[1][k] + m[2][k] + m[5][k];
        }
    for (int i = 0; i < 7; i++) free(m[i]);
}

int main(int argc, char **argv) {
    int n = argument(argc, argv, 1, 64);
    block = argument(argc, argv, 2, 16);
    double *a = room(n), *b = room(n), *c = room(n), *right = room(n), sum = 0;
    uint64_t state = 1;
    for (int i = 0; i < n * n; i++) {
        a[i] = chance(&state) % 9;
        b[i] = chance(&state) % 9;
    }
    double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    product(n, a, n, b, n, c, n);
    double seconds = omp_get_wtime() - start;
    multiply(n, a, n, b, n, right, n);
    for (int i = 0; i < n * n; i++) sum += c[i];
    int same = !memcmp(c, right, (size_t)n * (size_t)n * sizeof *c);
    free(a), free(b), free(c), free(right);
    return told("strassen", seconds, (long)sum, same);
}
