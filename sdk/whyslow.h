/* Made by sdk/gen from sdk/src and the table in trace/kinds.go; change those, then: go generate ./sdk */

#ifndef WHYSLOW_H
#define WHYSLOW_H
/* whyslow.h: record traces for whyslow from C and C++.
 *
 * How to use it. Copy this one file. In exactly one source file write
 *
 *     #define WHYSLOW_IMPLEMENTATION
 *     #include "whyslow.h"         (before any other header, where compiled with -std=c99)
 *
 * and plain #include "whyslow.h" in the others. C99 or C++11, GCC or Clang, POSIX; link with
 * -pthread. docs/c-sdk.md has a whole example; `whyslow report TRACE` reads the result.
 *
 * Problem. A run-time system wants every event of every thread on disk, at the price of
 * reading a clock, and must not notice that it is watched: no lock, no allocation and no
 * system call where an event is recorded, and no way to fail.
 *
 * Plan. One context (ws_context) per node writes one file of the trace; one stream
 * (ws_stream) per thread is an append buffer of 64-bit words:
 *
 *     word 0      time << 10 | kind
 *     words 1..n  the fixed fields, one word each; for a kind with a list: the number of
 *                 elements, the elements
 *
 * Word 0 is stored last (a release store), and the word after the newest record is 0 until the
 * next record is complete. So whoever ends the process (exit in another thread) can walk
 * the buffers while their owners still append. A full buffer is handed to a writer thread, which
 * packs it by column, compresses it and writes it as one block; the buffer comes back through a
 * pool. Where the pool is empty the emitter waits, or drops events and records how many
 * (GlobalEvents.onLost). Everything that is slow is in the implementation; what runs per
 * event is inline.
 *
 * The rest of the format: docs/trace-format.md. Blocks are compressed with libzstd.so.1 where
 * the machine has it. It is looked up by dlopen rather than linked, because then no
 * header, package or linker flag is needed, and one binary works with it and without it (blocks
 * are stored then). WHYSLOW_NO_DLOPEN leaves this out, for static executables.
 *
 * Nothing here makes the program fail. ws_open always returns a context. If nothing can be recorded (no such
 * folder, the child of a fork, WHYSLOW_OFF=1), all calls are valid and do nothing, ws_error says why, and one
 * line on standard error says it too. If the disk is full, events are counted, and recording resumes
 * as soon as there is room.
 *
 * If the program is killed, the blocks written so far remain. The option signals completes the trace after a
 * crash, too. It is off by default because signals belong to the program.
 *
 * Left out on purpose: filters of kinds (a collector's own business), reading traces.
 */

#if defined(WHYSLOW_IMPLEMENTATION) && defined(__STRICT_ANSI__) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#if !defined(__GNUC__)
#error "whyslow.h needs GCC, Clang or a compiler that has their __atomic builtins"
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WHYSLOW_SDK_VERSION "1"

/* ---- Identities ------------------------------------------------------------------------ */

typedef uint64_t ws_cf;      /* CF: creating node and its counter, see ws_id; 0: none */
typedef uint64_t ws_message; /* message or request: sender and its counter; 0: none */
typedef uint32_t ws_df;      /* DF: its number in this node's file, from ws_define_df; 0: none */
typedef uint32_t ws_code;    /* code fragment, from ws_define_code; 0: none */
typedef uint32_t ws_site;    /* statement, from ws_define_site; 0: none */
typedef uint32_t ws_name;    /* string, from ws_define_name; 0: "" */
typedef uint32_t ws_kind;    /* kind of event: WS_CF_CREATED ..., or from ws_define_kind */

/* ws_id joins a node (0 to 65535) and a counter (from 1, 48 bits) to the id of a CF or message,
 * which is the same on all nodes. */
static inline uint64_t ws_id(int node, uint64_t counter) {
    return (uint64_t)(uint16_t)node << 48 | (counter & (((uint64_t)1 << 48) - 1));
}

/* Kinds of code fragments: user code, and the structured ones run by the system. */
enum { WS_ATOMIC, WS_SUB, WS_CALL, WS_FOR, WS_WHILE, WS_IF };

/* Kinds of regions, for programs that record what is entered and left rather than tasks: functions of the
 * program, and operations of its run-time system by what their time is spent for. */
enum {
    WS_REGION_FUNCTION = 16,
    WS_REGION_BARRIER,       /* all wait for all */
    WS_REGION_COLLECTIVE,    /* data goes between all */
    WS_REGION_LOCK,          /* locks asked for and given back */
    WS_REGION_MEMORY,        /* shared memory and locks allocated and freed */
    WS_REGION_BULK,          /* a block of bytes goes to or from another node's memory */
    WS_REGION_ACCESS,        /* a single value does */
    WS_REGION_REMOTE_ATOMIC, /* a value in another node's memory is changed at once */
    WS_REGION_COMPLETION,    /* wait for the thread's own transfers */
    WS_REGION_AWAIT,         /* wait for a value to be changed by others */
    WS_REGION_RUNTIME,       /* start, end and everything else */
    WS_REGION_MESSAGE,       /* messages are sent and received, and waited for */
    WS_REGION_IO             /* files are read and written */
};

/* Why a DF was destroyed, for ws_df_destroy. */
enum { WS_EXPIRED, WS_DELETED, WS_END };

/* How a run ended, for ws_close. */
enum { WS_DONE, WS_FAILED, WS_STUCK, WS_INTERRUPTED };

/* ---- Context: one node ------------------------------------------------------------------- */

typedef struct ws_context ws_context;

/* What an emitter does when all buffers are full. */
enum { WS_WAIT, WS_DROP };

/* Settings of a context; zeros mean the defaults. Environment variables, in brackets, override them, so you
 * can tune a finished program. Strings are copied. */
typedef struct ws_options {
    const char *dir;       /* the trace's folder, made if need be; default PROGRAM.trace [WHYSLOW_TRACE] */
    /* [WHYSLOW_LOCAL_DIR]: a folder in which the node's file is written until it is complete */
    const char *program;   /* its name in reports; default: the executable's */
    int node;              /* number of this node, 0 to 65535 */
    int nodes;             /* nodes of the whole run; default 1 */
    int workers;           /* workers per node, the same on all: streams 0 to workers-1; default 1;
                              -1: as many as ws_worker_open is called for; of several nodes, run.json
                              then takes all to have as many as node 0 */
    int per_process;       /* nodes per OS process, for contexts sharing one; default 1 */
    const char *const *hosts; /* the host of each of the nodes; default: only this one's is told */
    size_t buffer_bytes;   /* size of a buffer, 1 KiB to 64 MiB; default 128 KiB [WHYSLOW_BUFFER, 64k, 1m] */
    int pool;              /* buffers beyond one per stream; default 8 [WHYSLOW_POOL] */
    int level;             /* zstd: 0 default (1), 1 fastest to 4 best, negative: store [WHYSLOW_LEVEL] */
    int sync;              /* the emitter itself packs and writes full buffers [WHYSLOW_SYNC=0|1] */
    int flush_ms;          /* write events after this many milliseconds even if no buffer is full, so that
                              they survive if the program is killed; 0: never; not with sync */
    int full;              /* WS_WAIT or WS_DROP [WHYSLOW_FULL=wait|drop] */
    const char *clock;     /* "tsc", "monotonic" or "auto", see ws_now; of the first context
                              opened by the process [WHYSLOW_CLOCK] */
    int signals;           /* complete the trace also when a signal ends the program (SIGSEGV, SIGABRT,
                              SIGINT, SIGTERM ...); handlers set earlier are called after ours, those set
                              later replace ours [WHYSLOW_SIGNALS=0|1] */
    int64_t since;         /* when the workers' time begins, from ws_now; 0: when their streams open */
    int64_t since_cpu;     /* ws_process_cpu at that moment */
    int manual;            /* the program itself emits onProgramStarted and onProgramFinished */
    int no_run_info;       /* run.json is written by somebody else */
    int quiet;             /* no line on standard error when something goes wrong */
    const char *run_id;    /* the run's id, which run.json and the header of every file have: 32 hexadecimal
                              digits, the same for all nodes and different in every run; default: random if
                              there is one node, else none [WHYSLOW_RUN_ID] */
} ws_options;

/* ws_open starts a node's file and replaces an old one. opt may be NULL. The context it returns is always
 * valid; if it records nothing, ws_error says why. The context of node 0 also writes run.json for the whole
 * run, and removes files of nodes that the run does not have. WHYSLOW_OFF=1 switches everything off.
 * Several contexts may be open. WHYSLOW_TO=HOST:PORT also sends the trace, while it grows, to a collector;
 * events are then written every second, unless flush_ms says otherwise. That needs the program whyslow
 * (WHYSLOW_COMMAND is its path, if PATH does not lead to it). */
ws_context *ws_open(const ws_options *opt);

/* ws_close writes what the streams hold and, unless manual, onProgramFinished for each worker;
 * completes the file and run.json, waits until all is sent if WHYSLOW_TO is set, and frees everything. No
 * thread may use its streams any more.
 * ended is WS_DONE, WS_FAILED ...; exit_code and message (may be NULL) go to run.json. Returns 0,
 * or -1 if anything could not be written or was lost.
 * A program that exits without it gets the same at exit, other threads still running:
 * what they had recorded is in the file, and later events go nowhere. */
int ws_close(ws_context *ctx, int ended, int exit_code, const char *message);

/* ws_error returns the first error in one line, NULL if there was none. Any thread. */
const char *ws_error(const ws_context *ctx);

/* ws_lost_events returns the number of events dropped so far, for want of a buffer or because writing
 * failed. Any thread. */
uint64_t ws_lost_events(const ws_context *ctx);

/* ws_waited returns the time in nanoseconds that threads which record have spent so far waiting for a buffer
 * or, with sync, packing and writing. run.json has it, too (settings, waited_ns), of node 0. Any thread. */
int64_t ws_waited(const ws_context *ctx);

/* ws_active tells whether anything is recorded: 0 in the child of a fork, for example. */
int ws_active(const ws_context *ctx);

/* ws_dir returns the folder of the trace. */
const char *ws_dir(const ws_context *ctx);

/* ws_setting adds a fact that shaped the run to run.json ("steal", "on"). It is written at the end,
 * by node 0. */
void ws_setting(ws_context *ctx, const char *key, const char *value);

/* ---- Streams: one per thread --------------------------------------------------------------- */

/* A stream. The fields are for the inline functions only. */
typedef struct ws_stream {
    uint64_t *buf; /* the buffer */
    size_t used;   /* words used; buf[used] is 0 */
    size_t cap;    /* its words; 0: nothing is recorded; 1: there is no buffer at present */
} ws_stream;

/* ws_stream_open returns the stream of that number, making it at the first call. Streams 0 to
 * workers-1 are the workers, and begin with onProgramStarted unless manual: open them all when
 * the program starts. Higher ones are the run-time system's own and never enter a worker's factors.
 * One thread at a time may use a stream. It lives until ws_close. */
ws_stream *ws_stream_open(ws_context *ctx, int id);

/* ws_worker_open is for a program that learns as it runs how many workers it has (option
 * workers = -1): it returns the stream of one more, numbered from 0 on, whose time begins at since, a
 * time from ws_now or 0 for the start of the context. Other streams then need numbers that no
 * worker gets: from WS_NO_WORKER on. */
enum { WS_NO_WORKER = 4096 };
ws_stream *ws_worker_open(ws_context *ctx, int64_t since);

/* ws_flush hands over what the stream holds, so that it gets into the file even if the process
 * is killed (option flush_ms does so now and then). For the thread that uses the stream. */
void ws_flush(ws_stream *s);

/* ---- Definitions: any thread; before the first event that uses them ------------------------- */

/* ws_define_name returns the number of a string, the same for the same string. A string over 64 KiB is cut
 * and ends with a hash of the whole. */
ws_name ws_define_name(ws_context *ctx, const char *text);

/* ws_define_code defines a code fragment. kind is WS_ATOMIC ...; file may be NULL; line and
 * column count from 1, 0: unknown. */
ws_code ws_define_code(ws_context *ctx, const char *name, int kind, const char *file, int line, int column);

/* ws_define_site defines a statement that creates CFs of a code fragment. label (the CFs' name),
 * file and text (the statement as written) may be NULL. */
ws_site ws_define_site(ws_context *ctx, ws_code code, const char *label, const char *file, int line,
                       int column, const char *text);

/* ws_define_df gives a DF a number in this file. All nodes must give it the same identity list, and no other
 * DF may have that list. By convention the list is the node that created the name, the name's number there,
 * and the indices. A list of more than 1024 elements is cut and ends with a hash and its full length. */
ws_df ws_define_df(ws_context *ctx, ws_name name, const int64_t *identity, size_t n);

/* ws_define_kind declares an event of a user namespace:
 *     ws_define_kind(ctx, "My", "onStep", "step:Int residual:Float", "A step is done.")
 * Types: Int, Uint, Float, CF, DF, Site, Name, Node, Message, NS, Bytes, Reason, and as last
 * field Ints or DFs (a list). At most 16 fields, 768 kinds. Declaring the same again returns the
 * same number. Returns 0 on a mistake, which ws_error tells; events of kind 0 are dropped. */
ws_kind ws_define_kind(ws_context *ctx, const char *space, const char *name, const char *fields,
                       const char *doc);

/* ws_new_id returns the next id of a CF or message of this node, see ws_id. Where the run-time
 * system has counters of its own, ws_id is cheaper. */
uint64_t ws_new_id(ws_context *ctx);

/* ---- Time ------------------------------------------------------------------------------------ */

/* ws_now returns the time in nanoseconds: CLOCK_MONOTONIC, folded to stay below 52 days. With one
 * process per run ("auto") it is read from the processor's time-stamp counter where that is
 * constant and the kernel itself trusts it (about 10 ns instead of 25); the factor is measured once.
 * Runs of several processes take CLOCK_MONOTONIC itself, which all processes of a host share,
 * while two measured factors differ by a few millionths. Between hosts, measure and emit
 * ws_clock_sync. */
static inline int64_t ws_now(void);

/* ws_process_cpu and ws_thread_cpu return CPU time in nanoseconds: of this process, for
 * ws_program_started; of this thread, for ws_cf_finished (a system call, ~0.3 us). */
int64_t ws_process_cpu(void);
int64_t ws_thread_cpu(void);

/* ---- Inline parts ------------------------------------------------------------------------------ */

/* Parameters of the clock: ns = base + (counter-origin)*mult/2^32; mult 0: no counter is used. */
typedef struct ws_clock {
    uint64_t mult, origin;
    int64_t base;
} ws_clock;
extern ws_clock ws_the_clock;
int64_t ws_now_slow(void);

static inline int64_t ws_now(void) {
#if defined(__x86_64__)
    if (__builtin_expect(ws_the_clock.mult != 0, 1)) {
        __extension__ typedef unsigned __int128 ws_u128;
        uint32_t lo, hi;
        __asm__ __volatile__("rdtsc" : "=a"(lo), "=d"(hi));
        uint64_t ticks = ((uint64_t)hi << 32 | lo) - ws_the_clock.origin;
        return ws_the_clock.base + (int64_t)(uint64_t)((ws_u128)ticks * ws_the_clock.mult >> 32);
    }
#endif
    return ws_now_slow();
}

uint64_t *ws_reserve_slow(ws_stream *s, size_t n, int64_t t);

/* For the functions below only, which know how many words an event has: ws_reserve returns room for
 * a record of n words, NULL where it is not to be recorded. Whoever got it stores words 1 to n-1
 * and then calls ws_commit, before anything else is done with the stream. */
static inline uint64_t *ws_reserve(ws_stream *s, size_t n, int64_t t) {
    size_t i = s->used, j = i + n;
    if (__builtin_expect(j >= s->cap, 0)) return ws_reserve_slow(s, n, t);
    __atomic_store_n(&s->buf[j], (uint64_t)0, __ATOMIC_RELAXED);
    s->used = j;
    return s->buf + i;
}

static inline void ws_commit(uint64_t *r, int64_t t, ws_kind kind) {
    __atomic_store_n(r, (uint64_t)t << 10 | kind, __ATOMIC_RELEASE);
}

/* ws_float returns the word of a Float for ws_emit. */
static inline uint64_t ws_float(double v) {
    uint64_t w;
    memcpy(&w, &v, sizeof w);
    return w;
}

/* ws_emit_at records an event of any kind at a time from ws_now. words holds its fixed fields and, for a
 * kind with a list, the number of elements and the elements: n in all. Where that does not suit
 * the kind the event is dropped and ws_error tells. Times may go back a little within a
 * stream, and must be within 104 days of 0. */
void ws_emit_at(ws_stream *s, int64_t t, ws_kind kind, const uint64_t *words, size_t n);

static inline void ws_emit(ws_stream *s, ws_kind kind, const uint64_t *words, size_t n) {
    if (s->cap) ws_emit_at(s, ws_now(), kind, words, n);
}

/* ---- Standard events, generated from trace/kinds.go ----------------------------------------------
 * Each has a function ws_EVENT(stream, fields), which takes the time, and ws_EVENT_at(stream, time,
 * fields). A list is passed as an array and its length. See docs/events.md. */

enum {
    WS_CF_CREATED = 1, /* CFEvents.onCreated */
    WS_CF_READY = 2, /* CFEvents.onReady */
    WS_CF_STARTED = 3, /* CFEvents.onStarted */
    WS_CF_FINISHED = 4, /* CFEvents.onFinished */
    WS_CF_WAITING = 5, /* CFEvents.onWaiting */
    WS_CF_MIGRATED = 6, /* CFEvents.onMigrated */
    WS_CF_STOLEN = 7, /* CFEvents.onStolen */
    WS_CF_RECEIVED = 8, /* CFEvents.onReceived */
    WS_CF_DESTROYED = 9, /* CFEvents.onDestroyed */
    WS_CF_HELD = 10, /* CFEvents.onHeld */
    WS_CF_RESUMED = 11, /* CFEvents.onResumed */
    WS_CF_PLACED = 20, /* CFEvents.onPlaced */
    WS_DF_CREATE = 32, /* DFEvents.onCreate */
    WS_DF_REQUESTED = 33, /* DFEvents.onRequested */
    WS_DF_REQUEST_RECEIVED = 34, /* DFEvents.onRequestReceived */
    WS_DF_SENT = 35, /* DFEvents.onSent */
    WS_DF_RECEIVED = 36, /* DFEvents.onReceived */
    WS_DF_STORED = 37, /* DFEvents.onStored */
    WS_DF_DROPPED = 38, /* DFEvents.onDropped */
    WS_DF_DESTROY = 39, /* DFEvents.onDestroy */
    WS_DF_DUPLICATE = 40, /* DFEvents.onDuplicate */
    WS_DF_PLACED = 50, /* DFEvents.onPlaced */
    WS_BLOCK_STARTED = 64, /* GlobalEvents.onStarted */
    WS_BLOCK_EXITED = 65, /* GlobalEvents.onExited */
    WS_BLOCK_WAITING = 66, /* GlobalEvents.onWaiting */
    WS_BLOCK_MIGRATED = 67, /* GlobalEvents.onMigrated */
    WS_BLOCK_CONTINUED = 68, /* GlobalEvents.onContinued */
    WS_FOREIGN_STARTED = 69, /* GlobalEvents.onForeignStarted */
    WS_FOREIGN_ENDED = 70, /* GlobalEvents.onForeignEnded */
    WS_PROGRAM_STARTED = 71, /* GlobalEvents.onProgramStarted */
    WS_PROGRAM_FINISHED = 72, /* GlobalEvents.onProgramFinished */
    WS_IDLE = 73, /* GlobalEvents.onIdle */
    WS_BUSY = 74, /* GlobalEvents.onBusy */
    WS_READY_QUEUE = 75, /* GlobalEvents.onReadyQueue */
    WS_SEND_QUEUE = 76, /* GlobalEvents.onSendQueue */
    WS_RELATIONS = 77, /* GlobalEvents.onRelations */
    WS_CLOCK_SYNC = 78, /* GlobalEvents.onClockSync */
    WS_LOST = 79, /* GlobalEvents.onLost */
    WS_THREAD_TIME = 80, /* GlobalEvents.onThreadTime */
    WS_BALANCED = 81, /* GlobalEvents.onBalanced */
    WS_USAGE = 82, /* GlobalEvents.onUsage */
    WS_WAIT_STARTED = 96, /* SyncEvents.onWaitStarted */
    WS_WAIT_ENDED = 97, /* SyncEvents.onWaitEnded */
    WS_COLLECTIVE = 98, /* SyncEvents.onCollective */
    WS_ACQUIRED = 99, /* SyncEvents.onAcquired */
    WS_RELEASED = 100, /* SyncEvents.onReleased */
    WS_BLOCKED = 101, /* SyncEvents.onBlocked */
    WS_GROUP = 102, /* SyncEvents.onGroup */
    WS_ENTERED = 112, /* RegionEvents.onEntered */
    WS_EXITED = 113, /* RegionEvents.onExited */
    WS_PUT = 120, /* MessageEvents.onPut */
    WS_GET = 121, /* MessageEvents.onGet */
    WS_REMOTE_ATOMIC = 122, /* MessageEvents.onRemoteAtomic */
    WS_COMPLETED = 123, /* MessageEvents.onCompleted */
    WS_SENT = 124, /* MessageEvents.onSent */
    WS_RECEIVED = 125, /* MessageEvents.onReceived */
    WS_FIRST_USER_KIND = 256
};

/* CFEvents.onCreated: A CF exists on this node.
 *   cf: the CF
 *   site: the statement that it executes
 *   parent: the structured CF that created it, - for none
 *   execution: execution of the parent
 *   weight: the CF's weight
 *   indices: indices of its label */
static inline void ws_cf_created_at(ws_stream *s, int64_t t, ws_cf cf, ws_site site, ws_cf parent,
        uint64_t execution, double weight, const int64_t *indices, size_t n_indices) {
    uint64_t *r = ws_reserve(s, 7 + n_indices, t);
    if (!r) return;
    r[1] = cf;
    r[2] = site;
    r[3] = parent;
    r[4] = execution;
    r[5] = ws_float(weight);
    r[6] = n_indices;
    for (size_t i = 0; i < n_indices; i++) r[7 + i] = (uint64_t)indices[i];
    ws_commit(r, t, WS_CF_CREATED);
}
static inline void ws_cf_created(ws_stream *s, ws_cf cf, ws_site site, ws_cf parent, uint64_t execution,
        double weight, const int64_t *indices, size_t n_indices) {
    if (s->cap) ws_cf_created_at(s, ws_now(), cf, site, parent, execution, weight, indices, n_indices);
}

