
/* ---- Packing: records to columns ----------------------------------------------------------------- */

enum { WSI_CONSTANT, WSI_PLAIN, WSI_SIGNED, WSI_DELTA }; /* forms of columns */

static uint64_t wsi_zigzag(uint64_t v) { return v << 1 ^ (uint64_t)-(int64_t)(v >> 63); }

static int wsi_same(const uint64_t *v, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (v[i] != v[0]) return 0;
    return 1;
}

/* wsi_column stores words in the given form, or as a constant if all are equal and constant allows it. */
static void wsi_column(wsi_bytes *b, const uint64_t *v, size_t n, int form, int constant) {
    if (!n) return;
    if (constant && wsi_same(v, n)) {
        wsi_le(b, WSI_CONSTANT, 1);
        wsi_varint(b, v[0]);
        return;
    }
    uint8_t *p = wsi_grow(b, 1 + 10 * n);
    if (!p) return;
    *p++ = (uint8_t)form;
    uint64_t prev = 0;
    switch (form) {
    case WSI_PLAIN:
        for (size_t i = 0; i < n; i++) p = wsi_put_varint(p, v[i]);
        break;
    case WSI_SIGNED:
        for (size_t i = 0; i < n; i++) p = wsi_put_varint(p, wsi_zigzag(v[i]));
        break;
    default:
        for (size_t i = 0; i < n; i++) {
            p = wsi_put_varint(p, wsi_zigzag(v[i] - prev));
            prev = v[i];
        }
    }
    b->n = (size_t)(p - b->p);
}

static int wsi_form(int type) {
    switch (type) {
    case WSI_INT:
    case WSI_NS: return WSI_SIGNED;
    case WSI_CF:
    case WSI_DF:
    case WSI_MESSAGE:
    case WSI_BYTES: return WSI_DELTA;
    }
    return WSI_PLAIN;
}

/* wsi_beyond returns the bits that must be 0 in values of a type. Readers refuse blocks that set them. */
static uint64_t wsi_beyond(int type) {
    switch (type) {
    case WSI_DF:
    case WSI_DFS:
    case WSI_SITE:
    case WSI_NAME: return ~(uint64_t)0xffffffff;
    case WSI_NODE: return ~(uint64_t)0xffff;
    case WSI_REASON: return ~(uint64_t)0xff;
    }
    return 0;
}

static const wsi_layout *wsi_layout_of(ws_context *ctx, uint64_t kind) {
    return kind < WSI_KINDS ? __atomic_load_n(&ctx->layouts[kind], __ATOMIC_ACQUIRE) : 0;
}

static int64_t wsi_time(uint64_t word) { return (int64_t)word >> 10; }

static int wsi_pack_room(wsi_packer *p, size_t words) {
    if (words <= p->cap) return 1;
    free(p->at), free(p->order), free(p->kinds), free(p->vals), free(p->nodes);
    p->at = (uint32_t *)malloc(words * sizeof *p->at);
    p->order = (uint32_t *)malloc(words * sizeof *p->order);
    p->kinds = (uint8_t *)malloc(words);
    p->vals = (uint64_t *)malloc(words * sizeof *p->vals);
    p->nodes = (uint64_t *)malloc(words * sizeof *p->nodes);
    p->cap = p->at && p->order && p->kinds && p->vals && p->nodes ? words : 0;
    return p->cap > 0;
}

/* wsi_mask cuts values that do not fit their type, and reports that as an error. */
static void wsi_mask(ws_context *ctx, const wsi_layout *l, int field, uint64_t *v, size_t n) {
    uint64_t beyond = wsi_beyond(l->types[field]), bits = 0;
    if (!beyond) return;
    for (size_t i = 0; i < n; i++) bits |= v[i];
    if (!(bits & beyond)) return;
    wsi_fail(ctx, "event %s.%s: a value of field %d does not fit its type %s and was cut", l->space, l->name,
             field + 1, wsi_type_names[l->types[field]]);
    for (size_t i = 0; i < n; i++) v[i] &= ~beyond;
}

