
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
