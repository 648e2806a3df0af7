//go:build cgo && linux

// The shim: one C call per atomic CF, and the ways out of user code.
//
// Problem. A code fragment is foreign code on a thread of the Go runtime. It may crash, abort, call exit, or
// find a data fragment of the wrong type. Then the run must end with one line that names the CF, and with a
// whole trace; the process must live on to write both.
//
// Way out. ws_call sets a jump buffer on its stack and points the thread-local `current` to it. Whatever ends
// the code fragment early stores the reason there and jumps back: a failed check in DF (host_fail), exit
// (host_leave; the linker's --wrap leads the calls here), a signal (on_signal). Nothing is unwound:
// destructors of the user's frames do not run, and locks that they hold stay locked. That is what an abort
// means to the program. After any outcome except WS_DONE and WS_THREW the engine ends the run, without
// waiting for workers that do not come back. The buffer does not hold the signal mask, which would cost a
// system call per call; only the way out of a signal restores the mask, from the interrupted context.
//
// Signals. SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT get our handler once, after the Go runtime has set its
// own. It runs on the thread's alternate stack, which the Go runtime gives to all its threads, so a stack
// overflow is caught as well. There are three cases:
//   1. The thread is in user code (current is set), and the signal comes from it: a fault, or sent by this
//      process (abort, assert, std::terminate, raise). Jump.
//   2. The thread has no alternate stack. It is not a thread of the Go runtime, so user code has started it,
//      and there is no place to jump to. The handler writes a record to a pipe, which a goroutine reads, and
//      blocks the thread forever. (If such a thread overflows its own stack, this cannot be reported: the
//      handler has no stack to run on.)
//   3. Anything else belongs to the Go runtime. Its handler is called as if ours were not there, so a nil
//      pointer in Go panics as usual. For that reason our handler has its flags and mask.
// While a thread is in user code it never runs Go code, because nothing here calls back into Go. So 1 and 3
// cannot be confused. glibc's abort holds no lock while it raises SIGABRT.
//
// A crash may come from within malloc, which then holds its lock. After a crash those who end the run free
// nothing, and take memory from the system (malloc, below).
//
// Loading a library runs user code, too: constructors of static objects. A jump out of dlopen would leave the
// loader in the middle of its work, its locks taken by a thread that goes on. So a separate thread loads. In
// case 1 it reports the crash and stays where it is forever. Whoever waits for it gets the outcome; nothing
// may be loaded afterwards. Unloading is guarded in the same way as a call.
//
// Cost. A call costs the cgo transition (about 35 ns), two readings of the clock, a _setjmp, and one indirect
// call. Values passed are Go memory without Go pointers, so the cgo checks have nothing to do.
//
// What happened to the thread stands in meter.c, how others find out where it is in where.c.
//
// A code fragment may write where it must not. Beyond the end of a DF it spoils the word behind it (WS_TAIL),
// which the engine looks at after each call. Otherwise it may damage what malloc keeps, and glibc aborts when
// we free or allocate, or the loader does for a new thread: these calls are guarded as calls of user code
// are, and set `damaged`; a thread that allocates elsewhere stays where it is and reports. Beyond its stack
// frame it returns to nowhere, which is a crash like others: the frames above it, ours, lie behind `gap`. If
// it wrote further than that, there is nothing to jump to; the thread reports this as one of the user's own.
//
// Not done: system calls by number, signals with other actions that user code installs itself, fork.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FORTIFY_SOURCE // its longjmp refuses to leave an alternate stack
#include "events.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define WHOLE UINT64_C(0x51f3a9d2c4e8b607)

typedef struct context {
	uint64_t whole; // WHOLE; at the lowest address, so that it goes first if the stack is overwritten
	jmp_buf env;
	int64_t code;
	char *msg;
	uint64_t address, pc;
	int cause, overflow;
	struct loading *loading; // the thread loads a library
} context;

// Read in the signal handler.
static __thread context *volatile current __attribute__((tls_model("initial-exec")));

