package advise_test

import (
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// sums makes the result of a run of two nodes of one worker each, of 100 ms, from its factors in ms.
func sums(u, s, l, o, w map[string]int64, causes ...slou.Cause) *slou.Result {
	share := func(parts map[string]int64) *slou.Share {
		h := &slou.Share{Parts: map[string]int64{}}
		for k, v := range parts {
			h.NS += v * 1e6
			h.Parts[k] = v * 1e6
		}
		return h
	}
	f := slou.Factors{U: &slou.Useful{Share: *share(u)}, S: share(s), L: share(l), O: share(o), W: share(w)}
	f.U.Parts = map[string]int64{}
	res := &slou.Result{WallNS: 100e6, TotalNS: 200e6, Factors: f, Causes: causes}
	for n := range 2 {
		res.Nodes = append(res.Nodes, slou.Node{Node: n, CFs: 100, TotalNS: 100e6,
			Factors: slou.Factors{S: &slou.Share{Parts: map[string]int64{}}},
			Workers: []slou.Worker{{TotalNS: 100e6}}})
	}
	res.Fragments = []slou.Fragment{{Code: "step", Count: 200, UsefulNS: 100e6, MeanNS: 500e3,
		Caused: slou.Caused{slou.FactorO: f.O.NS}}}
	for i := range res.Causes {
		res.Causes[i].NS *= 1e6
		res.Causes[i].QueuedNS *= 1e6
	}
	return res
}

type ms = map[string]int64

// sumsCase is a result, the rule that it is to make speak first, and the words a programmer needs.
type sumsCase struct {
	res   *slou.Result
	id    string
	words []string
}

// sumsCases hold one reason each.
func sumsCases() map[string]sumsCase {
	return map[string]sumsCase{
		"sequential": {sums(ms{"": 100}, ms{"nowhere": 100}, nil, nil, nil,
			slou.Cause{Factor: "S", Part: "nowhere", Producer: "factor", DF: "l", Consumer: "solve", NS: 70,
				Count: 9}),
			"parallelism", []string{"`factor`", "70.0 ms", "1.0 of 2 workers", "smaller CFs"}},
		"sequential and queued": {sums(ms{"": 100}, ms{"nowhere": 100}, nil, nil, nil,
			slou.Cause{Factor: "S", Part: "nowhere", Producer: "factor", DF: "l", Consumer: "solve", NS: 100,
				Count: 9, QueuedNS: 20}),
			"parallelism", []string{"For 80.0 ms", "Most of it, 80.0 ms, was waiting for `factor`"}},
		"distribution": {func() *slou.Result {
			r := sums(ms{"": 120}, ms{"elsewhere": 80}, nil, nil, nil,
				slou.Cause{Factor: "S", Part: "elsewhere", Producer: "p", Consumer: "solve", NS: 80, Count: 9})
			r.Nodes[1].CFs, r.Nodes[1].Factors.S.Parts["elsewhere"] = 10, 80e6
			return r
		}(), "distribution", []string{"Node 1 idled most (80.0 ms)", "node 0 ran 100 of 110 CFs", "`solve`",
			"locators", "work stealing"}},
		"long CFs": {func() *slou.Result {
			r := sums(ms{"": 120}, ms{"elsewhere": 80}, nil, nil, nil)
			r.Nodes[0].Factors.S.Parts["elsewhere"] = 80e6
			for i, ns := range []int64{20e6, 100e6} {
				r.Nodes[i].Factors.U = &slou.Useful{Share: slou.Share{NS: ns}}
			}
			return r
		}(), "distribution", []string{"Node 0 idled most (80.0 ms)",
			"node 1 did 100 ms of 120 ms of useful work"}},
		"no locator": {func() *slou.Result {
			r := sums(ms{"": 100}, ms{"nowhere": 100}, nil, nil, nil)
			r.Nodes[1].CFs, r.Nodes[1].Factors.S.NS = 0, 100e6
			return r
		}(), "one-node", []string{"All 100 CFs ran on node 0 of 2", "locator_cyclic"}},
		"order": {sums(ms{"": 150}, ms{"nowhere": 50}, nil, nil, nil,
			slou.Cause{Factor: "S", Part: "nowhere", Producer: "factor", DF: "l", Consumer: "solve", NS: 50, Count: 3,
				QueuedNS: 45}),
			"order", []string{"`factor`", "priority", "45.0 ms"}},
		"too small": {func() *slou.Result {
			r := sums(ms{"": 100}, nil, nil, ms{"dispatch": 60, "create": 40}, nil)
			r.Fragments[0].Count, r.Fragments[0].MeanNS = 200_000, 500
			return r
		}(), "too-small", []string{"`step` works for 500 ns on average and costs 500 ns", "200000 CFs"}},
		"late transfer": {sums(ms{"": 100}, nil, nil, ms{"request": 60, "create": 40}, nil), "late-transfer",
			[]string{"`step`", "before DFs are requested (60.0 ms)"}},
		"rather small": {func() *slou.Result {
			r := sums(ms{"": 180}, nil, nil, ms{"dispatch": 15, "create": 5}, nil)
			r.Fragments[0].Count = 200
			return r
		}(), "too-small", []string{"from ready to start", "`step` works for 500 µs on average and costs 100 µs"}},
		"pre-empted": {sums(ms{"": 100}, nil, nil, ms{"preempt": 100}, nil), "preempted",
			[]string{"ran on their cores"}},
		"a silent kernel": {func() *slou.Result {
			r := sums(ms{"": 100}, nil, nil, ms{"preempt": 100}, nil,
				slou.Cause{Factor: "O", Part: "preempt", Consumer: "step", NS: 100, Count: 5})
			r.OneOff = true
			return r
		}(), "off-core", []string{"100 ms (50.0 %), mostly in `step`: pre-empted, or blocked"}},
		"one slow node": {func() *slou.Result {
			r := sums(ms{"": 100}, nil, nil, ms{"preempt": 100}, nil)
			r.Nodes[1].Factors.O = &slou.Share{Parts: map[string]int64{"preempt": 95e6}}
			return r
		}(), "preempted", []string{"pre-empted for 100 ms (50.0 %), nearly all of it on node 1: other threads"}},
		"too few cores": {func() *slou.Result {
			r := sums(ms{"": 100}, nil, nil, ms{"preempt": 100}, nil)
			r.Hosts = []model.Host{{Host: "h", Cores: 2, Workers: 8}}
			return r
		}(), "preempted", []string{"8 workers share 2 cores of host h", "fewer workers"}},
		"too many workers": {func() *slou.Result {
			r := sums(ms{"": 100}, nil, nil, ms{"dispatch": 100}, nil)
			r.Hosts = []model.Host{{Host: "h\x1b", Cores: 2, Workers: 8}}
			return r
		}(), "too-many-workers", []string{"8 workers share 2 cores of host h?", "fewer workers"}},
		"extra cores": {sums(ms{"": 100}, nil, nil, ms{"extra": 100}, nil), "extra-cores", []string{"100 ms"}},
		"contention": {sums(ms{"": 100}, nil, nil, nil, ms{"queue lock": 100},
			slou.Cause{Factor: "W", Part: "queue lock", Consumer: "step", NS: 100, Count: 5}), "contention",
			[]string{"`queue lock`", "`step`"}},
		"garbage collection": {sums(ms{"": 100}, nil, nil, nil, ms{"GC: collecting": 70, "GC: sweep": 30}),
			"garbage-collection", []string{"took 100 ms (50.0 %)", "GOGC"}},
		"system calls": {sums(ms{"": 100}, nil, nil, nil, ms{"system call": 100},
			slou.Cause{Factor: "W", Part: "system call", Consumer: "main.read", NS: 100, Count: 5}), "system-calls",
			[]string{"100 ms (50.0 %), mostly in `main.read`", "buffer"}},
		"lock of user code": {sums(ms{"": 100}, nil, nil, nil, ms{"lock": 100},
			slou.Cause{Factor: "W", Part: "lock", Producer: "step", Consumer: "step", What: "m (step.cpp:7)", NS: 100,
				Count: 5}), "contention", []string{"`m (step.cpp:7)` (100 ms), held most by `step`, and",
			"Hold it for less time"}},
		"signal of user code": {sums(ms{"": 100}, nil, nil, nil, ms{"lock": 100},
			slou.Cause{Factor: "W", Part: "lock", Consumer: "step", What: "c (step.cpp:7)", NS: 60, Count: 3},
			slou.Cause{Factor: "W", Part: "lock", Consumer: "step", What: "c (step.cpp:9)", NS: 40, Count: 2}),
			"contention", []string{"100 ms (50.0 %), mostly at `c (step.cpp:7)` (60.0 ms)", "No CF is known to have held"}},
		"unnamed lock of user code": {sums(ms{"": 100}, nil, nil, nil, ms{"lock": 100},
			slou.Cause{Factor: "W", Part: "lock", Consumer: "step", NS: 100, Count: 5}), "contention",
			[]string{"Workers waited 100 ms (50.0 %), mostly in `step`."}},
		"asleep": {sums(ms{"": 100}, nil, nil, nil, ms{"sleep": 80, "io": 20},
			slou.Cause{Factor: "W", Part: "sleep", Consumer: "step", What: "step.cpp:7", NS: 80, Count: 5}), "blocked",
			[]string{"100 ms (50.0 %), mostly asleep (80.0 ms)", "`step`, `step.cpp:7`", "Do not sleep"}},
		"files": {sums(ms{"": 100}, nil, nil, nil, ms{"io": 100},
			slou.Cause{Factor: "W", Part: "io", Consumer: "step", What: "pipe (step.cpp:7)", NS: 100, Count: 5}),
			"blocked", []string{"files and sockets", "`pipe (step.cpp:7)`"}},
		"page faults": {sums(ms{"": 100}, nil, nil, nil, ms{"page-fault": 100},
			slou.Cause{Factor: "W", Part: "page-fault", Consumer: "step", NS: 100, Count: 5}),
			"blocked", []string{"from disk"}},
		"blocked": {sums(ms{"": 100}, nil, nil, nil, ms{"blocked": 100},
			slou.Cause{Factor: "W", Part: "blocked", Consumer: "step", NS: 100, Count: 5}),
			"blocked", []string{"unknown reason"}},
		"debugger": {sums(ms{"": 100}, nil, nil, nil, ms{"held": 100}), "", nil},
		"good":     {sums(ms{"": 191}, ms{"nowhere": 9}, nil, nil, nil), "", nil},
		"nothing":  {sums(ms{"": 180}, ms{"nowhere": 9}, nil, ms{"create": 9}, nil), "", nil},
		"unknown":  {&slou.Result{WallNS: 100e6, TotalNS: 200e6, UndividedNS: 200e6}, "", nil},
	}
}

// TestSums gives one reason at a time, without a model, and looks for the words.
func TestSums(t *testing.T) {
	for name, c := range sumsCases() {
		t.Run(name, func(t *testing.T) {
			list := advise.Alone(advise.Input{SLOU: c.res})
			if c.id == "" {
				if len(list) > 0 {
					t.Fatalf("advice where there is nothing to say: %v", list[0].Text)
				}
				return
			}
			if len(list) == 0 || list[0].ID != c.id {
				t.Fatalf("first advice is %+v, want %s", list, c.id)
			}
			a := &list[0]
			for _, w := range c.words {
				if !strings.Contains(a.Text, w) {
					t.Errorf("no %q in: %s", w, a.Text)
				}
			}
			if a.GainNS <= 0 || a.GainNS > c.res.TotalNS || a.GainWallNS < 0 || a.GainWallNS > c.res.WallNS ||
				a.Bound == "" {
				t.Errorf("gains of %d and %d ns, bound %q", a.GainNS, a.GainWallNS, a.Bound)
			}
		})
	}
}
