package slou_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/slou"
)

// The rule once more, as slow and as plain as possible: it searches the list of events for each fact and gives
// each nanosecond its name.

type brute struct {
	*randomRun
	dataOnly bool
}

// find gives the last event by t that fits.
func (b brute) find(t int64, fits func(event) bool) (best event, ok bool) {
	for _, e := range b.events {
		if e.t-e.late <= t && fits(e) && (!ok || e.t-e.late >= best.t-best.late) {
			best, ok = e, true
		}
	}
	return best, ok
}

const always = int64(1 << 60)

func (b brute) event(kind, cf string) (event, bool) {
	return b.find(always, func(e event) bool { return e.kind == kind && e.cf == cf })
}

func (b brute) atomic(cf string) bool {
	c, _ := b.event("CFEvents.onCreated", cf)
	return c.code <= atomicCodes
}

// produced is when an input was there for those who need it: the end of the atomic CF that made it.
func (b brute) produced(df int) int64 {
	made, _ := b.find(always, func(e event) bool { return e.kind == "DFEvents.onCreate" && e.df == df })
	if !b.atomic(made.cf) {
		return made.t
	}
	end, _ := b.event("CFEvents.onFinished", made.cf)
	return end.t
}

// input is an input of a CF with the node at which it counts.
type input struct{ df, node int }

// inputs are those of a CF and, for all its ancestors, those of the execution that created the next one.
func (b brute) inputs(cf string, exec int) (list []input) {
	start, _ := b.find(always, func(e event) bool { return e.kind == "CFEvents.onStarted" && e.cf == cf && e.exec == exec })
	for _, df := range start.inputs {
		list = append(list, input{df, start.node})
	}
	if c, _ := b.event("CFEvents.onCreated", cf); c.parent != "" && !b.dataOnly {
		list = append(list, b.inputs(c.parent, c.exec)...)
	}
	return list
}

// mark is the start of a stretch of the walk, which reaches to the mark before.
type mark struct {
	t    int64
	name string
}

// walk gives the marks from the start of a CF backwards; the last one reaches back for ever.
func (b brute) walk(cf string, node int, d int64) []mark {
	ready, _ := b.find(d, func(e event) bool { return e.kind == "CFEvents.onReady" && e.cf == cf && e.node == node })
	r := ready.t - ready.late
	return append([]mark{{r, "O.dispatch"}}, b.beforeReady(cf, node, r)...)
}

func (b brute) receipt(df, node int, t int64) (event, bool) {
	return b.find(t, func(e event) bool { return e.kind == "DFEvents.onReceived" && e.df == df && e.node == node })
}

func (b brute) came(cf string, node int, t int64) (event, bool) {
	return b.find(t, func(e event) bool { return e.kind == "CFEvents.onReceived" && e.cf == cf && e.node == node })
}

func (b brute) beforeReady(cf string, node int, ready int64) []mark {
	created, _ := b.event("CFEvents.onCreated", cf)
	came, moved := b.came(cf, node, ready)
	start, _ := b.event("CFEvents.onStarted", cf)
	var last event
	have := false
	for _, in := range b.inputs(cf, 1) {
		own := slices.Contains(start.inputs, in.df)
		if !own && (moved || in.node != node) {
			continue // a control input that was taken elsewhere
		}
		if e, ok := b.receipt(in.df, node, ready); ok && (!have || e.t > last.t) {
			last, have = e, true
		}
	}
	switch {
	case moved && (!have || came.t >= last.t):
		return append([]mark{{came.t, "O.deliver"}}, b.beforeCame(cf, came)...)
	case have && !moved && created.t > last.t:
		return append([]mark{{created.t, "O.deliver"}, {last.t, "O.create"}}, b.beforeReceipt(cf, node, ready, last)...)
	case have:
		return append([]mark{{last.t, "O.deliver"}}, b.beforeReceipt(cf, node, ready, last)...)
	}
	return []mark{{created.t, "O.deliver"}, {-always, "O.create"}}
}

