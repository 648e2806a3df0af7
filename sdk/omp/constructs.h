#ifndef WHYSLOW_OMP_CONSTRUCTS_H
#define WHYSLOW_OMP_CONSTRUCTS_H
/* constructs.h: the constructs of OpenMP, as operations of a node. Part of omp.c and mpi.c. */

/* Constructs, by which code fragments are named. */
enum {
    OMP_SERIAL_START,
    OMP_SERIAL, /* after a region */
    OMP_REGION, /* a parallel region, structured */
    OMP_PARALLEL,
    OMP_TASK,
    OMP_TASK_UNTIED,
    OMP_TASK_FINAL,
    OMP_TASK_UNDEFERRED,
    OMP_TASKLOOP,
    OMP_FOR,
    OMP_FOR_STATIC,
    OMP_FOR_DYNAMIC,
    OMP_FOR_GUIDED,
    OMP_SECTIONS,
    OMP_SINGLE,
    OMP_MASKED,
    OMP_WORKSHARE,
    OMP_SCOPE,
    OMP_MAIN,   /* the thread that began, of a program that makes threads itself */
    OMP_THREAD, /* one that it makes */
    OMP_CONSTRUCTS
};

/* Their names and kinds, for a table of operations. */
#define OMP_CONSTRUCT_LIST \
    {"serial code at the start", WS_ATOMIC}, \
    {"serial code after", WS_ATOMIC}, \
    {"parallel region", WS_SUB}, \
    {"parallel", WS_ATOMIC}, \
    {"task", WS_ATOMIC}, \
    {"untied task", WS_ATOMIC}, \
    {"final task", WS_ATOMIC}, \
    {"undeferred task", WS_ATOMIC}, \
    {"taskloop", WS_ATOMIC}, \
    {"for", WS_ATOMIC}, \
    {"for static", WS_ATOMIC}, \
    {"for dynamic", WS_ATOMIC}, \
    {"for guided", WS_ATOMIC}, \
    {"sections", WS_ATOMIC}, \
    {"single", WS_ATOMIC}, \
    {"masked", WS_ATOMIC}, \
    {"workshare", WS_ATOMIC}, \
    {"scope", WS_ATOMIC}, \
    {"main thread", WS_ATOMIC}, \
    {"thread", WS_ATOMIC}

#endif /* WHYSLOW_OMP_CONSTRUCTS_H */
