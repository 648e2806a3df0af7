/* one-creator: one thread prepares and creates all tasks, and cannot do so as fast as they are executed.
 * Mended: all threads create some. */
#include "spin.h"
#include <stdio.h>

int main(void) {
    int done = 0;
#pragma omp parallel
    {
#ifdef MENDED
#pragma omp for schedule(static)
#else
#pragma omp single
#endif
        for (int i = 0; i < 200; i++) {
            spin(400);
#pragma omp task
            {
                spin(100);
#pragma omp atomic
                done++;
            }
        }
    }
    printf("%d\n", done);
    return done != 200;
}
