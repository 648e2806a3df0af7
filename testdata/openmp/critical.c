/* critical: all threads add to one sum in a critical section, which takes most of their time.
 * Mended: a reduction. */
#include "spin.h"
#include <stdio.h>

int main(void) {
    long sum = 0;
#ifdef MENDED
#pragma omp parallel for num_threads(2) reduction(+ : sum)
#else
#pragma omp parallel for num_threads(2)
#endif
    for (int i = 0; i < 400; i++) {
        spin(50);
#ifndef MENDED
#pragma omp critical(total)
#endif
        {
            spin(150);
            sum += i;
        }
    }
    printf("%ld\n", sum);
    return sum != 79800;
}
