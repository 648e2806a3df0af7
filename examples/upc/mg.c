/* MG: Poisson's equation in a periodic cube, by cycles over coarser and coarser grids. A thread has planes of
 * each grid. Before it uses neighbours' values, it gets the planes next to its own. Arguments: points along
 * an edge (default 32; a power of two; each thread has at least two planes of the coarsest grid, whose edge
 * is 8), cycles (default 4). */
#include "kernel.h"

enum { COARSEST = 8, LEVELS = 12 };

/* A grid: u is the unknown, v the right-hand side, r the residual. Arrays have one more plane on each
 * side. */
typedef struct { long n, part; upc_pts u; double *ghosted, *v, *r; } grid;

static size_t plane(const grid *g) { return (size_t)(g->n * g->n); }
static size_t bytes(const grid *g) { return (size_t)g->part * plane(g) * sizeof(double); }
static double *own(const grid *g) { return upc_cast(upc_block(g->u, (size_t)MYTHREAD, bytes(g))); }

/* exchange copies the neighbours' planes of u next to this thread's. */
static void exchange(grid *g) {
    UPC_FUNCTION;
    size_t one = plane(g) * sizeof(double);
    upc_barrier();
    memcpy(g->ghosted + plane(g), own(g), bytes(g));
    upc_pts below = upc_block(g->u, (size_t)((MYTHREAD + THREADS - 1) % THREADS), bytes(g));
    upc_pts above = upc_block(g->u, (size_t)((MYTHREAD + 1) % THREADS), bytes(g));
    upc_memget(g->ghosted, upc_add(below, (long)(bytes(g) - one)), one);
    upc_memget(g->ghosted + plane(g) + bytes(g) / sizeof(double), above, one);
    upc_barrier(); /* before u is overwritten */
}

/* residual computes r = v - A u, where A is -u'' on points 1 apart. */
static void residual(grid *g) {
    UPC_FUNCTION;
    exchange(g);
    long n = g->n, p = n * n;
    for (long z = 0; z < g->part; z++)
        for (long y = 0; y < n; y++) {
            long up = (y + 1) % n * n, down = (y + n - 1) % n * n;
            const double *u = g->ghosted + (z + 1) * p;
            for (long x = 0; x < n; x++) {
                long i = y * n + x, right = y * n + (x + 1) % n, left = y * n + (x + n - 1) % n;
                double around = u[i + p] + u[i - p] + u[up + x] + u[down + x] + u[right] + u[left];
                g->r[z * p + i] = g->v[z * p + i] - (6 * u[i] - around);
            }
        }
}

static void smooth(grid *g, int times) {
    UPC_FUNCTION;
    for (; times; times--) {
        residual(g);
        double *u = own(g);
        for (size_t i = 0; i < (size_t)g->part * plane(g); i++) u[i] += 0.8 / 6 * g->r[i];
    }
}

/* cycle improves u of a grid with the help of the coarser grids, where one value stands for eight. */
static void cycle(grid *g) {
    UPC_FUNCTION;
    if (g->n == COARSEST) {
        smooth(g, 20);
        return;
    }
    smooth(g, 2);
    residual(g);
    grid *c = g + 1;
    long n = g->n;
    for (long z = 0; z < c->part; z++)
        for (long y = 0; y < c->n; y++)
            for (long x = 0; x < c->n; x++) {
                double sum = 0;
                for (int k = 0; k < 8; k++)
                    sum += g->r[((2 * z + (k >> 2)) * n + 2 * y + (k >> 1 & 1)) * n + 2 * x + (k & 1)];
                /* Points are twice as far apart: 4 times the mean. */
                c->v[(z * c->n + y) * c->n + x] = sum / 2;
            }
    double *u = own(g), *coarse = own(c);
    memset(coarse, 0, bytes(c));
    cycle(c);
    for (long z = 0; z < g->part; z++)
        for (long y = 0; y < n; y++)
            for (long x = 0; x < n; x++)
                u[(z * n + y) * n + x] += coarse[(z / 2 * c->n + y / 2) * c->n + x / 2];
    smooth(g, 2);
}

static double norm(grid *g, kernel_sums sums) {
    UPC_FUNCTION;
    long sum = 0;
    residual(g);
    for (size_t i = 0; i < (size_t)g->part * plane(g); i++) sum += kernel_fixed(g->r[i] * g->r[i]);
    return sqrt(kernel_real(kernel_sum(sums, sum)));
}

int upc_main(int argc, char **argv) {
    UPC_FUNCTION;
    long n = kernel_number(argc, argv, 1, 32, COARSEST), cycles = kernel_number(argc, argv, 2, 4, 1);
    if (n & (n - 1) || n >> LEVELS || COARSEST % THREADS || COARSEST / THREADS < 2)
        kernel_fail("the edge must be a power of two, and there may be 1, 2 or 4 threads");
    grid grids[LEVELS];
    int levels = 0;
    for (long edge = n; edge >= COARSEST; edge /= 2) {
        grid *g = &grids[levels++];
        *g = (grid){.n = edge, .part = edge / THREADS};
        g->u = upc_all_alloc((size_t)THREADS, bytes(g));
        memset(own(g), 0, bytes(g));
        g->ghosted = kernel_memory(bytes(g) + 2 * plane(g) * sizeof(double));
        g->v = kernel_memory(bytes(g)), g->r = kernel_memory(bytes(g));
    }
    for (int k = 0; k < 20; k++) { /* ten points of +1, ten of -1 */
        long at = (long)(kernel_hash((uint64_t)k) % (uint64_t)(n * n * n)),
             first = (long)plane(grids) * grids->part * MYTHREAD;
        if (at >= first && at < first + (long)plane(grids) * grids->part)
            grids->v[at - first] += k % 2 ? 1 : -1;
    }
    kernel_sums sums = kernel_sums_new();
    upc_barrier();
    int64_t start = upc_now();
    double before = norm(grids, sums), after = before;
    for (long i = 0; i < cycles; i++) {
        cycle(grids);
        double now = norm(grids, sums);
        if (now > after * 0.9) kernel_fail("it does not converge");
        after = now;
    }
    uint64_t part = 0, first = (uint64_t)plane(grids) * (uint64_t)grids->part * (uint64_t)MYTHREAD;
    for (uint64_t i = 0; i < (uint64_t)grids->part * plane(grids); i++)
        part ^= kernel_hash((first + i) * 1000003 + (uint64_t)kernel_fixed(own(grids)[i]));
    kernel_end("mg", kernel_check(sums, part), start);
    for (int i = 0; i < levels; i++) free(grids[i].ghosted), free(grids[i].v), free(grids[i].r);
    return 0;
}
