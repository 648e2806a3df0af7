/* whyslow_phase.h names phases of an OpenSHMEM program for whyslow:
 *
 *     whyslow_phase_begin("solve");
 *     ...
 *     whyslow_phase_end();
 *
 * A phase is a level of the call tree, around all that the thread does until it ends. Phases may be nested.
 * One that is not ended ends with the run. Phases begun before shmem_init count, too.
 *
 * The program needs no library for this: without whyslow both do nothing. Link it as a position-independent
 * executable (the default of most compilers), or with libwhyslow-shmem. */
#ifndef WHYSLOW_PHASE_H
#define WHYSLOW_PHASE_H

#ifdef __cplusplus
extern "C" {
#endif

void whyslow_phase_begin(const char *name) __attribute__((weak));
void whyslow_phase_end(void) __attribute__((weak));

#define whyslow_phase_begin(name) (whyslow_phase_begin ? whyslow_phase_begin(name) : (void)0)
#define whyslow_phase_end() (whyslow_phase_end ? whyslow_phase_end() : (void)0)

#ifdef __cplusplus
}
#endif
#endif
