#ifndef WHYSLOW_GASP_H
#define WHYSLOW_GASP_H
/* gasp.h: GASP 1.5, the interface through which UPC run-time systems report to a tool what a program does, as
 * whyslow's library (gasp.c) implements it. It also has the numbers of events, which differ between
 * implementations.
 *
 * UPC run-time systems with GASP support call these functions; nobody else needs to. C or C++. */

#include <stdarg.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GASP_VERSION 20060914

typedef enum {
    GASP_MODEL_UPC,
    GASP_MODEL_TITANIUM,
    GASP_MODEL_CAF,
    GASP_MODEL_MPI,
    GASP_MODEL_SHMEM
} gasp_model_t;
typedef enum { GASP_START, GASP_END, GASP_ATOMIC } gasp_evttype_t;
typedef struct _gasp_context_S *gasp_context_t;

/* gasp_init is called once by each UPC thread, before anything else. It returns the thread's context. */
gasp_context_t gasp_init(gasp_model_t srcmodel, int *argc, char ***argv);

/* gasp_event_notify reports an event: its tag, whether it is a start, an end or a point in time, its place in
 * the source (filename may be NULL, numbers 0), and arguments that depend on the tag. */
void gasp_event_notify(gasp_context_t context, unsigned int evttag, gasp_evttype_t evttype,
                       const char *filename, int linenum, int colnum, ...);
void gasp_event_notifyVA(gasp_context_t context, unsigned int evttag, gasp_evttype_t evttype,
                         const char *filename, int linenum, int colnum, va_list varargs);

/* gasp_control switches recording for the thread on (not 0) or off, and returns the previous state. */
int gasp_control(gasp_context_t context, int on);

/* gasp_create_event returns the tag of an event of the user's, the same for the same name and desc. desc is a
 * printf format for the event's arguments; it may be NULL. */
unsigned int gasp_create_event(gasp_context_t context, const char *name, const char *desc);

/* Functions that only UPC code can provide. They come from whyslow_upc.upc, or from your own code under these
 * names. The first two are required: without them nothing is recorded. If another is missing, so is the
 * information that it provides. */
int whyslow_upc_mythread(void);
int whyslow_upc_threads(void);
/* The thread that a gasp_upc_PTS_t points to; -1: unknown. */
int whyslow_upc_threadof(const void *pts);
/* The number of a gasp_upc_lock_t, the same on all threads. */
uint64_t whyslow_upc_lock_id(const void *lock);
/* Element `thread` of the third argument of upc_all_permute; -1: unknown. */
int whyslow_upc_perm(const void *perm_pts, int thread);
/* The values of UPC_IN_ALLSYNC and so on. Without this function those of GUPC and Clang UPC are used: 1, 2,
 * 4, 8, 16 and 32. */
void whyslow_upc_flags(int *in_all, int *in_my, int *in_no, int *out_all, int *out_my, int *out_no);
/* How many UPC threads share a process of the operating system, the same number everywhere; without this
 * function 1. */
int whyslow_upc_per_process(void);
/* Each thread has 8 numbers in shared memory, slots 0 to 7, which are 0 at first. These functions write and
 * read one with strict accesses; reading also lets messages of others arrive. They are called only during
 * events, on UPC threads. Without them the clocks of hosts are not compared. */
void whyslow_upc_put(int thread, int slot, int64_t value);
int64_t whyslow_upc_get(int thread, int slot);

/* The events: name, number in Berkeley UPC, number in GUPC and Clang UPC (0: it has none), name of the region
 * as programs write it, and kind of region. C_FUNC takes its name from its argument. */
