/* omp.c: libwhyslow-omp records OpenMP programs through OMPT, the tools interface of OpenMP 5.
 *
 * Problem. An OpenMP program that nobody has changed is to leave a trace like that of a task-parallel
 * program: its tasks, and the parts of loops and other constructs that threads execute, are CFs; what they
 * wait for is a DF. The run-time system tells through callbacks, in the thread that does something, and
 * gives the tool a word per thread, region and task.
 *
 * Plan. The process is node 0, every thread that the run-time system tells of a worker. The word of a task
 * points to an omp_task (state.h). What happens is a step of its frames. See docs/openmp.md for what becomes
 * of each construct. A region is a structured CF; the implicit tasks of its team are its children. The
 * initial task is one CF for every stretch of serial code, named after the region before it.
 *
 *     serial ─fork─► parallel region ─┬─ parallel (thread 0) ── for, chunk by chunk ── single ─┬─► serial
 *                                     └─ parallel (thread 1) ── for ── tasks executed ─────────┘
 *
 * Callbacks allocate no memory once as many tasks are alive as ever will be, and take no lock but that of a
 * parent whose child has ended. Sites, DFs and names are defined under a lock of whyslow.h.
 *
 * The library is loaded before others (LD_PRELOAD) so that time is known from the program's start, or by
 * OMP_TOOL_LIBRARIES. Nothing is recorded unless the program uses OpenMP. */

#include "../pgas/collect.h"

#include <sys/syscall.h>

#include "state.h"

#include "depend.h"
#include "gomp.h"
#include "sync.h"

/* ---- Threads ------------------------------------------------------------------------------------ */

/* omp_begin_thread makes the calling thread a worker. Null: nothing is recorded. */
static omp_thread *omp_begin_thread(void) {
    if (omp_mine || !omp_node || !ws_active(omp_node->ctx)) return omp_mine;
    wsc_thread *t = wsc_here(omp_node);
    if (!t) return 0;
    omp_thread *th = (omp_thread *)t->front; /* of a thread that has ended, whose stream this one continues */
    if (!th) {
        if (!(th = (omp_thread *)calloc(1, sizeof *th))) return 0;
        t->front = th;
        th->t = t, th->s = t->s;
        do th->link = __atomic_load_n(&omp_threads, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&omp_threads, &th->link, th, 0, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED));
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", (long)syscall(SYS_gettid));
    th->stat = open(path, O_RDONLY | O_CLOEXEC);
    th->now = 0, th->asked = 0;
    th->read = ws_now(), th->cpu = ws_thread_cpu();
    th->queued = omp_queued(th), th->switches = omp_switches();
    return omp_mine = th;
}

static void omp_on_thread_begin(int type, ompt_data *data) {
    (void)data;
    if (type != OMPT_THREAD_OTHER) omp_begin_thread();
}

/* omp_thread_ends is called when a thread of the system ends: another one may get its stream. */
static void omp_thread_ends(wsc_thread *t) {
    omp_thread *th = (omp_thread *)t->front;
    if (!th) return;
    if (th->now && th->s->cap) omp_stop(th, th->now->top, ws_now());
    struct omp_mutex *e = omp_mutex((uint64_t)pthread_self()); /* for who joins it */
    if (e) __atomic_store_n(&e->holder, th->last.cf, __ATOMIC_RELAXED);
    if (e) __atomic_store_n(&e->at, th->last.end, __ATOMIC_RELEASE);
    if (th->stat >= 0) close(th->stat);
    th->stat = -1, th->now = 0;
    omp_mine = 0;
    /* A program whose main thread has called pthread_exit ends with its last thread. The C library does not
     * see that, since the thread that writes the trace is alive. */
    int counted = th->counted;
    th->counted = 0;
    if (counted && !__atomic_sub_fetch(&omp_living, 1, __ATOMIC_ACQ_REL)) exit(0);
}

/* ---- Regions and implicit tasks ----------------------------------------------------------------- */

