/* layer.c: UPC's operations except the collectives (collective.c), over the words and bytes of backend.h.
 *
 * Barriers: threads add 1 to a word of thread 0. The last one stores the number of the barrier in a word of
 * each thread, which waits for it there. So notify and wait need nothing else. Locks hand out tickets: first
 * come, first served. One thread finds a place for arrays over all threads, in a table that thread 0
 * keeps. */
#define _GNU_SOURCE
#include "layer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__thread layer_self self;

static const unsigned bupc[EVENTS] = {
    [COLLECTIVE_EXIT] = 1210, [NONCOLLECTIVE_EXIT] = 1211, [C_FUNC] = 1023, [NOTIFY] = 1100, [WAIT] = 1101,
    [ALLOC] = 1000, [GLOBAL_ALLOC] = 1001, [ALL_ALLOC] = 1002, [FREE] = 1003, [GLOBAL_LOCK_ALLOC] = 1010,
    [ALL_LOCK_ALLOC] = 1011, [LOCK_FREE] = 1012, [LOCK_ATTEMPT] = 1013, [LOCK] = 1014, [UNLOCK] = 1015,
    [MEMGET] = 1030, [MEMPUT] = 1031, [MEMCPY] = 1032, [MEMSET] = 1033, [PUT] = 1110, [GET] = 1111,
    [NB_SYNC] = 1122, [NB_TRYSYNC] = 1130, [NB_MEMGET] = 1131, [NB_MEMPUT] = 1132, [NB_MEMCPY] = 1133,
    [BROADCAST] = 1300, [SCATTER] = 1310, [GATHER] = 1320, [GATHER_ALL] = 1330, [EXCHANGE] = 1340,
    [PERMUTE] = 1350, [REDUCE] = 1400, [PREFIX_REDUCE] = 1410};
/* GUPC does not report collectives, nor transfers that are waited for. */
static const unsigned gupc[EVENTS] = {
    [COLLECTIVE_EXIT] = 5, [NONCOLLECTIVE_EXIT] = 6, [C_FUNC] = 1, [NOTIFY] = 7, [WAIT] = 8, [BARRIER] = 9,
    [FORALL] = 11, [ALLOC] = 14, [GLOBAL_ALLOC] = 12, [ALL_ALLOC] = 13, [FREE] = 15,
    [GLOBAL_LOCK_ALLOC] = 16, [ALL_LOCK_ALLOC] = 17, [LOCK_FREE] = 18, [LOCK_ATTEMPT] = 20, [LOCK] = 19,
    [UNLOCK] = 21, [MEMGET] = 23, [MEMPUT] = 24, [MEMCPY] = 22, [MEMSET] = 25, [PUT] = 27, [GET] = 26};

int upc_mythread(void) { return self.me; }
int upc_threads(void) { return self.threads; }

void layer_fail(const char *what) {
    fprintf(stderr, "UPC thread %d: %s\n", self.me, what);
    be_exit(3);
}

int64_t upc_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

static void until(int64_t when) {
    for (int64_t left; (left = when - upc_now()) > 0;)
        if (left > 100000)
            nanosleep(&(struct timespec){(left - 60000) / 1000000000, (left - 60000) % 1000000000}, NULL);
}

void upc_linger(double ms) { self.linger = ms; }
void layer_linger(void) {
    if (self.linger <= 0) return;
    until(upc_now() + (int64_t)(self.linger * 1e6));
    self.linger = 0;
}

/* ---- Start and end --------------------------------------------------------------------------- */

static int chosen(const char *name, const char *first, const char *second, const char *third) {
    const char *text = getenv(name);
    if (!text || !*text || !strcmp(text, first)) return 0;
    if (!strcmp(text, second)) return 1;
    if (third && !strcmp(text, third)) return 2;
    fprintf(stderr, "%s=%s: it must be %s, %s%s%s\n", name, text, first, second, third ? " or " : "",
            third ? third : "");
    be_exit(2);
}

static double number(const char *name) {
    const char *text = getenv(name);
    return text ? atof(text) : 0;
}

