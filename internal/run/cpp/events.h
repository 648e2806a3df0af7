// Events that user code emits: see events.c.
#ifndef WHYSLOW_EVENTS_H
#define WHYSLOW_EVENTS_H

#include "meter.h"

// An event that user code emits with arguments of some types. It is never freed.
typedef struct ws_event {
	struct ws_event *next;
	uint64_t id;       // from 0
	const void *owner; // in the library; there may have been another before
	int32_t off; // nobody wants it
	const char *space, *name, *types;
} ws_event;

// Events that a worker's user code has emitted, one after the other:
//
//	time | id | bytes of texts << 32 + number of words | words | texts, filled up to a whole word
struct ws_events {
	struct ws_events *next; // the later ones
	uint64_t used;          // words; grows
	uint64_t room;
	uint64_t words[];
};

void *ws_name_event(const void *owner, const char *space, const char *name, const char *types);
int ws_emit(void *event, const uint64_t *words, uint32_t count, const char *texts, uint32_t size);
const ws_event *ws_event_of(uint64_t id);
void ws_event_off(uint64_t id);
// ws_renew_events has all events asked for anew, as for another run.
void ws_renew_events(void);
void ws_free_events(ws_meter *m, struct ws_events *first);
// What could not be kept: outside of CFs, and for want of memory.
extern int64_t ws_homeless, ws_too_many;

#endif
