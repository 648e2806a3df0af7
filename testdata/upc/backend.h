/* backend.h: what the threads of a UPC program are. Each has a segment of memory, of the same size, that all of them reach by thread and
 * offset; everything else is made of that (see layer.c). threads.c: threads of a process; shmem.c: OpenSHMEM's PEs. */
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

/* Words of 64 bits that are changed at once. What was put before a word is stored or added to is seen by who sees the new value. */
uint64_t be_load(int thread, uint64_t off);
void be_store(int thread, uint64_t off, uint64_t v);
uint64_t be_add(int thread, uint64_t off, uint64_t v); /* returns what it was before */
int be_swap(int thread, uint64_t off, uint64_t before, uint64_t after);
void be_await(int thread, uint64_t off, uint64_t least); /* waits until it is at least that */

void *be_local(uint64_t off); /* this thread's */
int be_together(void);       /* threads of a process */
void be_exit(int status) __attribute__((noreturn));

/* Of the layer, called on each thread by the backend's main: everything from gasp_init to the end. Returns what upc_main did. */
int layer_run(int me, int threads, uint64_t segment, int argc, char **argv);

#endif
