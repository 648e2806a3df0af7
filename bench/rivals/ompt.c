/* A tool for OpenMP's run-time system (OMPT) that asks for every callback that whyslow's library asks for,
 * and does nothing in them: what the run-time system takes to tell. */
#include "../../sdk/omp/ompt.h"

static void nothing(void) {}

static int begin(ompt_lookup lookup, int device, ompt_data *tool) {
    static const int events[] = {
        OMPT_THREAD_BEGIN, OMPT_PARALLEL_BEGIN, OMPT_PARALLEL_END,   OMPT_IMPLICIT_TASK,
        OMPT_TASK_CREATE,  OMPT_TASK_SCHEDULE,  OMPT_DEPENDENCES,    OMPT_SYNC_REGION_WAIT,
        OMPT_SYNC_REGION,  OMPT_WORK,           OMPT_DISPATCH,       OMPT_MASKED,
        OMPT_MUTEX_ACQUIRE, OMPT_MUTEX_ACQUIRED, OMPT_MUTEX_RELEASED, OMPT_FLUSH,
        OMPT_CANCEL,       OMPT_REDUCTION};
    ompt_set_callback set = (ompt_set_callback)lookup("ompt_set_callback");
    (void)device, (void)tool;
    for (unsigned i = 0; set && i < sizeof events / sizeof *events; i++) set(events[i], nothing);
    return 1;
}

static void end(ompt_data *tool) { (void)tool; }

ompt_start_tool_result *ompt_start_tool(unsigned version, const char *runtime) {
    static ompt_start_tool_result result = {begin, end, {0}};
    (void)version, (void)runtime;
    return &result;
}
