
/* ---- Definitions --------------------------------------------------------------------------------- */

/* As long as nothing can be written, up to this many bytes of definitions are kept. */
static const size_t wsi_defs_limit = (size_t)64 << 20;

static void wsi_check_defs(ws_context *ctx) {
    wsi_pending *d = &ctx->defs;
    if (d->rows.bad || d->dfs.bad) {
        d->rows.bad = d->dfs.bad = 0;
        wsi_fail(ctx, "no memory for definitions: some names are lost");
    }
}

/* wsi_row appends a definition. The caller holds defs_mu. */
static void wsi_row(ws_context *ctx, int tag, const wsi_bytes *body) {
    wsi_bytes *rows = &ctx->defs.rows;
    size_t before = rows->n;
    if (body->bad || before > wsi_defs_limit) rows->bad = 1;
    wsi_le(rows, (uint64_t)tag, 1);
    wsi_varint(rows, body->n);
    wsi_append(rows, body->p, body->n);
    if (rows->bad) rows->n = before; /* whole definitions only */
    wsi_check_defs(ctx);
}

static uint32_t wsi_hash(const char *text, size_t len) {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++) h = (h ^ (uint8_t)text[i]) * 16777619u;
    return h ^ h >> 15;
}

/* wsi_slot returns the place of a string in the table, which must have a free entry. */
static wsi_entry *wsi_slot(wsi_entry *table, size_t cap, const char *text, size_t len) {
    size_t i = wsi_hash(text, len) & (cap - 1);
    while (table[i].text && (table[i].len != len || memcmp(table[i].text, text, len)))
        i = (i + 1) & (cap - 1);
    return &table[i];
}

static int wsi_rehash(ws_context *ctx) {
    size_t cap = ctx->names_cap ? 2 * ctx->names_cap : 256;
    wsi_entry *table = (wsi_entry *)calloc(cap, sizeof *table);
    if (!table) return 0;
    for (size_t i = 0; i < ctx->names_cap; i++) {
        wsi_entry *e = &ctx->names[i];
        if (e->text) *wsi_slot(table, cap, e->text, e->len) = *e;
    }
    free(ctx->names);
    ctx->names = table;
    ctx->names_cap = cap;
    return 1;
}

static const uint64_t wsi_k0 = 0x9e3779b97f4a7c15u, wsi_k1 = 0xd6e8feb86659fd93u;

/* wsi_mix adds the next element to the hash h of a list. h starts as the length of the list times wsi_k1. */
static uint64_t wsi_mix(uint64_t h, uint64_t v) {
    uint64_t x = h ^ v ^ wsi_k0, x0 = x & 0xffffffffu, x1 = x >> 32;
    uint64_t k0 = wsi_k1 & 0xffffffffu, k1 = wsi_k1 >> 32;
    uint64_t low = x0 * k0, mid = x1 * k0 + (low >> 32), mid2 = x0 * k1 + (mid & 0xffffffffu);
    return (h << 23 | h >> 41) ^ (x1 * k1 + (mid >> 32) + (mid2 >> 32)) ^ x * wsi_k1;
}

/* wsi_mixed finishes the hash of a list. Readers name DFs by it. It is never 0. */
static uint64_t wsi_mixed(uint64_t h) {
    h = (h ^ h >> 32) * wsi_k0;
    h ^= h >> 29;
    return h ? h : wsi_k0;
}

/* wsi_short_name returns the beginning of a string that is too long, followed by a hash of the whole, so that
 * different strings stay different. The caller frees it. */
static char *wsi_short_name(const char *text, size_t len) {
    char *s = (char *)malloc(WSI_MAX_STRING + 1);
    uint64_t h = len * wsi_k1;
    if (!s) return 0;
    for (size_t i = 0; i < len; i++) h = wsi_mix(h, (uint8_t)text[i]);
    memcpy(s, text, WSI_MAX_STRING - 18);
    snprintf(s + WSI_MAX_STRING - 18, 19, " #%016llx", (unsigned long long)wsi_mixed(h));
    return s;
}

/* wsi_whole_name defines a string of at most WSI_MAX_STRING bytes. The caller holds defs_mu. */
static ws_name wsi_whole_name(ws_context *ctx, const char *text, size_t len) {
    if (2 * ctx->names_n >= ctx->names_cap && !wsi_rehash(ctx)) {
        ctx->defs.rows.bad = 1;
        wsi_check_defs(ctx);
        return 0;
    }
    wsi_entry *e = wsi_slot(ctx->names, ctx->names_cap, text, len);
    if (e->text) return e->name;
    wsi_bytes body = {0, 0, 0, 0};
    wsi_varint(&body, ctx->names_n + 1);
    wsi_append(&body, text, len);
    char *copy = (char *)malloc(len);
    if (!copy || body.bad) {
        free(copy), free(body.p);
        ctx->defs.rows.bad = 1;
        wsi_check_defs(ctx);
        return 0;
    }
    memcpy(copy, text, len);
    wsi_row(ctx, 1, &body);
    free(body.p);
    e->text = copy;
    e->len = (uint32_t)len;
    return e->name = (uint32_t)++ctx->names_n;
}