func (b brute) beforeCame(cf string, came event) []mark {
	sent, _ := b.find(came.t, func(e event) bool {
		return (e.kind == "CFEvents.onMigrated" || e.kind == "CFEvents.onStolen") && e.cf == cf && e.node == came.peer
	})
	marks := []mark{{sent.t, fmt.Sprintf("L.%d->%d", sent.node, came.node)}}
	if sent.kind == "CFEvents.onStolen" {
		ready, _ := b.find(sent.t, func(e event) bool { return e.kind == "CFEvents.onReady" && e.cf == cf && e.node == sent.node })
		return append(append(marks, mark{ready.t, "O.steal"}), b.beforeReady(cf, sent.node, ready.t)...)
	}
	if before, ok := b.came(cf, sent.node, sent.t); ok {
		return append(append(marks, mark{before.t, "O.send"}), b.beforeCame(cf, before)...)
	}
	created, _ := b.event("CFEvents.onCreated", cf)
	return append(marks, mark{created.t, "O.send"}, mark{-always, "O.create"})
}

// beforeReceipt goes back from the receipt of a DF; home is where the CF was ready.
func (b brute) beforeReceipt(cf string, home int, ready int64, got event) []mark {
	sent, _ := b.find(got.t, func(e event) bool { return e.kind == "DFEvents.onSent" && e.number == got.number })
	marks := []mark{{sent.t, fmt.Sprintf("L.%d->%d", sent.node, got.node)}}
	before, relayed := b.receipt(got.df, sent.node, sent.t)
	made, isMade := b.find(sent.t, func(e event) bool { return e.kind == "DFEvents.onCreate" && e.df == got.df && e.node == sent.node })
	came := max(before.t*int64(boolInt(relayed)), made.t*int64(boolInt(isMade)))
	if sent.req != "" {
		q, _ := b.find(sent.t, func(e event) bool { return e.kind == "DFEvents.onRequestReceived" && e.req == sent.req })
		if q.t > came {
			asked, _ := b.find(q.t, func(e event) bool { return e.kind == "DFEvents.onRequested" && e.req == sent.req })
			marks = append(marks, mark{q.t, "O.send"}, mark{asked.t, fmt.Sprintf("L.%d->%d", asked.node, sent.node)})
			if c, ok := b.came(cf, home, ready); ok {
				return append(append(marks, mark{c.t, "O.request"}), b.beforeCame(cf, c)...)
			}
			created, _ := b.event("CFEvents.onCreated", cf)
			return append(marks, mark{created.t, "O.request"}, mark{-always, "O.create"})
		}
	}
	if relayed && !isMade {
		return append(append(marks, mark{before.t, "O.send"}), b.beforeReceipt(cf, home, ready, before)...)
	}
	return append(marks, mark{-always, "O.send"})
}

func boolInt(v bool) int {
	if v {
		return 1
	}
	return 0
}

// starving names the part of S at an instant.
func (b brute) starving(node int, t int64) string {
	name := "S.nowhere"
	for _, e := range b.events {
		if e.kind != "CFEvents.onReady" || !b.atomic(e.cf) || e.t-e.late > t {
			continue
		}
		gone := slices.ContainsFunc(b.events, func(g event) bool {
			leaves := g.kind == "CFEvents.onStarted" || g.kind == "CFEvents.onMigrated" || g.kind == "CFEvents.onStolen"
			return leaves && g.cf == e.cf && g.node == e.node && g.t >= e.t-e.late && g.t <= t
		})
		if gone {
			continue
		}
		if e.node != node {
			return "S.elsewhere"
		}
		name = "S.here"
	}
	return name
}

// worker names every nanosecond of a worker's time.
func (b brute) worker(node, stream int, end int64) []string {
	names := make([]string, end)
	a := int64(0)
	for _, e := range b.events {
		if e.kind != "CFEvents.onStarted" || e.node != node || e.stream != stream || !b.atomic(e.cf) {
			continue
		}
		finish, _ := b.event("CFEvents.onFinished", e.cf)
		borders := b.walk(e.cf, node, e.t)
		last, any := a, false
		for _, in := range b.inputs(e.cf, 1) {
			last, any = max(last, b.produced(in.df)), true
		}
		if !any {
			last = a
		}
		for t := a; t < e.t; t++ {
			if t < last {
				names[t] = b.starving(node, t)
				continue
			}
			i := slices.IndexFunc(borders, func(m mark) bool { return t >= m.t })
			names[t] = borders[i].name
		}
		for t := e.t; t < finish.t; t++ {
			names[t] = "U"
			if finish.cpu >= 0 && t-e.t >= finish.cpu {
				names[t] = "O.preempt"
			}
		}
		a = finish.t
	}
	for t := a; t < end; t++ {
		names[t] = b.starving(node, t)
	}
	return names
}