static ws_clock the_clock;
static int64_t live;
static int has_crashed; // a lock of malloc may be held forever
static int32_t damaged;  // the signal with which malloc or free ended, 0: it never did
static int crash_pipe = -1;
// While this is 0, a foreign thread that crashes has lost its code: that is not the program's fault.
static int open_libraries;

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { SIGNALS = sizeof signals / sizeof signals[0] };
static struct sigaction old_actions[SIGNALS];

// ---- Clock

int64_t ws_read_clock(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t ws_now(void)
{
#ifdef __x86_64__
	if (the_clock.tsc) {
		unsigned __int128 ticks = __builtin_ia32_rdtsc() - the_clock.origin;
		return the_clock.base + (int64_t)(ticks * the_clock.mult >> the_clock.shift);
	}
#endif
	return the_clock.base + ws_read_clock(CLOCK_MONOTONIC);
}

// ---- Memory

// The process's malloc, calloc and free stand here, before those of the C library (or of a library that the
// user has preloaded), to which they lead. What guards against a damaged heap, and against a lock that a
// crash has left locked, is only for those that end the run: the Go runtime, this shim, and the loader,
// which allocates for every new thread. They need neither realloc nor aligned memory.
static void *first_malloc(size_t), *first_calloc(size_t, size_t);
static void first_free(void *);
static void *(*next_malloc)(size_t) = first_malloc;
static void *(*next_calloc)(size_t, size_t) = first_calloc;
static void (*next_free)(void *) = first_free;
static uintptr_t program, program_end, loader, loader_end;

// find looks for the next ones. While it looks there are none; an old dlsym copes with that.
static int find(void)
{
	static __thread int finding __attribute__((tls_model("initial-exec")));
	if (finding) return 0;
	finding = 1;
	void *m = dlsym(RTLD_NEXT, "malloc"), *c = dlsym(RTLD_NEXT, "calloc"), *f = dlsym(RTLD_NEXT, "free");
	finding = 0;
	if (!m || !c || !f) abort();
	next_malloc = (void *(*)(size_t))m;
	next_calloc = (void *(*)(size_t, size_t))c;
	next_free = (void (*)(void *))f;
	return 1;
}

static void *first_malloc(size_t size) { return find() ? next_malloc(size) : NULL; }
static void *first_calloc(size_t n, size_t size) { return find() ? next_calloc(n, size) : NULL; }
static void first_free(void *p)
{
	if (find()) next_free(p);
}

// heap frees p, or allocates if it is NULL. If the heap is damaged, what there is stays and new memory comes
// from the system.
static void *heap(void *p, size_t size)
{
	if (!__atomic_load_n(&has_crashed, __ATOMIC_RELAXED)) {
		context c;
		c.whole = WHOLE;
		c.loading = NULL;
		int kind = _setjmp(c.env);
		if (kind == 0) {
			current = &c;
			if (p) next_free(p);
			else p = next_malloc(size);
			current = NULL;
			return p;
		}
		__atomic_store_n(&damaged, (int32_t)c.code, __ATOMIC_RELAXED);
	}
	if (p) return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

// guarded_heap is heap for a caller who may have blocked all signals, as who makes or ends a thread does.
static void *guarded_heap(void *p, size_t size)
{
	sigset_t faults, old;
	sigemptyset(&faults);
	for (int i = 0; i < SIGNALS; i++) sigaddset(&faults, signals[i]);
	pthread_sigmask(SIG_UNBLOCK, &faults, &old);
	p = heap(p, size);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return p;
}

// guarded tells whether a call from there is for guarded_heap: neither user code's nor heap's.
static inline int guarded(const void *from)
{
	if (__builtin_expect(current != NULL, 1)) return 0;
	uintptr_t at = (uintptr_t)from;
	return at - program < program_end - program || at - loader < loader_end - loader;
}

void *malloc(size_t size)
{
	return guarded(__builtin_return_address(0)) ? guarded_heap(NULL, size) : next_malloc(size);
}

void free(void *p)
{
	if (!guarded(__builtin_return_address(0))) next_free(p);
	else if (p) guarded_heap(p, 0);
}

void *calloc(size_t n, size_t size)
{
	if (!guarded(__builtin_return_address(0))) return next_calloc(n, size);
	size_t all;
	void *p = __builtin_mul_overflow(n, size, &all) ? NULL : guarded_heap(NULL, all);
	return p ? memset(p, 0, all) : NULL;
}

// start_guarding finds where the program and the loader are.
static void start_guarding(void)
{
	extern const char __executable_start, etext;
	program = (uintptr_t)&__executable_start;
	program_end = (uintptr_t)&etext;
	loader = getauxval(AT_BASE);
	if (!loader) return; // the loader was started with the program as its argument
	const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)loader;
	const ElfW(Phdr) *part = (const ElfW(Phdr) *)(loader + head->e_phoff);
	for (int i = 0; i < head->e_phnum; i++)
		if (part[i].p_type == PT_LOAD && loader + part[i].p_vaddr + part[i].p_memsz > loader_end)
			loader_end = loader + part[i].p_vaddr + part[i].p_memsz;
}

uint64_t ws_alloc(uint64_t size)
{
	if (size > SIZE_MAX - WS_BESIDE) return 0;
	ws_buf *b = heap(NULL, WS_BESIDE + size);
	if (!b) return 0;
	b->refs = 1;
	b->size = size;
	const uint64_t tail = WS_TAIL;
	memcpy((char *)(b + 1) + size, &tail, sizeof tail);
	__atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
	return (uint64_t)(uintptr_t)b;
}

void ws_free(uint64_t buf)
{
	__atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
	heap((void *)(uintptr_t)buf, 0);
}

const int32_t *ws_damaged(void) { return &damaged; }
void ws_free_no_more(void) { __atomic_store_n(&has_crashed, 1, __ATOMIC_RELAXED); }

void ws_free_text(uint64_t msg) { free((void *)(uintptr_t)msg); }
int64_t ws_live(void) { return __atomic_load_n(&live, __ATOMIC_RELAXED); }

// ---- Ways out of user code

typedef struct loading {
	context c;
	const char *path;
	void *handle;
	ws_library *library;
	char *why; // it could not be loaded
	int kind;
	sem_t over;
	char stack[1 << 16]; // for signal handlers
} loading;

// stay ends a load, whatever the outcome, and never returns. Otherwise the destructors of thread_local
// objects, made by constructors of static objects, would run now.
static __attribute__((noreturn)) void stay(loading *l, int kind)
{
	l->kind = kind;
	sem_post(&l->over);
	for (;;) pause();
}

// jump ends the user code of this thread.
static __attribute__((noreturn)) void jump(context *c, int kind)
{
	current = NULL;
	if (c->loading) stay(c->loading, kind);
	_longjmp(c->env, kind);
}

// The user's code may have written over what the C library keeps of the thread, which lies above its stack.
// Even write, pause and errno look there. So what ends such a thread calls the system itself.

// overwritten tells whether that has happened: what is kept begins with its own address.
static int overwritten(void)
{
#ifdef __x86_64__
	enum { GET_FS = 0x1003 };
	uint64_t at = 0;
	return syscall(SYS_arch_prctl, GET_FS, &at) == 0 && at && *(uint64_t *)(uintptr_t)at != at;
#else
	return 0;
#endif
}

static void raw_write(int fd, const void *data, size_t size)
{
	for (int tries = 0; tries < 1000 && syscall(SYS_write, fd, data, size) < 0;) tries++; // interrupted
}

static void raw_sleep(int seconds)
{
	struct timespec left = {.tv_sec = seconds};
	while (syscall(SYS_nanosleep, &left, &left) < 0) {} // interrupted
}

static __attribute__((noreturn)) void rest(void)
{
	for (;;) raw_sleep(1 << 30);
}

// report tells the goroutine that a thread of the user's has ended the program; report_foreign does, and
// never returns. Records of up to PIPE_BUF bytes are written as a whole. Safe in a signal handler.
static void report(int sig, const char *msg)
{
	struct {
		int32_t sig, len;
		char text[1024];
	} r;
	r.sig = sig;
	r.len = 0;
	while (msg[r.len] && r.len < (int)sizeof r.text) {
		r.text[r.len] = msg[r.len];
		r.len++;
	}
	if (__atomic_load_n(&open_libraries, __ATOMIC_RELAXED) > 0)
		raw_write(crash_pipe, &r, 2 * sizeof(int32_t) + r.len);
}

static __attribute__((noreturn)) void report_foreign(int sig, const char *msg)
{
	uint64_t all = ~UINT64_C(0); // the Go runtime's handlers could not run here any more
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
	report(sig, msg);
	rest();
}

// report_damage is report_foreign for a thread of the Go runtime, which may need it, or a lock that it holds:
// if the run does not end by itself soon, the process does.
static __attribute__((noreturn)) void report_damage(int sig)
{
	static const char line[] = "whyslow: " WS_DAMAGED "; the end of the trace is lost\n";
	report(sig, WS_DAMAGED);
	raw_sleep(5);
	raw_write(2, line, sizeof line - 1);
	_exit(1);
}

static void host_fail(const char *msg)
{
	context *c = current;
	if (!c) report_foreign(SIGABRT, msg);
	c->msg = strdup(msg);
	jump(c, WS_ABORTED);
}

static void host_leave(int code, const char *how)
{
	context *c = current;
	if (!c) {
		char msg[64];
		snprintf(msg, sizeof msg, "%s(%d) was called", how, code);
		report_foreign(0, msg);
	}
	c->code = code;
	c->msg = strdup(how);
	jump(c, WS_EXITED);
}

static void host_threw(const char *msg)
{
	context *c = current;
	c->msg = strdup(msg);
}

static const ws_host host = {&live, host_fail, host_leave, host_threw, ws_blocking, ws_blocked, ws_name_event,
	ws_emit, &ws_homeless};

static uint64_t register_of(const ucontext_t *u, int stack)
{
#if defined __x86_64__
	return (uint64_t)u->uc_mcontext.gregs[stack ? REG_RSP : REG_RIP];
#elif defined __aarch64__
	return stack ? u->uc_mcontext.sp : u->uc_mcontext.pc;
#else
	(void)u;
	return stack ? 0 : 0;
#endif
}

static void chain(int sig, siginfo_t *info, void *uc)
{
	for (int i = 0; i < SIGNALS; i++) {
		if (signals[i] != sig) continue;
		struct sigaction *old = &old_actions[i];
		if (old->sa_flags & SA_SIGINFO) {
			old->sa_sigaction(sig, info, uc);
		} else if (old->sa_handler == SIG_DFL) {
			sigaction(sig, old, NULL); // the faulting instruction, or the sender, repeats it
			if (info->si_code <= 0) raise(sig);
		} else if (old->sa_handler != SIG_IGN) {
			old->sa_handler(sig);
		}
	}
}

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	if (overwritten()) report_foreign(sig, WS_OVERWRITTEN);
	int saved_errno = errno;
	int by_kernel = info->si_code > 0;
	if (by_kernel || info->si_pid == getpid()) {
		context *c = current;
		const ucontext_t *u = uc;
		// Even `current` may be overwritten, since glibc keeps what is thread-local above the stack. Then it is
		// hardly an address.
		if (c && ((uint64_t)(uintptr_t)c >> 47 || c->whole != WHOLE)) report_foreign(sig, WS_OVERWRITTEN);
		if (c) {
			c->code = sig;
			// Of an address that no processor could use the kernel does not tell which it was.
			c->cause = by_kernel && info->si_code != SI_KERNEL ? info->si_code : 0;
			c->address = by_kernel ? (uint64_t)(uintptr_t)info->si_addr : 0;
			c->pc = by_kernel ? register_of(u, 0) : 0;
			// An overflow touches the guard area next to the stack pointer; a big frame steps far below it.
			int64_t below = (int64_t)(register_of(u, 1) - c->address);
			c->overflow = sig == SIGSEGV && by_kernel && below > -(1 << 16) && below < (1 << 20);
			sigset_t mask = u->uc_sigmask;
			for (int i = 0; i < SIGNALS; i++) sigdelset(&mask, signals[i]);
			__atomic_store_n(&has_crashed, 1, __ATOMIC_RELAXED);
			pthread_sigmask(SIG_SETMASK, &mask, NULL);
			jump(c, WS_SIGNALLED);
		}
		stack_t alternate;
		if (sigaltstack(NULL, &alternate) == 0 && (alternate.ss_flags & SS_DISABLE)) report_foreign(sig, "");
		if (sig == SIGABRT && !by_kernel && __atomic_load_n(&open_libraries, __ATOMIC_RELAXED) > 0) {
			// Neither user code nor the Go runtime: the C library has found the heap damaged, below a call of ours or
			// while it made a thread.
			__atomic_store_n(&has_crashed, 1, __ATOMIC_RELAXED);
			report_damage(sig);
		}
	}
	chain(sig, info, uc);
	errno = saved_errno;
}

