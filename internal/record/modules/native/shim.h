// The C side of package native: see shim.c.
#ifndef WHYSLOW_NATIVE_SHIM_H
#define WHYSLOW_NATIVE_SHIM_H

#include "../../../../sdk/whyslow_module.h"

// How a call into a module went wrong. Made anew, never freed.
typedef struct wn_crash {
	int32_t signal, cause; // cause: si_code, 0 if the signal was sent
	uint64_t address;      // where the access failed
	int32_t overflow;      // not 0: the stack ran over
	const char *file;      // of the instruction that failed, or NULL
	int32_t closed;        // not 0: no crash; it closed descriptors that whyslow cannot do without
} wn_crash;

// What a module calls a pointer of its own is a number here, which Go never takes for a pointer. Functions that call modules
// return a wn_crash, NULL if all went well.
int wn_guard(void); // once, before all others; -1: errno

wn_crash *wn_open(const char *path, const wsm_module **descriptor, char **error); // error: "" if there is no such function
wn_crash *wn_start(const wsm_module *m, const wsm_host *host, uintptr_t *self);
wn_crash *wn_finish(const wsm_module *m, uintptr_t self);
wn_crash *wn_release(const wsm_module *m, uintptr_t self);
wn_crash *wn_query(const wsm_module *m, uintptr_t self, const char *what, int node, double *value, int *known);
wn_crash *wn_api(const wsm_module *m, uintptr_t self, uintptr_t *api);
wn_crash *wn_handle(uintptr_t handler, uintptr_t user, uintptr_t host, uintptr_t spec, uintptr_t ref, int64_t time, int32_t node, int32_t stream,
                    const uint64_t *words, uint32_t count);

// wn_host makes the table of functions that a module is given.
wsm_host *wn_host(uintptr_t ref, const wsm_module *m, const wsm_run *run);

#endif
