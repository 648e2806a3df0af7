//go:build cgo && linux

// Where is a thread that runs user code and does not come back?
//
// Problem. Registers and stack of a thread that runs are known to that thread alone. A signal makes it tell,
// but some system calls (nanosleep, poll) end early when a handler has run, whatever SA_RESTART says: the
// program would no longer do what it does unwatched.
//
// Plan. Threads that wait in a system call are not disturbed: the kernel tells where they are
// (/proc/self/task/TID/syscall), and their stack stands still, so anybody may read it. Only a thread that
// computes is sent a signal. The handler copies registers and stack and does nothing else: what they mean
// is worked out elsewhere (package unwind), with bounds, so no stack can make the program crash. A thread
// that blocks the signal does not answer, and nothing is known.
//
// A thread may begin a system call in the few microseconds between the look and the signal. Then that call
// may end with EINTR, as any call may.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "meter.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// The last real-time signals are those that programs use least.
#define ASK (SIGRTMAX - 3)

enum { NOBODY, ASKED, ANSWERS, ANSWERED };

static ws_look look;
static int state; // of look
static int asked; // the thread
static uint64_t base;
static struct sigaction old_action;

// copy notes the registers and the stack of the interrupted code.
static void copy(const ucontext_t *u)
{
#if defined __x86_64__
	static const int dwarf[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
		REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
	for (int i = 0; i < 16; i++) look.regs[i] = (uint64_t)u->uc_mcontext.gregs[dwarf[i]];
	look.pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
	look.sp = look.regs[7];
#elif defined __aarch64__
	for (int i = 0; i < 31; i++) look.regs[i] = u->uc_mcontext.regs[i];
	look.pc = u->uc_mcontext.pc;
	look.sp = look.regs[31] = u->uc_mcontext.sp;
#else
	(void)u;
	look.sp = look.pc = 0;
#endif
	look.size = 0;
	if (look.sp == 0 || look.sp >= base) return; // user code runs on a stack of its own
	uint64_t size = base - look.sp;
	if (size > 1 << 23) return;
	look.size = size < sizeof look.stack ? (int64_t)size : (int64_t)sizeof look.stack;
	memcpy(look.stack, (const void *)(uintptr_t)look.sp, (size_t)look.size);
}

static void on_ask(int sig, siginfo_t *info, void *uc)
{
	int saved_errno = errno;
	if (info->si_code == SI_TKILL && info->si_pid == getpid()) {
		int want = ASKED;
		if (__atomic_load_n(&asked, __ATOMIC_ACQUIRE) == (int)syscall(SYS_gettid) &&
			__atomic_compare_exchange_n(&state, &want, ANSWERS, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			copy(uc);
			__atomic_store_n(&state, ANSWERED, __ATOMIC_RELEASE);
		}
	} else if (old_action.sa_flags & SA_SIGINFO) {
		old_action.sa_sigaction(sig, info, uc); // Go's
	}
	errno = saved_errno;
}

int ws_start_asking(void)
{
	struct sigaction a;
	memset(&a, 0, sizeof a);
	a.sa_sigaction = on_ask;
	a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	sigfillset(&a.sa_mask);
	return sigaction(ASK, NULL, &old_action) < 0 || sigaction(ASK, &a, NULL) < 0 ? -1 : 0;
}

const ws_look *ws_ask(int32_t tid, uint64_t stack, int64_t patience)
{
	base = stack;
	__atomic_store_n(&asked, tid, __ATOMIC_RELEASE);
	__atomic_store_n(&state, ASKED, __ATOMIC_RELEASE);
	if (syscall(SYS_tgkill, getpid(), tid, ASK) < 0) {
		__atomic_store_n(&state, NOBODY, __ATOMIC_RELEASE);
		return NULL;
	}
	for (int64_t until = ws_now() + patience; __atomic_load_n(&state, __ATOMIC_ACQUIRE) != ANSWERED;) {
		int want = ASKED;
		if (ws_now() > until &&
			__atomic_compare_exchange_n(&state, &want, NOBODY, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return NULL;
		usleep(200); // it may have begun to answer: that takes microseconds
	}
	return &look;
}
