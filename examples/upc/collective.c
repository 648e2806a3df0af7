/* collective.c: UPC's collectives. Each thread fetches the data it needs. Reductions send partial results;
 * prefix reductions pass a sum from block to block.
 *
 * Modes work as in MTU's reference implementation: ALLSYNC and MYSYNC are barriers, NOSYNC is nothing. With
 * UPC_MYSYNC=partners a thread in mode MYSYNC waits only for its partners: at entry for those whose data it
 * fetches, at the end for those that fetch its own. To that end all threads tell each other that they have
 * entered, and that they have what they need. */
#include "layer.h"

#include <stdlib.h>

typedef enum { ALL, PARTNERS, NO } mode;

static mode in_mode(upc_flag_t flags) {
    return flags & UPC_IN_NOSYNC ? NO : flags & UPC_IN_MYSYNC && self.partners ? PARTNERS : ALL;
}
static mode out_mode(upc_flag_t flags) {
    return flags & UPC_OUT_NOSYNC ? NO : flags & UPC_OUT_MYSYNC && self.partners ? PARTNERS : ALL;
}

static void tell_all(uint64_t words) {
    be_fence();
    for (int i = 0; i < self.threads; i++) be_store(i, words + 8 * (uint64_t)self.me, self.collectives);
}

static void enter(upc_flag_t flags) {
    self.collectives++;
    if (in_mode(flags) == ALL) layer_barrier();
    else if (in_mode(flags) == PARTNERS) tell_all(ENTERED);
}

/* entered waits until the thread whose data is needed has entered, if the mode asks for it. */
static void entered(upc_flag_t flags, int thread) {
    if (in_mode(flags) == PARTNERS) be_await(self.me, ENTERED + 8 * (uint64_t)thread, self.collectives);
}

/* leave ends a collective. from and to (exclusive) are the threads that fetched this one's data. */
static void leave(upc_flag_t flags, int from, int to) {
    if (out_mode(flags) == ALL) layer_barrier();
    if (out_mode(flags) == PARTNERS) {
        tell_all(DONE);
        for (int i = from; i < to; i++) be_await(self.me, DONE + 8 * (uint64_t)i, self.collectives);
    }
    layer_linger();
}

/* own returns this thread's block of an array with blocks of that size. */
static upc_pts own(upc_pts p, size_t bytes) {
    return upc_block(p, (size_t)((self.me - p.thread + self.threads) % self.threads), bytes);
}

static void one_to_all(upc_pts dst, upc_pts src, size_t nbytes, upc_flag_t flags) {
    enter(flags);
    entered(flags, src.thread);
    layer_copy(own(dst, nbytes), src, nbytes);
    if (src.thread == self.me) leave(flags, 0, self.threads);
    else leave(flags, 0, 0);
}

void upc_all_broadcast_at(upc_at at, upc_pts dst, upc_pts src, size_t nbytes, upc_flag_t flags) {
    TELL(at, BROADCAST, GASP_START, &dst, &src, nbytes, (int)flags);
    one_to_all(dst, src, nbytes, flags);
    TELL(at, BROADCAST, GASP_END, &dst, &src, nbytes, (int)flags);
}

void upc_all_scatter_at(upc_at at, upc_pts dst, upc_pts src, size_t nbytes, upc_flag_t flags) {
    TELL(at, SCATTER, GASP_START, &dst, &src, nbytes, (int)flags);
    one_to_all(dst, upc_add(src, (int64_t)nbytes * ((self.me - dst.thread + self.threads) % self.threads)),
               nbytes, flags);
    TELL(at, SCATTER, GASP_END, &dst, &src, nbytes, (int)flags);
}

/* fetch_all gets each thread's block. It begins with the next thread's, so that not all threads go to the
 * same one. */
static void fetch_all(upc_pts dst, upc_pts src, size_t nbytes, upc_flag_t flags) {
    for (int k = 1; k <= self.threads; k++) {
        size_t i = (size_t)((self.me + k) % self.threads);
        upc_pts from = upc_block(src, i, nbytes);
        entered(flags, from.thread);
        layer_copy(upc_add(dst, (int64_t)(i * nbytes)), from, nbytes);
    }
}

void upc_all_gather_at(upc_at at, upc_pts dst, upc_pts src, size_t nbytes, upc_flag_t flags) {
    TELL(at, GATHER, GASP_START, &dst, &src, nbytes, (int)flags);
    enter(flags);
    if (dst.thread == self.me) fetch_all(dst, src, nbytes, flags);
    leave(flags, dst.thread, dst.thread + 1);
    TELL(at, GATHER, GASP_END, &dst, &src, nbytes, (int)flags);
}

