//go:build !unix

package live

import "os"

// exists tells whether this computer has a process of that number.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}
