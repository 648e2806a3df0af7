//go:build otf2

/* read.c reads an archive with libotf2 and writes what is in it as records.
 *
 * Processes are read one after the other, the threads of one together and in the order of time: what OpenMP
 * does in one of them is known only from the others. The library applies clock offsets and the numbering of
 * definitions of each location by itself. */

#include "records.h"

#include <otf2/otf2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* What an archive may have at most: locations, and bytes of memory that libotf2 takes for it. */
enum { MOST_LOCATIONS = 1 << 20 };
static const rlim_t most_memory = 4ull << 30;

typedef struct {
    OTF2_LocationRef self;
    OTF2_LocationGroupRef process;
} location;

typedef struct {
    FILE *out;
    location *locations;
    uint64_t count, room;
    OTF2_LocationRef at; /* whose events are being written */
    char error[512];
} reader;

static OTF2_CallbackCode put(reader *r, int kind, uint32_t n, const uint64_t *words) {
    uint64_t head = (uint64_t)kind | (uint64_t)n << 8;
    if (fwrite_unlocked(&head, sizeof head, 1, r->out) != 1) return OTF2_CALLBACK_INTERRUPT;
    return n && fwrite_unlocked(words, sizeof *words, n, r->out) != n ? OTF2_CALLBACK_INTERRUPT
                                                                       : OTF2_CALLBACK_SUCCESS;
}

#define PUT(R, KIND, ...) \
    put(R, KIND, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

/* text writes a record of one word, a length in bytes and the bytes, filled up with zeros to whole words. */
static OTF2_CallbackCode text(reader *r, int kind, uint64_t word, const char *s) {
    size_t bytes = s ? strlen(s) : 0;
    if (bytes > 1 << 16) bytes = 1 << 16;
    uint32_t n = 2 + (uint32_t)((bytes + 7) / 8);
    uint64_t *words = calloc(n, sizeof *words);
    if (!words) return OTF2_CALLBACK_INTERRUPT;
    words[0] = word, words[1] = bytes;
    if (bytes) memcpy(words + 2, s, bytes);
    OTF2_CallbackCode code = put(r, kind, n, words);
    free(words);
    return code;
}

/* Definitions. */

static OTF2_CallbackCode on_string(void *r, OTF2_StringRef self, const char *s) {
    return text(r, WSO_STRING, self, s);
}

static OTF2_CallbackCode on_clock(void *r, uint64_t resolution, uint64_t offset, uint64_t length,
    uint64_t began) {
    return PUT(r, WSO_CLOCK, resolution, offset, length, began);
}

static OTF2_CallbackCode on_tree(void *r, OTF2_SystemTreeNodeRef self, OTF2_StringRef name,
    OTF2_StringRef class,
                                 OTF2_SystemTreeNodeRef parent) {
    return PUT(r, WSO_HOST, self, name, class, parent);
}

static OTF2_CallbackCode on_process(void *r, OTF2_LocationGroupRef self, OTF2_StringRef name,
                                    OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef parent,
                                    OTF2_LocationGroupRef creator) {
    (void)creator;
    return PUT(r, WSO_PROCESS, self, name, type, parent);
}

static OTF2_CallbackCode on_location(void *data, OTF2_LocationRef self, OTF2_StringRef name,
    OTF2_LocationType type,
                                     uint64_t events, OTF2_LocationGroupRef process) {
    reader *r = data;
    if (r->count == MOST_LOCATIONS) {
        snprintf(r->error, sizeof r->error, "there are more than %d locations", MOST_LOCATIONS);
        return OTF2_CALLBACK_INTERRUPT;
    }
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        location *more = realloc(r->locations, r->room * sizeof *more);
        if (!more) return OTF2_CALLBACK_INTERRUPT;
        r->locations = more;
    }
    r->locations[r->count++] = (location){self, process};
    return PUT(r, WSO_LOCATION, self, name, type, events, process);
}

static OTF2_CallbackCode on_region(void *r, OTF2_RegionRef self, OTF2_StringRef name,
    OTF2_StringRef canonical,
                                   OTF2_StringRef description, OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                   OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t first,
                                       uint32_t last) {
    (void)canonical, (void)description, (void)flags, (void)last;
    return PUT(r, WSO_REGION, self, name, role, paradigm, file, first);
}