int layer_run(int me, int threads, uint64_t segment, int argc, char **argv) {
    if (threads > 256) layer_fail("too many threads: 256 are the most");
    memset(&self, 0, sizeof self);
    self.me = me, self.threads = threads, self.segment = segment;
    self.tags = chosen("UPC_TABLE", "bupc", "gupc", NULL) ? gupc : bupc;
    int inst = chosen("UPC_INST", "calls", "local", "functions");
    self.accesses = inst >= 1, self.functions = inst == 2;
    self.partners = chosen("UPC_MYSYNC", "barrier", "partners", NULL);
    self.latency = (int64_t)(number("UPC_LATENCY") * 1e3);
    double rate = number("UPC_BANDWIDTH");
    self.ns_per_kib = rate > 0 ? (int64_t)(1024e3 / rate) : 0;
    upc_at nowhere = {NULL, 0};
    if (TELLING) self.context = gasp_init(GASP_MODEL_UPC, &argc, &argv);
    layer_barrier();
    int status = upc_main(argc, argv);
    TELL(nowhere, COLLECTIVE_EXIT, GASP_START, status);
    layer_barrier();
    TELL(nowhere, COLLECTIVE_EXIT, GASP_END, status);
    return status;
}

void upc_global_exit_at(upc_at at, int status) {
    TELL(at, NONCOLLECTIVE_EXIT, GASP_ATOMIC, status);
    be_exit(status);
}

/* ---- Barriers and locks ---------------------------------------------------------------------- */

static void notify(void) {
    uint64_t all = ++self.barriers * (uint64_t)self.threads;
    be_fence();
    if (be_add(0, ARRIVED, 1) + 1 == all)
        for (int i = 0; i < self.threads; i++) be_store(i, RELEASED, self.barriers);
}

void layer_barrier(void) {
    notify();
    be_await(self.me, RELEASED, self.barriers);
}

void upc_align(void) { layer_barrier(); }

void upc_notify_at(upc_at at, int named, int expr) {
    TELL(at, NOTIFY, GASP_START, named, expr);
    notify();
    TELL(at, NOTIFY, GASP_END, named, expr);
}

void upc_wait_at(upc_at at, int named, int expr) {
    TELL(at, WAIT, GASP_START, named, expr);
    be_await(self.me, RELEASED, self.barriers);
    layer_linger();
    TELL(at, WAIT, GASP_END, named, expr);
}

void upc_barrier_at(upc_at at, int named, int expr) {
    if (!TELLING || !self.tags[BARRIER]) {
        upc_notify_at(at, named, expr);
        upc_wait_at(at, named, expr);
        return;
    }
    TELL(at, BARRIER, GASP_START, named, expr);
    layer_barrier();
    layer_linger();
    TELL(at, BARRIER, GASP_END, named, expr);
}

void upc_fence_at(upc_at at) {
    (void)at; /* neither implementation reports fences */
    be_fence();
}

/* A lock is two words: tickets handed out, tickets served. */
static void lock_take(int thread, uint64_t addr) { be_await(thread, addr + 8, be_add(thread, addr, 1)); }
static void lock_give(int thread, uint64_t addr) { be_add(thread, addr + 8, 1); }

void upc_lock_at(upc_at at, upc_lock_t lock) {
    TELL(at, LOCK, GASP_START, &lock);
    lock_take(lock.thread, lock.addr);
    TELL(at, LOCK, GASP_END, &lock);
}

int upc_lock_attempt_at(upc_at at, upc_lock_t lock) {
    TELL(at, LOCK_ATTEMPT, GASP_START, &lock);
    uint64_t served = be_load(lock.thread, lock.addr + 8);
    int result = be_swap(lock.thread, lock.addr, served, served + 1);
    TELL(at, LOCK_ATTEMPT, GASP_END, &lock, result);
    return result;
}

