/* layer.h: what the files of the layer share. */
#ifndef LAYER_H
#define LAYER_H

#include "backend.h"
#include "gasp.h"
#include "upc.h"

/* A segment holds the layer's words, tables of allocations, notes, and then the memory of the program. Three
 * quarters of that are for arrays over all threads, which begin at the same offset everywhere. */
enum {
    ARRIVED = 0,           /* at thread 0: how often threads have arrived at a barrier */
    RELEASED = 8,          /* how many barriers this thread may leave */
    ALL_HEAP_LOCK = 16,    /* at thread 0; locks are two words, see lock_take */
    OWN_HEAP_LOCK = 32,
    RESULT = 48,           /* what thread 0 allocated */
    SLOTS = 1 << 8,        /* for the tool */
    ENTERED = 1 << 12,     /* by thread: how many collectives it has entered */
    DONE = 2 << 12,        /* by thread: in how many collectives it has everything it needs */
    MAIL_CAME = 3 << 12,   /* by thread: messages from it */
    MAIL_TAKEN = 4 << 12,  /* by thread: messages that it has taken */
    MAIL = 5 << 12,        /* by thread: the message */
    MAIL_SIZE = 64,
    ALL_HEAP = 1 << 16,    /* at thread 0 */
    OWN_HEAP = 2 << 16,
    NOTES = 3 << 16,
    HEAP = 1 << 20
};

enum event {
    COLLECTIVE_EXIT,
    NONCOLLECTIVE_EXIT,
    C_FUNC,
    NOTIFY,
    WAIT,
    BARRIER,
    FORALL,
    ALLOC,
    GLOBAL_ALLOC,
    ALL_ALLOC,
    FREE,
    GLOBAL_LOCK_ALLOC,
    ALL_LOCK_ALLOC,
    LOCK_FREE,
    LOCK_ATTEMPT,
    LOCK,
    UNLOCK,
    MEMGET,
    MEMPUT,
    MEMCPY,
    MEMSET,
    PUT,
    GET,
    NB_SYNC,
    NB_TRYSYNC,
    NB_MEMGET,
    NB_MEMPUT,
    NB_MEMCPY,
    BROADCAST,
    SCATTER,
    GATHER,
    GATHER_ALL,
    EXCHANGE,
    PERMUTE,
    REDUCE,
    PREFIX_REDUCE,
    EVENTS
};

typedef struct {
    int me, threads, partners; /* MYSYNC waits for partners only */
    uint64_t segment, barriers, collectives;
    uint64_t mailed[256], taken[256]; /* messages to and from each thread */
    gasp_context_t context;
    const unsigned *tags; /* by event; 0: the implementation has no such event */
    int accesses, functions;
    double linger;
    int64_t latency, ns_per_kib, link_free; /* the simulated network, ns */
    struct { int used; int64_t until; } transfers[1024];
} layer_self;
extern __thread layer_self self;

#ifdef UPC_NO_GASP
enum { TELLING = 0 };
#else
enum { TELLING = 1 };
#endif

/* TELL reports an event to the tool, with the arguments that belong to it. */
#define TELL(at, event, type, ...)                                                                           \
    do {                                                                                                     \
        if (TELLING && self.tags[event])                                                                     \
            gasp_event_notify(self.context, self.tags[event], type, (at).file, (at).line, 0, ##__VA_ARGS__); \
    } while (0)

void layer_barrier(void);
void layer_linger(void);
void layer_fail(const char *what) __attribute__((noreturn));
void layer_get(void *dst, upc_pts src, size_t n); /* transfers that are not reported to the tool */
void layer_put(upc_pts dst, const void *src, size_t n);
void layer_copy(upc_pts dst, upc_pts src, size_t n);
void layer_mail(int to, const void *message, size_t n);
void layer_take_mail(int from, void *message, size_t n);
int layer_time_left(int64_t until);

#endif
