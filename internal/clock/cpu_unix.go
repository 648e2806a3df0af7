//go:build unix

package clock

import "syscall"

// ProcessCPU returns the user and system CPU time of this process in nanoseconds.
func ProcessCPU() int64 {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return ru.Utime.Nano() + ru.Stime.Nano()
}
