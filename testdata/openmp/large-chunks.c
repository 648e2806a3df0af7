/* large-chunks: the last chunk of a dynamic loop has nearly half of the work. Mended: small chunks. */
#include "spin.h"
#include <stdio.h>

#ifdef MENDED
enum { CHUNK = 5 };
#else
enum { CHUNK = 80 };
#endif

int main(void) {
    int done = 0;
#pragma omp parallel num_threads(2) reduction(+ : done)
#pragma omp for schedule(dynamic, CHUNK)
    for (int i = 0; i < 400; i++) {
        spin(i < 320 ? 150 : 600);
        done++;
    }
    printf("%d\n", done);
    return done != 400;
}
