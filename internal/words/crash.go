package words

import (
	"cmp"
	"fmt"
	"syscall"
)

// Crash says what a signal means that has ended C or C++ code, and what is known of it: that the stack ran
// over, or else, with access, which address could not be accessed.
func Crash(sig syscall.Signal, overflow, access bool, address uint64) string {
	text := cmp.Or(map[syscall.Signal]string{
		syscall.SIGSEGV: "segmentation fault (SIGSEGV)",
		syscall.SIGBUS:  "bus error (SIGBUS)",
		syscall.SIGFPE:  "arithmetic exception, such as a division of integers by zero (SIGFPE)",
		syscall.SIGILL:  "illegal instruction (SIGILL)",
		syscall.SIGABRT: "aborted (SIGABRT)",
	}[sig], fmt.Sprintf("signal %d", int(sig)))
	switch {
	case overflow:
		text += ": the stack ran over"
	case access && (sig == syscall.SIGSEGV || sig == syscall.SIGBUS):
		text += fmt.Sprintf(": access to address %#x", address)
	}
	return text
}
