#ifndef WHYSLOW_OMP_DEPEND_H
#define WHYSLOW_OMP_DEPEND_H
/* depend.h: which task waits for which, from the depend clauses of a task's children, in order of creation.
 *
 * For every address the last writer is known and who has read since. A task that reads waits for the last
 * writer; one that writes waits for the readers since, or for the writer if there are none. Tasks of one set
 * (mutexinoutset, inoutset) do not wait for each other. The DF of a writer is its version of the variable,
 * defined when the task is created; that of a reader is defined once a writer has to wait for it. Both are
 * created when the task ends, so reading and writing times are exact. */

#include "state.h"

/* omp_done is about the end of one task, which others wait for. */
struct omp_done {
    int lock, refs, ended; /* atomic; under lock */
    ws_df *makes;          /* DFs that it creates when it ends; likewise */
    int nmakes, capmakes;
};

typedef struct omp_access {
    omp_done *by;
    ws_df df; /* 0: not defined yet */
} omp_access;

typedef struct omp_accesses {
    omp_access *at;
    int n, cap;
} omp_accesses;

typedef struct omp_variable {
    const void *address;
    ws_name name;
    int set;            /* the type of the set that the newest are of; 0: a writer */
    uint64_t version;
    omp_accesses wrote; /* the last writer, or the last set */
    omp_accesses read;  /* since */
    omp_accesses before; /* what a set waits for */
} omp_variable;

struct omp_deps { /* open addressing */
    omp_variable *at;
    size_t n, cap;
};

static void omp_release_done(omp_done *d) {
    if (!d || __atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL)) return;
    free(d->makes);
    free(d);
}

static void omp_clear(omp_accesses *a) {
    for (int i = 0; i < a->n; i++) omp_release_done(a->at[i].by);
    a->n = 0;
}

static void omp_add_access(omp_accesses *a, omp_done *by, ws_df df) {
    if (a->n == a->cap) {
        int cap = a->cap ? 2 * a->cap : 2;
        omp_access *list = (omp_access *)realloc(a->at, (size_t)cap * sizeof *list);
        if (!list) return;
        a->at = list, a->cap = cap;
    }
    __atomic_add_fetch(&by->refs, 1, __ATOMIC_RELAXED);
    omp_access access = {by, df};
    a->at[a->n++] = access;
}

static void omp_move(omp_accesses *to, omp_accesses *from) {
    omp_accesses old = *to;
    omp_clear(&old);
    *to = *from;
    from->at = old.at, from->cap = old.cap, from->n = 0;
}

static size_t omp_place(const omp_deps *d, const void *address) {
    uint64_t h = (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(h >> 20) & (d->cap - 1);
    while (d->at[i].address && d->at[i].address != address) i = (i + 1) & (d->cap - 1);
    return i;
}

/* omp_variable_of returns what is known about a variable of a task's children; null: no memory. */
static omp_variable *omp_variable_of(omp_task *parent, const void *address) {
    omp_deps *d = parent->deps;
    if (!d && !(d = parent->deps = (omp_deps *)calloc(1, sizeof *d))) return 0;
    if (2 * (d->n + 1) > d->cap) {
        omp_deps wide = {0, d->n, d->cap ? 2 * d->cap : 16};
        if (!(wide.at = (omp_variable *)calloc(wide.cap, sizeof *wide.at))) return 0;
        for (size_t i = 0; i < d->cap; i++)
            if (d->at[i].address) wide.at[omp_place(&wide, d->at[i].address)] = d->at[i];
        free(d->at);
        *d = wide;
    }
    omp_variable *v = &d->at[omp_place(d, address)];
    if (!v->address) {
        char text[PATH_MAX + 40];
        Dl_info info;
        d->n++;
        v->address = address;
        if (dladdr(address, &info)) wsc_address(address, text, sizeof text);
        else snprintf(text, sizeof text, "0x%llx", (unsigned long long)(uintptr_t)address);
        v->name = ws_define_name(omp_node->ctx, text);
    }
    return v;
}

static ws_df omp_version(omp_variable *v) {
    int64_t identity[4] = {omp_node->node, v->name, (int64_t)++v->version,
                           (int64_t)__atomic_add_fetch(&omp_df_ids, 1, __ATOMIC_RELAXED)};
    return ws_define_df(omp_node->ctx, v->name, identity, 3 + (v->version > INT32_MAX));
}

/* omp_makes has a task create a DF when it ends; 0 if it has ended. */
static int omp_makes(omp_done *d, ws_df df) {
    int ok = 0;
    omp_lock(&d->lock);
    if (!d->ended) {
        if (d->nmakes == d->capmakes) {
            int cap = d->capmakes ? 2 * d->capmakes : 2;
            ws_df *list = (ws_df *)realloc(d->makes, (size_t)cap * sizeof *list);
            if (list) d->makes = list, d->capmakes = cap;
        }
        if ((ok = d->nmakes < d->capmakes)) d->makes[d->nmakes++] = df;
    }
    omp_unlock(&d->lock);
    return ok;
}

/* omp_wait_for adds accesses to what a frame waits for. */
static void omp_wait_for(omp_frame *f, omp_variable *v, omp_accesses *a, const omp_done *self) {
    for (int i = 0; i < a->n; i++) {
        omp_access *x = &a->at[i];
        if (x->by == self) continue;
        if (!x->df) {
            ws_df df = omp_version(v);
            if (!omp_makes(x->by, df)) continue; /* a reader that has ended */
            x->df = df;
        }
        omp_await(f, x->df);
    }
}

/* omp_depend takes one depend clause of a task. */
static void omp_depend(omp_frame *f, omp_task *parent, omp_done *done, const void *address, int type) {
    omp_variable *v = omp_variable_of(parent, address);
    if (!v) return;
    if (type == OMPT_IN) {
        omp_wait_for(f, v, &v->wrote, done);
        if (done) omp_add_access(&v->read, done, 0);
        return;
    }
    int set = type == OMPT_MUTEXINOUTSET || type == OMPT_INOUTSET ? type : 0;
    if (set && v->set == set && !v->read.n && v->wrote.n) { /* one more of the set */
        omp_wait_for(f, v, &v->before, done);
    } else {
        omp_accesses *before = v->read.n ? &v->read : &v->wrote;
        omp_wait_for(f, v, before, done);
        if (!done) return;
        omp_move(&v->before, before);
        omp_clear(&v->read);
        omp_clear(&v->wrote);
        v->set = set;
    }
    if (!done) return;
    ws_df df = omp_version(v);
    if (omp_makes(done, df)) omp_add_access(&v->wrote, done, df);
}

/* omp_end_done creates what others wait for, at time t. */
static void omp_end_done(omp_thread *th, omp_done *d, ws_cf cf, int64_t t) {
    omp_lock(&d->lock);
    d->ended = 1;
    for (int i = 0; i < d->nmakes; i++) ws_df_create_at(th->s, t, d->makes[i], 0, cf);
    omp_unlock(&d->lock);
}

static void omp_forget_deps(omp_task *task) {
    omp_release_done(task->done);
    omp_deps *d = task->deps;
    if (!d) return;
    for (size_t i = 0; i < d->cap; i++) {
        omp_accesses *lists[] = {&d->at[i].wrote, &d->at[i].read, &d->at[i].before};
        for (int k = 0; k < 3; k++) {
            omp_clear(lists[k]);
            free(lists[k]->at);
        }
    }
    free(d->at);
    free(d);
}

#endif /* WHYSLOW_OMP_DEPEND_H */