/* CFEvents.onReady: Everything the CF needs to run is on this node.
 *   cf: the CF
 *   late: how long it had been ready before this event, with all inputs here; ready time = time - late */
static inline void ws_cf_ready_at(ws_stream *s, int64_t t, ws_cf cf, int64_t late) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = cf;
    r[2] = (uint64_t)late;
    ws_commit(r, t, WS_CF_READY);
}
static inline void ws_cf_ready(ws_stream *s, ws_cf cf, int64_t late) {
    if (s->cap) ws_cf_ready_at(s, ws_now(), cf, late);
}

/* CFEvents.onStarted: A worker starts to execute the CF.
 *   cf: the CF
 *   execution: number of the execution, from 1 (a "while" runs several times)
 *   inputs: its input DFs */
static inline void ws_cf_started_at(ws_stream *s, int64_t t, ws_cf cf, uint64_t execution,
        const ws_df *inputs, size_t n_inputs) {
    uint64_t *r = ws_reserve(s, 4 + n_inputs, t);
    if (!r) return;
    r[1] = cf;
    r[2] = execution;
    r[3] = n_inputs;
    for (size_t i = 0; i < n_inputs; i++) r[4 + i] = (uint64_t)inputs[i];
    ws_commit(r, t, WS_CF_STARTED);
}
static inline void ws_cf_started(ws_stream *s, ws_cf cf, uint64_t execution, const ws_df *inputs,
        size_t n_inputs) {
    if (s->cap) ws_cf_started_at(s, ws_now(), cf, execution, inputs, n_inputs);
}

/* CFEvents.onFinished: The execution has ended.
 *   cf: the CF
 *   execution: number of the execution, from 1 (a "while" runs several times)
 *   cpu: thread CPU time of the execution in nanoseconds, -1 if not measured */
static inline void ws_cf_finished_at(ws_stream *s, int64_t t, ws_cf cf, uint64_t execution, int64_t cpu) {
    uint64_t *r = ws_reserve(s, 4, t);
    if (!r) return;
    r[1] = cf;
    r[2] = execution;
    r[3] = (uint64_t)cpu;
    ws_commit(r, t, WS_CF_FINISHED);
}
static inline void ws_cf_finished(ws_stream *s, ws_cf cf, uint64_t execution, int64_t cpu) {
    if (s->cap) ws_cf_finished_at(s, ws_now(), cf, execution, cpu);
}

/* CFEvents.onWaiting: The CF cannot continue before these DFs arrive.
 *   cf: the CF
 *   awaited: the DFs it waits for */
static inline void ws_cf_waiting_at(ws_stream *s, int64_t t, ws_cf cf, const ws_df *awaited,
        size_t n_awaited) {
    uint64_t *r = ws_reserve(s, 3 + n_awaited, t);
    if (!r) return;
    r[1] = cf;
    r[2] = n_awaited;
    for (size_t i = 0; i < n_awaited; i++) r[3 + i] = (uint64_t)awaited[i];
    ws_commit(r, t, WS_CF_WAITING);
}
static inline void ws_cf_waiting(ws_stream *s, ws_cf cf, const ws_df *awaited, size_t n_awaited) {
    if (s->cap) ws_cf_waiting_at(s, ws_now(), cf, awaited, n_awaited);
}

/* CFEvents.onMigrated: The CF leaves for another node.
 *   cf: the CF
 *   to: the node it goes to
 *   bytes: bytes sent for it
 *   weight: the CF's weight */
static inline void ws_cf_migrated_at(ws_stream *s, int64_t t, ws_cf cf, int to, int64_t bytes,
        double weight) {
    uint64_t *r = ws_reserve(s, 5, t);
    if (!r) return;
    r[1] = cf;
    r[2] = (uint16_t)to;
    r[3] = (uint64_t)bytes;
    r[4] = ws_float(weight);
    ws_commit(r, t, WS_CF_MIGRATED);
}
static inline void ws_cf_migrated(ws_stream *s, ws_cf cf, int to, int64_t bytes, double weight) {
    if (s->cap) ws_cf_migrated_at(s, ws_now(), cf, to, bytes, weight);
}

/* CFEvents.onStolen: An idle node takes the CF away (instead of "onMigrated").
 *   cf: the CF
 *   by: the node that takes it
 *   bytes: bytes sent for it
 *   weight: the CF's weight */
static inline void ws_cf_stolen_at(ws_stream *s, int64_t t, ws_cf cf, int by, int64_t bytes, double weight) {
    uint64_t *r = ws_reserve(s, 5, t);
    if (!r) return;
    r[1] = cf;
    r[2] = (uint16_t)by;
    r[3] = (uint64_t)bytes;
    r[4] = ws_float(weight);
    ws_commit(r, t, WS_CF_STOLEN);
}
static inline void ws_cf_stolen(ws_stream *s, ws_cf cf, int by, int64_t bytes, double weight) {
    if (s->cap) ws_cf_stolen_at(s, ws_now(), cf, by, bytes, weight);
}

/* CFEvents.onReceived: The CF has arrived from another node.
 *   cf: the CF
 *   from: the node it comes from
 *   bytes: bytes sent for it
 *   weight: the CF's weight */
static inline void ws_cf_received_at(ws_stream *s, int64_t t, ws_cf cf, int from, int64_t bytes,
        double weight) {
    uint64_t *r = ws_reserve(s, 5, t);
    if (!r) return;
    r[1] = cf;
    r[2] = (uint16_t)from;
    r[3] = (uint64_t)bytes;
    r[4] = ws_float(weight);
    ws_commit(r, t, WS_CF_RECEIVED);
}
static inline void ws_cf_received(ws_stream *s, ws_cf cf, int from, int64_t bytes, double weight) {
    if (s->cap) ws_cf_received_at(s, ws_now(), cf, from, bytes, weight);
}

/* CFEvents.onDestroyed: The CF will not run again.
 *   cf: the CF */
static inline void ws_cf_destroyed_at(ws_stream *s, int64_t t, ws_cf cf) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = cf;
    ws_commit(r, t, WS_CF_DESTROYED);
}
static inline void ws_cf_destroyed(ws_stream *s, ws_cf cf) {
    if (s->cap) ws_cf_destroyed_at(s, ws_now(), cf);
}

/* CFEvents.onHeld: A debugger stops the CF.
 *   cf: the CF */
static inline void ws_cf_held_at(ws_stream *s, int64_t t, ws_cf cf) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = cf;
    ws_commit(r, t, WS_CF_HELD);
}
static inline void ws_cf_held(ws_stream *s, ws_cf cf) {
    if (s->cap) ws_cf_held_at(s, ws_now(), cf);
}

/* CFEvents.onResumed: The CF continues after "onHeld".
 *   cf: the CF */
static inline void ws_cf_resumed_at(ws_stream *s, int64_t t, ws_cf cf) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = cf;
    ws_commit(r, t, WS_CF_RESUMED);
}
static inline void ws_cf_resumed(ws_stream *s, ws_cf cf) {
    if (s->cap) ws_cf_resumed_at(s, ws_now(), cf);
}

/* CFEvents.onPlaced: The CF is about to be executed at another node than its locator names: there is no node
 * of that number, or the CF was stolen.
 *   cf: the CF
 *   place: the value of its locator, before it is taken modulo the number of nodes */
static inline void ws_cf_placed_at(ws_stream *s, int64_t t, ws_cf cf, int64_t place) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = cf;
    r[2] = (uint64_t)place;
    ws_commit(r, t, WS_CF_PLACED);
}
static inline void ws_cf_placed(ws_stream *s, ws_cf cf, int64_t place) {
    if (s->cap) ws_cf_placed_at(s, ws_now(), cf, place);
}

/* DFEvents.onCreate: The DF gets its value.
 *   df: the DF
 *   size: size of its value
 *   cf: the CF that produced it */
static inline void ws_df_create_at(ws_stream *s, int64_t t, ws_df df, int64_t size, ws_cf cf) {
    uint64_t *r = ws_reserve(s, 4, t);
    if (!r) return;
    r[1] = df;
    r[2] = (uint64_t)size;
    r[3] = cf;
    ws_commit(r, t, WS_DF_CREATE);
}
static inline void ws_df_create(ws_stream *s, ws_df df, int64_t size, ws_cf cf) {
    if (s->cap) ws_df_create_at(s, ws_now(), df, size, cf);
}

/* DFEvents.onRequested: This node asks another one for the DF.
 *   df: the DF
 *   cf: the CF that needs it
 *   node: the node asked
 *   request: the request */
static inline void ws_df_requested_at(ws_stream *s, int64_t t, ws_df df, ws_cf cf, int node,
        ws_message request) {
    uint64_t *r = ws_reserve(s, 5, t);
    if (!r) return;
    r[1] = df;
    r[2] = cf;
    r[3] = (uint16_t)node;
    r[4] = request;
    ws_commit(r, t, WS_DF_REQUESTED);
}
static inline void ws_df_requested(ws_stream *s, ws_df df, ws_cf cf, int node, ws_message request) {
    if (s->cap) ws_df_requested_at(s, ws_now(), df, cf, node, request);
}

/* DFEvents.onRequestReceived: A request for the DF has arrived.
 *   df: the DF
 *   from: the asking node
 *   request: the request */
static inline void ws_df_request_received_at(ws_stream *s, int64_t t, ws_df df, int from,
        ws_message request) {
    uint64_t *r = ws_reserve(s, 4, t);
    if (!r) return;
    r[1] = df;
    r[2] = (uint16_t)from;
    r[3] = request;
    ws_commit(r, t, WS_DF_REQUEST_RECEIVED);
}
static inline void ws_df_request_received(ws_stream *s, ws_df df, int from, ws_message request) {
    if (s->cap) ws_df_request_received_at(s, ws_now(), df, from, request);
}

/* DFEvents.onSent: The DF leaves for another node.
 *   df: the DF
 *   to: the receiver
 *   bytes: bytes sent for it
 *   message: the message
 *   request: the request answered, - for a push
 *   cf: the CF that pushes it, - otherwise */
static inline void ws_df_sent_at(ws_stream *s, int64_t t, ws_df df, int to, int64_t bytes,
        ws_message message, ws_message request, ws_cf cf) {
    uint64_t *r = ws_reserve(s, 7, t);
    if (!r) return;
    r[1] = df;
    r[2] = (uint16_t)to;
    r[3] = (uint64_t)bytes;
    r[4] = message;
    r[5] = request;
    r[6] = cf;
    ws_commit(r, t, WS_DF_SENT);
}
static inline void ws_df_sent(ws_stream *s, ws_df df, int to, int64_t bytes, ws_message message,
        ws_message request, ws_cf cf) {
    if (s->cap) ws_df_sent_at(s, ws_now(), df, to, bytes, message, request, cf);
}

/* DFEvents.onReceived: The DF has arrived from another node.
 *   df: the DF
 *   from: the sender
 *   bytes: bytes sent for it
 *   message: the message
 *   request: the request answered, - for a push
 *   cf: for a push the CF that pushed it, for an answer the CF that requested it, - otherwise */
static inline void ws_df_received_at(ws_stream *s, int64_t t, ws_df df, int from, int64_t bytes,
        ws_message message, ws_message request, ws_cf cf) {
    uint64_t *r = ws_reserve(s, 7, t);
    if (!r) return;
    r[1] = df;
    r[2] = (uint16_t)from;
    r[3] = (uint64_t)bytes;
    r[4] = message;
    r[5] = request;
    r[6] = cf;
    ws_commit(r, t, WS_DF_RECEIVED);
}
static inline void ws_df_received(ws_stream *s, ws_df df, int from, int64_t bytes, ws_message message,
        ws_message request, ws_cf cf) {
    if (s->cap) ws_df_received_at(s, ws_now(), df, from, bytes, message, request, cf);
}

/* DFEvents.onStored: From now on this node holds a copy.
 *   df: the DF
 *   size: size of its value */
static inline void ws_df_stored_at(ws_stream *s, int64_t t, ws_df df, int64_t size) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = df;
    r[2] = (uint64_t)size;
    ws_commit(r, t, WS_DF_STORED);
}
static inline void ws_df_stored(ws_stream *s, ws_df df, int64_t size) {
    if (s->cap) ws_df_stored_at(s, ws_now(), df, size);
}

/* DFEvents.onDropped: This node releases its copy.
 *   df: the DF
 *   size: size of its value */
static inline void ws_df_dropped_at(ws_stream *s, int64_t t, ws_df df, int64_t size) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = df;
    r[2] = (uint64_t)size;
    ws_commit(r, t, WS_DF_DROPPED);
}
static inline void ws_df_dropped(ws_stream *s, ws_df df, int64_t size) {
    if (s->cap) ws_df_dropped_at(s, ws_now(), df, size);
}

/* DFEvents.onDestroy: The DF is destroyed.
 *   df: the DF
 *   size: size of its value
 *   reason: "expired": read as often as announced; "deleted" by the program; "end": held to the end of the
 *     run */
static inline void ws_df_destroy_at(ws_stream *s, int64_t t, ws_df df, int64_t size, int reason) {
    uint64_t *r = ws_reserve(s, 4, t);
    if (!r) return;
    r[1] = df;
    r[2] = (uint64_t)size;
    r[3] = (uint8_t)reason;
    ws_commit(r, t, WS_DF_DESTROY);
}
static inline void ws_df_destroy(ws_stream *s, ws_df df, int64_t size, int reason) {
    if (s->cap) ws_df_destroy_at(s, ws_now(), df, size, reason);
}

/* DFEvents.onDuplicate: A DF was assigned twice.
 *   df: the DF
 *   first: the CF that produced it
 *   second: the CF that produced it again */
static inline void ws_df_duplicate_at(ws_stream *s, int64_t t, ws_df df, ws_cf first, ws_cf second) {
    uint64_t *r = ws_reserve(s, 4, t);
    if (!r) return;
    r[1] = df;
    r[2] = first;
    r[3] = second;
    ws_commit(r, t, WS_DF_DUPLICATE);
}
static inline void ws_df_duplicate(ws_stream *s, ws_df df, ws_cf first, ws_cf second) {
    if (s->cap) ws_df_duplicate_at(s, ws_now(), df, first, second);
}

/* DFEvents.onPlaced: The DF is about to be kept at another node than its locator names: there is no node of
 * that number.
 *   df: the DF
 *   place: the value of its locator, before it is taken modulo the number of nodes */
static inline void ws_df_placed_at(ws_stream *s, int64_t t, ws_df df, int64_t place) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = df;
    r[2] = (uint64_t)place;
    ws_commit(r, t, WS_DF_PLACED);
}
static inline void ws_df_placed(ws_stream *s, ws_df df, int64_t place) {
    if (s->cap) ws_df_placed_at(s, ws_now(), df, place);
}

/* GlobalEvents.onStarted: A block of a function starts.
 *   function: the function
 *   block: number of the block in the function */
static inline void ws_block_started_at(ws_stream *s, int64_t t, ws_site function, uint64_t block) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = function;
    r[2] = block;
    ws_commit(r, t, WS_BLOCK_STARTED);
}
static inline void ws_block_started(ws_stream *s, ws_site function, uint64_t block) {
    if (s->cap) ws_block_started_at(s, ws_now(), function, block);
}

/* GlobalEvents.onExited: The function ends in this block.
 *   function: the function
 *   block: number of the block in the function */
static inline void ws_block_exited_at(ws_stream *s, int64_t t, ws_site function, uint64_t block) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = function;
    r[2] = block;
    ws_commit(r, t, WS_BLOCK_EXITED);
}
static inline void ws_block_exited(ws_stream *s, ws_site function, uint64_t block) {
    if (s->cap) ws_block_exited_at(s, ws_now(), function, block);
}

/* GlobalEvents.onWaiting: The block ends because a DF has not arrived yet.
 *   function: the function
 *   block: number of the block in the function */
static inline void ws_block_waiting_at(ws_stream *s, int64_t t, ws_site function, uint64_t block) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = function;
    r[2] = block;
    ws_commit(r, t, WS_BLOCK_WAITING);
}
static inline void ws_block_waiting(ws_stream *s, ws_site function, uint64_t block) {
    if (s->cap) ws_block_waiting_at(s, ws_now(), function, block);
}

/* GlobalEvents.onMigrated: The function continues on another node.
 *   function: the function
 *   block: number of the block in the function */
static inline void ws_block_migrated_at(ws_stream *s, int64_t t, ws_site function, uint64_t block) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = function;
    r[2] = block;
    ws_commit(r, t, WS_BLOCK_MIGRATED);
}
static inline void ws_block_migrated(ws_stream *s, ws_site function, uint64_t block) {
    if (s->cap) ws_block_migrated_at(s, ws_now(), function, block);
}

/* GlobalEvents.onContinued: The function continues with this block.
 *   function: the function
 *   block: number of the block in the function */
static inline void ws_block_continued_at(ws_stream *s, int64_t t, ws_site function, uint64_t block) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = function;
    r[2] = block;
    ws_commit(r, t, WS_BLOCK_CONTINUED);
}
static inline void ws_block_continued(ws_stream *s, ws_site function, uint64_t block) {
    if (s->cap) ws_block_continued_at(s, ws_now(), function, block);
}

/* GlobalEvents.onForeignStarted: User code is called.
 *   function: the function */
static inline void ws_foreign_started_at(ws_stream *s, int64_t t, ws_site function) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = function;
    ws_commit(r, t, WS_FOREIGN_STARTED);
}
static inline void ws_foreign_started(ws_stream *s, ws_site function) {
    if (s->cap) ws_foreign_started_at(s, ws_now(), function);
}

/* GlobalEvents.onForeignEnded: User code has returned.
 *   function: the function */
static inline void ws_foreign_ended_at(ws_stream *s, int64_t t, ws_site function) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = function;
    ws_commit(r, t, WS_FOREIGN_ENDED);
}
static inline void ws_foreign_ended(ws_stream *s, ws_site function) {
    if (s->cap) ws_foreign_ended_at(s, ws_now(), function);
}

/* GlobalEvents.onProgramStarted: The program is loaded and starts; first event of every worker.
 *   process: index of the OS process in run.json
 *   cpu: CPU time of the process so far */
static inline void ws_program_started_at(ws_stream *s, int64_t t, uint64_t process, int64_t cpu) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = process;
    r[2] = (uint64_t)cpu;
    ws_commit(r, t, WS_PROGRAM_STARTED);
}
static inline void ws_program_started(ws_stream *s, uint64_t process, int64_t cpu) {
    if (s->cap) ws_program_started_at(s, ws_now(), process, cpu);
}

/* GlobalEvents.onProgramFinished: The program has ended; last event of every worker.
 *   cpu: CPU time of the process so far */
static inline void ws_program_finished_at(ws_stream *s, int64_t t, int64_t cpu) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = (uint64_t)cpu;
    ws_commit(r, t, WS_PROGRAM_FINISHED);
}
static inline void ws_program_finished(ws_stream *s, int64_t cpu) {
    if (s->cap) ws_program_finished_at(s, ws_now(), cpu);
}

/* GlobalEvents.onIdle: The worker has nothing to do and parks. */
static inline void ws_idle_at(ws_stream *s, int64_t t) {
    uint64_t *r = ws_reserve(s, 1, t);
    if (!r) return;
    ws_commit(r, t, WS_IDLE);
}
static inline void ws_idle(ws_stream *s) {
    if (s->cap) ws_idle_at(s, ws_now());
}

/* GlobalEvents.onBusy: The parked worker continues. */
static inline void ws_busy_at(ws_stream *s, int64_t t) {
    uint64_t *r = ws_reserve(s, 1, t);
    if (!r) return;
    ws_commit(r, t, WS_BUSY);
}
static inline void ws_busy(ws_stream *s) {
    if (s->cap) ws_busy_at(s, ws_now());
}

/* GlobalEvents.onReadyQueue: How many CFs are ready here and have not started.
 *   length: how many */
static inline void ws_ready_queue_at(ws_stream *s, int64_t t, uint64_t length) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = length;
    ws_commit(r, t, WS_READY_QUEUE);
}
static inline void ws_ready_queue(ws_stream *s, uint64_t length) {
    if (s->cap) ws_ready_queue_at(s, ws_now(), length);
}

/* GlobalEvents.onSendQueue: Length of the queue of messages to a peer.
 *   peer: the receiver
 *   length: entries in the queue */
static inline void ws_send_queue_at(ws_stream *s, int64_t t, int peer, uint64_t length) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = (uint16_t)peer;
    r[2] = length;
    ws_commit(r, t, WS_SEND_QUEUE);
}
static inline void ws_send_queue(ws_stream *s, int peer, uint64_t length) {
    if (s->cap) ws_send_queue_at(s, ws_now(), peer, length);
}

/* GlobalEvents.onRelations: The number of edges between CFs and DFs has changed.
 *   inner: change in edges with both ends on this node
 *   outer: change in edges with one end on this node */
static inline void ws_relations_at(ws_stream *s, int64_t t, int64_t inner, int64_t outer) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = (uint64_t)inner;
    r[2] = (uint64_t)outer;
    ws_commit(r, t, WS_RELATIONS);
}
static inline void ws_relations(ws_stream *s, int64_t inner, int64_t outer) {
    if (s->cap) ws_relations_at(s, ws_now(), inner, outer);
}

/* GlobalEvents.onClockSync: The clock was compared with node 0's.
 *   offset: nanoseconds to add to this node's times to get the common clock
 *   error: largest error of the offset */
static inline void ws_clock_sync_at(ws_stream *s, int64_t t, int64_t offset, int64_t error) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = (uint64_t)offset;
    r[2] = (uint64_t)error;
    ws_commit(r, t, WS_CLOCK_SYNC);
}
static inline void ws_clock_sync(ws_stream *s, int64_t offset, int64_t error) {
    if (s->cap) ws_clock_sync_at(s, ws_now(), offset, error);
}

/* GlobalEvents.onLost: Events were dropped because the writer could not keep up.
 *   count: events lost
 *   first: time of the first
 *   last: time of the last
 *   stream: stream they belonged to */
static inline void ws_lost_at(ws_stream *s, int64_t t, uint64_t count, int64_t first, int64_t last,
        uint64_t stream) {
    uint64_t *r = ws_reserve(s, 5, t);
    if (!r) return;
    r[1] = count;
    r[2] = (uint64_t)first;
    r[3] = (uint64_t)last;
    r[4] = stream;
    ws_commit(r, t, WS_LOST);
}
static inline void ws_lost(ws_stream *s, uint64_t count, int64_t first, int64_t last, uint64_t stream) {
    if (s->cap) ws_lost_at(s, ws_now(), count, first, last, stream);
}

