/* upc.h: the operations of UPC as C functions, to test tools for UPC programs without a UPC compiler.
 *
 * A program has upc_main instead of main, MYTHREAD and THREADS, pointers to shared of the type upc_pts, and
 * the library of UPC with its sync modes. The work of a compiler is written out: upc_block and upc_add move a
 * pointer to shared, and upc_get and upc_put read and write a single value. Static variables would be shared
 * by the threads of one process, so programs have none.
 *
 * All operations are macros that add the caller's file and line. They report to the tool that the program is
 * linked with what Berkeley UPC would report (GASP 1.5), or GUPC if UPC_TABLE=gupc. Compiled with UPC_NO_GASP
 * they report nothing, like a program compiled without instrumentation.
 *
 * The environment, in addition to that of the tool:
 *     UPC_THREADS     number of threads if they are threads of one process; default 2
 *     UPC_SEGMENT     shared memory of each thread, MiB; default 64
 *     UPC_TABLE       bupc or gupc: the implementation whose events are reported; default bupc
 *     UPC_INST        calls, local or functions: what the compiler instruments; default calls
 *     UPC_MYSYNC      barrier or partners: whether the mode MYSYNC waits for all threads, as in MTU's
 *                     reference implementation, or for those whose data is needed; default barrier
 *     UPC_LATENCY     us that a transfer to another thread takes at least; default 0
 *     UPC_BANDWIDTH   MB/s of a thread's transfers with others; default 0: as fast as the memory
 */
#ifndef UPC_H
#define UPC_H

#include <stddef.h>
#include <stdint.h>

typedef struct { int32_t thread; uint32_t phase; uint64_t addr; } upc_pts; /* null if thread is -1 */
typedef upc_pts upc_lock_t; /* points to the lock's memory */
typedef void *bupc_handle_t; /* of a transfer; null: it is complete */
typedef unsigned int upc_flag_t;
typedef int upc_op_t;

#define UPC_NULL ((upc_pts){-1, 0, 0})

enum {
    UPC_IN_ALLSYNC = 1,
    UPC_IN_MYSYNC = 2,
    UPC_IN_NOSYNC = 4,
    UPC_OUT_ALLSYNC = 8,
    UPC_OUT_MYSYNC = 16,
    UPC_OUT_NOSYNC = 32
};
enum {
    UPC_ADD = 1,
    UPC_MULT = 2,
    UPC_AND = 4,
    UPC_OR = 8,
    UPC_XOR = 16,
    UPC_LOGAND = 32,
    UPC_LOGOR = 64,
    UPC_MIN = 128,
    UPC_MAX = 256,
    UPC_FUNC = 512,
    UPC_NONCOMM_FUNC = 1024
};

int upc_main(int argc, char **argv);
int upc_mythread(void);
int upc_threads(void);
#define MYTHREAD upc_mythread()
#define THREADS upc_threads()

/* The place of a call. */
typedef struct { const char *file; int line; } upc_at;
#define UPC_AT ((upc_at){__FILE__, __LINE__})

/* ---- Pointers -------------------------------------------------------------------------------- */

static inline int upc_threadof(upc_pts p) { return p.thread; }
static inline uint32_t upc_phaseof(upc_pts p) { return p.phase; }
static inline uint64_t upc_addrfield(upc_pts p) { return p.addr; }
/* upc_add moves within the same thread's memory. */
static inline upc_pts upc_add(upc_pts p, int64_t bytes) {
    return (upc_pts){p.thread, p.phase, p.addr + (uint64_t)bytes};
}
/* upc_block returns block i of an array whose blocks of that many bytes go round the threads. */
static inline upc_pts upc_block(upc_pts p, size_t i, size_t bytes) {
    size_t at = (size_t)p.thread + i, threads = (size_t)upc_threads();
    return (upc_pts){(int32_t)(at % threads), 0, p.addr + at / threads * bytes};
}
/* upc_cast returns the address of data with affinity to this thread. */
void *upc_cast(upc_pts p);

