package crew

import (
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/words"
)

// Bind gives each worker of each process a core of its own, in the order of ranks: the first of those that
// its process may use and that no other worker on the host has. workers is how many a process has. The error
// says on which host there are too few cores. All processes of a crew come to the same result.
func (c *Crew) Bind(workers int) (byRank [][]int, err error) {
	taken := map[string]map[int]bool{} // by host
	for rank, p := range c.procs {
		if taken[p.Host] == nil {
			taken[p.Host] = map[int]bool{}
		}
		own := words.CoreList(p.Affinity)
		free := slices.DeleteFunc(slices.Clone(own), func(core int) bool { return taken[p.Host][core] })
		switch {
		case len(own) == 0:
			return nil, fmt.Errorf("--bind core: the system does not say which cores rank %d on %s may use", rank,
				p.Host)
		case len(free) < workers && len(free) < len(own):
			return nil, fmt.Errorf("--bind core: %s of rank %d on %s need a core each, and ranks before it leave %s"+
				" of %d: use fewer ranks or workers (-w)", words.Count(workers, "worker"), rank, p.Host,
				words.Count(len(free), "core"), len(own))
		case len(free) < workers:
			return nil, fmt.Errorf("--bind core: %s need a core each, and there %s %s (%s): use fewer (-n, -w)",
				words.Count(workers, "worker"), map[bool]string{true: "is", false: "are"}[len(own) == 1],
				words.Count(len(own), "core"), p.Affinity)
		}
		byRank = append(byRank, free[:workers])
		for _, core := range free[:workers] {
			taken[p.Host][core] = true
		}
	}
	return byRank, nil
}
