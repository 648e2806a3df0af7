package counters_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// longRun is a made-up run of two nodes as batches, so many CFs long: each CF is created and runs on node 0
// or moves to node 1, makes a DF of 100 bytes that is sent to the other node, stored there for a while and
// destroyed.
type longRun struct {
	defs    [2]*trace.Defs
	batches []*trace.Batch
	end     int64
}

func makeLong(t testing.TB, cfs int) *longRun {
	r := &longRun{}
	var text strings.Builder
	text.WriteString(
		`#run {"ended":"","nodes":[{"node":0,"process":0,"workers":1},{"node":1,"process":0,"workers":1}]}` + "\n")
	const known = 1 << 12 // definitions; the other DFs are known on one node only
	for n := range 2 {
		fmt.Fprintf(&text, "#node %d\n", n)
		for i := 1; i <= known; i++ {
			fmt.Fprintf(&text, "#df %d x [0 1 %d]\n", i, i)
		}
		fmt.Fprintf(&text, "0 n%d s0 GlobalEvents.onProgramStarted\n", n)
	}
	o := open(t, text.String())
	defer o.close()
	r.defs = [2]*trace.Defs{o.r.Defs(0), o.r.Defs(1)}
	var open [2]*trace.Batch
	flush := func(n int) {
		if b := open[n]; b != nil {
			r.batches = append(r.batches, b)
		}
		open[n] = &trace.Batch{Node: n, Off: []uint32{0}, First: math.MaxInt64, Last: math.MinInt64}
	}
	flush(0)
	flush(1)
	add := func(n int, at int64, k trace.Kind, words ...uint64) {
		b := open[n]
		b.N++
		b.Time, b.Kind, b.Words = append(b.Time, at), append(b.Kind, k), append(b.Words, words...)
		b.Off = append(b.Off, uint32(len(b.Words)))
		b.First, b.Last = min(b.First, at), max(b.Last, at)
		r.end = max(r.end, at)
		if b.N == 4096 {
			flush(n)
		}
	}
	add(0, 0, trace.KindProgramStarted, 0, 0)
	add(1, 0, trace.KindProgramStarted, 0, 0)
	one := math.Float64bits(1)
	for i := 1; i <= cfs; i++ {
		cf, df, at, n := uint64(trace.MakeCF(0, uint64(i))), uint64(i), int64(i)*1000, 0
		add(0, at, trace.KindCFCreated, cf, 0, 0, 0, one, 0)
		if i%3 == 0 {
			add(0, at+10, trace.KindCFMigrated, cf, 1, 50, one)
			n = 1
			add(1, at+30, trace.KindCFReceived, cf, 0, 50, one)
		}
		add(n, at+40, trace.KindCFReady, cf, 0)
		add(n, at+50, trace.KindCFStarted, cf, 1, 0)
		add(n, at+900, trace.KindCFFinished, cf, 1, math.MaxUint64)
		add(n, at+900, trace.KindCFDestroyed, cf)
		add(n, at+900, trace.KindDFCreate, df, 100, cf)
		add(n, at+900, trace.KindDFStored, df, 100)
		number := trace.MakeMessage(n, uint64(i))
		add(n, at+910, trace.KindDFSent, df, uint64(1-n), 120, number, 0, 0)
		add(1-n, at+950, trace.KindDFReceived, df, uint64(n), 120, number, 0, 0)
		add(n, at+20000, trace.KindDFDropped, df, 100)
		add(n, at+20000, trace.KindDFDestroy, df, 100, 0)
		if i%100 == 0 {
			add(0, at, trace.KindReadyQueue, uint64(i%7))
			add(0, at, trace.KindRelations, uint64(i%5), math.MaxUint64)
		}
	}
	flush(0)
	flush(1)
	return r
}

