
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
