/* nqueens N LEVELS: how many ways there are to place N queens on a board of N x N. Each queen of the first
 * LEVELS rows is a task. */
#include "suite.h"

enum { LARGEST = 14 };
static const long known[LARGEST + 1] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596};

static int fits(const char *rows, int n, int row) {
    for (int i = 0; i < n; i++)
        if (rows[i] == row || rows[i] - row == n - i || row - rows[i] == n - i) return 0;
    return 1;
}

static long place(int size, int n, const char *rows, int levels) {
    long ways[LARGEST] = {0}, sum = 0;
    if (n == size) return 1;
    for (int row = 0; row < size; row++) {
        if (!fits(rows, n, row)) continue;
        char next[LARGEST];
        memcpy(next, rows, (size_t)n);
        next[n] = (char)row;
        if (levels == 0) {
            ways[row] = place(size, n + 1, next, 0);
            continue;
        }
        task_made();
#pragma omp task shared(ways) firstprivate(next)
        ways[row] = place(size, n + 1, next, levels - 1);
    }
    if (levels > 0) {
#pragma omp taskwait
    }
    for (int row = 0; row < size; row++) sum += ways[row];
    return sum;
}

int main(int argc, char **argv) {
    int size = argument(argc, argv, 1, 8), levels = argument(argc, argv, 2, 3);
    long ways = 0;
    if (size < 1 || size > LARGEST) return 2;
    double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    {
        char rows[LARGEST] = {0};
        ways = place(size, 0, rows, levels);
    }
    return told("nqueens", omp_get_wtime() - start, ways, ways == known[size]);
}