void upc_unlock_at(upc_at at, upc_lock_t lock) {
    TELL(at, UNLOCK, GASP_START, &lock);
    lock_give(lock.thread, lock.addr);
    TELL(at, UNLOCK, GASP_END, &lock);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

typedef struct { uint64_t n; struct { uint64_t off, size; } used[2000]; } heap; /* in order of offsets */

static size_t heap_size(uint64_t n) { return sizeof(uint64_t) + n * sizeof ((heap *)0)->used[0]; }

/* change changes the table of a thread's heap. If size is not 0, it finds that many bytes between from and to
 * and returns their offset; otherwise it frees the block at off. */
static uint64_t change(int thread, uint64_t lock, uint64_t table, uint64_t from, uint64_t to, uint64_t size,
                       uint64_t off) {
    heap *h = malloc(sizeof *h);
    if (!h) layer_fail("no memory");
    lock_take(thread, lock);
    be_get(&h->n, thread, table, sizeof h->n);
    be_get(h, thread, table, heap_size(h->n));
    uint64_t i = 0, result = off;
    if (size) {
        if (h->n == 2000) layer_fail("too many shared objects");
        for (result = from; i < h->n && result + size > h->used[i].off; i++)
            result = h->used[i].off + h->used[i].size;
        if (result + size > to) layer_fail("no shared memory left: give it more by UPC_SEGMENT");
        memmove(&h->used[i + 1], &h->used[i], (h->n++ - i) * sizeof h->used[0]);
        h->used[i].off = result, h->used[i].size = size;
    } else {
        while (i < h->n && h->used[i].off != off) i++;
        if (i == h->n) layer_fail("what is freed was not allocated");
        memmove(&h->used[i], &h->used[i + 1], (--h->n - i) * sizeof h->used[0]);
    }
    be_put(thread, table, h, heap_size(h->n));
    be_fence();
    lock_give(thread, lock);
    free(h);
    return result;
}

static uint64_t own_part(void) { return self.segment / 4 * 3; }

static upc_pts over_all(size_t nblocks, size_t nbytes) {
    uint64_t threads = (uint64_t)self.threads,
             size = ((nblocks + threads - 1) / threads * nbytes + 63) / 64 * 64;
    if (!size) return UPC_NULL;
    return (upc_pts){0, 0, change(0, ALL_HEAP_LOCK, ALL_HEAP, HEAP, own_part(), size, 0)};
}

/* By all threads, as in libupc: thread 0 allocates between two barriers. */
static upc_pts by_all(size_t nblocks, size_t nbytes) {
    layer_barrier();
    if (!self.me) {
        upc_pts p = over_all(nblocks, nbytes);
        for (int i = 0; i < self.threads; i++) be_put(i, RESULT, &p, sizeof p);
    }
    layer_barrier();
    upc_pts p;
    be_get(&p, self.me, RESULT, sizeof p);
    layer_linger();
    return p;
}

upc_pts upc_all_alloc_at(upc_at at, size_t nblocks, size_t nbytes) {
    TELL(at, ALL_ALLOC, GASP_START, nblocks, nbytes);
    upc_pts p = by_all(nblocks, nbytes);
    TELL(at, ALL_ALLOC, GASP_END, nblocks, nbytes, &p);
    return p;
}

upc_pts upc_global_alloc_at(upc_at at, size_t nblocks, size_t nbytes) {
    TELL(at, GLOBAL_ALLOC, GASP_START, nblocks, nbytes);
    upc_pts p = over_all(nblocks, nbytes);
    TELL(at, GLOBAL_ALLOC, GASP_END, nblocks, nbytes, &p);
    return p;
}

upc_pts upc_alloc_at(upc_at at, size_t nbytes) {
    TELL(at, ALLOC, GASP_START, nbytes);
    upc_pts p = UPC_NULL;
    if (nbytes)
        p = (upc_pts){self.me, 0,
                      change(self.me, OWN_HEAP_LOCK, OWN_HEAP, own_part(), self.segment,
                             (nbytes + 63) / 64 * 64, 0)};
    TELL(at, ALLOC, GASP_END, nbytes, &p);
    return p;
}

static void give_back(upc_pts p) {
    if (p.thread < 0) return;
    if (p.addr < own_part()) change(0, ALL_HEAP_LOCK, ALL_HEAP, 0, 0, 0, p.addr);
    else change(p.thread, OWN_HEAP_LOCK, OWN_HEAP, 0, 0, 0, p.addr);
}

void upc_free_at(upc_at at, upc_pts p) {
    TELL(at, FREE, GASP_START, &p);
    give_back(p);
    TELL(at, FREE, GASP_END, &p);
}

static upc_lock_t fresh(upc_lock_t lock) {
    uint64_t zero[2] = {0, 0};
    be_put(lock.thread, lock.addr, zero, sizeof zero);
    be_fence();
    return lock;
}

upc_lock_t upc_all_lock_alloc_at(upc_at at) {
    TELL(at, ALL_LOCK_ALLOC, GASP_START);
    upc_lock_t lock = by_all((size_t)self.threads, 64);
    if (!self.me) fresh(lock);
    layer_barrier();
    TELL(at, ALL_LOCK_ALLOC, GASP_END, &lock);
    return lock;
}

upc_lock_t upc_global_lock_alloc_at(upc_at at) {
    TELL(at, GLOBAL_LOCK_ALLOC, GASP_START);
    upc_lock_t lock = fresh(over_all((size_t)self.threads, 64));
    TELL(at, GLOBAL_LOCK_ALLOC, GASP_END, &lock);
    return lock;
}

void upc_lock_free_at(upc_at at, upc_lock_t lock) {
    TELL(at, LOCK_FREE, GASP_START, &lock);
    give_back(lock);
    TELL(at, LOCK_FREE, GASP_END, &lock);
}

void *upc_cast(upc_pts p) {
    if (p.thread != self.me) layer_fail("a pointer to another thread's memory was cast");
    return be_local(p.addr);
}

void *upc_notes(void) { return be_local(NOTES); }
void upc_notes_of(int thread, void *dst, size_t n) { be_get(dst, thread, NOTES, n); }

/* ---- Transfers ------------------------------------------------------------------------------- */

/* due returns when a transfer that begins now is complete on the simulated network. The transfers of a thread
 * share its link. */
static int64_t due(int thread, size_t n) {
    if (thread == self.me || (!self.latency && !self.ns_per_kib)) return 0;
    int64_t now = upc_now();
    if (self.link_free < now) self.link_free = now;
    self.link_free += (int64_t)(n * (uint64_t)self.ns_per_kib >> 10);
    return self.link_free + self.latency;
}

int layer_time_left(int64_t when) { return when && upc_now() < when; }

void layer_get(void *dst, upc_pts src, size_t n) {
    int64_t end = due(src.thread, n);
    be_get(dst, src.thread, src.addr, n);
    if (end) until(end);
}

void layer_put(upc_pts dst, const void *src, size_t n) {
    int64_t end = due(dst.thread, n);
    be_put(dst.thread, dst.addr, src, n);
    if (end) until(end);
}

/* The bytes go through this thread's memory, or directly if one end is its own. */
void layer_copy(upc_pts dst, upc_pts src, size_t n) {
    if (dst.thread == self.me) {
        layer_get(be_local(dst.addr), src, n);
    } else if (src.thread == self.me) {
        layer_put(dst, be_local(src.addr), n);
    } else {
        void *between = malloc(n ? n : 1);
        if (!between) layer_fail("no memory");
        layer_get(between, src, n);
        layer_put(dst, between, n);
        free(between);
    }
}

void upc_memget_at(upc_at at, void *dst, upc_pts src, size_t n) {
    TELL(at, MEMGET, GASP_START, dst, &src, n);
    layer_get(dst, src, n);
    TELL(at, MEMGET, GASP_END, dst, &src, n);
}

void upc_memput_at(upc_at at, upc_pts dst, const void *src, size_t n) {
    TELL(at, MEMPUT, GASP_START, &dst, src, n);
    layer_put(dst, src, n);
    TELL(at, MEMPUT, GASP_END, &dst, src, n);
}

void upc_memcpy_at(upc_at at, upc_pts dst, upc_pts src, size_t n) {
    TELL(at, MEMCPY, GASP_START, &dst, &src, n);
    layer_copy(dst, src, n);
    TELL(at, MEMCPY, GASP_END, &dst, &src, n);
}

void upc_memset_at(upc_at at, upc_pts dst, int c, size_t n) {
    TELL(at, MEMSET, GASP_START, &dst, c, n);
    char *bytes = malloc(n ? n : 1);
    if (!bytes) layer_fail("no memory");
    memset(bytes, c, n);
    layer_put(dst, bytes, n);
    free(bytes);
    TELL(at, MEMSET, GASP_END, &dst, c, n);
}

void upc_read_at(upc_at at, int relaxed, void *dst, upc_pts src, size_t n) {
    if (!relaxed) be_fence();
    if (src.thread == self.me && !self.accesses) {
        be_get(dst, src.thread, src.addr, n);
        return;
    }
    TELL(at, GET, GASP_START, relaxed, dst, &src, n);
    layer_get(dst, src, n);
    TELL(at, GET, GASP_END, relaxed, dst, &src, n);
}

void upc_write_at(upc_at at, int relaxed, upc_pts dst, const void *src, size_t n) {
    if (dst.thread == self.me && !self.accesses) {
        be_put(dst.thread, dst.addr, src, n);
    } else {
        TELL(at, PUT, GASP_START, relaxed, &dst, src, n);
        layer_put(dst, src, n);
        if (!relaxed) be_fence();
        TELL(at, PUT, GASP_END, relaxed, &dst, src, n);
        return;
    }
    if (!relaxed) be_fence();
}

/* A handle is the number of a place in transfers, counted from 1. Later transfers reuse it. */
static bupc_handle_t begun(int64_t end) {
    for (uintptr_t i = 0; i < sizeof self.transfers / sizeof self.transfers[0]; i++)
        if (!self.transfers[i].used) {
            self.transfers[i].used = 1, self.transfers[i].until = end;
            return (bupc_handle_t)(i + 1);
        }
    layer_fail("too many transfers at once");
}

bupc_handle_t bupc_memget_async_at(upc_at at, void *dst, upc_pts src, size_t n) {
    TELL(at, NB_MEMGET, GASP_START, dst, &src, n);
    bupc_handle_t handle = NULL; /* a local transfer is complete at once */
    if (src.thread == self.me) memmove(dst, be_local(src.addr), n);
    else handle = begun(due(src.thread, n)), be_get_nb(dst, src.thread, src.addr, n);
    TELL(at, NB_MEMGET, GASP_END, dst, &src, n, handle);
    return handle;
}

bupc_handle_t bupc_memput_async_at(upc_at at, upc_pts dst, const void *src, size_t n) {
    TELL(at, NB_MEMPUT, GASP_START, &dst, src, n);
    bupc_handle_t handle = NULL;
    if (dst.thread == self.me) memmove(be_local(dst.addr), src, n);
    else handle = begun(due(dst.thread, n)), be_put_nb(dst.thread, dst.addr, src, n);
    TELL(at, NB_MEMPUT, GASP_END, &dst, src, n, handle);
    return handle;
}

bupc_handle_t bupc_memcpy_async_at(upc_at at, upc_pts dst, upc_pts src, size_t n) {
    TELL(at, NB_MEMCPY, GASP_START, &dst, &src, n);
    bupc_handle_t handle = NULL;
    if (dst.thread == self.me && src.thread != self.me)
        handle = begun(due(src.thread, n)), be_get_nb(be_local(dst.addr), src.thread, src.addr, n);
    else if (src.thread == self.me && dst.thread != self.me)
        handle = begun(due(dst.thread, n)), be_put_nb(dst.thread, dst.addr, be_local(src.addr), n);
    else layer_copy(dst, src, n);
    TELL(at, NB_MEMCPY, GASP_END, &dst, &src, n, handle);
    return handle;
}

void bupc_waitsync_at(upc_at at, bupc_handle_t handle) {
    TELL(at, NB_SYNC, GASP_START, handle);
    if (handle) {
        be_quiet();
        uintptr_t i = (uintptr_t)handle - 1;
        if (self.transfers[i].until) until(self.transfers[i].until);
        self.transfers[i].used = 0;
    }
    TELL(at, NB_SYNC, GASP_END, handle);
}

int bupc_trysync_at(upc_at at, bupc_handle_t handle) {
    TELL(at, NB_TRYSYNC, GASP_START, handle);
    int result = !handle || !layer_time_left(self.transfers[(uintptr_t)handle - 1].until);
    if (handle && result) {
        be_quiet();
        self.transfers[(uintptr_t)handle - 1].used = 0;
    }
    TELL(at, NB_TRYSYNC, GASP_END, handle, result);
    return result;
}

/* ---- Messages between threads in a collective: one at a time from each to each --------------- */

void layer_mail(int to, const void *message, size_t n) {
    be_await(self.me, MAIL_TAKEN + 8 * (uint64_t)to, self.mailed[to]++);
    be_put(to, MAIL + MAIL_SIZE * (uint64_t)self.me, message, n);
    be_fence();
    be_store(to, MAIL_CAME + 8 * (uint64_t)self.me, self.mailed[to]);
}

void layer_take_mail(int from, void *message, size_t n) {
    be_await(self.me, MAIL_CAME + 8 * (uint64_t)from, ++self.taken[from]);
    be_get(message, self.me, MAIL + MAIL_SIZE * (uint64_t)from, n);
    be_store(from, MAIL_TAKEN + 8 * (uint64_t)self.me, self.taken[from]);
}

/* ---- The rest -------------------------------------------------------------------------------- */

void upc_forall_at(upc_at at, int end) { TELL(at, FORALL, end ? GASP_END : GASP_START); }

upc_function upc_function_enter(upc_at at, const char *name) {
    if (self.functions) TELL(at, C_FUNC, GASP_START, name);
    return (upc_function){at, name};
}

void upc_function_leave(upc_function *f) {
    if (self.functions) TELL(f->at, C_FUNC, GASP_END, f->name);
}

int pupc_control(int on) { return TELLING ? gasp_control(self.context, on) : 0; }

unsigned int pupc_create_event(const char *name, const char *desc) {
    return TELLING ? gasp_create_event(self.context, name, desc) : 0;
}

void pupc_event_at(upc_at at, int type, unsigned int tag, ...) {
    va_list args;
    va_start(args, tag);
    if (TELLING) gasp_event_notifyVA(self.context, tag, (gasp_evttype_t)type, at.file, at.line, 0, args);
    va_end(args);
}
