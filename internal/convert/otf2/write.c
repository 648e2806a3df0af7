//go:build otf2

/* write.c writes records as an archive, with libotf2. */

#include "records.h"

#include <otf2/otf2.h>
#include <stdlib.h>

struct wso_writer {
    OTF2_Archive *archive;
    OTF2_GlobalDefWriter *defs;
    OTF2_EvtWriter *events;
    OTF2_LocationRef *locations;
    uint64_t count, room;
};

static OTF2_FlushType may_flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller,
    bool last) {
    (void)data, (void)type, (void)location, (void)caller, (void)last;
    return OTF2_FLUSH;
}

struct wso_writer *wso_create(const char *folder) {
    static OTF2_FlushCallbacks flush = {.otf2_pre_flush = may_flush};
    struct wso_writer *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->archive = OTF2_Archive_Open(folder, "traces", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20,
        OTF2_SUBSTRATE_POSIX,
                                   OTF2_COMPRESSION_NONE);
    if (w->archive && !OTF2_Archive_SetFlushCallbacks(w->archive, &flush, NULL) &&
        !OTF2_Archive_SetSerialCollectiveCallbacks(w->archive) &&
        !OTF2_Archive_SetCreator(w->archive, "whyslow") && !OTF2_Archive_OpenEvtFiles(w->archive) &&
        (w->defs = OTF2_Archive_GetGlobalDefWriter(w->archive)))
        return w;
    free(w);
    return NULL;
}

static OTF2_ErrorCode next_location(struct wso_writer *w, OTF2_LocationRef location) {
    OTF2_ErrorCode code = w->events ? OTF2_Archive_CloseEvtWriter(w->archive, w->events) : OTF2_SUCCESS;
    w->events = code ? NULL : OTF2_Archive_GetEvtWriter(w->archive, location);
    return code ? code : w->events ? OTF2_SUCCESS : OTF2_ERROR_INVALID;
}

static OTF2_ErrorCode define_location(struct wso_writer *w, const uint64_t *a) {
    if (w->count == w->room) {
        w->room = w->room ? 2 * w->room : 64;
        OTF2_LocationRef *more = realloc(w->locations, w->room * sizeof *more);
        if (!more) return OTF2_ERROR_MEM_ALLOC_FAILED;
        w->locations = more;
    }
    w->locations[w->count++] = a[0];
    return OTF2_GlobalDefWriter_WriteLocation(w->defs, a[0], a[1], a[2], a[3], a[4]);
}