int ws_start(ws_clock clock)
{
	the_clock = clock;
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0) return -1;
	if (fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0) return -1;
	crash_pipe = fds[1];
	// Many programs create and destroy DFs of some megabytes at every step. By default glibc returns each to the
	// system at once, and the next one costs a page fault per page.
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	for (int i = 0; i < SIGNALS; i++) {
		struct sigaction a;
		memset(&a, 0, sizeof a);
		a.sa_sigaction = on_signal;
		a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
		sigfillset(&a.sa_mask);
		if (sigaction(signals[i], NULL, &old_actions[i]) < 0 || sigaction(signals[i], &a, NULL) < 0) return -1;
	}
	start_guarding();
	if (ws_start_asking() < 0) return -1;
	return fds[0];
}

// ---- Calls

// finish fills in the outcome that a jump has brought.
static __attribute__((noinline)) int finish(context *c, int kind, ws_result *res)
{
	res->msg = (uint64_t)(uintptr_t)c->msg;
	res->code = c->code;
	if (kind == WS_SIGNALLED) {
		res->address = c->address;
		res->cause = c->cause;
		res->overflow = c->overflow;
		Dl_info in;
		res->file = 0;
		// The loader may stay locked forever.
		if (c->pc && !c->loading && dladdr((void *)(uintptr_t)c->pc, &in) && in.dli_fname) {
			res->file = (uint64_t)(uintptr_t)in.dli_fname;
			res->offset = c->pc - (uint64_t)(uintptr_t)in.dli_fbase;
		}
	}
	return kind;
}

