#ifndef WHYSLOW_OMP_THREADS_H
#define WHYSLOW_OMP_THREADS_H
/* threads.h: threads that a program makes itself, with pthread_create or std::thread. Part of omp.c.
 *
 * The functions of the C library that make threads, lock and wait are defined here, too. They are found
 * first, because this library is loaded first, and call the originals. Until the program makes its first
 * thread they do nothing else. Then the trace is opened, unless OpenMP has opened it, and every thread is a
 * worker. What a thread executes is a CF, made where the thread was made.
 *
 * A wait for another thread (pthread_join, condition variables, semaphores, barriers) ends the execution of
 * the CF, as taskwait does. The next one is given a DF, made by the thread that ended the wait. A mutex is a
 * wait for who has it (onBlocked), and so are calls that read, write or sleep.
 *
 * Calls from the run-time system of OpenMP and from this library are none of the program's. */

#include <execinfo.h>
#include <semaphore.h>

#include <unwind.h>

#include "../pgas/blocking.h"
#include "../pgas/names.h"
#include "sync.h"

/* Where this library begins and ends, by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
static const char *omp_runtime[2]; /* where OpenMP's run-time system begins and ends */
static int omp_user;               /* the program has made a thread; atomic */
static pthread_once_t omp_first = PTHREAD_ONCE_INIT;

static int omp_by_program(const void *caller) {
    const char *p = (const char *)caller;
    return !(p >= __ehdr_start && p < _end) && !(p >= omp_runtime[0] && p < omp_runtime[1]);
}

/* omp_find_runtime is for dl_iterate_phdr: the library that has an address is the run-time system. */
static int omp_find_runtime(struct dl_phdr_info *info, size_t size, void *address) {
    const char *from = 0, *to = 0;
    int found = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        const char *a = (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        const char *b = a + info->dlpi_phdr[i].p_memsz;
        if (!from || a < from) from = a;
        if (b > to) to = b;
        found |= (const char *)address >= a && (const char *)address < b;
    }
    if (found) omp_runtime[0] = from, omp_runtime[1] = to;
    return found;
}

/* OMP_REAL is the original of a function. Condition variables have two versions, of which dlsym may give the
 * old one. */
