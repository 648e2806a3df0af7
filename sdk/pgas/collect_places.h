#ifndef WHYSLOW_COLLECT_PLACES_H
#define WHYSLOW_COLLECT_PLACES_H
/* collect_places.h: the part of collect.h that tells the trace about places in the program, operations,
 * functions and locks. */

static size_t wsc_hash(ws_code code, const void *address, int line, int column) {
    uint64_t h = (uint64_t)(uintptr_t)address ^ (uint64_t)code << 40 ^ (uint64_t)(unsigned)line << 20 ^
                 (uint64_t)(unsigned)column << 52;
    h *= 0x9e3779b97f4a7c15u;
    return (size_t)(h ^ h >> 29);
}

/* wsc_find returns the entry of a place, or the free entry where it belongs. The table must have room. */
static wsc_place *wsc_find(wsc_places *p, ws_code code, const void *address, const char *file, int line,
                           int column) {
    size_t i = wsc_hash(code, address, line, column) & (p->cap - 1);
    for (;; i = (i + 1) & (p->cap - 1)) {
        wsc_place *e = &p->at[i];
        if (!e->code) return e;
        if (e->code == code && e->address == address && e->line == line && e->column == column &&
            !strcmp(e->file, file))
            return e;
    }
}

/* wsc_widen makes room for one more place. It returns 0 if there is no memory. */
static int wsc_widen(wsc_places *p) {
    if (2 * (p->n + 1) <= p->cap) return 1;
    wsc_places wide = {0, p->n, p->cap ? 2 * p->cap : 64};
    if (!(wide.at = (wsc_place *)calloc(wide.cap, sizeof *wide.at))) return 0;
    for (size_t i = 0; i < p->cap; i++) {
        wsc_place *e = &p->at[i];
        if (e->code) *wsc_find(&wide, e->code, e->address, e->file, e->line, e->column) = *e;
    }
    free(p->at);
    *p = wide;
    return 1;
}

typedef struct wsc_file { /* an executable or shared library */
    struct wsc_file *link;
    const struct link_map *map;
    char *name, *path; /* the name that the loader knows, and the real path */
} wsc_file;
static wsc_file *wsc_files; /* atomic; entries never change */

/* wsc_path returns the path of the file of a map. Finding it takes longer than everything else that is done
 * for a place, so the result is kept. */
static const char *wsc_path(const struct link_map *map, char *path, size_t size) {
    const char *name = map->l_name && *map->l_name ? map->l_name : "/proc/self/exe";
    wsc_file *first = __atomic_load_n(&wsc_files, __ATOMIC_ACQUIRE), *f;
    for (f = first; f; f = f->link)
        if (f->map == map && !strcmp(f->name, name)) return f->path;
    char *real = realpath(name, 0);
    snprintf(path, size, "%s", real ? real : name);
    if ((f = (wsc_file *)calloc(1, sizeof *f)) == 0 || !(f->name = wsi_copy(name)) ||
        !(f->path = wsi_copy(path))) {
        if (f) free(f->name), free(f);
    } else {
        f->map = map;
        do f->link = first;
        while (!__atomic_compare_exchange_n(&wsc_files, &first, f, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
    }
    free(real);
    return path;
}

/* wsc_address writes an address of the program as "PATH+0xOFFSET": the file of the executable or shared
 * library, and the address as in its symbol and line tables. For a return address pass the byte before it,
 * which belongs to the call. */
WSC_UNUSED static void wsc_address(const void *address, char *text, size_t size) {
    Dl_info info;
    struct link_map *map = 0;
    char room[PATH_MAX];
    const char *path = "";
    uintptr_t base = 0;
    if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) && map) {
        base = (uintptr_t)map->l_addr;
        path = wsc_path(map, room, sizeof room);
    }
    snprintf(text, size, "%s+0x%llx", path, (unsigned long long)((uintptr_t)address - base));
}

/* wsc_site returns the site of a region that is called from a place. The place is an address (the byte before
 * the return address), or a file (null: unknown), line and column. It returns 0 if there is no memory. */
static ws_site wsc_site(wsc_thread *t, ws_code code, const void *address, const char *file, int line,
                        int column) {
    wsc_place *e;
    if (!file) file = "";
    if (t->places.cap && (e = wsc_find(&t->places, code, address, file, line, column))->code) return e->site;
    wsc_node *node = t->node;
    ws_site site = 0;
    pthread_mutex_lock(&node->mu);
    if (wsc_widen(&node->places)) {
        e = wsc_find(&node->places, code, address, file, line, column);
        if (!e->code) {
            char text[PATH_MAX + 32] = "";
            if (address) wsc_address(address, text, sizeof text);
            char *copy = wsi_copy(file);
            if (copy) {
                ws_site made = ws_define_site(node->ctx, code, 0, file, line, column, text);
                wsc_place place = {code, made, address, copy, line, column};
                *e = place;
                node->places.n++;
            }
        }
        site = e->site;
        if (e->code && wsc_widen(&t->places)) {
            *wsc_find(&t->places, code, address, file, line, column) = *e;
            t->places.n++;
        }
    }
    pthread_mutex_unlock(&node->mu);
    return site;
}

/* wsc_code returns the code fragment of an operation. */
static ws_code wsc_code(wsc_node *node, int op) {
    ws_code code = __atomic_load_n(&node->codes[op], __ATOMIC_RELAXED);
    if (code) return code;
    pthread_mutex_lock(&node->mu);
    if (!(code = node->codes[op])) {
        code = ws_define_code(node->ctx, node->ops[op].name, node->ops[op].kind, 0, 0, 0);
        __atomic_store_n(&node->codes[op], code, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&node->mu);
    return code;
}

/* wsc_named_code returns the code fragment of a region without a number: a function of the program. file is
 * its address as wsc_address writes it, of which debug information may know a better name; or null. */
WSC_UNUSED static ws_code wsc_named_code(wsc_node *node, const char *name, int kind, const char *file) {
    size_t len = strlen(name);
    ws_code code = 0;
    pthread_mutex_lock(&node->mu);
    wsc_named **head = &node->named[wsi_hash(name, len) & 255], *e = *head;
    while (e && strcmp(e->name, name)) e = e->link;
    if (!e && (e = (wsc_named *)malloc(sizeof *e + len + 1)) != 0) {
        memcpy(e->name, name, len + 1);
        e->code = ws_define_code(node->ctx, name, kind, file, 0, 0);
        e->link = *head;
        *head = e;
    }
    if (e) code = e->code;
    pthread_mutex_unlock(&node->mu);
    return code;
}

/* A node describes at most this many locks. */
enum { WSC_LOCKS = 4096 };

/* wsc_define_lock describes a lock. Either op is an operation on locks, and address, or file and line, is the
 * place of the lock in the program's data. Or op is an operation that allocates; then they are the place of
 * the call, and more tells which of its calls it was (see nameLocks in internal/model). */
WSC_UNUSED static void wsc_define_lock(wsc_node *node, int op, uint64_t lock, const void *address,
                                       const char *file, int line, const char *more) {
    char label[96], text[PATH_MAX + 32] = "";
    if (__atomic_fetch_add(&node->locks, 1, __ATOMIC_RELAXED) >= WSC_LOCKS) return;
    snprintf(label, sizeof label, "lock 0x%llx%s", (unsigned long long)lock, more);
    if (address) wsc_address(address, text, sizeof text);
    ws_define_site(node->ctx, wsc_code(node, op), label, file, line, 0, text);
}

#endif /* WHYSLOW_COLLECT_PLACES_H */