/* wsi_name is ws_define_name for callers that hold defs_mu. */
static ws_name wsi_name(ws_context *ctx, const char *text) {
    size_t len = text ? strlen(text) : 0;
    if (!len) return 0;
    if (len <= WSI_MAX_STRING) return wsi_whole_name(ctx, text, len);
    char *cut = wsi_short_name(text, len);
    ws_name n = 0;
    if (cut) n = wsi_whole_name(ctx, cut, WSI_MAX_STRING);
    else ctx->defs.rows.bad = 1, wsi_check_defs(ctx);
    free(cut);
    return n;
}

ws_name ws_define_name(ws_context *ctx, const char *text) {
    if (wsi_off(ctx)) return 0;
    pthread_mutex_lock(&ctx->defs_mu);
    ws_name n = wsi_name(ctx, text);
    pthread_mutex_unlock(&ctx->defs_mu);
    return n;
}

static uint64_t wsi_place(int v) { return v > 0 ? (uint64_t)v : 0; }

/* wsi_numbers appends a definition that consists of numbers. The caller holds defs_mu. */
static void wsi_numbers(ws_context *ctx, int tag, const uint64_t *v, int n) {
    wsi_bytes body = {0, 0, 0, 0};
    for (int i = 0; i < n; i++) wsi_varint(&body, v[i]);
    wsi_row(ctx, tag, &body);
    free(body.p);
}

ws_code ws_define_code(ws_context *ctx, const char *name, int kind, const char *file, int line, int column) {
    if (wsi_off(ctx)) return 0;
    if (kind < WS_ATOMIC || kind > WS_REGION_IO || (kind > WS_IF && kind < WS_REGION_FUNCTION)) {
        wsi_fail(ctx, "code fragment %s: %d is not a kind of code fragment: use WS_ATOMIC, WS_SUB ...", name,
                 kind);
        kind = WS_ATOMIC;
    }
    pthread_mutex_lock(&ctx->defs_mu);
    ws_code code = ++ctx->next_code;
    uint64_t v[6] = {code,                wsi_name(ctx, name), (uint64_t)kind,
                     wsi_name(ctx, file), wsi_place(line),     wsi_place(column)};
    wsi_numbers(ctx, 2, v, 6);
    pthread_mutex_unlock(&ctx->defs_mu);
    return code;
}

ws_site ws_define_site(ws_context *ctx, ws_code code, const char *label, const char *file, int line,
                       int column, const char *text) {
    if (wsi_off(ctx)) return 0;
    pthread_mutex_lock(&ctx->defs_mu);
    ws_site site = ++ctx->next_site;
    uint64_t v[7] = {site,            code,              wsi_name(ctx, label), wsi_name(ctx, file),
                     wsi_place(line), wsi_place(column), wsi_name(ctx, text)};
    wsi_numbers(ctx, 3, v, 7);
    pthread_mutex_unlock(&ctx->defs_mu);
    return site;
}

ws_df ws_define_df(ws_context *ctx, ws_name name, const int64_t *identity, size_t n) {
    if (wsi_off(ctx)) return 0;
    size_t kept = n;
    uint64_t rest[2] = {n * wsi_k1, n}; /* the end of a list that is cut: hash and length of the whole */
    if (n > WSI_MAX_IDENTITY) {
        for (size_t i = 0; i < n; i++) rest[0] = wsi_mix(rest[0], (uint64_t)identity[i]);
        rest[0] = wsi_mixed(rest[0]);
        n = WSI_MAX_IDENTITY;
        kept = n - 2;
    }
    pthread_mutex_lock(&ctx->defs_mu);
    ws_df df = ++ctx->next_df;
    wsi_words *dfs = &ctx->defs.dfs;
    size_t before = dfs->n;
    uint64_t head[3] = {df, name, n};
    if (before * 8 > wsi_defs_limit) dfs->bad = 1;
    if (!wsi_push(dfs, head, 3) || !wsi_push(dfs, (const uint64_t *)identity, kept) ||
        !wsi_push(dfs, rest, n - kept))
        dfs->n = before;
    wsi_check_defs(ctx);
    pthread_mutex_unlock(&ctx->defs_mu);
    return df;
}

static int wsi_identifier(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9')) return 0;
    }
    return n > 0 && n <= 256;
}

/* wsi_parse_fields parses "step:Int residual:Float" into l, and into body as the file stores it. It returns
 * what is wrong, or null. */
