package engine_test

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Several workers read what was made before they make more: however many DFs a program makes, and whether
// their readers come before or after them, a few for each worker are there at once. So they are where more
// workers are predicted.
func TestMemoryOfDFs(t *testing.T) {
	n := effort.Times(300, 10_000)
	for name, body := range map[string]string{
		"counted":       `for i = 1 .. n { block(x[i], 8, i) @ { req_count x[i] = 1; }; peek("", x[i]); }`,
		"deleted":       `for i = 1 .. n { block(x[i], 8, i); peek("", x[i]) --> (x[i]); }`,
		"made by subs":  `for i = 1 .. n { make(x[i], i); peek("", x[i]); }`,
		"readers first": `for i = 1 .. n { peek("", x[i]); make(x[i], i); }`,
		"chain": `for i = 1 .. n { make(x[i], i);
			put_v(y[i], x[i]) @ { req_count y[i]=1; }; peek("", y[i]); }`,
	} {
		t.Run(name, func(t *testing.T) {
			p := compile(t, `
				sub make(name x, int i) block(x, 8, i) @ { req_count x = 1; };
				sub main(int n) { df x, y; `+body+` }`)
			for _, workers := range []int{2, 4, 8} {
				var most atomic.Int64
				before := cpp.Live()
				s := shape{nodes: 1, workers: workers, args: []string{strconv.Itoa(n)}, session: func(s *prof.Session) {
					err := s.DFCreate.Connect("most", 0, func(*prof.Stream, int64, trace.DF, int64, trace.CF) {
						now, old := cpp.Live()-before, most.Load()
						for now > old && !most.CompareAndSwap(old, now) {
							old = most.Load()
						}
					})
					if err != nil {
						t.Error(err)
					}
				}}
				o := runProgram(t, p, s)
				if o.err != nil {
					t.Fatal(o.err)
				}
				if got, few := most.Load(), int64(3*workers+2); got < 1 || got > few {
					t.Errorf("%d workers: %d DFs at once, at most %d wanted", workers, got, few)
				}
				predictMost(t, sloutest.Load(t, o.trace.dir), workers)
			}
		})
	}
}

// predictMost checks how many DFs are made and not yet read at once where a run is predicted.
func predictMost(t *testing.T, m *model.Model, workers int) {
	t.Helper()
	sim, err := simulate.Portable(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	type change struct {
		t    int64
		more int
	}
	var changes []change
	tasks := sim.Tasks()
	_, err = sim.Watched(context.Background(), simulate.Machine{}, func(_ int, from, to int64, x int) {
		switch cf, _ := tasks.CF(x); m.Codes[m.CodeOf(cf)].Name {
		case "block":
			changes = append(changes, change{to, 1})
		case "peek":
			changes = append(changes, change{from, -1})
		}
	})
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.t, b.t) })
	now, most := 0, 0
	for _, c := range changes {
		now += c.more
		most = max(most, now)
	}
	if err != nil || most < 1 || most > 3*workers+2 {
		t.Errorf("%d workers, predicted: %d DFs at once, %v", workers, most, err)
	}
}

// allocated is how many bytes of Go memory a run without a trace takes in all.
func allocated(t *testing.T, src string, n int) int64 {
	t.Helper()
	p := compile(t, src)
	cfg := engine.Config{Program: p, Library: open(t, p), Nodes: 1, Workers: 1, Args: []string{strconv.Itoa(n)}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := engine.Run(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// CFs that wait for a worker need no memory, and one that has run gives its memory to the next. What is left
// are frames.
func TestMemoryOfCFs(t *testing.T) {
	const few, many = 1000, 50_000
	src := `sub main(int n) { for i = 1 .. n none(); }`
	if each := (allocated(t, src, many) - allocated(t, src, few)) / (many - few); each > 150 {
		t.Errorf("%d bytes for each CF", each)
	}
}

// A long text is copied only into the value that is made of it.
func TestMemoryOfTexts(t *testing.T) {
	src := `sub main(int n) { df x; put_s(x[0], "a"); for i = 1 .. n put_s(x[i], x[i - 1] + x[i - 1]); }`
	const n = 23
	if more := allocated(t, src, n) - allocated(t, src, 1); more > 1<<n {
		t.Errorf("%d bytes to make a text of %d", more, 1<<n)
	}
}
