//go:build cgo && linux

// What happened to a worker's thread while user code ran: did it run, wait for a core, or wait for something
// else?
//
// Problem. A thread that runs a CF may be off its core for two kinds of reasons: others had the core, or user
// code had given it up. The kernel counts both for each thread, but each question is a system call: 0.4 us
// for the thread's CPU time, 0.7 us for its run-queue delay, 0.4 us for its page faults. A CF may be shorter.
//
// Plan. A reading of the CPU time ends a span of the thread's time and begins the next. CFs of code fragments
// that run long get spans of their own: the reading at the end of one serves the start of the next, if that
// follows within NEAR. Short CFs share spans of SHARE; who reads the trace divides them. The run-queue delay
// is read once the thread has been off its core for WORTH since the last time: it cannot have grown by more.
// Where WORTH of a span is still unexplained, voluntary switches tell whether the thread was blocked at all:
// a hypervisor takes time that no queue knows of. Page faults tell whether it waited for the disk. What
// remains in doubt counts as time in the queue. Switches are read at the end of every span in which the
// thread was off its core: those of a pause of Go's own must not count for a CF after it.
//
// A span needs both readings from one thread that the worker did not share between them: the worker may have
// moved on, and the thread may have run another worker. The thread remembers the last meter, the meter the
// last thread, and both must agree.
//
// Calls that may block report themselves (whyslow_waits.cc). Before such a call a reading not older than
// WORTH is needed, so a program that makes a million short calls a second pays for one reading per WORTH.
//
// A thread's record is never freed, because other threads look there for the CF that holds a lock; the next
// new thread takes it over.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// Nanoseconds.
enum {
	NEAR = 10000,
	SHARE = 100000,
	WORTH = 20000,
	// A lock that was waited for any shorter is not worth a record.
	SHORT = 2000
};

// MOST is how many waits of one call are recorded. Of more, the kernel's figures tell.
enum { MOST = 1 << 15 };

typedef struct thread {
	struct thread *next;
	int tid;           // 0: the thread has ended
	uint64_t cf;       // that runs on it, 0 for none; others read it
	int schedstat;     // descriptor, -1 if there is none
	int64_t at, cpu;   // when its CPU time was read last, and what it was
	int64_t queued;    // run-queue delay when it was read last
	int64_t off;       // time off the core since then
	int64_t apart;     // likewise, since switches were read
	int64_t faults;    // major page faults when they were read last
	int64_t switches;  // voluntary ones, likewise; -1: not since the thread was left to others
	ws_meter *meter;   // the last that used the thread
	ws_meter *active;  // user code runs for it, and no wait is under way
	ws_meter *waiting; // the wait under way is its
} thread;

static __thread thread *self __attribute__((tls_model("initial-exec")));
static thread *threads;
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forget(void *arg)
{
	thread *t = arg;
	if (t->schedstat >= 0) close(t->schedstat);
	__atomic_store_n(&t->cf, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->tid, 0, __ATOMIC_RELEASE);
	self = NULL;
}

static void prepare(void) { pthread_key_create(&ending, forget); }

#if defined __x86_64__ && defined __GLIBC__ && defined SYS_rseq
extern const ptrdiff_t __rseq_offset __attribute__((weak));
#endif

// leave_rseq ends the thread's restartable sequences, of which the C library makes no use but a faster
// sched_getcpu. The kernel keeps them in memory that user code overwrites when it runs over its stack, and
// then kills the process before our handler of the signal could say who did.
static void leave_rseq(void)
{
#if defined __x86_64__ && defined __GLIBC__ && defined SYS_rseq
	enum { LENGTH = 32, UNREGISTER = 1, MARK = 0x53053053 };
	if (&__rseq_offset) syscall(SYS_rseq, (char *)pthread_self() + __rseq_offset, LENGTH, UNREGISTER, MARK);
#endif
}

