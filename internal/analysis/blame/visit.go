package blame

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// blamer is a computation in progress.
type blamer struct {
	m          *model.Model
	g          procs.Group
	opt        Options
	look       slou.Lookup
	own        [2]int // executions of this process
	executions int64  // of all
	many       int64  // workers of all nodes, counted once
	has        factors
	scratch    *memory.Spill // of what is kept until the end; nil: ordinary memory
	workers    []workerPieces
	names      waitNames
	first      []int          // by node: the number of its first worker among all
	pieces     [][]piece      // by number of a worker: those of workers
	within     model.Interval // what counts
	dfWait     []int64        // by DF: L while it was on a link; added to by several goroutines
}

// factors tells which are known.
type factors struct{ U, S, L, O bool }

// workerSums is what one worker's pieces add up to.
type workerSums struct {
	*chaser
	*sums
	longest top[wait]
}

type nameKey struct {
	Name uint32
	Code int32 // of the producer, -1 not known
}

type codeSum struct {
	Count, Useful int64
	Parts         [slou.PartCount]int64
}

// visit goes through the pieces of all workers, several at once.
func (b *blamer) visit(ctx context.Context) ([]*workerSums, error) {
	all := 0
	for i := range b.m.Nodes {
		b.first = append(b.first, all)
		all += len(b.m.Nodes[i].Workers)
	}
	b.pieces = make([][]piece, all)
	for _, w := range b.workers {
		b.pieces[b.first[w.Node]+w.Worker] = w.Pieces
	}
	near := make([][]uint32, procs.Lanes(0, len(b.workers))) // by lane
	if b.has.L {
		b.dfWait = memory.Make[int64](b.scratch, b.m.DFs())
	}
	workers := make([]*workerSums, len(b.workers))
	err := procs.Each(ctx, 0, len(workers), func(lane, i int) (err error) {
		if near[lane] == nil {
			near[lane] = make([]uint32, all)
		}
		workers[i], err = b.worker(ctx, i, near[lane])
		return err
	})
	if err != nil {
		return nil, err
	}
	longest := top[wait]{n: b.opt.Waits, cmp: compareWaits}
	for _, s := range workers {
		for _, x := range s.longest.list {
			longest.add(x)
		}
	}
	for i := range longest.list { // telling them takes long
		workers[0].Waits = append(workers[0].Waits, b.story(&longest.list[i]))
	}
	return workers, nil
}

// worker goes through the pieces of one worker. near is for its chaser.
func (b *blamer) worker(ctx context.Context, i int, near []uint32) (*workerSums, error) {
	m := b.m
	w := b.part(&b.workers[i])
	s := &workerSums{newChaser(b, near), b.newSums(), top[wait]{n: b.opt.Waits, cmp: compareWaits}}
	s.Tree = s.tree
	if b.opt.Waits < 0 || !b.has.S || !b.has.L || !b.has.O {
		s.longest.n = 0
	}
	ref := &m.Nodes[w.Node].Workers[w.Worker]
	budget := b.budget(w.Pieces)
	next := ref.First // the execution that starts next
	for e := ref.First; e < ref.End; e++ {
		if cf := m.ExecCF[e]; m.Atomic(cf) && b.ran(ref, e) {
			s.Codes[m.CodeOf(cf)].Count++
		}
	}
	for k := 0; k < len(w.Pieces); k++ {
		if k&(1<<12-1) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p := &w.Pieces[k]
		switch {
		case p.Factor == slou.FactorS && b.has.S:
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
			s.follow(w.Pieces[k:end], start, budget)
			k = end - 1
		case p.Factor == slou.FactorL && b.has.L:
			s.onLink(p)
		case p.Factor == slou.FactorU:
			s.Codes[m.CodeOf(p.Consumer)].Useful += p.To - p.From
		case p.Factor == slou.FactorO:
			if activityOf[p.Part] != Running {
				s.Codes[m.CodeOf(p.Consumer)].Parts[p.Part] += p.To - p.From
			}
		}
	}
	s.findWaits(w)
	return s, nil
}

// part is what a worker has within the part of the run that counts.
func (b *blamer) part(w *workerPieces) *workerPieces {
	if b.opt.Within == nil {
		return w
	}
	first := sort.Search(len(w.Pieces), func(i int) bool { return w.Pieces[i].To > b.within.From })
	end := first + sort.Search(len(w.Pieces)-first,
		func(i int) bool { return w.Pieces[first+i].From >= b.within.To })
	out := &workerPieces{Node: w.Node, Worker: w.Worker, Pieces: slices.Clone(w.Pieces[first:end])}
	for i := range out.Pieces {
		p := &out.Pieces[i]
		p.From, p.To = max(p.From, b.within.From), min(p.To, b.within.To)
	}
	return out
}

// ran tells whether an execution took place there.
func (b *blamer) ran(w *model.Worker, e int) bool {
	v := b.m.Occupied(w, e)
	return slou.Shares(b.within, v.From, v.To)
}

// wholeWait gives the end of the pieces from k on that are S with the same producer and consumer, and W and
// losses between them.
func wholeWait(list []piece, k int) int {
	p, end := &list[k], k+1
	for j := end; j < len(list); j++ {
		switch q := &list[j]; {
		case q.Factor == slou.FactorS && q.Producer == p.Producer && q.Consumer == p.Consumer && q.DF == p.DF:
			end = j + 1
		case !q.Factor.Info().CutOut:
			return end
		}
	}
	return end
}

func (s *workerSums) onLink(p *piece) {
	ns := p.To - p.From
	link := p.Link()
	flowOf(s.Links, link.From, link.To).WaitNS += ns
	key := nameKey{s.m.DFName[p.DF], -1}
	if p.Producer != 0 {
		key.Code = int32(s.m.CodeOf(p.Producer))
	}
	n := s.sentOf(s.Names, key)
	n.WaitNS += ns
	n.Waits++
	atomic.AddInt64(&s.dfWait[p.DF], ns)
}

// findWaits finds the longest waits of a worker: neighbouring pieces without useful work for the same CF.
func (s *workerSums) findWaits(w *workerPieces) {
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
func waits(p *piece) bool {
	return p.Factor != slou.FactorU && p.Factor != slou.FactorLoss && !p.Part.Info().Inside
}

// wait is neighbouring pieces of one worker.
type wait struct {
	node, worker int
	from, to     int64
	consumer     model.CF
	ns           [slou.FactorLoss + 1]int64
	pieces       []piece
}

func compareWaits(a, b *wait) int {
	return cmp.Or(cmp.Compare(b.to-b.from, a.to-a.from), cmp.Compare(a.from, b.from),
		cmp.Compare(a.node, b.node), cmp.Compare(a.worker, b.worker))
}