static void *omp_original(void **at, const char *name) {
    void *f = __atomic_load_n(at, __ATOMIC_RELAXED);
    if (f) return f;
    if (!strncmp(name, "pthread_cond_", 13)) f = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    if (!f) f = dlsym(RTLD_NEXT, name);
    __atomic_store_n(at, f, __ATOMIC_RELAXED);
    return f;
}
#define OMP_REAL(NAME) \
    ((__typeof__(&NAME))({ static void *omp_at; omp_original(&omp_at, #NAME); }))

/* ---- Waits -------------------------------------------------------------------------------------- */

/* A call that may block; th null: it is not recorded. */
typedef struct omp_pause {
    omp_thread *th;
    omp_frame *f;
    const void *caller;
    int64_t since, switches;
} omp_pause;

static omp_pause omp_begin_pause(const void *caller) {
    omp_pause p = {0, 0, caller, 0, 0};
    omp_thread *th = __atomic_load_n(&omp_user, __ATOMIC_RELAXED) && omp_by_program(caller) ? omp_here() : 0;
    if (!th || th->t->inside || !th->now || !(th->now->top->running || th->now->top->pending)) return p;
    th->t->inside = 1; /* a signal handler records nothing meanwhile */
    p.f = omp_running(th, th->now);
    p.th = th, p.since = ws_now();
    omp_read_clock(th, p.since);
    th->t->inside = 0;
    return p;
}

/* omp_blocked records that the call was blocked until now. */
static void omp_blocked(const omp_pause *p, const char *reason, ws_name what, ws_cf holder) {
    int64_t t = ws_now();
    if (t - p->since < OMP_NO_WAIT) return;
    char site[PATH_MAX + 32] = "";
    p->th->t->inside = 1;
    wsc_address((const char *)p->caller - 1, site, sizeof site);
    ws_context *ctx = omp_node->ctx;
    ws_blocked_at(p->th->s, t, p->f->id, t - p->since, ws_define_name(ctx, reason), what,
                  ws_define_name(ctx, site), holder == p->f->id ? 0 : holder);
    omp_read_clock(p->th, t);
    p->th->t->inside = 0;
}

/* omp_awaited ends the execution when the call began, and begins the next one, for which last was awaited. */
static void omp_awaited(const omp_pause *p, const omp_last *last, int join) {
    int64_t t = ws_now();
    if (t - p->since < OMP_NO_WAIT) return;
    p->th->t->inside = 1;
    omp_stop(p->th, p->f, p->since);
    omp_await(p->f, omp_join(p->th, last, join));
    omp_resume(p->th, p->f, t, 0);
    p->th->t->inside = 0;
}

/* omp_signalled ends a wait for what others signal; if nobody has, nothing is known but that it waited. */
static void omp_signalled(const omp_pause *p, const void *address, int join) {
    struct omp_mutex *e = omp_mutex((uint64_t)(uintptr_t)address);
    omp_last last = {0, 0};
    if (e) {
        last.end = __atomic_load_n(&e->at, __ATOMIC_ACQUIRE);
        last.cf = __atomic_load_n(&e->holder, __ATOMIC_RELAXED);
    }
    if (last.cf && last.cf != p->f->id && last.end >= p->since) omp_awaited(p, &last, join);
    else omp_blocked(p, "lock", omp_mutex_text(0, (uint64_t)(uintptr_t)address), 0);
}

/* omp_signals notes that the thread wakes those who wait. */
static void omp_signals(const void *caller, const void *address) {
    omp_pause p = omp_begin_pause(caller);
    struct omp_mutex *e = p.th ? omp_mutex((uint64_t)(uintptr_t)address) : 0;
    if (!e) return;
    __atomic_store_n(&e->holder, p.f->id, __ATOMIC_RELAXED);
    __atomic_store_n(&e->at, p.since, __ATOMIC_RELEASE);
}

/* omp_holds notes who has a mutex: 0 for nobody. */
static void omp_holds(const void *mutex, ws_cf cf) {
    struct omp_mutex *e = omp_mutex((uint64_t)(uintptr_t)mutex);
    if (e) __atomic_store_n(&e->holder, cf, __ATOMIC_RELAXED);
}

static ws_cf omp_holder(const void *mutex) {
    struct omp_mutex *e = omp_mutex((uint64_t)(uintptr_t)mutex);
    return e ? __atomic_load_n(&e->holder, __ATOMIC_RELAXED) : 0;
}

/* ---- Threads ------------------------------------------------------------------------------------ */

typedef struct omp_birth {
    void *(*start)(void *);
    void *arg;
    omp_task *task;
} omp_birth;

/* The trace is opened by whatever comes first. */
static void omp_open_for_threads(void) {
    if (omp_ready()) ws_setting(omp_node->ctx, "program", "threads");
}

static void omp_open_for_openmp(void) {
    if (omp_ready()) ws_setting(omp_node->ctx, "program", "OpenMP");
}

/* omp_made_at is the place of a thread: the function that it executes. For std::thread, which executes one
 * of the C++ library, it is where the program makes the thread: behind that library, and behind the
 * constructor of std::thread where the compiler made that a function. */
static const void *omp_made_at(const void *caller, void *(*start)(void *)) {
    enum { DEPTH = 16 };
    void *frames[DEPTH];
    char name[PATH_MAX + 32];
    Dl_info info;
    if (!dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, "libstdc++"))
        return (const char *)(uintptr_t)start + 1; /* omp_site takes return addresses */
    int n = backtrace(frames, DEPTH), i = 0;
    while (i < n && frames[i] != caller) i++;
    for (i++; i < n; i++) {
        void *function = _Unwind_FindEnclosingFunction((char *)frames[i] - 1);
        if (!function) return frames[i];
        wss_function_name(function, name, sizeof name);
        if (!strstr(name, "St6thread")) return frames[i]; /* std::thread, mangled */
    }
    return caller;
}

/* omp_begin_child makes the CF of a new thread. Null: it is not recorded. */
static omp_birth *omp_begin_child(const void *caller, void *(*start)(void *), void *arg) {
    pthread_once(&omp_first, omp_open_for_threads);
    if (!omp_node || wsc_set.forked || __atomic_load_n(&omp_node->closed, __ATOMIC_RELAXED)) return 0;
    omp_thread *th = omp_begin_thread();
    int first = syscall(SYS_gettid) == getpid();
    if (th && !th->now)
        omp_begin_code(th, first ? OMP_MAIN : OMP_THREAD, first ? omp_node->ctx->since : ws_now());
    if (!th || !th->now) return 0;
    __atomic_store_n(&omp_user, 1, __ATOMIC_RELEASE);
    if (!th->counted) th->counted = 1, __atomic_add_fetch(&omp_living, 1, __ATOMIC_RELAXED);
    omp_birth *b = (omp_birth *)malloc(sizeof *b);
    omp_task *task = b ? omp_new_task(th) : 0;
    if (!task) {
        free(b);
        return 0;
    }
    task->flags = OMPT_TASK_INITIAL, task->early = 1;
    task->base.site = omp_site(th, OMP_THREAD, omp_made_at(caller, start));
    omp_create(th, &task->base, ws_now(), omp_running(th, th->now));
    b->start = start, b->arg = arg, b->task = task;
    __atomic_add_fetch(&omp_living, 1, __ATOMIC_RELAXED);
    return b;
}

static void *omp_run_thread(void *p) {
    omp_birth b = *(omp_birth *)p;
    free(p);
    omp_thread *th = omp_begin_thread();
    if (th && !th->now) {
        th->now = b.task, th->counted = 1;
        omp_start(th, &b.task->base, ws_now());
    }
    return b.start(b.arg);
}

WSC_API int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*start)(void *), void *arg) {
    const void *caller = __builtin_return_address(0);
    omp_birth *b = omp_by_program(caller) ? omp_begin_child(caller, start, arg) : 0;
    int result = OMP_REAL(pthread_create)(id, attr, b ? omp_run_thread : start, b ? (void *)b : arg);
    if (b && result) {
        ws_cf_destroyed_at(omp_mine->s, ws_now(), b->task->base.id);
        __atomic_sub_fetch(&omp_living, 1, __ATOMIC_RELAXED);
        free(b);
    }
    return result;
}

/* omp_joined ends a wait for the end of a thread. */
static void omp_joined(const omp_pause *p, pthread_t id) {
    if (p->th) omp_signalled(p, (const void *)(uintptr_t)id, OMP_JOIN_THREAD);
}

WSC_API int pthread_join(pthread_t id, void **value) {
    omp_pause p = omp_begin_pause(__builtin_return_address(0));
    int result = OMP_REAL(pthread_join)(id, value);
    omp_joined(&p, id);
    return result;
}

/* ---- Mutexes ------------------------------------------------------------------------------------ */

/* OMP_LOCK is a function that locks: by TRY if that is free, which then takes no time. */
#define OMP_LOCK(NAME, TRY, TYPE, OWNS) \
    WSC_API int NAME(TYPE *m) { \
        omp_pause p = omp_begin_pause(__builtin_return_address(0)); \
        if (!p.th) return OMP_REAL(NAME)(m); \
        int result = OMP_REAL(TRY)(m); \
        if (result == EBUSY) { \
            ws_cf holder = omp_holder(m); \
            result = OMP_REAL(NAME)(m); \
            omp_blocked(&p, "lock", omp_mutex_text(0, (uint64_t)(uintptr_t)m), holder); \
        } \
        if (OWNS && !result) omp_holds(m, p.f->id); \
        return result; \
    }

/* OMP_TIMED_LOCK likewise, of one that gives up some time. */
#define OMP_TIMED_LOCK(NAME, TRY, TYPE, OWNS) \
    WSC_API int NAME(TYPE *m, const struct timespec *until) { \
        omp_pause p = omp_begin_pause(__builtin_return_address(0)); \
        if (!p.th) return OMP_REAL(NAME)(m, until); \
        int result = OMP_REAL(TRY)(m); \
        if (result == EBUSY) { \
            ws_cf holder = omp_holder(m); \
            result = OMP_REAL(NAME)(m, until); \
            omp_blocked(&p, "lock", omp_mutex_text(0, (uint64_t)(uintptr_t)m), holder); \
        } \
        if (OWNS && !result) omp_holds(m, p.f->id); \
        return result; \
    }

#define OMP_UNLOCK(NAME, TYPE) \
    WSC_API int NAME(TYPE *m) { \
        if (omp_user && omp_mine) omp_holds(m, 0); \
        return OMP_REAL(NAME)(m); \
    }

OMP_LOCK(pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_t, 1)
OMP_LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, 1)
OMP_LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, 0)
OMP_TIMED_LOCK(pthread_mutex_timedlock, pthread_mutex_trylock, pthread_mutex_t, 1)
OMP_TIMED_LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, 1)
OMP_TIMED_LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, 0)
OMP_UNLOCK(pthread_mutex_unlock, pthread_mutex_t)
OMP_UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t)

