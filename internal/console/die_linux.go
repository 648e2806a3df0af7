package console

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

// DieBy ends the process by a signal, as a crash of user code would have ended a process that has no Go in
// it. (Sending it the ordinary way would make the Go run-time system print its stacks.)
func DieBy(sig syscall.Signal) {
	var none syscall.Rlimit
	// the cause has been reported; a core of this process explains nothing
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &none)
	var action [4]uint64 // handler SIG_DFL, no flags, no restorer, empty mask
	var mask uint64 = 1 << (uint(sig) - 1)
	const unblock = 1
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0,
		8, 0, 0)
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unblock, uintptr(unsafe.Pointer(&mask)), 0, 8,
		0, 0)
	_ = syscall.Kill(os.Getpid(), sig)
	// Another thread may receive it. If nothing of this has worked, say it as a shell would.
	time.Sleep(time.Second)
	os.Exit(128 + int(sig))
}
