/* functions.h records the functions of a program that was compiled with -finstrument-functions, and the
 * phases that it names. Part of shmem.c and mpi.c.
 *
 * GCC and Clang call the two functions below with the address of the function and that of its caller. Its
 * name is looked up once in the symbol table of the executable or library; when the trace is read, debug
 * information gives the source's name (Fortran's and C++'s are others), as for calls at all levels. Sites
 * are in a table that is read without locks and replaced when it grows. Each thread keeps a stack of the
 * functions it has entered. Functions entered before the run-time system starts (main) are recorded when the
 * trace begins. A function left by longjmp is left here when its caller is.
 *
 * A phase is a frame on the same stack, so that both form one call tree; it needs no functions. It ends by
 * whyslow_phase_end or, since the tree must be one, with the recorded function in which it began.
 *
 * The first call of a function from a place takes locks and memory, which signal handlers must not do:
 * exclude them with -finstrument-functions-exclude-function-list. */

#include <sched.h>
#include "names.h"

typedef struct wss_known {
    const void *function, *caller;
    ws_site site; /* 0: the entry is free; set last */
} wss_known;

typedef struct wss_functions {
    size_t cap, n;
    wss_known at[];
} wss_functions;

static void wss_init_once(void);

static wss_functions *wss_table_of_functions; /* atomic */

static wss_known *wss_find_function(wss_functions *f, const void *function, const void *caller) {
    uint64_t h = ((uint64_t)(uintptr_t)function << 24 ^ (uint64_t)(uintptr_t)caller) * 0x9e3779b97f4a7c15u;
    for (size_t i = (size_t)(h ^ h >> 29) & (f->cap - 1);; i = (i + 1) & (f->cap - 1)) {
        wss_known *e = &f->at[i];
        if (!__atomic_load_n(&e->site, __ATOMIC_ACQUIRE) || (e->function == function && e->caller == caller))
            return e;
    }
}

/* wss_define_function adds a function called from a place to the table. When the table grows, the old one is
 * not freed, because others may be reading it. */
static ws_site wss_define_function(wsc_thread *t, const void *function, const void *caller) {
    char name[PATH_MAX + 32], address[PATH_MAX + 32];
    ws_site site = 0;
    pthread_mutex_lock(&wss_mu);
    wss_functions *f = wss_table_of_functions, *wide = f;
    if (!f || 2 * (f->n + 1) > f->cap) {
        size_t cap = f ? 2 * f->cap : 256;
        if ((wide = (wss_functions *)calloc(1, sizeof *wide + cap * sizeof *wide->at)) != 0) {
            wide->cap = cap;
            wide->n = f ? f->n : 0;
            for (size_t i = 0; f && i < f->cap; i++)
                if (f->at[i].site) *wss_find_function(wide, f->at[i].function, f->at[i].caller) = f->at[i];
            __atomic_store_n(&wss_table_of_functions, wide, __ATOMIC_RELEASE);
        }
    }
    if (wide) {
        wss_known *e = wss_find_function(wide, function, caller);
        if (!e->site) {
            wss_function_name(function, name, sizeof name);
            wsc_address(function, address, sizeof address);
            e->function = function, e->caller = caller;
            ws_code code = wsc_named_code(t->node, name, WS_REGION_FUNCTION, address);
            site = wsc_site(t, code, (const char *)caller - 1, 0, 0, 0);
            __atomic_store_n(&e->site, site, __ATOMIC_RELEASE);
            wide->n++;
        }
        site = e->site;
    }
    pthread_mutex_unlock(&wss_mu);
    return site;
}

static ws_site wss_function_site(wsc_thread *t, const void *function, const void *caller) {
    wss_functions *f = __atomic_load_n(&wss_table_of_functions, __ATOMIC_ACQUIRE);
    ws_site site = f ? wss_find_function(f, function, caller)->site : 0;
    return site ? site : wss_define_function(t, function, caller);
}

/* wss_frame_site returns the site of a function or phase. */
static ws_site wss_frame_site(wsc_thread *t, const wss_frame *f) {
    if (!f->phase) return wss_function_site(t, f->function, f->caller);
    ws_code code = wsc_named_code(t->node, f->phase, WS_REGION_FUNCTION, 0);
    return wsc_site(t, code, (const char *)f->caller - 1, 0, 0, 0);
}

