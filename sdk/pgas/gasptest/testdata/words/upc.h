/* upc.h: gives the words of UPC that whyslow_upc.upc uses a meaning in C, so that a C compiler can compile it, and programs of the test-bed
 * (testdata/upc in the repository's root) can run with it.
 *
 * shared is an address space of GCC and Clang on x86: another qualifier of what pointers point to, which compilers keep apart from private memory
 * as UPC does, and an access to which goes by another base, which words.c sets. So a pointer to shared that is taken for a private one, or the other way round,
 * is an error. An array of shared elements lies in one piece there, its elements have no affinity; and the number of threads is fixed, as by upcc -T.
 */
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

/* The arguments that these three are given by the test-bed are not pointers of C: words.c makes such of them. */
#define whyslow_upc_threadof words_threadof
#define whyslow_upc_lock_id words_lock_id
#define whyslow_upc_perm words_perm

#include "gasp.h" /* what the library takes the functions for */

#endif
