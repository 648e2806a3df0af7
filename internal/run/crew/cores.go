package crew

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// ThisProcess describes this process.
func ThisProcess() trace.ProcessInfo {
	return trace.ProcessInfo{
		PID: os.Getpid(), Host: HostName(), Cores: AvailableCores(),
		Affinity: Affinity(), GOMAXPROCS: AvailableCores(),
	}
}

// AvailableCores is the number of cores this process may use.
func AvailableCores() int { return runtime.NumCPU() }

// Load is processor time since some moment: of this process, and of all programs on the cores that it may
// use.
type Load struct{ Own, Busy int64 }

// LoadNow reads both in nanoseconds; they are 0 where the system does not tell.
func LoadNow() Load {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Load{}
	}
	return Load{clock.ProcessCPU(), busy(string(text), words.CoreList(Affinity()))}
}

// Since is what was taken since an earlier moment.
func (l Load) Since(before Load) Load { return Load{l.Own - before.Own, l.Busy - before.Busy} }

// busy adds up what /proc/stat has of some cores.
func busy(stat string, cores []int) (ns int64) {
	const tick = 10_000_000 // whatever the kernel's own ticks are
	for line := range strings.Lines(stat) {
		fields := strings.Fields(line)
		core, err := strconv.Atoi(strings.TrimPrefix(fields[0], "cpu"))
		if err != nil || !slices.Contains(cores, core) || len(fields) < 9 {
			continue
		}
		for _, k := range []int{1, 2, 3, 6, 7, 8} { // not idle, nor waiting for a disk
			n, _ := strconv.ParseInt(fields[k], 10, 64)
			ns += n * tick
		}
	}
	return ns
}

// OnlineCores is the number of cores of the machine, at least the available ones.
func OnlineCores() int {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.NumCPU()
	}
	return max(runtime.NumCPU(), strings.Count(string(text), "\nprocessor")+1)
}

// Workers is how many workers, at most so many, a node gets if nobody says: as many at every rank, and no
// more than there are cores for.
func (c *Crew) Workers(most int) int {
	n := most
	for _, p := range c.procs {
		sharing := 0
		for _, other := range c.procs {
			if other.Host == p.Host && other.Affinity == p.Affinity {
				sharing++
			}
		}
		n = min(n, p.Cores/sharing)
	}
	return max(1, n)
}

// Hosts are the computers, in the order of ranks.
func (c *Crew) Hosts() []string {
	var hosts []string
	for _, p := range c.procs {
		if !slices.Contains(hosts, p.Host) {
			hosts = append(hosts, p.Host)
		}
	}
	return hosts
}

// CoreWarnings tell where there are more workers than cores, one line each. They also tell where mpirun keeps
// the ranks of the first host, which has so many cores online, from using them.
func (c *Crew) CoreWarnings(workers, online int) (lines []string) {
	for i, host := range c.Hosts() {
		cores, total, ranks, bound, narrow := map[int]bool{}, 0, 0, 0, 0
		for _, p := range c.procs {
			if p.Host != host {
				continue
			}
			ranks++
			total += workers
			known := words.CoreList(p.Affinity)
			for _, core := range known {
				cores[core] = true
			}
			if len(known) == 0 { // nobody tells which they are
				for core := range p.Cores {
					cores[core] = true
				}
			}
			if p.Cores < workers {
				bound++
				narrow = p.Cores
			}
		}
		switch n := len(cores); {
		case bound > 0 && narrow < n:
			lines = append(lines, fmt.Sprintf("%d ranks on %s are bound to %s for %d workers: use 'mpirun"+
				" --bind-to none', or -w %d", bound, host, words.Count(narrow, "core"), workers, narrow))
		case i == 0 && n == total && n == ranks && online >= 2*n:
			lines = append(lines, fmt.Sprintf("each rank on %s is bound to 1 core and has 1 worker: 'mpirun"+
				" --bind-to none' lets them use all %d cores", host, online))
		case total > n:
			lines = append(lines, fmt.Sprintf("%d workers of all ranks on %s share %s: expect pre-emption"+
				" (mpirun -n, -w)", total, host, words.Count(n, "core")))
		}
	}
	return lines
}
