package clock

import "syscall"

// ProcessCPU returns the user and system CPU time of this process in nanoseconds.
func ProcessCPU() int64 {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, ended, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(self, &created, &ended, &kernel, &user) != nil {
		return 0
	}
	ns := func(t syscall.Filetime) int64 { return (int64(t.HighDateTime)<<32 | int64(t.LowDateTime)) * 100 }
	return ns(kernel) + ns(user)
}
