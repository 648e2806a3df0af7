/* One function of each family, called by PE 0 with known arguments, while PE 1 waits. */
#include <shmem.h>
#include <shmem-compat.h>
#include <stdio.h>
#include <string.h>

static long bcast_sync[SHMEM_BCAST_SYNC_SIZE], collect_sync[SHMEM_COLLECT_SYNC_SIZE],
    barrier_sync[SHMEM_BARRIER_SYNC_SIZE];
static long reduce_sync[SHMEM_REDUCE_SYNC_SIZE], alltoall_sync[SHMEM_ALLTOALL_SYNC_SIZE],
    alltoalls_sync[SHMEM_ALLTOALLS_SYNC_SIZE];
static double work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 8];
static int flag;
static long lock;

#define SET(A) \
    for (size_t i = 0; i < sizeof A / sizeof *A; i++) A[i] = SHMEM_SYNC_VALUE

static int one_sided(long *heap) {
    long a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8] = {0};
    int bad = 0;
    shmem_long_put(heap, a, 8, 1);
    shmem_put32(heap, a, 4, 1);
    shmem_putmem(heap, a, 64, 1);
    shmem_long_p(heap + 1, 42, 1);
    shmem_long_iput(heap, a, 2, 1, 4, 1);
    shmem_long_put(heap, a, 8, 0); /* to itself */
    shmem_fence();
    shmem_quiet();
    shmem_long_get(b, heap, 8, 1);
    bad |= b[0] != 1 || b[1] != 42 || b[2] != 2 || b[4] != 3 || b[6] != 4;
    bad |= shmem_long_g(heap + 1, 1) != 42;
    shmem_get16(b, heap, 4, 1);
    shmem_float_iget((float *)b, (float *)heap, 1, 1, 3, 1);
    shmem_long_put_nbi(heap, a, 8, 1);
    shmem_getmem_nbi(b, heap, 64, 1);
    shmem_quiet();

    shmem_ctx_t ctx;
    bad |= shmem_ctx_create(0, &ctx) != 0;
    shmem_ctx_long_put_nbi(ctx, heap, a, 1, 1);
    shmem_long_put_nbi(heap, a, 2, 1);
    shmem_ctx_long_put_nbi(ctx, heap, a, 3, 1);
    shmem_ctx_quiet(ctx);
    shmem_ctx_quiet(SHMEM_CTX_DEFAULT);
    shmem_ctx_long_put_nbi(ctx, heap, a, 8, 1);
    shmem_ctx_destroy(ctx);

    shmem_long_atomic_set(heap, 5, 1);
    shmem_long_atomic_inc(heap, 1);
    bad |= shmem_long_atomic_fetch_add(heap, 2, 1) != 6;
    bad |= shmem_long_fadd(heap, 1, 1) != 8;
    bad |= shmem_long_atomic_compare_swap(heap, 9, 10, 1) != 9;
    bad |= shmem_long_atomic_fetch(heap, 1) != 10;
    bad |= shmem_long_swap(heap, 1, 1) != 10;
    bad |= shmem_ctx_uint_atomic_fetch_xor(SHMEM_CTX_DEFAULT, (unsigned *)heap, 1, 1) != 1;
    return bad;
}

int main(void) {
    int provided;
    SET(bcast_sync);
    SET(collect_sync);
    SET(barrier_sync);
    SET(reduce_sync);
    SET(alltoall_sync);
    SET(alltoalls_sync);
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided)) return 1;
    int me = shmem_my_pe(), bad = 0;
    long *heap = shmem_malloc(8 * sizeof *heap);
    double *more = shmem_calloc(4, sizeof *more), *other = shmem_align(64, 4 * sizeof *other);
    void *old = shmalloc(10);
    old = shrealloc(old, 20);
    shfree(old);

    if (me == 0) {
        bad = one_sided(heap);
        shmem_int_p(&flag, 1, 1);
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
        bad |= shmem_test_lock(&lock) != 0;
        shmem_clear_lock(&lock);
        int one = 1;
        shmem_int_put_nbi(&flag, &one, 1, 1);
    } else {
        shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);
        bad |= !shmem_int_test(&flag, SHMEM_CMP_NE, 0);
    }
    shmem_barrier_all();
    shmem_sync_all();
    shmem_barrier(0, 0, 2, barrier_sync);
    shmem_sync(0, 0, 2, barrier_sync);
    for (int i = 0; i < 4; i++) more[i] = me + 1, other[i] = 0;
    shmem_barrier_all();
    shmem_broadcast32(other, more, 4, 1, 0, 0, 2, bcast_sync);
    if (me == 0) { /* a set of one */
        shmem_double_max_to_all(other, more, 2, 0, 1, 1, work, reduce_sync);
        bad |= other[0] != 1;
    }
    shmem_barrier_all();
    shmem_double_sum_to_all(other, more, 3, 0, 0, 2, work, reduce_sync);
    bad |= other[0] != 3 || other[2] != 3;
    shmem_barrier_all();
    shmem_fcollect64(other, more, 1, 0, 0, 2, collect_sync);
    bad |= other[0] != 1 || other[1] != 2;
    shmem_barrier_all();
    shmem_collect64(other, more, 1, 0, 0, 2, collect_sync);
    shmem_barrier_all();
    shmem_alltoall64(other, more, 2, 0, 0, 2, alltoall_sync);
    shmem_barrier_all();
    shmem_alltoalls32(other, more, 1, 1, 1, 0, 0, 2, alltoalls_sync);
    shmem_barrier_all();
    shmem_free(other);
    shmem_finalize();
    printf(bad ? "wrong result\n" : "all right\n");
    return bad;
}
