/* small-tasks: every call of a recursion is a task. Mended: none below a size. A word on the command line is
 * the number of the recursion. */
#include <stdio.h>
#include <stdlib.h>

#ifdef MENDED
enum { CUT_OFF = 18, NUMBER = 32 };
#else
enum { CUT_OFF = 0, NUMBER = 20 };
#endif

static long fib(int n) {
    long a, b;
    if (n < 2) return n;
    if (n < CUT_OFF) return fib(n - 1) + fib(n - 2);
#pragma omp task shared(a)
    a = fib(n - 1);
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : NUMBER;
    long sum = 0, before = 0, after = 1;
#pragma omp parallel
#pragma omp single
    sum = fib(n);
    for (int i = 0; i < n; i++) {
        long next = before + after;
        before = after;
        after = next;
    }
    printf("%ld\n", sum);
    return sum != before;
}
