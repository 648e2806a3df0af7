/* alignment N LENGTH: how well each pair of N proteins can be aligned. A loop gives out the first of a pair;
 * each pair is a task. */
#include "suite.h"

enum { AMINO_ACIDS = 20, MATCH = 5, MISMATCH = -2, GAP = -3, LONGEST = 2000 };

/* score is the best sum over local alignments of two proteins (Smith and Waterman). */
static int score(const char *a, const char *b, int length) {
    int row[LONGEST + 1] = {0}, best = 0;
    for (int i = 0; i < length; i++) {
        int corner = 0;
        for (int j = 0; j < length; j++) {
            int s = corner + (a[i] == b[j] ? MATCH : MISMATCH);
            if (s < row[j + 1] + GAP) s = row[j + 1] + GAP;
            if (s < row[j] + GAP) s = row[j] + GAP;
            if (s < 0) s = 0;
            corner = row[j + 1];
            row[j + 1] = s;
            if (s > best) best = s;
        }
    }
    return best;
}

int main(int argc, char **argv) {
    int n = argument(argc, argv, 1, 20), length = argument(argc, argv, 2, 100), same = 1;
    if (n < 1 || length < 1 || length > LONGEST) return 2;
    char *proteins = malloc((size_t)n * (size_t)length);
    int *found = calloc((size_t)n * (size_t)n, sizeof *found);
    uint64_t state = 1;
    long sum = 0;
    if (!proteins || !found) return 2;
    for (int i = 0; i < n * length; i++) proteins[i] = (char)(chance(&state) % AMINO_ACIDS);
    double start = omp_get_wtime();
#pragma omp parallel
#pragma omp for schedule(dynamic)
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            task_made();
#pragma omp task
            found[i * n + j] = score(proteins + i * length, proteins + j * length, length);
        }
    double seconds = omp_get_wtime() - start;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            sum += found[i * n + j];
            /* the other way round it is the same */
            if (i % 4) continue;
            same &= found[i * n + j] == score(proteins + j * length, proteins + i * length, length);
        }
    free(proteins);
    free(found);
    return told("alignment", seconds, sum, same);
}