static OTF2_CallbackCode on_group(void *r, OTF2_GroupRef self, OTF2_StringRef name, OTF2_GroupType type,
                                  OTF2_Paradigm paradigm, OTF2_GroupFlag flags, uint32_t n,
                                      const uint64_t *members) {
    (void)name, (void)flags;
    if (n >= 1 << 20) return OTF2_CALLBACK_SUCCESS; /* more processes than whyslow has nodes */
    uint64_t *words = calloc((size_t)n + 3, sizeof *words);
    if (!words) return OTF2_CALLBACK_INTERRUPT;
    words[0] = self, words[1] = type, words[2] = paradigm;
    if (n && members) memcpy(words + 3, members, n * sizeof *words);
    OTF2_CallbackCode code = put(r, WSO_GROUP, n + 3, words);
    free(words);
    return code;
}

static OTF2_CallbackCode on_comm(void *r, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group,
                                 OTF2_CommRef parent, OTF2_CommFlag flags) {
    (void)name, (void)parent, (void)flags;
    return PUT(r, WSO_COMM, self, group);
}

static OTF2_CallbackCode on_inter(void *r, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef a,
    OTF2_GroupRef b,
                                  OTF2_CommRef common, OTF2_CommFlag flags) {
    (void)name, (void)common, (void)flags;
    return PUT(r, WSO_INTER, self, a, b);
}

static OTF2_CallbackCode on_window(void *r, OTF2_RmaWinRef self, OTF2_StringRef name, OTF2_CommRef comm,
                                   OTF2_RmaWinFlag flags) {
    (void)name, (void)flags;
    return PUT(r, WSO_WINDOW, self, comm);
}

static OTF2_GlobalDefReaderCallbacks *definitions(void) {
    OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetStringCallback(c, on_string);
    OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(c, on_clock);
    OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(c, on_tree);
    OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(c, on_process);
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(c, on_location);
    OTF2_GlobalDefReaderCallbacks_SetRegionCallback(c, on_region);
    OTF2_GlobalDefReaderCallbacks_SetGroupCallback(c, on_group);
    OTF2_GlobalDefReaderCallbacks_SetCommCallback(c, on_comm);
    OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(c, on_inter);
    OTF2_GlobalDefReaderCallbacks_SetRmaWinCallback(c, on_window);
    return c;
}

/* Events. ON defines what is called for a kind: its own parameters, and the words after the time. */

static OTF2_CallbackCode event_of(reader *r, OTF2_LocationRef location) {
    if (location == r->at) return OTF2_CALLBACK_SUCCESS;
    r->at = location;
    return PUT(r, WSO_EVENTS, location);
}

