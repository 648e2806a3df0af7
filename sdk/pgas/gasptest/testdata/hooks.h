/* hooks.h stands for the UPC run-time system in a program that calls the library itself. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "gasp.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pts { /* the target of arguments that point to shared memory */
    int thread;
    size_t addr;
} pts;

static __thread int me;
static int threads = 1, per_process = 1;
static void (*nested)(void); /* called by the hooks */

int whyslow_upc_mythread(void) { return me; }
int whyslow_upc_threads(void) { return threads; }
int whyslow_upc_per_process(void) { return per_process; }

int whyslow_upc_threadof(const void *p) {
    if (nested) nested();
    return ((const pts *)p)->thread;
}

uint64_t whyslow_upc_lock_id(const void *lock) { return ((const pts *)lock)->addr; }
int whyslow_upc_perm(const void *p, int thread) { return ((const int *)p)[thread]; }

/* Other than the default values. */
void whyslow_upc_flags(int *in_all, int *in_my, int *in_no, int *out_all, int *out_my, int *out_no) {
    *in_all = 0x100, *in_my = 0x200, *in_no = 0x400, *out_all = 1, *out_my = 2, *out_no = 4;
}

enum { IN_ALL = 0x100, IN_MY = 0x200, IN_NO = 0x400, OUT_ALL = 1, OUT_MY = 2, OUT_NO = 4 };
