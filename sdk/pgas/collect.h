#ifndef WHYSLOW_COLLECT_H
#define WHYSLOW_COLLECT_H
/* collect.h: the common part of the collectors for PGAS programs, on top of whyslow.h.
 *
 * Problem. A library that runs inside somebody else's program (a UPC run-time system through GASP, OpenSHMEM
 * through PSHMEM) must record which operations are entered and left, by which thread, and from which place in
 * the source. It must do no harm and stay unnoticed, whatever the program does: start threads, fork, call
 * back into the library, exit in the middle.
 *
 * Plan. A node is a UPC thread or an OpenSHMEM PE: a context of whyslow.h with one worker and a file of its
 * own. A wsc_thread is a thread of the operating system that records for a node. The first one is stream 0,
 * the worker. Further ones are streams 1, 2 and so on; they are made at the thread's first call (wsc_here)
 * and used again by another thread when it has ended. An operation is
 *
 *     wsc_call c = wsc_enter(t, OP_PUT, __builtin_return_address(0));    onEntered
 *     if (c.s) ws_put_at(c.s, c.time, to, bytes, 0);                     its description, at the same time
 *     ... the operation itself ...
 *     int64_t end = wsc_now(&c);                                         0 if nothing is recorded
 *     if (end) ws_acquired_at(c.s, end, lock);                           what holds from its end on
 *     wsc_leave_at(&c, end);                                             onExited; or wsc_leave(&c)
 *
 * c.s is null if the operation is not recorded: the file is not open yet or already closed, this is the child
 * of a fork, recording is off, the level of instrumentation leaves the operation out, or it runs inside
 * another one (the library calls itself). Call wsc_leave in all cases.
 *
 * Each thread finds sites in a hash table of its own, without locks, and asks the table of its node for a
 * place that it sees for the first time.
 *
 * Nothing is freed while the program runs: threads that go on after the end still find everything, and record
 * nothing.
 *
 * One source file per library includes this file, before any other. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dladdr1 */
#endif

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A program may have a whyslow.h of its own. Hidden symbols keep its functions and ours apart. The system's
 * headers are included above, because their functions are not ours to hide. */
#pragma GCC visibility push(hidden)
#define WHYSLOW_IMPLEMENTATION
#if defined(__has_include) && !__has_include("whyslow.h")
#include "../whyslow.h"
#else
#include "whyslow.h"
#endif
#pragma GCC visibility pop

#define WSC_API __attribute__((visibility("default")))
#define WSC_UNUSED __attribute__((unused))
#define WSC_THREAD static __thread __attribute__((tls_model("initial-exec"), unused))

/* Workers of a node: 1, or -1 where every thread is one. */
#ifndef WSC_WORKERS
#define WSC_WORKERS 1
#endif

/* Levels of instrumentation (WHYSLOW_INSTRUMENT). Each includes the one before. WSC_AUTO is WSC_CALLS, and
 * functions if the program tells about them: its user has compiled it so that it does. */
enum { WSC_SYNC, WSC_CALLS, WSC_LOCAL, WSC_FUNCTIONS, WSC_AUTO };
static const char *const wsc_levels[] = {"sync", "calls", "local", "functions", "auto"};

/* Kinds of collectives, for wsc_collective. */
enum {
    WSC_BARRIER,
    WSC_NOTIFY,
    WSC_WAIT,
    WSC_BROADCAST,
    WSC_SCATTER,
    WSC_GATHER,
    WSC_REDUCE,
    WSC_GATHER_ALL,
    WSC_EXCHANGE,
    WSC_PERMUTE,
    WSC_ALL_REDUCE,
    WSC_COLLECT,
    WSC_PREFIX_REDUCE,
    WSC_ALLOC,
    WSC_FREE,
    WSC_START,
    WSC_FINISH,
    WSC_COLLECTIVES
};

