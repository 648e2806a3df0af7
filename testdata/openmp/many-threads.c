/* many-threads: eight threads on fewer cores. Mended: as many as there are cores. */
#include "spin.h"
#include <omp.h>
#include <stdio.h>

int main(void) {
    int done = 0;
#ifdef MENDED
    omp_set_num_threads(omp_get_num_procs());
#else
    omp_set_num_threads(8);
#endif
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : done)
    for (int i = 0; i < 400; i++) {
        spin(400);
        done++;
    }
    printf("%d\n", done);
    return done != 400;
}
