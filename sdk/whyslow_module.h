#ifndef WHYSLOW_MODULE_H
#define WHYSLOW_MODULE_H
/* whyslow_module.h: profiling modules for whyslow in C and C++, as shared libraries.
 *
 * A module receives the events of a running program, keeps what it wants and writes its results at the end.
 * whyslow loads it by name from modules_settings.json; nothing is recompiled. This file is the interface
 * itself, in C; whyslow_module.hpp puts classes and lambdas on top.
 *
 *     #include "whyslow_module.h"
 *
 *     static long count;
 *     static void on_finished(const wsm_event *e, void *user) {
 *         __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
 *     }
 *     static void *start(const wsm_host *host) {
 *         host->connect(host, "CFEvents.onFinished", on_finished, NULL);
 *         return &count;
 *     }
 *     static const wsm_module module = {.version = WSM_VERSION, .name = "finished_module", .start = start};
 *     const wsm_module *whyslow_module(void) { return &module; }
 *
 *     cc -O2 -fPIC -shared -o libfinished_module.so finished_module.c
 *
 * C99 or C++11, no dependency. docs/events.md lists the events and their fields.
 *
 * Rules.
 * - Handlers run on the worker that emits the event, on several workers at once. State that they share needs
 *   an atomic or a lock. One lock per event is expensive; prefer a part for each (node, stream), for which
 *   only one thread at a time emits. An event and what it points to last until the handler returns.
 * - Call connect and open only in start. Call define in start or in handlers. Call emit only in handlers,
 *   with their own event. Everything else may be called from start to release, by any thread.
 * - finish is called after the last event, when no handler is running. Modules finish in the order in which
 *   they handle events, so those that a module uses finish before it. What they returned from api stays valid
 *   until release.
 * - If a call of the host fails, for example because it names an unknown parameter, the module has failed. At
 *   the start this keeps the program from starting. Later the module is disconnected, the user is told why,
 *   and the program goes on. fail has the same effect, and so has an exception that leaves C++ code of a
 *   module. In C, return afterwards.
 * - A crash (SIGSEGV, SIGFPE, abort ...) in a call from whyslow also disconnects the module; its finish is
 *   not called. The program goes on as far as the damage allows. A crash in one of the module's own threads
 *   ends the run, and exit ends the process.
 * - Libraries are unloaded when the program has ended, after release; after a crash they are not. Threads of
 *   a module must have ended by then. Static objects are shared by all runs in a process: keep state in the
 *   object that start makes.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdarg.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. whyslow rejects libraries with a version that it does not know, and says so. */
#define WSM_VERSION 1

#if defined(__GNUC__)
#define WSM_VISIBLE __attribute__((visibility("default")))
#else
#define WSM_VISIBLE
#endif

/* ---- Events ------------------------------------------------------------------------------ */

/* Types of fields; each value is one 64-bit word. */
enum {
    WSM_INT = 1, /* int64_t */
    WSM_UINT,    /* uint64_t */
    WSM_FLOAT,   /* double */
    WSM_CF,      /* node and number, see wsm_cf_node; 0: none */
    WSM_DF,      /* number in its node, see wsm_host.df; 0: none */
    WSM_SITE,    /* statement of the program: number in its node, see wsm_host.site */
    WSM_NAME,    /* string: wsm_host.text returns it; the word has no meaning */
    WSM_NODE,    /* int64_t */
    WSM_MESSAGE, /* sending node and number, like WSM_CF */
    WSM_NS,      /* int64_t, nanoseconds */
    WSM_BYTES,   /* int64_t */
    WSM_REASON,  /* why a DF was destroyed: WSM_EXPIRED and so on */
    WSM_INTS,    /* list of int64_t; only as the last field */
    WSM_DFS      /* list of WSM_DF; only as the last field */
};

/* Values of WSM_REASON. */
enum { WSM_EXPIRED, WSM_DELETED, WSM_END };

/* The largest number of fields of an event. */
#define WSM_MAX_FIELDS 16

typedef struct wsm_host wsm_host;

typedef struct wsm_field {
    const char *name;
    uint32_t type; /* WSM_INT ... */
} wsm_field;

/* A kind of event. There is one object for each, so addresses may be compared. They are valid until release
 * has returned. */
typedef struct wsm_spec {
    const char *ns;      /* "CFEvents" */
    const char *name;    /* "onStarted" */
    uint32_t kind;       /* number of a standard kind, 0 for events of programs and modules */
    uint32_t fields;     /* how many */
    uint32_t fixed;      /* how many come before the list; only the last field can be a list */
    const wsm_field *field;
} wsm_spec;

