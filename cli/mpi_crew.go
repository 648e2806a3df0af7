package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// crew is the processes of a run of many, each of them a node, seen from one. nil: the run is in one process.
type crew struct {
	world
	procs []trace.ProcessInfo // by rank
}

// meet tells all ranks where each is.
func meet(w world) (*crew, error) {
	if w == nil {
		return nil, nil
	}
	own, err := json.Marshal(processInfo())
	if err != nil {
		return nil, err
	}
	all, err := procs.AllGather(w.Group(), own)
	if err != nil {
		return nil, err
	}
	c := &crew{world: w, procs: make([]trace.ProcessInfo, len(all))}
	for i, text := range all {
		if err := json.Unmarshal(text, &c.procs[i]); err != nil {
			return nil, fmt.Errorf("rank %d is another program: %w", i, err)
		}
	}
	return c, nil
}

// processInfo describes this process.
func processInfo() trace.ProcessInfo {
	return trace.ProcessInfo{PID: os.Getpid(), Host: hostName(), Cores: availableCores(), Affinity: affinity(), GOMAXPROCS: availableCores()}
}

// agree is agree with the other ranks, if there are any.
func (c *crew) agree(err error) error {
	if c == nil {
		return err
	}
	return agree(c.world, err)
}

// speaks tells whether this process is the one that speaks to the user.
func (c *crew) speaks() bool { return c == nil || c.Rank() == 0 }

// node is the number of the node of this process, or of its first one.
func (c *crew) node() int {
	if c == nil {
		return 0
	}
	return c.Rank()
}

// workers is how many workers nodes have if nobody says: the same at all ranks, so few that no cores have too much to do.
func (c *crew) workers() int {
	n := maxWorkers
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

// hosts are the computers, in the order of ranks.
func (c *crew) hosts() []string {
	var hosts []string
	for _, p := range c.procs {
		if !slices.Contains(hosts, p.Host) {
			hosts = append(hosts, p.Host)
		}
	}
	return hosts
}

// coreWarnings tell where there are more workers than cores, and whether ranks on the first host, which has so many cores, are kept
// from using them: one line each.
func (c *crew) coreWarnings(workers, online int) (lines []string) {
	for i, host := range c.hosts() {
		cores, total, ranks, bound, narrow := map[int]bool{}, 0, 0, 0, 0
		for _, p := range c.procs {
			if p.Host != host {
				continue
			}
			ranks++
			total += workers
			known := coresOf(p.Affinity)
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
			lines = append(lines, fmt.Sprintf("%d ranks on %s are bound to %s for %d workers: say 'mpirun --bind-to none', or -w %d", bound, host, words.Count(narrow, "core"), workers, narrow))
		case i == 0 && n == total && n == ranks && online >= 2*n:
			lines = append(lines, fmt.Sprintf("each rank on %s is bound to 1 core and has 1 worker: 'mpirun --bind-to none' lets them use all %d cores", host, online))
		case total > n:
			lines = append(lines, fmt.Sprintf("%d workers of all ranks on %s share %s: expect pre-emption (mpirun -n, -w)", total, host, words.Count(n, "core")))
		}
	}
	return lines
}

// coresOf reads a list such as "0-3,8".
func coresOf(affinity string) (cores []int) {
	const most = 8 * 128
	for _, part := range strings.Split(affinity, ",") {
		first, last, ranged := strings.Cut(part, "-")
		a, err := strconv.Atoi(first)
		b := a
		if ranged && err == nil {
			b, err = strconv.Atoi(last)
		}
		if err != nil {
			continue
		}
		for core := a; core <= min(b, most); core++ {
			cores = append(cores, core)
		}
	}
	return cores
}
