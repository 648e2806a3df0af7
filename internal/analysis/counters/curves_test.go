package counters_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// asSeries are the names of the report for properties.
var asSeries = []string{counters.BytesHeld, counters.CopiesHeld, counters.DFs, counters.CFs,
	counters.CFsWaiting, counters.CFsReady, counters.CFsRunning, counters.CFsMoving,
	counters.MessagesInFlight, counters.BytesInFlight, counters.MessagesSent, counters.BytesSent,
	counters.CFsMoved, counters.ReadyQueue, counters.SendQueue}

// likeSeries compares all that the report tells about a run with what a set does.
func likeSeries(t sloutest.TB, o *opened, s *counters.Properties, windows int) error {
	r, err := counters.Compute(context.Background(), o.m, counters.Options{Windows: windows, Links: -1,
		Holders: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.WallNS == 0 {
		return nil
	}
	for _, x := range r.Series {
		if !slices.Contains(asSeries, x.Name) {
			return fmt.Errorf("%s is no property", x.Name)
		}
		q := counters.SeriesQuery{Names: x.Name, To: r.WallNS, Points: windows}
		if x.Node >= 0 {
			q.Nodes = fmt.Sprint(x.Node)
		}
		if q.Links = x.Link; x.Link == "" && (x.Name == counters.CFsMoved || x.Name == counters.SendQueue) {
			q.Links = "sum"
		}
		a, err := s.Series(q)
		if err != nil {
			return err
		}
		if len(a.Series) == 0 && !slices.ContainsFunc(x.Max, func(v int64) bool { return v > 0 }) &&
			!slices.ContainsFunc(x.Sum, func(v int64) bool { return v > 0 }) {
			continue // a link of which only an empty queue was recorded
		}
		if len(a.Series) != 1 || a.WindowNS != r.WindowNS || len(a.Series[0].Mean) != r.Windows {
			return fmt.Errorf("%s node %d link %q: %d series of windows of %d ns", x.Name, x.Node, x.Link,
				len(a.Series), a.WindowNS)
		}
		got := a.Series[0]
		floats := func(list []int64) (out []float64) {
			for _, v := range list {
				out = append(out, float64(v))
			}
			return out
		}
		want := counters.Curve{Name: x.Name, Unit: x.Unit, Node: x.Node, Link: x.Link, Mean: got.Mean,
			Min: floats(x.Min), Max: floats(x.Max), Last: floats(x.Last), Sum: floats(x.Sum)}
		if d := cmp.Diff(want, got); d != "" {
			return fmt.Errorf("%s node %d link %q (-series +properties): %s", x.Name, x.Node, x.Link, d)
		}
		for i, mean := range got.Mean {
			if mean == nil || math.Abs(*mean-x.Mean[i]) > 1e-9*max(1, math.Abs(x.Mean[i])) {
				return fmt.Errorf("%s node %d link %q: mean %v in window %d, series has %g", x.Name, x.Node,
					x.Link, mean, i, x.Mean[i])
			}
		}
	}
	for _, miss := range r.Missing {
		for _, name := range miss.Series {
			a, err := s.Series(counters.SeriesQuery{Names: name, To: r.WallNS, Points: 1})
			if err != nil {
				return err
			}
			if a.Series[0].Mean[0] != nil || a.Series[0].Min != nil || a.Series[0].Sum != nil {
				return fmt.Errorf("%s was not recorded, and is told", name)
			}
		}
	}
	return likePeaks(s, r)
}

// likePeaks compares who holds what when most is held.
func likePeaks(s *counters.Properties, r *counters.Result) error {
	if r.Memory == nil {
		return nil
	}
	at := r.Memory.Total.NS
	m, err := s.Memory(context.Background(), counters.MemoryQuery{To: r.WallNS, Points: 7})
	if err != nil {
		return err
	}
	if m.Bytes != r.Memory.Total.Bytes || m.T != at {
		return fmt.Errorf("%d bytes held at %d, series has %d at %d", m.Bytes, m.T, r.Memory.Total.Bytes, at)
	}
	got := map[string]counters.Holder{}
	for _, h := range m.Holders {
		x := got[h.Name]
		got[h.Name] = counters.Holder{DF: h.Name, Bytes: x.Bytes + h.Bytes, Copies: x.Copies + h.Copies}
	}
	want := map[string]counters.Holder{}
	for _, h := range r.Memory.Total.Holders {
		want[h.DF] = h
	}
	if d := cmp.Diff(want, got); d != "" {
		return fmt.Errorf("held at %d (-series +properties): %s", at, d)
	}
	return nil
}

// TestLikeSeries compares random runs, whole and damaged.
func TestLikeSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomScript(t, rapid.IntRange(0, 3).Draw(t, "harmed") == 0, rapid.Bool().Draw(t, "drifting"))
		o := open(t, s.text(nil))
		defer o.close()
		if err := likeSeries(t, o, o.set(t), rapid.IntRange(1, 30).Draw(t, "windows")); err != nil {
			t.Fatalf("%v\n%s", err, s.text(nil))
		}
	})
}

