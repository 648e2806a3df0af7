package balance_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/balance"
	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/internal/testkit/replicate"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// compute tries all strategies on so many nodes with one worker each.
func compute(t sloutest.TB, m *model.Model, nodes int, opt balance.Options) *balance.Result {
	t.Helper()
	s, err := simulate.Portable(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	opt.Machine = s.Complete(simulate.Machine{Nodes: nodes, Workers: 1, Latency: 50_000, Bandwidth: 1e9,
		Uneven: opt.Machine.Uneven, Costs: s.Recorded().Costs.With(nil, true, false)})
	r, err := balance.Compute(context.Background(), s, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkTrials checks what holds of every strategy: nodes exist, nothing is lost, and the file written says
// the same as the placement.
func checkTrials(t rapid.TB, r *balance.Result, nodes int) {
	t.Helper()
	if len(r.Trials) != len(balance.Names()) {
		t.Fatalf("%d trials", len(r.Trials))
	}
	recorded := r.Of(balance.Recorded).Predicted
	for _, x := range r.Trials {
		if x.Predicted.Executed != recorded.Executed || x.Predicted.UsefulNS != recorded.UsefulNS {
			t.Errorf("%s: %+v, as recorded %+v", x.Strategy, x.Predicted, recorded)
		}
		var b bytes.Buffer
		if err := r.Program.File(x.Place, "t.fa").Write(&b); err != nil {
			t.Fatal(err)
		}
		f, err := placement.Parse(b.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", x.Strategy, err)
		}
		if f.LastNode() >= nodes {
			t.Errorf("%s names node %d of %d", x.Strategy, f.LastNode(), nodes)
		}
	}
}

func TestRecordings(t *testing.T) {
	for _, name := range []string{"heat", "cholesky", "balance"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := replicate.Recording(name)
			if err != nil {
				t.Fatal(err)
			}
			m := sloutest.Build(t, string(text))
			for _, nodes := range []int{1, 3} {
				checkTrials(t, compute(t, m, nodes, balance.Options{}), nodes)
			}
		})
	}
}

func TestAnyTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recorded := sloutest.Random(t)
		m := sloutest.Build(t, recorded.Text())
		if m.Executions() == 0 {
			return
		}
		nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
		checkTrials(t, compute(t, m, nodes, balance.Options{}), nodes)
	})
}

// bag is a trace of CFs on node 0, created by one loop, that need nothing.
func bag(lengths ...int) string {
	var b strings.Builder
	b.WriteString(`#code 1 for for
#code 2 work atomic
#site 1 code=1
#site 2 code=2 "work(i)"
0 n0 s0 GlobalEvents.onProgramStarted process=0 cpu=0
0 n0 s0 CFEvents.onCreated cf=0.1 site=1
0 n0 s0 CFEvents.onReady cf=0.1
100 n0 s0 CFEvents.onStarted cf=0.1
200 n0 s0 CFEvents.onFinished cf=0.1
`)
	t := 300
	for i := range lengths {
		fmt.Fprintf(&b, "%d n0 s0 CFEvents.onCreated cf=0.%d site=2 parent=0.1\n", t, i+2)
		fmt.Fprintf(&b, "%d n0 s0 CFEvents.onReady cf=0.%d\n", t, i+2)
	}
	for i, n := range lengths {
		fmt.Fprintf(&b, "%d n0 s0 CFEvents.onStarted cf=0.%d\n", t+50, i+2)
		fmt.Fprintf(&b, "%d n0 s0 CFEvents.onFinished cf=0.%d cpu=%d\n", t+50+n, i+2, n)
		t += 50 + n
	}
	fmt.Fprintf(&b, "%d n0 s0 GlobalEvents.onProgramFinished cpu=%d\n", t, t)
	return b.String()
}

// Six CFs of which one is as long as all others together: whoever looks at times gives it a node of its own.
func TestUneven(t *testing.T) {
	const ms = 1_000_000
	r := compute(t, sloutest.Build(t, bag(ms, ms, 5*ms, ms, ms, ms)), 2, balance.Options{})
	for _, x := range r.Trials {
		var want int64
		switch x.Strategy {
		case balance.Recorded:
			want = 10 * ms
		case "cyclic":
			want = 7 * ms
		case "blocks":
			want = 7 * ms
		case "stealing":
			want = 8 * ms // nobody steals the last one of a queue
		default:
			want = 5 * ms
		}
		if got := x.Predicted.WallNS; got < want || got > want+ms/2 {
			t.Errorf("%s takes %d ns, not about %d", x.Strategy, got, want)
		}
	}
	if best := r.Best(); best == nil || best.Predicted.WallNS > 6*ms {
		t.Errorf("the best is %+v", best)
	}
}

