package slou_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/procs"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// The rule once more, as slow and as plain as possible: it searches the list of events for each fact and
// gives each nanosecond its name.

type brute struct {
	*sloutest.Run
	rule slou.Rule
}

// find gives the last event by t that fits.
func (b brute) find(t int64, fits func(sloutest.Event) bool) (best sloutest.Event, ok bool) {
	for _, e := range b.Events {
		if e.Time-e.Late <= t && fits(e) && (!ok || e.Time-e.Late >= best.Time-best.Late) {
			best, ok = e, true
		}
	}
	return best, ok
}

const always = int64(1 << 60)

func (b brute) last(kind, cf string) (sloutest.Event, bool) {
	return b.find(always, func(e sloutest.Event) bool { return e.Kind == kind && e.CF == cf })
}

func (b brute) atomic(cf string) bool {
	c, _ := b.last("CFEvents.onCreated", cf)
	return c.Code <= sloutest.AtomicCodes
}

// produced is when an input was there for those who need it: the end of the atomic CF that made it.
func (b brute) produced(df int) int64 {
	made, _ := b.find(always, func(e sloutest.Event) bool {
		return e.Kind == "DFEvents.onCreate" &&
			e.DF == df
	})
	if !b.atomic(made.CF) {
		return made.Time
	}
	end, _ := b.last("CFEvents.onFinished", made.CF)
	return end.Time
}

// input is an input of a CF with the node at which it counts.
type input struct{ df, node int }

