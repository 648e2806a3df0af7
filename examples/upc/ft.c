/* FT: a heat equation in a periodic cube, by Fourier transforms. A thread has planes of the cube. For the
 * transform across planes the cube is turned: each thread gets its part of every plane from the others.
 * Arguments: points along an edge (default 32; a power of two, and a multiple of the number of threads),
 * steps (default 4). */
#include "kernel.h"

typedef struct { double re, im; } complex_t;

typedef struct {
    long n, part; /* edge; planes of a thread */
    upc_pts planes, turned; /* shared: [z of the thread][y][x]; [z][y of the thread][x] */
    complex_t *twiddles, *line;
} cube;

static size_t bytes(const cube *c) { return (size_t)(c->part * c->n * c->n) * sizeof(complex_t); }
static complex_t *own(const cube *c, upc_pts p) { return upc_cast(upc_block(p, (size_t)MYTHREAD, bytes(c))); }

/* transform replaces a line of n points, stride apart, by its transform. direction is 1 or -1. */
static void transform(const cube *c, complex_t *at, long stride, int direction) {
    long n = c->n;
    complex_t *a = c->line;
    for (long i = 0, j = 0; i < n; i++) {
        a[j] = at[i * stride];
        long bit = n >> 1;
        while (j & bit) j ^= bit, bit >>= 1;
        j |= bit;
    }
    for (long half = 1; half < n; half *= 2)
        for (long i = 0; i < n; i += 2 * half)
            for (long k = 0; k < half; k++) {
                complex_t w = c->twiddles[k * (n / 2 / half)], u = a[i + k], v = a[i + k + half];
                w.im *= direction;
                complex_t t = {v.re * w.re - v.im * w.im, v.re * w.im + v.im * w.re};
                a[i + k] = (complex_t){u.re + t.re, u.im + t.im};
                a[i + k + half] = (complex_t){u.re - t.re, u.im - t.im};
            }
    for (long i = 0; i < n; i++) at[i * stride] = a[i];
}

static void along_planes(const cube *c, complex_t *planes, int direction) {
    UPC_FUNCTION;
    for (long z = 0; z < c->part; z++) {
        for (long y = 0; y < c->n; y++) transform(c, planes + (z * c->n + y) * c->n, 1, direction);
        for (long x = 0; x < c->n; x++) transform(c, planes + z * c->n * c->n + x, c->n, direction);
    }
}

static void across_planes(const cube *c, complex_t *turned, int direction) {
    UPC_FUNCTION;
    for (long i = 0; i < c->part * c->n; i++) transform(c, turned + i, c->part * c->n, direction);
}

/* turn gets this thread's rows of all planes. With back it gets its planes' rows from all threads. */
static void turn(const cube *c, complex_t *to, int back) {
    UPC_FUNCTION;
    long rows = c->part * c->n; /* points of a piece, which is contiguous on both sides */
    for (int k = 0; k < THREADS; k++) {
        int t = (MYTHREAD + k) % THREADS;
        upc_pts from = upc_block(back ? c->turned : c->planes, (size_t)t, bytes(c));
        for (long z = 0; z < c->part; z++) {
            long there = back ? (MYTHREAD * c->part + z) * rows : z * c->n * c->n + MYTHREAD * rows;
            long here = back ? z * c->n * c->n + t * rows : (t * c->part + z) * rows;
            upc_memget(to + here, upc_add(from, there * (long)sizeof(complex_t)),
                       (size_t)rows * sizeof(complex_t));
        }
    }
}

static double energy(const cube *c, kernel_sums sums, const complex_t *a, double scale) {
    long sum = 0;
    for (long i = 0; i < c->part * c->n * c->n; i++)
        sum += kernel_fixed((a[i].re * a[i].re + a[i].im * a[i].im) * scale);
    return kernel_real(kernel_sum(sums, sum));
}

/* evolve computes the transform of a step from that of the start, in the shared memory that others read. */
static void evolve(const cube *c, const complex_t *start, complex_t *now, long step) {
    UPC_FUNCTION;
    double scale = 1.0 / (double)(c->n * c->n * c->n);
    for (long z = 0; z < c->n; z++)
        for (long y = 0; y < c->part; y++)
            for (long x = 0; x < c->n; x++) {
                long i = (z * c->part + y) * c->n + x, ky = MYTHREAD * c->part + y;
                long k[3] = {x, ky, z}, square = 0;
                for (int d = 0; d < 3; d++)
                    k[d] = k[d] < c->n / 2 ? k[d] : k[d] - c->n, square += k[d] * k[d];
                double f = scale * exp(-4e-4 * (double)(square * step));
                now[i] = (complex_t){start[i].re * f, start[i].im * f};
            }
}

int upc_main(int argc, char **argv) {
    UPC_FUNCTION;
    cube c = {.n = kernel_number(argc, argv, 1, 32, 4)};
    long steps = kernel_number(argc, argv, 2, 4, 1);
    if (c.n & (c.n - 1) || c.n % THREADS)
        kernel_fail("the edge must be a power of two and a multiple of the number of threads");
    c.part = c.n / THREADS;
    c.planes = upc_all_alloc((size_t)THREADS, bytes(&c));
    c.turned = upc_all_alloc((size_t)THREADS, bytes(&c));
    c.twiddles = kernel_memory((size_t)c.n * sizeof(complex_t));
    c.line = kernel_memory((size_t)c.n * sizeof(complex_t));
    for (long k = 0; k < c.n / 2; k++)
        c.twiddles[k] = (complex_t){cos(2 * M_PI * (double)k / (double)c.n),
                                    sin(2 * M_PI * (double)k / (double)c.n)};
    complex_t *start = kernel_memory(bytes(&c)), *planes = own(&c, c.planes);
    long points = c.part * c.n * c.n;
    for (long i = 0; i < points; i++) {
        uint64_t at = (uint64_t)(MYTHREAD * points + i);
        planes[i] = (complex_t){kernel_unit(2 * at), kernel_unit(2 * at + 1)};
    }
    kernel_sums sums = kernel_sums_new();
    upc_barrier();
    int64_t since = upc_now();
    double before = energy(&c, sums, planes, 1);
    along_planes(&c, planes, -1);
    upc_barrier();
    turn(&c, start, 0);
    across_planes(&c, start, -1);
    double after = energy(&c, sums, start, 1.0 / (double)(c.n * c.n * c.n));
    if (fabs(after - before) > 1e-6 * before) kernel_fail("the transform has another energy");
    uint64_t checksum = 0;
    for (long step = 1; step <= steps; step++) {
        evolve(&c, start, own(&c, c.turned), step);
        across_planes(&c, own(&c, c.turned), 1);
        upc_barrier();
        turn(&c, planes, 1);
        upc_barrier(); /* before the data just read is overwritten */
        along_planes(&c, planes, 1);
        long re = 0;
        for (long i = 0; i < points; i++)
            re += kernel_fixed(planes[i].re * kernel_unit((uint64_t)(MYTHREAD * points + i) * 31));
        checksum = kernel_hash(checksum + (uint64_t)kernel_sum(sums, re));
    }
    kernel_end("ft", checksum, since);
    free(c.twiddles), free(c.line), free(start);
    return 0;
}