static void omp_on_parallel_begin(ompt_data *data, const void *frame, ompt_data *parallel, unsigned requested,
                                  int flags, const void *address) {
    (void)frame, (void)flags;
    omp_thread *th = omp_here();
    parallel->ptr = 0;
    omp_task *task = data ? (omp_task *)data->ptr : 0;
    omp_team *team = th && task ? (omp_team *)calloc(1, sizeof *team) : 0;
    if (!team) return;
    team->size = requested ? requested : 1;
    if (posix_memalign((void **)&team->slots, OMP_CACHE_LINE, team->size * sizeof *team->slots)) {
        free(team);
        return;
    }
    memset(team->slots, 0, team->size * sizeof *team->slots);
    team->refs = 1, team->address = address;
    parallel->ptr = team;
    omp_frame *f = omp_running(th, task), region = {0};
    int64_t t = ws_now();
    region.site = omp_site(th, OMP_REGION, address);
    omp_create(th, &region, t, f);
    omp_stop(th, f, t);
    f->waits++;
    omp_start(th, &region, t);
    team->region = region.id;
}

/* omp_serial lets the initial task go on, as a new CF: the code after a region. */
static void omp_serial(omp_thread *th, omp_task *task, int64_t t, const void *address) {
    omp_frame *f = &task->base;
    f->site = omp_site(th, OMP_SERIAL, address);
    omp_create(th, f, t, 0);
    omp_resume(th, f, t, 0);
}

static void omp_on_parallel_end(ompt_data *parallel, ompt_data *data, int flags, const void *address) {
    (void)flags, (void)address;
    omp_thread *th = omp_here();
    omp_team *team = (omp_team *)parallel->ptr;
    omp_task *task = data ? (omp_task *)data->ptr : 0;
    parallel->ptr = 0;
    if (!th || !team || !task) return;
    int64_t t = ws_now();
    omp_frame *f = task->top;
    ws_cf_finished_at(th->s, t, team->region, 1, -1);
    if (f->waits) f->waits--;
    omp_last even = omp_last_of(team, 0), odd = omp_last_of(team, 1), last = even.end > odd.end ? even : odd;
    omp_await(f, omp_join(th, &last, OMP_JOIN_REGION));
    th->now = task;
    if (task->flags & OMPT_TASK_INITIAL)
        omp_serial(th, task, t, team->address);
    else omp_resume(th, f, t, omp_lazy(task));
    omp_release_team(team);
}

/* omp_begin_code makes a thread execute code in no construct, such as the serial code at the start. */
static omp_task *omp_begin_code(omp_thread *th, int construct, int64_t start) {
    omp_task *task = omp_new_task(th);
    if (!task) return 0;
    omp_frame *f = &task->base;
    th->now = task;
    task->flags = OMPT_TASK_INITIAL;
    f->site = omp_site(th, construct, 0);
    omp_create(th, f, start, 0);
    omp_start(th, f, start);
    return task;
}

static void omp_on_implicit_task(int endpoint, ompt_data *parallel, ompt_data *data, unsigned size,
                                 unsigned index, int flags) {
    omp_thread *th = omp_here();
    if (endpoint == OMPT_BEGIN && flags & OMPT_TASK_INITIAL) {
        if (!th) {
            omp_initial = data; /* the trace is not open yet */
        } else if (th->now && th->now->early) {
            th->now->early = 0;
            data->ptr = th->now;
        } else {
            /* The first stretch of serial code has lasted since the program started. */
            int64_t start = th->last.end ? ws_now() : omp_node->ctx->since;
            data->ptr = omp_begin_code(th, OMP_SERIAL_START, start);
        }
        return;
    }
    if (!th && endpoint == OMPT_BEGIN) th = omp_begin_thread(); /* it began before the trace did */
    if (!th) return;
    if (endpoint == OMPT_END) {
        omp_task *task = data ? (omp_task *)data->ptr : 0;
        if (!task) return;
        data->ptr = 0;
        while (task->top != &task->base) {
            omp_stop(th, task->top, ws_now());
            omp_pop(th, task);
        }
        omp_stop(th, &task->base, ws_now());
        if (th->now == task) th->now = 0;
        if (!(flags & OMPT_TASK_INITIAL)) omp_release(th, task); /* else its children point to it */
        return;
    }
    omp_task *task = omp_new_task(th);
    data->ptr = task;
    th->now = task;
    if (!task) return;
    int64_t t = ws_now();
    omp_frame *f = &task->base;
    task->flags = OMPT_TASK_IMPLICIT;
    task->index = index;
    omp_team *team = parallel ? (omp_team *)parallel->ptr : 0;
    omp_frame region = {0};
    if ((task->team = team) != 0) {
        __atomic_add_fetch(&team->refs, 1, __ATOMIC_RELAXED);
        region.id = team->region, region.execution = 1;
        __atomic_store_n(&team->threads, size, __ATOMIC_RELAXED);
    }
    f->site = omp_site(th, OMP_PARALLEL, team ? team->address : 0);
    omp_read_clock(th, t);
    omp_create(th, f, t, &region); /* in truth when the region began, as readers know */
    omp_start(th, f, t);
}

