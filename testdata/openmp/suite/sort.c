/* sort N BLOCK: a merge sort. Tasks sort the halves and merge them in parts, down to BLOCK numbers. */
#include "suite.h"

static long block;

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* below counts the numbers of a sorted list that are smaller than one. */
static long below(const uint32_t *list, long n, uint32_t x) {
    long from = 0;
    while (n > 0) {
        long half = n / 2;
        if (list[from + half] < x) from += half + 1, n -= half + 1;
        else n = half;
    }
    return from;
}

static void merge(const uint32_t *a, long na, const uint32_t *b, long nb, uint32_t *to) {
    if (na < nb) {
        merge(b, nb, a, na, to);
        return;
    }
    if (na + nb <= block || na < 2) {
        while (na > 0 && nb > 0) {
            if (*b < *a) *to++ = *b++, nb--;
            else *to++ = *a++, na--;
        }
        memcpy(to, na > 0 ? a : b, (size_t)(na > 0 ? na : nb) * sizeof *to);
        return;
    }
    long ma = na / 2, mb = below(b, nb, a[ma]);
    task_made();
#pragma omp task
    merge(a, ma, b, mb, to);
    task_made();
#pragma omp task
    merge(a + ma, na - ma, b + mb, nb - mb, to + ma + mb);
#pragma omp taskwait
}

static void sort(uint32_t *list, uint32_t *room, long n) {
    if (n <= block || n < 2) {
        qsort(list, (size_t)n, sizeof *list, by_value);
        return;
    }
    long half = n / 2;
    task_made();
#pragma omp task
    sort(list, room, half);
    task_made();
#pragma omp task
    sort(list + half, room + half, n - half);
#pragma omp taskwait
    merge(list, half, list + half, n - half, room);
    memcpy(list, room, (size_t)n * sizeof *list);
}

int main(int argc, char **argv) {
    long n = argument(argc, argv, 1, 20000);
    block = argument(argc, argv, 2, 500);
    uint32_t *list = malloc((size_t)n * sizeof *list), *room = malloc((size_t)n * sizeof *room);
    uint64_t state = 1, before = 0, after = 0;
    if (!list || !room) return 2;
    for (long i = 0; i < n; i++) before += list[i] = chance(&state);
    double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    sort(list, room, n);
    double seconds = omp_get_wtime() - start;
    int sorted = 1;
    for (long i = 0; i < n; i++) {
        after += list[i];
        if (i > 0 && list[i] < list[i - 1]) sorted = 0;
    }
    long result = n > 0 ? (long)list[n / 2] : 0;
    free(list);
    free(room);
    return told("sort", seconds, result, sorted && before == after);
}
