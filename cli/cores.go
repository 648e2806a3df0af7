package cli

import (
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// availableCores is the number of cores this process may use.
func availableCores() int { return runtime.NumCPU() }

// affinity lists the cores this process may use as /proc does: "0-3,8". It is "" where the system does not tell.
func affinity() string {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return ""
	}
	const most = 8 * 128 // bits in a CPUSet
	var parts []string
	for first := 0; first < most; first++ {
		if !set.IsSet(first) {
			continue
		}
		last := first
		for last+1 < most && set.IsSet(last+1) {
			last++
		}
		if first == last {
			parts = append(parts, fmt.Sprint(first))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", first, last))
		}
		first = last
	}
	return strings.Join(parts, ",")
}