const two = `#run {"ended":"done","nodes":[{"node":0,"process":0,"workers":1},{"node":1,"process":0,"workers":1}]}
#node 0
#code 1 make atomic
#site 1 code=1
#df 1 x [0 1 7]
0 n0 s0 Global.onProgramStarted
0 n0 s0 CF.onCreated cf=0.1 site=1 weight=2.5
10 n0 s0 CF.onReady 0.1 0
20 n0 s0 CF.onStarted 0.1 1
40 n0 s0 CF.onFinished 0.1 1
40 n0 s0 DF.onCreate 1 100 0.1
40 n0 s0 DF.onStored 1 100
60 n0 s1 DF.onSent df=1 to=1 bytes=120 message=0.1 request=- cf=-
60 n0 s1 Global.onRelations 4 1
70 n0 s1 DF.onDropped 1 100
100 n0 s0 Global.onProgramFinished
#node 1
#df 9 x [0 1 7]
0 n1 s0 Global.onProgramStarted
50 n1 s1 Global.onSendQueue 0 3
80 n1 s1 DF.onReceived df=9 from=0 bytes=120 message=0.1 request=- cf=-
80 n1 s1 DF.onStored 9 100
100 n1 s0 Global.onProgramFinished
`

// TestAnswers looks at answers as they are sent.
func TestAnswers(t *testing.T) {
	text := two
	text = strings.NewReplacer(" CF.", " CFEvents.", " DF.", " DFEvents.", " Global.",
		" GlobalEvents.").Replace(text)
	o := open(t, text)
	defer o.close()
	s := o.set(t)
	var b strings.Builder
	show := func(name string, v any, err error) {
		fmt.Fprintf(&b, "%s: ", name)
		if err != nil {
			b.WriteString(err.Error() + "\n")
			return
		}
		b.WriteString(asJSON(t, v) + "\n")
	}
	show("at 65", s.At(65), nil)
	show("at the end", s.At(100), nil)
	a, err := s.Series(counters.SeriesQuery{Names: "bytes_held, weight", Nodes: "0", From: -20, To: 100,
		Points: 3})
	show("series", a, err)
	a, err = s.Series(counters.SeriesQuery{Names: "objects,message_bytes", Links: "all", From: 0, To: 300,
		Points: 3})
	show("links", a, err)
	b.WriteString("csv:\n")
	if err := counters.WriteAnswerCSV(&b, a); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"bandwidth", "flight_ns", "send_queue"} {
		m, err := s.Matrix(v, 0, 100)
		show(v, m, err)
	}
	m, err := s.Memory(context.Background(), counters.MemoryQuery{To: 100, Points: 2})
	show("memory", m, err)
	show("balance", s.Balance(), nil)
	golden(t, "answers", b.String())
}

