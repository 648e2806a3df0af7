/* spin.h: work of a designed length. */
#ifndef SPIN_H
#define SPIN_H
#include <time.h>

/* spin uses so many microseconds of the calling thread's processor time, however busy the machine is. */
static void spin(long us) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    long end = t.tv_sec * 1000000000L + t.tv_nsec + us * 1000;
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while (t.tv_sec * 1000000000L + t.tv_nsec < end);
}
#endif
