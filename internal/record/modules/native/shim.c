//go:build cgo && linux

// The shim: calls of modules, calls of the host by modules, and the way out of a module that crashes.
//
// A module is foreign code on a thread of the Go runtime. If it crashes, the user must get one line that
// names it, and the program's trace must be whole. As in internal/run/cpp, a call of a module sets a jump
// buffer. If a signal arrives while the thread is in a module's code, its handler jumps back to the call,
// which tells Go. Nothing is unwound. A lock of malloc may stay locked, so the rest of the run may hang where
// it needs that lock: a module can do that much harm.
//
// `current` is NULL while the thread is in Go code that the module has called. A fault there is the Go
// runtime's, or that of a module called by that code in turn, which has set `current` again. So a jump never
// passes Go frames. Signals that arrive elsewhere go to the handler set before ours. The handler of
// internal/run/cpp, which may be set before or after ours, does the same.
//
// Cost of an event: the cgo transition (about 35 ns), a _setjmp, an indirect call.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FORTIFY_SOURCE // its longjmp refuses to leave an alternate stack
#include "shim.h"
#include "_cgo_export.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

typedef struct context {
	jmp_buf env;
	const char *name; // of the module
	wn_crash crash;
	uint64_t pc;
} context;

// Read in the signal handler.
static __thread context *volatile current __attribute__((tls_model("initial-exec")));

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { SIGNALS = sizeof signals / sizeof signals[0] };
static struct sigaction old_actions[SIGNALS];

// ---- Crashes

static uint64_t register_of(const ucontext_t *u, int stack)
{
#if defined __x86_64__
	return (uint64_t)u->uc_mcontext.gregs[stack ? REG_RSP : REG_RIP];
#elif defined __aarch64__
	return stack ? u->uc_mcontext.sp : u->uc_mcontext.pc;
#else
	(void)u, (void)stack;
	return 0;
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
	int saved_errno = errno;
	int by_kernel = info->si_code > 0;
	context *c = current;
	if (c && (by_kernel || info->si_pid == getpid())) {
		const ucontext_t *u = uc;
		current = NULL;
		c->crash.signal = sig;
		c->crash.cause = by_kernel ? info->si_code : 0;
		c->crash.address = by_kernel ? (uint64_t)(uintptr_t)info->si_addr : 0;
		c->pc = by_kernel ? register_of(u, 0) : 0;
		// An overflow touches the guard area next to the stack pointer; a big frame steps far below it.
		int64_t below = (int64_t)(register_of(u, 1) - c->crash.address);
		c->crash.overflow = sig == SIGSEGV && by_kernel && below > -(1 << 16) && below < (1 << 20);
		sigset_t mask = u->uc_sigmask;
		for (int i = 0; i < SIGNALS; i++) sigdelset(&mask, signals[i]);
		pthread_sigmask(SIG_SETMASK, &mask, NULL);
		_longjmp(c->env, 1);
	}
	chain(sig, info, uc);
	errno = saved_errno;
}

// on_exit_called reports a module that has called exit. The Go runtime itself does not call exit functions.
static void on_exit_called(void)
{
	context *c = current;
	if (!c) return;
	char line[256];
	int n = snprintf(line, sizeof line,
		"whyslow: module %.100s called exit: this ends the run, and the trace is not complete\n",
		c->name);
	for (char *at = line; n > 0;) {
		ssize_t w = write(STDERR_FILENO, at, (size_t)n);
		if (w <= 0) break;
		at += w, n -= (int)w;
	}
}

int wn_guard(void)
{
	if (atexit(on_exit_called)) return -1;
	for (int i = 0; i < SIGNALS; i++) {
		struct sigaction a;
		memset(&a, 0, sizeof a);
		a.sa_sigaction = on_signal;
		a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
		sigfillset(&a.sa_mask);
		if (sigaction(signals[i], NULL, &old_actions[i]) < 0 || sigaction(signals[i], &a, NULL) < 0) return -1;
	}
	return 0;
}

// crashed makes the report of a crash, in memory that malloc has no part in.
static __attribute__((noinline)) wn_crash *crashed(context *c)
{
	static wn_crash none = {.signal = SIGSEGV};
	wn_crash *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r == MAP_FAILED) return &none;
	*r = c->crash;
	Dl_info in;
	if (c->pc && dladdr((void *)(uintptr_t)c->pc, &in)) r->file = in.dli_fname;
	return r;
}

// ---- Calls of modules

typedef struct named_host {
	wsm_host host; // what the module sees
	const char *name;
} named_host;

// closing is what a module did that closed descriptors and has not crashed.
static wn_crash closing = {.closed = 1};

// GUARDED runs statements in which the module of that name may crash.
#define GUARDED(module_name, statements) \
	context c; \
	c.name = module_name; \
	memset(&c.crash, 0, sizeof c.crash); \
	if (_setjmp(c.env)) return crashed(&c); \
	current = &c; \
	statements; \
	current = NULL; \
	return c.crash.closed ? &closing : NULL