/* wsi_pack_field stores one field. Ids become two columns, node and counter, because the node hardly ever
 * changes. The bytes of floats are reversed, because round numbers end in zeros. */
static void wsi_pack_field(ws_context *ctx, wsi_bytes *out, const wsi_layout *l, int field, size_t n) {
    uint64_t *v = ctx->pack.vals, *nodes = ctx->pack.nodes;
    int type = l->types[field];
    if (type == WSI_CF || type == WSI_MESSAGE) {
        for (size_t i = 0; i < n; i++) {
            nodes[i] = v[i] >> 48;
            v[i] &= ((uint64_t)1 << 48) - 1;
        }
        wsi_column(out, nodes, n, WSI_PLAIN, 1);
    } else if (type == WSI_FLOAT) {
        for (size_t i = 0; i < n; i++) v[i] = __builtin_bswap64(v[i]);
    } else {
        wsi_mask(ctx, l, field, v, n);
    }
    wsi_column(out, v, n, wsi_form(type), 1);
}

static void wsi_pack_kind(ws_context *ctx, wsi_bytes *out, const uint64_t *w, const wsi_layout *l,
                          const uint32_t *at, size_t n) {
    uint64_t *v = ctx->pack.vals, longest = 0;
    for (int f = 0; f < l->fixed; f++) {
        for (size_t i = 0; i < n; i++) v[i] = w[at[i] + 1 + (uint32_t)f];
        wsi_pack_field(ctx, out, l, f, n);
    }
    if (!l->list) return;
    uint32_t len = 1 + (uint32_t)l->fixed; /* index of the list's length in a record */
    for (size_t i = 0; i < n; i++)
        if (w[at[i] + len] > longest) longest = w[at[i] + len];
    for (uint32_t pos = 0; pos < longest && pos < WSI_LIST_COLUMNS; pos++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++)
            if (pos < w[at[i] + len]) v[k++] = w[at[i] + len + 1 + pos];
        wsi_mask(ctx, l, l->fixed, v, k);
        wsi_column(out, v, k, WSI_DELTA, 0);
    }
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (uint64_t pos = WSI_LIST_COLUMNS; pos < w[at[i] + len]; pos++) v[k++] = w[at[i] + len + 1 + pos];
    wsi_mask(ctx, l, l->fixed, v, k);
    wsi_column(out, v, k, WSI_DELTA, 0);
}

/* wsi_pack packs the records in w into the payload out, and fills the parts of h that describe them. It
 * returns the number of words taken: fewer than n if the block is full, 0 if there is no memory. */