/* GlobalEvents.onThreadTime: How the worker's thread spent a span of time. For the rest of it, the thread was
 * blocked. Spans do not overlap.
 *   ago: how long ago the span ended; it lasted for "span"
 *   span: length of the span
 *   cpu: CPU time of the thread in it
 *   queued: time in which the thread waited for a core, in nanoseconds; -1 if the kernel does not tell
 *   faulted: time in which it waited for major page faults */
static inline void ws_thread_time_at(ws_stream *s, int64_t t, int64_t ago, int64_t span, int64_t cpu,
        int64_t queued, int64_t faulted) {
    uint64_t *r = ws_reserve(s, 6, t);
    if (!r) return;
    r[1] = (uint64_t)ago;
    r[2] = (uint64_t)span;
    r[3] = (uint64_t)cpu;
    r[4] = (uint64_t)queued;
    r[5] = (uint64_t)faulted;
    ws_commit(r, t, WS_THREAD_TIME);
}
static inline void ws_thread_time(ws_stream *s, int64_t ago, int64_t span, int64_t cpu, int64_t queued,
        int64_t faulted) {
    if (s->cap) ws_thread_time_at(s, ws_now(), ago, span, cpu, queued, faulted);
}

/* GlobalEvents.onBalanced: A balancer has CFs moved to another node.
 *   site: the statement that the CFs execute
 *   to: the node they go to
 *   count: how many CFs
 *   ahead: work ahead of this node when it was decided
 *   there: work ahead of the other node */
static inline void ws_balanced_at(ws_stream *s, int64_t t, ws_site site, int to, uint64_t count,
        int64_t ahead, int64_t there) {
    uint64_t *r = ws_reserve(s, 6, t);
    if (!r) return;
    r[1] = site;
    r[2] = (uint16_t)to;
    r[3] = count;
    r[4] = (uint64_t)ahead;
    r[5] = (uint64_t)there;
    ws_commit(r, t, WS_BALANCED);
}
static inline void ws_balanced(ws_stream *s, ws_site site, int to, uint64_t count, int64_t ahead,
        int64_t there) {
    if (s->cap) ws_balanced_at(s, ws_now(), site, to, count, ahead, there);
}

/* GlobalEvents.onUsage: What the node's process uses; emitted by "system_module".
 *   load: CPU time since the last such event, in percent of a core
 *   resident: memory of the process that is in use
 *   arenas: memory that the run-time system keeps for itself and for DFs
 *   threads: threads of the process */
static inline void ws_usage_at(ws_stream *s, int64_t t, uint64_t load, int64_t resident, int64_t arenas,
        uint64_t threads) {
    uint64_t *r = ws_reserve(s, 5, t);
    if (!r) return;
    r[1] = load;
    r[2] = (uint64_t)resident;
    r[3] = (uint64_t)arenas;
    r[4] = threads;
    ws_commit(r, t, WS_USAGE);
}
static inline void ws_usage(ws_stream *s, uint64_t load, int64_t resident, int64_t arenas, uint64_t threads) {
    if (s->cap) ws_usage_at(s, ws_now(), load, resident, arenas, threads);
}

/* SyncEvents.onWaitStarted: The worker waits for a lock, exclusive resource or collective.
 *   name: name of the lock, resource or collective */
static inline void ws_wait_started_at(ws_stream *s, int64_t t, ws_name name) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = name;
    ws_commit(r, t, WS_WAIT_STARTED);
}
static inline void ws_wait_started(ws_stream *s, ws_name name) {
    if (s->cap) ws_wait_started_at(s, ws_now(), name);
}

/* SyncEvents.onWaitEnded: The wait is over.
 *   name: name of the lock, resource or collective */
static inline void ws_wait_ended_at(ws_stream *s, int64_t t, ws_name name) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = name;
    ws_commit(r, t, WS_WAIT_ENDED);
}
static inline void ws_wait_ended(ws_stream *s, ws_name name) {
    if (s->cap) ws_wait_ended_at(s, ws_now(), name);
}

/* SyncEvents.onCollective: The region just entered is a collective operation of these nodes.
 *   kind: what it does: "barrier", "notify", "wait", "broadcast", "scatter", "gather", "reduce",
 *     "gather-all", "exchange", "permute", "all-reduce", "collect", "prefix-reduce", "alloc", "free",
 *     "start", "finish"
 *   sync: which data may be used before all have entered and after one has left, as "IN/OUT" of "all", "my"
 *     and "no"; empty if the interface has no such modes
 *   start: the first member
 *   stride: distance between members
 *   size: number of members
 *   root: the node that data comes from ("broadcast", "scatter", "permute": for this member) or goes to
 *     ("gather", "reduce"), or that has the first element ("prefix-reduce"); -1 if there is none or it is
 *     unknown
 *   sent: bytes this member sends to others
 *   received: bytes it receives from others */
static inline void ws_collective_at(ws_stream *s, int64_t t, ws_name kind, ws_name sync, int start,
        uint64_t stride, uint64_t size, int64_t root, int64_t sent, int64_t received) {
    uint64_t *r = ws_reserve(s, 9, t);
    if (!r) return;
    r[1] = kind;
    r[2] = sync;
    r[3] = (uint16_t)start;
    r[4] = stride;
    r[5] = size;
    r[6] = (uint64_t)root;
    r[7] = (uint64_t)sent;
    r[8] = (uint64_t)received;
    ws_commit(r, t, WS_COLLECTIVE);
}
static inline void ws_collective(ws_stream *s, ws_name kind, ws_name sync, int start, uint64_t stride,
        uint64_t size, int64_t root, int64_t sent, int64_t received) {
    if (s->cap) ws_collective_at(s, ws_now(), kind, sync, start, stride, size, root, sent, received);
}

/* SyncEvents.onAcquired: The worker has acquired the lock; recorded before it leaves the region that
 * requested it.
 *   lock: the lock, the same number on all nodes */
static inline void ws_acquired_at(ws_stream *s, int64_t t, uint64_t lock) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = lock;
    ws_commit(r, t, WS_ACQUIRED);
}
static inline void ws_acquired(ws_stream *s, uint64_t lock) {
    if (s->cap) ws_acquired_at(s, ws_now(), lock);
}

/* SyncEvents.onReleased: The worker releases the lock; recorded when it enters the region that does so.
 *   lock: the lock, the same number on all nodes */
static inline void ws_released_at(ws_stream *s, int64_t t, uint64_t lock) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = lock;
    ws_commit(r, t, WS_RELEASED);
}
static inline void ws_released(ws_stream *s, uint64_t lock) {
    if (s->cap) ws_released_at(s, ws_now(), lock);
}

/* SyncEvents.onBlocked: User code of the CF was blocked in a call up to this time.
 *   cf: the CF
 *   span: how long it was blocked
 *   reason: "lock" (also condition variables, semaphores, threads), "io" or "sleep"
 *   what: address of the lock, as "FILE+0xOFFSET"; name of the file; empty if unknown
 *   site: address of the call, as "FILE+0xOFFSET"; empty if unknown
 *   holder: the CF that held the lock, - if unknown */
static inline void ws_blocked_at(ws_stream *s, int64_t t, ws_cf cf, int64_t span, ws_name reason,
        ws_name what, ws_name site, ws_cf holder) {
    uint64_t *r = ws_reserve(s, 7, t);
    if (!r) return;
    r[1] = cf;
    r[2] = (uint64_t)span;
    r[3] = reason;
    r[4] = what;
    r[5] = site;
    r[6] = holder;
    ws_commit(r, t, WS_BLOCKED);
}
static inline void ws_blocked(ws_stream *s, ws_cf cf, int64_t span, ws_name reason, ws_name what,
        ws_name site, ws_cf holder) {
    if (s->cap) ws_blocked_at(s, ws_now(), cf, span, reason, what, site, holder);
}

/* SyncEvents.onGroup: The members of the collective just described are those of a group that start, stride
 * and size cannot describe.
 *   group: its number on this node
 *   members: the nodes, by their place in the group; none if this stream has given them before */
static inline void ws_group_at(ws_stream *s, int64_t t, uint64_t group, const int64_t *members,
        size_t n_members) {
    uint64_t *r = ws_reserve(s, 3 + n_members, t);
    if (!r) return;
    r[1] = group;
    r[2] = n_members;
    for (size_t i = 0; i < n_members; i++) r[3 + i] = (uint64_t)members[i];
    ws_commit(r, t, WS_GROUP);
}
static inline void ws_group(ws_stream *s, uint64_t group, const int64_t *members, size_t n_members) {
    if (s->cap) ws_group_at(s, ws_now(), group, members, n_members);
}

/* RegionEvents.onEntered: The worker enters a region: a function of the program or an operation of its
 * run-time system.
 *   region: the region, and where it is called */
static inline void ws_entered_at(ws_stream *s, int64_t t, ws_site region) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = region;
    ws_commit(r, t, WS_ENTERED);
}
static inline void ws_entered(ws_stream *s, ws_site region) {
    if (s->cap) ws_entered_at(s, ws_now(), region);
}

/* RegionEvents.onExited: The worker leaves it.
 *   region: the region, and where it is called */
static inline void ws_exited_at(ws_stream *s, int64_t t, ws_site region) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = region;
    ws_commit(r, t, WS_EXITED);
}
static inline void ws_exited(ws_stream *s, ws_site region) {
    if (s->cap) ws_exited_at(s, ws_now(), region);
}

/* MessageEvents.onPut: The region just entered writes to another node's memory, or its own through the same
 * interface.
 *   to: the node whose memory is written
 *   bytes: bytes written
 *   transfer: 0: it ends with its region; otherwise it lasts until "onCompleted" with the same number */
static inline void ws_put_at(ws_stream *s, int64_t t, int to, int64_t bytes, uint64_t transfer) {
    uint64_t *r = ws_reserve(s, 4, t);
    if (!r) return;
    r[1] = (uint16_t)to;
    r[2] = (uint64_t)bytes;
    r[3] = transfer;
    ws_commit(r, t, WS_PUT);
}
static inline void ws_put(ws_stream *s, int to, int64_t bytes, uint64_t transfer) {
    if (s->cap) ws_put_at(s, ws_now(), to, bytes, transfer);
}

/* MessageEvents.onGet: The region just entered reads another node's memory, or its own through the same
 * interface.
 *   from: the node whose memory is read
 *   bytes: bytes read
 *   transfer: 0: it ends with its region; otherwise it lasts until "onCompleted" with the same number */
static inline void ws_get_at(ws_stream *s, int64_t t, int from, int64_t bytes, uint64_t transfer) {
    uint64_t *r = ws_reserve(s, 4, t);
    if (!r) return;
    r[1] = (uint16_t)from;
    r[2] = (uint64_t)bytes;
    r[3] = transfer;
    ws_commit(r, t, WS_GET);
}
static inline void ws_get(ws_stream *s, int from, int64_t bytes, uint64_t transfer) {
    if (s->cap) ws_get_at(s, ws_now(), from, bytes, transfer);
}

/* MessageEvents.onRemoteAtomic: The region just entered atomically changes a value in another node's memory,
 * or its own.
 *   on: the node whose memory is changed
 *   bytes: size of the value */
static inline void ws_remote_atomic_at(ws_stream *s, int64_t t, int on, int64_t bytes) {
    uint64_t *r = ws_reserve(s, 3, t);
    if (!r) return;
    r[1] = (uint16_t)on;
    r[2] = (uint64_t)bytes;
    ws_commit(r, t, WS_REMOTE_ATOMIC);
}
static inline void ws_remote_atomic(ws_stream *s, int on, int64_t bytes) {
    if (s->cap) ws_remote_atomic_at(s, ws_now(), on, bytes);
}

/* MessageEvents.onCompleted: The transfer has ended; recorded before the worker leaves the region that waited
 * for it.
 *   transfer: the transfer; 0: all that this worker has started */
static inline void ws_completed_at(ws_stream *s, int64_t t, uint64_t transfer) {
    uint64_t *r = ws_reserve(s, 2, t);
    if (!r) return;
    r[1] = transfer;
    ws_commit(r, t, WS_COMPLETED);
}
static inline void ws_completed(ws_stream *s, uint64_t transfer) {
    if (s->cap) ws_completed_at(s, ws_now(), transfer);
}

/* MessageEvents.onSent: The region just entered sends a message.
 *   to: the receiver
 *   bytes: its size
 *   tag: its tag
 *   comm: the communicator, the same number on both nodes: messages of one sender, receiver, tag and
 *     communicator do not overtake each other
 *   transfer: 0: it ends with its region; otherwise it lasts until "onCompleted" with the same number */
static inline void ws_sent_at(ws_stream *s, int64_t t, int to, int64_t bytes, int64_t tag, uint64_t comm,
        uint64_t transfer) {
    uint64_t *r = ws_reserve(s, 6, t);
    if (!r) return;
    r[1] = (uint16_t)to;
    r[2] = (uint64_t)bytes;
    r[3] = (uint64_t)tag;
    r[4] = comm;
    r[5] = transfer;
    ws_commit(r, t, WS_SENT);
}
static inline void ws_sent(ws_stream *s, int to, int64_t bytes, int64_t tag, uint64_t comm,
        uint64_t transfer) {
    if (s->cap) ws_sent_at(s, ws_now(), to, bytes, tag, comm, transfer);
}

/* MessageEvents.onReceived: A message has arrived; recorded before the worker leaves the region that waited
 * for it.
 *   from: the sender
 *   bytes: its size
 *   tag: its tag
 *   comm: the communicator, the same number on both nodes: messages of one sender, receiver, tag and
 *     communicator do not overtake each other
 *   receive: number of the receive on this node, in the order in which receives were posted
 *   posted: how long ago the receive was posted */
static inline void ws_received_at(ws_stream *s, int64_t t, int from, int64_t bytes, int64_t tag,
        uint64_t comm, uint64_t receive, int64_t posted) {
    uint64_t *r = ws_reserve(s, 7, t);
    if (!r) return;
    r[1] = (uint16_t)from;
    r[2] = (uint64_t)bytes;
    r[3] = (uint64_t)tag;
    r[4] = comm;
    r[5] = receive;
    r[6] = (uint64_t)posted;
    ws_commit(r, t, WS_RECEIVED);
}
static inline void ws_received(ws_stream *s, int from, int64_t bytes, int64_t tag, uint64_t comm,
        uint64_t receive, int64_t posted) {
    if (s->cap) ws_received_at(s, ws_now(), from, bytes, tag, comm, receive, posted);
}

#ifdef __cplusplus
}
#endif
#endif /* WHYSLOW_H */

#if defined(WHYSLOW_IMPLEMENTATION) && !defined(WHYSLOW_IMPLEMENTED)
#define WHYSLOW_IMPLEMENTED

/* ==== Implementation ==============================================================================
 *
 * Locks, outermost first:
 *     wsi_all_mu      the list of contexts
 *     stream->mu      changes of the stream's buffer; wsi_finish; taken before ctx->mu
 *     ctx->mu         streams, pool, queue
 *     ctx->defs_mu    definitions
 *     ctx->emu        the first error
 * ctx->io is held by whoever packs and writes. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifndef WHYSLOW_NO_DLOPEN
#include <dlfcn.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#ifndef CLOCK_MONOTONIC
#error "whyslow.h: with WHYSLOW_IMPLEMENTATION include it first, or use -D_POSIX_C_SOURCE=200809L"
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WSI_KINDS = 1024,         /* kinds that fit into word 0 */
    WSI_MAX_FIELDS = 16,
    WSI_MAX_RECORD = 1 << 19, /* words */
    WSI_BLOCK_WORDS = 1 << 19,
    WSI_BLOCK_KINDS = 256,
    WSI_LIST_COLUMNS = 4,
    WSI_DF_COLUMNS = 6,
    WSI_MAX_RAW = 16 << 20,
    WSI_MAX_ROWS = 1 << 20,     /* bytes of definitions in a block */
    WSI_MAX_DF_WORDS = 1 << 18, /* words of DFs in a block */
    WSI_MAX_IDENTITY = 1 << 10,
    WSI_MAX_STRING = 1 << 16,
    WSI_LOST_WORDS = 5,
    WSI_END_WORDS = 2
};

/* What packing needs to know about a kind. types holds those of the fixed fields, then that of the list. */
typedef struct wsi_layout {
    uint16_t kind;
    uint8_t flags, fixed, list;
    const char *space, *name, *alias;
    uint8_t types[WSI_MAX_FIELDS];
} wsi_layout;

/* Growing arrays. A failed allocation sets bad, and whatever is appended later is left out. */
typedef struct wsi_bytes {
    uint8_t *p;
    size_t n, cap;
    int bad;
} wsi_bytes;

typedef struct wsi_words {
    uint64_t *p;
    size_t n, cap;
    int bad;
} wsi_words;

/* A buffer; its words follow it. */
typedef struct wsi_buffer {
    struct wsi_buffer *link;
    struct wsi_stream *stream;
    size_t n, cap;  /* words used, words */
    size_t written; /* words already in the file; under the stream's mu, or the writer's while queued */
} wsi_buffer;

#define WSI_WORDS(b) ((uint64_t *)((b) + 1))

/* Events that are not in the file. */
typedef struct wsi_lost {
    uint64_t count;
    int64_t first, last;
} wsi_lost;

typedef struct wsi_stream {
    ws_stream pub; /* first, so that a ws_stream is one of these */
    ws_context *ctx;
    int id;
    wsi_buffer *buffer; /* the one in pub */
    pthread_mutex_t mu;
    wsi_lost lost;    /* because there was no buffer; under mu */
    wsi_lost unsaved; /* because writing failed; under ctx->io */
    uint32_t seq;     /* blocks in the file */
    char apart[64];   /* keeps streams of different threads on separate cache lines */
} wsi_stream;

/* Definitions not yet written. */
typedef struct wsi_pending {
    wsi_bytes rows;
    size_t nrows;
    wsi_words dfs; /* number, name, length, identity of each */
    size_t ndfs;
} wsi_pending;

typedef struct wsi_entry { /* in the table of strings */
    char *text;
    uint32_t len, name;
} wsi_entry;

typedef struct wsi_user_kind {
    wsi_layout layout;
    char *space, *name;
} wsi_user_kind;

/* Scratch memory of packing, kept from block to block. */
typedef struct wsi_packer {
    uint16_t index[WSI_KINDS]; /* kind -> 1 + place in used */
    const wsi_layout *used[WSI_BLOCK_KINDS];
    uint32_t count[WSI_BLOCK_KINDS], start[WSI_BLOCK_KINDS];
    size_t nused;
    uint32_t *at;    /* where records begin, in order */
    uint32_t *order; /* the same by kind */
    uint8_t *kinds;  /* per record: place in used */
    uint64_t *vals, *nodes;
    size_t cap;
} wsi_packer;

typedef struct wsi_header {
    uint8_t kind, codec;
    uint16_t flags;
    uint32_t stream, count;
    int64_t base, first, last;
    uint32_t seq, defs, packed, raw;
} wsi_header;

struct ws_context {
    /* Settings, fixed from ws_open on. */
    int node, nodes, workers, per_process, pool, level, sync, drop, manual, run_info, quiet, signals;
    int growing;   /* workers grows, under mu, until refuse is set */
    int64_t flush; /* ns; 0: never */
    int64_t since, since_cpu; /* when the workers' time begins, and the CPU time of the process then */
    int told_since;           /* the options gave since */
    size_t words;             /* of a buffer */
    char *dir, *path, *program, **hosts;
    char **affinities; /* by process, as far as known; this one's own is not needed */
    char *place;  /* the absolute path; null: unknown */
    char *home;   /* where the file is moved to when it is complete; null: it is there */
    pid_t sender; /* sends the trace to a collector */
    int sends;    /* it is there, and */
    int alive;    /* reads the other end of this pipe, which ends when the trace does */
    char run[33]; /* id of the run; "": unknown */
    struct timespec started;

    int off;         /* atomic: nothing is recorded, or no longer */
    uint64_t lost;   /* atomic */
    int64_t waited;  /* atomic; ns */
    uint64_t ids;    /* atomic: the last counter of ws_new_id */
    int failed;      /* atomic: error is set */
    char error[512]; /* written once */
    pthread_mutex_t emu;

    pthread_mutex_t mu;
    pthread_cond_t cond; /* a buffer was queued or became free, or closing */
    wsi_stream **streams;
    size_t nstreams;
    wsi_buffer *free_list, *queue, **queue_end;
    size_t made; /* buffers that exist in the pool */
    int closing, refuse;
    pthread_t writer;
    int has_writer;

    pthread_mutex_t defs_mu;
    wsi_entry *names; /* open addressing */
    size_t names_cap, names_n;
    uint32_t next_code, next_site, next_df;
    wsi_user_kind *kinds[WSI_KINDS];
    const wsi_layout *layouts[WSI_KINDS]; /* atomic */
    wsi_pending defs;
    wsi_bytes settings; /* as JSON */

    pthread_mutex_t io;
    int fd;
    uint64_t at; /* length of the file up to the last whole block */
    uint32_t defs_blocks;
    int torn; /* the file could not be truncated to at, so nothing can follow */
    wsi_bytes raw, block, index;
    wsi_bytes unsaved_defs; /* payload of a definition block that could not be written */
    uint32_t unsaved_count, entries;
    wsi_packer pack;
    void *zstd;

    ws_context *link; /* in wsi_all */
};

