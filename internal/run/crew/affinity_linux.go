package crew

import (
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// mostCores is how many bits a set of cores has.
const mostCores = 8 * 128

// Affinity lists the cores this process may use, in the form of /proc: "0-3,8". It is "" where the system
// does not tell.
func Affinity() string {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return ""
	}
	var parts []string
	for first := 0; first < mostCores; first++ {
		if !set.IsSet(first) {
			continue
		}
		last := first
		for last+1 < mostCores && set.IsSet(last+1) {
			last++
		}
		part := fmt.Sprint(first)
		if last > first {
			part += fmt.Sprintf("-%d", last)
		}
		parts = append(parts, part)
		first = last
	}
	return strings.Join(parts, ",")
}

// CanBind tells why a thread cannot be kept on one core, nil if it can.
func CanBind() error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		var set, one unix.CPUSet
		err := unix.SchedGetaffinity(0, &set)
		for core := 0; err == nil && core < mostCores; core++ {
			if set.IsSet(core) {
				one.Set(core)
				err = unix.SchedSetaffinity(0, &one)
				break
			}
		}
		done <- err
	}()
	return <-done
}
