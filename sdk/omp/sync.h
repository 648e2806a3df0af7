#ifndef WHYSLOW_OMP_SYNC_H
#define WHYSLOW_OMP_SYNC_H
/* sync.h: barriers, taskwait, taskgroup, critical, locks, ordered.
 *
 * A thread that waits executes tasks meanwhile. So a wait is no time of its own: the execution of the frame
 * that waits ends, tasks have theirs, and what is left is a gap. Its reason is a DF that the frame's next
 * execution is given: made by what ended last, of the team for a barrier, of the children for a taskwait, of
 * the group for a taskgroup. There is none if that ran on the waiting thread itself. */

#include "depend.h"

/* omp_arrive notes that a thread has come to a barrier, or has executed a task there. */
static void omp_arrive(omp_thread *th, omp_task *task, int64_t t) {
    omp_team *team = task->team;
    if (!team || task->index >= team->size) return;
    omp_last *last = &team->slots[task->index].last[task->barriers & 1];
    last->cf = th->last.cf;
    __atomic_store_n(&last->end, th->last.cf ? th->last.end : t, __ATOMIC_RELEASE);
}

/* omp_last_of returns what came last to a barrier of a team, of those with an even or odd number. */
static omp_last omp_last_of(const omp_team *team, int odd) {
    omp_last last = {0, 0};
    for (unsigned i = 0; i < team->size; i++) {
        const omp_last *a = &team->slots[i].last[odd];
        if (__atomic_load_n(&a->end, __ATOMIC_ACQUIRE) > last.end) last = *a;
    }
    return last;
}

/* omp_barrier_df returns the DF of the barrier that a team has just left; 0 if the frame came last itself. */
static ws_df omp_barrier_df(omp_thread *th, const omp_frame *f, omp_team *team, uint64_t barrier) {
    int k = barrier & 1;
    omp_last last = omp_last_of(team, k);
    if (last.cf == f->id) return 0;
    omp_lock(&team->lock);
    if (team->known[k] != barrier + 1) {
        team->known[k] = barrier + 1;
        team->df[k] = omp_join(th, &last, OMP_JOIN_BARRIER);
    }
    ws_df df = team->df[k];
    omp_unlock(&team->lock);
    return df;
}

static void omp_on_sync_region_wait(int kind, int endpoint, ompt_data *parallel, ompt_data *data,
                                    const void *address) {
    (void)parallel, (void)address;
    omp_thread *th = omp_here();
    omp_task *task = data ? (omp_task *)data->ptr : 0;
    if (!th || !task || kind == OMPT_SYNC_REDUCTION) return;
    int64_t t = ws_now();
    int barrier = kind != OMPT_SYNC_TASKWAIT && kind != OMPT_SYNC_TASKGROUP;
    omp_frame *f = task->top;
    if (endpoint == OMPT_BEGIN) {
        omp_stop(th, f, t);
        f->waits++;
        if (barrier) omp_arrive(th, task, t);
        return;
    }
    if (f->waits) f->waits--;
    if (!barrier) {
        omp_last *last = kind == OMPT_SYNC_TASKWAIT ? &task->last : task->group ? &task->group->last : 0;
        int join = kind == OMPT_SYNC_TASKWAIT ? OMP_JOIN_TASKWAIT : OMP_JOIN_TASKGROUP;
        if (last) omp_await(f, omp_join(th, last, join));
        if (last) last->end = 0; /* all have ended: what comes is of the next wait */
    } else if (task->team) {
        uint64_t number = task->barriers++;
        /* At the end of a region only its first thread goes on. See omp_on_parallel_end. */
        if (kind != OMPT_SYNC_BARRIER_PARALLEL) omp_await(f, omp_barrier_df(th, f, task->team, number));
    }
    omp_resume(th, f, t, omp_lazy(task));
}

/* omp_on_sync_region tells where taskgroups begin and end: they do more than wait. */
static void omp_on_sync_region(int kind, int endpoint, ompt_data *parallel, ompt_data *data,
                               const void *address) {
    (void)parallel, (void)address;
    omp_thread *th = omp_here();
    omp_task *task = data ? (omp_task *)data->ptr : 0;
    if (!th || !task || kind != OMPT_SYNC_TASKGROUP) return;
    if (endpoint == OMPT_BEGIN) {
        omp_group *g = (omp_group *)calloc(1, sizeof *g);
        if (!g) return;
        g->refs = 1;
        g->outer = task->group;
        task->group = g;
        return;
    }
    omp_group *g = task->group;
    if (!g || !g->outer) {
        task->group = 0;
    } else {
        task->group = g->outer;
        __atomic_add_fetch(&g->outer->refs, 1, __ATOMIC_RELAXED);
    }
    omp_release_group(g);
}