/* ---- Synchronisation ------------------------------------------------------------------------- */

void upc_notify_at(upc_at at, int named, int expr);
void upc_wait_at(upc_at at, int named, int expr);
void upc_barrier_at(upc_at at, int named, int expr);
void upc_fence_at(upc_at at);
#define upc_notify() upc_notify_at(UPC_AT, 0, 0)
#define upc_wait() upc_wait_at(UPC_AT, 0, 0)
#define upc_barrier() upc_barrier_at(UPC_AT, 0, 0)
#define upc_barrier_named(expr) upc_barrier_at(UPC_AT, 1, expr)
#define upc_fence() upc_fence_at(UPC_AT)

upc_lock_t upc_all_lock_alloc_at(upc_at at);
upc_lock_t upc_global_lock_alloc_at(upc_at at);
void upc_lock_free_at(upc_at at, upc_lock_t lock);
void upc_lock_at(upc_at at, upc_lock_t lock);
int upc_lock_attempt_at(upc_at at, upc_lock_t lock);
void upc_unlock_at(upc_at at, upc_lock_t lock);
#define upc_all_lock_alloc() upc_all_lock_alloc_at(UPC_AT)
#define upc_global_lock_alloc() upc_global_lock_alloc_at(UPC_AT)
#define upc_lock_free(lock) upc_lock_free_at(UPC_AT, lock)
#define upc_lock(lock) upc_lock_at(UPC_AT, lock)
#define upc_lock_attempt(lock) upc_lock_attempt_at(UPC_AT, lock)
#define upc_unlock(lock) upc_unlock_at(UPC_AT, lock)

/* ---- Memory ---------------------------------------------------------------------------------- */

upc_pts upc_all_alloc_at(upc_at at, size_t nblocks, size_t nbytes);
upc_pts upc_global_alloc_at(upc_at at, size_t nblocks, size_t nbytes);
upc_pts upc_alloc_at(upc_at at, size_t nbytes);
void upc_free_at(upc_at at, upc_pts p);
#define upc_all_alloc(nblocks, nbytes) upc_all_alloc_at(UPC_AT, nblocks, nbytes)
#define upc_global_alloc(nblocks, nbytes) upc_global_alloc_at(UPC_AT, nblocks, nbytes)
#define upc_alloc(nbytes) upc_alloc_at(UPC_AT, nbytes)
#define upc_free(p) upc_free_at(UPC_AT, p)

/* ---- Transfers ------------------------------------------------------------------------------- */

void upc_memget_at(upc_at at, void *dst, upc_pts src, size_t n);
void upc_memput_at(upc_at at, upc_pts dst, const void *src, size_t n);
void upc_memcpy_at(upc_at at, upc_pts dst, upc_pts src, size_t n);
void upc_memset_at(upc_at at, upc_pts dst, int c, size_t n);
#define upc_memget(dst, src, n) upc_memget_at(UPC_AT, dst, src, n)
#define upc_memput(dst, src, n) upc_memput_at(UPC_AT, dst, src, n)
#define upc_memcpy(dst, src, n) upc_memcpy_at(UPC_AT, dst, src, n)
#define upc_memset(dst, c, n) upc_memset_at(UPC_AT, dst, c, n)

/* A single value: the code a compiler makes for an expression with a shared variable. */
void upc_read_at(upc_at at, int relaxed, void *dst, upc_pts src, size_t n);
void upc_write_at(upc_at at, int relaxed, upc_pts dst, const void *src, size_t n);
#define upc_get(type, src) ({ type got_; upc_read_at(UPC_AT, 1, &got_, src, sizeof got_); got_; })
#define upc_put(type, dst, value) ({ type put_ = (value); upc_write_at(UPC_AT, 1, dst, &put_, sizeof put_); })
#define upc_get_strict(type, src) ({ type got_; upc_read_at(UPC_AT, 0, &got_, src, sizeof got_); got_; })
#define upc_put_strict(type, dst, value)                  \
    ({                                                    \
        type put_ = (value);                              \
        upc_write_at(UPC_AT, 0, dst, &put_, sizeof put_); \
    })