// gap calls a routine far below our own frames.
static __attribute__((noinline)) void gap(uint64_t fn, ws_value *args)
{
	char between[4096];
	__asm__ volatile("" : : "r"(between) : "memory");
	((void (*)(ws_value *))(uintptr_t)fn)(args);
	__asm__ volatile("" : : "r"(between) : "memory"); // and no jump instead of a call
}

int ws_call(uint64_t fn, ws_value *args, ws_result *res, uint64_t meter_at, uint64_t cf, int how)
{
	ws_meter *meter = (ws_meter *)(uintptr_t)meter_at;
	context c;
	c.whole = WHOLE;
	c.msg = NULL;
	c.code = 0;
	c.loading = NULL;
	int kind = _setjmp(c.env);
	if (kind == 0) {
		current = &c;
		ws_enter(meter, cf, how, res);
		res->start = ws_now();
		meter->base = (uint64_t)(uintptr_t)&c;
		__atomic_store_n(&meter->since, res->start, __ATOMIC_RELEASE);
		gap(fn, args);
		res->end = ws_now();
		current = NULL;
		ws_leave(meter, how, res);
		if (__builtin_expect(c.msg == NULL, 1)) return WS_DONE;
		return finish(&c, WS_THREW, res);
	}
	res->end = ws_now();
	ws_leave(meter, how, res);
	return finish(&c, kind, res);
}

