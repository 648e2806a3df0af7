
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