typedef struct wsm_event {
    const wsm_host *host;
    const wsm_spec *spec;
    int64_t time;          /* nanoseconds since an arbitrary moment, as from wsm_host.now */
    int32_t node, stream;  /* where it happened; streams 0 to the number of workers - 1 are workers */
    const uint64_t *words; /* fields in order; a list is the number of its elements, then the elements */
    uint32_t count;        /* number of words */
    uintptr_t ref;         /* for the host */
} wsm_event;

typedef void (*wsm_handler)(const wsm_event *event, void *user);

/* Fields by number, from 0. The field must exist. */
static inline int64_t wsm_int(const wsm_event *e, uint32_t i) { return (int64_t)e->words[i]; }
static inline uint64_t wsm_uint(const wsm_event *e, uint32_t i) { return e->words[i]; }
static inline double wsm_float(const wsm_event *e, uint32_t i) {
    double d;
    memcpy(&d, &e->words[i], sizeof d);
    return d;
}

/* wsm_float_word returns the word of a field of type WSM_FLOAT, for emit. */
static inline uint64_t wsm_float_word(double d) {
    uint64_t w;
    memcpy(&w, &d, sizeof w);
    return w;
}

/* wsm_list returns the elements of the list and stores their number in n: 0 if the event has no list. */
static inline const uint64_t *wsm_list(const wsm_event *e, uint64_t *n) {
    *n = 0;
    if (e->spec->fixed == e->spec->fields || e->count <= e->spec->fixed) return NULL;
    *n = e->count - e->spec->fixed - 1;
    return e->words + e->spec->fixed + 1;
}

/* wsm_find returns the number of the field of that name, or -1. */
static inline int wsm_find(const wsm_spec *s, const char *name) {
    uint32_t i;
    for (i = 0; i < s->fields; i++)
        if (strcmp(s->field[i].name, name) == 0) return (int)i;
    return -1;
}

/* Parts of the id of a CF or message: the node that created it, and its number there, from 1. */
static inline int wsm_cf_node(uint64_t cf) { return (int)(cf >> 48); }
static inline uint64_t wsm_cf_number(uint64_t cf) { return cf & (((uint64_t)1 << 48) - 1); }

/* ---- The host ------------------------------------------------------------------------------ */

/* Types of parameters. */
enum {
    WSM_PARAM_STRING = 1,
    WSM_PARAM_INT,
    WSM_PARAM_FLOAT,
    WSM_PARAM_BOOL,
    WSM_PARAM_STRINGS /* list of strings */
};

/* Value of a parameter: configured or default. */
typedef struct wsm_value {
    uint32_t type;            /* WSM_PARAM_STRING ...; the members of other types are 0, "" or empty */
    int64_t integer;          /* for WSM_PARAM_BOOL, too: 0 or 1 */
    double real;              /* for WSM_PARAM_INT, too */
    const char *text;
    const char *const *texts; /* ends with NULL */
} wsm_value;

/* A statement of the program. */
typedef struct wsm_site {
    const char *code;  /* name of the code fragment it runs */
    const char *kind;  /* kind of the code fragment: "atomic", "sub", "for" and so on */
    const char *label; /* name of its label, without indices; "": none */
    const char *file;
    const char *text;  /* as written in the source */
    int line, column;  /* from 1; 0: unknown */
} wsm_site;

/* The run. */
typedef struct wsm_run {
    const char *program;      /* name of the program's file */
    const char *const *args;  /* the program's arguments, ends with NULL */
    const char *host;         /* name of the machine */
    int nodes, workers, pid;  /* nodes of this process, workers of each, id of the process */
    int64_t started_unix_ns;  /* the start, in nanoseconds since 1970 */
    int64_t start;            /* the start, in the time of events */
    int node;                 /* number of the first node of this process */
    int processes;            /* processes of the run; each has modules of its own */
} wsm_run;

/* Another module of the run. */
typedef struct wsm_peer {
    const char *name;
    const void *api; /* what its function api returned; NULL if it has none */
} wsm_peer;

/* What whyslow does for modules. It copies all strings passed to it; strings that it returns are valid until
 * release has returned. Functions that fill a buffer write at most size bytes, the last of them 0, and return
 * the length of the whole text without it. With size 0 they write nothing. */
struct wsm_host {
    uint32_t version; /* WSM_VERSION of the host; newer ones have more members at the end */
    uintptr_t ref;    /* for the host */
    const wsm_run *run;