#define ON(NAME, KIND, PARAMS, ...) \
    static OTF2_CallbackCode on##NAME(OTF2_LocationRef location, OTF2_TimeStamp time, void *r, \
                                      OTF2_AttributeList *attributes PARAMS) { \
        (void)attributes; \
        OTF2_CallbackCode code = event_of(r, location); \
        return code == OTF2_CALLBACK_SUCCESS ? PUT(r, KIND, time, ##__VA_ARGS__) : code; \
    }
#define AND ,

ON(Enter, WSO_ENTER, AND OTF2_RegionRef region, region)
ON(Leave, WSO_LEAVE, AND OTF2_RegionRef region, region)
ON(MpiSend, WSO_SEND, AND uint32_t to AND OTF2_CommRef comm AND uint32_t tag AND uint64_t bytes, to,
    comm, tag, bytes)
ON(MpiIsend, WSO_ISEND, AND uint32_t to AND OTF2_CommRef comm AND uint32_t tag AND uint64_t bytes
   AND uint64_t request, to, comm, tag, bytes, request)
ON(MpiIsendComplete, WSO_ISEND_DONE, AND uint64_t request, request)
ON(MpiIrecvRequest, WSO_POSTED, AND uint64_t request, request)
ON(MpiRecv, WSO_RECEIVE, AND uint32_t from AND OTF2_CommRef comm AND uint32_t tag AND uint64_t bytes,
    from, comm, tag,
   bytes)
ON(MpiIrecv, WSO_IRECEIVE, AND uint32_t from AND OTF2_CommRef comm AND uint32_t tag AND uint64_t bytes
   AND uint64_t request, from, comm, tag, bytes, request)
ON(MpiRequestCancelled, WSO_CANCELLED, AND uint64_t request, request)
ON(MpiCollectiveEnd, WSO_COLLECTIVE, AND OTF2_CollectiveOp op AND OTF2_CommRef comm AND uint32_t root
   AND uint64_t sent AND uint64_t received, op, comm, root, sent, received)
ON(ThreadTeamBegin, WSO_TEAM_BEGIN, AND OTF2_CommRef team, team)
ON(ThreadTeamEnd, WSO_TEAM_END, AND OTF2_CommRef team, team)
ON(ThreadFork, WSO_FORK, AND OTF2_Paradigm model AND uint32_t threads, model)
ON(ThreadJoin, WSO_JOIN, AND OTF2_Paradigm model, model)
ON(ThreadTaskCreate, WSO_TASK_CREATE, AND OTF2_CommRef team AND uint32_t thread AND uint32_t number,
    team, thread,
   number)
ON(ThreadAcquireLock, WSO_LOCKED, AND OTF2_Paradigm model AND uint32_t lock AND uint32_t order, model, lock)
ON(ThreadReleaseLock, WSO_UNLOCKED, AND OTF2_Paradigm model AND uint32_t lock AND uint32_t order, model, lock)
ON(ThreadTaskSwitch, WSO_TASK_SWITCH, AND OTF2_CommRef team AND uint32_t thread AND uint32_t number,
    team, thread,
   number)
ON(ThreadTaskComplete, WSO_TASK_END, AND OTF2_CommRef team AND uint32_t thread AND uint32_t number, team,
    thread,
   number)
ON(RmaPut, WSO_PUT, AND OTF2_RmaWinRef win AND uint32_t to AND uint64_t bytes AND uint64_t id, win, to,
    bytes, id)
ON(RmaGet, WSO_GET, AND OTF2_RmaWinRef win AND uint32_t from AND uint64_t bytes AND uint64_t id, win,
    from, bytes, id)
ON(RmaAtomic, WSO_ATOMIC, AND OTF2_RmaWinRef win AND uint32_t on AND OTF2_RmaAtomicType type AND uint64_t sent
   AND uint64_t received AND uint64_t id, win, on, sent > received ? sent : received, id)
ON(RmaCollectiveEnd, WSO_RMA_COLLECTIVE, AND OTF2_CollectiveOp op AND OTF2_RmaSyncLevel level
    AND OTF2_RmaWinRef win
   AND uint32_t root AND uint64_t sent AND uint64_t received, op, win, root, sent, received)
ON(RmaAcquireLock, WSO_ACQUIRE, AND OTF2_RmaWinRef win AND uint32_t on AND uint64_t lock
    AND OTF2_LockType type, win,
   on, lock, type)
ON(RmaReleaseLock, WSO_RELEASE, AND OTF2_RmaWinRef win AND uint32_t on AND uint64_t lock, win, on, lock)
ON(RmaOpCompleteBlocking, WSO_TRANSFER_DONE, AND OTF2_RmaWinRef win AND uint64_t id, win, id)
ON(RmaOpCompleteNonBlocking, WSO_TRANSFER_DONE, AND OTF2_RmaWinRef win AND uint64_t id, win, id)
ON(RmaOpCompleteRemote, WSO_TRANSFER_DONE, AND OTF2_RmaWinRef win AND uint64_t id, win, id)

static OTF2_GlobalEvtReaderCallbacks *events(void) {
    OTF2_GlobalEvtReaderCallbacks *c = OTF2_GlobalEvtReaderCallbacks_New();
#define SET(NAME) OTF2_GlobalEvtReaderCallbacks_Set##NAME##Callback(c, on##NAME);
    SET(Enter) SET(Leave) SET(MpiSend) SET(MpiIsend) SET(MpiIsendComplete) SET(MpiIrecvRequest) SET(MpiRecv)
    SET(MpiIrecv) SET(MpiRequestCancelled) SET(MpiCollectiveEnd) SET(ThreadFork) SET(ThreadJoin)
    SET(ThreadTeamBegin) SET(ThreadTeamEnd) SET(ThreadTaskCreate) SET(ThreadTaskSwitch)
    SET(ThreadTaskComplete) SET(ThreadAcquireLock) SET(ThreadReleaseLock) SET(RmaPut) SET(RmaGet)
    SET(RmaAtomic) SET(RmaCollectiveEnd) SET(RmaAcquireLock) SET(RmaReleaseLock)
    SET(RmaOpCompleteBlocking) SET(RmaOpCompleteNonBlocking) SET(RmaOpCompleteRemote)
    return c;
}

/* note keeps the first error that the library tells of. */
static OTF2_ErrorCode note(void *data, const char *file, uint64_t line, const char *function,
    OTF2_ErrorCode code,
                           const char *format, va_list args) {
    reader *r = data;
    (void)file, (void)line, (void)function;
    if (!r->error[0] && code > 0) {
        int n = snprintf(r->error, sizeof r->error, "%s: ", OTF2_Error_GetDescription(code));
        if (n > 0 && n < (int)sizeof r->error) vsnprintf(r->error + n, sizeof r->error - (size_t)n,
            format, args);
    }
    return code;
}

static int by_process(const void *a, const void *b) {
    const location *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    return x->self < y->self ? -1 : x->self > y->self;
}

/* process writes the events of a process, which has the given locations. */
static OTF2_ErrorCode process(reader *r, const char *anchor, const location *threads, uint64_t n) {
    OTF2_Reader *in = OTF2_Reader_Open(anchor);
    if (!in) return OTF2_ERROR_INVALID;
    OTF2_ErrorCode code = OTF2_Reader_SetSerialCollectiveCallbacks(in);
    for (uint64_t i = 0; i < n && !code; i++) code = OTF2_Reader_SelectLocation(in, threads[i].self);
    if (code) return code;
    int local = OTF2_Reader_OpenDefFiles(in) == OTF2_SUCCESS;
    if ((code = OTF2_Reader_OpenEvtFiles(in))) return code;
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) { /* how it numbers definitions, and its clock */
        OTF2_DefReader *def = local ? OTF2_Reader_GetDefReader(in, threads[i].self) : NULL;
        if (def) {
            if ((code = OTF2_Reader_ReadAllLocalDefinitions(in, def, &count))) return code;
            OTF2_Reader_CloseDefReader(in, def);
        }
        if (!OTF2_Reader_GetEvtReader(in, threads[i].self)) return OTF2_ERROR_INVALID;
    }
    OTF2_GlobalEvtReader *merged = OTF2_Reader_GetGlobalEvtReader(in);
    if (!merged) return OTF2_ERROR_INVALID;
    OTF2_GlobalEvtReaderCallbacks *on_events = events();
    if ((code = OTF2_Reader_RegisterGlobalEvtCallbacks(in, merged, on_events, r))) return code;
    OTF2_GlobalEvtReaderCallbacks_Delete(on_events);
    if ((code = OTF2_Reader_ReadAllGlobalEvents(in, merged, &count))) return code;
    OTF2_Reader_CloseGlobalEvtReader(in, merged);
    OTF2_Reader_Close(in);
    return OTF2_SUCCESS;
}

