// PE 1 comes last at a collective, five times: late COLLECTIVE LATE_US. As the root where there is one.
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile unsigned long long sink;
static long sync_[SHMEM_COLLECT_SYNC_SIZE > SHMEM_REDUCE_SYNC_SIZE ? SHMEM_COLLECT_SYNC_SIZE
                                                                   : SHMEM_REDUCE_SYNC_SIZE];
static long work_[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 64];
static long in[64], out[256];

static void work(long us)
{
    unsigned long long x = us;
    for (long i = 0; i < 850L * us; i++) x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    sink = x;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "barrier";
    long late = argc > 2 ? atol(argv[2]) : 40000;
    shmem_init();
    for (size_t i = 0; i < sizeof sync_ / sizeof *sync_; i++) sync_[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int i = 0; i < 5; i++) {
        void *p = NULL;
        if (!strcmp(what, "free")) p = shmem_malloc(64);
        work(me == 1 ? late : 1000);
        if (!strcmp(what, "barrier")) shmem_barrier_all();
        else if (!strcmp(what, "malloc")) p = shmem_malloc(64);
        else if (!strcmp(what, "free")) shmem_free(p), p = NULL;
        else if (!strcmp(what, "broadcast")) shmem_broadcast64(out, in, 64, 1, 0, 0, n, sync_);
        else if (!strcmp(what, "reduce")) shmem_long_sum_to_all(out, in, 1, 0, 0, n, work_, sync_);
        else if (!strcmp(what, "fcollect")) shmem_fcollect64(out, in, 64, 0, 0, n, sync_);
        else return fprintf(stderr, "unknown collective %s\n", what), 2;
        if (strcmp(what, "barrier")) shmem_barrier_all();
        if (p) shmem_free(p);
    }
    shmem_finalize();
    return 0;
}
