/* static-loop: the second half of the iterations takes ten times as long. Mended: a dynamic schedule. */
#include "spin.h"
#include <stdio.h>

int main(void) {
    int done = 0;
#pragma omp parallel num_threads(2) reduction(+ : done)
#ifdef MENDED
#pragma omp for schedule(dynamic, 4)
#else
#pragma omp for schedule(static)
#endif
    for (int i = 0; i < 400; i++) {
        spin(i < 200 ? 40 : 400);
        done++;
    }
    printf("%d\n", done);
    return done != 400;
}
