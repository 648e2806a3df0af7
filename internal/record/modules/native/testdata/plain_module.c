/* A module in C99 that uses everything a host offers. Its parameter "mode" says what it does wrong, if
 * anything. */
#include "whyslow_module.h"

#include <stdlib.h>

typedef struct state {
    const wsm_host *host;
    const wsm_spec *sum;  /* its own event */
    const char *mode;
    int out;
    long handled, others; /* events */
    int64_t cpu;
} state;

/* What other modules get from get_module; reader_module.cpp knows it, too. */
typedef struct plain_api {
    long (*handled)(const void *self);
    const void *self;
} plain_api;

static long api_handled(const void *self) {
    return __atomic_load_n(&((const state *)self)->handled, __ATOMIC_RELAXED);
}
static plain_api the_api = {api_handled, NULL};

static int is(const state *s, const char *mode) { return strcmp(s->mode, mode) == 0; }

static int overflow(int n) {
    volatile char big[4096];
    big[0] = (char)n;
    return n < 0 ? 0 : overflow(n + 1) + big[0];
}

static void on_finished(const wsm_event *e, void *user) {
    state *s = user;
    if (is(s, "crash")) *(volatile int *)0x10 = 1;
    if (is(s, "abort")) abort();
    if (is(s, "exit")) exit(5);
    if (is(s, "overflow")) s->cpu = overflow(0);
    if (is(s, "divide")) s->cpu = 1000 / (int)s->cpu;
    if (is(s, "fail")) s->host->fail(s->host, "as it was told to");
    if (is(s, "late connect")) s->host->connect(s->host, "CFEvents.onReady", on_finished, s);
    __atomic_add_fetch(&s->handled, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&s->cpu, wsm_int(e, (uint32_t)wsm_find(e->spec, "cpu")), __ATOMIC_RELAXED);
}

/* Prints every field of an event as text, and emits the sum of a list's elements as an event of its own. */
static void on_any(const wsm_event *e, void *user) {
    state *s = user;
    char text[32], line[512];
    uint32_t i;
    uint64_t n, k, words[6], sum = 0;
    const uint64_t *list = wsm_list(e, &n);
    const char *texts[1];
    size_t at;
    if (e->spec == s->sum) return;
    __atomic_add_fetch(&s->others, 1, __ATOMIC_RELAXED);
    at = (size_t)snprintf(line, sizeof line, "%d.%d %lld %s.%s", e->node, e->stream, (long long)e->time,
                          e->spec->ns, e->spec->name);
    for (i = 0; i < e->spec->fields; i++) {
        size_t whole = s->host->text(e, i, text, sizeof text);
        at += (size_t)snprintf(line + at, sizeof line - at, " %s=%s%s", e->spec->field[i].name, text,
                               whole >= sizeof text ? "..." : "");
    }
    wsm_printf(s->host, s->out, "%s\n", line);
    if (is(s, "bad text")) s->host->text(e, 99, text, sizeof text);
    if (!list) return;
    for (k = 0; k < n; k++) sum += list[k];
    texts[0] = e->spec->name;
    words[0] = 0;
    words[1] = sum;
    words[2] = wsm_float_word((double)sum / 2);
    words[3] = 2;
    words[4] = n;
    words[5] = sum;
    s->host->emit(e, is(s, "bad emit") ? e->spec : s->sum, 77, words, is(s, "short emit") ? 3 : 6, texts, 1);
}

static void *start(const wsm_host *host) {
    static const char *const kinds[] = {"CFEvents.onStarted", "DFEvents.*", "MyEvents::onSay"};
    state *s = calloc(1, sizeof *s);
    const char *const *t;
    size_t i;
    const wsm_site *site;
    s->host = host;
    s->mode = host->param(host, "mode")->text;
    s->out = host->open(host, host->param(host, "file")->text);
    if (is(s, "crash at start")) *(volatile int *)0x20 = 1;
    if (is(s, "fail at start")) host->fail(host, "it does not feel like it");
    if (is(s, "bad parameter") && host->param(host, "mood")->text[0]) return NULL;
    if (is(s, "bad event")) host->connect(host, "onStarted", on_any, s);
    if (is(s, "bad signature")) host->define(host, "SumEvents.onSum(sum:Number)");
    s->sum = host->define(host, "SumEvents.onSum(of:Name sum:Uint half:Float both:Ints)");
    host->connect(host, "CFEvents::onFinished", on_finished, s);
    for (i = 0; i < sizeof kinds / sizeof *kinds; i++) host->connect(host, kinds[i], on_any, s);
    wsm_printf(host, s->out, "%s on %s: %d nodes, %d workers, pid %d, %s, started %lld %lld\n",
               host->run->program, host->run->host, host->run->nodes, host->run->workers, host->run->pid,
               host->run->args[0], (long long)host->run->started_unix_ns, (long long)host->run->start);
    wsm_printf(host, s->out, "%lld %g %lld", (long long)host->param(host, "depth")->integer,
               host->param(host, "ratio")->real, (long long)host->param(host, "loud")->integer);
    for (t = host->param(host, "words")->texts; *t; t++) wsm_printf(host, s->out, " [%s]", *t);
    site = host->site(host, 1, 7);
    wsm_printf(host, s->out, "\n%s %s %s %s:%d:%d %s\n", site->code, site->kind, site->label, site->file,
               site->line, site->column, site->text);
    host->warn(host, "this is a warning");
    the_api.self = s;
    return s;
}

static void finish(void *self) {
    state *s = self;
    char df[32];
    if (is(s, "crash at end")) abort();
    if (is(s, "fail at end")) s->host->fail(s->host, "nothing to write");
    s->host->df(s->host, 0, 5, df, sizeof df);
    wsm_printf(s->host, s->out, "%ld finished, %lld ns; %ld others; %s\n", s->handled, (long long)s->cpu,
               s->others, df);
}

static int query(void *self, const char *what, int node, double *value) {
    state *s = self;
    if (strcmp(what, "handled") != 0) return 0;
    *value = (double)s->handled + node * 1000;
    return 1;
}

static const void *api(void *self) {
    (void)self;
    return &the_api;
}

static const char *const events[] = {"CFEvents.onFinished", "CFEvents.onStarted", "DFEvents.*",
                                     "MyEvents.onSay", NULL};
static const char *const emits[] = {"SumEvents.onSum(of:Name sum:Uint half:Float both:Ints)", NULL};
static const wsm_param params[] = {
    {"file", WSM_PARAM_STRING, "", NULL, "where it writes"},
    {"mode", WSM_PARAM_STRING, "", NULL, "what it does wrong"},
    {"depth", WSM_PARAM_INT, "-3", NULL, "an integer"},
    {"ratio", WSM_PARAM_FLOAT, "0.25", NULL, "a number"},
    {"loud", WSM_PARAM_BOOL, "true", NULL, "a truth"},
    {"words", WSM_PARAM_STRINGS, "a,b c", NULL, "strings"},
    {"taste", WSM_PARAM_STRING, "sweet", "sweet|sour", "one of two"},
    {NULL, 0, NULL, NULL, NULL},
};
static const wsm_module module = {.version = WSM_VERSION,
                                  .name = "plain_module",
                                  .doc = "does it all",
                                  .output = "lines",
                                  .cost = "little",
                                  .events = events,
                                  .emits = emits,
                                  .params = params,
                                  .start = start,
                                  .finish = finish,
                                  .release = free,
                                  .query = query,
                                  .api = api};

const wsm_module *whyslow_module(void) { return &module; }
