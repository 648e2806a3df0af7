/* wide-depend: every task depends on the whole array, though each changes one block. Mended: on its block. */
#include "spin.h"
#include <stdio.h>

enum { BLOCKS = 8, STEPS = 10 };

int main(void) {
    int array[BLOCKS] = {0}, sum = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < BLOCKS; i++) {
#ifdef MENDED
#pragma omp task depend(inout : array[i]) firstprivate(i)
#else
#pragma omp task depend(inout : array) firstprivate(i)
#endif
            {
                spin(1000);
                array[i]++;
            }
        }
    for (int i = 0; i < BLOCKS; i++) sum += array[i];
    printf("%d\n", sum);
    return sum != BLOCKS * STEPS;
}
