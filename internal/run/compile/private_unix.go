//go:build unix

package compile

import (
	"os"
	"syscall"
)

// mine tells whether a folder is this user's, and nobody else can write to it.
func mine(dir string) bool {
	st, err := os.Stat(dir)
	if err != nil || !st.IsDir() || st.Mode().Perm()&0o022 != 0 {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}
