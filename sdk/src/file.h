
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
