package blame

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/slou"
)

// blamer is a computation in progress.
type blamer struct {
	m       *model.Model
	opt     Options
	look    slou.Lookup
	pieces  [][][]slou.Piece // by node and worker
	workers []*workerSums
	dfWait  []int64 // by DF: L while it was on a link; added to by several goroutines
}

// workerSums is what one worker's pieces add up to.
type workerSums struct {
	*chaser
	l       map[slou.Link]*linkWait
	names   map[nameKey]*linkWait
	codes   []codeSum // by code fragment
	longest top[wait]
}

type nameKey struct {
	name uint32
	code int32 // of the producer, -1 not known
}

type linkWait struct{ ns, count int64 }

type codeSum struct {
	count, useful int64
	parts         [Steal + 1]int64 // by activity
}

// visit goes through the pieces of all workers, several at once.
func (b *blamer) visit(ctx context.Context, f *slou.Factors) error {
	b.pieces = make([][][]slou.Piece, len(b.m.Nodes))
	for i := range b.opt.Pieces {
		w := &b.opt.Pieces[i]
		for len(b.pieces[w.Node]) <= w.Worker {
			b.pieces[w.Node] = append(b.pieces[w.Node], nil)
		}
		b.pieces[w.Node][w.Worker] = w.Pieces
	}
	if f.L != nil {
		b.dfWait = make([]int64, b.m.DFs())
	}
	b.workers = make([]*workerSums, len(b.opt.Pieces))
	parallel := b.opt.Parallel
	if parallel <= 0 {
		parallel = runtime.GOMAXPROCS(0)
	}
	errs := make([]error, parallel)
	var next atomic.Int64
	var wg sync.WaitGroup
	for lane := range min(parallel, len(b.workers)) {
		wg.Go(func() {
			for errs[lane] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(b.workers) {
					return
				}
				b.workers[i], errs[lane] = b.worker(ctx, i, f)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// worker goes through the pieces of one worker.
func (b *blamer) worker(ctx context.Context, i int, f *slou.Factors) (*workerSums, error) {
	m := b.m
	w := &b.opt.Pieces[i]
	s := &workerSums{chaser: newChaser(b, i), l: map[slou.Link]*linkWait{}, names: map[nameKey]*linkWait{},
		codes: make([]codeSum, len(m.Codes)), longest: top[wait]{n: b.opt.Waits, cmp: compareWaits}}
	if b.opt.Waits < 0 || f.S == nil || f.L == nil || f.O == nil {
		s.longest.n = 0
	}
	ref := &m.Nodes[w.Node].Workers[w.Worker]
	next := ref.First // the execution that starts next
	for e := ref.First; e < ref.End; e++ {
		if cf := m.ExecCF[e]; m.Atomic(cf) {
			s.codes[m.CodeOf(cf)].count++
		}
	}
	for k := 0; k < len(w.Pieces); k++ {
		if k&(1<<12-1) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p := &w.Pieces[k]
		switch {
		case p.Factor == slou.FactorS && f.S != nil:
			end := wholeWait(w.Pieces, k)
			start := m.End
			if p.Consumer != 0 {
				for next < ref.End && (m.ExecStart[next] < p.To || m.ExecCF[next] != p.Consumer) {
					next++
				}
				if next < ref.End {
					start = m.ExecStart[next]
				}
			}
			s.follow(w.Pieces[k:end], start)
			k = end - 1
		case p.Factor == slou.FactorL && f.L != nil:
			s.onLink(p)
		case p.Factor == slou.FactorU:
			s.codes[m.CodeOf(p.Consumer)].useful += p.To - p.From
		case p.Factor == slou.FactorO:
			if a := activityOf[p.Part]; a != Running {
				s.codes[m.CodeOf(p.Consumer)].parts[a] += p.To - p.From
			}
		}
	}
	s.findWaits(w)
	return s, nil
}

// wholeWait gives the end of the pieces from k on that are S with the same producer and consumer, and W and losses between
// them.
func wholeWait(list []slou.Piece, k int) int {
	p, end := &list[k], k+1
	for j := end; j < len(list); j++ {
		switch q := &list[j]; {
		case q.Factor == slou.FactorS && q.Producer == p.Producer && q.Consumer == p.Consumer && q.DF == p.DF:
			end = j + 1
		case q.Factor != slou.FactorW && q.Factor != slou.FactorLoss:
			return end
		}
	}
	return end
}

func (s *workerSums) onLink(p *slou.Piece) {
	ns := p.To - p.From
	add := func(w *linkWait) {
		w.ns += ns
		w.count++
	}
	l := s.l[p.Link]
	if l == nil {
		l = &linkWait{}
		s.l[p.Link] = l
	}
	add(l)
	key := nameKey{s.m.DFName[p.DF], -1}
	if p.Producer != 0 {
		key.code = int32(s.m.CodeOf(p.Producer))
	}
	n := s.names[key]
	if n == nil {
		n = &linkWait{}
		s.names[key] = n
	}
	add(n)
	atomic.AddInt64(&s.dfWait[p.DF], ns)
}

// starved puts the workers' trees together.
func (b *blamer) starved(want int64) (*Starved, error) {
	t := newTree(b.m)
	for _, w := range b.workers {
		t.join(w.tree)
	}
	out := &Starved{NS: want, Chains: t.list(0, b.place), Roots: t.roots(b.place)}
	var chains, roots int64
	for i := range out.Chains {
		chains += out.Chains[i].NS
	}
	for i := range out.Roots {
		roots += out.Roots[i].NS
	}
	if err := check("S", chains, want); err != nil {
		return nil, err
	}
	return out, check("S", roots, want)
}

// findWaits looks for the longest waits of a worker: neighbouring pieces without useful work before, or in, the same CF.
func (s *workerSums) findWaits(w *slou.WorkerPieces) {
	if s.longest.n <= 0 {
		return
	}
	list := w.Pieces
	for i := 0; i < len(list); {
		p := &list[i]
		if !waits(p) {
			i++
			continue
		}
		x := wait{node: w.Node, worker: w.Worker, from: p.From, consumer: p.Consumer}
		j := i
		for ; j < len(list) && waits(&list[j]) && list[j].Consumer == p.Consumer; j++ {
			x.ns[list[j].Factor] += list[j].To - list[j].From
			x.to = list[j].To
		}
		x.pieces = list[i:j]
		s.longest.add(x)
		i = j
	}
}

// waits tells whether a worker did nothing for its CFs.
func waits(p *slou.Piece) bool {
	return p.Factor != slou.FactorU && p.Factor != slou.FactorLoss && p.Part != slou.PartPreempt
}

// wait is neighbouring pieces of one worker.
type wait struct {
	node, worker int
	from, to     int64
	consumer     model.CF
	ns           [slou.FactorLoss + 1]int64
	pieces       []slou.Piece
}

func compareWaits(a, b *wait) int {
	if d := (b.to - b.from) - (a.to - a.from); d != 0 {
		return sign(d)
	}
	return slices.Compare([]int64{a.from, int64(a.node), int64(a.worker)}, []int64{b.from, int64(b.node), int64(b.worker)})
}

func sign(d int64) int {
	if d < 0 {
		return -1
	}
	return 1
}
