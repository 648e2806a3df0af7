/* health LEVELS STEPS: a country's health care. Each village has smaller ones below it, whose patients it
 * gets if they cannot be treated there. In every step a task simulates each village. */
#include "suite.h"

enum { BELOW = 4, PEOPLE = 40, BEDS = 4 };

typedef struct village {
    struct village *below[BELOW];
    uint64_t state; /* of chance */
    int level;      /* of the lowest: 1 */
    long waiting, inside, sent, cured, up;
} village;

static village *settle(int level, uint64_t *state) {
    village *v = calloc(1, sizeof *v);
    if (!v) abort();
    v->level = level;
    v->state = *state += 977;
    for (int i = 0; level > 1 && i < BELOW; i++) v->below[i] = settle(level - 1, state);
    return v;
}

/* treat is a step of one village. */
static void treat(village *v) {
    for (int i = 0; i < BELOW; i++)
        if (v->below[i]) v->waiting += v->below[i]->sent;
    for (int i = 0; i < PEOPLE; i++) v->waiting += chance(&v->state) % 100 < 3; /* fall ill */
    long treated = 0, sent = 0;
    for (long i = 0; i < v->inside; i++) treated += chance(&v->state) % 10 < 4;
    v->inside -= treated, v->cured += treated;
    while (v->waiting > 0 && v->inside < (long)BEDS * v->level) {
        v->waiting--;
        if (chance(&v->state) % 10 < 1) sent++; /* to the larger village */
        else v->inside++;
    }
    v->sent = sent, v->up += sent;
}

static void step(village *v, int serial) {
    for (int i = 0; i < BELOW; i++) {
        village *b = v->below[i];
        if (!b) continue;
        if (serial) {
            step(b, 1);
            continue;
        }
        task_made();
#pragma omp task firstprivate(b)
        step(b, 0);
    }
    if (!serial) {
#pragma omp taskwait
    }
    treat(v);
}

/* compared adds up the cured, and tells whether two countries are alike. */
static int compared(village *v, village *w, long *cured) {
    int same = v->waiting == w->waiting && v->inside == w->inside && v->cured == w->cured && v->up == w->up;
    *cured += v->cured;
    for (int i = 0; i < BELOW; i++)
        if (v->below[i]) same &= compared(v->below[i], w->below[i], cured);
    free(v);
    free(w);
    return same;
}

int main(int argc, char **argv) {
    int levels = argument(argc, argv, 1, 4), steps = argument(argc, argv, 2, 20);
    uint64_t one = 1, two = 1;
    village *v = settle(levels, &one), *right = settle(levels, &two);
    long cured = 0;
    double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < steps; i++) step(v, 0);
    double seconds = omp_get_wtime() - start;
    for (int i = 0; i < steps; i++) step(right, 1);
    int same = compared(v, right, &cured);
    return told("health", seconds, cured, same);
}
