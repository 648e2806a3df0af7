
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