/* wss_push enters a function or phase. */
static void wss_push(wss_frame frame) {
    wss_local *l = &wss_mine;
    wsc_thread *t = wsc_here(__atomic_load_n(&wss_node, __ATOMIC_ACQUIRE));
    if (t && t->inside) return;
    if (l->depth == l->room) {
        size_t room = l->room ? 2 * l->room : 64;
        wss_frame *wide = l->beyond ? 0 : (wss_frame *)realloc(l->frames, room * sizeof *wide);
        if (!wide) {
            l->beyond++;
            free(frame.phase);
            return;
        }
        l->frames = wide;
        l->room = room;
        pthread_setspecific(wss_key, l);
    }
    if (t && !wss_paused && wsc_recording(t)) {
        t->inside = 1;
        wss_end_poll(l);
        int64_t now = wss_now();
        frame.site = wss_frame_site(t, &frame);
        ws_entered_at(t->s, now, frame.site);
        t->inside = 0;
    }
    l->frames[l->depth++] = frame;
}

/* wss_pop leaves the i-th frame and all above it; 0: nothing. */
static void wss_pop(size_t i) {
    wss_local *l = &wss_mine;
    wsc_thread *t = wsc_here(__atomic_load_n(&wss_node, __ATOMIC_ACQUIRE));
    if (!i || (t && t->inside)) return;
    int on = t && wsc_recording(t);
    if (on) t->inside = 1, wss_end_poll(l);
    int64_t now = on ? wss_now() : 0;
    while (l->depth >= i) {
        wss_frame *frame = &l->frames[--l->depth];
        if (on && frame->site) ws_exited_at(t->s, now, frame->site);
        free(frame->phase);
    }
    if (on) t->inside = 0;
}

WSC_API void __cyg_profile_func_enter(void *function, void *caller);
WSC_API void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller) {
    int saved = errno;
    pthread_once(&wss_once, wss_init_once);
    if (wsc_set.functions) {
        wss_frame frame = {function, caller, 0, 0};
        wss_push(frame);
    }
    errno = saved;
}

void __cyg_profile_func_exit(void *function, void *caller) {
    wss_local *l = &wss_mine;
    (void)caller;
    if (!l->depth) return;
    if (l->beyond) {
        l->beyond--;
        return;
    }
    int saved = errno;
    size_t i = l->depth;
    while (i && l->frames[i - 1].function != function) i--;
    wss_pop(i);
    errno = saved;
}

/* whyslow_phase_begin begins a phase of the program with a name; whyslow_phase.h declares it. */
WSC_API WSS_APART void whyslow_phase_begin(const char *name);
WSC_API void whyslow_phase_end(void);

void whyslow_phase_begin(const char *name) {
    int saved = errno;
    pthread_once(&wss_once, wss_init_once);
    wss_frame frame = {0, WSS_CALLER, wsi_copy(name && *name ? name : "phase"), 0};
    wss_push(frame);
    errno = saved;
}

/* whyslow_phase_end ends the innermost phase, and with it whatever began in it, if there is one. */
void whyslow_phase_end(void) {
    int saved = errno;
    wss_local *l = &wss_mine;
    if (l->beyond) {
        l->beyond--;
        return;
    }
    size_t i = l->depth;
    while (i && !l->frames[i - 1].phase) i--;
    wss_pop(i);
    errno = saved;
}

/* wss_functions_before records the functions that were entered before the trace began. */
static void wss_functions_before(wsc_thread *t, int64_t since) {
    wss_local *l = &wss_mine;
    if (!t || !wsc_recording(t)) return;
    for (size_t i = 0; i < l->depth; i++) {
        l->frames[i].site = wss_frame_site(t, &l->frames[i]);
        ws_entered_at(t->s, since, l->frames[i].site);
    }
}

/* wss_functions_after leaves the functions that are still open when the trace ends. */
static void wss_functions_after(wsc_thread *t, int64_t end) {
    wss_local *l = &wss_mine;
    for (; l->depth; l->depth--) {
        wss_frame *frame = &l->frames[l->depth - 1];
        if (frame->site) ws_exited_at(t->s, end, frame->site);
        free(frame->phase);
    }
}

/* wss_thread_ends leaves everything that the thread is in, so that the next thread with its stream starts
 * outside of everything. */
static void wss_thread_ends(void *p) {
    wss_local *l = &wss_mine;
    (void)p;
    if (wsc_mine && wsc_recording(wsc_mine)) {
        wsc_mine->inside = 1;
        wss_end_poll(l);
        wss_functions_after(wsc_mine, wss_now());
        wsc_mine->inside = 0;
    }
    while (l->depth) free(l->frames[--l->depth].phase);
    free(l->frames);
    l->frames = 0;
    l->depth = l->room = 0;
    l->poll.s = 0;
}

static void wss_init_once(void) {
    /* The key is created before that of collect.h, whose destructor gives the stream away: glibc calls
     * destructors in the order of creation. */
    pthread_key_create(&wss_key, wss_thread_ends);
    wsc_init();
    /* Registered after that of collect.h, so that its locks are taken later. */
    pthread_atfork(wss_before_fork, wss_after_fork, wss_after_fork);
}
