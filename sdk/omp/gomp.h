#ifndef WHYSLOW_OMP_GOMP_H
#define WHYSLOW_OMP_GOMP_H
/* gomp.h: where programs of gcc create tasks. gcc records no line for many of the calls that do, so that the
 * address of the call leads to the statement before it. The function of the task begins with its line. The
 * library stands before the run-time system, which these calls are passed on to. */

#include "state.h"

WSC_THREAD const void *omp_task_code; /* of the task that is being created; null: not known */

/* omp_place_of returns the address that a task is named after, as if it were a return address. */
static const void *omp_place_of(const void *address) {
    return omp_task_code ? (const char *)omp_task_code + 1 : address;
}

/* OMP_GOMP defines a function that creates tasks and whose first argument is their function. */
#define OMP_GOMP(NAME, PARAMS, ARGS) \
    WSC_API void NAME PARAMS { \
        static void(*real) PARAMS; /* atomic */ \
        void(*f) PARAMS = __atomic_load_n(&real, __ATOMIC_RELAXED); \
        if (!f) { \
            void *found = dlsym(RTLD_NEXT, #NAME); \
            if (!found) { \
                fprintf(stderr, "whyslow: no %s to call: gcc's OpenMP is not there\n", #NAME); \
                abort(); \
            } \
            memcpy(&f, &found, sizeof f); \
            __atomic_store_n(&real, f, __ATOMIC_RELAXED); \
        } \
        const void *before = omp_task_code; /* that of a task that is executed while others are created */ \
        memcpy(&omp_task_code, &code, sizeof code); \
        f ARGS; \
        omp_task_code = before; \
    }

typedef void (*omp_code)(void *);
typedef void (*omp_copy)(void *, void *);

OMP_GOMP(GOMP_task, (omp_code code, void *data, omp_copy copy, long size, long align, char deferred,
                     unsigned flags, void **depend, int priority, void *detach),
         (code, data, copy, size, align, deferred, flags, depend, priority, detach))
OMP_GOMP(GOMP_taskloop, (omp_code code, void *data, omp_copy copy, long size, long align, unsigned flags,
                         unsigned long tasks, int priority, long start, long end, long step),
         (code, data, copy, size, align, flags, tasks, priority, start, end, step))
OMP_GOMP(GOMP_taskloop_ull, (omp_code code, void *data, omp_copy copy, long size, long align, unsigned flags,
                             unsigned long tasks, int priority, unsigned long long start,
                             unsigned long long end, unsigned long long step),
         (code, data, copy, size, align, flags, tasks, priority, start, end, step))

#endif /* WHYSLOW_OMP_GOMP_H */