static void wsi_fail(ws_context *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* wsi_fail stores the first error and prints it on standard error. */
static void wsi_fail(ws_context *ctx, const char *format, ...) {
    pthread_mutex_lock(&ctx->emu);
    if (!ctx->failed) {
        va_list args;
        va_start(args, format);
        vsnprintf(ctx->error, sizeof ctx->error, format, args);
        va_end(args);
        if (!ctx->quiet) fprintf(stderr, "whyslow: %s\n", ctx->error);
        __atomic_store_n(&ctx->failed, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&ctx->emu);
}

static int wsi_off(const ws_context *ctx) { return __atomic_load_n(&ctx->off, __ATOMIC_ACQUIRE); }

static void wsi_count_lost(ws_context *ctx, wsi_lost *l, uint64_t count, int64_t first, int64_t last) {
    if (!l->count || first < l->first) l->first = first;
    if (!l->count || last > l->last) l->last = last;
    l->count += count;
    __atomic_fetch_add(&ctx->lost, count, __ATOMIC_RELAXED);
}

/* wsi_room makes room for more elements of the given size. It returns 0 if there is no memory. */
static int wsi_room(void **p, size_t n, size_t *cap, size_t more, size_t size) {
    if (n + more <= *cap) return 1;
    size_t want = 2 * *cap > n + more ? 2 * *cap : n + more + 64;
    void *q = realloc(*p, want * size);
    if (!q) return 0;
    *p = q;
    *cap = want;
    return 1;
}

static uint8_t *wsi_grow(wsi_bytes *b, size_t more) {
    void *p = b->p;
    if (b->bad || !wsi_room(&p, b->n, &b->cap, more, 1)) {
        b->bad = 1;
        return 0;
    }
    b->p = (uint8_t *)p;
    return b->p + b->n;
}

static void wsi_append(wsi_bytes *b, const void *data, size_t n) {
    uint8_t *p = wsi_grow(b, n);
    if (p && n) {
        memcpy(p, data, n);
        b->n += n;
    }
}

static void wsi_le(wsi_bytes *b, uint64_t v, int bytes) {
    uint8_t le[8];
    for (int i = 0; i < bytes; i++) le[i] = (uint8_t)(v >> 8 * i);
    wsi_append(b, le, (size_t)bytes);
}

static uint8_t *wsi_put_varint(uint8_t *p, uint64_t v) {
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

static void wsi_varint(wsi_bytes *b, uint64_t v) {
    uint8_t tmp[10];
    wsi_append(b, tmp, (size_t)(wsi_put_varint(tmp, v) - tmp));
}

static int wsi_push(wsi_words *w, const uint64_t *v, size_t n) {
    void *p = w->p;
    if (w->bad || !wsi_room(&p, w->n, &w->cap, n, sizeof *w->p)) {
        w->bad = 1;
        return 0;
    }
    w->p = (uint64_t *)p;
    if (n) memcpy(w->p + w->n, v, n * sizeof *v);
    w->n += n;
    return 1;
}

/* Standard kinds, generated from trace/kinds.go: number, flags of the blocks that hold one, number of fixed
 * fields, whether there is a list, namespace, names, types. */
enum {
    WSI_INT = 1,
    WSI_UINT = 2,
    WSI_FLOAT = 3,
    WSI_CF = 4,
    WSI_DF = 5,
    WSI_SITE = 6,
    WSI_NAME = 7,
    WSI_NODE = 8,
    WSI_MESSAGE = 9,
    WSI_NS = 10,
    WSI_BYTES = 11,
    WSI_REASON = 12,
    WSI_INTS = 13,
    WSI_DFS = 14,
    WSI_TYPES
};

static const char *const wsi_type_names[WSI_TYPES] = {
    0,
    "Int",
    "Uint",
    "Float",
    "CF",
    "DF",
    "Site",
    "Name",
    "Node",
    "Message",
    "NS",
    "Bytes",
    "Reason",
    "Ints",
    "DFs",
};

static const wsi_layout wsi_standard[] = {
    {1, 0, 5, 1, "CFEvents", "onCreated", 0, {WSI_CF, WSI_SITE, WSI_CF, WSI_UINT, WSI_FLOAT, WSI_INTS}},
    {2, 0, 2, 0, "CFEvents", "onReady", 0, {WSI_CF, WSI_NS}},
    {3, 0, 2, 1, "CFEvents", "onStarted", 0, {WSI_CF, WSI_UINT, WSI_DFS}},
    {4, 0, 3, 0, "CFEvents", "onFinished", 0, {WSI_CF, WSI_UINT, WSI_INT}},
    {5, 0, 1, 1, "CFEvents", "onWaiting", 0, {WSI_CF, WSI_DFS}},
    {6, 0, 4, 0, "CFEvents", "onMigrated", 0, {WSI_CF, WSI_NODE, WSI_BYTES, WSI_FLOAT}},
    {7, 0, 4, 0, "CFEvents", "onStolen", 0, {WSI_CF, WSI_NODE, WSI_BYTES, WSI_FLOAT}},
    {8, 0, 4, 0, "CFEvents", "onReceived", 0, {WSI_CF, WSI_NODE, WSI_BYTES, WSI_FLOAT}},
    {9, 0, 1, 0, "CFEvents", "onDestroyed", 0, {WSI_CF}},
    {10, 0, 1, 0, "CFEvents", "onHeld", 0, {WSI_CF}},
    {11, 0, 1, 0, "CFEvents", "onResumed", 0, {WSI_CF}},
    {20, 0, 2, 0, "CFEvents", "onPlaced", 0, {WSI_CF, WSI_INT}},
    {32, 0, 3, 0, "DFEvents", "onCreate", "onCreateSize", {WSI_DF, WSI_BYTES, WSI_CF}},
    {33, 0, 4, 0, "DFEvents", "onRequested", 0, {WSI_DF, WSI_CF, WSI_NODE, WSI_MESSAGE}},
    {34, 0, 3, 0, "DFEvents", "onRequestReceived", 0, {WSI_DF, WSI_NODE, WSI_MESSAGE}},
    {35, 0, 6, 0, "DFEvents", "onSent", 0, {WSI_DF, WSI_NODE, WSI_BYTES, WSI_MESSAGE, WSI_MESSAGE, WSI_CF}},
    {36, 0, 6, 0, "DFEvents", "onReceived", 0, {WSI_DF, WSI_NODE, WSI_BYTES, WSI_MESSAGE, WSI_MESSAGE,
        WSI_CF}},
    {37, 0, 2, 0, "DFEvents", "onStored", 0, {WSI_DF, WSI_BYTES}},
    {38, 0, 2, 0, "DFEvents", "onDropped", 0, {WSI_DF, WSI_BYTES}},
    {39, 0, 3, 0, "DFEvents", "onDestroy", "onDestroySize", {WSI_DF, WSI_BYTES, WSI_REASON}},
    {40, 0, 3, 0, "DFEvents", "onDuplicate", 0, {WSI_DF, WSI_CF, WSI_CF}},
    {50, 0, 2, 0, "DFEvents", "onPlaced", 0, {WSI_DF, WSI_INT}},
    {64, 0, 2, 0, "GlobalEvents", "onStarted", 0, {WSI_SITE, WSI_UINT}},
    {65, 0, 2, 0, "GlobalEvents", "onExited", 0, {WSI_SITE, WSI_UINT}},
    {66, 0, 2, 0, "GlobalEvents", "onWaiting", 0, {WSI_SITE, WSI_UINT}},
    {67, 0, 2, 0, "GlobalEvents", "onMigrated", 0, {WSI_SITE, WSI_UINT}},
    {68, 0, 2, 0, "GlobalEvents", "onContinued", 0, {WSI_SITE, WSI_UINT}},
    {69, 0, 1, 0, "GlobalEvents", "onForeignStarted", 0, {WSI_SITE}},
    {70, 0, 1, 0, "GlobalEvents", "onForeignEnded", 0, {WSI_SITE}},
    {71, 1, 2, 0, "GlobalEvents", "onProgramStarted", 0, {WSI_UINT, WSI_NS}},
    {72, 2, 1, 0, "GlobalEvents", "onProgramFinished", 0, {WSI_NS}},
    {73, 0, 0, 0, "GlobalEvents", "onIdle", 0, {0}},
    {74, 0, 0, 0, "GlobalEvents", "onBusy", 0, {0}},
    {75, 0, 1, 0, "GlobalEvents", "onReadyQueue", 0, {WSI_UINT}},
    {76, 0, 2, 0, "GlobalEvents", "onSendQueue", 0, {WSI_NODE, WSI_UINT}},
    {77, 0, 2, 0, "GlobalEvents", "onRelations", 0, {WSI_INT, WSI_INT}},
    {78, 4, 2, 0, "GlobalEvents", "onClockSync", 0, {WSI_INT, WSI_NS}},
    {79, 0, 4, 0, "GlobalEvents", "onLost", 0, {WSI_UINT, WSI_NS, WSI_NS, WSI_UINT}},
    {80, 0, 5, 0, "GlobalEvents", "onThreadTime", 0, {WSI_NS, WSI_NS, WSI_NS, WSI_INT, WSI_NS}},
    {81, 0, 5, 0, "GlobalEvents", "onBalanced", 0, {WSI_SITE, WSI_NODE, WSI_UINT, WSI_NS, WSI_NS}},
    {82, 0, 4, 0, "GlobalEvents", "onUsage", 0, {WSI_UINT, WSI_BYTES, WSI_BYTES, WSI_UINT}},
    {96, 0, 1, 0, "SyncEvents", "onWaitStarted", 0, {WSI_NAME}},
    {97, 0, 1, 0, "SyncEvents", "onWaitEnded", 0, {WSI_NAME}},
    {98, 0, 8, 0, "SyncEvents", "onCollective", 0, {WSI_NAME, WSI_NAME, WSI_NODE, WSI_UINT, WSI_UINT,
        WSI_INT, WSI_BYTES, WSI_BYTES}},
    {99, 0, 1, 0, "SyncEvents", "onAcquired", 0, {WSI_UINT}},
    {100, 0, 1, 0, "SyncEvents", "onReleased", 0, {WSI_UINT}},
    {101, 0, 6, 0, "SyncEvents", "onBlocked", 0, {WSI_CF, WSI_NS, WSI_NAME, WSI_NAME, WSI_NAME, WSI_CF}},
    {102, 0, 1, 1, "SyncEvents", "onGroup", 0, {WSI_UINT, WSI_INTS}},
    {112, 0, 1, 0, "RegionEvents", "onEntered", 0, {WSI_SITE}},
    {113, 0, 1, 0, "RegionEvents", "onExited", 0, {WSI_SITE}},
    {120, 0, 3, 0, "MessageEvents", "onPut", 0, {WSI_NODE, WSI_BYTES, WSI_UINT}},
    {121, 0, 3, 0, "MessageEvents", "onGet", 0, {WSI_NODE, WSI_BYTES, WSI_UINT}},
    {122, 0, 2, 0, "MessageEvents", "onRemoteAtomic", 0, {WSI_NODE, WSI_BYTES}},
    {123, 0, 1, 0, "MessageEvents", "onCompleted", 0, {WSI_UINT}},
    {124, 0, 5, 0, "MessageEvents", "onSent", 0, {WSI_NODE, WSI_BYTES, WSI_INT, WSI_UINT, WSI_UINT}},
    {125, 0, 6, 0, "MessageEvents", "onReceived", 0, {WSI_NODE, WSI_BYTES, WSI_INT, WSI_UINT, WSI_UINT,
        WSI_NS}},
};


/* ---- Clock ---------------------------------------------------------------------------------------
 *
 * The factor between the counter and nanoseconds is measured once, between the loading of the program and the
 * first use of the clock, at least 4 ms apart. It never changes afterwards, so times do not jump. A pair of
 * readings is accurate to about 20 ns, so the factor is off by 10 millionths at most. */

ws_clock ws_the_clock;
static const char *wsi_clock_name = "monotonic"; /* what ws_now reads */
static pthread_once_t wsi_clock_once = PTHREAD_ONCE_INIT;
static int wsi_clock_wish; /* 0: monotonic, 1: the counter if it is usable */

/* Records hold 54 bits of time. CLOCK_MONOTONIC is cut to 52, which leaves a run room for 52 days. */
static const int64_t wsi_fold = (int64_t)1 << 52;
static int64_t wsi_fold_base = -1;

static int64_t wsi_monotonic(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t wsi_cpu(clockid_t id) {
    struct timespec t;
    if (clock_gettime(id, &t)) return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t ws_process_cpu(void) { return wsi_cpu(CLOCK_PROCESS_CPUTIME_ID); }
int64_t ws_thread_cpu(void) { return wsi_cpu(CLOCK_THREAD_CPUTIME_ID); }

#if defined(__x86_64__)
static uint64_t wsi_tsc(void) {
    uint32_t lo, hi;
    __asm__ __volatile__("rdtsc" : "=a"(lo), "=d"(hi));
    return (uint64_t)hi << 32 | lo;
}

/* wsi_pair reads both clocks at one moment: of 16 attempts it takes the one with the narrowest bracket. */
static void wsi_pair(uint64_t *tsc, int64_t *ns) {
    uint64_t best = ~(uint64_t)0;
    for (int i = 0; i < 16; i++) {
        uint64_t a = wsi_tsc();
        int64_t n = wsi_monotonic();
        uint64_t b = wsi_tsc();
        if (b - a < best) {
            best = b - a;
            *tsc = a + (b - a) / 2;
            *ns = n;
        }
    }
}

static uint64_t wsi_first_tsc;
static int64_t wsi_first_ns;

__attribute__((constructor)) static void wsi_clock_load(void) { wsi_pair(&wsi_first_tsc, &wsi_first_ns); }

/* wsi_constant tells whether the counter has a constant rate, never stops in a sleep state, and is used by
 * the kernel itself. The kernel would have given up a counter that it found unsynchronised. */
static int wsi_constant(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8)) return 0;
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    char text[16] = "";
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n >= 4 && !memcmp(text, "tsc\n", 4);
}

static void wsi_calibrate(void) {
    if (!wsi_constant()) return;
    if (!wsi_first_tsc) wsi_clock_load();
    struct timespec ms = {0, 1000000};
    while (wsi_monotonic() - wsi_first_ns < 4000000) nanosleep(&ms, 0);
    uint64_t tsc = 0;
    int64_t ns = 0;
    wsi_pair(&tsc, &ns);
    if (tsc <= wsi_first_tsc || ns <= wsi_first_ns) return;
    double m = (double)(ns - wsi_first_ns) / (double)(tsc - wsi_first_tsc) * 4294967296.0;
    /* A counter below 0.2 or above 20 GHz is no clock. */
    if (m < 4294967296.0 / 20 || m > 4294967296.0 * 5) return;
    ws_the_clock.origin = wsi_first_tsc;
    ws_the_clock.base = wsi_first_ns - wsi_fold_base;
    wsi_clock_name = "tsc";
    __atomic_store_n(&ws_the_clock.mult, (uint64_t)(m + 0.5), __ATOMIC_RELEASE);
}
#else
static void wsi_calibrate(void) {}
#endif

static void wsi_clock_init(void) {
    wsi_fold_base = wsi_monotonic() / wsi_fold * wsi_fold;
    if (wsi_clock_wish) wsi_calibrate();
}

int64_t ws_now_slow(void) {
    pthread_once(&wsi_clock_once, wsi_clock_init);
    return wsi_monotonic() - wsi_fold_base;
}

/* wsi_clock_start chooses the clock. Only the first call has an effect. */
static void wsi_clock_start(int counter) {
    static int chosen;
    if (!__atomic_exchange_n(&chosen, 1, __ATOMIC_ACQ_REL)) wsi_clock_wish = counter;
    pthread_once(&wsi_clock_once, wsi_clock_init);
}


/* ---- Packing: records to columns ----------------------------------------------------------------- */

enum { WSI_CONSTANT, WSI_PLAIN, WSI_SIGNED, WSI_DELTA }; /* forms of columns */

static uint64_t wsi_zigzag(uint64_t v) { return v << 1 ^ (uint64_t)-(int64_t)(v >> 63); }

static int wsi_same(const uint64_t *v, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (v[i] != v[0]) return 0;
    return 1;
}

/* wsi_column stores words in the given form, or as a constant if all are equal and constant allows it. */
static void wsi_column(wsi_bytes *b, const uint64_t *v, size_t n, int form, int constant) {
    if (!n) return;
    if (constant && wsi_same(v, n)) {
        wsi_le(b, WSI_CONSTANT, 1);
        wsi_varint(b, v[0]);
        return;
    }
    uint8_t *p = wsi_grow(b, 1 + 10 * n);
    if (!p) return;
    *p++ = (uint8_t)form;
    uint64_t prev = 0;
    switch (form) {
    case WSI_PLAIN:
        for (size_t i = 0; i < n; i++) p = wsi_put_varint(p, v[i]);
        break;
    case WSI_SIGNED:
        for (size_t i = 0; i < n; i++) p = wsi_put_varint(p, wsi_zigzag(v[i]));
        break;
    default:
        for (size_t i = 0; i < n; i++) {
            p = wsi_put_varint(p, wsi_zigzag(v[i] - prev));
            prev = v[i];
        }
    }
    b->n = (size_t)(p - b->p);
}

static int wsi_form(int type) {
    switch (type) {
    case WSI_INT:
    case WSI_NS: return WSI_SIGNED;
    case WSI_CF:
    case WSI_DF:
    case WSI_MESSAGE:
    case WSI_BYTES: return WSI_DELTA;
    }
    return WSI_PLAIN;
}

/* wsi_beyond returns the bits that must be 0 in values of a type. Readers refuse blocks that set them. */
static uint64_t wsi_beyond(int type) {
    switch (type) {
    case WSI_DF:
    case WSI_DFS:
    case WSI_SITE:
    case WSI_NAME: return ~(uint64_t)0xffffffff;
    case WSI_NODE: return ~(uint64_t)0xffff;
    case WSI_REASON: return ~(uint64_t)0xff;
    }
    return 0;
}

static const wsi_layout *wsi_layout_of(ws_context *ctx, uint64_t kind) {
    return kind < WSI_KINDS ? __atomic_load_n(&ctx->layouts[kind], __ATOMIC_ACQUIRE) : 0;
}

static int64_t wsi_time(uint64_t word) { return (int64_t)word >> 10; }

static int wsi_pack_room(wsi_packer *p, size_t words) {
    if (words <= p->cap) return 1;
    free(p->at), free(p->order), free(p->kinds), free(p->vals), free(p->nodes);
    p->at = (uint32_t *)malloc(words * sizeof *p->at);
    p->order = (uint32_t *)malloc(words * sizeof *p->order);
    p->kinds = (uint8_t *)malloc(words);
    p->vals = (uint64_t *)malloc(words * sizeof *p->vals);
    p->nodes = (uint64_t *)malloc(words * sizeof *p->nodes);
    p->cap = p->at && p->order && p->kinds && p->vals && p->nodes ? words : 0;
    return p->cap > 0;
}

/* wsi_mask cuts values that do not fit their type, and reports that as an error. */
static void wsi_mask(ws_context *ctx, const wsi_layout *l, int field, uint64_t *v, size_t n) {
    uint64_t beyond = wsi_beyond(l->types[field]), bits = 0;
    if (!beyond) return;
    for (size_t i = 0; i < n; i++) bits |= v[i];
    if (!(bits & beyond)) return;
    wsi_fail(ctx, "event %s.%s: a value of field %d does not fit its type %s and was cut", l->space, l->name,
             field + 1, wsi_type_names[l->types[field]]);
    for (size_t i = 0; i < n; i++) v[i] &= ~beyond;
}

/* wsi_pack_field stores one field. Ids become two columns, node and counter, because the node hardly ever
 * changes. The bytes of floats are reversed, because round numbers end in zeros. */
static void wsi_pack_field(ws_context *ctx, wsi_bytes *out, const wsi_layout *l, int field, size_t n) {
    uint64_t *v = ctx->pack.vals, *nodes = ctx->pack.nodes;
    int type = l->types[field];
    if (type == WSI_CF || type == WSI_MESSAGE) {
        for (size_t i = 0; i < n; i++) {
            nodes[i] = v[i] >> 48;
            v[i] &= ((uint64_t)1 << 48) - 1;
        }
        wsi_column(out, nodes, n, WSI_PLAIN, 1);
    } else if (type == WSI_FLOAT) {
        for (size_t i = 0; i < n; i++) v[i] = __builtin_bswap64(v[i]);
    } else {
        wsi_mask(ctx, l, field, v, n);
    }
    wsi_column(out, v, n, wsi_form(type), 1);
}

static void wsi_pack_kind(ws_context *ctx, wsi_bytes *out, const uint64_t *w, const wsi_layout *l,
                          const uint32_t *at, size_t n) {
    uint64_t *v = ctx->pack.vals, longest = 0;
    for (int f = 0; f < l->fixed; f++) {
        for (size_t i = 0; i < n; i++) v[i] = w[at[i] + 1 + (uint32_t)f];
        wsi_pack_field(ctx, out, l, f, n);
    }
    if (!l->list) return;
    uint32_t len = 1 + (uint32_t)l->fixed; /* index of the list's length in a record */
    for (size_t i = 0; i < n; i++)
        if (w[at[i] + len] > longest) longest = w[at[i] + len];
    for (uint32_t pos = 0; pos < longest && pos < WSI_LIST_COLUMNS; pos++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++)
            if (pos < w[at[i] + len]) v[k++] = w[at[i] + len + 1 + pos];
        wsi_mask(ctx, l, l->fixed, v, k);
        wsi_column(out, v, k, WSI_DELTA, 0);
    }
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (uint64_t pos = WSI_LIST_COLUMNS; pos < w[at[i] + len]; pos++) v[k++] = w[at[i] + len + 1 + pos];
    wsi_mask(ctx, l, l->fixed, v, k);
    wsi_column(out, v, k, WSI_DELTA, 0);
}

/* wsi_pack packs the records in w into the payload out, and fills the parts of h that describe them. It
 * returns the number of words taken: fewer than n if the block is full, 0 if there is no memory. */
static size_t wsi_pack(ws_context *ctx, wsi_bytes *out, const uint64_t *w, size_t n, wsi_header *h) {
    wsi_packer *p = &ctx->pack;
    size_t i = 0;
    /* A block never takes more words than this, however large the buffer is. */
    if (!wsi_pack_room(p, n < WSI_BLOCK_WORDS + WSI_MAX_RECORD ? n : WSI_BLOCK_WORDS + WSI_MAX_RECORD))
        return 0;
    for (size_t j = 0; j < p->nused; j++) p->index[p->used[j]->kind] = 0;
    p->nused = 0;
    while (i < n && i < WSI_BLOCK_WORDS) {
        uint64_t kind = w[i] & (WSI_KINDS - 1);
        size_t j = p->index[kind];
        if (!j) {
            if (p->nused == WSI_BLOCK_KINDS) break;
            p->used[p->nused] = wsi_layout_of(ctx, kind);
            p->count[p->nused] = 0;
            h->flags |= p->used[p->nused]->flags;
            j = ++p->nused;
            p->index[kind] = (uint16_t)j;
        }
        const wsi_layout *l = p->used[--j];
        int64_t t = wsi_time(w[i]);
        if (!h->count) h->base = h->first = h->last = t;
        if (t < h->first) h->first = t;
        if (t > h->last) h->last = t;
        p->vals[h->count] = (uint64_t)(t - h->base);
        p->kinds[h->count] = (uint8_t)j;
        p->at[h->count++] = (uint32_t)i;
        p->count[j]++;
        i += 1 + l->fixed + (l->list ? 1 + w[i + 1 + l->fixed] : 0);
    }
    uint32_t start = 0;
    for (size_t j = 0; j < p->nused; j++) {
        p->start[j] = start;
        start += p->count[j];
        p->count[j] = 0;
    }
    for (uint32_t e = 0; e < h->count; e++)
        p->order[p->start[p->kinds[e]] + p->count[p->kinds[e]]++] = p->at[e];

    out->n = 0, out->bad = 0;
    wsi_varint(out, p->nused);
    for (size_t j = 0; j < p->nused; j++) {
        size_t types = (size_t)p->used[j]->fixed + p->used[j]->list;
        wsi_varint(out, p->used[j]->kind);
        wsi_varint(out, p->count[j]);
        wsi_varint(out, types);
        wsi_append(out, p->used[j]->types, types);
    }
    wsi_append(out, p->kinds, h->count);
    wsi_column(out, p->vals, h->count, WSI_DELTA, 1);
    for (size_t j = 0; j < p->nused; j++) {
        if (!p->used[j]->list) continue;
        for (uint32_t e = 0; e < p->count[j]; e++)
            p->vals[e] = w[p->order[p->start[j] + e] + 1 + p->used[j]->fixed];
        wsi_column(out, p->vals, p->count[j], WSI_PLAIN, 1);
    }
    for (size_t j = 0; j < p->nused; j++)
        wsi_pack_kind(ctx, out, w, p->used[j], p->order + p->start[j], p->count[j]);
    return out->bad ? 0 : i;
}

/* wsi_pack_defs makes the payload of a definition block: the length and bytes of the rows, then the DFs by
 * column. dfs holds the number, name, length and identity of each DF. It returns 0 if there is no memory. */
static int wsi_pack_defs(ws_context *ctx, wsi_bytes *out, const uint8_t *rows, size_t bytes, size_t nrows,
                         const uint64_t *dfs, size_t words, size_t ndfs) {
    wsi_packer *p = &ctx->pack;
    uint64_t longest = 0;
    size_t k = 0;
    if (!wsi_pack_room(p, words)) return 0;
    out->n = 0, out->bad = 0;
    wsi_varint(out, nrows);
    wsi_varint(out, bytes);
    wsi_append(out, rows, bytes);
    wsi_varint(out, ndfs);
    for (size_t i = 0; i < words; i += 3 + (size_t)dfs[i + 2]) {
        p->at[k++] = (uint32_t)i;
        if (dfs[i + 2] > longest) longest = dfs[i + 2];
    }
    for (int c = 0; c < 3; c++) {
        for (size_t i = 0; i < ndfs; i++) p->vals[i] = dfs[p->at[i] + (uint32_t)c];
        wsi_column(out, p->vals, ndfs, WSI_DELTA, c > 0);
    }
    for (uint32_t pos = 0; pos < longest && pos < WSI_DF_COLUMNS; pos++) {
        k = 0;
        for (size_t i = 0; i < ndfs; i++)
            if (pos < dfs[p->at[i] + 2]) p->vals[k++] = dfs[p->at[i] + 3 + pos];
        wsi_column(out, p->vals, k, WSI_DELTA, 0);
    }
    k = 0;
    for (size_t i = 0; i < ndfs; i++)
        for (uint64_t pos = WSI_DF_COLUMNS; pos < dfs[p->at[i] + 2]; pos++)
            p->vals[k++] = dfs[p->at[i] + 3 + pos];
    wsi_column(out, p->vals, k, WSI_DELTA, 0);
    return !out->bad;
}


/* ---- The file: header, blocks, index ------------------------------------------------------------------
 *
 * A block that cannot be written (disk full) does not end recording. The file is truncated to its last whole
 * block, the events of the failed block are counted, and an onLost with that count precedes the stream's next
 * block. Definitions are kept until they are written, because later blocks need them. */

static uint32_t wsi_crc_table[8][256];
static pthread_once_t wsi_crc_once = PTHREAD_ONCE_INIT;

static void wsi_crc_init(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
        wsi_crc_table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            wsi_crc_table[k][i] = wsi_crc_table[k - 1][i] >> 8 ^
                                  wsi_crc_table[0][wsi_crc_table[k - 1][i] & 255];
}

/* wsi_crc returns the CRC-32C, computed eight bytes at a time. */
static uint32_t wsi_crc(const uint8_t *p, size_t n) {
    uint32_t c = ~(uint32_t)0;
    for (; n >= 8; p += 8, n -= 8) {
        c ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        c = wsi_crc_table[7][c & 255] ^ wsi_crc_table[6][c >> 8 & 255] ^ wsi_crc_table[5][c >> 16 & 255] ^
            wsi_crc_table[4][c >> 24] ^ wsi_crc_table[3][p[4]] ^ wsi_crc_table[2][p[5]] ^
            wsi_crc_table[1][p[6]] ^ wsi_crc_table[0][p[7]];
    }
    for (; n; p++, n--) c = c >> 8 ^ wsi_crc_table[0][(c ^ *p) & 255];
    return ~c;
}

/* libzstd's functions, all null if the library is missing. */
static struct {
    void *(*create)(void);
    size_t (*release)(void *);
    size_t (*bound)(size_t);
    size_t (*compress)(void *, void *, size_t, const void *, size_t, int);
    unsigned (*is_error)(size_t);
} wsi_zstd;
static int wsi_zstd_there;
static pthread_once_t wsi_zstd_once = PTHREAD_ONCE_INIT;

#ifdef WHYSLOW_NO_DLOPEN
static void wsi_zstd_init(void) {}
#else
#ifdef __ELF__
/* dlopen is null in static executables, and with an old C library linked without -ldl. */
#pragma weak dlopen
#pragma weak dlsym
#endif
static void wsi_zstd_init(void) {
#ifdef __ELF__
    if (!dlopen || !dlsym) return;
#endif
#ifdef __APPLE__
    void *lib = dlopen("libzstd.1.dylib", RTLD_NOW | RTLD_LOCAL);
#else
    void *lib = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
    if (!lib) return;
    static const char *const names[] = {"ZSTD_createCCtx", "ZSTD_freeCCtx", "ZSTD_compressBound",
                                        "ZSTD_compressCCtx", "ZSTD_isError"};
    void *found[5];
    for (int i = 0; i < 5; i++)
        if (!(found[i] = dlsym(lib, names[i]))) return;
    /* C has no conversion from a data pointer to a function pointer. */
    memcpy(&wsi_zstd.create, &found[0], sizeof(void *));
    memcpy(&wsi_zstd.release, &found[1], sizeof(void *));
    memcpy(&wsi_zstd.bound, &found[2], sizeof(void *));
    memcpy(&wsi_zstd.compress, &found[3], sizeof(void *));
    memcpy(&wsi_zstd.is_error, &found[4], sizeof(void *));
    wsi_zstd_there = 1;
}
#endif

/* wsi_zstd_level maps our levels, 1 fastest to 4 best, to the library's. */
static int wsi_zstd_level(int level) {
    static const int levels[] = {1, 1, 3, 7, 11};
    return levels[level > 4 ? 4 : level];
}

/* wsi_flush_block writes ctx->block as a whole, or leaves the file as it was. Returns an errno. */
static int wsi_flush_block(ws_context *ctx) {
    size_t done = 0;
    if (ctx->block.bad) return ENOMEM;
    if (ctx->torn) return EIO;
    while (done < ctx->block.n) {
        ssize_t n = write(ctx->fd, ctx->block.p + done, ctx->block.n - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            int err = n < 0 ? errno : ENOSPC;
            if (done > 0 &&
                (ftruncate(ctx->fd, (off_t)ctx->at) || lseek(ctx->fd, (off_t)ctx->at, SEEK_SET) < 0))
                ctx->torn = 1;
            return err;
        }
        done += (size_t)n;
    }
    ctx->at += done;
    return 0;
}

static void wsi_put_le(uint8_t *p, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) p[i] = (uint8_t)(v >> 8 * i);
}

/* wsi_head stores a block's header at p. */
static void wsi_head(uint8_t *p, const wsi_header *h, uint32_t sum) {
    memcpy(p, "\xabWSB", 4);
    p[4] = h->kind, p[5] = h->codec;
    wsi_put_le(p + 6, h->flags, 2);
    wsi_put_le(p + 8, h->stream, 4);
    wsi_put_le(p + 12, h->count, 4);
    wsi_put_le(p + 16, (uint64_t)h->base, 8);
    wsi_put_le(p + 24, (uint64_t)h->first, 8);
    wsi_put_le(p + 32, (uint64_t)h->last, 8);
    wsi_put_le(p + 40, h->seq, 4);
    wsi_put_le(p + 44, h->defs, 4);
    wsi_put_le(p + 48, h->packed, 4);
    wsi_put_le(p + 52, h->raw, 4);
    wsi_put_le(p + 56, sum, 4);
    wsi_put_le(p + 60, wsi_crc(p, 60), 4);
}

/* wsi_put writes a block with that payload. Returns an errno. */
static int wsi_put(ws_context *ctx, wsi_header *h, const wsi_bytes *raw) {
    wsi_bytes *b = &ctx->block;
    size_t packed = 0, least;
    b->n = 0, b->bad = 0;
    h->raw = (uint32_t)raw->n;
    if (ctx->zstd && raw->n > 32) {
        size_t room = wsi_zstd.bound(raw->n);
        if (wsi_grow(b, 64 + room)) {
            packed = wsi_zstd.compress(ctx->zstd, b->p + 64, room, raw->p, raw->n,
                                       wsi_zstd_level(ctx->level));
            if (wsi_zstd.is_error(packed) || packed >= raw->n) packed = 0;
        }
    }
    if (!wsi_grow(b, 64)) return ENOMEM;
    b->n = 64 + packed;
    h->codec = packed > 0;
    if (!packed) wsi_append(b, raw->p, raw->n);
    /* Readers refuse blocks that unpack to over 4096 + 64 times their length, so append a frame that decoders
     * skip. */
    least = raw->n > 4096 ? (raw->n - 4096 + 63) / 64 : 0;
    if (packed && packed < least) {
        size_t pad = least - packed > 8 ? least - packed - 8 : 0;
        wsi_le(b, 0x184D2A50, 4);
        wsi_le(b, pad, 4);
        uint8_t *p = wsi_grow(b, pad);
        if (p) memset(p, 0, pad), b->n += pad;
    }
    if (b->bad) return ENOMEM;
    h->packed = (uint32_t)(b->n - 64);
    wsi_head(b->p, h, wsi_crc(b->p + 64, b->n - 64));
    uint64_t at = ctx->at;
    int err = wsi_flush_block(ctx);
    if (!err && h->kind != 3) {
        wsi_le(&ctx->index, at, 8);
        wsi_append(&ctx->index, b->p, 64);
        ctx->entries++;
    }
    return err;
}

static void wsi_fail_write(ws_context *ctx, int err) {
    wsi_fail(ctx, "cannot write %s: %s; events are being lost", ctx->path, strerror(err));
}

/* wsi_take_defs packs the next portion of definitions into ctx->raw and returns how many it took. Definitions
 * that do not fit one block stay for the next. */
static uint32_t wsi_take_defs(ws_context *ctx) {
    wsi_pending *d = &ctx->defs;
    size_t rows = 0, nrows = 0, words = 0, ndfs = 0;
    pthread_mutex_lock(&ctx->defs_mu);
    while (rows < d->rows.n && rows < WSI_MAX_ROWS) {
        size_t len = 0, shift = 0, at = rows + 1;
        do {
            len |= (size_t)(d->rows.p[at] & 0x7f) << shift;
            shift += 7;
        } while (d->rows.p[at++] & 0x80);
        rows = at + len;
        nrows++;
    }
    while (words < d->dfs.n && words < WSI_MAX_DF_WORDS) {
        words += 3 + (size_t)d->dfs.p[words + 2];
        ndfs++;
    }
    uint32_t count = (uint32_t)(nrows + ndfs);
    if (count && wsi_pack_defs(ctx, &ctx->raw, d->rows.p, rows, nrows, d->dfs.p, words, ndfs)) {
        d->rows.n -= rows;
        memmove(d->rows.p, d->rows.p + rows, d->rows.n);
        d->dfs.n -= words;
        if (d->dfs.n) memmove(d->dfs.p, d->dfs.p + words, d->dfs.n * sizeof *d->dfs.p);
    } else {
        count = 0; /* no memory: try again next time */
    }
    pthread_mutex_unlock(&ctx->defs_mu);
    return count;
}

static int wsi_put_defs(ws_context *ctx, const wsi_bytes *raw, uint32_t count) {
    wsi_header h = {1, 0, 0, 0, count, 0, 0, 0, ctx->defs_blocks, ctx->defs_blocks, 0, 0};
    int err = wsi_put(ctx, &h, raw);
    if (!err) ctx->defs_blocks++;
    return err;
}

/* wsi_write_defs writes the definitions made so far. Returns an errno. */
static int wsi_write_defs(ws_context *ctx) {
    int err = 0;
    if (ctx->unsaved_count) {
        if ((err = wsi_put_defs(ctx, &ctx->unsaved_defs, ctx->unsaved_count))) return err;
        ctx->unsaved_count = 0;
    }
    for (uint32_t count; (count = wsi_take_defs(ctx)) != 0;) {
        if (!(err = wsi_put_defs(ctx, &ctx->raw, count))) continue;
        wsi_bytes kept = ctx->unsaved_defs;
        ctx->unsaved_defs = ctx->raw;
        ctx->unsaved_count = count;
        ctx->raw = kept;
        return err;
    }
    return 0;
}

/* wsi_write_words writes records as data blocks and counts those that it cannot write. Returns an errno. */
static int wsi_write_words(ws_context *ctx, wsi_stream *s, const uint64_t *w, size_t n) {
    int err = 0;
    while (n) {
        wsi_header h = {2, 0, 0, (uint32_t)s->id, 0, 0, 0, 0, s->seq, ctx->defs_blocks, 0, 0};
        size_t took = wsi_pack(ctx, &ctx->raw, w, n, &h);
        int e = took ? wsi_put(ctx, &h, &ctx->raw) : ENOMEM;
        if (e) {
            err = e;
            if (!took) took = n; /* at least the first record was looked at */
            wsi_count_lost(ctx, &s->unsaved, h.count ? h.count : 1, h.first, h.last);
        } else {
            s->seq++;
        }
        w += took;
        n -= took;
    }
    return err;
}

/* wsi_write writes the definitions made so far, then the buffer. Definitions come first because the thread
 * that recorded the events made them before. The caller holds ctx->io. */
static void wsi_write(ws_context *ctx, wsi_stream *s, const uint64_t *w, size_t n) {
    int err = wsi_write_defs(ctx);
    if (s->unsaved.count && !err) {
        wsi_lost l = s->unsaved;
        uint64_t rec[WSI_LOST_WORDS] = {(uint64_t)l.last << 10 | WS_LOST, l.count, (uint64_t)l.first,
                                        (uint64_t)l.last, (uint64_t)s->id};
        wsi_lost none = {0, 0, 0};
        s->unsaved = none;
        if ((err = wsi_write_words(ctx, s, rec, WSI_LOST_WORDS))) {
            s->unsaved = l; /* the onLost itself is not an event of the program */
            __atomic_fetch_sub(&ctx->lost, 1, __ATOMIC_RELAXED);
        }
    }
    if (!n) return;
    if (err) { /* events must not precede their definitions, so only count them */
        wsi_header h = {2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        while (n) {
            size_t took = wsi_pack(ctx, &ctx->raw, w, n, &h);
            if (!took) took = n;
            wsi_count_lost(ctx, &s->unsaved, h.count ? h.count : 1, h.first, h.last);
            h.count = 0;
            w += took, n -= took;
        }
    } else {
        err = wsi_write_words(ctx, s, w, n);
    }
    if (err) wsi_fail_write(ctx, err);
}

/* wsi_copy_file copies a file. Returns an errno. */
static int wsi_copy_file(const char *from, const char *to) {
    char buffer[1 << 14];
    int err = 0, in = open(from, O_RDONLY | O_CLOEXEC);
    int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out < 0) err = errno;
    for (ssize_t n; !err && (n = read(in, buffer, sizeof buffer)) != 0;) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) err = errno;
        for (ssize_t k, done = 0; !err && done < n; done += k > 0 ? k : 0)
            if ((k = write(out, buffer + done, (size_t)(n - done))) < 0 && errno != EINTR) err = errno;
    }
    if (in >= 0) close(in);
    if (out >= 0 && close(out) && !err) err = errno;
    return err;
}

