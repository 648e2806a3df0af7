package otf2_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	records "github.com/whyslow/whyslow/internal/convert/otf2"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/foreigntest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// executions gives the CFs of a trace as threads executed them, one execution a line: what it waited for, and
// who made that.
func executions(t sloutest.TB, dir string) string {
	t.Helper()
	m := sloutest.Load(t, dir)
	us := func(at int64) int64 { return (at - m.Start) / 1000 }
	var b strings.Builder
	for _, n := range m.Nodes {
		for number, w := range n.Workers {
			for e := w.First; e < w.End; e++ {
				cf := m.ExecCF[e]
				code := m.Codes[m.CodeOf(cf)]
				fmt.Fprintf(&b, "%d %s, execution %d: %d-%d", number, code.Name, m.ExecNumber[e], us(m.ExecStart[e]),
					us(m.ExecEnd[e]))
				if by := m.Parent[cf]; by != 0 && m.ExecNumber[e] == 1 {
					fmt.Fprintf(&b, ", by %s", m.Codes[m.CodeOf(by)].Name)
				}
				for _, df := range m.Inputs(e) {
					if i, ok := m.Creation(df, m.ExecStart[e]); ok {
						fmt.Fprintf(&b, ", after %s of %s", m.DFNameOf(df), m.Codes[m.CodeOf(m.MadeBy[i])].Name)
					}
				}
				fmt.Fprintln(&b)
			}
			for _, x := range w.Waits {
				fmt.Fprintf(&b, "%d waited %d-%d for %s %s, which %s held\n", number, us(x.From), us(x.To), x.Name,
					x.Text(), m.Codes[m.CodeOf(x.Holder)].Name)
			}
		}
	}
	return b.String()
}

