// Integers are sorted as kernel IS of the NAS Parallel Benchmarks sorts them: in each turn every PE counts
// its keys by bucket, all sum the counts up, tell each other how many keys they will send, send them, and
// rank what they got. sort LOG2_KEYS TURNS SKEW. Of the keys, the last PE has SKEW times as many as each of
// the others. At the end, every PE says how long it was outside of collectives.
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BITS = 16, BUCKETS = 1024, SHIFT = 6 };

static long sync_[SHMEM_REDUCE_SYNC_SIZE];
static int work_[BUCKETS / 2 + SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1];
static int size[BUCKETS], all[BUCKETS], place[BUCKETS], ranks[1 << BITS];
static int counts[64], from[64]; // of keys from each PE, and where they go
static long long worked[64], since;

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void barrier(void)
{
    worked[shmem_my_pe()] += now() - since;
    shmem_barrier_all();
    since = now();
}

int main(int argc, char **argv)
{
    long total = 1L << (argc > 1 ? atoi(argv[1]) : 20);
    int turns = argc > 2 ? atoi(argv[2]) : 10, skew = argc > 3 ? atoi(argv[3]) : 1;
    shmem_init();
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) sync_[i] = SHMEM_SYNC_VALUE;
    since = now();
    int me = shmem_my_pe(), n = shmem_n_pes();
    if (n > 64) return fprintf(stderr, "at most 64 PEs\n"), 2;
    long share = total / (n - 1 + skew), mine = me == n - 1 ? total - share * (n - 1) : share;
    int *keys = malloc((size_t)mine * sizeof *keys), *sorted = malloc((size_t)mine * sizeof *sorted);
    int *got = shmem_malloc((size_t)total * sizeof *got);
    unsigned long long x = 88172645463325252u + (unsigned long long)me;
    for (long i = 0; i < mine; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        keys[i] = (int)((x >> 20) % (1 << BITS));
    }
    barrier();
    for (int turn = 0; turn < turns; turn++) {
        memset(size, 0, sizeof size);
        for (long i = 0; i < mine; i++) size[keys[i] >> SHIFT]++;
        for (int b = 0, at = 0; b < BUCKETS; at += size[b++]) place[b] = at;
        for (long i = 0; i < mine; i++) sorted[place[keys[i] >> SHIFT]++] = keys[i];
        worked[me] += now() - since;
        shmem_int_sum_to_all(all, size, BUCKETS, 0, 0, n, work_, sync_);
        since = now();
        for (int p = 0; p < n; p++) {
            int sent = 0;
            for (int b = p * BUCKETS / n; b < (p + 1) * BUCKETS / n; b++) sent += size[b];
            shmem_int_put(&counts[me], &sent, 1, p);
        }
        barrier();
        from[0] = 0;
        for (int p = 1; p < n; p++) from[p] = from[p - 1] + counts[p - 1];
        barrier();
        for (int p = 0, at = 0; p < n; p++) {
            int sent = 0, to = shmem_int_g(&from[me], p);
            for (int b = p * BUCKETS / n; b < (p + 1) * BUCKETS / n; b++) sent += size[b];
            shmem_int_put(got + to, sorted + at, (size_t)sent, p);
            at += sent;
        }
        barrier();
        memset(ranks, 0, sizeof ranks);
        for (int i = 0; i < from[n - 1] + counts[n - 1]; i++) ranks[got[i]]++;
        for (int k = 1; k < 1 << BITS; k++) ranks[k] += ranks[k - 1];
    }
    barrier();
    shmem_longlong_put(&worked[me], &worked[me], 1, 0);
    shmem_barrier_all();
    for (int p = 0; p < n && me == 0; p++) printf("PE %d worked %lld ns\n", p, worked[p]);
    shmem_finalize();
    return 0;
}