/* ---- Explicit tasks ----------------------------------------------------------------------------- */

static int omp_construct_of(const omp_task *creator, int flags) {
    if (creator->taskloop) return OMP_TASKLOOP;
    if (flags & OMPT_TASK_FINAL) return OMP_TASK_FINAL;
    /* A thread that is alone executes every task at once, whatever the program says. */
    int alone = !creator->team || __atomic_load_n(&creator->team->threads, __ATOMIC_RELAXED) < 2;
    if (flags & OMPT_TASK_UNDEFERRED && !alone) return OMP_TASK_UNDEFERRED;
    return flags & OMPT_TASK_UNTIED ? OMP_TASK_UNTIED : OMP_TASK;
}

static void omp_on_task_create(ompt_data *data, const void *frame, ompt_data *made, int flags, int has_deps,
                               const void *address) {
    (void)frame, (void)has_deps;
    omp_thread *th = omp_here();
    omp_task *by = data ? (omp_task *)data->ptr : 0;
    made->ptr = 0;
    if (!th || flags & OMPT_TASK_INITIAL) return;
    if (!by) by = th->now;
    omp_task *task = by ? omp_new_task(th) : 0;
    if (!task) return;
    made->ptr = task;
    task->flags = flags;
    task->parent = by;
    __atomic_add_fetch(&by->refs, 1, __ATOMIC_RELAXED);
    if ((task->team = by->team) != 0) __atomic_add_fetch(&task->team->refs, 1, __ATOMIC_RELAXED);
    if ((task->group = by->group) != 0) __atomic_add_fetch(&task->group->refs, 1, __ATOMIC_RELAXED);
    if (flags & OMPT_TASK_TASKWAIT) { /* a taskwait with depend clauses: nothing is executed */
        omp_stop(th, by->top, ws_now());
        by->top->waits++;
        return;
    }
    omp_frame *f = omp_running(th, by);
    task->base.site = omp_site(th, omp_construct_of(by, flags), omp_place_of(address));
    omp_create(th, &task->base, ws_now(), f);
}

static void omp_on_dependences(ompt_data *data, const ompt_dependence *deps, int n) {
    omp_thread *th = omp_here();
    omp_task *task = data ? (omp_task *)data->ptr : 0;
    if (!th || !task || !task->parent) return;
    int waits = task->flags & OMPT_TASK_TASKWAIT;
    if (!waits && !task->done && (task->done = (omp_done *)calloc(1, sizeof *task->done)) != 0)
        task->done->refs = 1;
    if (!waits && !task->done) return;
    omp_frame *f = waits ? task->parent->top : &task->base;
    for (int i = 0; i < n; i++)
        omp_depend(f, task->parent, task->done, deps[i].variable.ptr, deps[i].type);
}

/* omp_ended is called when a task has ended, be it without having been executed. */
static void omp_ended(omp_thread *th, omp_task *task, int64_t t, int executed) {
    omp_last last = {executed ? task->base.id : 0, t};
    if (task->done) omp_end_done(th, task->done, last.cf, t);
    if (task->parent) omp_note(&task->parent->lock, &task->parent->last, &last);
    for (omp_group *g = task->group; g; g = g->outer) omp_note(&g->lock, &g->last, &last);
    omp_release(th, task);
}