/* wsi_bring_home moves a complete file from the host's own folder to the trace's, under a name that readers
 * do not look at until all of it is there. What cannot be moved stays. */
static void wsi_bring_home(ws_context *ctx) {
    size_t len = strlen(ctx->home) + 8;
    char *part = (char *)malloc(len);
    int err = part ? 0 : ENOMEM;
    if (part) snprintf(part, len, "%s.part", ctx->home);
    if (!err && rename(ctx->path, ctx->home)) { /* which other disks do not allow */
        err = wsi_copy_file(ctx->path, part);
        if (!err && rename(part, ctx->home)) err = errno;
        if (err) unlink(part);
        else unlink(ctx->path);
    }
    free(part);
    if (err) wsi_fail(ctx, "cannot move %s to %s: %s", ctx->path, ctx->home, strerror(err));
}

/* wsi_end_file writes the index and the trailer, and closes the file. An index that is too large is left out:
 * readers then search for the blocks. */
static void wsi_end_file(ws_context *ctx) {
    int err = wsi_write_defs(ctx);
    uint64_t at = ctx->at;
    if (ctx->index.bad || ctx->index.n > WSI_MAX_RAW) ctx->index.n = ctx->entries = 0, ctx->index.bad = 0;
    if (!err) {
        wsi_header h = {3, 0, 0, 0, ctx->entries, 0, 0, 0, 0, ctx->defs_blocks, 0, 0};
        if (!(err = wsi_put(ctx, &h, &ctx->index))) {
            ctx->block.n = 0;
            wsi_le(&ctx->block, at, 8);
            wsi_append(&ctx->block, "WSINDEX\x01", 8);
            err = wsi_flush_block(ctx);
        }
    }
    struct stat file, there;
    if (!fstat(ctx->fd, &file) &&
        (!file.st_nlink || (ctx->place && (stat(ctx->place, &there) || there.st_ino != file.st_ino ||
                                           there.st_dev != file.st_dev))))
        wsi_fail(ctx, "%s was removed, renamed or replaced during the run", ctx->path);
    if (close(ctx->fd) && !err) err = errno;
    ctx->fd = -1;
    if (err) wsi_fail(ctx, "cannot write %s: %s; its end is missing", ctx->path, strerror(err));
    if (ctx->home) wsi_bring_home(ctx);
}

/* wsi_hex returns the value of a hexadecimal digit, or -1 for any other character. */
static int wsi_hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* wsi_start_file writes the file's header. Returns an errno. */
static int wsi_start_file(ws_context *ctx) {
    wsi_bytes *b = &ctx->block;
    wsi_append(b, "WSTRACE\x01", 8);
    wsi_le(b, 1, 2);
    wsi_le(b, 32, 2);
    wsi_le(b, (uint64_t)ctx->node, 4);
    for (int i = 0; i < 24; i += 2) {
        const char *digits = ctx->run + i;
        wsi_le(b, *ctx->run ? (uint64_t)(wsi_hex(digits[0]) << 4 | wsi_hex(digits[1])) : 0, 1);
    }
    if (b->bad) return ENOMEM;
    wsi_le(b, wsi_crc(b->p, 28), 4);
    return wsi_flush_block(ctx);
}


/* ---- Definitions --------------------------------------------------------------------------------- */

/* As long as nothing can be written, up to this many bytes of definitions are kept. */
static const size_t wsi_defs_limit = (size_t)64 << 20;

static void wsi_check_defs(ws_context *ctx) {
    wsi_pending *d = &ctx->defs;
    if (d->rows.bad || d->dfs.bad) {
        d->rows.bad = d->dfs.bad = 0;
        wsi_fail(ctx, "no memory for definitions: some names are lost");
    }
}

/* wsi_row appends a definition. The caller holds defs_mu. */
static void wsi_row(ws_context *ctx, int tag, const wsi_bytes *body) {
    wsi_bytes *rows = &ctx->defs.rows;
    size_t before = rows->n;
    if (body->bad || before > wsi_defs_limit) rows->bad = 1;
    wsi_le(rows, (uint64_t)tag, 1);
    wsi_varint(rows, body->n);
    wsi_append(rows, body->p, body->n);
    if (rows->bad) rows->n = before; /* whole definitions only */
    wsi_check_defs(ctx);
}

static uint32_t wsi_hash(const char *text, size_t len) {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++) h = (h ^ (uint8_t)text[i]) * 16777619u;
    return h ^ h >> 15;
}

/* wsi_slot returns the place of a string in the table, which must have a free entry. */
static wsi_entry *wsi_slot(wsi_entry *table, size_t cap, const char *text, size_t len) {
    size_t i = wsi_hash(text, len) & (cap - 1);
    while (table[i].text && (table[i].len != len || memcmp(table[i].text, text, len)))
        i = (i + 1) & (cap - 1);
    return &table[i];
}

static int wsi_rehash(ws_context *ctx) {
    size_t cap = ctx->names_cap ? 2 * ctx->names_cap : 256;
    wsi_entry *table = (wsi_entry *)calloc(cap, sizeof *table);
    if (!table) return 0;
    for (size_t i = 0; i < ctx->names_cap; i++) {
        wsi_entry *e = &ctx->names[i];
        if (e->text) *wsi_slot(table, cap, e->text, e->len) = *e;
    }
    free(ctx->names);
    ctx->names = table;
    ctx->names_cap = cap;
    return 1;
}

static const uint64_t wsi_k0 = 0x9e3779b97f4a7c15u, wsi_k1 = 0xd6e8feb86659fd93u;

/* wsi_mix adds the next element to the hash h of a list. h starts as the length of the list times wsi_k1. */
static uint64_t wsi_mix(uint64_t h, uint64_t v) {
    uint64_t x = h ^ v ^ wsi_k0, x0 = x & 0xffffffffu, x1 = x >> 32;
    uint64_t k0 = wsi_k1 & 0xffffffffu, k1 = wsi_k1 >> 32;
    uint64_t low = x0 * k0, mid = x1 * k0 + (low >> 32), mid2 = x0 * k1 + (mid & 0xffffffffu);
    return (h << 23 | h >> 41) ^ (x1 * k1 + (mid >> 32) + (mid2 >> 32)) ^ x * wsi_k1;
}