// TestBounded follows a long run with little memory: it stays bounded, nothing is late, the levels at the
// end, all amounts, and means and extremes of the whole run are right.
func TestBounded(t *testing.T) {
	const cfs, limit = 60_000, 3 << 20
	run := makeLong(t, cfs)
	small, large := counters.NewLive(counters.LiveOptions{MaxBytes: limit}),
		counters.NewLive(counters.LiveOptions{MaxBytes: 1 << 40})
	most := int64(0)
	for _, b := range run.batches {
		small.Add(run.defs[b.Node], b)
		large.Add(run.defs[b.Node], b)
		most = max(most, small.Bytes())
	}
	if most > 2*limit || large.Bytes() < 4*limit {
		t.Errorf("%d bytes of %d were taken, %d are without a limit", most, limit, large.Bytes())
	}
	if n := small.Late(); n != 0 {
		t.Errorf("%d events were too late", n)
	}
	wall := small.Wall()
	if got, want := asJSON(t, small.At(wall)), asJSON(t, large.At(wall)); got != want {
		t.Errorf("at the end %s, want %s", got, want)
	}
	if got, want := asJSON(t, small.Balance()), asJSON(t, large.Balance()); got != want {
		t.Errorf("left over %s, want %s", got, want)
	}
	nodes, links := allNames()
	for _, q := range []counters.SeriesQuery{{Names: nodes, Nodes: "all", To: wall, Points: 1},
		{Names: nodes, Nodes: "sum", To: wall, Points: 1}, {Names: links, Links: "all", To: wall,
			Points: 1}} {
		a, err := small.Series(q)
		b, err2 := large.Series(q)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if got, want := asJSON(t, a), asJSON(t, b); got != want {
			t.Errorf("over the whole run\n%s, want\n%s", got, want)
		}
	}
}

// TestTooLate gives events of what was forgotten, and more that is never gone than fits: it is counted, and
// memory stays bounded.
func TestTooLate(t *testing.T) {
	const limit = 1 << 20
	run := makeLong(t, 20_000)
	live := counters.NewLive(counters.LiveOptions{MaxBytes: limit})
	for _, b := range run.batches {
		live.Add(run.defs[b.Node], b)
	}
	first := run.batches[0]
	before := asJSON(t, live.At(run.end))
	live.Add(run.defs[first.Node], part(first, 1, 100))
	if live.Late() == 0 {
		t.Error("nothing was too late")
	}
	if after := asJSON(t, live.At(run.end)); after != before {
		t.Errorf("what was too late changed %s\nto %s", before, after)
	}
	late := live.Late()
	b := &trace.Batch{Node: 0, N: 1, Kind: []trace.Kind{trace.KindCFCreated}, Off: []uint32{0, 6},
		Words: make([]uint64, 6)}
	b.Words[4] = math.Float64bits(1)
	for i := range uint64(200_000) {
		at := run.end + int64(i)
		b.Words[0], b.Time, b.First, b.Last = uint64(trace.MakeCF(0, 1e6+i)), []int64{at}, at, at
		live.Add(run.defs[0], b)
	}
	if live.Late() == late || live.Bytes() > 4*limit {
		t.Errorf("%d bytes are taken, %d events were left out", live.Bytes(), live.Late()-late)
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

// FuzzLive gives arbitrary traces to a Live and to a model: neither fails, and they agree.
func FuzzLive(f *testing.F) {
	f.Add(strings.NewReplacer(" CF.", " CFEvents.", " DF.", " DFEvents.", " Global.",
		" GlobalEvents.").Replace(two), uint8(3))
	f.Add("5 n7 s3 CFEvents.onStarted 0.1 1 [5 0]\n-5 n7 s3 GlobalEvents.onClockSync -9223372036854775808 1\n0 "+
		"n8 s0 DFEvents.onSent 1 7 8 7.1 8.1\n", uint8(1))
	f.Add("0 n1 s0 CFEvents.onCreated cf=65535.281474976710655 site=1 weight=NaN\n8223372036854775 n0 s0 "+
		"DFEvents.onCreate df=4294967295 size=-1 cf=-\n", uint8(2))
	f.Add("0 n0 s0 CFEvents.onMigrated cf=0.1 to=65535 bytes=-9223372036854775808\n1 n0 s0 "+
		"GlobalEvents.onSendQueue 3 18446744073709551615\n", uint8(9))
	f.Fuzz(func(t *testing.T, text string, piece uint8) {
		dir := t.TempDir()
		if twin.Parse(strings.NewReader(text), dir) != nil {
			return
		}
		o := load(t, dir)
		defer o.r.Close()
		live := counters.NewLive(counters.LiveOptions{MaxBytes: 1 << 30})
		live.Info(o.r.Run())
		for _, b := range o.streams(t) {
			for i := 0; i < b.N; i += int(piece) + 1 {
				live.Add(o.r.Defs(b.Node), part(b, i, min(b.N, i+int(piece)+1)))
			}
		}
		at := live.At(3)
		if at.T != 3 || len(at.Nodes) > 1<<16 {
			t.Fatal(at)
		}
		live.Balance()
		o.set(t).Balance()
	})
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
