package blame_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/blame"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestBruteForce gives every nanosecond of S to an activity by asking for that nanosecond alone, from the
// definition: no intervals, no positions, no searching.
func TestBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		switch rapid.IntRange(0, 4).Draw(t, "end") {
		case 0:
			r.Kill(t)
		case 1:
			r.Stick(t)
		}
		if rapid.Bool().Draw(t, "waits") {
			r.AddWaits(t)
		}
		m := sloutest.Build(t, r.Text())
		opt := blame.Options{Rule: slou.Rule(rapid.IntRange(0, int(slou.RuleSource)).Draw(t, "rule")),
			Depth: rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "depth")}
		s := slou.Options{Rule: opt.Rule}
		pieces, err := slou.Pieces(context.Background(), m, s, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		res := compute(t, m, opt)
		agree(t, m, res, opt)
		if res.S == nil {
			return
		}
		b := &brute{m: m, opt: opt, look: slou.NewLookup(m, opt.Rule), pieces: pieces,
			sums: map[string]int64{}}
		b.all()
		got := map[string]int64{}
		flat(got, "", res.S.Chains)
		if diff := cmp.Diff(b.sums, got); diff != "" {
			t.Fatalf("(-brute force +got):\n%s\n%s", diff, r.EventText())
		}
	})
}

// TestHarmed: what is said of a trace that makes no sense adds up, too.
func TestHarmed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		r.AddWaits(t)
		r.Harm(t)
		m := sloutest.Build(t, r.Text())
		opt := blame.Options{Depth: rapid.IntRange(1, 5).Draw(t, "depth"), Waits: 5}
		agree(t, m, compute(t, m, opt), opt)
	})
}

