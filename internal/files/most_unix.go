//go:build unix

package files

import "syscall"

// Most is how many files this process may have open at once.
func Most() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 256 // what every system allows
	}
	return int(min(limit.Cur, 1<<30))
}
