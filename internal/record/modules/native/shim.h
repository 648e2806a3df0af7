// The C side of package native: see shim.c.
#ifndef WHYSLOW_NATIVE_SHIM_H
#define WHYSLOW_NATIVE_SHIM_H

#include "../../../../sdk/whyslow_module.h"

// How a call into a module went wrong. Allocated for each, never freed.
typedef struct wn_crash {
	int32_t signal, cause; // cause: si_code, 0 if the signal was sent
	uint64_t address;      // where the access failed
	int32_t overflow;      // not 0: the stack overflowed
	const char *file;      // the binary with the failed instruction, or NULL
	int32_t closed;        // not 0: no crash; the module closed descriptors that whyslow needs
} wn_crash;

// Pointers of a module's own are numbers here, so that Go never takes them for pointers. Functions that call
// modules return a wn_crash, or NULL if all went well.
int wn_guard(void); // called once, before all others; -1: see errno

// wn_open loads a library. error says why it failed; it is "" if the library has no such function.
wn_crash *wn_open(const char *path, const wsm_module **descriptor, char **error);
// wn_close unloads all libraries.
wn_crash *wn_close(void);
wn_crash *wn_start(const wsm_module *m, const wsm_host *host, uintptr_t *self);
wn_crash *wn_finish(const wsm_module *m, uintptr_t self);
wn_crash *wn_release(const wsm_module *m, uintptr_t self);
wn_crash *wn_query(const wsm_module *m, uintptr_t self, const char *what, int node, double *value,
	int *known);
wn_crash *wn_api(const wsm_module *m, uintptr_t self, uintptr_t *api);
wn_crash *wn_handle(uintptr_t handler, uintptr_t user, uintptr_t host, uintptr_t spec, uintptr_t ref,
	int64_t time, int32_t node, int32_t stream, const uint64_t *words, uint32_t count);

// wn_host makes the table of functions that a module gets.
wsm_host *wn_host(uintptr_t ref, const wsm_module *m, const wsm_run *run);

#endif
