/* small-chunks: iterations of well below a microsecond, given out one at a time.
 * Mended: a thousand at a time. */
#include <stdio.h>

#ifdef MENDED
enum { CHUNK = 1000 };
#else
enum { CHUNK = 1 };
#endif

int main(void) {
    long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    for (int k = 0; k < 4; k++)
#pragma omp for schedule(dynamic, CHUNK)
        for (int i = 0; i < (CHUNK > 1 ? 20000000 : 20000); i++) sum += i & 7;
    printf("%ld\n", sum);
    return 0;
}
