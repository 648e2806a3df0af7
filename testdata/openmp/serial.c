/* serial: one thread prepares what all then work on. Mended: all prepare. */
#include "spin.h"
#include <stdio.h>

int main(void) {
    int done = 0;
#ifdef MENDED
#pragma omp parallel for num_threads(2) schedule(static) reduction(+ : done)
#endif
    for (int i = 0; i < 400; i++) {
        spin(200);
        done++;
    }
#pragma omp parallel for num_threads(2) schedule(static) reduction(+ : done)
    for (int i = 0; i < 400; i++) {
        spin(200);
        done++;
    }
    printf("%d\n", done);
    return done != 800;
}