/* ---- Conditions, semaphores, barriers ------------------------------------------------------------ */

#define OMP_CONDITION(CALL) \
    omp_pause p = omp_begin_pause(__builtin_return_address(0)); \
    if (p.th) omp_holds(m, 0); \
    int result = CALL; \
    if (p.th) omp_signalled(&p, c, OMP_JOIN_CONDITION), omp_holds(m, p.f->id); \
    return result

WSC_API int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
    OMP_CONDITION(OMP_REAL(pthread_cond_wait)(c, m));
}
WSC_API int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until) {
    OMP_CONDITION(OMP_REAL(pthread_cond_timedwait)(c, m, until));
}
#if __GLIBC_PREREQ(2, 30)
WSC_API int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                   const struct timespec *until) {
    OMP_CONDITION(OMP_REAL(pthread_cond_clockwait)(c, m, clock, until));
}
#endif

#define OMP_SIGNAL(NAME, TYPE) \
    WSC_API int NAME(TYPE *c) { \
        omp_signals(__builtin_return_address(0), c); \
        return OMP_REAL(NAME)(c); \
    }

OMP_SIGNAL(pthread_cond_signal, pthread_cond_t)
OMP_SIGNAL(pthread_cond_broadcast, pthread_cond_t)
OMP_SIGNAL(sem_post, sem_t)

