/* every.c records every event of a table, with all combinations of modes, as thread 1 of 3. Calls are
 * numbered, and the numbers serve as source lines. */
#include "hooks.h"
#include <pthread.h>

static gasp_context_t g;
static int line;
static int perm[] = {2, 0, 1}; /* where each thread's block goes */

#define S(tag, ...) gasp_event_notify(g, tag, GASP_START, "every.upc", ++line, 3, ##__VA_ARGS__)
#define E(tag, ...) gasp_event_notify(g, tag, GASP_END, "every.upc", line, 3, ##__VA_ARGS__)
#define A(tag, ...) gasp_event_notify(g, tag, GASP_ATOMIC, "every.upc", ++line, 3, ##__VA_ARGS__)
#define SE(tag, ...) (S(tag, ##__VA_ARGS__), E(tag, ##__VA_ARGS__))

/* The numbers of one table. */
#define NUMBER(name, bupc, gupc, text, kind) int name;
#define BUPC(name, bupc, gupc, text, kind) bupc,
#define GUPC(name, bupc, gupc, text, kind) gupc,
typedef struct events {
    GASP_EVENTS(NUMBER)
} events;
static const events tables[2] = {{GASP_EVENTS(BUPC)}, {GASP_EVENTS(GUPC)}};

static pts at(int thread) {
    pts p = {thread, 0x1000 * (size_t)(thread + 1)};
    return p;
}

static void memory(const events *e) {
    pts new = at(1);
    char *mine = (char *)&line;
    S(e->C_MALLOC, (size_t)100), E(e->C_MALLOC, (size_t)100, mine);
    S(e->C_REALLOC, mine, (size_t)200), E(e->C_REALLOC, mine, (size_t)200, mine);
    SE(e->C_FREE, mine);
    S(e->ALLOC, (size_t)64), E(e->ALLOC, (size_t)64, &new);
    S(e->GLOBAL_ALLOC, (size_t)3, (size_t)64), E(e->GLOBAL_ALLOC, (size_t)3, (size_t)64, &new);
    S(e->ALL_ALLOC, (size_t)3, (size_t)64), E(e->ALL_ALLOC, (size_t)3, (size_t)64, &new);
    SE(e->FREE, &new);
    SE(e->FREE, NULL);
    S(e->GLOBAL_LOCK_ALLOC), E(e->GLOBAL_LOCK_ALLOC, &new);
    S(e->ALL_LOCK_ALLOC), E(e->ALL_LOCK_ALLOC, &new);
    S(e->LOCK_ATTEMPT, &new), E(e->LOCK_ATTEMPT, &new, 0);
    S(e->LOCK_ATTEMPT, &new), E(e->LOCK_ATTEMPT, &new, 1);
    SE(e->UNLOCK, &new);
    SE(e->LOCK, &new);
    SE(e->UNLOCK, &new);
    SE(e->LOCK, NULL);
    SE(e->LOCK_FREE, &new);
    if (e->BUPC_STATIC_SHARED) SE(e->BUPC_STATIC_SHARED);
}

