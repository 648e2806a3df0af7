package live

import (
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
)

// History. A run that is too long for one snapshot is seen through a window: the newest part. Before a
// stretch of time leaves that window, its sums by worker and factor are kept here. They are those of the
// snapshot that had the stretch well inside. Sums between two edges are exact; within them time counts as
// spread evenly. When a worker has too many edges, every second one goes, so that memory is bounded and edges
// stay about equally far apart.

const (
	firstStep = int64(1 << 10) // nanoseconds between edges, before any is dropped
	mostEdges = 1 << 14        // of a worker, at most
	fewEdges  = 1 << 5         // and however little memory there is
	spread    = 8              // how often time between two edges goes through the factors
)

// rowSums are nanoseconds by row of timeline.FactorWindows.
type rowSums [timeline.Rows]int64

// past is the time of one worker. Times are on the common clock.
type past struct {
	edges []int64
	sums  []rowSums // from edges[0] to each edge
}

// history is what is kept of a long run.
type history struct {
	mu      sync.Mutex
	bytes   int64                    // that it may take
	to      int64                    // up to which something has been kept, on the common clock
	workers map[model.WorkerID]*past // nil: nothing has
}

// end gives the time up to which something has been kept, at least from.
func (h *history) end(from int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.workers == nil {
		return from
	}
	return h.to
}

// keep adds what a snapshot knows of the time up to one on the common clock. It returns false if there was
// nothing new.
func (h *history) keep(s *Snapshot, to int64) (bool, error) {
	t, err := s.Timeline()
	if err != nil {
		return false, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	m := s.Model
	if to <= m.Start || h.workers != nil && to <= h.to {
		return false, nil
	}
	if h.workers == nil {
		h.workers = map[model.WorkerID]*past{}
	}
	h.to = to
	most := h.bytes / int64(max(m.Workers(), 1)*(8+8*timeline.Rows))
	most = min(max(most, fewEdges), mostEdges)
	known := &timeline.Known{Wall: t.Wall(), Until: s.until()}
	lane := 0
	for id := range m.AllWorkers() {
		p := h.workers[id]
		if p == nil {
			p = &past{edges: []int64{m.Start}, sums: make([]rowSums, 1)}
			h.workers[id] = p
		}
		if err := p.keep(t, known, lane, min(to, m.Start+known.Until[lane]), int(most)); err != nil {
			return false, err
		}
		lane++
	}
	return true, nil
}

// keep adds the time of a lane up to one on the common clock.
func (p *past) keep(t *timeline.Timeline, known *timeline.Known, lane int, to int64, most int) error {
	from, start := p.edges[len(p.edges)-1], t.Model().Start
	if to <= from {
		return nil
	}
	// Edges are about equally far apart, at least firstStep.
	step := func() int64 {
		return max((p.edges[len(p.edges)-1]-p.edges[0])/int64(max(len(p.edges)-1, 1)), firstStep)
	}
	for int64(len(p.edges))+(to-from)/step() > int64(most) && len(p.edges) > fewEdges/2 {
		p.thin()
	}
	windows := min((to-from-1)/step()+1, int64(most))
	w, err := t.Factors(timeline.FactorQuery{From: from - start, To: to - start, Windows: int(windows),
		Lanes: []int{lane}, Known: known})
	if err != nil {
		return err
	}
	for i := range w.Windows {
		sum := p.sums[len(p.sums)-1]
		for row := range sum {
			sum[row] += w.Total[row][i]
		}
		p.sums = append(p.sums, sum)
		p.edges = append(p.edges, min(from+int64(i+1)*w.WindowNS, to))
	}
	return nil
}

// thin drops every second edge, but neither the first nor the last one.
func (p *past) thin() {
	old, last := *p, len(p.edges)-1
	// Answers may be reading the old ones.
	*p = past{edges: make([]int64, 0, last), sums: make([]rowSums, 0, last)}
	for i := range old.edges {
		if i%2 == 0 || i == last {
			p.edges, p.sums = append(p.edges, old.edges[i]), append(p.sums, old.sums[i])
		}
	}
}

// upTo gives the sums from the first edge to a time, one not after the last edge.
func (p *past) upTo(at int64) rowSums {
	i, exact := slices.BinarySearch(p.edges, at)
	if exact || i == 0 {
		return p.sums[i]
	}
	out, left := p.sums[i-1], at-p.edges[i-1]
	for k := range int64(spread) {
		for row := range out {
			ns := p.sums[i][row] - p.sums[i-1][row]
			ns = min(share(ns, k+1)-share(ns, k), left)
			out[row] += ns
			left -= ns
		}
	}
	return out
}

// share is how much of an amount has been spent after so many turns.
func share(ns, turns int64) int64 { return ns/spread*turns + ns%spread*turns/spread }

// complete lets an answer about a model have what is kept of the time before.
func (h *history) complete(k *timeline.Known, m *model.Model) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.workers == nil {
		return
	}
	var lanes []past
	for id := range m.AllWorkers() {
		p := h.workers[id]
		if p == nil {
			p = &past{edges: []int64{m.Start}, sums: make([]rowSums, 1)}
		}
		lanes = append(lanes, *p) // what is there does not change any more
		k.Since = append(k.Since, p.edges[len(p.edges)-1]-m.Start)
	}
	k.Past = func(lane int, a, b int64, sums []int64) {
		p := &lanes[lane]
		unknown := min(max(p.edges[0]-m.Start-a, 0), b-a) // the run began earlier than was thought
		sums[timeline.Rows-1] += unknown
		before, after := p.upTo(a+unknown+m.Start), p.upTo(b+m.Start)
		for row := range before {
			sums[row] += after[row] - before[row]
		}
	}
}