/* Non-blocking transfers, as in Berkeley UPC. Each must be waited for. */
bupc_handle_t bupc_memget_async_at(upc_at at, void *dst, upc_pts src, size_t n);
bupc_handle_t bupc_memput_async_at(upc_at at, upc_pts dst, const void *src, size_t n);
bupc_handle_t bupc_memcpy_async_at(upc_at at, upc_pts dst, upc_pts src, size_t n);
void bupc_waitsync_at(upc_at at, bupc_handle_t handle);
int bupc_trysync_at(upc_at at, bupc_handle_t handle);
#define bupc_memget_async(dst, src, n) bupc_memget_async_at(UPC_AT, dst, src, n)
#define bupc_memput_async(dst, src, n) bupc_memput_async_at(UPC_AT, dst, src, n)
#define bupc_memcpy_async(dst, src, n) bupc_memcpy_async_at(UPC_AT, dst, src, n)
#define bupc_waitsync(handle) bupc_waitsync_at(UPC_AT, handle)
#define bupc_trysync(handle) bupc_trysync_at(UPC_AT, handle)

/* ---- Collectives ----------------------------------------------------------------------------- */

void upc_all_broadcast_at(upc_at at, upc_pts dst, upc_pts src, size_t nbytes, upc_flag_t flags);
void upc_all_scatter_at(upc_at at, upc_pts dst, upc_pts src, size_t nbytes, upc_flag_t flags);
void upc_all_gather_at(upc_at at, upc_pts dst, upc_pts src, size_t nbytes, upc_flag_t flags);
void upc_all_gather_all_at(upc_at at, upc_pts dst, upc_pts src, size_t nbytes, upc_flag_t flags);
void upc_all_exchange_at(upc_at at, upc_pts dst, upc_pts src, size_t nbytes, upc_flag_t flags);
void upc_all_permute_at(upc_at at, upc_pts dst, upc_pts src, upc_pts perm, size_t nbytes, upc_flag_t flags);
#define upc_all_broadcast(dst, src, nbytes, flags) upc_all_broadcast_at(UPC_AT, dst, src, nbytes, flags)
#define upc_all_scatter(dst, src, nbytes, flags) upc_all_scatter_at(UPC_AT, dst, src, nbytes, flags)
#define upc_all_gather(dst, src, nbytes, flags) upc_all_gather_at(UPC_AT, dst, src, nbytes, flags)
#define upc_all_gather_all(dst, src, nbytes, flags) upc_all_gather_all_at(UPC_AT, dst, src, nbytes, flags)
#define upc_all_exchange(dst, src, nbytes, flags) upc_all_exchange_at(UPC_AT, dst, src, nbytes, flags)
#define upc_all_permute(dst, src, perm, nbytes, flags) \
    upc_all_permute_at(UPC_AT, dst, src, perm, nbytes, flags)

typedef int (*upc_func_i)(int, int);
typedef long (*upc_func_l)(long, long);
typedef double (*upc_func_d)(double, double);
void upc_all_reduceI_at(upc_at at, upc_pts dst, upc_pts src, upc_op_t op, size_t nelems, size_t blk,
                        upc_func_i func, upc_flag_t flags);
void upc_all_reduceL_at(upc_at at, upc_pts dst, upc_pts src, upc_op_t op, size_t nelems, size_t blk,
                        upc_func_l func, upc_flag_t flags);
void upc_all_reduceD_at(upc_at at, upc_pts dst, upc_pts src, upc_op_t op, size_t nelems, size_t blk,
                        upc_func_d func, upc_flag_t flags);
void upc_all_prefix_reduceI_at(upc_at at, upc_pts dst, upc_pts src, upc_op_t op, size_t nelems, size_t blk,
                               upc_func_i func, upc_flag_t flags);
