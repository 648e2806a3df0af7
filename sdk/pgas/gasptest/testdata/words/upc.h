/* upc.h gives the words of UPC that whyslow_upc.upc uses a meaning in C, so that a C compiler can compile it
 * and programs of the test bed (examples/upc in the repository's root) can run with it.
 *
 * shared is an address space of GCC and Clang on x86: a qualifier of what pointers point to. Compilers keep
 * it apart from private memory, as UPC does, and access it through another base, which words.c sets. So
 * confusing a pointer to shared with a private one is an error. Here an array of shared elements is
 * contiguous and its elements have no affinity. The number of threads is fixed, as with upcc -T. */
#ifndef WORDS_UPC_H
#define WORDS_UPC_H

#include <stddef.h>
#include <stdint.h>

#define shared __seg_gs
#define strict volatile

enum { THREADS = 4 };
#define MYTHREAD words_mythread()
int words_mythread(void);

typedef shared struct upc_lock_struct upc_lock_t;
/* A pointer to shared has the thread in its upper 16 bits. */
static inline size_t upc_threadof(shared void *p) { return (uintptr_t)p >> 48; }
static inline size_t upc_addrfield(shared void *p) { return (uintptr_t)p << 16 >> 16; }

/* The test bed does not pass C pointers to these three functions: words.c converts its arguments. */
#define whyslow_upc_threadof words_threadof
#define whyslow_upc_lock_id words_lock_id
#define whyslow_upc_perm words_perm

#include "gasp.h" /* the functions as the library declares them */

#endif
