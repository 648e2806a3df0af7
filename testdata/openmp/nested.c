/* nested: each thread makes a team of its own, again and again. Mended: only the outer one. */
#include "spin.h"
#include <omp.h>
#include <stdio.h>

int main(void) {
    int done = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel for num_threads(2) schedule(static)
    for (int i = 0; i < 400; i++) {
#ifndef MENDED
#pragma omp parallel for num_threads(2) schedule(static)
#endif
        for (int j = 0; j < 4; j++) {
            spin(20);
#pragma omp atomic
            done++;
        }
    }
    printf("%d\n", done);
    return done != 1600;
}
