/* backend.h: the threads of a UPC program. Each has a segment of memory, all of the same size, which all
 * threads reach by thread and offset. Everything else is built on that (see layer.c). In threads.c they are
 * threads of a process, in shmem.c PEs of OpenSHMEM. */
#ifndef BACKEND_H
#define BACKEND_H

#include <stddef.h>
#include <stdint.h>

void be_get(void *dst, int thread, uint64_t off, size_t n);
void be_put(int thread, uint64_t off, const void *src, size_t n); /* others may see it after be_fence */
void be_get_nb(void *dst, int thread, uint64_t off, size_t n);    /* complete after be_quiet */
void be_put_nb(int thread, uint64_t off, const void *src, size_t n);
void be_fence(void);
void be_quiet(void);

/* 64-bit words with atomic operations. Whoever sees the new value of a word also sees what was put before. */
uint64_t be_load(int thread, uint64_t off);
void be_store(int thread, uint64_t off, uint64_t v);
uint64_t be_add(int thread, uint64_t off, uint64_t v); /* returns the value before */
int be_swap(int thread, uint64_t off, uint64_t before, uint64_t after);
void be_await(int thread, uint64_t off, uint64_t least); /* waits until the word is at least that */

void *be_local(uint64_t off); /* an address in this thread's segment */
int be_together(void);        /* how many threads share a process */
void be_exit(int status) __attribute__((noreturn));

/* Part of the layer; the backend's main calls it on each thread. It does everything from gasp_init to the end
 * and returns the result of upc_main. */
int layer_run(int me, int threads, uint64_t segment, int argc, char **argv);

#endif
