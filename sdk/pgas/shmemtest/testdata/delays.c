/* Delays of known length: a late broadcast root, a lock held, a late malloc, a late member of a reduction.
 * Times are those of the sleeps, in milliseconds. */
#include <shmem.h>
#include <time.h>

static long psync[SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_BARRIER_SYNC_SIZE],
    reduce_sync[SHMEM_REDUCE_SYNC_SIZE];
static long lock, source[16], target[16];
static int from = 2, sum, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];

static void pause_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, 0);
}

int main(void) {
    for (unsigned i = 0; i < sizeof psync / sizeof *psync; i++) psync[i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) reduce_sync[i] = SHMEM_SYNC_VALUE;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_barrier_all();

    if (me == 1) pause_ms(100);
    shmem_broadcast64(target, source, 16, 1, 0, 0, n, psync);

    shmem_barrier_all();
    shmem_set_lock(&lock);
    pause_ms(30);
    shmem_clear_lock(&lock);

    shmem_barrier_all();
    if (me == 0) pause_ms(80);
    long *block = shmem_malloc(64);

    if (me == n - 1) pause_ms(50);
    shmem_int_sum_to_all(&sum, &from, 1, 0, 0, n, work, reduce_sync);
    shmem_free(block);
    shmem_finalize();
    return sum == 2 * n ? 0 : 1;
}
