/* A histogram of random numbers, made by all PEs together, in two ways.
 *
 *     ./histogram lock [NUMBERS]      after each block of numbers a PE locks PE 0's histogram and adds to it
 *     ./histogram reduce [NUMBERS]    each PE has its own histogram; one reduction at the end adds them up
 *
 * NUMBERS is how many each PE draws, by default 10000000. Both print the same. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 4096, BLOCK = 20000 };

static long shared_lock;
static long shared[BINS]; /* PE 0's counts */
static long mine[BINS], sum[BINS];
static long work[BINS / 2 + SHMEM_REDUCE_MIN_WRKDATA_SIZE], sync_[SHMEM_REDUCE_SYNC_SIZE];

/* The numbers of a PE are always the same. */
static uint64_t random_state;
static unsigned draw(void) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    /* The sum of two is a number near the middle. */
    return (unsigned)((random_state >> 20) % (BINS / 2) + (random_state >> 40) % (BINS / 2));
}

static void count(long *bins, int numbers) {
    for (int i = 0; i < numbers; i++) bins[draw()]++;
}

static void add_to_shared(void) {
    static long all[BINS];
    shmem_set_lock(&shared_lock);
    shmem_getmem(all, shared, sizeof all, 0);
    for (int i = 0; i < BINS; i++) all[i] += mine[i];
    shmem_putmem(shared, all, sizeof all, 0);
    shmem_quiet();
    shmem_clear_lock(&shared_lock);
}

int main(int argc, char **argv) {
    int numbers = argc > 2 ? atoi(argv[2]) : 10000000;
    int locked = argc > 1 && strcmp(argv[1], "lock") == 0;
    if (!locked && (argc < 2 || strcmp(argv[1], "reduce") != 0)) {
        fprintf(stderr, "usage: histogram lock|reduce [NUMBERS]\n");
        return 2;
    }
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) sync_[i] = SHMEM_SYNC_VALUE;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    random_state = 88172645463325252u + (uint64_t)me;
    shmem_barrier_all();

    if (locked) {
        for (int done = 0; done < numbers; done += BLOCK) {
            memset(mine, 0, sizeof mine);
            count(mine, numbers - done < BLOCK ? numbers - done : BLOCK);
            add_to_shared();
        }
        shmem_barrier_all();
    } else {
        count(mine, numbers);
        shmem_long_sum_to_all(sum, mine, BINS, 0, 0, n, work, sync_);
        memcpy(shared, sum, sizeof shared);
    }

    if (me == 0) {
        long total = 0, fullest = 0;
        for (int i = 0; i < BINS; i++) {
            total += shared[i];
            if (shared[i] > shared[fullest]) fullest = i;
        }
        printf("%ld numbers, most of them (%ld) are %ld\n", total, shared[fullest], fullest);
    }
    shmem_finalize();
    return 0;
}
