/* Broken libraries: what is wrong depends on the definitions. */
#include "whyslow_module.h"

#ifdef CRASHES
__attribute__((constructor)) static void crash(void) { *(volatile int *)0x30 = 1; }
#endif
#ifdef UNDEFINED
int missing_function(void);
#endif

static void *start(const wsm_host *host) {
#ifdef UNDEFINED
    missing_function();
#endif
    return (void *)host;
}

#ifndef VERSION
#define VERSION WSM_VERSION
#endif
#ifndef NAME
#define NAME "broken_module"
#endif
#ifndef PARAM
#define PARAM "5"
#endif
#ifndef EMITS
#define EMITS "My.onX(a:Int)"
#endif
#ifndef START
#define START start
#endif

static const wsm_param params[] = {{"n", WSM_PARAM_INT, PARAM, NULL, ""}, {NULL, 0, NULL, NULL, NULL}};
static const char *const emits[] = {EMITS, NULL};
static const wsm_module module = {
    .version = VERSION, .name = NAME, .emits = emits, .params = params, .start = START};

#ifdef NOTHING
const wsm_module *whyslow_module(void) { return start == NULL ? &module : NULL; }
#elif !defined(NO_FUNCTION)
const wsm_module *whyslow_module(void) { return &module; }
#else
const wsm_module *another_function(void) { return &module; }
#endif
