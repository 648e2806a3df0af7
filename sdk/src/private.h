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