void upc_all_gather_all_at(upc_at at, upc_pts dst, upc_pts src, size_t nbytes, upc_flag_t flags) {
    TELL(at, GATHER_ALL, GASP_START, &dst, &src, nbytes, (int)flags);
    enter(flags);
    fetch_all(own(dst, nbytes * (size_t)self.threads), src, nbytes, flags);
    leave(flags, 0, self.threads);
    TELL(at, GATHER_ALL, GASP_END, &dst, &src, nbytes, (int)flags);
}

void upc_all_exchange_at(upc_at at, upc_pts dst, upc_pts src, size_t nbytes, upc_flag_t flags) {
    TELL(at, EXCHANGE, GASP_START, &dst, &src, nbytes, (int)flags);
    size_t all = nbytes * (size_t)self.threads,
           mine = (size_t)((self.me - src.thread + self.threads) % self.threads);
    upc_pts to = own(dst, all);
    enter(flags);
    for (int k = 1; k <= self.threads; k++) {
        size_t i = (mine + (size_t)k) % (size_t)self.threads;
        upc_pts from = upc_block(src, i, all);
        entered(flags, from.thread);
        layer_copy(upc_add(to, (int64_t)(i * nbytes)), upc_add(from, (int64_t)(mine * nbytes)), nbytes);
    }
    leave(flags, 0, self.threads);
    TELL(at, EXCHANGE, GASP_END, &dst, &src, nbytes, (int)flags);
}

void upc_all_permute_at(upc_at at, upc_pts dst, upc_pts src, upc_pts perm, size_t nbytes, upc_flag_t flags) {
    TELL(at, PERMUTE, GASP_START, &dst, &src, &perm, nbytes, (int)flags);
    enter(flags);
    int mine = (self.me - dst.thread + self.threads) % self.threads, to = 0;
    upc_pts target = own(perm, sizeof to);
    be_get(&to, target.thread, target.addr, sizeof to);
    for (int i = 0, goes; i < self.threads; i++) {
        upc_pts p = upc_block(perm, (size_t)i, sizeof goes), from = upc_block(src, (size_t)i, nbytes);
        be_get(&goes, p.thread, p.addr, sizeof goes);
        if (goes != mine) continue;
        entered(flags, from.thread);
        layer_copy(own(dst, nbytes), from, nbytes);
    }
    int reader = (dst.thread + to) % self.threads;
    leave(flags, reader, reader + 1);
    TELL(at, PERMUTE, GASP_END, &dst, &src, &perm, nbytes, (int)flags);
}

/* ---- Reductions ------------------------------------------------------------------------------ */

typedef union { int i; long l; double d; } value;
enum { TYPE_I = 4, TYPE_L = 6, TYPE_D = 9 }; /* gasp_upc_reduction_t */
typedef struct { int type; size_t size; upc_op_t op; upc_func_i fi; upc_func_l fl; upc_func_d fd; } operation;

#define COMBINE(a, b)                                                                                        \
    switch (o->op) {                                                                                         \
    case UPC_ADD: return (value){.USED = (a).USED + (b).USED};                                               \
    case UPC_MULT: return (value){.USED = (a).USED * (b).USED};                                              \
    case UPC_MIN: return (a).USED < (b).USED ? (a) : (b);                                                    \
    case UPC_MAX: return (a).USED > (b).USED ? (a) : (b);                                                    \
    case UPC_LOGAND: return (value){.USED = (a).USED && (b).USED};                                           \
    case UPC_LOGOR: return (value){.USED = (a).USED || (b).USED};                                            \
    }
#define BITS(a, b)                                                                                           \
    switch (o->op) {                                                                                         \
    case UPC_AND: return (value){.USED = (a).USED & (b).USED};                                               \
    case UPC_OR: return (value){.USED = (a).USED | (b).USED};                                                \
    case UPC_XOR: return (value){.USED = (a).USED ^ (b).USED};                                               \
    }

static value combine(const operation *o, value a, value b) {
    int user = o->op == UPC_FUNC || o->op == UPC_NONCOMM_FUNC;
    switch (o->type) {
    case TYPE_I:
        if (user) return (value){.i = o->fi(a.i, b.i)};
#define USED i
        COMBINE(a, b)
        BITS(a, b)
#undef USED
        break;
    case TYPE_L:
        if (user) return (value){.l = o->fl(a.l, b.l)};
#define USED l
        COMBINE(a, b)
        BITS(a, b)
#undef USED
        break;
    default:
        if (user) return (value){.d = o->fd(a.d, b.d)};
#define USED d
        COMBINE(a, b)
#undef USED
    }
    layer_fail("a reduction with an operation that its type has not");
}

