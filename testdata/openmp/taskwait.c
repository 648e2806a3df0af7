/* taskwait: each step waits for both tasks of the one before, of which now one, now the other takes long.
 * Mended: a task depends on that of its own half alone. */
#include "spin.h"
#include <stdio.h>

int main(void) {
    int half[2] = {0, 0};
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < 20; step++) {
        for (int i = 0; i < 2; i++) {
#ifdef MENDED
#pragma omp task depend(inout : half[i]) firstprivate(i, step)
#else
#pragma omp task shared(half) firstprivate(i, step)
#endif
            {
                spin((i + step) % 2 ? 5000 : 1000);
                half[i]++;
            }
        }
#ifndef MENDED
#pragma omp taskwait
#endif
    }
    printf("%d\n", half[0] + half[1]);
    return half[0] + half[1] != 40;
}
