/* small-tasks: every call of a recursion is a task. Mended: none below a size. */
#include <stdio.h>

#ifdef MENDED
enum { CUT_OFF = 22 };
#else
enum { CUT_OFF = 0 };
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

int main(void) {
    long sum = 0;
#pragma omp parallel
#pragma omp single
    sum = fib(CUT_OFF ? 32 : 20);
    printf("%ld\n", sum);
    return sum != (CUT_OFF ? 2178309 : 6765);
}