// ---- Libraries

static void *load(void *arg)
{
	loading *l = arg;
	stack_t stack = {.ss_sp = l->stack, .ss_size = sizeof l->stack};
	sigaltstack(&stack, NULL);
	current = &l->c;
	l->handle = dlopen(l->path, RTLD_NOW | RTLD_LOCAL);
	l->library = l->handle ? dlsym(l->handle, "whyslow_library") : NULL;
	const char *why = l->library ? NULL : dlerror();
	current = NULL;
	if (l->library) stay(l, WS_DONE);
	l->why = strdup(why ? why : "");
	if (l->handle) dlclose(l->handle);
	stay(l, WS_ABORTED);
}

int ws_open(const char *path, uint64_t *handle, uint64_t *library, ws_result *res)
{
	loading *l = calloc(1, sizeof *l); // lives as long as the thread
	l->c.whole = WHOLE;
	l->c.loading = l;
	l->path = strdup(path);
	sem_init(&l->over, 0, 0);
	__atomic_fetch_add(&open_libraries, 1, __ATOMIC_RELAXED);
	sigset_t all, old;
	sigfillset(&all);
	for (int i = 0; i < SIGNALS; i++) sigdelset(&all, signals[i]);
	pthread_sigmask(SIG_SETMASK, &all, &old); // other signals go to threads that know what to do with them
	pthread_t thread;
	int err = pthread_create(&thread, NULL, load, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		res->msg = (uint64_t)(uintptr_t)strdup(strerror(err));
		return WS_ABORTED;
	}
	pthread_detach(thread);
	while (sem_wait(&l->over) < 0 && errno == EINTR) {}
	if (l->why) {
		res->msg = (uint64_t)(uintptr_t)l->why;
		__atomic_fetch_sub(&open_libraries, 1, __ATOMIC_RELAXED);
		return WS_ABORTED;
	}
	if (l->kind != WS_DONE) return finish(&l->c, l->kind, res);
	if (l->library->version == WHYSLOW_ABI_VERSION) l->library->connect(&host);
	*handle = (uint64_t)(uintptr_t)l->handle;
	*library = (uint64_t)(uintptr_t)l->library;
	return WS_DONE;
}

