package counters_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// randomScript makes a run of everything that properties are made of. Where harmed, it makes little sense.
func randomScript(t *rapid.T, harmed, drifting bool) *script {
	run := sloutest.Random(t)
	switch rapid.IntRange(0, 5).Draw(t, "end") {
	case 0:
		run.Kill(t)
	case 1:
		run.Stick(t)
	default:
		run.Ended = "done"
	}
	if harmed {
		run.Harm(t)
	}
	s := &script{nodes: run.Nodes}
	text, events := run.Text(), run.EventText()
	s.header = strings.TrimSuffix(text, events)
	n := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "n") }
	lines := strings.SplitAfter(events, "\n")
	for i, e := range run.Events {
		what := strings.SplitN(strings.TrimSuffix(lines[i], "\n"), " ", 4)[3]
		if e.Kind == "CFEvents.onCreated" && n(0, 9) == 0 {
			what = strings.Replace(what, "indices=", fmt.Sprintf("weight=%d.5 indices=", n(0, 3)), 1)
		}
		s.lines = append(s.lines, line{e.Time, e.Node, e.Stream, what})
	}
	end := int64(0)
	for _, l := range s.lines {
		end = max(end, l.time)
	}
	add := func(at int64, node int, format string, args ...any) {
		s.lines = append(s.lines, line{at, node, []int{0, sloutest.System, 11}[n(0, 2)],
			fmt.Sprintf(format, args...)})
	}
	at := func(lo int64) int64 { return rapid.Int64Range(min(lo, end), end).Draw(t, "t") }
	node := func() int { return n(0, run.Nodes-1) }
	if run.DFs > 0 {
		for range n(0, 25) {
			df, where, from := n(1, run.DFs), node(), at(0)
			add(from, where, "DFEvents.onStored df=%d size=8", df)
			if n(0, 5) > 0 {
				add(at(from), where, "DFEvents.onDropped df=%d size=8", df)
			}
		}
		for range n(0, 6) {
			add(at(0), node(), "DFEvents.onDestroy df=%d size=8 reason=expired", n(1, run.DFs))
		}
		for range n(0, 3) * n(0, 1) {
			add(at(0), node(), "DFEvents.onCreate df=%d size=%d cf=-", n(1, run.DFs), n(0, 100))
		}
	}
	for where := range run.Nodes {
		for range n(0, 5) {
			s.lines = append(s.lines, line{at(0), where, 12,
				fmt.Sprintf("GlobalEvents.onReadyQueue length=%d", n(0, 9))})
		}
		for range n(0, 5) {
			s.lines = append(s.lines, line{at(0), where, 12,
				fmt.Sprintf("GlobalEvents.onSendQueue peer=%d length=%d", node(), n(0, 9))})
		}
		for range n(0, 5) {
			add(at(0), where, "GlobalEvents.onRelations inner=%d outer=%d", n(-5, 9), n(-5, 9))
		}
	}
	slices.SortStableFunc(s.lines, func(a, b line) int {
		if harmed {
			return 0
		}
		return int(a.time - b.time)
	})
	if drifting {
		for where := 1; where < run.Nodes; where++ {
			last := int64(0)
			for range n(1, 4) {
				// Its clock may run backwards on the common one.
				i := n(0, len(s.lines)-1)
				if last = max(last, s.lines[i].time); n(0, 3) == 0 {
					last = s.lines[i].time
				}
				s.lines = slices.Insert(s.lines, i,
					line{last, where, 13, fmt.Sprintf("GlobalEvents.onClockSync offset=%d error=1",
						n(-30, 30))})
			}
		}
	}
	return s
}

// deliver gives the streams of a run to a Live in random pieces and order, and compares it with the model of
// what has been delivered.
func deliver(t *rapid.T, s *script, checks int) {
	whole := open(t, s.text(nil))
	defer whole.close()
	live := counters.NewLive(counters.LiveOptions{})
	live.Info(whole.r.Run())
	streams := whole.streams(t)
	var keys [][2]int
	total := 0
	for k, b := range streams {
		keys = append(keys, k)
		total += b.N
	}
	slices.SortFunc(keys, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	done := map[[2]int]int{}
	piece := rapid.IntRange(1, 12).Draw(t, "piece")
	given, next := 0, rapid.IntRange(0, total).Draw(t, "check")
	for len(keys) > 0 {
		i := rapid.IntRange(0, len(keys)-1).Draw(t, "stream")
		k := keys[i]
		b := streams[k]
		to := min(b.N, done[k]+rapid.IntRange(1, piece).Draw(t, "count"))
		if to > done[k] {
			live.Add(whole.r.Defs(b.Node), part(b, done[k], to))
		}
		given += to - done[k]
		if done[k] = to; to == b.N {
			keys = slices.Delete(keys, i, i+1)
		}
		if len(keys) == 0 || given >= next && checks > 0 {
			checks--
			next = rapid.IntRange(given, total).Draw(t, "check")
			met := map[[2]int]int{}
			text := s.text(func(i int) bool {
				k := [2]int{s.lines[i].node, s.lines[i].stream}
				met[k]++
				return met[k] <= done[k]
			})
			so := open(t, text)
			err := sameSet(t, live, so.set(t), so.m.Wall())
			so.close()
			if err != nil {
				t.Fatalf("%d of %d events delivered: %v\n%s", given, total, err, text)
			}
		}
	}
	if live.Late() != 0 {
		t.Fatalf("%d events were too late", live.Late())
	}
}

// TestLive delivers sensible runs.
func TestLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { deliver(t, randomScript(t, false, false), 3) })
}

// TestLiveDamaged delivers runs that make no sense.
func TestLiveDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { deliver(t, randomScript(t, true, false), 3) })
}

// TestLiveClocks delivers runs of nodes whose clocks are compared again and again, the results of which come
// late.
func TestLiveClocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { deliver(t, randomScript(t, false, true), 3) })
}
