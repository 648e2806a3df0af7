/* constructs: every construct of OpenMP, each for a time that it spins. A line with a construct ends with
 * what the report should have: how often, and how many microseconds in all. The program counts what it
 * executes by itself, and prints the sums. A word on the command line says how it ends. */
#include "spin.h"
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef NO_DETACH /* LLVM's run-time system fails at it on one thread, and in programs of gcc */
#define DETACH
#define FULFILL(event) (void)event
#else
#define DETACH detach(event)
#define FULFILL(event) omp_fulfill_event(event)
#endif

static int counted; /* atomic */

static void work(long us) {
    spin(us);
#pragma omp atomic
    counted++;
}

static int tasks(const char *how) {
    int x = 0, y = 0, before = counted;
    omp_event_handle_t event = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        for (int i = 0; i < 4; i++) {
#pragma omp task /* = task 4 16000 */
            work(4000);
        }
#pragma omp taskloop grainsize(3) /* = taskloop 4 24000 */
        for (int i = 0; i < 12; i++) work(2000);
#pragma omp task if (0) /* = undeferred task 1 4000 */
        work(4000);
#pragma omp task final(1) /* = final task 1 6000 */
        {
#pragma omp task /* = final task 1 4000 */
            work(4000);
            work(6000);
        }
#pragma omp task mergeable /* = task 1 4000 */
        work(4000);
#pragma omp task untied /* = untied task 1 4000 */
        work(4000);
#pragma omp task depend(out : x) /* = task 1 4000 */
        {
            work(4000);
            x = 1;
        }
#pragma omp task depend(in : x) depend(out : y) /* = task 1 4000 */
        {
            work(4000);
            y = x + 1;
        }
#pragma omp taskwait depend(in : y)
        if (y != 2) abort();
#pragma omp task DETACH /* = task 1 4000 */
        work(4000);
#pragma omp task /* = task 1 4000 */
        {
            work(4000);
            FULFILL(event);
            if (!strcmp(how, "exit")) exit(7);
            if (!strcmp(how, "crash")) raise(SIGSEGV);
            if (!strcmp(how, "endless")) {
                puts("ready");
                fflush(stdout);
                for (;;) spin(1000);
            }
        }
#pragma omp taskwait
#pragma omp taskgroup
        {
#pragma omp task /* = task 1 4000 */
            {
                work(4000);
#pragma omp cancel taskgroup
                work(1000000);
            }
        }
    }
    return counted - before;
}

/* loops is called twice: what is told here is the sum. */
static int loops(int threads) {
    int sum = 0, before = counted;
    omp_set_num_threads(threads);
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp for schedule(dynamic, 2) /* = for 10 20000 */
        for (int i = 0; i < 10; i++) work(1000);
#pragma omp for schedule(guided, 10) /* = for 2 10000 */
        for (int i = 0; i < 10; i++) work(500);
#pragma omp for ordered schedule(dynamic, 1) /* = for 12 12000 */
        for (int i = 0; i < 6; i++) {
#pragma omp ordered
            work(1000);
        }
#pragma omp sections /* = sections 4 8000 */
        {
            work(2000);
#pragma omp section
            work(2000);
        }
#pragma omp single /* = single 2 4000 */
        work(2000);
#pragma omp masked /* = masked 2 4000 */
        work(2000);
#pragma omp for schedule(dynamic, 1) /* = for 4 8000 */
        for (int i = 0; i < 2; i++) {
            work(2000);
            sum += i;
        }
    }
    return counted - before + sum; /* sum is 1 */
}

static int locks(void) {
    int before = counted;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
    {
#pragma omp critical(one)
        work(4000);
        omp_set_lock(&lock);
        work(4000);
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    return counted - before;
}

static int nested(void) {
    int before = counted;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
    work(1000);
    return counted - before;
}

/* forked tells what a child prints that uses OpenMP no more: it is not recorded. */
static int forked(void) {
    int status = 0;
    pid_t child = fork();
    if (!child) {
        spin(1000);
        _exit(3);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int t = tasks(how), a = loops(2), b = loops(3), l = locks(), n = nested(), f = forked();
    printf("%d %d %d %d %d %d\n", t, a, b, l, n, f);
    return 0;
}
