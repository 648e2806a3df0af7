/* Locks of all sorts. Each PE takes each of them once. */
#ifndef PLUGIN
#include <shmem.h>
#include <stddef.h>
extern long *plugin_lock(void);
static long queue_lock;
long locks[4];
static struct table {
    long count;
    struct bucket {
        long size, lock;
    } buckets[8];
} table;

static void take(long *lock) {
    shmem_set_lock(lock);
    shmem_clear_lock(lock);
}

static long *one_more(void) { return shmem_malloc(sizeof(long)); }

int main(void) {
    shmem_init();
    take(&queue_lock);
    take(&locks[3]);
    take(&locks[1]);
    take(&table.buckets[2].lock);
    take(plugin_lock());
    long *several = shmem_malloc(16 * sizeof(long));
    for (int i = 0; i < 16; i++) several[i] = 0;
    shmem_barrier_all();
    take(&several[0]);
    take(&several[8]);
    long *first = one_more(), *second = one_more(), *zero = shmem_calloc(3, 64);
    *first = *second = 0;
    shmem_barrier_all();
    take(first);
    take(second);
    take(&zero[8]);
    for (int pe = 0; pe < shmem_n_pes(); pe++) { /* one after the other: see poll() of hard.c */
        if (pe == shmem_my_pe() && !shmem_test_lock(&queue_lock)) shmem_clear_lock(&queue_lock);
        shmem_barrier_all();
    }
    shmem_free(first);
    *second = 1;
    second = shmem_realloc(second, 1 << 16);
    *second = 0;
    shmem_barrier_all();
    take(second);
    shmem_finalize();
    return 0;
}
#else
#define _GNU_SOURCE
#include <dlfcn.h>
static long its_lock;
extern long *plugin_lock(void);
long *plugin_lock(void) { return &its_lock; }

/* Open MPI accepts no locks in the data of libraries; other implementations do. So this library implements
 * its own. */
typedef void function(long *lock);
extern function pshmem_set_lock, pshmem_clear_lock;
static void pass(const char *name, long *lock) {
    if (lock != &its_lock) ((function *)dlsym(RTLD_NEXT, name))(lock);
}
void pshmem_set_lock(long *lock) { pass("pshmem_set_lock", lock); }
void pshmem_clear_lock(long *lock) { pass("pshmem_clear_lock", lock); }
#endif
