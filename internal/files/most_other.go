//go:build !unix

package files

// Most is how many files this process may have open at once. Windows has no limit that a process would meet.
func Most() int { return 1 << 14 }
