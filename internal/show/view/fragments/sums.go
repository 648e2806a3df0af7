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

// plus adds the sums of another interval, or takes them away with a sign of -1.
func (s *Sums) plus(other Sums, sign int64) {
	for n, ns := range other.Useful {
		s.Useful[n] += sign * ns
	}
	for link, ns := range other.Waited {
		if s.Waited[link] += sign * ns; s.Waited[link] == 0 {
			delete(s.Waited, link)
		}
	}
	for code := range other.before {
		for _, f := range slou.LostFactors {
			s.before[code][f] += sign * other.before[code][f]
			s.caused[code][f] += sign * other.caused[code][f]
		}
	}
}

// maxSteps is how many times at the most sums are kept for.
const maxSteps = 1024

// steps is how many sums take at most 8 bytes an execution.
func (x *Index) steps() int {
	size := 2*int(slou.FactorLoss)*len(x.m.Codes) + len(x.m.Nodes) + 8*len(x.whole.Waited) + x.t.Lanes()
	return min(maxSteps, x.m.Executions()/max(size, 1))
}

// keepSums keeps the sums from the start of the run to so many times at equal distances, so that those of
// an interval cost what is at its ends alone.
func (x *Index) keepSums(steps int) {
	if steps < 2 {
		return
	}
	x.step = x.m.Wall()/int64(steps) + 1
	x.upTo = make([]Sums, x.m.Wall()/x.step+1)
	_ = procs.Each(context.Background(), 0, len(x.upTo), func(_, i int) error {
		x.upTo[i] = x.newSums()
		for lane := 0; i > 0 && lane < x.t.Lanes(); lane++ {
			x.upTo[i].add(x, lane, int64(i-1)*x.step, int64(i)*x.step)
		}
		return nil
	})
	for i := range x.upTo[1:] {
		x.upTo[i+1].plus(x.upTo[i], 1)
	}
}

// Sums adds up the time of all workers in an interval: nanoseconds since the start of the run, to not
// included. The result is not to be changed.
func (x *Index) Sums(from, to int64) Sums {
	from, to = max(from, 0), min(to, x.m.Wall())
	if from == 0 && to == x.m.Wall() {
		return x.whole
	}
	x.stepsOnce.Do(func() { x.keepSums(x.steps()) })
	if len(x.upTo) == 0 {
		return x.sum(from, to)
	}
	first, last := (from+x.step-1)/x.step, to/x.step
	if first >= last {
		return x.sum(from, to)
	}
	sum := x.newSums()
	for lane := range x.t.Lanes() {
		sum.add(x, lane, from, first*x.step)
		sum.add(x, lane, last*x.step, to)
	}
	sum.plus(x.upTo[last], 1)
	sum.plus(x.upTo[first], -1)
	return sum
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
		sum.plus(p, 1)
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
