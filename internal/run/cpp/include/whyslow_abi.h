// The interface between the host program (C) and the library made from a program's code fragments (C++). Both
// sides are built from this one file; ABI_VERSION changes with it.
#ifndef WHYSLOW_ABI_H
#define WHYSLOW_ABI_H

#include <stdint.h>

#define WHYSLOW_ABI_VERSION 5

#ifdef __cplusplus
extern "C" {
#endif

// A data fragment's value. The class DF has the same layout.
typedef struct ws_value {
	uint32_t type;     // 0 unset, 1 int, 2 real, 3 string, 4 byte block
	uint32_t borrowed; // in a handle: it does not count as a reference to the buffer
	uint64_t bits;     // a sign-extended int, the bits of a double, or the address of a ws_buf
} ws_value;

// The head of a buffer. The bytes follow; malloc aligns the head to 16, and so the bytes. A string's size
// includes its NUL. A word behind the bytes tells whether somebody wrote beyond their end:
//
//	refs | size | bytes, as many as size says | WS_TAIL
typedef struct ws_buf {
	// Changed by atomic operations only. From bit 32 on: how many read it without user code knowing.
	int64_t refs;
	uint64_t size;
} ws_buf;

#define WS_TAIL UINT64_C(0x7d1a6c3e95b2f048)
enum { WS_BESIDE = sizeof(ws_buf) + sizeof(uint64_t) }; // what a buffer takes beside its bytes

// Why a thread gave its core up. The names stand in Go, in the same order.
enum { WS_LOCK, WS_IO, WS_SLEEP };

// What the host gives to a library. fail and leave do not return.
typedef struct ws_host {
	int64_t *live; // number of ws_bufs that exist
	void (*fail)(const char *msg);
	void (*leave)(int code, const char *how); // exit and the like; how: the name of the function
	void (*threw)(const char *msg);           // an exception left the code fragment
	// blocking is called before a call that may block: site is the address behind it, frame the frame of the
	// function called, object that of a lock or 0, fd a descriptor or -1, holder the kernel's number of the
	// thread that holds the lock, or 0. It returns the time, or 0 if nobody wants to know; otherwise blocked is
	// called after the call. Neither changes errno.
	int64_t (*blocking)(int reason, const void *site, const void *frame, const void *object, int fd, int holder);
	void (*blocked)(int64_t since);
	// event names an event that the code of a library (owner: an address there) emits; types has a letter for
	// each argument: i signed, u unsigned, f double, b bool, t text, T time, d nanoseconds, o an object as text.
	// NULL: no memory. It is for emit, whose words are the arguments, those of texts their lengths in texts.
	// emit returns 0 if nobody wants the event.
	void *(*event)(const void *owner, const char *space, const char *name, const char *types);
	int (*emit)(void *event, const uint64_t *words, uint32_t count, const char *texts, uint32_t size);
	int64_t *homeless; // how many events were emitted outside of CFs
} ws_host;

typedef struct ws_entry {
	const char *signature;
	void (*call)(ws_value *args);
} ws_entry;

// What a library gives to the host, under the name whyslow_library.
typedef struct ws_library {
	uint32_t version;
	uint32_t count;
	const ws_entry *entries;
	void (*connect)(const ws_host *);
	void (*flush)(void);
	void (*finish)(void); // runs the destructors and atexit functions that have not run yet
} ws_library;

#ifdef __cplusplus
}
#endif
#endif