static value element(const operation *o, const char *at) {
    switch (o->type) {
    case TYPE_I: return (value){.i = *(const int *)(const void *)at};
    case TYPE_L: return (value){.l = *(const long *)(const void *)at};
    default: return (value){.d = *(const double *)(const void *)at};
    }
}

typedef struct { long there; value v; } partial;

/* add adds the elements of a block to a partial result. It stores the intermediate results in to, unless that
 * is null. */
static void add(const operation *o, partial *p, const char *from, char *to, size_t n) {
    for (size_t i = 0; i < n; i++) {
        value v = element(o, from + i * o->size);
        p->v = p->there ? combine(o, p->v, v) : v;
        p->there = 1;
        if (!to) continue;
        switch (o->type) {
        case TYPE_I: ((int *)(void *)to)[i] = p->v.i; break;
        case TYPE_L: ((long *)(void *)to)[i] = p->v.l; break;
        default: ((double *)(void *)to)[i] = p->v.d;
        }
    }
}

static void reduce(upc_pts dst, upc_pts src, const operation *o, size_t nelems, size_t blk,
                   upc_flag_t flags) {
    enter(flags);
    partial mine = {0, {.l = 0}};
    if (!blk) blk = nelems ? nelems : 1; /* all in one block */
    for (size_t b = (size_t)((self.me - src.thread + self.threads) % self.threads); b * blk < nelems;
         b += (size_t)self.threads)
        add(o, &mine, upc_cast(upc_block(src, b, blk * o->size)), NULL,
            nelems - b * blk < blk ? nelems - b * blk : blk);
    if (dst.thread != self.me) {
        layer_mail(dst.thread, &mine, sizeof mine);
    } else {
        for (int i = 0; i < self.threads; i++) {
            partial other;
            if (i == self.me) continue;
            layer_take_mail(i, &other, sizeof other);
            if (other.there) mine.v = mine.there ? combine(o, mine.v, other.v) : other.v, mine.there = 1;
        }
        if (mine.there) layer_put(dst, &mine.v, o->size);
    }
    leave(flags, 0, 0); /* each thread has read only its own data */
}

static void prefix(upc_pts dst, upc_pts src, const operation *o, size_t nelems, size_t blk,
                   upc_flag_t flags) {
    enter(flags);
    if (!blk) blk = nelems ? nelems : 1;
    partial sum = {0, {.l = 0}};
    size_t threads = (size_t)self.threads;
    for (size_t b = (size_t)((self.me - src.thread + self.threads) % self.threads); b * blk < nelems;
         b += threads) {
        if (b && threads > 1) layer_take_mail((self.me + self.threads - 1) % self.threads, &sum, sizeof sum);
        size_t bytes = blk * o->size, left = nelems - b * blk;
        add(o, &sum, upc_cast(upc_block(src, b, bytes)), upc_cast(upc_block(dst, b, bytes)),
            left < blk ? left : blk);
        if (left > blk && threads > 1) layer_mail((self.me + 1) % self.threads, &sum, sizeof sum);
    }
    leave(flags, 0, 0);
}

#define REDUCTION(letter, ctype, functype, field)                                                            \
    void upc_all_reduce##letter##_at(upc_at at, upc_pts dst, upc_pts src, upc_op_t op, size_t nelems,        \
                                     size_t blk, functype func, upc_flag_t flags) {                          \
        operation o = {.type = TYPE_##letter, .size = sizeof(ctype), .op = op, .field = func};               \
        TELL(at, REDUCE, GASP_START, &dst, &src, op, nelems, blk, (void *)(uintptr_t)func, (int)flags,       \
             o.type);                                                                                        \
        reduce(dst, src, &o, nelems, blk, flags);                                                            \
        TELL(at, REDUCE, GASP_END, &dst, &src, op, nelems, blk, (void *)(uintptr_t)func, (int)flags,         \
             o.type);                                                                                        \
    }                                                                                                        \
    void upc_all_prefix_reduce##letter##_at(upc_at at, upc_pts dst, upc_pts src, upc_op_t op, size_t nelems, \
                                            size_t blk, functype func, upc_flag_t flags) {                   \
        operation o = {.type = TYPE_##letter, .size = sizeof(ctype), .op = op, .field = func};               \
        TELL(at, PREFIX_REDUCE, GASP_START, &dst, &src, op, nelems, blk, (void *)(uintptr_t)func,            \
             (int)flags, o.type);                                                                            \
        prefix(dst, src, &o, nelems, blk, flags);                                                            \
        TELL(at, PREFIX_REDUCE, GASP_END, &dst, &src, op, nelems, blk, (void *)(uintptr_t)func, (int)flags,  \
             o.type);                                                                                        \
    }

REDUCTION(I, int, upc_func_i, fi)
REDUCTION(L, long, upc_func_l, fl)
REDUCTION(D, double, upc_func_d, fd)