// on_behalf runs what a library does for the run-time system; what it printed is written then.
static int on_behalf(void (*body)(void *), void *arg, ws_result *res)
{
	context c;
	memset(&c, 0, sizeof c);
	c.whole = WHOLE;
	int kind = _setjmp(c.env);
	if (kind != 0) return finish(&c, kind, res);
	current = &c;
	body(arg);
	fflush(NULL);
	current = NULL;
	return WS_DONE;
}

static void finish_library(void *library) { ((ws_library *)library)->finish(); }

int ws_finish(uint64_t library, ws_result *res)
{
	return on_behalf(finish_library, (void *)(uintptr_t)library, res);
}

static void flush_library(void *library) { ((ws_library *)library)->flush(); }

int ws_flush(uint64_t library, ws_result *res)
{
	return on_behalf(flush_library, (void *)(uintptr_t)library, res);
}

typedef struct {
	void *handle;
	ws_library *library;
	const char *path;
	int last;
	ws_result *res;
} closing;

static void close_library(void *arg)
{
	closing *l = arg;
	__atomic_fetch_sub(&open_libraries, 1, __ATOMIC_RELAXED);
	dlclose(l->handle);
	// The library stays loaded if it has symbols that are unique in the process, or if a thread still has
	// destructors of it to run.
	l->res->code = 0;
	if (l->last && dlopen(l->path, RTLD_NOW | RTLD_NOLOAD)) {
		l->library->finish();
		l->res->code = 1;
	}
}

int ws_close(uint64_t handle, uint64_t library, const char *path, int last, ws_result *res)
{
	closing l = {(void *)(uintptr_t)handle, (ws_library *)(uintptr_t)library, path, last, res};
	return on_behalf(close_library, &l, res);
}

uint64_t ws_entry_call(uint64_t library, uint32_t i)
{
	return (uint64_t)(uintptr_t)((ws_library *)(uintptr_t)library)->entries[i].call;
}
const char *ws_entry_signature(uint64_t library, uint32_t i)
{
	return ((ws_library *)(uintptr_t)library)->entries[i].signature;
}
uint32_t ws_entry_count(uint64_t library) { return ((ws_library *)(uintptr_t)library)->count; }
uint32_t ws_library_version(uint64_t library) { return ((ws_library *)(uintptr_t)library)->version; }
int ws_defined(const char *symbol) { return dlsym(RTLD_DEFAULT, symbol) != NULL; }

uint64_t ws_offset(uint64_t address, const char **file)
{
	Dl_info in;
	if (!dladdr((void *)(uintptr_t)address, &in) || !in.dli_fname) return 0;
	*file = in.dli_fname;
	return address - (uint64_t)(uintptr_t)in.dli_fbase;
}