/* Synchronisation modes of UPC: WSC_SYNC_NONE, or WSC_SYNC_MODE(in, out) of WSC_ALL, WSC_MY and WSC_NO. Or
 * the collective is only begun: WSC_SYNC_LATER. */
enum { WSC_ALL, WSC_MY, WSC_NO, WSC_SYNC_NONE = 9, WSC_SYNC_LATER, WSC_MODES };
#define WSC_SYNC_MODE(in, out) (3 * (in) + (out))

static const char *const wsc_collective_names[WSC_COLLECTIVES] = {
    "barrier",    "notify",   "wait",    "broadcast",  "scatter", "gather",        "reduce",
    "gather-all", "exchange", "permute", "all-reduce", "collect", "prefix-reduce", "alloc",
    "free",       "start",    "finish"};
static const char *const wsc_mode_names[WSC_MODES] = {"all/all", "all/my", "all/no", "my/all", "my/my",
                                                      "my/no",   "no/all", "no/my",  "no/no",  "",
                                                      "non-blocking"};

/* An operation: its name as users write it, and the kind of region, WS_REGION_BARRIER and so on. */
typedef struct wsc_operation {
    const char *name;
    int kind;
} wsc_operation;

/* A place: a region called from somewhere. Either the address is known, or the file and line. */
typedef struct wsc_place {
    ws_code code; /* 0: the entry is free */
    ws_site site;
    const void *address;
    const char *file; /* a copy */
    int line, column;
} wsc_place;

typedef struct wsc_places { /* open addressing */
    wsc_place *at;
    size_t n, cap;
} wsc_places;

typedef struct wsc_named { /* a region known by its name: a function of the program */
    struct wsc_named *link;
    ws_code code;
    char name[];
} wsc_named;

typedef struct wsc_node {
    ws_context *ctx;
    int node, nodes;
    const wsc_operation *ops;
    int nops;
    ws_code *codes;  /* by operation, 0: not defined yet; atomic */
    ws_name collectives[WSC_COLLECTIVES], modes[WSC_MODES]; /* likewise */
    int closed;      /* atomic */
    int notes;       /* atomic; the collector's own */
    int locks;       /* atomic; the number of locks described so far */
    int growing;     /* every thread is a worker */
    int many;        /* there are several processes */
    int ask_hosts;   /* the names of the nodes' hosts are exchanged through files, as their cores are */
    int next_stream; /* under mu, like everything below */
    pthread_mutex_t mu;
    wsc_places places;
    wsc_named *named[256];
    struct wsc_thread *free_threads;
    struct wsc_node *link; /* in wsc_nodes */
} wsc_node;

typedef struct wsc_thread {
    wsc_node *node;
    ws_stream *s;
    pthread_t owner;    /* atomic */
    int inside;         /* the thread is executing an operation or a callback */
    int on;             /* the program has not switched recording off */
    uint64_t transfers; /* number of the last non-blocking transfer */
    int64_t flushed;    /* time of the last flush */
    void *front;        /* the collector's own; the next thread inherits it */
    wsc_places places;
    struct wsc_thread *link; /* in free_threads, or the same OS thread's for another node */
} wsc_thread;

/* A call of an operation. */
typedef struct wsc_call {
    wsc_thread *t; /* null: inside another call */
    ws_stream *s;  /* null: not recorded */
    int64_t time;
    ws_site site;
} wsc_call;

static struct { /* settings of the process */
    int level, functions, chosen, clock_sync, forked;
    int64_t flush; /* ns; 0: never */
} wsc_set = {WSC_CALLS, 1, WSC_AUTO, 0, 0, 1000000000};
enum { WSC_CLOCK_AUTO, WSC_CLOCK_OFF, WSC_CLOCK_ALWAYS };

/* The state that the process has only once. It is locked during a fork. */
static pthread_mutex_t wsc_mu = PTHREAD_MUTEX_INITIALIZER;
static wsc_node *wsc_nodes;
static pthread_once_t wsc_once = PTHREAD_ONCE_INIT;
static pthread_key_t wsc_key;
WSC_THREAD wsc_thread *wsc_mine; /* those of this OS thread, for any nodes */
static void (*wsc_ending)(wsc_thread *t); /* what the collector does when a thread ends; may be null */