/* wsi_mixed finishes the hash of a list. Readers name DFs by it. It is never 0. */
static uint64_t wsi_mixed(uint64_t h) {
    h = (h ^ h >> 32) * wsi_k0;
    h ^= h >> 29;
    return h ? h : wsi_k0;
}

/* wsi_short_name returns the beginning of a string that is too long, followed by a hash of the whole, so that
 * different strings stay different. The caller frees it. */
static char *wsi_short_name(const char *text, size_t len) {
    char *s = (char *)malloc(WSI_MAX_STRING + 1);
    uint64_t h = len * wsi_k1;
    if (!s) return 0;
    for (size_t i = 0; i < len; i++) h = wsi_mix(h, (uint8_t)text[i]);
    memcpy(s, text, WSI_MAX_STRING - 18);
    snprintf(s + WSI_MAX_STRING - 18, 19, " #%016llx", (unsigned long long)wsi_mixed(h));
    return s;
}

/* wsi_whole_name defines a string of at most WSI_MAX_STRING bytes. The caller holds defs_mu. */
static ws_name wsi_whole_name(ws_context *ctx, const char *text, size_t len) {
    if (2 * ctx->names_n >= ctx->names_cap && !wsi_rehash(ctx)) {
        ctx->defs.rows.bad = 1;
        wsi_check_defs(ctx);
        return 0;
    }
    wsi_entry *e = wsi_slot(ctx->names, ctx->names_cap, text, len);
    if (e->text) return e->name;
    wsi_bytes body = {0, 0, 0, 0};
    wsi_varint(&body, ctx->names_n + 1);
    wsi_append(&body, text, len);
    char *copy = (char *)malloc(len);
    if (!copy || body.bad) {
        free(copy), free(body.p);
        ctx->defs.rows.bad = 1;
        wsi_check_defs(ctx);
        return 0;
    }
    memcpy(copy, text, len);
    wsi_row(ctx, 1, &body);
    free(body.p);
    e->text = copy;
    e->len = (uint32_t)len;
    return e->name = (uint32_t)++ctx->names_n;
}

/* wsi_name is ws_define_name for callers that hold defs_mu. */
static ws_name wsi_name(ws_context *ctx, const char *text) {
    size_t len = text ? strlen(text) : 0;
    if (!len) return 0;
    if (len <= WSI_MAX_STRING) return wsi_whole_name(ctx, text, len);
    char *cut = wsi_short_name(text, len);
    ws_name n = 0;
    if (cut) n = wsi_whole_name(ctx, cut, WSI_MAX_STRING);
    else ctx->defs.rows.bad = 1, wsi_check_defs(ctx);
    free(cut);
    return n;
}

ws_name ws_define_name(ws_context *ctx, const char *text) {
    if (wsi_off(ctx)) return 0;
    pthread_mutex_lock(&ctx->defs_mu);
    ws_name n = wsi_name(ctx, text);
    pthread_mutex_unlock(&ctx->defs_mu);
    return n;
}

static uint64_t wsi_place(int v) { return v > 0 ? (uint64_t)v : 0; }

/* wsi_numbers appends a definition that consists of numbers. The caller holds defs_mu. */
static void wsi_numbers(ws_context *ctx, int tag, const uint64_t *v, int n) {
    wsi_bytes body = {0, 0, 0, 0};
    for (int i = 0; i < n; i++) wsi_varint(&body, v[i]);
    wsi_row(ctx, tag, &body);
    free(body.p);
}

ws_code ws_define_code(ws_context *ctx, const char *name, int kind, const char *file, int line, int column) {
    if (wsi_off(ctx)) return 0;
    if (kind < WS_ATOMIC || kind > WS_REGION_IO || (kind > WS_IF && kind < WS_REGION_FUNCTION)) {
        wsi_fail(ctx, "code fragment %s: %d is not a kind of code fragment: use WS_ATOMIC, WS_SUB ...", name,
                 kind);
        kind = WS_ATOMIC;
    }
    pthread_mutex_lock(&ctx->defs_mu);
    ws_code code = ++ctx->next_code;
    uint64_t v[6] = {code,                wsi_name(ctx, name), (uint64_t)kind,
                     wsi_name(ctx, file), wsi_place(line),     wsi_place(column)};
    wsi_numbers(ctx, 2, v, 6);
    pthread_mutex_unlock(&ctx->defs_mu);
    return code;
}

ws_site ws_define_site(ws_context *ctx, ws_code code, const char *label, const char *file, int line,
                       int column, const char *text) {
    if (wsi_off(ctx)) return 0;
    pthread_mutex_lock(&ctx->defs_mu);
    ws_site site = ++ctx->next_site;
    uint64_t v[7] = {site,            code,              wsi_name(ctx, label), wsi_name(ctx, file),
                     wsi_place(line), wsi_place(column), wsi_name(ctx, text)};
    wsi_numbers(ctx, 3, v, 7);
    pthread_mutex_unlock(&ctx->defs_mu);
    return site;
}

ws_df ws_define_df(ws_context *ctx, ws_name name, const int64_t *identity, size_t n) {
    if (wsi_off(ctx)) return 0;
    size_t kept = n;
    uint64_t rest[2] = {n * wsi_k1, n}; /* the end of a list that is cut: hash and length of the whole */
    if (n > WSI_MAX_IDENTITY) {
        for (size_t i = 0; i < n; i++) rest[0] = wsi_mix(rest[0], (uint64_t)identity[i]);
        rest[0] = wsi_mixed(rest[0]);
        n = WSI_MAX_IDENTITY;
        kept = n - 2;
    }
    pthread_mutex_lock(&ctx->defs_mu);
    ws_df df = ++ctx->next_df;
    wsi_words *dfs = &ctx->defs.dfs;
    size_t before = dfs->n;
    uint64_t head[3] = {df, name, n};
    if (before * 8 > wsi_defs_limit) dfs->bad = 1;
    if (!wsi_push(dfs, head, 3) || !wsi_push(dfs, (const uint64_t *)identity, kept) ||
        !wsi_push(dfs, rest, n - kept))
        dfs->n = before;
    wsi_check_defs(ctx);
    pthread_mutex_unlock(&ctx->defs_mu);
    return df;
}

static int wsi_identifier(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9')) return 0;
    }
    return n > 0 && n <= 256;
}

/* wsi_parse_fields parses "step:Int residual:Float" into l, and into body as the file stores it. It returns
 * what is wrong, or null. */
static const char *wsi_parse_fields(const char *p, wsi_layout *l, wsi_bytes *body) {
    const char *names[WSI_MAX_FIELDS];
    size_t lens[WSI_MAX_FIELDS], n = 0;
    for (;;) {
        p += strspn(p, " ");
        if (!*p) break;
        if (n == WSI_MAX_FIELDS) return "more than 16 fields";
        if (l->list) return "a list is not the last field";
        const char *name = p;
        size_t len = strcspn(p, " :");
        if (!wsi_identifier(name, len)) return "names are letters, digits and _, not starting with a digit";
        p += len;
        if (*p++ != ':') return "a field is written name:Type";
        size_t tlen = strcspn(p, " ");
        int type = 0;
        for (int t = 1; t < WSI_TYPES; t++)
            if (strlen(wsi_type_names[t]) == tlen && !memcmp(wsi_type_names[t], p, tlen)) type = t;
        if (!type)
            return "unknown type: it is one of Int Uint Float CF DF Site Name Node Message NS Bytes Reason "
                   "Ints DFs";
        for (size_t i = 0; i < n; i++)
            if (lens[i] == len && !memcmp(names[i], name, len)) return "two fields have the same name";
        p += tlen;
        l->types[n] = (uint8_t)type;
        names[n] = name;
        lens[n++] = len;
        l->list = type == WSI_INTS || type == WSI_DFS;
    }
    l->fixed = (uint8_t)(n - l->list);
    wsi_varint(body, n);
    for (size_t i = 0; i < n; i++) {
        wsi_le(body, l->types[i], 1);
        wsi_varint(body, lens[i]);
        wsi_append(body, names[i], lens[i]);
    }
    return 0;
}

static void wsi_string(wsi_bytes *b, const char *s) {
    size_t n = s ? strlen(s) : 0;
    if (n > WSI_MAX_STRING) n = WSI_MAX_STRING;
    wsi_varint(b, n);
    wsi_append(b, s, n);
}

static char *wsi_copy(const char *s) {
    char *c = (char *)malloc(strlen(s) + 1);
    return c ? strcpy(c, s) : 0;
}

/* wsi_add_kind declares a kind that has been checked, or finds it if it exists. The caller holds defs_mu. */
static ws_kind wsi_add_kind(ws_context *ctx, const wsi_layout *l, const char *space, const char *name,
                            const char *doc, const wsi_bytes *fields) {
    ws_kind k = WS_FIRST_USER_KIND;
    for (; k < WSI_KINDS && ctx->kinds[k]; k++) {
        wsi_user_kind *old = ctx->kinds[k];
        if (strcmp(old->space, space) || strcmp(old->name, name)) continue;
        if (old->layout.fixed == l->fixed && old->layout.list == l->list &&
            !memcmp(old->layout.types, l->types, sizeof l->types))
            return k;
        wsi_fail(ctx, "event %s.%s is declared twice, with different fields", space, name);
        return 0;
    }
    if (k == WSI_KINDS) {
        wsi_fail(ctx, "event %s.%s: a file cannot have more than %d user kinds", space, name,
                 (int)WSI_KINDS - (int)WS_FIRST_USER_KIND);
        return 0;
    }
    wsi_user_kind *u = (wsi_user_kind *)calloc(1, sizeof *u);
    if (u) {
        u->layout = *l;
        u->layout.kind = (uint16_t)k;
        u->layout.space = u->space = wsi_copy(space);
        u->layout.name = u->name = wsi_copy(name);
    }
    wsi_bytes body = {0, 0, 0, 0};
    wsi_varint(&body, k);
    wsi_string(&body, space);
    wsi_string(&body, name);
    wsi_string(&body, doc);
    wsi_append(&body, fields->p, fields->n);
    if (!u || !u->space || !u->name || body.bad) {
        if (u) free(u->space), free(u->name), free(u);
        free(body.p);
        wsi_fail(ctx, "event %s.%s: no memory", space, name);
        return 0;
    }
    wsi_row(ctx, 4, &body);
    free(body.p);
    ctx->kinds[k] = u;
    __atomic_store_n(&ctx->layouts[k], &u->layout, __ATOMIC_RELEASE);
    return k;
}

ws_kind ws_define_kind(ws_context *ctx, const char *space, const char *name, const char *fields,
                       const char *doc) {
    if (wsi_off(ctx)) return 0;
    wsi_layout l;
    memset(&l, 0, sizeof l);
    wsi_bytes body = {0, 0, 0, 0};
    const char *wrong = 0;
    if (!wsi_identifier(space, strlen(space)) || !wsi_identifier(name, strlen(name)))
        wrong = "names are letters, digits and _, not starting with a digit";
    for (size_t i = 0; !wrong && i < sizeof wsi_standard / sizeof *wsi_standard; i++) {
        const wsi_layout *s = &wsi_standard[i];
        if (!strcmp(s->space, space) && (!strcmp(s->name, name) || (s->alias && !strcmp(s->alias, name))))
            wrong = "it is a standard one";
    }
    if (!wrong) wrong = wsi_parse_fields(fields ? fields : "", &l, &body);
    ws_kind k = 0;
    if (wrong) {
        wsi_fail(ctx, "event %s.%s (%s): %s", space, name, fields ? fields : "", wrong);
    } else {
        pthread_mutex_lock(&ctx->defs_mu);
        k = wsi_add_kind(ctx, &l, space, name, doc, &body);
        pthread_mutex_unlock(&ctx->defs_mu);
    }
    free(body.p);
    return k;
}

uint64_t ws_new_id(ws_context *ctx) {
    return ws_id(ctx->node, __atomic_add_fetch(&ctx->ids, 1, __ATOMIC_RELAXED));
}


/* ---- Buffers and the writer thread --------------------------------------------------------------- */

/* wsi_new_buffer leaves the words unset. */
static wsi_buffer *wsi_new_buffer(size_t words) {
    wsi_buffer *b = (wsi_buffer *)malloc(sizeof *b + words * sizeof(uint64_t));
    if (b) {
        b->link = 0;
        b->stream = 0;
        b->n = b->written = 0;
        b->cap = words;
    }
    return b;
}

/* wsi_take returns an empty buffer of at least n words for an emitter. It returns null if the event is to be
 * dropped, or if the context is ending; ending tells which. */
static wsi_buffer *wsi_take(ws_context *ctx, size_t n, int *ending) {
    wsi_buffer *b = 0;
    *ending = 0;
    /* A list longer than a buffer gets a buffer of its own, which is freed after use. */
    if (n > ctx->words) return wsi_new_buffer(n);
    pthread_mutex_lock(&ctx->mu);
    while (!ctx->refuse) {
        if ((b = ctx->free_list) != 0) {
            ctx->free_list = b->link;
            break;
        }
        if (ctx->made < (size_t)ctx->pool + ctx->nstreams) {
            b = wsi_new_buffer(ctx->words);
            ctx->made += b != 0;
            break;
        }
        if (ctx->drop) break;
        int64_t began = ws_now();
        pthread_cond_wait(&ctx->cond, &ctx->mu);
        __atomic_fetch_add(&ctx->waited, ws_now() - began, __ATOMIC_RELAXED);
    }
    *ending = ctx->refuse;
    pthread_mutex_unlock(&ctx->mu);
    return b;
}

/* wsi_give returns a buffer to the pool. */
static void wsi_give(ws_context *ctx, wsi_buffer *b) {
    if (b->cap != ctx->words) {
        free(b);
        return;
    }
    pthread_mutex_lock(&ctx->mu);
    b->link = ctx->free_list;
    ctx->free_list = b;
    pthread_cond_broadcast(&ctx->cond);
    pthread_mutex_unlock(&ctx->mu);
}

/* wsi_enqueue appends to the queue. The caller holds mu. */
static void wsi_enqueue(ws_context *ctx, wsi_buffer *b) {
    b->link = 0;
    *ctx->queue_end = b;
    ctx->queue_end = &b->link;
    pthread_cond_broadcast(&ctx->cond);
}

static void wsi_write_buffer(ws_context *ctx, wsi_buffer *b) {
    pthread_mutex_lock(&ctx->io);
    wsi_write(ctx, b->stream, WSI_WORDS(b) + b->written, b->n - b->written);
    pthread_mutex_unlock(&ctx->io);
    wsi_give(ctx, b);
}

/* wsi_submit hands a full buffer to the writer thread without waiting for it. It returns 0 if the context is
 * ending and the buffer was refused. */
static int wsi_submit(ws_context *ctx, wsi_buffer *b) {
    pthread_mutex_lock(&ctx->mu);
    int refuse = ctx->refuse;
    if (!refuse && !ctx->sync) wsi_enqueue(ctx, b);
    pthread_mutex_unlock(&ctx->mu);
    if (!refuse && ctx->sync) {
        int64_t began = ws_now();
        wsi_write_buffer(ctx, b);
        __atomic_fetch_add(&ctx->waited, ws_now() - began, __ATOMIC_RELAXED);
    }
    return !refuse;
}

static wsi_buffer *wsi_dequeue(ws_context *ctx) { /* the caller holds mu */
    wsi_buffer *b = ctx->queue;
    if (b && !(ctx->queue = b->link)) ctx->queue_end = &ctx->queue;
    return b;
}

/* wsi_walk returns the end, in words, of the last whole record in a buffer whose owner may still be
 * appending. i is where a record begins. */
static size_t wsi_walk(ws_context *ctx, const uint64_t *w, size_t i, size_t cap) {
    while (i < cap) {
        uint64_t head = __atomic_load_n(&w[i], __ATOMIC_ACQUIRE);
        if (!head) break;
        const wsi_layout *l = wsi_layout_of(ctx, head & (WSI_KINDS - 1));
        i += 1 + l->fixed + (l->list ? 1 + w[i + 1 + l->fixed] : 0);
    }
    return i;
}

/* wsi_write_begun writes the records so far in the buffer that a stream is still using. Only the writer
 * thread calls it: buffers handed over meanwhile wait in the queue. Once the context is ending, wsi_finish
 * writes the rest of the buffer instead. */
static void wsi_write_begun(ws_context *ctx, wsi_stream *s) {
    size_t from = 0, n = 0;
    pthread_mutex_lock(&s->mu);
    pthread_mutex_lock(&ctx->mu);
    wsi_buffer *b = ctx->refuse ? 0 : s->buffer;
    for (wsi_buffer *q = ctx->queue; q && b; q = q->link)
        if (q->stream == s) b = 0; /* queued buffers come first */
    pthread_mutex_unlock(&ctx->mu);
    if (b) {
        from = b->written;
        n = b->written = wsi_walk(ctx, WSI_WORDS(b), from, b->cap);
    }
    pthread_mutex_unlock(&s->mu);
    if (n == from) return;
    pthread_mutex_lock(&ctx->io);
    wsi_write(ctx, s, WSI_WORDS(b) + from, n - from);
    pthread_mutex_unlock(&ctx->io);
}

/* wsi_wait waits for work for the writer, at most until then, a time from ws_now. The caller holds
 * ctx->mu. */
static void wsi_wait(ws_context *ctx, int64_t then) {
    struct timespec t;
    if (!ctx->flush) {
        pthread_cond_wait(&ctx->cond, &ctx->mu);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &t); /* the clock of condition variables */
    int64_t left = then - ws_now(), ns = t.tv_nsec + (left > 0 ? left : 0);
    t.tv_sec += (time_t)(ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    pthread_cond_timedwait(&ctx->cond, &ctx->mu, &t);
}

static void *wsi_writer(void *arg) {
    ws_context *ctx = (ws_context *)arg;
    int64_t then = ctx->flush ? ws_now() + ctx->flush : INT64_MAX;
    for (;;) {
        pthread_mutex_lock(&ctx->mu);
        while (!ctx->queue && !ctx->closing && (!ctx->flush || ws_now() < then)) wsi_wait(ctx, then);
        wsi_buffer *b = wsi_dequeue(ctx);
        int closing = ctx->closing;
        pthread_mutex_unlock(&ctx->mu);
        if (b) wsi_write_buffer(ctx, b);
        else if (closing) return 0;
        if (closing || !ctx->flush || ws_now() < then) continue;
        for (size_t i = 0;; i++) {
            pthread_mutex_lock(&ctx->mu);
            wsi_stream *s = i < ctx->nstreams ? ctx->streams[i] : 0;
            pthread_mutex_unlock(&ctx->mu);
            if (!s) break;
            wsi_write_begun(ctx, s);
        }
        then = ws_now() + ctx->flush;
    }
}

/* wsi_start_writer starts the writer thread, with all signals blocked. Returns an errno. */
static int wsi_start_writer(ws_context *ctx) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int err = pthread_create(&ctx->writer, 0, wsi_writer, ctx);
    pthread_sigmask(SIG_SETMASK, &old, 0);
    ctx->has_writer = !err;
    return err;
}


/* ---- Streams: the parts that are not inline -------------------------------------------------------- */

/* What an emitter gets if there is no memory for a stream. It records nothing. */
static wsi_stream wsi_no_stream;

static void wsi_write_run(ws_context *ctx, const char *ended, int exit_code, const char *message);

static void wsi_set_buffer(wsi_stream *s, wsi_buffer *b) { /* the caller holds s->mu */
    s->buffer = b;
    s->pub.used = 0;
    s->pub.buf = b ? WSI_WORDS(b) : 0;
    s->pub.cap = b ? b->cap : 1;
    if (!b) return;
    b->written = 0;
    __atomic_store_n(WSI_WORDS(b), (uint64_t)0, __ATOMIC_RELAXED);
}

/* wsi_hand_over gives the used part of the buffer to the writer. It returns 0 if the context is ending: the
 * stream then records nothing more. */
static int wsi_hand_over(wsi_stream *s) {
    int taken = 1;
    pthread_mutex_lock(&s->mu);
    wsi_buffer *b = s->buffer;
    if (b) {
        b->n = s->pub.used;
        b->stream = s;
        taken = wsi_submit(s->ctx, b);
        /* If it was refused, wsi_finish may be reading the buffer. */
        if (taken) wsi_set_buffer(s, 0);
        else s->pub.cap = s->pub.used = 0;
    }
    pthread_mutex_unlock(&s->mu);
    return taken;
}

/* wsi_record_lost appends an onLost to a buffer that has room for it. The caller holds s->mu. */
static void wsi_record_lost(wsi_stream *s) {
    wsi_lost l = s->lost, none = {0, 0, 0};
    s->lost = none;
    uint64_t *r = ws_reserve(&s->pub, WSI_LOST_WORDS, l.last);
    r[1] = l.count, r[2] = (uint64_t)l.first, r[3] = (uint64_t)l.last, r[4] = (uint64_t)s->id;
    ws_commit(r, l.last, WS_LOST);
}

static void wsi_drop(wsi_stream *s, int64_t t) {
    pthread_mutex_lock(&s->mu);
    wsi_count_lost(s->ctx, &s->lost, 1, t, t);
    pthread_mutex_unlock(&s->mu);
}

uint64_t *ws_reserve_slow(ws_stream *pub, size_t n, int64_t t) {
    wsi_stream *s = (wsi_stream *)pub;
    if (!pub->cap || wsi_off(s->ctx)) return 0;
    if (n > WSI_MAX_RECORD) {
        wsi_fail(s->ctx, "an event with a list of %lu elements is too long and was dropped",
                 (unsigned long)n);
        wsi_drop(s, t);
        return 0;
    }
    /* A thread cancelled in here must not keep locks. */
    int ending = 0, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int taken = wsi_hand_over(s);
    wsi_buffer *b = taken ? wsi_take(s->ctx, n + 1 + WSI_LOST_WORDS, &ending) : 0;
    pthread_setcancelstate(cancel, 0);
    if (!taken) return 0;
    if (ending) pub->cap = 0; /* the run is over, so no event is lost */
    else if (!b) wsi_drop(s, t);
    if (!b) return 0;
    pthread_mutex_lock(&s->mu);
    wsi_set_buffer(s, b);
    if (s->lost.count) wsi_record_lost(s);
    pthread_mutex_unlock(&s->mu);
    return ws_reserve(pub, n, t);
}

