/* CG: a sparse system of equations, solved by conjugate gradients. A thread has a block of rows. Before each
 * product it gets the vector's other blocks from their threads, a few elements at a time. Arguments: rows
 * (default 20000), pairs of elements beside the diagonal (default 12), steps (default 25), elements in a
 * transfer (default 64), number of solutions (default 1). */
#include "kernel.h"

typedef struct {
    long rows, pairs, chunk, first, mine;
    long *offsets;
    upc_pts p; /* shared */
    double *whole, *x, *r, *q;
} solver;

static double element(uint64_t i, uint64_t j) {
    return -0.1 - kernel_unit(i < j ? i << 32 | j : j << 32 | i);
}

/* gather gets the parts of p that other threads have. */
static void gather(solver *s, long portion) {
    UPC_FUNCTION;
    for (int k = 0; k < THREADS; k++) {
        int t = (MYTHREAD + k) % THREADS;
        long from = portion * t, n = s->rows - from < portion ? s->rows - from : portion;
        upc_pts src = upc_block(s->p, (size_t)t, (size_t)portion * sizeof(double));
        if (t == MYTHREAD && n > 0) memcpy(s->whole + from, upc_cast(src), (size_t)n * sizeof(double));
        for (long i = 0; t != MYTHREAD && i < n; i += s->chunk) {
            long some = n - i < s->chunk ? n - i : s->chunk;
            upc_memget(s->whole + from + i, upc_add(src, i * (long)sizeof(double)),
                       (size_t)some * sizeof(double));
        }
    }
}

/* multiply computes q = A p, and returns this thread's part of p q. */
static long multiply(solver *s, const double *values) {
    UPC_FUNCTION;
    long part = 0;
    for (long i = 0; i < s->mine; i++) {
        long row = s->first + i;
        const double *v = values + i * (2 * s->pairs + 1);
        double sum = v[0] * s->whole[row];
        for (long k = 0; k < s->pairs; k++) {
            long up = row + s->offsets[k], down = row - s->offsets[k];
            sum += v[2 * k + 1] * s->whole[up < s->rows ? up : up - s->rows] +
                   v[2 * k + 2] * s->whole[down >= 0 ? down : down + s->rows];
        }
        s->q[i] = sum;
        part += kernel_fixed(sum * s->whole[row]);
    }
    return part;
}

/* matrix makes a symmetric matrix, which is positive definite because the diagonal dominates. */
static double *matrix(const solver *s) {
    UPC_FUNCTION;
    double *values = kernel_memory((size_t)s->mine * (size_t)(2 * s->pairs + 1) * sizeof *values);
    for (long i = 0; i < s->mine; i++) {
        double *v = values + i * (2 * s->pairs + 1);
        uint64_t row = (uint64_t)(s->first + i), rows = (uint64_t)s->rows;
        v[0] = 1;
        for (long k = 0; k < s->pairs; k++) {
            uint64_t d = (uint64_t)s->offsets[k];
            v[2 * k + 1] = element(row, (row + d) % rows);
            v[2 * k + 2] = element(row, (row + rows - d) % rows);
            v[0] -= v[2 * k + 1] + v[2 * k + 2];
        }
    }
    return values;
}

static void solve(solver *s, kernel_sums sums, const double *values, long portion, long steps) {
    UPC_FUNCTION;
    double *p = upc_cast(upc_block(s->p, (size_t)MYTHREAD, (size_t)portion * sizeof(double)));
    long part = 0;
    for (long i = 0; i < s->mine; i++) {
        s->x[i] = 0;
        s->r[i] = p[i] = kernel_unit((uint64_t)(s->first + i)) - 0.5;
        part += kernel_fixed(s->r[i] * s->r[i]);
    }
    double rr = kernel_real(kernel_sum(sums, part)), first = rr;
    upc_barrier();
    for (long step = 0; step < steps; step++) {
        gather(s, portion);
        double pq = kernel_real(kernel_sum(sums, multiply(s, values)));
        if (pq <= 0) break; /* as exact as numbers in these units can be */
        double alpha = rr / pq;
        part = 0;
        for (long i = 0; i < s->mine; i++) {
            s->x[i] += alpha * p[i];
            s->r[i] -= alpha * s->q[i];
            part += kernel_fixed(s->r[i] * s->r[i]);
        }
        double next = kernel_real(kernel_sum(sums, part));
        for (long i = 0; i < s->mine; i++) p[i] = s->r[i] + next / rr * p[i];
        rr = next;
        upc_barrier();
        if (rr <= 0) break;
    }
    if (rr > first * 0.5) kernel_fail("it does not converge");
}

int upc_main(int argc, char **argv) {
    UPC_FUNCTION;
    solver s = {.rows = kernel_number(argc, argv, 1, 20000, 64),
                .pairs = kernel_number(argc, argv, 2, 12, 1)};
    long steps = kernel_number(argc, argv, 3, 25, 1);
    s.chunk = kernel_number(argc, argv, 4, 64, 1);
    long portion = (s.rows + THREADS - 1) / THREADS;
    s.first = portion * MYTHREAD < s.rows ? portion * MYTHREAD : s.rows;
    s.mine = s.rows - s.first < portion ? s.rows - s.first : portion;
    s.offsets = kernel_memory((size_t)s.pairs * sizeof(long));
    for (long k = 0; k < s.pairs; k++)
        s.offsets[k] = 1 + (long)(kernel_hash((uint64_t)k) % (uint64_t)(s.rows / 2 - 1));
    size_t bytes = (size_t)portion * sizeof(double);
    s.whole = kernel_memory((size_t)s.rows * sizeof(double));
    s.x = kernel_memory(bytes), s.r = kernel_memory(bytes), s.q = kernel_memory(bytes);
    double *values = matrix(&s);
    s.p = upc_all_alloc((size_t)THREADS, bytes);
    kernel_sums sums = kernel_sums_new();
    upc_barrier();
    int64_t start = upc_now();
    for (long times = kernel_number(argc, argv, 5, 1, 1); times; times--)
        solve(&s, sums, values, portion, steps);
    uint64_t mine = 0;
    for (long i = 0; i < s.mine; i++)
        mine ^= kernel_hash((uint64_t)(s.first + i) * 1000003 + (uint64_t)kernel_fixed(s.x[i]));
    kernel_end("cg", kernel_check(sums, mine), start);
    free(s.offsets), free(s.whole), free(s.x), free(s.r), free(s.q), free(values);
    return 0;
}