/* If a process forks while another of its threads is in here, the child must not inherit a lock that nobody
 * unlocks. */
static void wsc_before_fork(void) {
    pthread_mutex_lock(&wsc_mu);
    for (wsc_node *n = wsc_nodes; n; n = n->link) pthread_mutex_lock(&n->mu);
}

static void wsc_in_parent(void) {
    for (wsc_node *n = wsc_nodes; n; n = n->link) pthread_mutex_unlock(&n->mu);
    pthread_mutex_unlock(&wsc_mu);
}

static void wsc_in_child(void) {
    for (wsc_node *n = wsc_nodes; n; n = n->link) {
        __atomic_store_n(&n->closed, 1, __ATOMIC_RELEASE);
        pthread_mutex_init(&n->mu, 0);
    }
    pthread_mutex_init(&wsc_mu, 0);
    wsc_set.forked = 1; /* the trace is the parent's */
}

/* wsc_thread_ends frees the stream of a thread that ends, for a later thread. */
static void wsc_thread_ends(void *p) {
    wsc_mine = 0;
    for (wsc_thread *t = (wsc_thread *)p, *next; t; t = next) {
        next = t->link;
        if (wsc_ending) wsc_ending(t);
        pthread_mutex_lock(&t->node->mu);
        t->link = t->node->free_threads;
        t->node->free_threads = t;
        pthread_mutex_unlock(&t->node->mu);
    }
}

static void wsc_init_once(void) {
    static const char *const syncs[] = {"auto", "off", "always"};
    wsc_set.chosen = wsi_env_choice(0, "WHYSLOW_INSTRUMENT", WSC_AUTO, wsc_levels, 5);
    wsc_set.level = wsc_set.chosen == WSC_AUTO ? WSC_CALLS : wsc_set.chosen;
    wsc_set.functions = wsc_set.chosen >= WSC_FUNCTIONS;
    wsc_set.clock_sync = wsi_env_choice(0, "WHYSLOW_CLOCK_SYNC", WSC_CLOCK_AUTO, syncs, 3);
    wsc_set.flush = wsi_env_number(0, "WHYSLOW_FLUSH", 1000, 0, 1000000) * 1000000;
    /* Times taken before the context is open must come from the same clock. ws_open tells if it is wrong. */
    wsi_clock_start(wsi_env_choice(1, "WHYSLOW_CLOCK", 0, wsi_clocks, 3) == 1);
    pthread_key_create(&wsc_key, wsc_thread_ends);
    pthread_atfork(wsc_before_fork, wsc_in_parent, wsc_in_child);
}

/* wsc_init reads the settings. ws_now may be used from then on. Call it before anything else; further calls
 * do nothing. */
static void wsc_init(void) { pthread_once(&wsc_once, wsc_init_once); }

/* wsc_level returns the level of instrumentation, WSC_SYNC and so on. */
WSC_UNUSED static int wsc_level(void) { return wsc_set.level; }

/* ---- Nodes and threads ----------------------------------------------------------------------------- */

/* wsc_new_thread makes the calling OS thread record for the node. Null: no memory. */
static wsc_thread *wsc_new_thread(wsc_node *node) {
    pthread_mutex_lock(&node->mu);
    wsc_thread *t = node->free_threads;
    int stream = node->next_stream;
    if (t) node->free_threads = t->link;
    else if ((t = (wsc_thread *)calloc(1, sizeof *t)) != 0) node->next_stream++;
    pthread_mutex_unlock(&node->mu);
    if (!t) return 0;
    t->node = node;
    __atomic_store_n(&t->owner, pthread_self(), __ATOMIC_RELAXED);
    t->inside = 0;
    t->on = 1;
    if (!t->s) t->s = node->growing ? ws_worker_open(node->ctx, 0) : ws_stream_open(node->ctx, stream);
    t->link = wsc_mine;
    wsc_mine = t;
    pthread_setspecific(wsc_key, t);
    return t;
}

