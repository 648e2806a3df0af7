//go:build cgo && linux

package cpp

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/whyslow/whyslow/internal/run/unwind"
)

// Since is when the last call began, as clock.Now. It may be asked while the call is under way, like CPU and
// Where, until Close.
func (m *Meter) Since() int64 { return atomic.LoadInt64((*int64)(unsafe.Pointer(&m.c.since))) }

// CPU is the processor time of the call's thread in nanoseconds, false if it cannot be read.
func (m *Meter) CPU() (ns int64, ok bool) {
	var t unix.Timespec
	// What pthread_getcpuclockid computes: the clock of a thread of this process, by its number.
	if err := unix.ClockGettime(^m.tid()<<3|6, &t); err != nil {
		return 0, false
	}
	return t.Nano(), true
}

// Started is what CPU was at the start of the call, -1 if it was not read then.
func (m *Meter) Started() int64 { return atomic.LoadInt64((*int64)(unsafe.Pointer(&m.c.started))) }

func (m *Meter) tid() int32 { return atomic.LoadInt32((*int32)(unsafe.Pointer(&m.c.tid))) }

const (
	patience = 100 * time.Millisecond // for a thread to tell where it is
	looks    = 20                     // at a thread that should be waiting
	between  = 5 * time.Millisecond
)

// asking is held while a thread is asked.
var asking sync.Mutex

// Where finds out where the call that is under way is. calm says that the thread has hardly run lately: then
// it is looked at until it waits, for a tenth of a second. A thread that waits, or may, is not disturbed.
func (m *Meter) Where(calm bool) (w Where) {
	tries := 1
	if calm {
		tries = looks
	}
	told := true
	for i := 0; i < tries && told && !w.Waits; i++ {
		if i > 0 {
			time.Sleep(between)
		}
		w, told = m.waits()
	}
	if w.Waits || !told && calm {
		return w
	}
	w = Where{Runs: told}
	asking.Lock()
	defer asking.Unlock()
	base := uint64(m.c.base)
	l := C.ws_ask(C.int32_t(m.tid()), C.uint64_t(base), C.int64_t(patience))
	if l == nil {
		return w
	}
	r := unwind.Registers{PC: uint64(l.pc)}
	for i, v := range l.regs {
		r.Set(i, uint64(v))
	}
	stack := C.GoBytes(unsafe.Pointer(&l.stack[0]), C.int(l.size))
	w.Calls = unwind.Walk(r, base, unwind.Copied(uint64(l.sp), stack))
	return w
}

// mostStack is how much of a stack is looked at.
const mostStack = 1 << 20

// waits finds out where the thread is if it waits in a system call. told is false if the kernel does not
// tell; then w has what the thread itself has noted.
func (m *Meter) waits() (w Where, told bool) {
	file := fmt.Sprintf("/proc/self/task/%d/syscall", m.tid())
	state, err := os.ReadFile(file)
	if err != nil {
		w.noted(m, unwind.Copied(0, nil), -1)
		return w, false
	}
	// "running", or the number of the system call, its six arguments, the stack pointer and the program
	// counter; or -1 and the last two.
	words := strings.Fields(string(state))
	var n [9]uint64
	number := int64(-1)
	switch len(words) {
	case 9:
		number, _ = strconv.ParseInt(words[0], 10, 64)
	case 3:
	default:
		return w, true
	}
	for i, word := range words[1:] {
		n[i+1], _ = strconv.ParseUint(word, 0, 64)
	}
	sp, pc, base := n[len(words)-2], n[len(words)-1], uint64(m.c.base)
	stack := unwind.Memory(sp, min(max(base, sp), sp+mostStack))
	r := unwind.Registers{PC: pc}
	r.Set(unwind.StackPointer, sp)
	w.Calls = unwind.Walk(r, base, stack)
	fd := int32(-1)
	w.Wait.Reason, w.Known = systemCalls[number]
	if w.Known && w.Wait.Reason == IO {
		fd = int32(n[1])
	}
	w.noted(m, stack, fd)
	if again, err := os.ReadFile(file); err != nil || string(again) != string(state) {
		return Where{}, true // it has gone on meanwhile
	}
	w.Waits = true
	return w, true
}

// noted adds what the thread has noted of a call that may wait, and names the file.
func (w *Where) noted(m *Meter, stack unwind.Stack, fd int32) {
	if from := atomic.LoadInt64((*int64)(unsafe.Pointer(&m.c.waiting))); from != 0 {
		w.Waits, w.Known = true, true
		w.Wait = Wait{From: from, Reason: Reason(m.c.reason), Site: uint64(m.c.site), Object: uint64(m.c.object),
			Holder: uint64(m.c.holder)}
		if fd < 0 {
			fd = int32(m.c.fd)
		}
		w.join(unwind.Walk(unwind.AfterReturn(w.Wait.Site, uint64(m.c.frame), stack), uint64(m.c.base), stack))
	}
	if fd >= 0 {
		w.Wait.File, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) // no name: it was closed
	}
}

// systemCalls are those that wait, by number; of those for IO the first argument is the descriptor.
var systemCalls = map[int64]Reason{
	unix.SYS_FUTEX: Lock, unix.SYS_NANOSLEEP: Sleep, unix.SYS_CLOCK_NANOSLEEP: Sleep,
	unix.SYS_READ: IO, unix.SYS_WRITE: IO, unix.SYS_READV: IO, unix.SYS_WRITEV: IO, unix.SYS_PREAD64: IO,
	unix.SYS_PWRITE64: IO, unix.SYS_RECVFROM: IO, unix.SYS_RECVMSG: IO, unix.SYS_SENDTO: IO,
	unix.SYS_SENDMSG: IO, unix.SYS_ACCEPT: IO, unix.SYS_CONNECT: IO, unix.SYS_FSYNC: IO,
}

// join adds the calls that the user code is in which called what waits. The walk from the system call may
// not have come that far, since the kernel tells only two registers.
func (w *Where) join(user []unwind.Code) {
	if len(user) == 0 {
		return
	}
	if i := slices.Index(w.Calls, user[0]); i >= 0 {
		w.Calls = w.Calls[:i]
	}
	w.Calls = append(w.Calls, user...)
}