// TestUsageCurves: what system_module records of processes are properties of nodes like others, for plots and
// tracks.
func TestUsageCurves(t *testing.T) {
	o := open(t, `#run {"ended":"done","nodes":[{"node":0,"process":0,"workers":1},{"node":1,"process":1,"workers":1}]}
#node 0
0 n0 s0 GlobalEvents.onProgramStarted
10 n0 s0 GlobalEvents.onUsage load=90 resident=4000 arenas=700 threads=6
60 n0 s0 GlobalEvents.onUsage load=150 resident=5000 arenas=800 threads=7
100 n0 s0 GlobalEvents.onProgramFinished 0
#node 1
0 n1 s0 GlobalEvents.onProgramStarted
20 n1 s0 GlobalEvents.onUsage load=10 resident=300 arenas=20 threads=2
100 n1 s0 GlobalEvents.onProgramFinished 0
`)
	defer o.close()
	a, err := o.set(t).Series(counters.SeriesQuery{Names: "load,resident,arenas,threads", Nodes: "all",
		To: 100, Points: 2})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]float64{}
	for _, c := range a.Series {
		got[fmt.Sprint(c.Name, c.Node)] = c.Last
	}
	want := map[string][]float64{"load0": {90, 150}, "resident0": {4000, 5000}, "arenas0": {700, 800},
		"threads0": {6, 7}, "load1": {10, 10}, "resident1": {300, 300}, "arenas1": {20, 20}, "threads1": {2, 2}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestQuestions asks what cannot be answered.
func TestQuestions(t *testing.T) {
	o := open(t, strings.NewReplacer(" CF.", " CFEvents.", " DF.", " DFEvents.", " Global.",
		" GlobalEvents.").Replace(two))
	defer o.close()
	s := o.set(t)
	for _, c := range []struct {
		q    counters.SeriesQuery
		kind error
	}{
		{counters.SeriesQuery{Names: "", To: 1}, fs.ErrInvalid},
		{counters.SeriesQuery{Names: "bites", To: 1}, fs.ErrInvalid},
		{counters.SeriesQuery{Names: "bytes"}, fs.ErrInvalid},
		{counters.SeriesQuery{Names: "bytes", From: math.MinInt64, To: math.MaxInt64}, fs.ErrInvalid},
		{counters.SeriesQuery{Names: "bytes", To: 1, Points: -1}, fs.ErrInvalid},
		{counters.SeriesQuery{Names: strings.Repeat("bytes,", 100) + "bytes", To: 1 << 40, Points: 1 << 16},
			fs.ErrInvalid},
		{counters.SeriesQuery{Names: "bytes", Nodes: "2", To: 1}, fs.ErrNotExist},
		{counters.SeriesQuery{Names: "messages", Links: "0-1", To: 1}, fs.ErrInvalid},
		{counters.SeriesQuery{Names: "messages", Links: "0->2", To: 1}, fs.ErrNotExist},
	} {
		if _, err := s.Series(c.q); !errors.Is(err, c.kind) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", c.q, err)
		}
	}
	if _, err := s.Matrix("weight", 0, 1); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
	if _, err := s.Memory(context.Background(), counters.MemoryQuery{To: 1, Points: 1 << 20}); !errors.Is(err,
		fs.ErrInvalid) {
		t.Error(err)
	}
}

// TestTogether asks a set from several goroutines at once.
func TestTogether(t *testing.T) {
	o := open(t, strings.NewReplacer(" CF.", " CFEvents.", " DF.", " DFEvents.", " Global.",
		" GlobalEvents.").Replace(two))
	defer o.close()
	s := o.set(t)
	want := asJSON(t, everything(t, o.set(t), 0, 100, 50, 7))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := asJSON(t, everything(t, s, 0, 100, 50, 7)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	wg.Wait()
}

// FuzzSeries asks arbitrary questions.
func FuzzSeries(f *testing.F) {
	f.Add("bytes,running", "0,2-3", "0->1", int64(0), int64(100), 7)
	f.Add("objects", "all", "sum", int64(-5), int64(1)<<62, 0)
	f.Add("cfs_moved,,", "sum", "0->1,1->0", int64(math.MinInt64), int64(math.MaxInt64), 1<<20)
	o := open(f, strings.NewReplacer(" CF.", " CFEvents.", " DF.", " DFEvents.", " Global.",
		" GlobalEvents.").Replace(two))
	f.Cleanup(o.close)
	s := o.set(f)
	f.Fuzz(func(t *testing.T, names, nodes, links string, from, to int64, n int) {
		a, err := s.Series(counters.SeriesQuery{Names: names, Nodes: nodes, Links: links, From: from, To: to,
			Points: n})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q", err)
			}
			return
		}
		if err := counters.WriteAnswerCSV(discard{}, a); err != nil {
			t.Fatal(err)
		}
		for _, x := range a.Series {
			if int64(len(x.Mean)-1)*a.WindowNS >= to-from {
				t.Fatal(len(x.Mean), a.WindowNS)
			}
		}
		if _, err := s.Matrix(names, from, to); err == nil && from >= to {
			t.Fatal("a matrix of nothing")
		}
		if _, err := s.Memory(context.Background(), counters.MemoryQuery{From: from, To: to, T: &to,
			Points: n}); err == nil && from >= to {
			t.Fatal("memory of nothing")
		}
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

var _ sloutest.TB = (*testing.F)(nil)