static const char *wsi_parse_fields(const char *p, wsi_layout *l, wsi_bytes *body) {
    const char *names[WSI_MAX_FIELDS];
    size_t lens[WSI_MAX_FIELDS], n = 0;
    for (;;) {
        p += strspn(p, " ");
        if (!*p) break;
        if (n == WSI_MAX_FIELDS) return "more than 16 fields";
        if (l->list) return "a list is not the last field";
        const char *name = p;
        size_t len = strcspn(p, " :");
        if (!wsi_identifier(name, len)) return "names are letters, digits and _, not starting with a digit";
        p += len;
        if (*p++ != ':') return "a field is written name:Type";
        size_t tlen = strcspn(p, " ");
        int type = 0;
        for (int t = 1; t < WSI_TYPES; t++)
            if (strlen(wsi_type_names[t]) == tlen && !memcmp(wsi_type_names[t], p, tlen)) type = t;
        if (!type)
            return "unknown type: it is one of Int Uint Float CF DF Site Name Node Message NS Bytes Reason "
                   "Ints DFs";
        for (size_t i = 0; i < n; i++)
            if (lens[i] == len && !memcmp(names[i], name, len)) return "two fields have the same name";
        p += tlen;
        l->types[n] = (uint8_t)type;
        names[n] = name;
        lens[n++] = len;
        l->list = type == WSI_INTS || type == WSI_DFS;
    }
    l->fixed = (uint8_t)(n - l->list);
    wsi_varint(body, n);
    for (size_t i = 0; i < n; i++) {
        wsi_le(body, l->types[i], 1);
        wsi_varint(body, lens[i]);
        wsi_append(body, names[i], lens[i]);
    }
    return 0;
}

static void wsi_string(wsi_bytes *b, const char *s) {
    size_t n = s ? strlen(s) : 0;
    if (n > WSI_MAX_STRING) n = WSI_MAX_STRING;
    wsi_varint(b, n);
    wsi_append(b, s, n);
}

static char *wsi_copy(const char *s) {
    char *c = (char *)malloc(strlen(s) + 1);
    return c ? strcpy(c, s) : 0;
}

/* wsi_add_kind declares a kind that has been checked, or finds it if it exists. The caller holds defs_mu. */
static ws_kind wsi_add_kind(ws_context *ctx, const wsi_layout *l, const char *space, const char *name,
                            const char *doc, const wsi_bytes *fields) {
    ws_kind k = WS_FIRST_USER_KIND;
    for (; k < WSI_KINDS && ctx->kinds[k]; k++) {
        wsi_user_kind *old = ctx->kinds[k];
        if (strcmp(old->space, space) || strcmp(old->name, name)) continue;
        if (old->layout.fixed == l->fixed && old->layout.list == l->list &&
            !memcmp(old->layout.types, l->types, sizeof l->types))
            return k;
        wsi_fail(ctx, "event %s.%s is declared twice, with different fields", space, name);
        return 0;
    }
    if (k == WSI_KINDS) {
        wsi_fail(ctx, "event %s.%s: a file cannot have more than %d user kinds", space, name,
                 (int)WSI_KINDS - (int)WS_FIRST_USER_KIND);
        return 0;
    }
    wsi_user_kind *u = (wsi_user_kind *)calloc(1, sizeof *u);
    if (u) {
        u->layout = *l;
        u->layout.kind = (uint16_t)k;
        u->layout.space = u->space = wsi_copy(space);
        u->layout.name = u->name = wsi_copy(name);
    }
    wsi_bytes body = {0, 0, 0, 0};
    wsi_varint(&body, k);
    wsi_string(&body, space);
    wsi_string(&body, name);
    wsi_string(&body, doc);
    wsi_append(&body, fields->p, fields->n);
    if (!u || !u->space || !u->name || body.bad) {
        if (u) free(u->space), free(u->name), free(u);
        free(body.p);
        wsi_fail(ctx, "event %s.%s: no memory", space, name);
        return 0;
    }
    wsi_row(ctx, 4, &body);
    free(body.p);
    ctx->kinds[k] = u;
    __atomic_store_n(&ctx->layouts[k], &u->layout, __ATOMIC_RELEASE);
    return k;
}

ws_kind ws_define_kind(ws_context *ctx, const char *space, const char *name, const char *fields,
                       const char *doc) {
    if (wsi_off(ctx)) return 0;
    wsi_layout l;
    memset(&l, 0, sizeof l);
    wsi_bytes body = {0, 0, 0, 0};
    const char *wrong = 0;
    if (!wsi_identifier(space, strlen(space)) || !wsi_identifier(name, strlen(name)))
        wrong = "names are letters, digits and _, not starting with a digit";
    for (size_t i = 0; !wrong && i < sizeof wsi_standard / sizeof *wsi_standard; i++) {
        const wsi_layout *s = &wsi_standard[i];
        if (!strcmp(s->space, space) && (!strcmp(s->name, name) || (s->alias && !strcmp(s->alias, name))))
            wrong = "it is a standard one";
    }
    if (!wrong) wrong = wsi_parse_fields(fields ? fields : "", &l, &body);
    ws_kind k = 0;
    if (wrong) {
        wsi_fail(ctx, "event %s.%s (%s): %s", space, name, fields ? fields : "", wrong);
    } else {
        pthread_mutex_lock(&ctx->defs_mu);
        k = wsi_add_kind(ctx, &l, space, name, doc, &body);
        pthread_mutex_unlock(&ctx->defs_mu);
    }
    free(body.p);
    return k;
}

uint64_t ws_new_id(ws_context *ctx) {
    return ws_id(ctx->node, __atomic_add_fetch(&ctx->ids, 1, __ATOMIC_RELAXED));
}