func pieceName(p slou.Piece) string {
	switch {
	case p.Factor == slou.FactorL:
		return "L." + p.Link.String()
	case p.Part != slou.PartNone:
		return p.Factor.String() + "." + p.Part.String()
	}
	return p.Factor.String()
}

// TestBruteForce compares the rule with the plain one on random runs.
func TestBruteForce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		run := newRandomRun(rt)
		text := run.text()
		m := build(t, text)
		for _, dataOnly := range []bool{false, true} {
			opt := slou.Options{DataInputsOnly: dataOnly}
			pieces, err := slou.Pieces(context.Background(), m, opt)
			if err != nil {
				rt.Fatal(err)
			}
			agree(rt, m, opt, pieces)
			for _, w := range pieces {
				var got []string
				for _, p := range w.Pieces {
					for range p.To - p.From {
						got = append(got, pieceName(p))
					}
				}
				want := brute{run, dataOnly}.worker(w.Node, w.Worker, m.End)
				for i := range want {
					if got[i] != want[i] {
						rt.Fatalf("worker %d.%d at %d (data inputs only: %v): %s, the plain rule says %s\n%s\n%s", w.Node, w.Worker, i, dataOnly, got[i], want[i], shorten(text), pieceText(w))
					}
				}
			}
		}
	})
}

func pieceText(w slou.WorkerPieces) (s string) {
	for _, p := range w.Pieces {
		s += fmt.Sprintf("%d.%d %d %d %s\n", w.Node, w.Worker, p.From, p.To, pieceName(p))
	}
	return s
}

// shorten leaves the definitions out.
func shorten(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// TestAbsurd makes nonsense of random runs: events vanish, clocks jump and run backwards, ids are mixed up. The
// parts must add up all the same, and no piece may be empty or turned round.
func TestAbsurd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		run := newRandomRun(rt)
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		harm := rapid.IntRange(1, 60).Draw(rt, "harm")
		odd := func() bool { return rnd.IntN(100) < harm }
		rare := func() bool { return rnd.IntN(10000) < harm*harm }
		var out []event
		for _, e := range run.events {
			if rare() {
				continue
			}
			if odd() {
				e.t += int64(rnd.IntN(61) - 30)
			}
			other := run.events[rnd.IntN(len(run.events))]
			if rare() && other.cf != "" && e.cf != "" {
				e.cf = other.cf
			}
			if rare() {
				e.stream = rnd.IntN(3)
			}
			if rare() && e.parent != "" {
				e.parent = e.cf
			}
			if rare() && len(run.dfs) > 0 && e.df > 0 {
				e.df = 1 + rnd.IntN(len(run.dfs))
			}
			if rare() && other.number != "" && e.number != "" {
				e.number = other.number
			}
			out = append(out, e)
			if rare() {
				out = append(out, event{t: e.t, node: e.node, stream: e.stream, kind: []string{"SyncEvents.onWaitStarted", "SyncEvents.onWaitEnded",
					"GlobalEvents.onLost", "GlobalEvents.onIdle", "GlobalEvents.onBusy", "GlobalEvents.onProgramFinished"}[rnd.IntN(6)], late: e.t - int64(rnd.IntN(20))})
			}
			if rare() && e.cf != "" {
				out = append(out, event{t: e.t + int64(rnd.IntN(9)), node: e.node, stream: system, cf: e.cf, kind: []string{"CFEvents.onHeld", "CFEvents.onResumed"}[rnd.IntN(2)]})
			}
		}
		run.events = out
		text := run.text()
		defer func() {
			if rt.Failed() {
				rt.Log(shorten(text))
			}
		}()
		m := build(t, text)
		for _, dataOnly := range []bool{false, true} {
			opt := slou.Options{DataInputsOnly: dataOnly}
			pieces, err := slou.Pieces(context.Background(), m, opt)
			if err != nil {
				rt.Fatal(err)
			}
			agree(rt, m, opt, pieces)
		}
	})
}
