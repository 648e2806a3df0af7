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