static void transfers(const events *e) {
    pts p0 = at(0), p1 = at(1), p2 = at(2), unknown = at(77);
    char mine[8];
    SE(e->MEMGET, mine, &p2, (size_t)8);
    SE(e->MEMGET, mine, &p1, (size_t)8); /* its own memory */
    SE(e->MEMPUT, &p2, mine, (size_t)9);
    SE(e->MEMCPY, &p2, &p1, (size_t)10); /* mine to 2 */
    SE(e->MEMCPY, &p1, &p2, (size_t)11); /* 2 to mine */
    SE(e->MEMCPY, &p0, &p2, (size_t)12); /* 2 to 0 */
    SE(e->MEMCPY, &p1, &p1, (size_t)13);
    SE(e->MEMSET, &p0, 255, (size_t)14);
    SE(e->MEMPUT, &unknown, mine, (size_t)15);
    SE(e->MEMPUT, &p0, mine, (size_t)-1);
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        SE(e->GET, relaxed, mine, &p2, (size_t)4);
        SE(e->GET, relaxed, mine, &p1, (size_t)4); /* local: depends on the level of instrumentation */
        SE(e->PUT, relaxed, &p0, mine, (size_t)2);
        SE(e->PUT, relaxed, &p1, mine, (size_t)2);
    }
    void *first = (void *)0x10, *second = (void *)0x20, *trivial = NULL;
    S(e->NB_GET_INIT, 1, mine, &p2, (size_t)4), E(e->NB_GET_INIT, 1, mine, &p2, (size_t)4, first);
    S(e->NB_PUT_INIT, 0, &p0, mine, (size_t)4), E(e->NB_PUT_INIT, 0, &p0, mine, (size_t)4, second);
    S(e->NB_GET_INIT, 1, mine, &p2, (size_t)4), E(e->NB_GET_INIT, 1, mine, &p2, (size_t)4, trivial);
    SE(e->NB_SYNC, second);
    SE(e->NB_SYNC, first);
    SE(e->NB_SYNC, first); /* it is complete already */
    if (e->NB_GET_DATA) {
        S(e->NB_GET_INIT, 1, mine, &p2, (size_t)4), E(e->NB_GET_INIT, 1, mine, &p2, (size_t)4, first);
        SE(e->NB_GET_DATA, first);
        S(e->NB_PUT_INIT, 1, &p2, mine, (size_t)4), E(e->NB_PUT_INIT, 1, &p2, mine, (size_t)4, second);
        A(e->NB_PUT_DATA, second);
        SE(e->NB_SYNC, second);
    }
    if (e->BUPC_NB_TRYSYNC) {
        S(e->BUPC_NB_MEMGET_INIT, mine, &p2, (size_t)20);
        E(e->BUPC_NB_MEMGET_INIT, mine, &p2, (size_t)20, first);
        S(e->BUPC_NB_MEMPUT_INIT, &p2, mine, (size_t)21);
        E(e->BUPC_NB_MEMPUT_INIT, &p2, mine, (size_t)21, second);
        S(e->BUPC_NB_MEMCPY_INIT, &p2, &p0, (size_t)22);
        E(e->BUPC_NB_MEMCPY_INIT, &p2, &p0, (size_t)22, (void *)-1);
        S(e->BUPC_NB_TRYSYNC, first), E(e->BUPC_NB_TRYSYNC, first, 0);
        S(e->BUPC_NB_TRYSYNC, first), E(e->BUPC_NB_TRYSYNC, first, 1);
        SE(e->NB_SYNC, second);
    }
    for (int tag = e->CACHE_MISS; tag && tag <= e->CACHE_INVALIDATE; tag++) A(tag);
}

static void synchronisation(const events *e) {
    SE(e->NOTIFY, 1, 7);
    SE(e->WAIT, 1, 7);
    if (e->BARRIER) SE(e->BARRIER, 0, 0);
    if (e->FENCE) SE(e->FENCE);
    if (e->FORALL) SE(e->FORALL);
}