static void omp_on_task_schedule(ompt_data *prior, int status, ompt_data *next) {
    omp_thread *th = omp_here();
    if (!th) return;
    int64_t t = ws_now();
    omp_task *from = prior ? (omp_task *)prior->ptr : 0, *to = next ? (omp_task *)next->ptr : 0;
    if (status == OMPT_TASKWAIT_COMPLETE) {
        if (!from || !from->parent) return;
        omp_task *task = from->parent;
        if (task->top->waits) task->top->waits--;
        omp_resume(th, task->top, t, omp_lazy(task));
        prior->ptr = 0;
        omp_release(th, from);
        return;
    }
    if (status == OMPT_TASK_LATE_FULFILL || status == OMPT_TASK_EARLY_FULFILL) {
        if (from && from->detached) {
            prior->ptr = 0;
            omp_ended(th, from, t, 0);
        }
        return;
    }
    if (from) {
        omp_stop(th, from->top, t);
        if (status == OMPT_TASK_DETACH) from->detached = 1;
        if (status == OMPT_TASK_COMPLETE || status == OMPT_TASK_CANCEL) {
            prior->ptr = 0;
            if (!from->base.execution) ws_cf_destroyed_at(th->s, t, from->base.id); /* cancelled */
            omp_ended(th, from, t, from->base.execution != 0);
        }
    }
    if (!to) return;
    th->now = to;
    if (to->flags & OMPT_TASK_IMPLICIT && to->top->waits && from && from->team == to->team)
        omp_arrive(th, to, t); /* it has executed a task within a barrier */
    omp_resume(th, to->top, t, omp_lazy(to));
}

/* ---- Worksharing -------------------------------------------------------------------------------- */

static int omp_work_construct(int work) {
    switch (work) {
    case OMPT_WORK_LOOP:
    case OMPT_WORK_LOOP_OTHER: return OMP_FOR;
    case OMPT_WORK_LOOP_STATIC: return OMP_FOR_STATIC;
    case OMPT_WORK_LOOP_DYNAMIC: return OMP_FOR_DYNAMIC;
    case OMPT_WORK_LOOP_GUIDED: return OMP_FOR_GUIDED;
    case OMPT_WORK_SECTIONS: return OMP_SECTIONS;
    case OMPT_WORK_SINGLE: return OMP_SINGLE;
    case OMPT_WORK_WORKSHARE: return OMP_WORKSHARE;
    case OMPT_WORK_SCOPE: return OMP_SCOPE;
    }
    return -1;
}

/* omp_construct begins or ends a construct that a thread executes as a part of a task. */
static void omp_construct(omp_thread *th, omp_task *task, int construct, int endpoint, const void *address) {
    int64_t t = ws_now();
    omp_frame *f = task->top;
    if (endpoint == OMPT_BEGIN) {
        omp_stop(th, f, t);
        if ((f = omp_push(th, task, construct, omp_site(th, construct, address))) == 0) return;
        f->pending = 1, f->since = t;
    } else if (f->construct == construct && f != &task->base) {
        omp_stop(th, f, t);
        omp_pop(th, task);
        omp_resume(th, task->top, t, omp_lazy(task));
    }
}

static void omp_on_work(int work, int endpoint, ompt_data *parallel, ompt_data *data, uint64_t count,
                        const void *address) {
    (void)parallel, (void)count;
    omp_thread *th = omp_here();
    omp_task *task = data ? (omp_task *)data->ptr : 0;
    if (!th || !task) return;
    if (work == OMPT_WORK_TASKLOOP) {
        task->taskloop = endpoint == OMPT_BEGIN;
        return;
    }
    int construct = omp_work_construct(work);
    if (construct < 0) return;
    if (endpoint == OMPT_BEGIN_END) {
        omp_construct(th, task, construct, OMPT_BEGIN, address);
        endpoint = OMPT_END;
    }
    omp_construct(th, task, construct, endpoint, address);
}

static void omp_on_masked(int endpoint, ompt_data *parallel, ompt_data *data, const void *address) {
    (void)parallel;
    omp_thread *th = omp_here();
    omp_task *task = data ? (omp_task *)data->ptr : 0;
    if (th && task) omp_construct(th, task, OMP_MASKED, endpoint, address);
}

