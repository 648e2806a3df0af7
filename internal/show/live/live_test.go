package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// ring is a run of two nodes of one worker: each CF takes a DF that the one before it made, every tenth on
// the other node.
func ring(t *testing.T, cfs int) string {
	t.Helper()
	var b strings.Builder
	line := func(at, node int, format string, args ...any) {
		fmt.Fprintf(&b, "%d n%d s0 ", at, node)
		fmt.Fprintf(&b, format, args...)
		b.WriteByte('\n')
	}
	for node := range 2 {
		fmt.Fprintf(&b, "#node %d\n#code 1 step atomic\n#site 1 code=1\n", node)
		for i := range cfs {
			fmt.Fprintf(&b, "#df %d x [0 1 %d]\n", i+1, i)
		}
		line(0, node, "GlobalEvents.onProgramStarted")
	}
	at, node := 1000, 0
	for i := range cfs {
		if i%10 == 9 {
			line(at, node, "DFEvents.onSent df=%d to=%d bytes=64 message=%d.%d", i, 1-node, node, i)
			line(at+300, 1-node, "DFEvents.onReceived df=%d from=%d bytes=64 message=%d.%d", i, node, node, i)
			node = 1 - node
			at += 400
		}
		cf := fmt.Sprintf("%d.%d", node, i+1)
		line(at, node, "CFEvents.onCreated cf=%s site=1", cf)
		line(at+10, node, "CFEvents.onReady cf=%s", cf)
		if i == 0 {
			line(at+20, node, "CFEvents.onStarted cf=%s execution=1", cf)
		} else {
			line(at+20, node, "CFEvents.onStarted cf=%s execution=1 inputs=[%d]", cf, i)
		}
		line(at+90, node, "DFEvents.onCreate df=%d size=64 cf=%s", i+1, cf)
		line(at+95, node, "DFEvents.onStored df=%d size=64", i+1)
		line(at+100, node, "CFEvents.onFinished cf=%s execution=1", cf)
		line(at+105, node, "DFEvents.onDropped df=%d size=64", i+1)
		line(at+106, node, "CFEvents.onDestroyed cf=%s", cf)
		at += 110
	}
	for node := range 2 {
		line(at, node, "GlobalEvents.onProgramFinished")
	}
	dir := filepath.Join(t.TempDir(), "whole.trace")
	if err := twin.Parse(strings.NewReader(b.String()), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func info(ended string) *trace.RunInfo {
	return &trace.RunInfo{ID: strings.Repeat("ab", 16), Program: "ring.fa", Ended: ended,
		Nodes: []trace.NodeInfo{{Node: 0, Workers: 1}, {Node: 1, Workers: 1}}}
}

// blocks are those of a trace, in order of their last times: about as they would arrive.
func blocks(t *testing.T, dir string) (list []tracefile.RawBlock) {
	t.Helper()
	f := follow.New(dir)
	if _, err := f.Poll(context.Background(), func(b *tracefile.RawBlock) error {
		c := *b
		c.Bytes = slices.Clone(b.Bytes)
		list = append(list, c)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	last := map[int]int64{}
	for i := range list { // definitions come before what uses them
		b := &list[i]
		last[b.Node] = max(last[b.Node], b.Last)
		b.Last = last[b.Node]
	}
	slices.SortStableFunc(list, func(a, b tracefile.RawBlock) int { return int(a.Last - b.Last) })
	return list
}

func until(t *testing.T, r *live.Run, what string, ok func(live.Status) bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		st, changed := r.Status()
		if ok(st) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("waited in vain for %s: %+v", what, st)
		}
	}
}

// TestFollow: a run is shown while its trace grows, and in the end as if it had been there from the start.
func TestFollow(t *testing.T) {
	whole := ring(t, 6000)
	all := blocks(t, whole)
	if len(all) < 10 {
		t.Fatalf("only %d blocks", len(all))
	}
	dir := filepath.Join(t.TempDir(), "growing.trace")
	if err := trace.WriteRunInfo(dir, info("")); err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{})
	alive := func() (bool, bool) {
		select {
		case <-running:
			return false, true
		default:
			return true, true
		}
	}
	r, err := live.Open(dir, live.Options{Alive: alive})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	files := map[int]*tracefile.Appender{}
	for node := range 2 {
		if files[node], err = tracefile.OpenAppend(context.Background(), dir, node, ""); err != nil {
			t.Fatal(err)
		}
	}
	events := uint64(0)
	for i, b := range all {
		if err := files[b.Node].Append(b.Bytes); err != nil {
			t.Fatal(err)
		}
		if !b.Defs {
			events += uint64(b.Count)
		}
		if i == len(all)/2 {
			until(t, r, "half of the run", func(st live.Status) bool {
				return st.Events == events && st.State == live.StateLive
			})
			half := sums(t, r, events)
			if half[0] == 0 || half[1] == 0 {
				t.Errorf("factors half way: %v", half)
			}
			s, err := r.Snapshot(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if s.Model.Events != events {
				t.Errorf("the snapshot has %d events of %d", s.Model.Events, events)
			}
			s.Release()
		}
	}
	until(t, r, "all of the run", func(st live.Status) bool { return st.Events == events })
	before := sums(t, r, events)
	if before[6] != 0 {
		t.Errorf("of %d not everything is known", before)
	}
	for _, f := range files {
		if err := f.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	if err := trace.WriteRunInfo(dir, info(trace.EndedDone)); err != nil {
		t.Fatal(err)
	}
	close(running)
	until(t, r, "the end", func(st live.Status) bool { return st.State == trace.EndedDone })
	s, err := r.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if diff := cmp.Diff(before[:6], asReported(t, s).Sum); diff != "" {
		t.Errorf("factors of the live run and of the finished one:\n%s", diff)
	}
}

// TestWake: a run that counts as killed goes on when its sender comes back, whether it was followed all the
// time or not.
func TestWake(t *testing.T) {
	all := blocks(t, ring(t, 3000))
	dir := filepath.Join(t.TempDir(), "asleep.trace")
	if err := trace.WriteRunInfo(dir, info("")); err != nil {
		t.Fatal(err)
	}
	files := map[int]*tracefile.Appender{}
	for node := range 2 {
		var err error
		if files[node], err = tracefile.OpenAppend(context.Background(), dir, node, ""); err != nil {
			t.Fatal(err)
		}
	}
	events := uint64(0)
	add := func(list []tracefile.RawBlock) {
		for _, b := range list {
			if err := files[b.Node].Append(b.Bytes); err != nil {
				t.Fatal(err)
			}
			if !b.Defs {
				events += uint64(b.Count)
			}
		}
	}
	third := len(all) / 3
	add(all[:third])
	gone := func() (bool, bool) { return false, true }
	open := func() *live.Run {
		r, err := live.Open(dir, live.Options{Alive: gone})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		return r
	}
	r := open()
	add(all[third : 2*third])
	for _, r := range []*live.Run{r, open()} {
		until(t, r, "it counts as killed", func(st live.Status) bool {
			return st.State == live.StateKilled && st.Events == events
		})
	}
	second := open()
	add(all[2*third:])
	for _, f := range files {
		if err := f.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	if err := trace.WriteRunInfo(dir, info(trace.EndedDone)); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*live.Run{r, second} {
		until(t, r, "it is done", func(st live.Status) bool {
			return st.State == trace.EndedDone && st.Events == events
		})
	}
}

// sums are the factors of the whole run, once a snapshot has so many events.
func sums(t *testing.T, r *live.Run, events uint64) []int64 {
	t.Helper()
	until(t, r, "a snapshot of what has arrived", func(live.Status) bool {
		s, err := r.Snapshot(context.Background())
		if err != nil {
			return false
		}
		defer s.Release()
		return s.Model.Events >= events
	})
	st, _ := r.Status()
	f, err := r.Factors(context.Background(), timeline.FactorQuery{To: st.WallNS, Windows: 1})
	if err != nil {
		t.Fatal(err)
	}
	return f.Sum
}

// TestLong: of a run that is too long for its memory, every part can be seen.
func TestLong(t *testing.T) {
	dir := ring(t, 6000)
	if err := trace.WriteRunInfo(dir, info(trace.EndedDone)); err != nil {
		t.Fatal(err)
	}
	r, err := live.Open(dir, live.Options{Memory: 4_000_000}) // some 16 000 events a part, a third of the run
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	until(t, r, "all of the run", func(st live.Status) bool {
		return st.Events > 48_000 && st.State == trace.EndedDone
	})
	newest, err := r.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer newest.Release()
	wall := newest.Model.Wall()
	if newest.Span.From <= 0 || newest.Span.To != wall {
		t.Fatalf("the newest part is %+v of %d", newest.Span, wall)
	}
	for _, at := range []int64{0, wall / 4, wall / 2, wall / 8} {
		s, err := r.SnapshotIn(context.Background(), at, at+wall/100)
		if err != nil {
			t.Fatal(err)
		}
		if s.Span.From > at || s.Span.To < at+wall/100 {
			t.Errorf("asked for %d, got %+v", at, s.Span)
		}
		tl, err := s.Timeline()
		if err != nil {
			t.Fatal(err)
		}
		boxes, err := tl.Boxes(timeline.BoxQuery{From: at, To: at + wall/100})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(boxes.CFs.CF); n < 50 || n > 70 {
			t.Errorf("%d CFs in a hundredth of the run of 6000", n)
		}
		s.Release()
	}
	pastIsKept(t, r, dir)
}

// TestLongLive: of a run that outgrows its memory while it is watched, the older half is known all the time,
// and all of it in the end.
func TestLongLive(t *testing.T) {
	whole := ring(t, 6000)
	if err := trace.WriteRunInfo(whole, info(trace.EndedDone)); err != nil {
		t.Fatal(err)
	}
	all := blocks(t, whole)
	dir := filepath.Join(t.TempDir(), "growing.trace")
	if err := trace.WriteRunInfo(dir, info("")); err != nil {
		t.Fatal(err)
	}
	alive := func() (bool, bool) { return true, true }
	r, err := live.Open(dir, live.Options{Memory: 4_000_000, Alive: alive})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	files := map[int]*tracefile.Appender{}
	for node := range 2 {
		if files[node], err = tracefile.OpenAppend(context.Background(), dir, node, ""); err != nil {
			t.Fatal(err)
		}
	}
	events, outgrown := uint64(0), false
	for i, b := range all {
		if err := files[b.Node].Append(b.Bytes); err != nil {
			t.Fatal(err)
		}
		if !b.Defs {
			events += uint64(b.Count)
		}
		if i%(len(all)/12) != 0 || events == 0 {
			continue
		}
		until(t, r, "what has arrived", func(st live.Status) bool { return st.Events == events })
		until(t, r, "the first half", func(live.Status) bool {
			s, err := r.Snapshot(t.Context())
			if err != nil {
				return false
			}
			defer s.Release()
			f, err := r.Factors(t.Context(), timeline.FactorQuery{To: s.Model.Wall(), Windows: 2})
			if err != nil {
				t.Fatal(err)
			}
			sum := int64(0)
			for _, ns := range f.Sum {
				sum += ns
			}
			if f.KnownNS >= s.Model.Wall() && sum != 2*s.Model.Wall() {
				t.Fatalf("the factors of %d ns of two workers add up to %d", s.Model.Wall(), sum)
			}
			outgrown = outgrown || s.Span.From > 0
			return s.Model.Events == events || s.Span.From > 0 && f.Total[6][0] == 0
		})
	}
	if !outgrown {
		t.Error("it never outgrew its memory")
	}
	for _, f := range files {
		if err := f.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	if err := trace.WriteRunInfo(dir, info(trace.EndedDone)); err != nil {
		t.Fatal(err)
	}
	until(t, r, "the end", func(st live.Status) bool { return st.State == trace.EndedDone })
	pastIsKept(t, r, whole)
}

// pastIsKept: of the parts of a long run that the newest snapshot does not have, sums are known, nearly those
// of the whole run.
func pastIsKept(t *testing.T, r *live.Run, dir string) {
	t.Helper()
	var got *timeline.FactorWindows
	whole, err := live.Open(dir, live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	s, err := whole.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	q := timeline.FactorQuery{To: s.Model.Wall(), Windows: 20}
	until(t, r, "all of its past", func(live.Status) bool {
		if got, err = r.Factors(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		return got.Sum[6] == 0
	})
	want, err := whole.Factors(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for row, name := range want.Rows {
		for w := range want.Windows {
			if d := got.Total[row][w] - want.Total[row][w]; d < -2000 || d > 2000 { // of two lanes of 45 us
				t.Errorf("%s of window %d: %d of a long run, %d of a whole one",
					name, w, got.Total[row][w], want.Total[row][w])
			}
		}
	}
	for w := range got.Windows {
		sum := int64(0)
		for row := range got.Rows {
			sum += got.Total[row][w]
		}
		if is := min(got.WindowNS, q.To-int64(w)*got.WindowNS); sum != 2*is {
			t.Errorf("the factors of window %d add up to %d of %d", w, sum, 2*is)
		}
	}
	propertiesAreKept(t, r, whole, s.Model.Wall())
}

// propertiesAreKept: the properties of a long run are those of all of it, also of what no snapshot has.
func propertiesAreKept(t *testing.T, r, whole *live.Run, wall int64) {
	t.Helper()
	ask := func(r *live.Run) (at counters.At, curves counters.SeriesAnswer) {
		err := r.Properties(t.Context(), func(p counters.Set) {
			at = p.At(wall)
			var err error
			curves, err = p.Series(counters.SeriesQuery{Names: "running,cfs,bytes,messages", To: wall, Points: 10})
			if err != nil {
				t.Fatal(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return at, curves
	}
	gotAt, got := ask(r)
	wantAt, want := ask(whole)
	for n := range wantAt.Nodes { // they need CFs and DFs
		wantAt.Nodes[n].Inner, wantAt.Nodes[n].Outer = nil, nil
	}
	delete(wantAt.Spread, "inner")
	delete(wantAt.Spread, "outer")
	if diff := cmp.Diff(wantAt, gotAt); diff != "" {
		t.Errorf("properties at the end of a long run:\n%s", diff)
	}
	for i := range want.Series {
		if diff := cmp.Diff(want.Series[i].Mean, got.Series[i].Mean, cmpopts.EquateApprox(0.06, 0)); diff != "" {
			t.Errorf("%s of a long run:\n%s", want.Series[i].Name, diff)
		}
	}
}

// TestStates: how a run that does not say how it ended is taken.
func TestStates(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	whole := ring(t, 10)
	process := func(pid int, host string) *trace.RunInfo {
		return &trace.RunInfo{Processes: []trace.ProcessInfo{{PID: pid, Host: host}}}
	}
	for _, c := range []struct {
		name, want string
		info       *trace.RunInfo
		cut        bool
	}{
		{"finished", trace.EndedDone, info(trace.EndedDone), false},
		{"stuck", trace.EndedStuck, info(trace.EndedStuck), false},
		{"no run.json, files with their ends", trace.EndedDone, nil, false},
		{"its process is gone", live.StateKilled, process(1<<22, host), true},
		{"its process is there", live.StateLive, process(os.Getpid(), host), true},
		{"elsewhere, heard of just now", live.StateLive, process(1, "another"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a.trace")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(dir, "run.json")); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if c.info != nil {
				if err := trace.WriteRunInfo(dir, c.info); err != nil {
					t.Fatal(err)
				}
			}
			if c.cut {
				file := filepath.Join(dir, tracefile.FileName(1))
				st, err := os.Stat(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(file, st.Size()-16); err != nil {
					t.Fatal(err)
				}
			}
			r, err := live.Open(dir, live.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if st, _ := r.Status(); st.State != c.want {
				t.Errorf("state %q, want %q", st.State, c.want)
			}
		})
	}
}

// TestNothing: what is no trace is an error, and what has nothing in it yet is waited for.
func TestNothing(t *testing.T) {
	if _, err := live.Open(filepath.Join(t.TempDir(), "not there"), live.Options{}); err == nil {
		t.Error("a folder that is not there was opened")
	}
	r, err := live.Open(t.TempDir(), live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Snapshot(context.Background()); err == nil {
		t.Error("there is a snapshot of nothing")
	}
}
