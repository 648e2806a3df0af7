// What shim.c needs of meter.c.
#ifndef WHYSLOW_METER_H
#define WHYSLOW_METER_H

#include "shim.h"

#include <time.h>

// ws_start_asking installs the handler of ws_ask; -1 and errno if that fails.
int ws_start_asking(void);

int64_t ws_read_clock(clockid_t id); // nanoseconds

// ws_enter and ws_leave stand around a call of user code.
void ws_enter(ws_meter *m, uint64_t cf, int how, ws_result *res);
void ws_leave(ws_meter *m, int how, ws_result *res);

// ws_running is the worker whose user code the calling thread runs, NULL for none.
ws_meter *ws_running(void);

// Functions of ws_host.
int64_t ws_blocking(int reason, const void *site, const void *frame, const void *object, int fd, int holder);
void ws_blocked(int64_t since);

#endif
