#ifndef WHYSLOW_OMPT_H
#define WHYSLOW_OMPT_H
/* ompt.h: the tools interface of OpenMP (OMPT), as far as the collector uses it: types, numbers and
 * signatures of the OpenMP specification 5.2, chapters 19 and 20. Machines on which programs run often lack
 * omp-tools.h, which is in the packages for developers. Numbers are part of the binary interface and never
 * change. */

#include <stddef.h>
#include <stdint.h>

typedef union ompt_data {
    uint64_t value;
    void *ptr;
} ompt_data;

typedef void (*ompt_function)(void);
typedef ompt_function (*ompt_lookup)(const char *name);
typedef int (*ompt_set_callback)(int event, ompt_function callback); /* OMPT_SET_ALWAYS and so on */

typedef struct ompt_start_tool_result {
    int (*initialize)(ompt_lookup lookup, int device, ompt_data *tool); /* 0: the tool is not wanted */
    void (*finalize)(ompt_data *tool);
    ompt_data tool;
} ompt_start_tool_result;

typedef struct ompt_dependence {
    ompt_data variable;
    int type; /* OMPT_IN ... */
} ompt_dependence;

typedef struct ompt_chunk {
    uint64_t start, iterations;
} ompt_chunk;

/* Events, for ompt_set_callback. */
enum {
    OMPT_THREAD_BEGIN = 1,
    OMPT_THREAD_END = 2,
    OMPT_PARALLEL_BEGIN = 3,
    OMPT_PARALLEL_END = 4,
    OMPT_TASK_CREATE = 5,
    OMPT_TASK_SCHEDULE = 6,
    OMPT_IMPLICIT_TASK = 7,
    OMPT_SYNC_REGION_WAIT = 16,
    OMPT_MUTEX_RELEASED = 17,
    OMPT_DEPENDENCES = 18,
    OMPT_WORK = 20,
    OMPT_MASKED = 21,
    OMPT_SYNC_REGION = 23,
    OMPT_MUTEX_ACQUIRE = 26,
    OMPT_MUTEX_ACQUIRED = 27,
    OMPT_FLUSH = 29,
    OMPT_CANCEL = 30,
    OMPT_REDUCTION = 31,
    OMPT_DISPATCH = 32
};

enum { OMPT_SET_ALWAYS = 5 }; /* from ompt_set_callback: whenever it happens */

enum { OMPT_BEGIN = 1, OMPT_END = 2, OMPT_BEGIN_END = 3 }; /* ends of a scope */

enum { OMPT_THREAD_INITIAL = 1, OMPT_THREAD_WORKER = 2, OMPT_THREAD_OTHER = 3 };

enum { /* kinds of chunks that are dispatched */
    OMPT_DISPATCH_ITERATION = 1,
    OMPT_DISPATCH_SECTION = 2,
    OMPT_DISPATCH_LOOP = 3,
    OMPT_DISPATCH_TASKLOOP = 4
};

enum { /* what is waited for; everything else is a barrier */
    OMPT_SYNC_BARRIER_EXPLICIT = 3,
    OMPT_SYNC_TASKWAIT = 5,
    OMPT_SYNC_TASKGROUP = 6,
    OMPT_SYNC_REDUCTION = 7,
    OMPT_SYNC_BARRIER_PARALLEL = 9 /* at the end of a parallel region */
};

enum { /* worksharing constructs */
    OMPT_WORK_LOOP = 1,
    OMPT_WORK_SECTIONS = 2,
    OMPT_WORK_SINGLE = 3, /* by the thread that executes it */
    OMPT_WORK_SINGLE_OTHER = 4,
    OMPT_WORK_WORKSHARE = 5,
    OMPT_WORK_DISTRIBUTE = 6,
    OMPT_WORK_TASKLOOP = 7,
    OMPT_WORK_SCOPE = 8,
    OMPT_WORK_LOOP_STATIC = 10,
    OMPT_WORK_LOOP_DYNAMIC = 11,
    OMPT_WORK_LOOP_GUIDED = 12,
    OMPT_WORK_LOOP_OTHER = 13
};

enum {
    OMPT_MUTEX_LOCK = 1,
    OMPT_MUTEX_TEST_LOCK = 2,
    OMPT_MUTEX_NEST_LOCK = 3,
    OMPT_MUTEX_TEST_NEST_LOCK = 4,
    OMPT_MUTEX_CRITICAL = 5,
    OMPT_MUTEX_ATOMIC = 6,
    OMPT_MUTEX_ORDERED = 7
};

enum { /* flags of tasks */
    OMPT_TASK_INITIAL = 1,
    OMPT_TASK_IMPLICIT = 2,
    OMPT_TASK_EXPLICIT = 4,
    OMPT_TASK_TASKWAIT = 0x10,
    OMPT_TASK_UNDEFERRED = 0x08000000,
    OMPT_TASK_UNTIED = 0x10000000,
    OMPT_TASK_FINAL = 0x20000000
};

enum { /* why a thread leaves a task */
    OMPT_TASK_COMPLETE = 1,
    OMPT_TASK_YIELD = 2,
    OMPT_TASK_CANCEL = 3,
    OMPT_TASK_DETACH = 4,
    OMPT_TASK_EARLY_FULFILL = 5,
    OMPT_TASK_LATE_FULFILL = 6,
    OMPT_TASK_SWITCH = 7,
    OMPT_TASKWAIT_COMPLETE = 8
};

enum { OMPT_IN = 1, OMPT_OUT = 2, OMPT_INOUT = 3, OMPT_MUTEXINOUTSET = 4, OMPT_INOUTSET = 7 };

#endif /* WHYSLOW_OMPT_H */