// agree checks that everything adds up and is in order.
func agree(t *rapid.T, m *model.Model, res *blame.Result, opt blame.Options) {
	s, err := slou.Compute(context.Background(), m, slou.Options{Rule: opt.Rule},
		procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	if f := s.Factors; (res.S == nil) != (f.S == nil) || (res.L == nil) != (f.L == nil) ||
		(res.O == nil) != (f.O == nil || f.U == nil) {
		t.Fatalf("not null, or null, as the factors are")
	}
	if res.S != nil {
		sums, roots := map[string]int64{}, map[string]int64{}
		var chains, total int64
		for _, c := range res.S.Chains {
			chains += c.NS
		}
		flat(sums, "", res.S.Chains)
		checkTree(t, res.S.Chains, opt.Depth, nil)
		for k, ns := range sums {
			total += ns
			roots[root(k)] += ns
		}
		if chains != s.Factors.S.NS || total != chains {
			t.Errorf("S is %d, the chains have %d, all in them %d", s.Factors.S.NS, chains, total)
		}
		for _, r := range res.S.Roots {
			roots[r.Code+" "+r.Doing.String()] -= r.NS
		}
		for k, ns := range roots {
			if ns != 0 {
				t.Errorf("root %s: the tree has %d more", k, ns)
			}
		}
	}
	if res.L != nil {
		var links, names, worst, bytes int64
		for _, l := range res.L.Links {
			links += l.WaitNS
			bytes += l.Bytes
			if l.BusyNS > l.FlightNS || l.ShortestNS > l.MeanNS || l.Bandwidth > l.Peak*(1+1e-9) ||
				l.Messages != l.DFs+l.CFs+l.Requests {
				t.Errorf("link %+v", l)
			}
		}
		for _, n := range res.L.Names {
			names += n.WaitNS
		}
		for _, c := range res.L.Worst {
			worst += c.WaitNS
		}
		if links != s.Factors.L.NS || names != links || worst > links || bytes != s.Messages.Bytes {
			t.Errorf("L is %d: links %d, names %d, single DFs %d; %d bytes of %d", s.Factors.L.NS, links,
				names, worst,
				bytes, s.Messages.Bytes)
		}
	}
	if o := res.O; o != nil {
		var each int64
		for _, g := range o.Fragments {
			each += g.OverheadNS
		}
		if o.NS+o.PreemptNS+o.ExtraNS != s.Factors.O.NS || each != o.NS {
			t.Errorf("O is %d: %d + %d + %d, code fragments %d", s.Factors.O.NS, o.NS, o.PreemptNS, o.ExtraNS,
				each)
		}
	}
	for i, w := range res.Waits {
		if w.SNS+w.LNS+w.ONS+w.WNS != w.NS || w.ToNS-w.FromNS != w.NS || w.NS <= 0 || w.Text == "" || i > 0 &&
			w.NS > res.Waits[i-1].NS {
			t.Errorf("wait %+v", w)
		}
	}
}

func checkTree(t *rapid.T, list []blame.Blamed, depth int, path []string) {
	for i := range list {
		b := &list[i]
		if depth == 0 || slices.Contains(path, b.Code) {
			t.Errorf("%s behind %v", b.Code, path)
		}
		ns := int64(0)
		for _, d := range b.Doing {
			ns += d.NS
		}
		for _, c := range b.Behind {
			ns += c.NS
		}
		if ns != b.NS || b.NS < 0 {
			t.Errorf("%s has %d, its parts %d", b.Code, b.NS, ns)
		}
		checkTree(t, b.Behind, depth-1, append(path, b.Code))
	}
}

// flat adds up a tree as lines "a<b<c running".
func flat(sums map[string]int64, path string, list []blame.Blamed) {
	for _, b := range list {
		p := path + "<" + b.Code
		for _, d := range b.Doing {
			sums[p+" "+d.String()] += d.NS
		}
		flat(sums, p, b.Behind)
	}
}

// root leaves of such a line the last code fragment and the activity.
func root(line string) string {
	for i := len(line) - 1; ; i-- {
		if line[i] == '<' {
			return line[i+1:]
		}
	}
}

type brute struct {
	m      *model.Model
	opt    blame.Options
	look   slou.Lookup
	pieces []slou.WorkerPieces
	sums   map[string]int64
}

func (b *brute) all() {
	for _, w := range b.pieces {
		for i, p := range w.Pieces {
			start, waited := b.m.End, p.To
			if p.Consumer != 0 {
				start = b.starts(w, p.Consumer, p.To)
			}
			for _, q := range w.Pieces[i:] { // in the tail the same CF may be waited for in several pieces
				if q.Factor == slou.FactorS && q.Producer == p.Producer {
					waited = q.To
				} else if q.Factor != slou.FactorW && q.Factor != slou.FactorLoss {
					break
				}
			}
			for t := p.From; t < p.To && p.Factor == slou.FactorS; t++ {
				b.at(t, p.Producer, p.DF, start, waited, nil)
			}
		}
	}
	maps.DeleteFunc(b.sums, func(_ string, ns int64) bool { return ns == 0 })
}

// starts gives the first start of a CF on a worker that is not before t.
func (b *brute) starts(w slou.WorkerPieces, cf model.CF, t int64) int64 {
	ref := b.m.Nodes[w.Node].Workers[w.Worker]
	for e := ref.First; e < ref.End; e++ {
		if b.m.ExecCF[e] == cf && b.m.ExecStart[e] >= t {
			return b.m.ExecStart[e]
		}
	}
	return b.m.End
}

// at gives the nanosecond after t to an activity of the producer of a DF that something started at start
// needed; without a DF, of the CF the run waited for around waited.
func (b *brute) at(t int64, cf model.CF, df model.DF, start, waited int64, path []string) {
	m := b.m
	code := ""
	if cf != 0 {
		code = m.Codes[m.CodeOf(cf)].Name
	}
	if i := slices.Index(path, code); i >= 0 {
		path = path[:i+1]
	} else if len(path) == b.opt.Depth {
		b.take(path, "further")
		return
	} else {
		path = append(slices.Clip(path), code)
	}
	until := waited
	if df != 0 {
		if s := b.look.Made(df, start); s.Known {
			until = s.End
		}
	}
	e, ok := m.ExecutionAt(cf, until)
	if !ok && cf != 0 && df == 0 && m.ExecOf[cf] != 0 {
		e, ok = int(m.ExecOf[cf])-1, true
	}
	if !ok {
		b.take(path, "unknown")
		return
	}
	end := m.ExecEnd[e]
	if end == model.None {
		end = m.End
	}
	id, isWorker := m.WorkerIDOf(e)
	switch from := m.ExecStart[e]; {
	case t >= end:
		b.take(path, "ended")
	case t >= from && !m.Atomic(cf):
		b.take(path, "running")
	case t >= from:
		switch p := b.piece(id, t); {
		case p.Factor == slou.FactorW:
			b.take(path, "waiting for "+p.Name)
		case p.Factor == slou.FactorLoss:
			b.take(path, "lost")
		case p.Part == slou.PartPreempt:
			b.take(path, "preempted")
		default:
			b.take(path, "running")
		}
	default:
		steps := slou.Divide(b.look, slou.Gap{Node: int32(id.Node), CF: cf, Execution: e, A: t, D: from},
			b.opt.Rule, nil)
		q := steps[len(steps)-1] // the earliest, which has t
		switch {
		case q.Factor == slou.FactorS:
			b.at(t, q.Producer, q.DF, from, waited, path)
		case q.Factor == slou.FactorL:
			b.take(path, "link "+q.Link.String())
		case q.Part == slou.PartDispatch && isWorker:
			switch p := b.piece(id, t); {
			case p.Factor == slou.FactorLoss:
				b.take(path, "lost")
			case p.Factor == slou.FactorU || p.Part == slou.PartPreempt || p.Factor == slou.FactorW &&
				p.Consumer != 0:
				b.take(path, "queued behind "+m.Codes[m.CodeOf(p.Consumer)].Name)
			default:
				b.take(path, "dispatch")
			}
		default:
			b.take(path, q.Part.String())
		}
	}
}

func (b *brute) take(path []string, what string) {
	key := ""
	for _, p := range path {
		key += "<" + p
	}
	b.sums[key+" "+what]++
}

func (b *brute) piece(id model.WorkerID, t int64) slou.Piece {
	for _, w := range b.pieces {
		if w.Node != id.Node || w.Worker != id.Worker {
			continue
		}
		for _, p := range w.Pieces {
			if p.From <= t && t < p.To {
				return p
			}
		}
	}
	panic(fmt.Sprintf("no piece of worker %v at %d", id, t))
}

// TestBusy: the time a link is busy, and its bandwidth, against a count by the nanosecond.
func TestBusy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := sloutest.Build(t, sloutest.Random(t).Text())
		res := compute(t, m, blame.Options{})
		if res.L == nil {
			return
		}
		busy := map[string]map[int64]bool{}
		bytes := map[string]int64{}
		for _, list := range [][]model.Message{m.DFMessages, m.Requests, m.Moves} {
			for _, g := range list {
				if g.Sent == model.None || g.Received == model.None {
					continue
				}
				l := slou.Link{From: g.From, To: g.To}.String()
				if busy[l] == nil {
					busy[l] = map[int64]bool{}
				}
				bytes[l] += g.Bytes
				for at := g.Sent; at < g.Received; at++ {
					busy[l][at] = true
				}
			}
		}
		for _, l := range res.L.Links {
			ns := int64(len(busy[l.Link]))
			if want := float64(bytes[l.Link]) / float64(ns) * 1e9; l.BusyNS != ns ||
				l.Half == 0 && l.Bandwidth != want {
				t.Errorf("%s is busy for %d of %d, %v of %v", l.Link, l.BusyNS, len(busy[l.Link]),
					l.Bandwidth, want)
			}
			delete(busy, l.Link)
		}
		if len(busy) > 0 {
			t.Errorf("links not told of: %v", busy)
		}
	})
}