WSC_API int sem_wait(sem_t *s) {
    omp_pause p = omp_begin_pause(__builtin_return_address(0));
    int result = OMP_REAL(sem_wait)(s), saved = errno;
    if (p.th) omp_signalled(&p, s, OMP_JOIN_SEMAPHORE);
    errno = saved;
    return result;
}

WSC_API int sem_timedwait(sem_t *s, const struct timespec *until) {
    omp_pause p = omp_begin_pause(__builtin_return_address(0));
    int result = OMP_REAL(sem_timedwait)(s, until), saved = errno;
    if (p.th) omp_signalled(&p, s, OMP_JOIN_SEMAPHORE);
    errno = saved;
    return result;
}

/* The last thread that comes wakes the others. */
WSC_API int pthread_barrier_wait(pthread_barrier_t *b) {
    omp_signals(__builtin_return_address(0), b);
    omp_pause p = omp_begin_pause(__builtin_return_address(0));
    int result = OMP_REAL(pthread_barrier_wait)(b);
    if (p.th && omp_holder(b) != p.f->id) omp_signalled(&p, b, OMP_JOIN_BARRIER);
    return result;
}

/* ---- Input, output, sleep ------------------------------------------------------------------------ */

static omp_pause omp_begin_call(const void *caller) {
    omp_pause p = omp_begin_pause(caller);
    if (p.th) p.switches = omp_switches();
    return p;
}

/* omp_end_call records a call that has given its core up. fd: the file; -1: it is not about one. */
static void omp_end_call(const omp_pause *p, const char *reason, int fd) {
    int saved = errno;
    if (p->th && ws_now() - p->since >= WSC_LONG && omp_switches() != p->switches) {
        char link[64], file[PATH_MAX] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = fd < 0 ? 0 : readlink(link, file, sizeof file - 1);
        file[n > 0 ? n : 0] = 0;
        omp_blocked(p, reason, ws_define_name(omp_node->ctx, file), 0);
    }
    errno = saved;
}

#define OMP_REASON_IO "io"
#define OMP_REASON_SLEEP "sleep"
#define OMP_CALL(TYPE, NAME, PARAMS, ARGS, KIND, FD) \
    WSC_API TYPE NAME PARAMS { \
        omp_pause p = omp_begin_call(__builtin_return_address(0)); \
        TYPE result = OMP_REAL(NAME) ARGS; \
        omp_end_call(&p, OMP_REASON_##KIND, FD); \
        return result; \
    }

WSC_BLOCKING_CALLS(OMP_CALL)

#endif /* WHYSLOW_OMP_THREADS_H */
