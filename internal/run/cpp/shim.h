// The C side of package cpp: see shim.c.
#ifndef WHYSLOW_SHIM_H
#define WHYSLOW_SHIM_H

#include "include/whyslow_abi.h"

enum { WS_DONE, WS_EXITED, WS_ABORTED, WS_SIGNALLED, WS_THREW };

// How a thread spent the nanoseconds before a time. The rest it was blocked.
typedef struct ws_span {
	int64_t end, of; // of 0: nothing was measured
	int64_t cpu;     // it ran
	int64_t queued;  // it waited for a core; -1: the kernel does not tell
	int64_t faulted; // it waited for major page faults
} ws_span;

// A stretch in which user code was blocked in a call.
typedef struct ws_wait {
	int64_t from, to;
	uint64_t site, object; // as in ws_host.blocking
	uint64_t holder;       // the CF that held the lock, 0 unknown
	int32_t reason;
	char file[60]; // what the descriptor is, as /proc has it; "" unknown
} ws_wait;

// What is measured of a worker. It may go from thread to thread between calls.
typedef struct ws_meter {
	ws_wait *waits; // of the last call
	int64_t count;
	int64_t room; // for so many
	struct thread *thread;
	int64_t at, cpu, queued; // the last reading that was handed out
	int64_t waited;          // recorded since
	int64_t started;         // the thread's CPU time at the start of the call, -1 not known
	ws_span before;          // from the last reading up to the start of the last call
	ws_span up_to;           // from the last reading up to its end
	// Other threads read these, to find out where the call is that is under way.
	int64_t since;   // when the last call began
	uint64_t base;   // user code has the thread's stack below this address
	int32_t tid;     // of the thread
	int32_t reason;  // what the last wait is for
	int64_t waiting; // when it began; 0: none is under way
	// as in ws_host.blocking
	uint64_t site, frame, object;
	int32_t fd;
	uint64_t holder; // as in ws_wait
	// What user code has emitted (events.h): the first portion that is not read yet, and the one that grows.
	struct ws_events *events, *latest;
	uint64_t kept; // bytes of them
} ws_meter;

// What a running thread was doing when it was asked.
typedef struct ws_look {
	uint64_t regs[32]; // numbered as DWARF does
	uint64_t pc;
	uint64_t sp;
	int64_t size; // of the stack that was copied, from sp on
	unsigned char stack[1 << 18];
} ws_look;

// What a call measures.
enum {
	WS_NOTHING,
	WS_SHARED, // a reading of the clocks serves many calls
	WS_EACH    // the call's own CPU time as well
};

// The outcome of a call. No Go pointers.
typedef struct ws_result {
	int64_t start, end; // nanoseconds, by the process's clock
	int64_t cpu;        // nanoseconds of the thread's CPU time, -1 if not requested
	int64_t code;       // exit code or signal number
	uint64_t address;   // WS_SIGNALLED: where the access failed
	int64_t cause;      // WS_SIGNALLED: si_code
	int64_t overflow;   // WS_SIGNALLED: not 0: the stack overflowed
	uint64_t msg;       // char *, to be freed, or 0
	uint64_t file;      // WS_SIGNALLED: the binary with the failed instruction, char *, not to be freed, or 0
	uint64_t offset;    // of the instruction, in that file's address space
} ws_result;

// How to convert the time-stamp counter (or the monotonic clock) to the process's clock.
typedef struct ws_clock {
	uint64_t tsc, origin, mult;
	uint64_t shift;
	int64_t base;
} ws_clock;

// ws_start is called once. It returns the descriptor on which crashes of foreign threads are reported, or -1
// and errno.
int ws_start(ws_clock clock);
// ws_call runs a code fragment for a worker. cf is what others call it when it holds a lock.
// meter is the address of a ws_meter: Go would check at every call what a pointer leads to.
int ws_call(uint64_t fn, ws_value *args, ws_result *res, uint64_t meter, uint64_t cf, int how);
// ws_rest is called before the worker leaves its thread: the span since the last reading.
void ws_rest(ws_meter *meter, ws_span *span);
ws_meter *ws_new_meter(void); // NULL: no memory
void ws_free_meter(ws_meter *meter);
int ws_tells_queued(void); // whether the kernel tells how long threads wait for cores
// ws_offset gives the address as the file of a library counts, 0 if it is in none, and that file.
uint64_t ws_offset(uint64_t address, const char **file);
// ws_ask makes a thread that runs user code, which has its stack below base, tell where it is. NULL: it has
// not done so in time. One thread may be asked at a time; what is returned is valid until the next question.
const ws_look *ws_ask(int32_t tid, uint64_t base, int64_t patience);
int64_t ws_now(void);

// ws_open loads a library. If it fails, the message in res says why.
int ws_open(const char *path, uint64_t *handle, uint64_t *library, ws_result *res);
// ws_close unloads a library. last: it is not open elsewhere. It returns with res->code 1 if the library
// could not be unloaded; its destructors have run nevertheless.
int ws_close(uint64_t handle, uint64_t library, const char *path, int last, ws_result *res);
// ws_finish runs the destructors only; the code stays loaded.
int ws_finish(uint64_t library, ws_result *res);
int ws_flush(uint64_t library, ws_result *res);
uint64_t ws_entry_call(uint64_t library, uint32_t i);
const char *ws_entry_signature(uint64_t library, uint32_t i);
uint32_t ws_entry_count(uint64_t library);
uint32_t ws_library_version(uint64_t library);
int ws_defined(const char *symbol);

uint64_t ws_alloc(uint64_t size); // a ws_buf with one reference; 0: no memory
void ws_free(uint64_t buf);
const int32_t *ws_damaged(void); // not 0: the signal with which malloc or free found the heap damaged
void ws_free_no_more(void);      // the heap is damaged: nothing is freed from now on

#define WS_DAMAGED "the program's C++ code has damaged the heap: it wrote where it must not"

// What is said of a code fragment that leaves no stack to go on with.
#define WS_OVERWRITTEN "a code fragment has overwritten the stack of its thread"
void ws_free_text(uint64_t msg);
int64_t ws_live(void);

#endif