// add makes the record of the calling thread; NULL without memory.
static __attribute__((noinline)) thread *add(void)
{
	pthread_once(&once, prepare);
	leave_rseq();
	pthread_mutex_lock(&threads_lock);
	thread *t = threads;
	while (t && t->tid) t = t->next;
	if (!t && (t = calloc(1, sizeof *t))) {
		t->next = threads;
		__atomic_store_n(&threads, t, __ATOMIC_RELEASE);
	}
	if (t) {
		t->meter = t->active = NULL;
		t->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
		__atomic_store_n(&t->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
		pthread_setspecific(ending, t);
	}
	pthread_mutex_unlock(&threads_lock);
	return self = t;
}

int ws_tells_queued(void) { return access("/proc/thread-self/schedstat", R_OK) == 0; }

// queued reads the run-queue delay, the second number of the file; what it was if that fails.
static int64_t queued(const thread *t)
{
	char text[80];
	ssize_t n = t->schedstat < 0 ? -1 : pread(t->schedstat, text, sizeof text - 1, 0);
	if (n <= 0) return t->queued;
	text[n] = 0;
	char *second = strchr(text, ' ');
	return second ? strtoll(second, NULL, 10) : t->queued;
}

// count reads the page faults and switches of the thread.
static void count(thread *t)
{
	struct rusage u;
	if (getrusage(RUSAGE_THREAD, &u) != 0) return;
	t->apart = 0;
	t->faults = u.ru_majflt;
	t->switches = u.ru_nvcsw;
}

// look reads the clocks of the thread.
static void look(thread *t, int64_t now)
{
	int64_t cpu = ws_read_clock(CLOCK_THREAD_CPUTIME_ID);
	int64_t off = now - t->at - (cpu - t->cpu);
	t->off += off;
	t->apart += off;
	t->at = now;
	t->cpu = cpu;
	if (t->off >= WORTH) {
		t->queued = queued(t);
		t->off = 0;
	}
}

static int64_t within(int64_t ns, int64_t most) { return ns < 0 ? 0 : ns > most ? most : ns; }

// close_span hands out what has happened since the last reading that was handed out, up to now.
static void close_span(ws_meter *m, thread *t, int64_t now, ws_span *s)
{
	look(t, now);
	s->end = now;
	s->of = now - m->at;
	s->cpu = within(t->cpu - m->cpu, s->of);
	int64_t off = s->of - s->cpu;
	s->queued = t->schedstat < 0 ? -1 : within(t->queued - m->queued, off);
	s->faulted = 0;
	int64_t faults = t->faults, switches = t->switches;
	if (t->apart >= SHORT) count(t);
	if (s->queued >= 0) {
		int64_t rest = off - s->queued - m->waited;
		if (rest >= WORTH && switches >= 0 && t->switches > switches)
			s->faulted = t->faults > faults ? rest : 0;
		else
			s->queued += rest > 0 ? rest : 0;
	}
	m->at = now;
	m->cpu = t->cpu;
	m->queued = t->queued;
	m->waited = 0;
}

// arrive begins to measure a worker on a thread that it was not on before.
static __attribute__((noinline)) void arrive(ws_meter *m, thread *t, int how)
{
	t->meter = m;
	m->thread = t;
	m->waited = 0;
	t->switches = -1;
	if (how == WS_EACH) {
		t->queued = queued(t);
		count(t);
	}
	t->off = 0;
	m->at = t->at = ws_now();
	m->cpu = t->cpu = ws_read_clock(CLOCK_THREAD_CPUTIME_ID);
	m->queued = t->queued;
}

void ws_enter(ws_meter *m, uint64_t cf, int how, ws_result *res)
{
	thread *t = self;
	m->before.of = m->up_to.of = 0;
	res->cpu = -1;
	m->count = 0;
	if (__builtin_expect(!t, 0) && !(t = add())) return;
	if (how != WS_NOTHING) {
		if (t->meter != m || m->thread != t) {
			arrive(m, t, how);
		} else if (how == WS_EACH) {
			int64_t now = ws_now();
			if (now - t->at > NEAR) close_span(m, t, now, &m->before);
		}
	}
	m->started = -1;
	if (how == WS_EACH) {
		int64_t since = ws_now() - t->at;
		// It ran all the time, unless that is long: then it may have lost its core.
		m->started = since <= NEAR ? t->cpu + since : ws_read_clock(CLOCK_THREAD_CPUTIME_ID);
	}
	__atomic_store_n(&t->cf, cf, __ATOMIC_RELAXED);
	__atomic_store_n(&m->tid, t->tid, __ATOMIC_RELAXED);
	t->active = m;
}

void ws_leave(ws_meter *m, int how, ws_result *res)
{
	thread *t = self;
	if (__builtin_expect(!t, 0)) return;
	t->active = NULL;
	__atomic_store_n(&t->cf, 0, __ATOMIC_RELAXED);
	if (how == WS_NOTHING || (how == WS_SHARED && res->end - m->at < SHARE)) return;
	close_span(m, t, res->end, &m->up_to);
	if (how == WS_EACH) res->cpu = within(t->cpu - m->started, res->end - res->start);
}

void ws_rest(ws_meter *m, ws_span *span)
{
	thread *t = self;
	span->of = 0;
	if (!t || t->meter != m || m->thread != t) return;
	close_span(m, t, ws_now(), span);
	t->meter = NULL;
}

// ---- Calls that block

// holder_of finds the CF that runs on a thread.
static uint64_t holder_of(int tid)
{
	for (thread *t = __atomic_load_n(&threads, __ATOMIC_ACQUIRE); t; t = t->next)
		if (__atomic_load_n(&t->tid, __ATOMIC_ACQUIRE) == tid) return __atomic_load_n(&t->cf, __ATOMIC_RELAXED);
	return 0;
}

int64_t ws_blocking(int reason, const void *site, const void *frame, const void *object, int fd, int holder)
{
	thread *t = self;
	if (!t || !t->active) return 0;
	ws_meter *m = t->waiting = t->active;
	t->active = NULL;
	m->holder = holder ? holder_of(holder) : 0;
	int64_t now = ws_now();
	if (t->meter == m && m->thread == t && now - t->at > WORTH) {
		int err = errno;
		look(t, now);
		errno = err;
	}
	m->reason = reason;
	m->site = (uint64_t)(uintptr_t)site;
	m->frame = (uint64_t)(uintptr_t)frame;
	m->object = (uint64_t)(uintptr_t)object;
	m->fd = fd;
	__atomic_store_n(&m->waiting, now, __ATOMIC_RELEASE);
	return now;
}

// room makes room for one wait more.
static int room(ws_meter *m)
{
	if (m->count < m->room) return 1;
	int64_t more = m->room ? 2 * m->room : 64;
	if (more > MOST) return 0;
	// User code may have its own malloc, in the middle of which it may wait for a lock.
	void *p = m->room ? mremap(m->waits, m->room * sizeof *m->waits, more * sizeof *m->waits, MREMAP_MAYMOVE)
					  : mmap(NULL, more * sizeof *m->waits, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) return 0;
	m->waits = p;
	m->room = more;
	return 1;
}

void ws_blocked(int64_t since)
{
	int64_t now = ws_now(), ns = now - since;
	thread *t = self;
	ws_meter *m = t->waiting;
	t->active = m;
	__atomic_store_n(&m->waiting, 0, __ATOMIC_RELAXED);
	int64_t least = m->reason == WS_IO ? WORTH : SHORT; // what files give at once is copied: that is work
	if (ns < least) return;
	int err = errno;
	if (t->meter == m && m->thread == t && ns >= WORTH) {
		int64_t cpu = t->cpu + (since - t->at), queued = t->queued;
		look(t, now);
		ns -= within(t->cpu - cpu, ns);
		ns -= within(t->queued - queued, ns);
	}
	if (ns >= least && room(m)) {
		ws_wait *w = &m->waits[m->count++];
		m->waited += ns;
		w->from = since;
		w->to = since + ns;
		w->site = m->site;
		w->object = m->object;
		w->holder = m->holder;
		w->reason = m->reason;
		char link[32];
		snprintf(link, sizeof link, "/proc/self/fd/%d", m->fd);
		ssize_t n = m->fd < 0 ? -1 : readlink(link, w->file, sizeof w->file - 1);
		w->file[n < 0 ? 0 : n] = 0;
	}
	errno = err;
}

ws_meter *ws_running(void) { return self ? self->active : NULL; }

ws_meter *ws_new_meter(void) { return calloc(1, sizeof(ws_meter)); }

void ws_free_meter(ws_meter *m)
{
	if (m->room) munmap(m->waits, m->room * sizeof *m->waits);
	for (struct ws_events *p = m->events, *next; p; p = next) {
		next = p->next;
		ws_free_events(m, p);
	}
	free(m);
}
