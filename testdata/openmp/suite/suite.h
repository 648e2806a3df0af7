/* suite.h: what the programs here have in common. Each solves one problem with tasks, in the manner of the
 * Barcelona OpenMP tasks suite, checks its own result, and counts the tasks that it creates.
 *
 * Standard output: "NAME: N tasks, RESULT", the same in every run. Standard error: the seconds that the
 * parallel part took. The exit code is 1 if the result is wrong. */
#ifndef SUITE_H
#define SUITE_H
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUITE_THREADS = 256 };
static struct {
    long n;
    char line[56]; /* of the cache */
} suite_made[SUITE_THREADS];

/* task_made is called before a task is created, by the thread that creates it. */
static inline void task_made(void) { suite_made[omp_get_thread_num() % SUITE_THREADS].n++; }

/* argument is a number of the command line, or what holds without. */
static inline int argument(int argc, char **argv, int i, int without) {
    return argc > i ? atoi(argv[i]) : without;
}

/* chance is a random number; the same numbers follow from the same state. */
static inline uint32_t chance(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* told prints what came out, and returns the exit code. */
static inline int told(const char *name, double seconds, long result, int right) {
    long tasks = 0;
    for (int i = 0; i < SUITE_THREADS; i++) tasks += suite_made[i].n;
    printf("%s: %ld tasks, %ld\n", name, tasks, result);
    fprintf(stderr, "%.6f\n", seconds);
    if (!right) fprintf(stderr, "%s: the result is wrong\n", name);
    return !right;
}
#endif