static OTF2_ErrorCode everything(reader *r, const char *anchor) {
    OTF2_Reader *in = OTF2_Reader_Open(anchor);
    if (!in) return OTF2_ERROR_INVALID;
    OTF2_ErrorCode code = OTF2_Reader_SetSerialCollectiveCallbacks(in);
    if (code) return code;
    OTF2_GlobalDefReader *defs = OTF2_Reader_GetGlobalDefReader(in);
    if (!defs) return OTF2_ERROR_INVALID;
    OTF2_GlobalDefReaderCallbacks *on_defs = definitions();
    if ((code = OTF2_Reader_RegisterGlobalDefCallbacks(in, defs, on_defs, r))) return code;
    OTF2_GlobalDefReaderCallbacks_Delete(on_defs);
    uint64_t count = 0;
    if ((code = OTF2_Reader_ReadAllGlobalDefinitions(in, defs, &count))) return code;
    OTF2_Reader_CloseGlobalDefReader(in, defs);
    OTF2_Reader_Close(in);
    qsort(r->locations, r->count, sizeof *r->locations, by_process);
    for (uint64_t from = 0, to = 0; from < r->count && !code; from = to) {
        while (to < r->count && r->locations[to].process == r->locations[from].process) to++;
        code = process(r, anchor, r->locations + from, to - from);
    }
    return code;
}

int wso_read(const char *anchor, int fd) {
    reader r = {.out = fdopen(fd, "wb"), .at = OTF2_UNDEFINED_LOCATION};
    if (!r.out) return -1;
    setvbuf(r.out, NULL, _IOFBF, 1 << 20);
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) == 0 &&
        (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most_memory)) {
        limit.rlim_cur = most_memory;
        setrlimit(RLIMIT_DATA, &limit); /* else there is no limit */
    }
    OTF2_Error_RegisterCallback(note, &r);
    OTF2_ErrorCode code = everything(&r, anchor);
    if (code) text(&r, WSO_ERROR, 0, r.error[0] ? r.error : OTF2_Error_GetDescription(code));
    else put(&r, WSO_END, 0, NULL);
    return fclose(r.out) || code ? -1 : 0;
}
