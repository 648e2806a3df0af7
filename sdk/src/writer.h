
/* ---- Buffers and the writer thread ---------------------------------------------------------------------- */

static wsi_buffer *wsi_new_buffer(size_t words) { /* which are all set by their user */
    wsi_buffer *b = (wsi_buffer *)malloc(sizeof *b + words * sizeof(uint64_t));
    if (b) {
        b->link = 0;
        b->stream = 0;
        b->n = 0;
        b->cap = words;
    }
    return b;
}

/* wsi_take returns an empty buffer of at least n words for an emitter, null where events are to be
 * dropped or, as ending tells, the context is ending. */
static wsi_buffer *wsi_take(ws_context *ctx, size_t n, int *ending) {
    wsi_buffer *b = 0;
    *ending = 0;
    /* A list longer than a buffer gets one of its own, which is not kept. */
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
        pthread_cond_wait(&ctx->cond, &ctx->mu);
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

/* wsi_enqueue appends to the queue; mu is held. */
static void wsi_enqueue(ws_context *ctx, wsi_buffer *b) {
    b->link = 0;
    *ctx->queue_end = b;
    ctx->queue_end = &b->link;
    pthread_cond_broadcast(&ctx->cond);
}

static void wsi_write_buffer(ws_context *ctx, wsi_buffer *b) {
    pthread_mutex_lock(&ctx->io);
    wsi_write(ctx, b->stream, WSI_WORDS(b), b->n);
    pthread_mutex_unlock(&ctx->io);
    wsi_give(ctx, b);
}

/* wsi_submit gives a full buffer to the writer thread, without waiting for it. It refuses once the
 * context is ending. */
static int wsi_submit(ws_context *ctx, wsi_buffer *b) {
    pthread_mutex_lock(&ctx->mu);
    int refuse = ctx->refuse;
    if (!refuse && !ctx->sync) wsi_enqueue(ctx, b);
    pthread_mutex_unlock(&ctx->mu);
    if (!refuse && ctx->sync) wsi_write_buffer(ctx, b);
    return !refuse;
}

static wsi_buffer *wsi_dequeue(ws_context *ctx) { /* mu is held */
    wsi_buffer *b = ctx->queue;
    if (b && !(ctx->queue = b->link)) ctx->queue_end = &ctx->queue;
    return b;
}

static void *wsi_writer(void *arg) {
    ws_context *ctx = (ws_context *)arg;
    for (;;) {
        pthread_mutex_lock(&ctx->mu);
        while (!ctx->queue && !ctx->closing) pthread_cond_wait(&ctx->cond, &ctx->mu);
        wsi_buffer *b = wsi_dequeue(ctx);
        pthread_mutex_unlock(&ctx->mu);
        if (!b) return 0;
        wsi_write_buffer(ctx, b);
    }
}

/* wsi_start_writer starts the writer thread, to which no signals of the program are delivered. */
static int wsi_start_writer(ws_context *ctx) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int err = pthread_create(&ctx->writer, 0, wsi_writer, ctx);
    pthread_sigmask(SIG_SETMASK, &old, 0);
    ctx->has_writer = !err;
    return err;
}
