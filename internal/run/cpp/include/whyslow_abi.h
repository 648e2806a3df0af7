// What the host program (C) and the library made from a program's code fragments (C++) know of each other.
// Both sides are built from this one file; ABI_VERSION changes with it.
#ifndef WHYSLOW_ABI_H
#define WHYSLOW_ABI_H

#include <stdint.h>

#define WHYSLOW_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

// A data fragment's value. The class DF has the same layout.
typedef struct ws_value {
	uint32_t type;     // 0 unset, 1 int, 2 real, 3 string, 4 byte block
	uint32_t borrowed; // in a handle: the buffer's count was not raised for it
	uint64_t bits;     // int sign extended, bits of a double, or address of a ws_buf
} ws_value;

// Head of a buffer; the bytes follow. malloc aligns it to 16, hence the bytes too.
// A string's size counts its NUL.
typedef struct ws_buf {
	int64_t refs; // changed by atomic operations only; from bit 32 on: how many read it that user code does not know of
	uint64_t size;
} ws_buf;

// What the host gives to a library. None of the functions returns, except threw.
typedef struct ws_host {
	int64_t *live; // number of ws_bufs in existence
	void (*fail)(const char *msg);
	void (*leave)(int code, const char *how); // exit and the like; how: the function's name
	void (*threw)(const char *msg);           // an exception left the code fragment
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
	void (*finish)(void); // runs destructors and atexit functions that have not run yet
} ws_library;

#ifdef __cplusplus
}
#endif
#endif
