package fragments

import (
	"context"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// Sums are amounts of workers' time in an interval, in nanoseconds.
type Sums struct {
	Useful []int64             // by node
	Waited map[slou.Link]int64 // L by link
	before []slou.Lost         // by code fragment
	caused []slou.Caused       // by code fragment
}

func (x *Index) newSums() Sums {
	return Sums{make([]int64, len(x.m.Nodes)), map[slou.Link]int64{}, make([]slou.Lost, len(x.m.Codes)),
		make([]slou.Caused, len(x.m.Codes))}
}

// Sums adds up the time of all workers in an interval: nanoseconds since the start of the run, to not
// included. The result is not to be changed.
func (x *Index) Sums(from, to int64) Sums {
	if from <= 0 && to >= x.m.Wall() {
		return x.whole
	}
	return x.sum(from, to)
}

func (x *Index) sum(from, to int64) Sums {
	parts := make([]Sums, max(procs.Lanes(0, x.t.Lanes()), 1))
	for i := range parts {
		parts[i] = x.newSums()
	}
	_ = procs.Each(context.Background(), 0, x.t.Lanes(), func(worker, lane int) error {
		parts[worker].add(x, lane, from, to)
		return nil
	})
	sum := parts[0]
	for _, p := range parts[1:] {
		for n, ns := range p.Useful {
			sum.Useful[n] += ns
		}
		for link, ns := range p.Waited {
			sum.Waited[link] += ns
		}
		for code := range p.before {
			for _, f := range slou.LostFactors {
				sum.before[code][f] += p.before[code][f]
				sum.caused[code][f] += p.caused[code][f]
			}
		}
	}
	return sum
}

// add adds the time of a lane.
func (s *Sums) add(x *Index, lane int, from, to int64) {
	node, m := x.t.NodeOf(lane), x.m
	for p := range x.t.Pieces(lane, from, to) {
		ns := p.To - p.From
		switch p.Factor {
		case slou.FactorU:
			s.Useful[node] += ns
			continue
		case slou.FactorL:
			s.Waited[p.Link] += ns
		}
		if p.Factor >= slou.FactorLoss {
			continue
		}
		blamed := p.Producer
		if p.Consumer != 0 {
			s.before[m.CodeOf(p.Consumer)][p.Factor] += ns
		}
		if p.Factor == slou.FactorO {
			blamed = p.Consumer
		}
		if blamed != 0 && !p.Factor.Info().CutOut {
			s.caused[m.CodeOf(blamed)][p.Factor] += ns
		}
	}
}

// measure takes the useful time of each execution of a lane's atomic CFs, the length of those of structured
// ones, and what was lost before each CF.
func (x *Index) measure(lane int, w *model.Worker) {
	m := x.m
	for e := w.First; e < w.End; e++ {
		switch in := m.Occupied(w, e); {
		case m.Atomic(m.ExecCF[e]):
			x.time[e] = 0
		case m.ExecEnd[e] != model.None:
			x.time[e] = in.To - in.From
		}
	}
	e := m.NextAtomic(w, w.First)
	for p := range x.t.Pieces(lane, 0, m.Wall()) {
		switch {
		case p.Factor == slou.FactorU && p.Inside:
			for m.Occupied(w, e).To <= p.From+m.Start {
				e = m.NextAtomic(w, e+1)
			}
			x.time[e] += p.To - p.From
		case p.Factor != slou.FactorU && p.Factor != slou.FactorLoss && p.Consumer != 0:
			x.lost[p.Consumer] += p.To - p.From
		}
	}
}