/* wsc_here returns the calling thread's wsc_thread for the node, and makes it if need be. It returns null if
 * there is no memory or no node. */
WSC_UNUSED static wsc_thread *wsc_here(wsc_node *node) {
    for (wsc_thread *t = wsc_mine; t; t = t->link)
        if (t->node == node) return t;
    if (!node || __atomic_load_n(&node->closed, __ATOMIC_ACQUIRE)) return 0;
    return wsc_new_thread(node);
}

static void wsc_at_exit(int status, void *arg);

/* Each node except 0 leaves a line with the cores that its process may use, and one with the name of its
 * host, in a file beside its events. Node 0 collects them when the run ends. Only run.json depends on them,
 * so errors are ignored. Nodes that share a process with the one before them leave their host only. */
static void wsc_host_file(const wsc_node *node, int number, char *path, size_t size) {
    snprintf(path, size, "%s/%05d.host", ws_dir(node->ctx), number);
}

static void wsc_leave_host(const wsc_node *node) {
    char path[PATH_MAX], cores[256], text[1024];
    struct utsname os;
    if (uname(&os)) return;
    wsi_affinity(cores, sizeof cores);
    snprintf(text, sizeof text, "%s\n%s", cores, os.nodename);
    wsc_host_file(node, node->node, path, sizeof path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return;
    if (!wsi_write_all(fd, (const uint8_t *)text, strlen(text))) unlink(path);
    close(fd);
}

static void wsc_take_hosts(const wsc_node *node) {
    char path[PATH_MAX], text[1024];
    struct utsname os;
    int per_process = node->ctx->per_process;
    char **hosts = (char **)calloc((size_t)node->nodes, sizeof *hosts);
    char **cores = (char **)calloc((size_t)node->nodes, sizeof *cores);
    int known = hosts && cores && !uname(&os);
    for (int i = 0; known && i < node->nodes; i++) {
        wsc_host_file(node, i, path, sizeof path);
        *text = 0;
        if (i && wsi_read_file(path, text, sizeof text)) unlink(path);
        size_t n = strcspn(text, "\n");
        const char *host = text[n] ? text + n + 1 : "";
        text[n] = 0;
        if (*text && i % per_process == 0) cores[i / per_process] = wsi_copy(text);
        known = (hosts[i] = wsi_copy(i ? host : os.nodename)) != 0;
    }
    /* Only the writer of run.json reads them, in this thread. */
    node->ctx->affinities = cores;
    if (node->ask_hosts && known) {
        node->ctx->hosts = hosts;
        return;
    }
    for (int i = 0; hosts && i < node->nodes; i++) free(hosts[i]);
    free(hosts);
}

/* Passed as hosts by nodes that do not know the hosts while node 0 does. */
WSC_UNUSED static const char *const wsc_node_0_knows[1] = {0};

/* wsc_open_with opens the file of a node with these options. It returns null if nothing is recorded: this is
 * the child of a fork, or there is no memory. missing: see wsc_open. */
static wsc_node *wsc_open_with(ws_options *opt, const wsc_operation *ops, int nops, const char *missing) {
    wsc_init();
    if (wsc_set.forked) return 0;
    wsc_node *node = (wsc_node *)calloc(1, sizeof *node);
    if (!node || !(node->codes = (ws_code *)calloc((size_t)nops, sizeof *node->codes))) {
        free(node);
        return 0;
    }
    /* Enough buffers while the writer does not get a processor. Larger buffers are slower to fill. */
    opt->buffer_bytes = 1 << 20, opt->pool = 16;
    opt->flush_ms = (int)(wsc_set.flush / 1000000);
    node->node = opt->node, node->nodes = opt->nodes, node->growing = opt->workers < 0;
    node->ops = ops, node->nops = nops;
    pthread_mutex_init(&node->mu, 0);
    node->ctx = ws_open(opt);
    static int registered;
    if (!__atomic_exchange_n(&registered, 1, __ATOMIC_ACQ_REL))
        on_exit(wsc_at_exit, (void *)(uintptr_t)missing); /* before whyslow.h's own */
    pthread_mutex_lock(&wsc_mu);
    node->link = wsc_nodes;
    wsc_nodes = node;
    pthread_mutex_unlock(&wsc_mu);
    return node;
}

/* wsc_open opens the file of a node and makes the calling thread its worker (wsc_here). Call it once the
 * numbers of this node and of all nodes are known. since and cpu come from ws_now and ws_process_cpu, taken
 * when the initialisation began; the worker's time starts there. hosts lists those of all nodes; it may be
 * wsc_node_0_knows, or null to find them out through files. per_process is the number of nodes that share a
 * process. missing is the message for run.json if the program exits before wsc_close ("it ended without
 * shmem_finalize"). wsc_open returns null if nothing is recorded: this is the child of a fork. */
WSC_UNUSED static wsc_node *wsc_open(int number, int nodes, int per_process, const char *const *hosts,
                                     int64_t since, int64_t cpu, const wsc_operation *ops, int nops,
                                     const char *missing) {
    ws_options opt;
    memset(&opt, 0, sizeof opt);
    opt.node = number, opt.nodes = nodes, opt.workers = WSC_WORKERS, opt.per_process = per_process;
    opt.hosts = hosts == wsc_node_0_knows ? 0 : hosts;
    opt.clock = "monotonic"; /* other processes probably run on the same host */
    opt.since = since, opt.since_cpu = cpu;
    wsc_node *node = wsc_open_with(&opt, ops, nops, missing);
    if (!node) return 0;
    ws_setting(node->ctx, "instrument", wsc_levels[wsc_set.chosen]);
    node->many = nodes > per_process && ws_active(node->ctx);
    node->ask_hosts = !hosts && node->many;
    if (node->many && number && (node->ask_hosts || number % per_process == 0)) wsc_leave_host(node);
    wsc_new_thread(node);
    return node;
}

/* wsc_close completes the node's file. Other threads may go on; their events are dropped. For the arguments
 * see ws_close. */
WSC_UNUSED static void wsc_close(wsc_node *node, int ended, int exit_code, const char *message) {
    if (!node || __atomic_exchange_n(&node->closed, 1, __ATOMIC_ACQ_REL)) return;
    if (node->many && !node->node) wsc_take_hosts(node);
    wsi_finish(node->ctx, ended, exit_code, message);
}

/* wsc_at_exit completes the files of a program that exits without closing them, normally or after an
 * error. */
static void wsc_at_exit(int status, void *arg) {
    pthread_mutex_lock(&wsc_mu);
    wsc_node *n = wsc_nodes; /* the nodes after it never change */
    pthread_mutex_unlock(&wsc_mu); /* so that another thread can fork meanwhile */
    for (; n; n = n->link) wsc_close(n, status ? WS_FAILED : WS_DONE, status, (const char *)arg);
}

#include "collect_places.h"

/* ---- Operations ------------------------------------------------------------------------------------ */

/* wsc_wanted tells whether the level of instrumentation includes a kind of region. */
static int wsc_wanted(int kind) {
    switch (kind) {
    case WS_REGION_FUNCTION: return wsc_set.functions;
    case WS_REGION_BULK:
    case WS_REGION_ACCESS:
    case WS_REGION_REMOTE_ATOMIC:
    case WS_REGION_COMPLETION: return wsc_set.level >= WSC_CALLS;
    }
    return 1;
}

/* wsc_recording tells whether the thread is recording. */
static int wsc_recording(const wsc_thread *t) {
    return t->on && t->s->cap && !__atomic_load_n(&t->node->closed, __ATOMIC_RELAXED);
}

/* wsc_enter_at begins an operation that was entered at time, from ws_now; 0 means now. address is the return
 * address of the call, or null. */
WSC_UNUSED static wsc_call wsc_enter_at(wsc_thread *t, int64_t time, int op, const void *address) {
    wsc_call c = {0, 0, 0, 0};
    if (!t || t->inside) return c;
    t->inside = 1;
    c.t = t;
    if (!wsc_recording(t) || !wsc_wanted(t->node->ops[op].kind)) return c;
    int saved = errno;
    c.time = time ? time : ws_now();
    c.site = wsc_site(t, wsc_code(t->node, op), address ? (const char *)address - 1 : 0, 0, 0, 0);
    c.s = t->s;
    ws_entered_at(c.s, c.time, c.site);
    errno = saved;
    return c;
}

WSC_UNUSED static wsc_call wsc_enter(wsc_thread *t, int op, const void *address) {
    return wsc_enter_at(t, 0, op, address);
}

/* wsc_now returns the time at which a recorded operation ends, or 0 if it is not recorded. */
WSC_UNUSED static int64_t wsc_now(const wsc_call *c) { return c->s ? ws_now() : 0; }

/* wsc_flush_at hands over what the thread has recorded if its last flush is long ago, so that little is lost
 * if the program is killed. It matters only with sync: otherwise the writer thread flushes, even while this
 * thread does something else. */
static void wsc_flush_at(wsc_thread *t, int64_t now) {
    if (!t->node->ctx->sync || !wsc_set.flush || now - t->flushed < wsc_set.flush) return;
    if (t->flushed) ws_flush(t->s);
    t->flushed = now;
}

/* wsc_leave_at ends an operation at a time from wsc_now. */
WSC_UNUSED static void wsc_leave_at(wsc_call *c, int64_t time) {
    if (!c->t) return;
    if (c->s) {
        int saved = errno;
        ws_exited_at(c->s, time, c->site);
        wsc_flush_at(c->t, time);
        errno = saved;
    }
    c->t->inside = 0;
}

WSC_UNUSED static void wsc_leave(wsc_call *c) { wsc_leave_at(c, wsc_now(c)); }

/* wsc_lazy returns the number of a string, which it defines at the first use. */
static ws_name wsc_lazy(wsc_node *node, ws_name *at, const char *text) {
    ws_name n = __atomic_load_n(at, __ATOMIC_RELAXED);
    if (!n && *text) __atomic_store_n(at, n = ws_define_name(node->ctx, text), __ATOMIC_RELAXED);
    return n;
}

/* wsc_collective_at records that the operation entered at time is a collective. kind is WSC_BARRIER and so
 * on; mode is WSC_SYNC_NONE or WSC_SYNC_MODE(in, out). The members are start, start + stride, ..., size of
 * them; root is -1 if there is none. sent and received are the bytes that this member sends to the others and
 * gets from them. */
WSC_UNUSED static void wsc_collective_at(wsc_thread *t, int64_t time, int kind, int mode, int start,
                                         uint64_t stride, uint64_t size, int root, int64_t sent,
                                         int64_t received) {
    wsc_node *n = t->node;
    ws_collective_at(t->s, time, wsc_lazy(n, &n->collectives[kind], wsc_collective_names[kind]),
                     wsc_lazy(n, &n->modes[mode], wsc_mode_names[mode]), start, stride, size, root, sent,
                     received);
}

WSC_UNUSED static void wsc_collective(const wsc_call *c, int kind, int mode, int start, uint64_t stride,
                                      uint64_t size, int root, int64_t sent, int64_t received) {
    if (c->s) wsc_collective_at(c->t, c->time, kind, mode, start, stride, size, root, sent, received);
}

/* wsc_new_transfer returns a new number for a non-blocking transfer, for onPut, onGet and later
 * onCompleted. */
WSC_UNUSED static uint64_t wsc_new_transfer(wsc_thread *t) { return ++t->transfers; }

#endif /* WHYSLOW_COLLECT_H */