/* omp_on_dispatch tells that the next chunk of a loop, or the next section, begins. */
static void omp_on_dispatch(ompt_data *parallel, ompt_data *data, int kind, ompt_data instance) {
    (void)parallel;
    omp_thread *th = omp_here();
    omp_task *task = data ? (omp_task *)data->ptr : 0;
    if (!th || !task || (kind != OMPT_DISPATCH_LOOP && kind != OMPT_DISPATCH_SECTION)) return;
    omp_frame *f = task->top;
    if (f == &task->base) return;
    int64_t t = ws_now(), index = 0;
    size_t n = 0;
    if (f->chunks || f->running) omp_stop(th, f, t);
    f->pending = 0, f->chunks = 1;
    if (kind == OMPT_DISPATCH_LOOP && instance.ptr)
        index = (int64_t)((const ompt_chunk *)instance.ptr)->start, n = 1;
    f->id = omp_new_id(th);
    f->execution = 0;
    ws_cf_created_at(th->s, t, f->id, f->site, f->outer->id, f->outer->execution, 1, &index, n);
    omp_start(th, f, t);
}

/* ---- Counted only ------------------------------------------------------------------------------- */

static void omp_on_flush(ompt_data *data, const void *address) {
    (void)data, (void)address;
    omp_thread *th = omp_here();
    if (th) th->flushes++;
}

static void omp_on_cancel(ompt_data *data, int flags, const void *address) {
    (void)data, (void)flags, (void)address;
    omp_thread *th = omp_here();
    if (th) th->cancels++;
}

static void omp_on_reduction(int kind, int endpoint, ompt_data *parallel, ompt_data *data,
                             const void *address) {
    (void)kind, (void)parallel, (void)data, (void)address;
    omp_thread *th = omp_here();
    if (th && endpoint != OMPT_END) th->reductions++;
}

/* ---- Start and end ------------------------------------------------------------------------------ */

/* omp_at_exit ends what the exiting thread executes, and tells what was counted. */
static void omp_at_exit(int status, void *arg) {
    (void)status, (void)arg;
    if (!omp_node || wsc_set.forked || __atomic_load_n(&omp_node->closed, __ATOMIC_ACQUIRE)) return;
    omp_thread *th = omp_here();
    if (th && th->now) omp_stop(th, th->now->top, ws_now());
    uint64_t sums[3] = {0, 0, 0};
    for (th = __atomic_load_n(&omp_threads, __ATOMIC_ACQUIRE); th; th = th->link)
        sums[0] += th->flushes, sums[1] += th->cancels, sums[2] += th->reductions;
    static const char *const names[] = {"flushes", "cancellations", "reductions"};
    for (int i = 0; i < 3; i++) {
        char text[24];
        snprintf(text, sizeof text, "%llu", (unsigned long long)sums[i]);
        ws_setting(omp_node->ctx, names[i], text);
    }
}

static void omp_define_joins(void) {
    for (int i = 0; i < OMP_JOINS; i++) omp_joins[i] = ws_define_name(omp_node->ctx, omp_join_names[i]);
    wsc_ending = omp_thread_ends;
    on_exit(omp_at_exit, 0);
    if (*omp_missing) ws_setting(omp_node->ctx, "not reported", omp_missing); /* else it is told later */
}

#ifdef OMP_ATTACHED

/* omp_attach records into a trace that others have opened, as one whose nodes have a worker for each thread.
 * The calling thread executes serial code, since a time. OMPT may have told of it already. */
static void omp_attach(wsc_node *node, int64_t since) {
    if (!ws_active(node->ctx)) return;
    omp_node = node;
    omp_define_joins();
    omp_thread *th = omp_begin_thread();
    omp_task *task = th ? omp_begin_code(th, OMP_SERIAL_START, since) : 0;
    if (!task) return;
    task->early = omp_initial == 0;
    if (omp_initial) omp_initial->ptr = task;
}


#else

static const wsc_operation omp_constructs[OMP_CONSTRUCTS] = {OMP_CONSTRUCT_LIST};

