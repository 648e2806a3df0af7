//go:build cgo && linux

// Events that user code emits by hand (EMIT_EVENT of whyslow.hpp).
//
// Problem. They belong into the trace of the run, on the worker that runs the CF. But user code never calls
// Go (see shim.c), and it may crash any moment.
//
// Plan. Each worker has a queue in memory of the system's, from its user code to whoever may use the worker's
// stream: the worker when the call is over, or the watch during a long one. Writer and reader share nothing
// but `used` and `next`, so neither waits, and what was emitted before a crash is there.
//
// Whether an event is wanted is known in Go only. So it is at first, and the reader switches it off.
//
// Threads that user code has started itself belong to no worker: their events are counted.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "events.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// A worker's queue holds up to MOST bytes, in portions of PORTION or more.
enum { PORTION = 1 << 16, MOST = 1 << 26 };

int64_t ws_homeless, ws_too_many;

static ws_event *events;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *ws_name_event(const void *owner, const char *space, const char *name, const char *types)
{
	pthread_mutex_lock(&lock);
	ws_event *e = events;
	while (e && (e->owner != owner || strcmp(e->space, space) || strcmp(e->name, name) ||
		strcmp(e->types, types)))
		e = e->next;
	if (!e && (e = calloc(1, sizeof *e))) {
		e->owner = owner;
		e->space = strdup(space);
		e->name = strdup(name);
		e->types = strdup(types);
		e->id = events ? events->id + 1 : 0;
		e->next = events;
		__atomic_store_n(&events, e, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return e;
}

const ws_event *ws_event_of(uint64_t id)
{
	const ws_event *e = __atomic_load_n(&events, __ATOMIC_ACQUIRE);
	while (e && e->id != id) e = e->next;
	return e;
}

void ws_event_off(uint64_t id) { __atomic_store_n(&((ws_event *)ws_event_of(id))->off, 1, __ATOMIC_RELAXED); }

void ws_renew_events(void)
{
	for (ws_event *e = __atomic_load_n(&events, __ATOMIC_ACQUIRE); e; e = e->next)
		__atomic_store_n(&e->off, 0, __ATOMIC_RELAXED);
}

// portion begins another portion, with room for so many words.
static struct ws_events *portion(ws_meter *m, uint64_t words)
{
	uint64_t size = sizeof(struct ws_events) + 8 * words;
	if (size < PORTION) size = PORTION;
	if (__atomic_add_fetch(&m->kept, size, __ATOMIC_RELAXED) > MOST) {
		__atomic_sub_fetch(&m->kept, size, __ATOMIC_RELAXED);
		return NULL;
	}
	struct ws_events *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) return NULL;
	p->room = (size - sizeof *p) / 8;
	if (m->latest) __atomic_store_n(&m->latest->next, p, __ATOMIC_RELEASE);
	else __atomic_store_n(&m->events, p, __ATOMIC_RELEASE);
	return m->latest = p;
}

int ws_emit(void *event, const uint64_t *words, uint32_t count, const char *texts, uint32_t size)
{
	const ws_event *e = event;
	if (e && __atomic_load_n(&e->off, __ATOMIC_RELAXED)) return 0;
	ws_meter *m = ws_running();
	if (!e || !m) {
		__atomic_fetch_add(&ws_homeless, 1, __ATOMIC_RELAXED);
		return 1;
	}
	uint64_t all = 3 + count + (size + 7) / 8;
	struct ws_events *p = m->latest;
	if ((!p || p->room - p->used < all) && !(p = portion(m, all))) {
		__atomic_fetch_add(&ws_too_many, 1, __ATOMIC_RELAXED);
		return 1;
	}
	uint64_t *at = p->words + p->used;
	at[0] = (uint64_t)ws_now();
	at[1] = e->id;
	at[2] = (uint64_t)size << 32 | count;
	memcpy(at + 3, words, 8 * count);
	memcpy(at + 3 + count, texts, size);
	__atomic_store_n(&p->used, p->used + all, __ATOMIC_RELEASE);
	return 1;
}

void ws_free_events(ws_meter *m, struct ws_events *p)
{
	uint64_t size = sizeof *p + 8 * p->room;
	munmap(p, size);
	__atomic_sub_fetch(&m->kept, size, __ATOMIC_RELAXED);
}
