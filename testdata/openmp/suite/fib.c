/* fib N LEVELS: Fibonacci numbers; the recursion creates a task for each call in its upper levels. */
#include "suite.h"

static long serial(int n) { return n < 2 ? n : serial(n - 1) + serial(n - 2); }

static long fib(int n, int levels) {
    long a, b;
    if (n < 2) return n;
    if (levels == 0) return serial(n);
    task_made();
#pragma omp task shared(a)
    a = fib(n - 1, levels - 1);
    task_made();
#pragma omp task shared(b)
    b = fib(n - 2, levels - 1);
#pragma omp taskwait
    return a + b;
}

int main(int argc, char **argv) {
    int n = argument(argc, argv, 1, 24), levels = argument(argc, argv, 2, 8);
    long sum = 0, before = 0, after = 1;
    double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    sum = fib(n, levels);
    double seconds = omp_get_wtime() - start;
    for (int i = 0; i < n; i++) {
        long next = before + after;
        before = after;
        after = next;
    }
    return told("fib", seconds, sum, sum == before);
}
