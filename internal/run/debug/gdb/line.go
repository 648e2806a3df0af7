package gdb

import (
	"fmt"
	"os"
	"strings"
)

// passed are signals that the run-time systems of Go and C++ send to themselves: they are not the program's.
const passed = "handle SIGURG SIGPROF SIGPIPE SIGCHLD SIG61 nostop noprint pass"

// Line is what people type in another terminal of this computer to have gdb stop at a function of this
// process.
func Line(function string) string {
	sudo := ""
	// Where the kernel lets only parents attach.
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope") // not there: anybody may
	if text := strings.TrimSpace(string(scope)); text != "" && text != "0" && os.Geteuid() != 0 {
		sudo = "sudo "
	}
	return fmt.Sprintf("%sgdb -q -p %d -ex '%s' -ex 'tbreak %s' -ex continue", sudo, os.Getpid(), passed,
		function)
}
