/* pattern.h: for programs that lose a known amount of time on purpose.
 *
 * Arguments: the delays of the threads before each operation in ms, "0,30,60" (the last one applies to
 * further threads); the delays on their way out of it; the number of turns; then arguments of the program
 * itself. At the end thread 0 prints a line for each pattern and each thread:
 *
 *     THREAD PATTERN NS SEEN
 *
 * NS is the design, SEEN the result by the clock that the program itself read right before and after the
 * operations: a busy computer delays threads beyond the design.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include "upc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATTERN_THREADS = 64, PATTERN_TURNS = 400 };

typedef struct { int64_t enter, exit, other; } pattern_times; /* other: a time that the program sets */

/* A pattern computes what thread i loses, from the times at which all threads enter and leave. root is the
 * thread that matters. */
typedef int64_t (*pattern_loss)(const pattern_times *t, int threads, int i, int root);

typedef struct {
    double in[PATTERN_THREADS], out[PATTERN_THREADS]; /* ms */
    int turns, turn, argc;
    char **argv; /* the arguments left for the program */
    pattern_times *times;
} pattern_run;

static inline void pattern_delays(const char *text, double *ms) {
    double last = 0;
    for (int i = 0; i < PATTERN_THREADS; i++) {
        char *end = NULL;
        if (text && *text) {
            last = strtod(text, &end);
            text = end && *end == ',' ? end + 1 : NULL;
        }
        ms[i] = last;
    }
}

static inline void pattern_start(pattern_run *r, int argc, char **argv) {
    memset(r, 0, sizeof *r);
    if (THREADS > PATTERN_THREADS) fprintf(stderr, "too many threads\n"), exit(2);
    pattern_delays(argc > 1 ? argv[1] : "0,20,40,60", r->in);
    pattern_delays(argc > 2 ? argv[2] : "0", r->out);
    r->turns = argc > 3 ? atoi(argv[3]) : 1;
    if (r->turns < 1 || r->turns > PATTERN_TURNS)
        fprintf(stderr, "turns: from 1 to %d\n", PATTERN_TURNS), exit(2);
    r->argc = argc > 4 ? argc - 4 : 0;
    r->argv = argv + argc - r->argc;
    r->times = upc_notes();
}

static inline void pattern_sleep(double ms) {
    for (int64_t end = upc_now() + (int64_t)(ms * 1e6), left; (left = end - upc_now()) > 0;)
        if (left > 200000) usleep((unsigned)(left / 1000 - 100));
}

/* pattern_begin is called right before the operation, pattern_end right after it. */
static inline void pattern_begin(pattern_run *r) {
    upc_align();
    pattern_sleep(r->in[MYTHREAD]);
    upc_linger(r->out[MYTHREAD]);
    r->times[r->turn].enter = upc_now();
}

static inline void pattern_end(pattern_run *r) { r->times[r->turn++].exit = upc_now(); }

static inline int64_t pattern_last(const pattern_times *t, int threads) {
    int64_t last = t[0].enter;
    for (int i = 1; i < threads; i++)
        if (t[i].enter > last) last = t[i].enter;
    return last;
}

static inline int64_t pattern_first_out(const pattern_times *t, int threads) {
    int64_t first = t[0].exit;
    for (int i = 1; i < threads; i++)
        if (t[i].exit < first) first = t[i].exit;
    return first;
}

static inline int64_t pattern_clip(int64_t ns, pattern_times t) {
    int64_t inside = t.exit - t.enter;
    return ns < 0 ? 0 : ns > inside ? inside : ns;
}

/* pattern_print prints the cost of a pattern. Without designed, everybody leaves as soon as all have entered,
 * plus its own way out. designed computes other times of leaving from the times of entry. All threads call
 * it, at the end. */
static inline void pattern_print(const pattern_run *r, const char *name, pattern_loss loss, int root,
                                 void (*designed)(pattern_times *t, int threads)) {
    upc_align();
    pattern_times *all = MYTHREAD ? NULL : calloc((size_t)THREADS * PATTERN_TURNS, sizeof *all);
    if (all) {
        pattern_times plan[PATTERN_THREADS], seen[PATTERN_THREADS];
        for (int i = 0; i < THREADS; i++) {
            plan[i].enter = (int64_t)(r->in[i] * 1e6);
            upc_notes_of(i, all + i * PATTERN_TURNS, (size_t)r->turns * sizeof *all);
        }
        int64_t last = pattern_last(plan, THREADS);
        for (int i = 0; i < THREADS; i++) plan[i].exit = last;
        if (designed) designed(plan, THREADS);
        for (int i = 0; i < THREADS; i++) plan[i].exit += (int64_t)(r->out[i] * 1e6);
        for (int i = 0; i < THREADS; i++) {
            int64_t sum = 0, ns = loss(plan, THREADS, i, root) * r->turns;
            for (int turn = 0; turn < r->turns; turn++) {
                for (int j = 0; j < THREADS; j++) seen[j] = all[j * PATTERN_TURNS + turn];
                sum += loss(seen, THREADS, i, root);
            }
            printf("%d %s %lld %lld\n", i, name, (long long)ns, (long long)sum);
        }
        fflush(stdout);
        free(all);
    }
    upc_align();
}

/* pattern_word and pattern_number return the program's own arguments. */
static inline const char *pattern_word(const pattern_run *r, int i, const char *otherwise) {
    return i < r->argc ? r->argv[i] : otherwise;
}
static inline int pattern_number(const pattern_run *r, int i, int otherwise) {
    return i < r->argc ? atoi(r->argv[i]) : otherwise;
}

/* pattern_at_once is the design for operations in which nobody waits. */
static inline void pattern_at_once(pattern_times *t, int threads) {
    for (int i = 0; i < threads; i++) t[i].exit = t[i].enter;
}

/* Losses that several programs use. */
static inline int64_t pattern_last_minus(const pattern_times *t, int threads, int i, int root) {
    (void)root;
    return pattern_clip(pattern_last(t, threads) - t[i].enter, t[i]);
}
static inline int64_t pattern_completion(const pattern_times *t, int threads, int i, int root) {
    int64_t out = pattern_first_out(t, threads), last = pattern_last(t, threads);
    (void)root;
    int64_t ns = t[i].exit - (out > last ? out : last);
    return ns > 0 ? ns : 0;
}

/* pattern_flags parses modes, "all/my". */
static inline upc_flag_t pattern_flags(const char *text) {
    static const char *const words[] = {"all", "my", "no"};
    upc_flag_t flags = 0;
    char in[8] = "", out[8] = "";
    sscanf(text, "%7[^/]/%7s", in, out);
    for (int i = 0; i < 3; i++) {
        if (!strcmp(in, words[i])) flags |= (upc_flag_t)UPC_IN_ALLSYNC << i;
        if (!strcmp(out, words[i])) flags |= (upc_flag_t)UPC_OUT_ALLSYNC << i;
    }
    return flags;
}

#endif
