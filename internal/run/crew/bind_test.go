package crew

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/trace"
)

func TestBind(t *testing.T) {
	for _, test := range []struct {
		what    string
		workers int
		procs   string // HOST:CORES ...
		want    string // by rank, or the error
	}{
		{"one process", 2, "a:0-3", "[[0 1]]"},
		{"ranks that share all cores", 2, "a:0-3 a:0-3", "[[0 1] [2 3]]"},
		{"ranks on other hosts", 2, "a:0-1 b:0-1", "[[0 1] [0 1]]"},
		{"ranks bound by mpirun", 1, "a:4 a:2", "[[4] [2]]"},
		{"cores that overlap", 1, "a:0-1 a:1-2 a:0-2", "[[0] [1] [2]]"},
		{"too many workers", 3, "a:0,5", "3 workers need a core each, and there are 2 cores (0,5)"},
		{"one core", 2, "a:7", "2 workers need a core each, and there is 1 core (7)"},
		{"too many ranks", 1, "a:0-1 a:0-1 a:0-1", "1 worker of rank 2 on a need"},
		{"nobody knows", 1, "a:", "does not say"},
	} {
		c := &Crew{}
		for p := range strings.FieldsSeq(test.procs) {
			host, cores, _ := strings.Cut(p, ":")
			c.procs = append(c.procs, trace.ProcessInfo{Host: host, Affinity: cores})
		}
		got, err := c.Bind(test.workers)
		text := fmt.Sprint(got)
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, test.want) {
			t.Errorf("%s: %s, want %s", test.what, text, test.want)
		}
	}
}

// Whatever cores processes may use: no two workers of a host have the same one, and each has one of its own.
func TestBindDisjoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Crew{}
		for range rapid.IntRange(1, 6).Draw(t, "ranks") {
			cores := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 1, 8, rapid.ID[int]).Draw(t, "cores")
			slices.Sort(cores)
			c.procs = append(c.procs, trace.ProcessInfo{Host: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "host"),
				Affinity: strings.Trim(strings.ReplaceAll(fmt.Sprint(cores), " ", ","), "[]")})
		}
		workers := rapid.IntRange(1, 3).Draw(t, "workers")
		all, err := c.Bind(workers)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for rank, cores := range all {
			p := c.procs[rank]
			for _, core := range cores {
				key := p.Host + fmt.Sprint(core)
				if len(cores) != workers || seen[key] || !strings.Contains(","+p.Affinity+",", ","+fmt.Sprint(core)+",") {
					t.Fatalf("%v: %v", c.procs, all)
				}
				seen[key] = true
			}
		}
	})
}