// TestOpenMP: what Score-P records of an OpenMP program becomes what whyslow omp records of it.
func TestOpenMP(t *testing.T) {
	dir, made, err := loadArchive(t, archive(t, "tasks.py"))
	if !made || err != nil {
		t.Fatal(made, err)
	}
	const want = `0 serial code at the start, execution 1: 0-101
0 parallel region p.c:9, execution 1: 101-560, by serial code at the start
0 parallel p.c:9, execution 1: 102-121, by parallel region p.c:9
0 single p.c:10, execution 1: 121-200, by parallel p.c:9
0 task p.c:12, execution 1: 205-250, by single p.c:10
0 single p.c:10, execution 2: 310-330, after taskwait of task p.c:12
0 parallel p.c:9, execution 2: 330-332
0 parallel p.c:9, execution 3: 340-350
0 for p.c:22, execution 1: 350-400, by parallel p.c:9
0 parallel p.c:9, execution 4: 400-505
0 parallel p.c:9, execution 5: 545-547, after barrier of parallel p.c:9
0 serial code after p.c:9, execution 1: 560-600, after end of parallel region of parallel p.c:9
1 parallel p.c:9, execution 1: 110-130, by parallel region p.c:9
1 task p.c:12, execution 1: 150-300, by single p.c:10
1 parallel p.c:9, execution 2: 341-350, after barrier of parallel p.c:9
1 for p.c:22, execution 1: 350-450, by parallel p.c:9
1 parallel p.c:9, execution 3: 450-540
1 parallel p.c:9, execution 4: 546-548
1 waited 470-501 for lock critical (p.c:25), which parallel p.c:9 held
`
	if diff := cmp.Diff(want, executions(t, dir)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(`0.0 main 0-600 function
0.1 work 160-290 function
0 messages, MPI false, host`, dump(t, dir)); diff != "" {
		t.Error(diff)
	}
	foreigntest.Consistent(t, dir)
	if m := sloutest.Load(t, dir); !m.OpenMP() {
		t.Error(m.Info.Settings)
	}
}

// teams is begin with a team of OpenMP threads: communicator 4.
func teams() *stream {
	s := begin()
	s.put(records.Group, 4, 4, 3, 10, 11)
	s.put(records.Group, 5, 5, 3, 0, 1)
	s.put(records.Comm, 4, 5)
	return s
}

// TestOpenMPHalf: events whose counterparts are missing, or that contradict others, do no harm.
func TestOpenMPHalf(t *testing.T) {
	const team, omp = 4, 3
	type event struct {
		location uint64
		kind     records.Kind
		words    []uint64
	}
	at := func(location uint64, kind records.Kind, words ...uint64) event { return event{location, kind, words} }
	for name, c := range map[string]struct {
		events []event
		want   string
	}{
		"no ends": {[]event{at(10, records.Enter, 9), at(10, records.Fork, omp), at(10, records.TeamBegin, team),
			at(11, records.TeamBegin, team), at(11, records.TaskCreate, team, 1, 1),
			at(10, records.TaskSwitch, team, 1, 1), at(10, records.Enter, 12)}, `0 serial code at the start, execution 1: 0-1
0 parallel region p.c:3, execution 1: 1-6, by serial code at the start
0 parallel p.c:3, execution 1: 2-5, by parallel region p.c:3
0 task, execution 1: 5-6, by parallel p.c:3
0 serial code after p.c:3, execution 1: 6-6, after end of parallel region of task
1 parallel p.c:3, execution 1: 3-4, by parallel region p.c:3
`},
		"no beginnings": {[]event{at(11, records.TeamEnd, team), at(10, records.Join, omp),
			at(10, records.TaskEnd, team, 0, 1), at(11, records.Unlocked, omp, 3), at(11, records.Leave, 10),
			at(11, records.TeamBegin, team), at(11, records.TaskSwitch, team, 0, 9)},
			`0 serial code at the start, execution 1: 1-2
1 parallel, execution 1: 5-6
1 task, execution 1: 6-6
`},
		"no team": {[]event{at(10, records.Enter, 0), at(11, records.Enter, 12),
			at(11, records.TaskCreate, team, 0, 1), at(11, records.Leave, 12), at(11, records.Fork, omp), at(11, records.Join, omp)},
			`0 serial code at the start, execution 1: 0-0
1 thread, execution 1: 1-3
`},
		"one task at two threads": {[]event{at(10, records.Fork, omp), at(10, records.TeamBegin, team),
			at(11, records.TeamBegin, team), at(10, records.TaskCreate, team, 0, 1),
			at(10, records.TaskSwitch, team, 0, 1), at(11, records.TaskSwitch, team, 0, 1),
			at(10, records.TaskEnd, team, 0, 1), at(10, records.TeamEnd, team), at(11, records.TeamEnd, team)},
			`0 serial code at the start, execution 1: 0-0
0 parallel region, execution 1: 0-8, by serial code at the start
0 parallel, execution 1: 1-4, by parallel region
0 task, execution 1: 4-6, by parallel
0 serial code after, execution 1: 8-8, after end of parallel region of parallel
1 parallel, execution 1: 2-8, by parallel region
`},
	} {
		s := teams()
		for i, e := range c.events {
			s.put(records.Events, e.location)
			s.put(e.kind, append([]uint64{1000 + uint64(i)}, e.words...)...)
		}
		s.put(records.End)
		dir := filepath.Join(t.TempDir(), "x.trace")
		if made, err := load(s.Bytes(), dir); !made || err != nil {
			t.Error(name, made, err)
		} else if diff := cmp.Diff(c.want, executions(t, dir)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestOpenMPRandom: whatever the events of a team are, the trace does not contradict itself.
func TestOpenMPRandom(t *testing.T) {
	kinds := []records.Kind{records.Enter, records.Leave, records.Fork, records.Join, records.TeamBegin,
		records.TeamEnd, records.TaskCreate, records.TaskSwitch, records.TaskEnd, records.Locked, records.Unlocked,
		records.Events, records.Events}
	for seed := range uint64(effort.Times(50, 2000)) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := teams()
		s.put(records.Events, 10)
		for i := range uint64(60) {
			kind, at := kinds[r.IntN(len(kinds))], 1000+i*uint64(r.IntN(3))
			switch kind {
			case records.Events:
				s.put(kind, 10+uint64(r.IntN(2)))
			case records.Enter, records.Leave:
				s.put(kind, at, uint64(r.IntN(len(regions)+1)))
			case records.Fork, records.Join:
				s.put(kind, at, 3)
			case records.TeamBegin, records.TeamEnd:
				s.put(kind, at, 4+uint64(r.IntN(2)))
			case records.Locked, records.Unlocked:
				s.put(kind, at, 3, uint64(r.IntN(2)))
			default:
				s.put(kind, at, 4, uint64(r.IntN(2)), uint64(r.IntN(3)))
			}
		}
		s.put(records.End)
		dir := filepath.Join(t.TempDir(), "x.trace")
		if made, err := load(s.Bytes(), dir); err != nil {
			t.Fatal(seed, err)
		} else if made {
			if foreigntest.Consistent(t, dir); t.Failed() {
				t.Fatal(seed, executions(t, dir))
			}
		}
	}
}

// TestLimits: an archive that opens more than is kept is refused with the place, and read up to there.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		events []records.Kind
		want   string
	}{
		{[]records.Kind{records.Enter}, "there are more than 65536 open regions in a thread, after 65537 events, " +
			"the last of location 10"},
		{[]records.Kind{records.Fork}, "there are more than 65536 nested parallel regions, after 65537 events, " +
			"the last of location 10"},
	} {
		s := teams()
		s.put(records.Events, 10)
		for i := range uint64(1<<16 + 1) {
			for _, kind := range c.events {
				s.put(kind, 1000+i, 3)
			}
		}
		s.put(records.End)
		made, err := load(s.Bytes(), filepath.Join(t.TempDir(), "x.trace"))
		var damaged *foreign.Error
		if !errors.As(err, &damaged) || err.Error() != c.want || !made {
			t.Error(made, err)
		}
	}
}
