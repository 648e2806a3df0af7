/* mended.c: slow.c with a dynamic schedule, and a reduction instead of the critical section. */

#include <stdio.h>
#include <stdlib.h>

static double cost(int item, int items) {
    double sum = 0;
    for (int i = 0; i < 400 + 40000 * item / items; i++) sum += (double)(i ^ item) * 1e-9;
    return sum;
}

int main(int argc, char **argv) {
    int items = argc > 1 ? atoi(argv[1]) : 2000;
    double total = 0;
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : total)
    for (int i = 0; i < items; i++) total += cost(i, items);
    printf("%.6f\n", total);
    return 0;
}
