/* IS: integers are sorted by counting. In the original, all threads allocate arrays in each turn. A thread
 * gets its keys from one thread after the other, and each transfer waits for the one before. With "optimised"
 * the arrays are allocated once, and all transfers are in flight while the local keys are counted. Arguments:
 * keys in thousands (default 500), bits of a key (default 16), turns (default 10), variant (default
 * "original"). */
#include "kernel.h"

typedef struct {
    int optimised;
    long keys, first, mine, bits; /* all keys; the first of this thread's, and their number */
    /* Shared: by thread, how many of its keys go to each thread; the keys, in that order. */
    upc_pts counts, sorted;
    uint32_t *own, *got;
    long *place, *ranks;
} sorter;

static uint32_t key(const sorter *s, long i, int turn) {
    uint64_t h = kernel_hash((uint64_t)i * 1000003 + (uint64_t)turn);
    return (uint32_t)(((h & 0xffffffff) + (h >> 32)) >> (33 - s->bits)); /* more keys in the middle */
}

static long portion(const sorter *s) { return (s->keys + THREADS - 1) / THREADS; }
static int goes_to(const sorter *s, uint32_t k) { return (int)((uint64_t)k * (uint64_t)THREADS >> s->bits); }

static void allocate(sorter *s) {
    UPC_FUNCTION;
    s->counts = upc_all_alloc((size_t)THREADS, (size_t)THREADS * sizeof(long));
    s->sorted = upc_all_alloc((size_t)THREADS, (size_t)portion(s) * sizeof(uint32_t));
}

static void give_back(sorter *s) {
    upc_barrier();
    if (!MYTHREAD) upc_free(s->counts), upc_free(s->sorted);
}

/* change gives two keys new values, so that each turn has a different result. */
static void change(sorter *s, int turn) {
    for (long i = turn; i < s->keys; i += s->keys / 2 + 1)
        if (i >= s->first && i < s->first + s->mine) s->own[i - s->first] = key(s, i, turn + 1);
}

/* split puts the keys in the order of the threads they go to. */
static void split(sorter *s) {
    UPC_FUNCTION;
    long *counts = upc_cast(upc_block(s->counts, (size_t)MYTHREAD, (size_t)THREADS * sizeof(long)));
    size_t bytes = (size_t)portion(s) * sizeof(uint32_t);
    uint32_t *sorted = upc_cast(upc_block(s->sorted, (size_t)MYTHREAD, bytes));
    memset(counts, 0, (size_t)THREADS * sizeof *counts);
    for (long i = 0; i < s->mine; i++) counts[goes_to(s, s->own[i])]++;
    for (int t = 0; t < THREADS; t++) s->place[t] = t ? s->place[t - 1] + counts[t - 1] : 0;
    for (long i = 0; i < s->mine; i++) sorted[s->place[goes_to(s, s->own[i])]++] = s->own[i];
}

static void count(sorter *s, const uint32_t *keys, long n) {
    UPC_FUNCTION;
    for (long i = 0; i < n; i++) s->ranks[keys[i]]++;
}

/* turn returns this thread's part of the checksum, over the ranks of its keys. */
static uint64_t turn(sorter *s, kernel_sums sums, int number) {
    UPC_FUNCTION;
    size_t row = (size_t)THREADS * sizeof(long);
    change(s, number);
    if (!s->optimised) allocate(s);
    split(s);
    upc_barrier();
    long *counts = kernel_memory(row * (size_t)THREADS), total = 0, below = 0;
    for (int t = 0; t < THREADS; t++)
        upc_memget(counts + t * THREADS, upc_block(s->counts, (size_t)t, row), row);
    memset(s->ranks, 0, sizeof *s->ranks << s->bits);
    bupc_handle_t handles[256];
    for (int k = 1; k <= THREADS; k++) { /* its own keys last: they need no transfer */
        int t = (MYTHREAD + k) % THREADS;
        long from = 0, n = counts[t * THREADS + MYTHREAD];
        for (int j = 0; j < MYTHREAD; j++) from += counts[t * THREADS + j], below += counts[t * THREADS + j];
        upc_pts src = upc_add(upc_block(s->sorted, (size_t)t, (size_t)portion(s) * sizeof(uint32_t)),
                              from * (long)sizeof(uint32_t));
        if (s->optimised) handles[t] = bupc_memget_async(s->got + total, src, (size_t)n * sizeof(uint32_t));
        else upc_memget(s->got + total, src, (size_t)n * sizeof(uint32_t));
        total += n;
    }
    if (s->optimised) {
        long at = total; /* the local ones first */
        for (int k = THREADS; k > 0; k--) {
            int t = (MYTHREAD + k) % THREADS;
            at -= counts[t * THREADS + MYTHREAD];
            bupc_waitsync(handles[t]);
            count(s, s->got + at, counts[t * THREADS + MYTHREAD]);
        }
    } else {
        count(s, s->got, total);
    }
    free(counts);
    uint64_t part = 0;
    long rank = below;
    for (uint32_t k = 0; k < 1u << s->bits; k++) {
        if (s->ranks[k] && goes_to(s, k) != MYTHREAD) kernel_fail("a key came to the wrong thread");
        rank += s->ranks[k];
        if (s->ranks[k]) part ^= kernel_hash(((uint64_t)k << 32 | (uint64_t)rank) + ((uint64_t)number << 58));
    }
    if (kernel_sum(sums, total) != s->keys) kernel_fail("keys were lost");
    if (!s->optimised) give_back(s);
    return part;
}

int upc_main(int argc, char **argv) {
    UPC_FUNCTION;
    sorter s = {.keys = kernel_number(argc, argv, 1, 500, 1) * 1000,
                .bits = kernel_number(argc, argv, 2, 16, 1)};
    int turns = (int)kernel_number(argc, argv, 3, 10, 1);
    if (s.bits > 24) kernel_fail("bits: 24 at most");
    s.optimised = argc > 4 && !strcmp(argv[4], "optimised");
    s.first = portion(&s) * MYTHREAD < s.keys ? portion(&s) * MYTHREAD : s.keys;
    s.mine = s.keys - s.first < portion(&s) ? s.keys - s.first : portion(&s);
    s.own = kernel_memory((size_t)portion(&s) * sizeof *s.own);
    s.got = kernel_memory((size_t)s.keys * sizeof *s.got);
    s.place = kernel_memory((size_t)THREADS * sizeof *s.place);
    s.ranks = kernel_memory(sizeof *s.ranks << s.bits);
    kernel_sums sums = kernel_sums_new();
    for (long i = 0; i < s.mine; i++) s.own[i] = key(&s, s.first + i, 0);
    if (s.optimised) allocate(&s);
    upc_barrier();
    int64_t start = upc_now();
    uint64_t part = 0;
    for (int t = 0; t < turns; t++) part ^= turn(&s, sums, t);
    uint64_t checksum = kernel_check(sums, part);
    kernel_end("is", checksum, start);
    if (s.optimised) give_back(&s);
    free(s.own), free(s.got), free(s.place), free(s.ranks);
    return 0;
}