// Libraries that are loaded, in their order. Only wn_open and wn_close use them, never at once.
enum { MOST_LIBRARIES = 256 };
static void *libraries[MOST_LIBRARIES];
static int library_count;

static void keep_library(void *handle)
{
	if (library_count < MOST_LIBRARIES) libraries[library_count++] = handle;
}

static wn_crash *closed(void)
{
	GUARDED("a module library", {
		int some = library_count;
		while (library_count > 0) dlclose(libraries[--library_count]);
		// For what destructors have printed. Other files may be locked for ever: by code that was left reading.
		if (some) fflush(stdout);
	});
}

static wn_crash *opened(const char *path, const wsm_module **descriptor, char **error)
{
	GUARDED(path, {
		// Loaded by a module, the library of C++ would take symbols from that module, which could then never be
		// unloaded. Where there is none, no module needs it.
		dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
		void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		const wsm_module *(*f)(void) = NULL;
		if (h) *(void **)&f = dlsym(h, "whyslow_module");
		if (f) {
			*descriptor = f();
			keep_library(h);
		} else {
			const char *why = dlerror();
			*error = strdup(h ? "" : why ? why : "unknown error");
			if (h) dlclose(h);
		}
	});
}

static wn_crash *start(const wsm_module *m, const wsm_host *host, uintptr_t *self)
{
	GUARDED(m->name, *self = (uintptr_t)m->start(host));
}

static wn_crash *finish(const wsm_module *m, uintptr_t self)
{
	GUARDED(m->name, m->finish((void *)self));
}

static wn_crash *release(const wsm_module *m, uintptr_t self)
{
	GUARDED(m->name, {
		if (m->release) m->release((void *)self);
		fflush(NULL); // for what the module itself has printed: nobody runs exit functions
	});
}

// ---- Descriptors
//
// A module may close descriptors that are not its own: close(0..255), as daemons do. Without its epoll
// descriptor the Go runtime ends the process at once, with pages of stacks. So the functions that close
// descriptors are ours: the loader finds those of the program before those of libc. They refuse to close what
// whyslow cannot do without, and note who tried. (Go itself calls the kernel.) Descriptors that others opened
// stay out of it, so sessions of one process cannot disturb each other.

enum { MOST_KEPT = 8 };
static int runtimes[MOST_KEPT], runtime_count; // the Go runtime's descriptors

// open_file gives what a descriptor stands for, as the kernel calls it; "": it is closed.
static const char *open_file(int fd, char *buf, size_t size)
{
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, buf, size - 1);
	buf[n < 0 ? 0 : n] = 0;
	return buf;
}

// each calls f with all open descriptors from first to last.
static void each(unsigned first, unsigned last, void (*f)(int fd))
{
	DIR *dir = opendir("/proc/self/fd");
	if (!dir) return;
	for (struct dirent *e; (e = readdir(dir));) {
		if (e->d_name[0] == '.' || atoi(e->d_name) == dirfd(dir)) continue;
		unsigned fd = (unsigned)atoi(e->d_name);
		if (fd >= first && fd <= last) f((int)fd);
	}
	closedir(dir);
}

static void note_runtime(int fd)
{
	char buf[32];
	const char *what = open_file(fd, buf, sizeof buf);
	if (runtime_count < MOST_KEPT &&
	    (strcmp(what, "anon_inode:[eventpoll]") == 0 || strcmp(what, "anon_inode:[eventfd]") == 0))
		runtimes[runtime_count++] = fd;
}

static void find_runtime(void) { each(0, ~0u, note_runtime); }

// refused tells whether a module is about to close a descriptor that whyslow needs: a standard stream, one of
// the runtime's, or a file of the trace.
static int refused(int fd)
{
	context *c = current;
	if (!c || fd < 0) return 0;
	char buf[4096];
	const char *what = open_file(fd, buf, sizeof buf);
	size_t n = strlen(what);
	int ours = n > 0 && fd <= STDERR_FILENO || n > 4 && strcmp(what + n - 4, ".wst") == 0;
	for (int i = 0; i < runtime_count; i++) ours |= runtimes[i] == fd;
	c->crash.closed |= ours;
	return ours;
}

int close(int fd) { return refused(fd) ? 0 : (int)syscall(SYS_close, fd); }

int dup3(int from, int to, int flags)
{
	// Standard streams may be redirected.
	if (to > STDERR_FILENO && refused(to)) return to;
	return (int)syscall(SYS_dup3, from, to, flags);
}

int dup2(int from, int to)
{
	if (from == to) return fcntl(from, F_GETFD) < 0 ? -1 : to;
	return dup3(from, to, 0);
}

static void close_one(int fd) { close(fd); }

int close_range(unsigned first, unsigned last, int flags)
{
	if (!current || flags) return (int)syscall(SYS_close_range, first, last, flags);
	each(first, last, close_one);
	return 0;
}