static size_t wsi_pack(ws_context *ctx, wsi_bytes *out, const uint64_t *w, size_t n, wsi_header *h) {
    wsi_packer *p = &ctx->pack;
    size_t i = 0;
    /* A block never takes more words than this, however large the buffer is. */
    if (!wsi_pack_room(p, n < WSI_BLOCK_WORDS + WSI_MAX_RECORD ? n : WSI_BLOCK_WORDS + WSI_MAX_RECORD))
        return 0;
    for (size_t j = 0; j < p->nused; j++) p->index[p->used[j]->kind] = 0;
    p->nused = 0;
    while (i < n && i < WSI_BLOCK_WORDS) {
        uint64_t kind = w[i] & (WSI_KINDS - 1);
        size_t j = p->index[kind];
        if (!j) {
            if (p->nused == WSI_BLOCK_KINDS) break;
            p->used[p->nused] = wsi_layout_of(ctx, kind);
            p->count[p->nused] = 0;
            h->flags |= p->used[p->nused]->flags;
            j = ++p->nused;
            p->index[kind] = (uint16_t)j;
        }
        const wsi_layout *l = p->used[--j];
        int64_t t = wsi_time(w[i]);
        if (!h->count) h->base = h->first = h->last = t;
        if (t < h->first) h->first = t;
        if (t > h->last) h->last = t;
        p->vals[h->count] = (uint64_t)(t - h->base);
        p->kinds[h->count] = (uint8_t)j;
        p->at[h->count++] = (uint32_t)i;
        p->count[j]++;
        i += 1 + l->fixed + (l->list ? 1 + w[i + 1 + l->fixed] : 0);
    }
    uint32_t start = 0;
    for (size_t j = 0; j < p->nused; j++) {
        p->start[j] = start;
        start += p->count[j];
        p->count[j] = 0;
    }
    for (uint32_t e = 0; e < h->count; e++)
        p->order[p->start[p->kinds[e]] + p->count[p->kinds[e]]++] = p->at[e];

    out->n = 0, out->bad = 0;
    wsi_varint(out, p->nused);
    for (size_t j = 0; j < p->nused; j++) {
        size_t types = (size_t)p->used[j]->fixed + p->used[j]->list;
        wsi_varint(out, p->used[j]->kind);
        wsi_varint(out, p->count[j]);
        wsi_varint(out, types);
        wsi_append(out, p->used[j]->types, types);
    }
    wsi_append(out, p->kinds, h->count);
    wsi_column(out, p->vals, h->count, WSI_DELTA, 1);
    for (size_t j = 0; j < p->nused; j++) {
        if (!p->used[j]->list) continue;
        for (uint32_t e = 0; e < p->count[j]; e++)
            p->vals[e] = w[p->order[p->start[j] + e] + 1 + p->used[j]->fixed];
        wsi_column(out, p->vals, p->count[j], WSI_PLAIN, 1);
    }
    for (size_t j = 0; j < p->nused; j++)
        wsi_pack_kind(ctx, out, w, p->used[j], p->order + p->start[j], p->count[j]);
    return out->bad ? 0 : i;
}

/* wsi_pack_defs makes the payload of a definition block: the length and bytes of the rows, then the DFs by
 * column. dfs holds the number, name, length and identity of each DF. It returns 0 if there is no memory. */
static int wsi_pack_defs(ws_context *ctx, wsi_bytes *out, const uint8_t *rows, size_t bytes, size_t nrows,
                         const uint64_t *dfs, size_t words, size_t ndfs) {
    wsi_packer *p = &ctx->pack;
    uint64_t longest = 0;
    size_t k = 0;
    if (!wsi_pack_room(p, words)) return 0;
    out->n = 0, out->bad = 0;
    wsi_varint(out, nrows);
    wsi_varint(out, bytes);
    wsi_append(out, rows, bytes);
    wsi_varint(out, ndfs);
    for (size_t i = 0; i < words; i += 3 + (size_t)dfs[i + 2]) {
        p->at[k++] = (uint32_t)i;
        if (dfs[i + 2] > longest) longest = dfs[i + 2];
    }
    for (int c = 0; c < 3; c++) {
        for (size_t i = 0; i < ndfs; i++) p->vals[i] = dfs[p->at[i] + (uint32_t)c];
        wsi_column(out, p->vals, ndfs, WSI_DELTA, c > 0);
    }
    for (uint32_t pos = 0; pos < longest && pos < WSI_DF_COLUMNS; pos++) {
        k = 0;
        for (size_t i = 0; i < ndfs; i++)
            if (pos < dfs[p->at[i] + 2]) p->vals[k++] = dfs[p->at[i] + 3 + pos];
        wsi_column(out, p->vals, k, WSI_DELTA, 0);
    }
    k = 0;
    for (size_t i = 0; i < ndfs; i++)
        for (uint64_t pos = WSI_DF_COLUMNS; pos < dfs[p->at[i] + 2]; pos++)
            p->vals[k++] = dfs[p->at[i] + 3 + pos];
    wsi_column(out, p->vals, k, WSI_DELTA, 0);
    return !out->bad;
}