/* omp_ready opens the trace, unless another program of the same command has recorded into it. */
static int omp_ready(void) {
    const char *dir = wsi_env("WHYSLOW_TRACE");
    char path[PATH_MAX];
    struct stat st;
    if (dir && snprintf(path, sizeof path, "%s/00000.wst", dir) < (int)sizeof path && !stat(path, &st)) {
        fprintf(stderr, "whyslow: %s has the trace of another process already; process %ld is not recorded\n",
                dir, (long)getpid());
        return 0;
    }
    wsi_clock_start(wsi_env_choice(0, "WHYSLOW_CLOCK", 2, wsi_clocks, 3) != 0);
    ws_options opt;
    memset(&opt, 0, sizeof opt);
    opt.nodes = 1, opt.workers = -1;
    opt.since = ws_now() - (wsi_monotonic() - wsi_first_ns);
    omp_node = wsc_open_with(&opt, omp_constructs, OMP_CONSTRUCTS, "");
    if (!omp_node || !ws_active(omp_node->ctx)) return 0;
    omp_define_joins();
    return 1;
}

#include "threads.h"

#endif

static int omp_initialize(ompt_lookup lookup, int device, ompt_data *tool) {
    (void)device, (void)tool;
    ompt_set_callback set = (ompt_set_callback)lookup("ompt_set_callback");
    static int told; /* by a run-time system */
    if (!set || __atomic_exchange_n(&told, 1, __ATOMIC_ACQ_REL)) return 0;
#ifndef OMP_ATTACHED
    dl_iterate_phdr(omp_find_runtime, (void *)(uintptr_t)set);
    pthread_once(&omp_first, omp_open_for_openmp);
    if (!omp_node || !ws_active(omp_node->ctx)) return 0;
#endif
    static const struct {
        int event;
        ompt_function f;
        const char *name;
    } callbacks[] = {{OMPT_THREAD_BEGIN, (ompt_function)omp_on_thread_begin, "threads"},
                     {OMPT_PARALLEL_BEGIN, (ompt_function)omp_on_parallel_begin, "parallel regions"},
                     {OMPT_PARALLEL_END, (ompt_function)omp_on_parallel_end, "parallel regions"},
                     {OMPT_IMPLICIT_TASK, (ompt_function)omp_on_implicit_task, "implicit tasks"},
                     {OMPT_TASK_CREATE, (ompt_function)omp_on_task_create, "tasks"},
                     {OMPT_TASK_SCHEDULE, (ompt_function)omp_on_task_schedule, "tasks"},
                     {OMPT_DEPENDENCES, (ompt_function)omp_on_dependences, "dependences"},
                     {OMPT_SYNC_REGION_WAIT, (ompt_function)omp_on_sync_region_wait, "barriers and taskwait"},
                     {OMPT_SYNC_REGION, (ompt_function)omp_on_sync_region, "taskgroups"},
                     {OMPT_WORK, (ompt_function)omp_on_work, "worksharing constructs"},
                     {OMPT_DISPATCH, (ompt_function)omp_on_dispatch, "chunks of loops"},
                     {OMPT_MASKED, (ompt_function)omp_on_masked, "masked"},
                     {OMPT_MUTEX_ACQUIRE, (ompt_function)omp_on_mutex_acquire, "critical and locks"},
                     {OMPT_MUTEX_ACQUIRED, (ompt_function)omp_on_mutex_acquired, "critical and locks"},
                     {OMPT_MUTEX_RELEASED, (ompt_function)omp_on_mutex_released, "critical and locks"},
                     {OMPT_FLUSH, (ompt_function)omp_on_flush, "flush"},
                     {OMPT_CANCEL, (ompt_function)omp_on_cancel, "cancellation"},
                     {OMPT_REDUCTION, (ompt_function)omp_on_reduction, "reductions"}};
    for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; i++) {
        size_t n = strlen(omp_missing);
        if (set(callbacks[i].event, callbacks[i].f) < OMPT_SET_ALWAYS)
            snprintf(omp_missing + n, sizeof omp_missing - n, "%s%s", n ? ", " : "", callbacks[i].name);
    }
    if (*omp_missing && omp_node) ws_setting(omp_node->ctx, "not reported", omp_missing);
    return 1;
}

static void omp_finalize(ompt_data *tool) { (void)tool; }

WSC_API ompt_start_tool_result *ompt_start_tool(unsigned version, const char *runtime);

/* ompt_start_tool is what a run-time system looks for when it starts. */
ompt_start_tool_result *ompt_start_tool(unsigned version, const char *runtime) {
    static ompt_start_tool_result result = {omp_initialize, omp_finalize, {0}};
    (void)version, (void)runtime;
    return &result;
}