// Six equal CFs on two nodes of which one is half as fast: whoever looks at times gives it two of them.
func TestSlowNode(t *testing.T) {
	const ms = 1_000_000
	r := compute(t, sloutest.Build(t, bag(ms, ms, ms, ms, ms, ms)), 2, balance.Options{
		Machine: simulate.Machine{Uneven: &simulate.Uneven{Speed: []float64{0.5, 1}, Group: make([]int, 2)}}})
	for _, x := range r.Trials {
		var want int64
		switch x.Strategy {
		case balance.Recorded:
			want = 12 * ms // all on the slow one
		case "cyclic", "stealing":
			want = 6 * ms
		default:
			want = 4 * ms
		}
		if got := x.Predicted.WallNS; got < want || got > want+ms/2 {
			t.Errorf("%s takes %d ns, not about %d", x.Strategy, got, want)
		}
	}
}

// Where the links between two groups of nodes are slow, a strategy that knows it is faster than one that does
// not.
func TestGroups(t *testing.T) {
	text, err := replicate.Recording("heat")
	if err != nil {
		t.Fatal(err)
	}
	m := sloutest.Build(t, string(text))
	even := compute(t, m, 4, balance.Options{})
	uneven := compute(t, m, 4, balance.Options{Machine: simulate.Machine{Uneven: &simulate.Uneven{
		Speed: []float64{1, 1, 1, 1}, Group: []int{1, 2, 1, 2}, Latency: 5e6}}})
	s, err := simulate.Portable(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"critical", "partition"} {
		there := uneven.Program.Machine
		there.Place = even.Of(name).Place
		unaware, err := s.Run(context.Background(), there)
		if err != nil {
			t.Fatal(err)
		}
		if aware := uneven.Of(name).Predicted; aware.WallNS >= unaware.WallNS {
			t.Errorf("%s takes %d ns, and %d as if links were alike", name, aware.WallNS, unaware.WallNS)
		}
	}
}

// Equal CFs of one loop: their places are runs and strides.
func TestFile(t *testing.T) {
	r := compute(t, sloutest.Build(t, bag(1000, 1000, 1000, 1000, 1000, 1000)), 2, balance.Options{})
	for _, c := range []struct{ strategy, want string }{
		{"blocks", "{\"node\":0,\"at\":[[0,2]]},\n    {\"node\":1,\"at\":[[3,5]]}]}"},
		{"cyclic", "{\"node\":0,\"at\":[[0,4,2]]},\n    {\"node\":1,\"at\":[[1,5,2]]}]}"},
	} {
		var b bytes.Buffer
		if err := r.Program.File(r.Of(c.strategy).Place, "t.fa").Write(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) || !strings.Contains(b.String(), `"statement": "work(i)"`) {
			t.Errorf("%s: %s", c.strategy, b.String())
		}
	}
}

// What needs too much memory comes last and is not proposed.
func TestMemory(t *testing.T) {
	text, err := replicate.Recording("heat")
	if err != nil {
		t.Fatal(err)
	}
	m := sloutest.Build(t, string(text))
	all := compute(t, m, 2, balance.Options{})
	least, most := all.Trials[0].Memory, all.Trials[0].Memory
	for _, x := range all.Trials {
		least, most = min(least, x.Memory), max(most, x.Memory)
	}
	r := compute(t, m, 2, balance.Options{Memory: most - 1})
	if last := r.Trials[len(r.Trials)-1]; least == most || !last.TooLarge || r.Best() == nil || r.Best().TooLarge {
		t.Errorf("%d to %d bytes; last %+v, best %+v", least, most, last, r.Best())
	}
	if r := compute(t, m, 2, balance.Options{Memory: 1}); r.Best() != nil {
		t.Errorf("something fits one byte: %+v", r.Best())
	}
}

func TestCancelled(t *testing.T) {
	s, err := simulate.Portable(context.Background(), sloutest.Build(t, bag(1, 2, 3)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := balance.Compute(ctx, s, balance.Options{Machine: s.Complete(simulate.Machine{})}); err == nil {
		t.Errorf("%+v", r)
	}
}
