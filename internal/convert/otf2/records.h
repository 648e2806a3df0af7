/* records.h: what read.c makes of an archive. See records.go. */
#ifndef WHYSLOW_OTF2_RECORDS_H
#define WHYSLOW_OTF2_RECORDS_H

#include <stdint.h>

/* The same numbers as in records.go, which says what each record has. */
enum {
    WSO_END = 1, WSO_ERROR,
    WSO_STRING, WSO_CLOCK, WSO_HOST, WSO_PROCESS, WSO_LOCATION, WSO_REGION, WSO_GROUP, WSO_COMM, WSO_INTER,
    WSO_WINDOW,
    WSO_EVENTS,
    WSO_ENTER, WSO_LEAVE, WSO_SEND, WSO_ISEND, WSO_ISEND_DONE, WSO_POSTED, WSO_RECEIVE, WSO_IRECEIVE,
    WSO_CANCELLED, WSO_COLLECTIVE, WSO_FORK, WSO_JOIN, WSO_TEAM_BEGIN, WSO_TEAM_END, WSO_TASK_CREATE,
    WSO_TASK_SWITCH, WSO_TASK_END, WSO_LOCKED, WSO_UNLOCKED, WSO_PUT, WSO_GET, WSO_ATOMIC,
    WSO_RMA_COLLECTIVE, WSO_ACQUIRE, WSO_RELEASE, WSO_TRANSFER_DONE, WSO_COLLECTIVE_BEGIN,
    WSO_RMA_COLLECTIVE_BEGIN
};

/* wso_read writes the records of an archive to an open file. It returns 0, or else an error has been written
 * as
 * the last record. */
int wso_read(const char *anchor, int fd);

/* wso_create makes an archive in a folder; null: it cannot. wso_put takes in whole records, definitions
 * before
 * events; wso_close completes the archive. Both return 0, or a text that says what is wrong. */
struct wso_writer;
struct wso_writer *wso_create(const char *folder);
const char *wso_put(struct wso_writer *w, const uint64_t *words, uint64_t n);
const char *wso_close(struct wso_writer *w);

#endif
