/* A module that does not return, or closes descriptors that are not its own. MODE says where; it prints
 * "ready" before. */
#include "whyslow_module.h"

#include <stdio.h>
#include <unistd.h>

enum { LOAD = 1, START, HANDLER, FINISH, CLOSE_AT_START, CLOSE_AT_END, CLOSE_IN_HANDLER, CLOSE_ALL };

static void at(int mode) {
    if (mode != MODE) return;
    printf("ready\n");
    fflush(stdout);
    for (;;) pause();
}

static void closes(int mode) {
    int fd;
    for (fd = 0; mode == MODE && fd < 256; fd++) close(fd);
    if (mode == MODE && mode == CLOSE_ALL) closefrom(0);
}

__attribute__((constructor)) static void loaded(void) { at(LOAD); }

static void handle(const wsm_event *e, void *user) {
    (void)e, (void)user;
    at(HANDLER);
    closes(CLOSE_IN_HANDLER);
    closes(CLOSE_ALL);
}

static void *start(const wsm_host *host) {
    at(START);
    closes(CLOSE_AT_START);
    host->connect(host, "CFEvents.onFinished", handle, NULL);
    return (void *)host;
}

static void finish(void *self) {
    (void)self;
    at(FINISH);
    closes(CLOSE_AT_END);
}

static const wsm_module module = {
    .version = WSM_VERSION, .name = "odd_module", .start = start, .finish = finish};

const wsm_module *whyslow_module(void) { return &module; }
