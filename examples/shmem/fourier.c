/* A heat equation on a periodic square by Fourier transforms, in two ways.
 *
 *     ./fourier points [SIDE] [STEPS]    the square is turned number by number, each a transfer
 *     ./fourier blocks [SIDE] [STEPS]    what goes to a PE is packed, and is one transfer
 *
 * A PE has rows of the square. For the transform along columns it is turned: each PE gets its columns from
 * the others. SIDE (default 256) is a power of two and a multiple of the number of PEs. Both print the
 * same. */
#include <complex.h>
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double complex number;

static int me, pes;
static long side, rows; /* rows of a PE */
static number *square, *packed; /* shared: the PE's rows; the same by PE, turned */
static number *twiddles, *line, *mine;

/* transform replaces a line by its transform. direction is 1 or -1. */
static void transform(number *at, int direction) {
    for (long i = 0, j = 0; i < side; i++) {
        line[j] = at[i];
        long bit = side >> 1;
        while (j & bit) j ^= bit, bit >>= 1;
        j |= bit;
    }
    for (long half = 1; half < side; half *= 2)
        for (long i = 0; i < side; i += 2 * half)
            for (long k = 0; k < half; k++) {
                number w = twiddles[k * (side / 2 / half)];
                number u = line[i + k], v = line[i + k + half] * (direction < 0 ? conj(w) : w);
                line[i + k] = u + v, line[i + k + half] = u - v;
            }
    memcpy(at, line, (size_t)side * sizeof *at);
}

static void transform_rows(int direction) {
    for (long r = 0; r < rows; r++) transform(square + r * side, direction);
}

/* Row r of the turned square is column r. */
static void turn_points(void) {
    for (long r = 0; r < rows; r++)
        for (long c = 0; c < side; c++)
            shmem_getmem(mine + r * side + c, square + c % rows * side + me * rows + r, sizeof *mine,
                         (int)(c / rows));
}

static void turn_blocks(void) {
    for (int pe = 0; pe < pes; pe++)
        for (long r = 0; r < rows; r++)
            for (long c = 0; c < rows; c++)
                packed[(pe * rows + r) * rows + c] = square[c * side + pe * rows + r];
    shmem_barrier_all();
    for (int k = 0; k < pes; k++) {
        int pe = (me + k) % pes;
        static number *block;
        if (!block) block = malloc((size_t)(rows * rows) * sizeof *block);
        shmem_getmem(block, packed + me * rows * rows, (size_t)(rows * rows) * sizeof *block, pe);
        for (long r = 0; r < rows; r++)
            memcpy(mine + r * side + pe * rows, block + r * rows, (size_t)rows * sizeof *block);
    }
}

static void turn(int blocks) {
    shmem_barrier_all();
    blocks ? turn_blocks() : turn_points();
    shmem_barrier_all(); /* before what others read is overwritten */
    memcpy(square, mine, (size_t)(rows * side) * sizeof *mine);
}

int main(int argc, char **argv) {
    side = argc > 2 ? atol(argv[2]) : 256;
    int steps = argc > 3 ? atoi(argv[3]) : 10;
    int blocks = argc > 1 && strcmp(argv[1], "blocks") == 0;
    shmem_init();
    me = shmem_my_pe(), pes = shmem_n_pes();
    int known = blocks || (argc > 1 && strcmp(argv[1], "points") == 0);
    if (!known || side < 2 || side & (side - 1) || side % pes) {
        if (me == 0) fprintf(stderr, "usage: fourier points|blocks [SIDE] [STEPS]; SIDE: see fourier.c\n");
        shmem_global_exit(2);
    }
    rows = side / pes;
    square = shmem_malloc((size_t)(rows * side) * sizeof *square);
    packed = shmem_malloc((size_t)(rows * side) * sizeof *packed);
    mine = malloc((size_t)(rows * side) * sizeof *mine);
    line = malloc((size_t)side * sizeof *line);
    twiddles = malloc((size_t)side * sizeof *twiddles);
    for (long k = 0; k < side / 2; k++) twiddles[k] = cexp(2 * M_PI * I * (double)k / (double)side);
    for (long i = 0; i < rows * side; i++) square[i] = (double)((me * rows * side + i) * 7919 % 1000) / 1000;

    for (int step = 0; step < steps; step++) {
        transform_rows(-1);
        turn(blocks);
        transform_rows(-1);
        for (long r = 0; r < rows; r++)
            for (long c = 0; c < side; c++) {
                long x = me * rows + r, y = c;
                if (x > side / 2) x -= side;
                if (y > side / 2) y -= side;
                square[r * side + c] *= exp(-1e-4 * (double)(x * x + y * y)) / (double)(side * side);
            }
        transform_rows(1);
        turn(blocks);
        transform_rows(1);
    }
    if (me == 0) printf("after %d steps a corner is %.9f\n", steps, creal(square[0]));
    shmem_finalize();
    return 0;
}