void closefrom(int first) { close_range((unsigned)(first < 0 ? 0 : first), ~0u, 0); }

wn_crash *wn_open(const char *path, const wsm_module **descriptor, char **error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_runtime); // no module has opened anything yet
	return opened(path, descriptor, error);
}
wn_crash *wn_start(const wsm_module *m, const wsm_host *host, uintptr_t *self)
{
	return start(m, host, self);
}
wn_crash *wn_close(void) { return closed(); }
wn_crash *wn_finish(const wsm_module *m, uintptr_t self) { return finish(m, self); }
wn_crash *wn_release(const wsm_module *m, uintptr_t self) { return release(m, self); }

wn_crash *wn_query(const wsm_module *m, uintptr_t self, const char *what, int node, double *value, int *known)
{
	GUARDED(m->name, *known = m->query((void *)self, what, node, value));
}

wn_crash *wn_api(const wsm_module *m, uintptr_t self, uintptr_t *api)
{
	GUARDED(m->name, *api = (uintptr_t)m->api((void *)self));
}

wn_crash *wn_handle(uintptr_t handler, uintptr_t user, uintptr_t host, uintptr_t spec, uintptr_t ref,
	int64_t time, int32_t node, int32_t stream, const uint64_t *words, uint32_t count)
{
	wsm_event e = {(const wsm_host *)host, (const wsm_spec *)spec, time, node, stream, words, count, ref};
	GUARDED(((const named_host *)host)->name, ((wsm_handler)handler)(&e, (void *)user));
}

// ---- Calls of the host

// IN_GO returns the value of a call into Go.
#define IN_GO(type, call) \
	context *c = current; \
	current = NULL; \
	type r = call; \
	current = c; \
	return r

#define TO_GO(call) \
	context *c = current; \
	current = NULL; \
	call; \
	current = c

static int host_connect(const wsm_host *h, const char *event, wsm_handler f, void *user)
{
	IN_GO(int, wnConnect(h->ref, (char *)event, (uintptr_t)f, (uintptr_t)user));
}
static const wsm_spec *host_define(const wsm_host *h, const char *signature)
{
	IN_GO(wsm_spec *, wnDefine(h->ref, (char *)signature));
}
static const wsm_spec *host_spec(const wsm_host *h, const char *event)
{
	IN_GO(wsm_spec *, wnSpec(h->ref, (char *)event));
}
static int host_emit(const wsm_event *in, const wsm_spec *spec, int64_t time, const uint64_t *words,
	uint32_t count, const char *const *texts, uint32_t texts_count)
{
	IN_GO(int, wnEmit(in->host->ref, in->ref, (wsm_spec *)spec, time, (uint64_t *)words, count,
		(char **)texts, texts_count));
}
static size_t host_text(const wsm_event *e, uint32_t field, char *buf, size_t size)
{
	IN_GO(size_t, wnText(e->host->ref, e->ref, field, buf, size));
}
static size_t host_df(const wsm_host *h, int node, uint64_t df, char *buf, size_t size)
{
	IN_GO(size_t, wnDF(h->ref, node, df, buf, size));
}
static const wsm_site *host_site(const wsm_host *h, int node, uint64_t site)
{
	IN_GO(wsm_site *, wnSite(h->ref, node, site));
}
static const wsm_value *host_param(const wsm_host *h, const char *name)
{
	IN_GO(wsm_value *, wnParam(h->ref, (char *)name));
}
static const wsm_peer *host_get_module(const wsm_host *h, const char *name)
{
	IN_GO(wsm_peer *, wnGetModule(h->ref, (char *)name));
}
static int host_query(const wsm_host *h, const wsm_peer *of, const char *what, int node, double *value)
{
	IN_GO(int, wnQuery(h->ref, (wsm_peer *)of, (char *)what, node, value));
}
static int host_open(const wsm_host *h, const char *where) { IN_GO(int, wnOpen(h->ref, (char *)where)); }
static void host_write(const wsm_host *h, int output, const char *text, size_t size)
{
	TO_GO(wnWrite(h->ref, output, (char *)text, size));
}
static void host_warn(const wsm_host *h, const char *message) { TO_GO(wnWarn(h->ref, (char *)message)); }
static void host_fail(const wsm_host *h, const char *message) { TO_GO(wnFail(h->ref, (char *)message)); }
static int64_t host_now(const wsm_host *h) { (void)h; IN_GO(int64_t, wnNow()); }

wsm_host *wn_host(uintptr_t ref, const wsm_module *m, const wsm_run *run)
{
	named_host *h = malloc(sizeof *h);
	if (!h) return NULL;
	h->name = m->name;
	h->host = (wsm_host){WSM_VERSION, ref, run, host_connect, host_define, host_spec, host_emit, host_text,
		host_df, host_site, host_param, host_get_module, host_query, host_open, host_write, host_warn, host_fail,
		host_now};
	return &h->host;
}