static void collectives(const events *e) {
    pts p0 = at(0), p1 = at(1), p2 = at(2);
    static const int in[] = {0, IN_ALL, IN_MY, IN_NO}, out[] = {0, OUT_ALL, OUT_MY, OUT_NO};
    for (int i = 0; i < 16; i++)
        SE(e->ALL_BROADCAST, &p0, i & 1 ? &p2 : &p1, (size_t)i, in[i / 4] | out[i % 4]);
    SE(e->ALL_SCATTER, &p0, &p1, (size_t)5, IN_MY);
    SE(e->ALL_SCATTER, &p0, &p2, (size_t)5, 0);
    SE(e->ALL_GATHER, &p1, &p0, (size_t)5, OUT_NO);
    SE(e->ALL_GATHER, &p2, &p0, (size_t)5, IN_NO | OUT_NO);
    SE(e->ALL_GATHER_ALL, &p0, &p0, (size_t)5, IN_NO);
    SE(e->ALL_EXCHANGE, &p0, &p0, (size_t)5, OUT_MY);
    SE(e->ALL_EXCHANGE, &p0, &p0, (size_t)-1, 0);
    SE(e->ALL_PERMUTE, &p0, &p0, perm, (size_t)5, 0); /* it comes from thread 2 */
    for (int type = 0; type <= 11; type++)
        SE(e->ALL_REDUCE, type & 1 ? &p1 : &p0, &p0, 1, (size_t)30, (size_t)10, NULL, IN_MY | OUT_MY, type);
    SE(e->ALL_PREFIX_REDUCE, &p0, &p0, 1, (size_t)30, (size_t)10, NULL, IN_ALL | OUT_MY, 9);
    /* The last but one; two rounds; all at one thread. */
    SE(e->ALL_PREFIX_REDUCE, &p0, &p2, 1, (size_t)30, (size_t)10, NULL, IN_ALL | OUT_MY, 9);
    SE(e->ALL_PREFIX_REDUCE, &p0, &p1, 1, (size_t)31, (size_t)10, NULL, 0, 9);
    SE(e->ALL_PREFIX_REDUCE, &p0, &p1, 1, (size_t)31, (size_t)0, NULL, 0, 9);
    SE(e->ALL_PREFIX_REDUCE, &p0, &p1, 1, (size_t)0, (size_t)10, NULL, 0, 9);
}

static void users(void) {
    unsigned phase = gasp_create_event(g, "phase", "number %d"),
             mark = gasp_create_event(g, "my mark!", "%s at %.2f, %5ld%%"),
             plain = gasp_create_event(g, "plain", NULL);
    if (phase != gasp_create_event(g, "phase", "number %d") || phase == mark ||
        phase == gasp_create_event(g, "phase", "other"))
        abort();
    S(phase, 5);
    A(mark, "half", 0.5, 50L);
    A(plain);
    SE(plain);
    E(phase, 5);
}

static void *quiet(void *p) { /* the other threads do nothing but begin and end */
    const events *e = p;
    gasp_context_t c = gasp_init(GASP_MODEL_UPC, NULL, NULL);
    gasp_event_notify(c, (unsigned)e->COLLECTIVE_EXIT, GASP_START, NULL, 0, 0, 0);
    gasp_event_notify(c, (unsigned)e->COLLECTIVE_EXIT, GASP_END, NULL, 0, 0, 0);
    return NULL;
}

static void *two(void *p) {
    me = 2;
    return quiet(p);
}

int main(int argc, char **argv) {
    const events *e = &tables[argc > 1 && !strcmp(argv[1], "gupc")];
    pthread_t thread;
    threads = per_process = 3;
    pthread_create(&thread, NULL, quiet, (void *)e);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, two, (void *)e);
    pthread_join(thread, NULL);
    me = 1;
    g = gasp_init(GASP_MODEL_UPC, &argc, &argv);
    users();
    S(e->C_FUNC, "main");
    memory(e), transfers(e), synchronisation(e), collectives(e);
    S(e->C_FUNC, "main"), E(e->C_FUNC, "main"); /* called again */
    if (gasp_control(g, 0) != 1 || gasp_control(g, 0) != 0) abort();
    SE(e->NOTIFY, 0, 0);
    if (gasp_control(g, 2) != 0 || gasp_control(g, 1) != 1) abort();
    SE(77777);
    A(500);
    E(e->C_FUNC, "main");
    if (argc > 2) A(e->NONCOLLECTIVE_EXIT, 9);
    S(e->COLLECTIVE_EXIT, 4), E(e->COLLECTIVE_EXIT, 4);
    SE(e->NOTIFY, 0, 0); /* nothing is recorded any more */
    return 4;
}
