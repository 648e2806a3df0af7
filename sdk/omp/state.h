#ifndef WHYSLOW_OMP_STATE_H
#define WHYSLOW_OMP_STATE_H
/* state.h: what the collector knows of threads, teams and tasks, and how the executions of CFs begin and end.
 *
 * A frame is a CF that is being executed, or that waits until the thread comes back to it: a task, or the
 * part of a worksharing construct that a thread executes within one. Frames of a task are stacked: the
 * chunk of a loop lies on the implicit task that met the loop. Only the top one of the task that the thread
 * is at may be running. Whenever the thread goes to another frame, the execution of the one that it leaves
 * ends (onFinished), and when it comes back the next execution of the same CF begins (onStarted, with its
 * number).
 *
 *     created ── running ──► stopped ──► running ... ended
 *                   ▲          │ waits: barrier, taskwait, taskgroup
 *                   └──────────┘
 *
 * What an implicit task does between two constructs is often nothing but the run-time system's code. So the
 * next execution of an implicit task is recorded when it has ended, and only if it took OMP_SHORT or longer.
 * What it was to wait for (inputs) then goes to the frame that comes next. */

#include "../pgas/collect.h"

#include "constructs.h"
#include "ompt.h"

/* Where constructs are among the operations of the node: after those of MPI, where both are recorded. */
#ifndef OMP_FIRST
#define OMP_FIRST 0
#endif

enum { OMP_SHORT = 1000 };      /* ns */
enum { OMP_SPAN = 1000000 };    /* ns between two readings of a thread's clock */
enum { OMP_OFF = 2000 };        /* ns off the core that a reading may be wrong by */
enum { OMP_IDS = 4096 };        /* numbers of CFs that a thread takes at once */
enum { OMP_CACHE_LINE = 64 };

typedef struct omp_frame {
    struct omp_frame *outer; /* of the same task: what goes on when this one ends */
    ws_cf id;                /* 0: not created yet */
    ws_site site;
    uint32_t execution; /* number of the present execution, or of the last one */
    uint8_t running, pending; /* pending: it may go on, and nothing is recorded of that yet */
    uint8_t construct, chunks; /* chunks: every chunk is a CF */
    int waits;          /* barriers and so on that it is in */
    int64_t since;      /* of pending */
    ws_df *inputs;      /* of the next execution */
    int ninputs, capinputs;
} omp_frame;

/* What ended last, of those that somebody may be waiting for. */
typedef struct omp_last {
    ws_cf cf; /* 0: none, or it was no execution */
    int64_t end;
} omp_last;

/* A taskgroup. */
typedef struct omp_group {
    struct omp_group *outer;
    int lock, refs; /* atomic */
    omp_last last;
} omp_group;

/* A thread's share of a team: its arrivals at barriers, of which at most two are of interest. */
typedef struct omp_slot {
    omp_last last[2];
} __attribute__((aligned(OMP_CACHE_LINE))) omp_slot;

typedef struct omp_team {
    ws_cf region;
    const void *address; /* of the construct */
    int refs, lock; /* atomic */
    unsigned size;    /* at most */
    unsigned threads; /* that it has; every thread sets it to the same */
    ws_df df[2];       /* what the last to arrive at a barrier made; 0: not defined */
    uint64_t known[2]; /* 1 + the number of that barrier */
    omp_slot *slots;
} omp_team;

typedef struct omp_deps omp_deps; /* depend.h */
typedef struct omp_done omp_done;

typedef struct omp_task {
    omp_frame base;
    omp_frame *top;
    struct omp_task *parent;
    omp_team *team;
    omp_group *group;
    const void *address; /* of what created it */
    int lock, refs;      /* atomic: its children, and itself */
    int flags;
    uint8_t taskloop;  /* it is in a taskloop construct */
    uint8_t detached;  /* its code has ended, and it has not */
    uint8_t early;     /* of an initial task: the run-time system has not told of it yet */
    unsigned index;    /* of an implicit task: the thread in the team */
    uint64_t barriers; /* likewise: how many it has been at */
    omp_last last;     /* of its children */
    omp_deps *deps;    /* of its children */
    omp_done *done;    /* of its own */
} omp_task;

typedef struct omp_thread {
    wsc_thread *t;
    ws_stream *s;
    omp_task *now;         /* the task that it is at */
    uint64_t next_id, end_id;
    omp_last last;         /* what it executed last */
    omp_task *free_tasks;
    omp_frame *free_frames;
    int64_t asked;         /* since when it has been waiting for a mutex; 0: it is not */
    ws_cf holder;          /* who had it then */
    int64_t read, cpu, queued; /* when its clock was read last, and what that said */
    int64_t switches;      /* voluntary ones, when they were read last */
    int stat;              /* /proc/self/task/N/schedstat; -1: none */
    uint64_t flushes, cancels, reductions;
    int counted;           /* it is among omp_living */
    struct omp_thread *link; /* in omp_threads */
} omp_thread;