// inputs are those of a CF and, for all its ancestors, those of the execution that created the next one.
func (b brute) inputs(cf string, exec int) (list []input) {
	start, _ := b.find(always, func(e sloutest.Event) bool {
		return e.Kind == "CFEvents.onStarted" && e.CF == cf && e.Execution == exec
	})
	for _, df := range start.Inputs {
		list = append(list, input{df, start.Node})
	}
	if c, _ := b.last("CFEvents.onCreated", cf); c.Parent != "" && b.rule == slou.RuleAll {
		list = append(list, b.inputs(c.Parent, c.Execution)...)
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
	ready, _ := b.find(d, func(e sloutest.Event) bool {
		return e.Kind == "CFEvents.onReady" && e.CF == cf && e.Node == node
	})
	r := ready.Time - ready.Late
	if b.rule == slou.RuleSource {
		return append([]mark{{r, "O.dispatch"}}, b.source(cf, node, r)...)
	}
	return append([]mark{{r, "O.dispatch"}}, b.beforeReady(cf, node, r)...)
}

// source is what the paper says of a gap, word for word: since the last input was received at the CF's
// process it is O, from when that was sent L, and before that O. Where nothing was received, all of it is O.
func (b brute) source(cf string, node int, ready int64) []mark {
	created, _ := b.last("CFEvents.onCreated", cf)
	var got sloutest.Event // of those at one time, that of the first input
	any := false
	for _, in := range b.inputs(cf, 1) {
		if e, ok := b.receipt(in.df, node, ready); ok && in.node == node && (!any || e.Time > got.Time) {
			got, any = e, true
		}
	}
	if !any {
		return []mark{{created.Time, "O.deliver"}, {-always, "O.create"}}
	}
	sent, _ := b.find(got.Time, func(e sloutest.Event) bool {
		return e.Kind == "DFEvents.onSent" && e.Message == got.Message
	})
	late := "O.deliver" // what the CF waited for after the receipt: that it was created
	var marks []mark
	if created.Time > got.Time {
		marks, late = append(marks, mark{created.Time, late}), "O.create"
	}
	return append(marks, mark{got.Time, late}, mark{sent.Time, fmt.Sprintf("L.%d->%d", sent.Node, node)},
		mark{-always, "O.send"})
}

func (b brute) receipt(df, node int, t int64) (sloutest.Event, bool) {
	return b.find(t, func(e sloutest.Event) bool {
		return e.Kind == "DFEvents.onReceived" && e.DF == df && e.Node == node
	})
}

func (b brute) came(cf string, node int, t int64) (sloutest.Event, bool) {
	return b.find(t, func(e sloutest.Event) bool {
		return e.Kind == "CFEvents.onReceived" && e.CF == cf && e.Node == node
	})
}

func (b brute) beforeReady(cf string, node int, ready int64) []mark {
	created, _ := b.last("CFEvents.onCreated", cf)
	came, moved := b.came(cf, node, ready)
	start, _ := b.last("CFEvents.onStarted", cf)
	var last sloutest.Event
	have := false
	for _, in := range b.inputs(cf, 1) {
		own := slices.Contains(start.Inputs, in.df)
		if !own && (moved || in.node != node) {
			continue // a control input that was taken elsewhere
		}
		if e, ok := b.receipt(in.df, node, ready); ok && (!have || e.Time > last.Time) {
			last, have = e, true
		}
	}
	switch {
	case moved && (!have || came.Time >= last.Time):
		return append([]mark{{came.Time, "O.deliver"}}, b.beforeCame(cf, came)...)
	case have && !moved && created.Time > last.Time:
		return append([]mark{{created.Time, "O.deliver"}, {last.Time, "O.create"}},
			b.beforeReceipt(cf, node, ready, last)...)
	case have:
		return append([]mark{{last.Time, "O.deliver"}}, b.beforeReceipt(cf, node, ready, last)...)
	}
	return []mark{{created.Time, "O.deliver"}, {-always, "O.create"}}
}

func (b brute) beforeCame(cf string, came sloutest.Event) []mark {
	sent, _ := b.find(came.Time, func(e sloutest.Event) bool {
		return (e.Kind == "CFEvents.onMigrated" || e.Kind == "CFEvents.onStolen") && e.CF == cf &&
			e.Node == came.Peer
	})
	marks := []mark{{sent.Time, fmt.Sprintf("L.%d->%d", sent.Node, came.Node)}}
	if sent.Kind == "CFEvents.onStolen" {
		ready, _ := b.find(sent.Time, func(e sloutest.Event) bool {
			return e.Kind == "CFEvents.onReady" && e.CF == cf && e.Node == sent.Node
		})
		return append(append(marks, mark{ready.Time, "O.steal"}), b.beforeReady(cf, sent.Node, ready.Time)...)
	}
	if before, ok := b.came(cf, sent.Node, sent.Time); ok {
		return append(append(marks, mark{before.Time, "O.send"}), b.beforeCame(cf, before)...)
	}
	created, _ := b.last("CFEvents.onCreated", cf)
	return append(marks, mark{created.Time, "O.send"}, mark{-always, "O.create"})
}

// beforeReceipt goes back from the receipt of a DF; home is where the CF was ready.
func (b brute) beforeReceipt(cf string, home int, ready int64, got sloutest.Event) []mark {
	sent, _ := b.find(got.Time, func(e sloutest.Event) bool {
		return e.Kind == "DFEvents.onSent" && e.Message == got.Message
	})
	marks := []mark{{sent.Time, fmt.Sprintf("L.%d->%d", sent.Node, got.Node)}}
	before, relayed := b.receipt(got.DF, sent.Node, sent.Time)
	made, isMade := b.find(sent.Time, func(e sloutest.Event) bool {
		return e.Kind == "DFEvents.onCreate" && e.DF == got.DF && e.Node == sent.Node
	})
	came := max(before.Time*int64(boolInt(relayed)), made.Time*int64(boolInt(isMade)))
	if sent.Request != "" {
		q, _ := b.find(sent.Time, func(e sloutest.Event) bool {
			return e.Kind == "DFEvents.onRequestReceived" && e.Request == sent.Request
		})
		if q.Time > came {
			asked, _ := b.find(q.Time, func(e sloutest.Event) bool {
				return e.Kind == "DFEvents.onRequested" && e.Request == sent.Request
			})
			marks = append(marks, mark{q.Time, "O.send"}, mark{asked.Time,
				fmt.Sprintf("L.%d->%d", asked.Node, sent.Node)})
			if c, ok := b.came(cf, home, ready); ok {
				return append(append(marks, mark{c.Time, "O.request"}), b.beforeCame(cf, c)...)
			}
			created, _ := b.last("CFEvents.onCreated", cf)
			return append(marks, mark{created.Time, "O.request"}, mark{-always, "O.create"})
		}
	}
	if relayed && !isMade {
		return append(append(marks, mark{before.Time, "O.send"}), b.beforeReceipt(cf, home, ready, before)...)
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
	for _, e := range b.Events {
		if e.Kind != "CFEvents.onReady" || !b.atomic(e.CF) || e.Time-e.Late > t {
			continue
		}
		gone := slices.ContainsFunc(b.Events, func(g sloutest.Event) bool {
			leaves := g.Kind == "CFEvents.onStarted" || g.Kind == "CFEvents.onMigrated" ||
				g.Kind == "CFEvents.onStolen"
			return leaves && g.CF == e.CF && g.Node == e.Node && g.Time >= e.Time-e.Late && g.Time <= t
		})
		if gone {
			continue
		}
		if e.Node != node {
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
	for _, e := range b.Events {
		if e.Kind != "CFEvents.onStarted" || e.Node != node || e.Stream != stream || !b.atomic(e.CF) {
			continue
		}
		finish, _ := b.last("CFEvents.onFinished", e.CF)
		borders := b.walk(e.CF, node, e.Time)
		last, any := a, false
		for _, in := range b.inputs(e.CF, 1) {
			last, any = max(last, b.produced(in.df)), true
		}
		if !any {
			last = a
		}
		for t := a; t < e.Time; t++ {
			if t < last {
				names[t] = b.starving(node, t)
				continue
			}
			i := slices.IndexFunc(borders, func(m mark) bool { return t >= m.t })
			names[t] = borders[i].name
		}
		for t := e.Time; t < finish.Time; t++ {
			names[t] = "U"
			if finish.CPU >= 0 && t-e.Time >= finish.CPU {
				names[t] = "O.preempt"
			}
		}
		a = finish.Time
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
		run := sloutest.Random(rt)
		text := run.Text()
		m := sloutest.Build(t, text)
		for _, rule := range []slou.Rule{slou.RuleAll, slou.RuleData, slou.RuleSource} {
			opt := slou.Options{Rule: rule}
			pieces, err := slou.Pieces(context.Background(), m, opt, procs.Alone())
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
				want := brute{run, rule}.worker(w.Node, w.Worker, m.End)
				for i := range want {
					if got[i] != want[i] {
						rt.Fatalf("worker %d.%d at %d (rule %d): %s, the plain rule says %s\n%s\n%s", w.Node,
							w.Worker, i, rule, got[i], want[i], run.EventText(), pieceText(w))
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

// TestAbsurd makes nonsense of random runs. The parts must add up all the same, and no piece may be empty or
// turned round.
func TestAbsurd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		run := sloutest.Random(rt)
		run.Harm(rt)
		defer func() {
			if rt.Failed() {
				rt.Log(run.EventText())
			}
		}()
		m := sloutest.Build(t, run.Text())
		for _, rule := range []slou.Rule{slou.RuleAll, slou.RuleData, slou.RuleSource} {
			opt := slou.Options{Rule: rule}
			pieces, err := slou.Pieces(context.Background(), m, opt, procs.Alone())
			if err != nil {
				rt.Fatal(err)
			}
			agree(rt, m, opt, pieces)
		}
	})
}