static OTF2_ErrorCode one(struct wso_writer *w, unsigned kind, const uint64_t *a, uint64_t n) {
    OTF2_GlobalDefWriter *d = w->defs;
    OTF2_EvtWriter *e = w->events;
    const OTF2_StringRef none = OTF2_UNDEFINED_STRING;
    const OTF2_StringRef empty = 0;
    switch (kind) {
    case WSO_STRING:
        return OTF2_GlobalDefWriter_WriteString(d, a[0], (const char *)(a + 2));
    case WSO_CLOCK:
        return OTF2_GlobalDefWriter_WriteClockProperties(d, a[0], a[1], a[2], a[3]);
    case WSO_HOST:
        return OTF2_GlobalDefWriter_WriteSystemTreeNode(d, a[0], a[1], a[2], a[3]);
    case WSO_PROCESS:
        return OTF2_GlobalDefWriter_WriteLocationGroup(d, a[0], a[1], a[2], a[3],
            OTF2_UNDEFINED_LOCATION_GROUP);
    case WSO_LOCATION:
        return define_location(w, a);
    case WSO_REGION:
        return OTF2_GlobalDefWriter_WriteRegion(d, a[0], a[1], a[1], none, a[2], a[3],
            OTF2_REGION_FLAG_NONE, a[4],
                                                a[5], a[5]);
    case WSO_GROUP:
        return OTF2_GlobalDefWriter_WriteGroup(d, a[0], empty, a[1], a[2], OTF2_GROUP_FLAG_NONE, n - 3,
            a + 3);
    case WSO_COMM:
        return OTF2_GlobalDefWriter_WriteComm(d, a[0], empty, a[1], OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    case WSO_WINDOW:
        return OTF2_GlobalDefWriter_WriteRmaWin(d, a[0], empty, a[1], OTF2_RMA_WIN_FLAG_NONE);
    case WSO_EVENTS:
        return next_location(w, a[0]);
    case WSO_ENTER:
        return OTF2_EvtWriter_Enter(e, NULL, a[0], a[1]);
    case WSO_LEAVE:
        return OTF2_EvtWriter_Leave(e, NULL, a[0], a[1]);
    case WSO_SEND:
        return OTF2_EvtWriter_MpiSend(e, NULL, a[0], a[1], a[2], a[3], a[4]);
    case WSO_ISEND:
        return OTF2_EvtWriter_MpiIsend(e, NULL, a[0], a[1], a[2], a[3], a[4], a[5]);
    case WSO_ISEND_DONE:
        return OTF2_EvtWriter_MpiIsendComplete(e, NULL, a[0], a[1]);
    case WSO_POSTED:
        return OTF2_EvtWriter_MpiIrecvRequest(e, NULL, a[0], a[1]);
    case WSO_RECEIVE:
        return OTF2_EvtWriter_MpiRecv(e, NULL, a[0], a[1], a[2], a[3], a[4]);
    case WSO_IRECEIVE:
        return OTF2_EvtWriter_MpiIrecv(e, NULL, a[0], a[1], a[2], a[3], a[4], a[5]);
    case WSO_COLLECTIVE_BEGIN:
        return OTF2_EvtWriter_MpiCollectiveBegin(e, NULL, a[0]);
    case WSO_COLLECTIVE:
        return OTF2_EvtWriter_MpiCollectiveEnd(e, NULL, a[0], a[1], a[2], a[3], a[4], a[5]);
    case WSO_RMA_COLLECTIVE_BEGIN:
        return OTF2_EvtWriter_RmaCollectiveBegin(e, NULL, a[0]);
    case WSO_RMA_COLLECTIVE:
        return OTF2_EvtWriter_RmaCollectiveEnd(e, NULL, a[0], a[1], OTF2_RMA_SYNC_LEVEL_PROCESS, a[2],
            a[3], a[4],
                                               a[5]);
    case WSO_PUT:
        return OTF2_EvtWriter_RmaPut(e, NULL, a[0], a[1], a[2], a[3], a[4]);
    case WSO_GET:
        return OTF2_EvtWriter_RmaGet(e, NULL, a[0], a[1], a[2], a[3], a[4]);
    case WSO_ATOMIC:
        return OTF2_EvtWriter_RmaAtomic(e, NULL, a[0], a[1], a[2],
            OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, a[3],
                                        a[3], a[4]);
    case WSO_TRANSFER_DONE:
        return OTF2_EvtWriter_RmaOpCompleteBlocking(e, NULL, a[0], a[1], a[2]);
    case WSO_ACQUIRE:
        return OTF2_EvtWriter_RmaAcquireLock(e, NULL, a[0], a[1], a[2], a[3], a[4]);
    case WSO_RELEASE:
        return OTF2_EvtWriter_RmaReleaseLock(e, NULL, a[0], a[1], a[2], a[3]);
    }
    return OTF2_ERROR_INVALID_RECORD;
}

static const char *say(OTF2_ErrorCode code) { return code ? OTF2_Error_GetDescription(code) : NULL; }

const char *wso_put(struct wso_writer *w, const uint64_t *words, uint64_t n) {
    for (uint64_t i = 0; i < n; i += 1 + (words[i] >> 8)) {
        OTF2_ErrorCode code = one(w, words[i] & 255, words + i + 1, words[i] >> 8);
        if (code) return say(code);
    }
    return NULL;
}

static OTF2_ErrorCode finish(struct wso_writer *w) {
    OTF2_ErrorCode code = w->events ? OTF2_Archive_CloseEvtWriter(w->archive, w->events) : OTF2_SUCCESS;
    if (!code) code = OTF2_Archive_CloseEvtFiles(w->archive);
    if (!code) code = OTF2_Archive_OpenDefFiles(w->archive);
    for (uint64_t i = 0; i < w->count && !code; i++) { /* readers expect a file for each location */
        OTF2_DefWriter *d = OTF2_Archive_GetDefWriter(w->archive, w->locations[i]);
        code = d ? OTF2_Archive_CloseDefWriter(w->archive, d) : OTF2_ERROR_INVALID;
    }
    if (!code) code = OTF2_Archive_CloseDefFiles(w->archive);
    if (!code) code = OTF2_Archive_CloseGlobalDefWriter(w->archive, w->defs);
    return code;
}

const char *wso_close(struct wso_writer *w) {
    OTF2_ErrorCode code = finish(w), closed = OTF2_Archive_Close(w->archive);
    free(w->locations);
    free(w);
    return say(code ? code : closed);
}