static wsc_node *omp_node;
static omp_thread *omp_threads; /* atomic; entries stay */
static uint64_t omp_ids = 1;    /* atomic */
static uint64_t omp_df_ids;     /* atomic */
static int omp_living;          /* atomic; threads that the program made, and those that made some */
static char omp_missing[256];   /* what the run-time system does not tell */
WSC_THREAD omp_thread *omp_mine;
WSC_THREAD ompt_data *omp_initial; /* the word of its initial task, told before the trace was open */

/* omp_here returns the calling thread if it records. */
static inline omp_thread *omp_here(void) {
    omp_thread *th = omp_mine;
    return th && th->s->cap && !__atomic_load_n(&omp_node->closed, __ATOMIC_RELAXED) ? th : 0;
}

static void omp_lock(int *lock) {
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
        while (__atomic_load_n(lock, __ATOMIC_RELAXED)) {}
}

static void omp_unlock(int *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }

static ws_cf omp_new_id(omp_thread *th) {
    if (th->next_id == th->end_id) {
        th->next_id = __atomic_fetch_add(&omp_ids, OMP_IDS, __ATOMIC_RELAXED);
        th->end_id = th->next_id + OMP_IDS;
    }
    return ws_id(omp_node->node, th->next_id++);
}

/* omp_site returns the site of a construct: address is a return address, or null. */
static ws_site omp_site(omp_thread *th, int construct, const void *address) {
    const void *call = address ? (const char *)address - 1 : 0;
    return wsc_site(th->t, wsc_code(omp_node, OMP_FIRST + construct), call, 0, 0, 0);
}

/* omp_await adds an input to the next execution of a frame. */
static void omp_await(omp_frame *f, ws_df df) {
    if (!df) return;
    if (f->ninputs == f->capinputs) {
        int cap = f->capinputs ? 2 * f->capinputs : 4;
        ws_df *list = (ws_df *)realloc(f->inputs, (size_t)cap * sizeof *list);
        if (!list) return;
        f->inputs = list, f->capinputs = cap;
    }
    f->inputs[f->ninputs++] = df;
}

/* Waits, by which the DFs that stand for them are named. */
enum {
    OMP_JOIN_BARRIER,
    OMP_JOIN_REGION,
    OMP_JOIN_TASKWAIT,
    OMP_JOIN_TASKGROUP,
    OMP_JOIN_THREAD,
    OMP_JOIN_CONDITION,
    OMP_JOIN_SEMAPHORE,
    OMP_JOINS
};
static const char *const omp_join_names[OMP_JOINS] = {
    "barrier",       "end of parallel region", "taskwait", "taskgroup",
    "end of thread", "condition variable",     "semaphore"};
static ws_name omp_joins[OMP_JOINS]; /* defined when the trace is opened */

/* omp_join returns the DF of a wait: what ended last of that which was waited for has made it. */
static ws_df omp_join(omp_thread *th, const omp_last *last, int join) {
    if (!last->end) return 0;
    int64_t identity[3] = {omp_node->node, omp_joins[join],
                           (int64_t)__atomic_add_fetch(&omp_df_ids, 1, __ATOMIC_RELAXED)};
    ws_df df = ws_define_df(omp_node->ctx, omp_joins[join], identity, 3);
    ws_df_create_at(th->s, last->end, df, 0, last->cf);
    return df;
}

/* ---- A thread's clock --------------------------------------------------------------------------- */

/* omp_queued returns how long the thread has waited for a core, -1 where the kernel does not tell. */
static int64_t omp_queued(const omp_thread *th) {
    char text[96];
    long long ran, waited;
    ssize_t n = th->stat < 0 ? -1 : pread(th->stat, text, sizeof text - 1, 0);
    if (n <= 0) return -1;
    text[n] = 0;
    return sscanf(text, "%lld %lld", &ran, &waited) == 2 ? waited : -1;
}

/* omp_switches returns how often the thread has given its core up, -1 where the kernel does not tell. */
static int64_t omp_switches(void) {
    struct rusage u;
    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nvcsw : -1;
}

/* omp_read_clock records how the thread has spent the time since the last reading, up to t, which is now.
 * A hypervisor takes time that no queue knows of: a thread that did not give its core up was not blocked, so
 * all that it was off its core counts as time in the queue. */
static void omp_read_clock(omp_thread *th, int64_t t) {
    if (t - th->read < OMP_SPAN) return;
    int64_t cpu = ws_thread_cpu(), queued = omp_queued(th), switches = th->switches;
    int64_t ran = cpu - th->cpu, waited = queued < 0 || th->queued < 0 ? -1 : queued - th->queued;
    if (t - th->read - ran >= OMP_OFF) th->switches = omp_switches();
    if (waited >= 0 && switches >= 0 && th->switches == switches && waited < t - th->read - ran)
        waited = t - th->read - ran;
    if (th->read) ws_thread_time_at(th->s, t, 0, t - th->read, ran, waited, 0);
    th->read = t, th->cpu = cpu, th->queued = queued;
}

/* ---- Executions --------------------------------------------------------------------------------- */