#define GASP_EVENTS(X)                                                                    \
    X(C_FUNC, 1023, 1, "", FUNCTION)                                                      \
    X(C_MALLOC, 1020, 2, "malloc", MEMORY)                                                \
    X(C_REALLOC, 1021, 3, "realloc", MEMORY)                                              \
    X(C_FREE, 1022, 4, "free", MEMORY)                                                    \
    X(COLLECTIVE_EXIT, 1210, 5, "exit", RUNTIME)                                          \
    X(NONCOLLECTIVE_EXIT, 1211, 6, "upc_global_exit", RUNTIME)                            \
    X(NOTIFY, 1100, 7, "upc_notify", BARRIER)                                             \
    X(WAIT, 1101, 8, "upc_wait", BARRIER)                                                 \
    X(BARRIER, 0, 9, "upc_barrier", BARRIER)                                              \
    X(FENCE, 0, 10, "upc_fence", COMPLETION)                                              \
    X(FORALL, 0, 11, "upc_forall", FUNCTION)                                              \
    X(ALLOC, 1000, 14, "upc_alloc", MEMORY)                                               \
    X(GLOBAL_ALLOC, 1001, 12, "upc_global_alloc", MEMORY)                                 \
    X(ALL_ALLOC, 1002, 13, "upc_all_alloc", MEMORY)                                       \
    X(FREE, 1003, 15, "upc_free", MEMORY)                                                 \
    X(GLOBAL_LOCK_ALLOC, 1010, 16, "upc_global_lock_alloc", MEMORY)                       \
    X(ALL_LOCK_ALLOC, 1011, 17, "upc_all_lock_alloc", MEMORY)                             \
    X(LOCK_FREE, 1012, 18, "upc_lock_free", MEMORY)                                       \
    X(LOCK_ATTEMPT, 1013, 20, "upc_lock_attempt", LOCK)                                   \
    X(LOCK, 1014, 19, "upc_lock", LOCK)                                                   \
    X(UNLOCK, 1015, 21, "upc_unlock", LOCK)                                               \
    X(MEMGET, 1030, 23, "upc_memget", BULK)                                               \
    X(MEMPUT, 1031, 24, "upc_memput", BULK)                                               \
    X(MEMCPY, 1032, 22, "upc_memcpy", BULK)                                               \
    X(MEMSET, 1033, 25, "upc_memset", BULK)                                               \
    X(PUT, 1110, 27, "shared write", ACCESS)                                              \
    X(GET, 1111, 26, "shared read", ACCESS)                                               \
    X(NB_GET_INIT, 1120, 28, "non-blocking read", ACCESS)                                 \
    X(NB_PUT_INIT, 1121, 30, "non-blocking write", ACCESS)                                \
    X(NB_SYNC, 1122, 32, "wait for a transfer", COMPLETION)                               \
    X(NB_GET_DATA, 0, 29, "non-blocking read, its data", ACCESS)                          \
    X(NB_PUT_DATA, 0, 31, "non-blocking write, its data", ACCESS)                         \
    X(CACHE_MISS, 0, 33, "cache miss", RUNTIME)                                           \
    X(CACHE_HIT, 0, 34, "cache hit", RUNTIME)                                             \
    X(CACHE_INVALIDATE, 0, 35, "cache invalidation", RUNTIME)                             \
    X(BUPC_NB_TRYSYNC, 1130, 0, "test of a transfer", COMPLETION)                         \
    X(BUPC_NB_MEMGET_INIT, 1131, 0, "bupc_memget_async", BULK)                            \
    X(BUPC_NB_MEMPUT_INIT, 1132, 0, "bupc_memput_async", BULK)                            \
    X(BUPC_NB_MEMCPY_INIT, 1133, 0, "bupc_memcpy_async", BULK)                            \
    X(BUPC_STATIC_SHARED, 1140, 0, "static shared data", MEMORY)                          \
    X(ALL_BROADCAST, 1300, 36, "upc_all_broadcast", COLLECTIVE)                           \
    X(ALL_SCATTER, 1310, 37, "upc_all_scatter", COLLECTIVE)                               \
    X(ALL_GATHER, 1320, 38, "upc_all_gather", COLLECTIVE)                                 \
    X(ALL_GATHER_ALL, 1330, 39, "upc_all_gather_all", COLLECTIVE)                         \
    X(ALL_EXCHANGE, 1340, 40, "upc_all_exchange", COLLECTIVE)                             \
    X(ALL_PERMUTE, 1350, 41, "upc_all_permute", COLLECTIVE)                               \
    X(ALL_REDUCE, 1400, 42, "upc_all_reduce", COLLECTIVE)                                 \
    X(ALL_PREFIX_REDUCE, 1410, 43, "upc_all_prefix_reduce", COLLECTIVE)

#define GASP_EVENT_NUMBERS(name, bupc, gupc, text, kind) GASP_BUPC_##name = bupc, GASP_GUPC_##name = gupc,
enum { GASP_EVENTS(GASP_EVENT_NUMBERS) GASP_EVT_NONE = 0 };
#undef GASP_EVENT_NUMBERS

#ifdef __cplusplus
}
#endif
#endif /* WHYSLOW_GASP_H */