void upc_all_prefix_reduceL_at(upc_at at, upc_pts dst, upc_pts src, upc_op_t op, size_t nelems, size_t blk,
                               upc_func_l func, upc_flag_t flags);
void upc_all_prefix_reduceD_at(upc_at at, upc_pts dst, upc_pts src, upc_op_t op, size_t nelems, size_t blk,
                               upc_func_d func, upc_flag_t flags);
#define upc_all_reduceI(dst, src, op, nelems, blk, func, flags) \
    upc_all_reduceI_at(UPC_AT, dst, src, op, nelems, blk, func, flags)
#define upc_all_reduceL(dst, src, op, nelems, blk, func, flags) \
    upc_all_reduceL_at(UPC_AT, dst, src, op, nelems, blk, func, flags)
#define upc_all_reduceD(dst, src, op, nelems, blk, func, flags) \
    upc_all_reduceD_at(UPC_AT, dst, src, op, nelems, blk, func, flags)
#define upc_all_prefix_reduceI(dst, src, op, nelems, blk, func, flags) \
    upc_all_prefix_reduceI_at(UPC_AT, dst, src, op, nelems, blk, func, flags)
#define upc_all_prefix_reduceL(dst, src, op, nelems, blk, func, flags) \
    upc_all_prefix_reduceL_at(UPC_AT, dst, src, op, nelems, blk, func, flags)
#define upc_all_prefix_reduceD(dst, src, op, nelems, blk, func, flags) \
    upc_all_prefix_reduceD_at(UPC_AT, dst, src, op, nelems, blk, func, flags)

/* ---- The rest of the language ---------------------------------------------------------------- */

/* upc_forall(init; condition; step) with an affinity: a thread runs the turns whose affinity, an integer, is
 * its own number. */
void upc_forall_at(upc_at at, int end);
#define upc_forall(init, condition, step, affinity)                                               \
    for (int turn_ = (upc_forall_at(UPC_AT, 0), 1); turn_; turn_ = (upc_forall_at(UPC_AT, 1), 0)) \
        for (init; condition; step)                                                               \
            if ((int)((affinity) % THREADS) == MYTHREAD)

/* UPC_FUNCTION at the start of a function stands for a compiler that instruments functions. */
typedef struct { upc_at at; const char *name; } upc_function;
upc_function upc_function_enter(upc_at at, const char *name);
void upc_function_leave(upc_function *f);
#define UPC_FUNCTION                                               \
    __attribute__((cleanup(upc_function_leave)))                   \
    upc_function function_ = upc_function_enter(UPC_AT, __func__); \
    (void)function_

void upc_global_exit_at(upc_at at, int status) __attribute__((noreturn));
#define upc_global_exit(status) upc_global_exit_at(UPC_AT, status)

/* What the tool offers to users (pupc.h). */
int pupc_control(int on);
unsigned int pupc_create_event(const char *name, const char *desc);
void pupc_event_at(upc_at at, int type, unsigned int tag, ...);
#define pupc_event_start(...) pupc_event_at(UPC_AT, 0, __VA_ARGS__)
#define pupc_event_end(...) pupc_event_at(UPC_AT, 1, __VA_ARGS__)
#define pupc_event_atomic(...) pupc_event_at(UPC_AT, 2, __VA_ARGS__)

/* ---- For tests: not UPC ---------------------------------------------------------------------- */

/* upc_linger makes this thread's next barrier, wait or collective last longer before it ends: a slow way
 * out. */
void upc_linger(double ms);
/* upc_align is a barrier that is not reported to the tool. */
void upc_align(void);
/* upc_now returns a time in ns that all threads of a host share. */
int64_t upc_now(void);
/* Memory of each thread for notes, which are gathered at the end without the tool. upc_notes returns this
 * thread's; upc_notes_of copies those of another. */
enum { UPC_NOTES = 1 << 15 };
void *upc_notes(void);
void upc_notes_of(int thread, void *dst, size_t n);

#endif
