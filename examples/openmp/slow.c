/* slow.c: sums the work of uneven items in parallel. The loop is divided into equal blocks, and every item
 * enters a critical section; see README.md for what the report says about it, and mended.c. */

#include <stdio.h>
#include <stdlib.h>

/* cost makes later items more expensive than earlier ones. */
static double cost(int item, int items) {
    double sum = 0;
    for (int i = 0; i < 400 + 40000 * item / items; i++) sum += (double)(i ^ item) * 1e-9;
    return sum;
}

int main(int argc, char **argv) {
    int items = argc > 1 ? atoi(argv[1]) : 2000;
    double total = 0;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < items; i++) {
        double part = cost(i, items);
#pragma omp critical(total)
        total += part;
    }
    printf("%.6f\n", total);
    return 0;
}