    /* connect makes the host call f for every event of that name ("CFEvents.onStarted", also with ::). A * in
     * the name stands for any text: f is then called for all events that match, including those defined
     * later. Returns 0, or -1 if it failed. */
    int (*connect)(const wsm_host *host, const char *event, wsm_handler f, void *user);
    /* define makes an event of the module's own: "LoadEvents.onLoad(node:Node load:Float who:Name)". Types
     * are those of docs/events.md: Int Uint Float CF DF Site Name Node Message NS Bytes Reason Ints DFs. Such
     * events are recorded and reach other modules like those of the program. Returns NULL if it failed. */
    const wsm_spec *(*define)(const wsm_host *host, const char *signature);
    /* spec returns a standard kind of event, or one that this module has defined; NULL: there is none. */
    const wsm_spec *(*spec)(const wsm_host *host, const char *event);
    /* emit emits an event that define returned. in is the event whose handler calls it; time 0 means now.
     * Each field takes one word; a list is the number of its elements, then the elements; a name is its index
     * in texts. Returns 0, or -1 if it failed. */
    int (*emit)(const wsm_event *in, const wsm_spec *spec, int64_t time, const uint64_t *words,
                uint32_t count, const char *const *texts, uint32_t texts_count);

    /* text writes a field as people read it: names, DFs with indices, statements by their code fragment. */
    size_t (*text)(const wsm_event *e, uint32_t field, char *buf, size_t size);
    /* df writes the name of a DF with its indices, "grid[7][3]", or "#12" if it is unknown. */
    size_t (*df)(const wsm_host *host, int node, uint64_t df, char *buf, size_t size);
    const wsm_site *(*site)(const wsm_host *host, int node, uint64_t site);

    /* param returns a parameter of the module. An unknown name is a failure and returns an empty value. */
    const wsm_value *(*param)(const wsm_host *host, const char *name);

    /* get_module returns another running module, or NULL. Modules that this one uses start before it. */
    const wsm_peer *(*get_module)(const wsm_host *host, const char *name);
    /* query asks a module for a number of a node, by the name of the number: the state module knows "ready",
     * "running", "waiting", "busy", "bytes" and so on. Returns 1 and sets *value, or 0 if there is no such
     * number. */
    int (*query)(const wsm_host *host, const wsm_peer *of, const char *what, int node, double *value);

    /* open opens an output: "" is the terminal, "-" standard output; others are "tcp://HOST:PORT" or a file.
     * Returns the output, or -1 if it failed. */
    int (*open)(const wsm_host *host, const char *where);
    /* write appends text. The text of one call is never mixed with that of others. Output is buffered; it is
     * written when much has accumulated, and at the end. */
    void (*write)(const wsm_host *host, int output, const char *text, size_t size);
    /* warn shows the user one line. */
    void (*warn)(const wsm_host *host, const char *message);
    void (*fail)(const wsm_host *host, const char *message);
    int64_t (*now)(const wsm_host *host);
};

/* wsm_printf writes formatted text, at most 1023 bytes. */
static inline void wsm_printf(const wsm_host *host, int output, const char *format, ...) {
    char text[1024];
    va_list args;
    int n;
    va_start(args, format);
    n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0) host->write(host, output, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* ---- What a library offers ---------------------------------------------------------------------- */

typedef struct wsm_param {
    const char *name;
    uint32_t type;       /* WSM_PARAM_STRING ... */
    const char *value;   /* default, as text: "1000", "2.5", "true"; strings of a list have commas between */
    const char *choices; /* values that a string may have, separated by |; NULL: any */
    const char *doc;
} wsm_param;

/* Lists end with NULL; params ends with an entry without a name. Each list may be NULL, and so may every
 * function except start. */
typedef struct wsm_module {
    uint32_t version;          /* WSM_VERSION */
    const char *name;          /* "load_counter_module": letters, digits and _ */
    const char *doc;           /* one line each: what it does */
    const char *output;        /* what it writes, and where */
    const char *cost;          /* what it costs */
    const char *const *events; /* what it listens to: "CFEvents.onStarted", "DFEvents.*", "*" */
    const char *const *emits;  /* its own events, as passed to define */
    const char *const *uses;   /* modules it needs: they run whenever it does, and handle events before it */
    const wsm_param *params;
    /* start connects the handlers. Its result is passed to the other functions. */
    void *(*start)(const wsm_host *host);
    void (*finish)(void *self);
    /* release frees self, after all modules in C and C++ have finished. */
    void (*release)(void *self);
    /* query may be called by any thread at any time. It returns 0 if there is no number of that name. */
    int (*query)(void *self, const char *what, int node, double *value);
    /* api is called after start. Other modules in C and C++ get its result from get_module. */
    const void *(*api)(void *self);
} wsm_module;

/* The function that a library exports. */
WSM_VISIBLE const wsm_module *whyslow_module(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WHYSLOW_MODULE_H */