/* ---- Critical, locks, ordered, atomic ----------------------------------------------------------- */

/* Who has a mutex, or signalled last: by its number or address, in a table in which what collides is not
 * known. */
enum { OMP_MUTEXES = 4096, OMP_NO_WAIT = 300 }; /* ns: a mutex taken in less was free */
static struct omp_mutex {
    uint64_t id;  /* atomic */
    ws_cf holder; /* atomic */
    int64_t at;   /* atomic; of what is signalled: when */
} omp_mutexes[OMP_MUTEXES];

static struct omp_mutex *omp_mutex(uint64_t id) {
    size_t i = (size_t)(id * 0x9e3779b97f4a7c15u >> 32);
    for (int n = 0; n < 16; n++) {
        struct omp_mutex *m = &omp_mutexes[(i + (size_t)n) & (OMP_MUTEXES - 1)];
        uint64_t known = __atomic_load_n(&m->id, __ATOMIC_RELAXED);
        if (!known && __atomic_compare_exchange_n(&m->id, &known, id, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return m;
        if (known == id) return m;
    }
    return 0;
}

static void omp_on_mutex_acquire(int kind, unsigned hint, unsigned impl, uint64_t id, const void *address) {
    (void)kind, (void)hint, (void)impl, (void)address;
    omp_thread *th = omp_here();
    struct omp_mutex *m;
    if (!th || !th->now || kind == OMPT_MUTEX_TEST_LOCK || kind == OMPT_MUTEX_TEST_NEST_LOCK) return;
    th->holder = (m = omp_mutex(id)) ? __atomic_load_n(&m->holder, __ATOMIC_RELAXED) : 0;
    th->asked = ws_now();
    if (th->now->top->running) omp_read_clock(th, th->asked); /* what spinning takes from here on is apart */
}

/* omp_mutex_text names a mutex: "critical PATH+0x10", where that is a variable. */
static ws_name omp_mutex_text(int kind, uint64_t id) {
    static const char *const kinds[] = {"lock", "lock",     "lock",   "lock",
                                        "lock", "critical", "atomic", "ordered"};
    char text[PATH_MAX + 48];
    const void *address = (const void *)(uintptr_t)id;
    Dl_info info;
    const char *word = kinds[kind > 0 && kind < 8 ? kind : 0];
    if (kind == OMPT_MUTEX_ORDERED || kind == OMPT_MUTEX_ATOMIC) return ws_define_name(omp_node->ctx, word);
    if (dladdr(address, &info)) wsc_address(address, text, sizeof text);
    else if (kind == OMPT_MUTEX_CRITICAL) return ws_define_name(omp_node->ctx, word); /* see its place */
    else snprintf(text, sizeof text, "%s 0x%llx", word, (unsigned long long)id);
    return ws_define_name(omp_node->ctx, text);
}

static void omp_on_mutex_acquired(int kind, uint64_t id, const void *address) {
    omp_thread *th = omp_here();
    if (!th || !th->now) return;
    omp_frame *f = omp_running(th, th->now);
    struct omp_mutex *m = omp_mutex(id);
    int64_t asked = th->asked, t;
    th->asked = 0;
    if (m) __atomic_store_n(&m->holder, f->id, __ATOMIC_RELAXED);
    if (!asked || !f->running || (t = ws_now()) - asked < OMP_NO_WAIT) return;
    char site[PATH_MAX + 32] = "";
    if (address) wsc_address((const char *)address - 1, site, sizeof site);
    ws_context *ctx = omp_node->ctx;
    ws_blocked_at(th->s, t, f->id, t - asked, ws_define_name(ctx, "lock"), omp_mutex_text(kind, id),
                  ws_define_name(ctx, site), th->holder == f->id ? 0 : th->holder);
    omp_read_clock(th, t); /* threads spin while they wait: that is no CPU time of what follows */
}

static void omp_on_mutex_released(int kind, uint64_t id, const void *address) {
    (void)kind, (void)address;
    struct omp_mutex *m;
    if (omp_here() && (m = omp_mutex(id)) != 0) __atomic_store_n(&m->holder, (ws_cf)0, __ATOMIC_RELAXED);
}

#endif /* WHYSLOW_OMP_SYNC_H */