void ws_flush(ws_stream *pub) {
    wsi_stream *s = (wsi_stream *)pub;
    int cancel;
    if (!pub->cap || wsi_off(s->ctx)) return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int taken = wsi_hand_over(s);
    pthread_setcancelstate(cancel, 0);
    if (!taken) return;
    pthread_mutex_lock(&s->mu);
    wsi_buffer *b = s->lost.count ? wsi_new_buffer(WSI_LOST_WORDS + 1) : 0;
    if (b) { /* record the loss even if no event follows */
        wsi_set_buffer(s, b);
        wsi_record_lost(s);
    }
    pthread_mutex_unlock(&s->mu);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (b) wsi_hand_over(s);
    pthread_setcancelstate(cancel, 0);
}

void ws_emit_at(ws_stream *pub, int64_t t, ws_kind kind, const uint64_t *words, size_t n) {
    wsi_stream *s = (wsi_stream *)pub;
    if (!pub->cap) return;
    const wsi_layout *l = wsi_layout_of(s->ctx, kind);
    if (!l) {
        wsi_fail(s->ctx, "ws_emit: there is no kind %u: the event was dropped", (unsigned)kind);
        wsi_drop(s, t);
        return;
    }
    if (l->list ? n < 1u + l->fixed || words[l->fixed] != n - l->fixed - 1 : n != l->fixed) {
        wsi_fail(s->ctx, "ws_emit: event %s.%s does not take %lu words: the event was dropped", l->space,
                 l->name, (unsigned long)n);
        wsi_drop(s, t);
        return;
    }
    uint64_t *r = ws_reserve(pub, 1 + n, t);
    if (!r) return;
    for (size_t i = 0; i < n; i++) r[1 + i] = words[i];
    ws_commit(r, t, kind);
}

/* wsi_rest copies what a stream still holds, for wsi_finish, with room for an onLost and an
 * onProgramFinished. Null: no memory. */
static wsi_buffer *wsi_rest(wsi_stream *s) {
    size_t n = 0, from = 0;
    pthread_mutex_lock(&s->mu);
    if (s->buffer) {
        from = s->buffer->written;
        n = wsi_walk(s->ctx, WSI_WORDS(s->buffer), from, s->buffer->cap) - from;
    }
    wsi_buffer *b = wsi_new_buffer(n + WSI_LOST_WORDS + (size_t)WSI_END_WORDS);
    if (b) {
        if (n) memcpy(WSI_WORDS(b), WSI_WORDS(s->buffer) + from, n * sizeof(uint64_t));
        b->n = n;
        b->stream = s;
        if (s->lost.count) {
            uint64_t *r = WSI_WORDS(b) + n;
            r[0] = (uint64_t)s->lost.last << 10 | WS_LOST, r[1] = s->lost.count;
            r[2] = (uint64_t)s->lost.first, r[3] = (uint64_t)s->lost.last, r[4] = (uint64_t)s->id;
            b->n += WSI_LOST_WORDS;
        }
    }
    pthread_mutex_unlock(&s->mu);
    return b;
}

static wsi_stream *wsi_new_stream(ws_context *ctx, int id) { /* the caller holds ctx->mu */
    void *list = realloc(ctx->streams, (ctx->nstreams + 1) * sizeof *ctx->streams), *p = 0;
    if (!list) return 0;
    ctx->streams = (wsi_stream **)list;
    if (posix_memalign(&p, 64, sizeof(wsi_stream))) return 0;
    wsi_stream *s = (wsi_stream *)memset(p, 0, sizeof *s);
    s->ctx = ctx;
    s->id = id;
    pthread_mutex_init(&s->mu, 0);
    if (!wsi_off(ctx) && !ctx->refuse) {
        /* Each stream starts with a buffer of its own, so its first event is never dropped because others
         * have taken all. */
        wsi_buffer *b = wsi_new_buffer(ctx->words);
        ctx->made += b != 0;
        wsi_set_buffer(s, b);
    }
    ctx->streams[ctx->nstreams++] = s;
    return s;
}

ws_stream *ws_stream_open(ws_context *ctx, int id) {
    wsi_stream *s = 0;
    if (id < 0) {
        wsi_fail(ctx, "stream %d: numbers begin at 0", id);
        return &wsi_no_stream.pub;
    }
    pthread_mutex_lock(&ctx->mu);
    for (size_t i = 0; i < ctx->nstreams && !s; i++)
        if (ctx->streams[i]->id == id) s = ctx->streams[i];
    int begins = !s && id < ctx->workers && !ctx->manual;
    if (!s) s = wsi_new_stream(ctx, id);
    pthread_mutex_unlock(&ctx->mu);
    if (!s) {
        wsi_fail(ctx, "stream %d: no memory, its events are lost", id);
        return &wsi_no_stream.pub;
    }
    if (begins) {
        int64_t t = ctx->told_since ? ctx->since : ws_now(),
                cpu = ctx->told_since ? ctx->since_cpu : ws_process_cpu();
        ws_program_started_at(&s->pub, t, (uint64_t)(ctx->node / ctx->per_process), cpu);
    }
    return &s->pub;
}

ws_stream *ws_worker_open(ws_context *ctx, int64_t since) {
    wsi_stream *s = 0;
    pthread_mutex_lock(&ctx->mu);
    if (ctx->growing && ctx->workers < WS_NO_WORKER && !ctx->refuse &&
        (s = wsi_new_stream(ctx, ctx->workers)) != 0) {
        ctx->workers++;
        if (!ctx->manual)
            ws_program_started_at(&s->pub, since ? since : ctx->since,
                                  (uint64_t)(ctx->node / ctx->per_process), ctx->since_cpu);
        /* If the program is killed, readers of the trace need the number of workers. */
        if (ctx->run_info && !wsi_off(ctx)) wsi_write_run(ctx, "", 0, 0);
    }
    int refused = ctx->refuse || wsi_off(ctx);
    pthread_mutex_unlock(&ctx->mu);
    if (!s && !refused)
        wsi_fail(ctx, ctx->growing ? "too many workers, or no memory for one: its events are lost"
                                   : "ws_worker_open is for contexts with workers = -1");
    return s ? &s->pub : &wsi_no_stream.pub;
}


/* ---- Settings and run.json ----------------------------------------------------------------------- */

static void wsi_text(wsi_bytes *b, const char *s) { wsi_append(b, s, strlen(s)); }

static void wsi_number(wsi_bytes *b, long long v) {
    char tmp[24];
    snprintf(tmp, sizeof tmp, "%lld", v);
    wsi_text(b, tmp);
}

/* wsi_escape appends the text between the quotes of a JSON string. */
static void wsi_escape(wsi_bytes *b, const char *s) {
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        char tmp[8];
        if (c == '"' || c == '\\') snprintf(tmp, sizeof tmp, "\\%c", c);
        else if (c < 0x20) snprintf(tmp, sizeof tmp, "\\u%04x", c);
        else snprintf(tmp, sizeof tmp, "%c", c);
        wsi_text(b, tmp);
    }
}

/* wsi_quote appends a JSON string. */
static void wsi_quote(wsi_bytes *b, const char *s) {
    wsi_text(b, "\"");
    wsi_escape(b, s);
    wsi_text(b, "\"");
}

static void wsi_pair_json(wsi_bytes *b, const char *key, const char *value) {
    wsi_quote(b, key);
    wsi_text(b, ": ");
    wsi_quote(b, value);
}

void ws_setting(ws_context *ctx, const char *key, const char *value) {
    if (wsi_off(ctx)) return;
    pthread_mutex_lock(&ctx->defs_mu);
    wsi_text(&ctx->settings, ", ");
    wsi_pair_json(&ctx->settings, key, value);
    pthread_mutex_unlock(&ctx->defs_mu);
}

/* wsi_read_file reads at most size-1 bytes and returns how many it read. */
static size_t wsi_read_file(const char *path, char *text, size_t size) {
    size_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        for (ssize_t k; n < size - 1 && (k = read(fd, text + n, size - 1 - n)) > 0;) n += (size_t)k;
        close(fd);
    }
    text[n] = 0;
    return n;
}

/* wsi_count_cores counts the cores in a list such as "0-3,8". */
static int wsi_count_cores(const char *list) {
    int count = 0;
    for (char *q = (char *)list; *q;) {
        long a = strtol(q, &q, 10), z = a;
        if (*q == '-') z = strtol(q + 1, &q, 10);
        count += (int)(z - a + 1);
        if (*q++ != ',') break;
    }
    return count;
}

/* wsi_affinity stores the list of cores that the process may use and returns their number. */
static int wsi_affinity(char *list, size_t size) {
    char text[8192];
    int count = 0;
    *list = 0;
    wsi_read_file("/proc/self/status", text, sizeof text);
    char *p = strstr(text, "\nCpus_allowed_list:");
    if (p) {
        p += strlen("\nCpus_allowed_list:");
        p += strspn(p, " \t");
        snprintf(list, size, "%.*s", (int)strcspn(p, "\n"), p);
        count = wsi_count_cores(list);
    }
#ifdef _SC_NPROCESSORS_ONLN
    if (!count) count = (int)sysconf(_SC_NPROCESSORS_ONLN);
#endif
    return count;
}

/* wsi_secret tells whether an argument names a secret: a flag or variable whose name ends in token, password
 * and so on. If so, it returns the length of the name, counting "=" if the value follows in the same
 * argument; otherwise 0. */
static size_t wsi_secret(const char *arg) {
    static const char *const ends[] = {"token",      "password",    "passwd",  "secret", "secrets",
                                       "credential", "credentials", "api_key", "apikey"};
    /* _ in them matches any character. */
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t n = strspn(arg, letters);
    if (arg[n] && arg[n] != '=') return 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]), same = 0;
        while (n >= k && same < k && ((arg[n - k + same] | 32) == ends[i][same] || ends[i][same] == '_'))
            same++;
        if (same == k) return n + (arg[n] == '=');
    }
    return 0;
}

/* wsi_command_line appends the arguments from number skip on as a JSON list of strings, with *** for
 * secrets. */
static void wsi_command_line(wsi_bytes *b, size_t skip) {
    const size_t size = 1 << 16;
    char *text = (char *)malloc(size);
    size_t n = text ? wsi_read_file("/proc/self/cmdline", text, size) : 0, count = 0;
    int next = 0; /* this argument is the value of the flag before it */
    wsi_text(b, "[");
    for (size_t i = 0, k = 0, length; i < n; i += length + 1, k++) {
        char *arg = text + i;
        length = strlen(arg);
        size_t name = next ? 0 : wsi_secret(arg);
        int same = name && arg[name - 1] == '=', secret = next || same;
        next = name && !same && *arg == '-';
        if (secret) arg[name] = 0;
        if (k < skip) continue;
        wsi_text(b, count++ ? ", \"" : "\"");
        wsi_escape(b, arg);
        wsi_text(b, secret ? "***\"" : "\"");
    }
    wsi_text(b, "]");
    free(text);
}

static void wsi_key(wsi_bytes *b, const char *key) {
    wsi_text(b, b->n > 2 ? ",\n  " : "  ");
    wsi_quote(b, key);
    wsi_text(b, ": ");
}

/* wsi_unwritten appends how many events could not be written and have no onLost in the file, and why. Nobody
 * may be writing when it is called. */
static void wsi_unwritten(ws_context *ctx, wsi_bytes *b) {
    uint64_t n = 0;
    for (size_t i = 0; i < ctx->nstreams; i++) n += ctx->streams[i]->unsaved.count;
    if (!n) return;
    wsi_text(b, ", \"unwritten\": ");
    wsi_number(b, (long long)n);
    wsi_text(b, ", ");
    wsi_pair_json(b, "error", ctx->error);
}

static void wsi_nodes(ws_context *ctx, wsi_bytes *b, const char *own) {
    char list[256];
    int cores = wsi_affinity(list, sizeof list), mine = ctx->node / ctx->per_process;
    wsi_key(b, "processes");
    wsi_text(b, "[");
    for (int i = 0; i * ctx->per_process < ctx->nodes; i++) {
        const char *host = ctx->hosts ? ctx->hosts[i * ctx->per_process] : i == mine ? own : "";
        wsi_text(b, i ? ",\n    {\"pid\": " : "\n    {\"pid\": ");
        wsi_number(b, i == mine ? (long long)getpid() : 0);
        wsi_text(b, ", ");
        wsi_pair_json(b, "host", host);
        const char *may = i == mine ? list : ctx->affinities ? ctx->affinities[i] : 0;
        if (may) {
            wsi_text(b, ", \"cores\": ");
            wsi_number(b, i == mine ? cores : wsi_count_cores(may));
            wsi_text(b, ", ");
            wsi_pair_json(b, "affinity", may);
        }
        wsi_text(b, "}");
    }
    wsi_text(b, "\n  ]");
    wsi_key(b, "nodes");
    wsi_text(b, "[");
    for (int i = 0; i < ctx->nodes; i++) {
        const char *host = ctx->hosts ? ctx->hosts[i] : i / ctx->per_process == mine ? own : "";
        wsi_text(b, i ? ",\n    {\"node\": " : "\n    {\"node\": ");
        wsi_number(b, i);
        wsi_text(b, ", ");
        wsi_pair_json(b, "host", host);
        wsi_text(b, ", \"process\": ");
        wsi_number(b, i / ctx->per_process);
        wsi_text(b, ", \"workers\": ");
        wsi_number(b, ctx->workers);
        if (i == ctx->node && ctx->closing) wsi_unwritten(ctx, b);
        wsi_text(b, "}");
    }
    wsi_text(b, "\n  ]");
}

static void wsi_run_json(ws_context *ctx, wsi_bytes *b, const char *ended, int exit_code,
                         const char *message) {
    char text[64];
    struct tm tm;
    struct utsname os;
    wsi_text(b, "{\n");
    if (*ctx->run) wsi_key(b, "id"), wsi_quote(b, ctx->run);
    wsi_key(b, "program");
    wsi_quote(b, ctx->program);
    wsi_key(b, "args");
    wsi_command_line(b, 1);
    wsi_key(b, "command_line");
    wsi_command_line(b, 0);
    wsi_key(b, "started");
    gmtime_r(&ctx->started.tv_sec, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + strlen(text), sizeof text - strlen(text), ".%09ldZ", ctx->started.tv_nsec);
    wsi_quote(b, text);
    wsi_key(b, "ended");
    wsi_quote(b, ended);
    if (exit_code) wsi_key(b, "exit"), wsi_number(b, exit_code);
    if (message && *message) wsi_key(b, "message"), wsi_quote(b, message);
    memset(&os, 0, sizeof os);
    uname(&os);
    wsi_nodes(ctx, b, os.nodename);
    wsi_key(b, "clock");
    wsi_quote(b, wsi_clock_name);
    wsi_key(b, "versions");
    wsi_text(b, "{");
    wsi_pair_json(b, "sdk", WHYSLOW_SDK_VERSION);
    wsi_text(b, ", ");
    wsi_pair_json(b, "compiler", __VERSION__);
    wsi_text(b, ", ");
    snprintf(text, sizeof text, "%.20s %.40s", os.sysname, os.release);
    wsi_pair_json(b, "os", text);
    wsi_text(b, "}");
    wsi_key(b, "settings");
    wsi_text(b, "{");
    wsi_pair_json(b, "codec", ctx->zstd ? "zstd" : "stored");
    if (ws_waited(ctx)) {
        snprintf(text, sizeof text, "%lld", (long long)ws_waited(ctx));
        wsi_text(b, ", ");
        wsi_pair_json(b, "waited_ns", text);
    }
    pthread_mutex_lock(&ctx->defs_mu);
    wsi_append(b, ctx->settings.p, ctx->settings.n);
    pthread_mutex_unlock(&ctx->defs_mu);
    wsi_text(b, "}\n}\n");
}

static int wsi_write_all(int fd, const uint8_t *p, size_t n) {
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return 0;
        p += k;
        n -= (size_t)k;
    }
    return 1;
}

/* wsi_write_run replaces run.json atomically: readers see the old or the new one. */
static void wsi_write_run(ws_context *ctx, const char *ended, int exit_code, const char *message) {
    wsi_bytes b = {0, 0, 0, 0};
    size_t len = strlen(ctx->dir) + 48;
    char *path = (char *)malloc(len), *tmp = (char *)malloc(len);
    errno = ENOMEM;
    if (path && tmp) {
        snprintf(path, len, "%s/run.json", ctx->dir);
        snprintf(tmp, len, "%s/run.json.%ld.tmp", ctx->dir, (long)getpid());
        wsi_run_json(ctx, &b, ended, exit_code, message);
        int fd = b.bad ? -1 : open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        int ok = fd >= 0 && wsi_write_all(fd, b.p, b.n);
        int err = errno;
        if (fd >= 0 && close(fd)) ok = 0, err = errno;
        if (ok && rename(tmp, path)) ok = 0, err = errno;
        if (!ok) {
            if (fd >= 0) unlink(tmp);
            wsi_fail(ctx, "cannot write %s: %s", path, strerror(err));
        }
    }
    free(path), free(tmp), free(b.p);
}


/* ---- Sending to a collector -----------------------------------------------------------------------
 *
 * WHYSLOW_TO=HOST:PORT sends the trace, while it grows, to a collector (whyslow serve). The program `whyslow
 * send` does that: it knows the protocol, tokens and TLS, and goes on after a break. It is started beside the
 * program, in a process group of its own, so that Ctrl+C leaves it the time for the rest. Its standard input
 * is a pipe that ends when this process does, even by kill -9. */

extern __attribute__((visibility("default"))) char **environ;

static const char *wsi_env(const char *name) {
    const char *v = getenv(name);
    return v && *v ? v : 0;
}

static void wsi_send_start(ws_context *ctx) {
    const char *to = wsi_env("WHYSLOW_TO");
    const char *command = wsi_env("WHYSLOW_COMMAND") ? wsi_env("WHYSLOW_COMMAND") : "whyslow";
    char node[16];
    int ends[2];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    if (!to) return;
    snprintf(node, sizeof node, "%d", ctx->node);
    /* The processes of a run send a node's file each: they may be on hosts with folders of their own. */
    const char *argv[] = {"whyslow", "send",     "--quiet", "--until-eof", "--to", to,
                          ctx->dir,  "--node", node,      0};
    if (ctx->nodes == 1) argv[7] = 0;
    if (pipe(ends)) {
        wsi_fail(ctx, "WHYSLOW_TO=%s: %s; nothing is sent", to, strerror(errno));
        return;
    }
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[0], 0);
    if (ends[0] != 0) posix_spawn_file_actions_addclose(&files, ends[0]);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int err = posix_spawnp(&ctx->sender, command, &files, &attr, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    close(ends[0]);
    if (!err) {
        ctx->sends = 1;
        ctx->alive = ends[1];
        return;
    }
    ctx->sender = 0;
    close(ends[1]);
    if (!ctx->quiet)
        fprintf(stderr,
                "whyslow: WHYSLOW_TO=%s: %s cannot be started (%s), so nothing is sent; set WHYSLOW_COMMAND "
                "to the path of whyslow\n",
                to, command, strerror(err));
}

/* wsi_send_end tells the sender that the trace is complete, and waits until it has sent the rest or has given
 * up. */
static void wsi_send_end(ws_context *ctx) {
    int status;
    if (!ctx->sends) return;
    ctx->sends = 0;
    close(ctx->alive);
    while (waitpid(ctx->sender, &status, 0) < 0 && errno == EINTR) {
    }
}


/* ---- Signals that end the program ----------------------------------------------------------------
 *
 * With the option signals, traces are completed before the program dies. A signal handler may do hardly
 * anything, and its thread may hold any lock. So a thread of ours waits on a pipe; the handler only wakes it
 * and waits for it to finish, for a second at most: after a crash inside malloc it may never finish. Then the
 * signal takes its usual course. */

static const int wsi_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGINT, SIGTERM, SIGHUP};
enum { WSI_SIGNALS = sizeof wsi_signals / sizeof *wsi_signals };
static struct sigaction wsi_old_action[WSI_SIGNALS];
static int wsi_wake[2];
static int wsi_signal_done; /* atomic */
static pid_t wsi_signal_pid;

static void wsi_finish(ws_context *ctx, int ended, int exit_code, const char *message);
static void wsi_finish_all(int ended, int exit_code, const char *message);

static void *wsi_signal_thread(void *arg) {
    unsigned char sig;
    char message[40];
    (void)arg;
    while (read(wsi_wake[0], &sig, 1) != 1) {
    }
    int asked = sig == SIGINT || sig == SIGTERM || sig == SIGHUP;
    snprintf(message, sizeof message, "ended by signal %d", sig);
    wsi_finish_all(asked ? WS_INTERRUPTED : WS_FAILED, 128 + sig, message);
    __atomic_store_n(&wsi_signal_done, 1, __ATOMIC_RELEASE);
    return 0;
}

static void wsi_on_signal(int sig) {
    static int taken;
    struct timespec ms = {0, 1000000};
    unsigned char byte = (unsigned char)sig;
    int saved = errno;
    /* The child of a fork shares the pipe but has nothing to complete. */
    if (getpid() == wsi_signal_pid &&
        (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQ_REL) || write(wsi_wake[1], &byte, 1) == 1))
        for (int i = 0; i < 1000 && !__atomic_load_n(&wsi_signal_done, __ATOMIC_ACQUIRE); i++)
            nanosleep(&ms, 0);
    for (int i = 0; i < WSI_SIGNALS; i++)
        if (wsi_signals[i] == sig) sigaction(sig, &wsi_old_action[i], 0);
    errno = saved;
    raise(sig); /* stays blocked until we return */
}

/* wsi_catch_signals is called once. Signals that the program ignores stay ignored. */
static void wsi_catch_signals(void) {
    struct sigaction action;
    sigset_t all, old;
    pthread_t thread;
    if (pipe(wsi_wake)) return;
    fcntl(wsi_wake[0], F_SETFD, FD_CLOEXEC);
    fcntl(wsi_wake[1], F_SETFD, FD_CLOEXEC);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int err = pthread_create(&thread, 0, wsi_signal_thread, 0);
    pthread_sigmask(SIG_SETMASK, &old, 0);
    if (err) return;
    pthread_detach(thread);
    wsi_signal_pid = getpid();
    memset(&action, 0, sizeof action);
    action.sa_handler = wsi_on_signal;
#ifdef SA_ONSTACK
    action.sa_flags = SA_ONSTACK;
#endif
    for (int i = 0; i < WSI_SIGNALS; i++) {
        sigaction(wsi_signals[i], 0, &wsi_old_action[i]);
        if (wsi_old_action[i].sa_handler != SIG_IGN) sigaction(wsi_signals[i], &action, 0);
    }
}