/* omp_create makes the CF of a frame: at time t, by a frame (null: nobody). */
static void omp_create(omp_thread *th, omp_frame *f, int64_t t, const omp_frame *by) {
    f->id = omp_new_id(th);
    f->execution = 0;
    ws_cf_created_at(th->s, t, f->id, f->site, by ? by->id : 0, by ? by->execution : 0, 1, 0, 0);
}

static void omp_start(omp_thread *th, omp_frame *f, int64_t t) {
    f->running = 1, f->pending = 0;
    ws_cf_started_at(th->s, t, f->id, ++f->execution, f->inputs, (size_t)f->ninputs);
    f->ninputs = 0;
}

static void omp_finish(omp_thread *th, omp_frame *f, int64_t t) {
    f->running = 0;
    ws_cf_finished_at(th->s, t, f->id, f->execution, -1);
    th->last.cf = f->id, th->last.end = t;
    omp_read_clock(th, t);
}

/* omp_stop ends the execution of a frame, if there is one. */
static void omp_stop(omp_thread *th, omp_frame *f, int64_t t) {
    if (f->pending) {
        f->pending = 0;
        if (!f->id) omp_create(th, f, f->since, f->outer);
        else if (f->execution && t - f->since < OMP_SHORT) return;
        omp_start(th, f, f->since);
    }
    if (f->running) omp_finish(th, f, t);
}

/* omp_resume lets a frame go on, unless it is within a barrier or another wait. */
static void omp_resume(omp_thread *th, omp_frame *f, int64_t t, int lazy) {
    if (f->running || f->pending || f->waits) return;
    if (lazy) {
        f->pending = 1, f->since = t;
        return;
    }
    omp_read_clock(th, t);
    omp_start(th, f, t);
}

static int omp_lazy(const omp_task *task) { return !!(task->flags & OMPT_TASK_IMPLICIT); }

/* omp_running makes sure that the top frame of a task is recorded as running: it creates something. */
static omp_frame *omp_running(omp_thread *th, omp_task *task) {
    omp_frame *f = task->top;
    if (f->pending) {
        f->pending = 0;
        if (!f->id) omp_create(th, f, f->since, f->outer);
        omp_start(th, f, f->since);
    }
    return f;
}

/* ---- Memory ------------------------------------------------------------------------------------- */

static omp_task *omp_new_task(omp_thread *th) {
    omp_task *task = th->free_tasks;
    if (task) th->free_tasks = task->parent;
    else if (!(task = (omp_task *)malloc(sizeof *task))) return 0;
    else task->base.inputs = 0, task->base.capinputs = 0;
    ws_df *inputs = task->base.inputs;
    int cap = task->base.capinputs;
    memset(task, 0, sizeof *task);
    task->base.inputs = inputs, task->base.capinputs = cap;
    task->top = &task->base;
    task->refs = 1;
    return task;
}

static omp_frame *omp_push(omp_thread *th, omp_task *task, int construct, ws_site site) {
    omp_frame *f = th->free_frames;
    if (f) th->free_frames = f->outer;
    else if (!(f = (omp_frame *)calloc(1, sizeof *f))) return 0;
    ws_df *inputs = f->inputs;
    int cap = f->capinputs;
    memset(f, 0, sizeof *f);
    f->inputs = inputs, f->capinputs = cap;
    f->site = site, f->construct = (uint8_t)construct;
    f->outer = task->top;
    task->top = f;
    /* What the frame below was to wait for, this one has waited for. */
    for (int i = 0; i < f->outer->ninputs; i++) omp_await(f, f->outer->inputs[i]);
    f->outer->ninputs = 0;
    return f;
}

static void omp_pop(omp_thread *th, omp_task *task) {
    omp_frame *f = task->top;
    if (f == &task->base) return;
    task->top = f->outer;
    f->outer = th->free_frames;
    th->free_frames = f;
}

static void omp_release_team(omp_team *team) {
    if (!team || __atomic_sub_fetch(&team->refs, 1, __ATOMIC_ACQ_REL)) return;
    free(team->slots);
    free(team);
}

static void omp_release_group(omp_group *g) {
    while (g && !__atomic_sub_fetch(&g->refs, 1, __ATOMIC_ACQ_REL)) {
        omp_group *outer = g->outer;
        free(g);
        g = outer;
    }
}

static void omp_forget_deps(omp_task *task);

/* omp_release gives back a task: by itself when it has ended, and by each of its children. */
static void omp_release(omp_thread *th, omp_task *task) {
    while (task && !__atomic_sub_fetch(&task->refs, 1, __ATOMIC_ACQ_REL)) {
        omp_task *parent = task->parent;
        omp_forget_deps(task);
        omp_release_team(task->team);
        omp_release_group(task->group);
        task->parent = th->free_tasks;
        th->free_tasks = task;
        task = parent;
    }
}

/* omp_note keeps what ended last. */
static void omp_note(int *lock, omp_last *last, const omp_last *ended) {
    omp_lock(lock);
    if (ended->end >= last->end) *last = *ended;
    omp_unlock(lock);
}

#endif /* WHYSLOW_OMP_STATE_H */