/* ---- Contexts: opening, closing, fork, exit ------------------------------------------------------- */

static pthread_mutex_t wsi_all_mu = PTHREAD_MUTEX_INITIALIZER;
static ws_context *wsi_all;
static ws_context wsi_no_context; /* what ws_open returns if there is no memory */
static pthread_once_t wsi_process_once = PTHREAD_ONCE_INIT;

/* The lists are locked before a fork, so that the child finds them whole. The child records nothing: its
 * streams, which it may go on using, are switched off, and the parent's file is left alone. */
static void wsi_before_fork(void) {
    pthread_mutex_lock(&wsi_all_mu);
    for (ws_context *c = wsi_all; c; c = c->link) pthread_mutex_lock(&c->mu);
}

static void wsi_in_parent(void) {
    for (ws_context *c = wsi_all; c; c = c->link) pthread_mutex_unlock(&c->mu);
    pthread_mutex_unlock(&wsi_all_mu);
}

static void wsi_in_child(void) {
    for (ws_context *c = wsi_all; c; c = c->link) {
        __atomic_store_n(&c->off, 1, __ATOMIC_RELEASE);
        c->refuse = 1;
        c->has_writer = 0;
        for (size_t i = 0; i < c->nstreams; i++) {
            c->streams[i]->pub.cap = c->streams[i]->pub.used = 0;
            pthread_mutex_init(&c->streams[i]->mu, 0);
        }
        if (c->fd >= 0) close(c->fd);
        c->fd = -1;
        if (c->sends) close(c->alive);
        c->sends = 0;
        pthread_mutex_init(&c->mu, 0);
        pthread_mutex_init(&c->emu, 0);
        pthread_mutex_init(&c->defs_mu, 0);
        pthread_mutex_init(&c->io, 0);
        pthread_cond_init(&c->cond, 0);
    }
    pthread_mutex_init(&wsi_all_mu, 0);
}

/* wsi_finish writes what the streams hold and completes the files. Threads may still be recording: events
 * that are complete when it is called are written, later ones are not. */
static void wsi_finish(ws_context *ctx, int ended, int exit_code, const char *message) {
    static const char *const words[] = {"done", "failed", "stuck", "interrupted"};
    pthread_mutex_lock(&ctx->mu);
    int done = ctx->refuse || wsi_off(ctx);
    ctx->refuse = 1; /* from now on no stream hands over its buffer or gets a new one */
    pthread_cond_broadcast(&ctx->cond);
    size_t n = ctx->nstreams;
    wsi_stream **streams = ctx->streams;
    pthread_mutex_unlock(&ctx->mu);
    if (done) return;
    wsi_buffer **rest = (wsi_buffer **)calloc(n + 1, sizeof *rest);
    for (size_t i = 0; rest && i < n; i++) rest[i] = wsi_rest(streams[i]);
    int64_t now = ws_now(), cpu = ws_process_cpu();
    pthread_mutex_lock(&ctx->mu);
    for (size_t i = 0; i < n; i++) {
        wsi_buffer *b = rest ? rest[i] : 0;
        if (!b) {
            wsi_fail(ctx, "stream %d: no memory, its last events are lost", streams[i]->id);
            continue;
        }
        if (streams[i]->id < ctx->workers && !ctx->manual) {
            uint64_t *r = WSI_WORDS(b) + b->n;
            r[0] = (uint64_t)now << 10 | WS_PROGRAM_FINISHED, r[1] = (uint64_t)cpu;
            b->n += WSI_END_WORDS;
        }
        wsi_enqueue(ctx, b);
    }
    ctx->closing = 1;
    pthread_cond_broadcast(&ctx->cond);
    pthread_mutex_unlock(&ctx->mu);
    free(rest);
    if (ctx->has_writer) pthread_join(ctx->writer, 0);
    wsi_writer(ctx); /* with sync there is no writer thread to do it */
    wsi_end_file(ctx);
    if (ctx->run_info) {
        char lost[700] = "";
        const char *error = ws_error(ctx);
        if (error)
            snprintf(lost, sizeof lost, "%s%s%s (%llu events lost)", message ? message : "",
                     message ? "; " : "", error, (unsigned long long)ws_lost_events(ctx));
        if (ended < WS_DONE || ended > WS_INTERRUPTED) ended = WS_FAILED;
        wsi_write_run(ctx, words[ended], exit_code, error ? lost : message);
    }
}

static void wsi_free(ws_context *ctx) {
    for (size_t i = 0; i < ctx->nstreams; i++) {
        free(ctx->streams[i]->buffer);
        pthread_mutex_destroy(&ctx->streams[i]->mu);
        free(ctx->streams[i]);
    }
    free(ctx->streams);
    for (wsi_buffer *b; (b = ctx->free_list) != 0;) ctx->free_list = b->link, free(b);
    for (size_t i = 0; i < ctx->names_cap; i++) free(ctx->names[i].text);
    for (int i = 0; i < WSI_KINDS; i++)
        if (ctx->kinds[i]) free(ctx->kinds[i]->space), free(ctx->kinds[i]->name), free(ctx->kinds[i]);
    for (int i = 0; ctx->hosts && i < ctx->nodes; i++) free(ctx->hosts[i]);
    for (int i = 0; ctx->affinities && i < ctx->nodes; i++) free(ctx->affinities[i]);
    if (ctx->fd >= 0) close(ctx->fd); /* the file could not be started */
    if (ctx->zstd) wsi_zstd.release(ctx->zstd);
    wsi_packer *p = &ctx->pack;
    free(p->at), free(p->order), free(p->kinds), free(p->vals), free(p->nodes);
    free(ctx->names), free(ctx->hosts), free(ctx->affinities), free(ctx->defs.rows.p), free(ctx->defs.dfs.p);
    free(ctx->settings.p), free(ctx->raw.p), free(ctx->block.p), free(ctx->index.p);
    free(ctx->unsaved_defs.p), free(ctx->dir), free(ctx->path), free(ctx->place), free(ctx->program);
    free(ctx->home);
    free(ctx);
}

int ws_close(ws_context *ctx, int ended, int exit_code, const char *message) {
    if (ctx == &wsi_no_context) return -1;
    wsi_finish(ctx, ended, exit_code, message);
    wsi_send_end(ctx);
    int bad = ctx->failed || ctx->lost;
    pthread_mutex_lock(&wsi_all_mu);
    for (ws_context **p = &wsi_all; *p; p = &(*p)->link)
        if (*p == ctx) {
            *p = ctx->link;
            break;
        }
    pthread_mutex_unlock(&wsi_all_mu);
    wsi_free(ctx);
    return bad ? -1 : 0;
}

static void wsi_finish_all(int ended, int exit_code, const char *message) {
    pthread_mutex_lock(&wsi_all_mu);
    for (ws_context *c = wsi_all; c; c = c->link) wsi_finish(c, ended, exit_code, message);
    pthread_mutex_unlock(&wsi_all_mu);
}

/* wsi_at_exit completes the traces of a program that exits without ws_close. */
static void wsi_at_exit(int status, void *arg) {
    (void)arg;
    wsi_finish_all(status ? WS_FAILED : WS_DONE, status, 0);
    for (ws_context *c = wsi_all; c; c = c->link) wsi_send_end(c);
}

#if defined(__GLIBC__)
#ifndef __cplusplus /* -std=c99 hides it */
extern __attribute__((visibility("default"))) int on_exit(void (*f)(int, void *), void *arg);
#endif
static void wsi_register_exit(void) { on_exit(wsi_at_exit, 0); }
#else
static void wsi_exit(void) { wsi_at_exit(0, 0); } /* atexit does not tell the status */
static void wsi_register_exit(void) { atexit(wsi_exit); }
#endif

static void wsi_process_init(void) {
    pthread_atfork(wsi_before_fork, wsi_in_parent, wsi_in_child);
    wsi_register_exit();
}

/* wsi_size parses "64k", "64Ki", "1m", "1Mi" or a number of bytes. It returns -1 for anything else. */
static long long wsi_size(const char *text) {
    const long long most = 1LL << 36;
    long long v = 0;
    const char *end = text;
    for (; *end >= '0' && *end <= '9'; end++) v = v < most ? 10 * v + *end - '0' : most;
    int k = *end == 'k' || *end == 'K', m = *end == 'm' || *end == 'M';
    if (end != text && (k || m)) {
        v *= k ? 1024 : 1024 * 1024;
        end += end[1] == 'i' ? 2 : 1;
    }
    return end == text || *end ? -1 : v;
}

/* Settings of the environment. A wrong one does not cost the recording: a line on standard error says that it
 * was left out, unless quiet. internal/record/pgas/launch refuses the same ones before a program starts. */

/* wsi_env_number reads a number, or returns otherwise. */
static long long wsi_env_number(int quiet, const char *name, long long otherwise, long long min,
                                long long max) {
    const char *text = wsi_env(name);
    if (!text) return otherwise;
    long long v = *text == '-' ? -wsi_size(text + 1) : wsi_size(text);
    if (v >= min && v <= max && (*text != '-' || v < 0)) return v;
    if (!quiet)
        fprintf(stderr, "whyslow: %s=%s is ignored: it must be a number from %lld to %lld\n", name, text, min,
                max);
    return otherwise;
}

/* wsi_env_choice reads a setting that must be one of n words. It returns the index of the word, or
 * otherwise. */
static int wsi_env_choice(int quiet, const char *name, int otherwise, const char *const *words, int n) {
    const char *text = wsi_env(name);
    if (!text) return otherwise;
    for (int i = 0; i < n; i++)
        if (!strcmp(text, words[i])) return i;
    if (!quiet) {
        fprintf(stderr, "whyslow: %s=%s is ignored: it must be", name, text);
        for (int i = 0; i < n; i++) fprintf(stderr, "%s %s", !i ? "" : i == n - 1 ? " or" : ",", words[i]);
        fprintf(stderr, "\n");
    }
    return otherwise;
}

static const char *const wsi_switch[] = {"0", "1"};
static const char *const wsi_clocks[] = {"monotonic", "tsc", "auto"};

static int wsi_is_run(const char *id) {
    size_t n = 0;
    while (n < 32 && wsi_hex(id[n]) >= 0) n++;
    return n == 32 && !id[n];
}

/* wsi_take_run sets the run's id: the given one, or a random one if there is only this node. */
static void wsi_take_run(ws_context *ctx, const char *id) {
    char bytes[17];
    const char *env = wsi_env("WHYSLOW_RUN_ID");
    if (env && wsi_is_run(env)) id = env;
    else if (env && !ctx->quiet)
        fprintf(stderr, "whyslow: WHYSLOW_RUN_ID=%s is ignored: it must be 32 hexadecimal digits\n", env);
    if (id && wsi_is_run(id)) memcpy(ctx->run, id, 33);
    else if (id) wsi_fail(ctx, "the run's id (run_id) must be 32 hexadecimal digits; nothing is recorded");
    else if (ctx->nodes == 1 && wsi_read_file("/dev/urandom", bytes, sizeof bytes) == 16)
        for (int n = 0; n < 16; n++) snprintf(ctx->run + 2 * n, 3, "%02x", (unsigned char)bytes[n]);
}

static long long wsi_clamp(long long v, long long otherwise, long long min, long long max) {
    if (!v) return otherwise;
    return v < min ? min : v > max ? max : v;
}

/* wsi_write_locally lets the file be written in a folder of this host, under a name that other runs and
 * processes do not use, and moved to the trace's when it is complete. */
static void wsi_write_locally(ws_context *ctx, const char *dir) {
    const char *base = strrchr(ctx->dir, '/') ? strrchr(ctx->dir, '/') + 1 : ctx->dir;
    size_t len = strlen(dir) + strlen(base) + 40;
    char *path = (char *)malloc(len);
    if (wsi_env("WHYSLOW_TO")) {
        if (!ctx->quiet)
            fprintf(stderr,
                    "whyslow: WHYSLOW_LOCAL_DIR=%s is ignored: what is sent must be in the trace's folder\n",
                    dir);
        free(path);
        return;
    }
    ctx->home = ctx->path;
    ctx->path = path;
    if (path) snprintf(path, len, "%s/%s.%ld.%05d.wst", dir, base, (long)getpid(), ctx->node);
}

static int wsi_settings(ws_context *ctx, const ws_options *o) {
    char exe[4096];
    ctx->node = o->node;
    ctx->nodes = o->nodes ? o->nodes : 1;
    ctx->growing = o->workers < 0;
    ctx->workers = o->workers < 0 ? 0 : o->workers ? o->workers : 1;
    ctx->per_process = o->per_process ? o->per_process : 1;
    ctx->manual = o->manual;
    if (ctx->nodes < 1 || ctx->nodes > 65536 || ctx->node < 0 || ctx->node >= ctx->nodes ||
        ctx->per_process < 1 || o->workers < -1) {
        wsi_fail(ctx, "node %d of %d with %d workers, %d nodes per process: impossible; see ws_options",
                 ctx->node, ctx->nodes, ctx->growing ? -1 : ctx->workers, ctx->per_process);
        return 0;
    }
    wsi_take_run(ctx, o->run_id);
    ctx->run_info = !o->no_run_info && ctx->node == 0;
    static const char *const full[] = {"wait", "drop"};
    int quiet = ctx->quiet;
    long long bytes = wsi_clamp((long long)o->buffer_bytes, 128 << 10, 1 << 10, 64 << 20);
    ctx->words = (size_t)wsi_env_number(quiet, "WHYSLOW_BUFFER", bytes, 1 << 10, 64 << 20) / 8;
    ctx->pool = (int)wsi_env_number(quiet, "WHYSLOW_POOL", wsi_clamp(o->pool, 8, 1, 1 << 20), 1, 1 << 20);
    ctx->level = (int)wsi_env_number(quiet, "WHYSLOW_LEVEL", wsi_clamp(o->level, 0, -1, 4), -1, 4);
    ctx->sync = wsi_env_choice(quiet, "WHYSLOW_SYNC", !!o->sync, wsi_switch, 2);
    int flush_ms = o->flush_ms > 0 ? o->flush_ms : wsi_env("WHYSLOW_TO") ? 1000 : 0;
    ctx->flush = (int64_t)flush_ms * 1000000;
    ctx->drop = wsi_env_choice(quiet, "WHYSLOW_FULL", o->full == WS_DROP, full, 2);
    ctx->signals = wsi_env_choice(quiet, "WHYSLOW_SIGNALS", !!o->signals, wsi_switch, 2);
    int wish = 2;
    while (o->clock && wish >= 0 && strcmp(o->clock, wsi_clocks[wish])) wish--;
    if (wish < 0) wsi_fail(ctx, "clock=%s: it must be monotonic, tsc or auto; nothing is recorded", o->clock);
    wish = wsi_env_choice(quiet, "WHYSLOW_CLOCK", wish, wsi_clocks, 3);
    if (wish == 2) wish = ctx->nodes <= ctx->per_process;
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = 0;
    const char *base = strrchr(exe, '/') ? strrchr(exe, '/') + 1 : "program";
    ctx->program = wsi_copy(o->program ? o->program : base);
    const char *dir = wsi_env("WHYSLOW_TRACE") ? wsi_env("WHYSLOW_TRACE") : o->dir && *o->dir ? o->dir : 0;
    size_t len = (dir ? strlen(dir) : strlen(base)) + 8;
    if ((ctx->dir = (char *)malloc(len)) != 0)
        snprintf(ctx->dir, len, "%s%s", dir ? dir : base, dir ? "" : ".trace");
    if ((ctx->path = (char *)malloc(len + 16)) != 0 && ctx->dir)
        snprintf(ctx->path, len + 16, "%s/%05d.wst", ctx->dir, ctx->node);
    if (ctx->path && wsi_env("WHYSLOW_LOCAL_DIR")) wsi_write_locally(ctx, wsi_env("WHYSLOW_LOCAL_DIR"));
    int ok = ctx->program && ctx->dir && ctx->path;
    if (o->hosts && ok && (ok = (ctx->hosts = (char **)calloc((size_t)ctx->nodes, sizeof *ctx->hosts)) != 0))
        for (int i = 0; i < ctx->nodes; i++)
            ok = ok && (ctx->hosts[i] = wsi_copy(o->hosts[i] ? o->hosts[i] : "")) != 0;
    if (!ok) wsi_fail(ctx, "no memory: nothing is recorded");
    if (ok && !ctx->failed) {
        wsi_clock_start(wish);
        ctx->told_since = o->since != 0;
        ctx->since = o->since ? o->since : ws_now();
        ctx->since_cpu = o->since ? o->since_cpu : ws_process_cpu();
    }
    return ok && !ctx->failed;
}

/* wsi_make_dir makes a folder and its parents. Returns an errno. */
static int wsi_make_dir(char *path) {
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/') continue;
        char c = *p;
        *p = 0;
        int err = mkdir(path, 0777) && errno != EEXIST ? errno : 0;
        *p = c;
        if (!c) return err;
    }
}

/* wsi_place_of returns the absolute form of a path, which stays valid when the program changes its directory.
 * Null: unknown. */
static char *wsi_place_of(const char *path) {
    char cwd[4096];
    if (*path == '/') *cwd = 0;
    else if (!getcwd(cwd, sizeof cwd)) return 0;
    size_t len = strlen(cwd) + strlen(path) + 2;
    char *place = (char *)malloc(len);
    if (place) snprintf(place, len, "%s%s%s", cwd, *cwd ? "/" : "", path);
    return place;
}

/* wsi_begin opens the file, and for node 0 the trace. Returns 0 on failure. */
static int wsi_begin(ws_context *ctx) {
    int err = wsi_make_dir(ctx->dir);
    if (!err && ctx->home) {
        char *name = strrchr(ctx->path, '/');
        *name = 0;
        err = wsi_make_dir(ctx->path);
        *name = '/';
        unlink(ctx->home); /* of an earlier run; mostly it is not there */
    }
    if (!err && (ctx->fd = open(ctx->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) < 0) err = errno;
    /* Another process may still be writing the file: the program that started this one, with the same
     * environment. */
    if (!err && flock(ctx->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        wsi_fail(ctx, "another process is writing %s; nothing is recorded", ctx->path);
        return 0;
    }
    if (!err && ftruncate(ctx->fd, 0) && errno != EINVAL) err = errno; /* EINVAL: a pipe or device */
    if (!err) err = wsi_start_file(ctx);
    if (!err) ctx->place = wsi_place_of(ctx->path);
    if (!err && !ctx->sync) err = wsi_start_writer(ctx);
    if (err) {
        wsi_fail(ctx, "cannot write %s: %s; nothing is recorded", ctx->path, strerror(err));
        return 0;
    }
    if (!ctx->run_info) {
        wsi_send_start(ctx);
        return 1;
    }
    /* Files of nodes of an earlier run in the same folder would be taken for ours. */
    size_t len = strlen(ctx->dir) + 16;
    char *old = (char *)malloc(len);
    for (int i = ctx->nodes; old && i < 65536; i++) {
        snprintf(old, len, "%s/%05d.wst", ctx->dir, i);
        if (unlink(old)) break;
    }
    free(old);
    wsi_write_run(ctx, "", 0, 0);
    wsi_send_start(ctx);
    return 1;
}

static void wsi_init(ws_context *ctx) {
    ctx->fd = -1;
    ctx->nodes = ctx->per_process = 1;
    ctx->queue_end = &ctx->queue;
    pthread_mutex_init(&ctx->mu, 0);
    pthread_mutex_init(&ctx->emu, 0);
    pthread_mutex_init(&ctx->defs_mu, 0);
    pthread_mutex_init(&ctx->io, 0);
    pthread_cond_init(&ctx->cond, 0);
    for (size_t i = 0; i < sizeof wsi_standard / sizeof *wsi_standard; i++)
        ctx->layouts[wsi_standard[i].kind] = &wsi_standard[i];
}

static void wsi_no_context_init(void) {
    wsi_init(&wsi_no_context);
    wsi_no_context.off = 1;
    wsi_fail(&wsi_no_context, "no memory: nothing is recorded");
}

ws_context *ws_open(const ws_options *opt) {
    static pthread_once_t none = PTHREAD_ONCE_INIT, signals = PTHREAD_ONCE_INIT;
    ws_options zero;
    memset(&zero, 0, sizeof zero);
    if (!opt) opt = &zero;
    pthread_once(&wsi_process_once, wsi_process_init);
    pthread_once(&wsi_crc_once, wsi_crc_init);
    pthread_once(&wsi_zstd_once, wsi_zstd_init);
    ws_context *ctx = (ws_context *)calloc(1, sizeof *ctx);
    if (!ctx) {
        pthread_once(&none, wsi_no_context_init);
        return &wsi_no_context;
    }
    wsi_init(ctx);
    ctx->quiet = opt->quiet;
    clock_gettime(CLOCK_REALTIME, &ctx->started);
    int off = wsi_env_choice(ctx->quiet, "WHYSLOW_OFF", 0, wsi_switch, 2) || !wsi_settings(ctx, opt);
    if (!off && ctx->level >= 0 && wsi_zstd_there) ctx->zstd = wsi_zstd.create();
    if (off || !wsi_begin(ctx)) __atomic_store_n(&ctx->off, 1, __ATOMIC_RELEASE);
    pthread_mutex_lock(&wsi_all_mu);
    ctx->link = wsi_all;
    wsi_all = ctx;
    pthread_mutex_unlock(&wsi_all_mu);
    if (ctx->signals && !wsi_off(ctx)) pthread_once(&signals, wsi_catch_signals);
    return ctx;
}

const char *ws_error(const ws_context *ctx) {
    return __atomic_load_n(&ctx->failed, __ATOMIC_ACQUIRE) ? ctx->error : 0;
}
uint64_t ws_lost_events(const ws_context *ctx) { return __atomic_load_n(&ctx->lost, __ATOMIC_RELAXED); }
int64_t ws_waited(const ws_context *ctx) { return __atomic_load_n(&ctx->waited, __ATOMIC_RELAXED); }
int ws_active(const ws_context *ctx) { return !wsi_off(ctx); }
const char *ws_dir(const ws_context *ctx) { return ctx->dir ? ctx->dir : ""; }

#ifdef __cplusplus
}
#endif
#endif /* WHYSLOW_IMPLEMENTATION */
