package consistency

import (
	"context"
	"math"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
)

// Clock is what is known of the clock of a node of one of several processes, compared with node 0's.
type Clock struct {
	Node     int    `json:"node"`
	Host     string `json:"host,omitempty"`
	Compared int    `json:"compared"`       // how often
	Used     int    `json:"used"`           // comparisons that the others do not explain
	OffsetNS int64  `json:"offset_ns"`      // to be added at the first comparison
	LastNS   int64  `json:"last_offset_ns"` // at the last one
	// change of the offset per time between them, in parts per million
	DriftPPM float64           `json:"drift_ppm"`
	ErrorNS  int64             `json:"error_ns"` // largest error of an offset
	Repair   model.ClockRepair `json:"repair"`   // what it was put forward by beyond that
}

// Order counts messages between processes that were received before they were sent: by the recorded clocks,
// by clocks corrected with their comparisons, and by clocks put forward beyond that. Reports use the last.
type Order struct {
	Messages     int64          `json:"messages"`
	Raw          model.Disorder `json:"raw"`
	Interpolated model.Disorder `json:"interpolated"`
	Repaired     model.Disorder `json:"repaired"`
}

// readClocks finds the corrections of the clocks and collects the comparisons, before anything else is read.
// Where all nodes share a process there is nothing to correct.
func (c *checker) readClocks(ctx context.Context) error {
	info := c.r.Run()
	processes := map[int]bool{}
	for _, node := range c.r.Nodes() {
		if n := info.Node(node); n != nil {
			processes[n.Process] = true
		} else {
			processes[-1-node] = true
		}
	}
	if len(processes) < 2 {
		return nil
	}
	corrections, agreement, clocks, err := model.ReadClocks(ctx, c.r)
	c.corrections, c.agreement, c.clocks = corrections, &agreement, clocks
	for _, list := range clocks {
		c.chosen = append(c.chosen, model.Chosen(list))
	}
	return err
}

// compared are the comparisons of a node's clock; none where all nodes share a process.
func (c *checker) compared(node int) []model.ClockSync {
	if node >= len(c.clocks) {
		return nil
	}
	return c.clocks[node]
}

// clockError is the largest error of a comparison of a node's clock.
func (c *checker) clockError(node int) (worst int64) {
	for _, k := range c.compared(node) {
		worst = max(worst, k.Error)
	}
	return worst
}

// tolerance is how far the clocks of two nodes may disagree.
func (c *checker) tolerance(a, b int) int64 {
	if a == b {
		return 0
	}
	return c.clockError(a) + c.clockError(b)
}

// process is that of a node; one that run.json does not tell of has one for itself.
func (c *checker) process(node int32) int {
	if n := c.r.Run().Node(int(node)); n != nil {
		return n.Process
	}
	return -1 - int(node)
}

// mostDrift is by how many parts of a million two clocks can drift apart: systems correct each by 500 at
// most.
const mostDrift = 1000

// byComparisons is a time on node 0's clock by the comparisons alone, and how wrong that may be: by the
// error of a comparison, and by what the clocks may have drifted since. It is not known if they were never
// compared.
func (c *checker) byComparisons(p place) (t, wrong int64, known bool) {
	if c.process(p.node) == c.process(0) {
		return p.time, 0, true
	}
	if len(c.compared(int(p.node))) == 0 {
		return 0, 0, false
	}
	list := c.chosen[p.node]
	next := sort.Search(len(list), func(i int) bool { return list[i].Time > p.time })
	away := int64(math.MaxInt64)
	if next > 0 {
		away = p.time - list[next-1].Time
	}
	if next < len(list) {
		away = min(away, list[next].Time-p.time)
	}
	return model.Common(p.time, list), c.clockError(int(p.node)) + away/(1_000_000/mostDrift), true
}

// early tells that a receipt is before its sending, by how much, and that the clocks do not explain it.
// Reports put clocks forward until messages are in order. That is no proof where comparisons of the clocks
// say otherwise, or where both nodes have one clock.
func (c *checker) early(received, sent place) (ns int64, sure bool) {
	if c.process(received.node) == c.process(sent.node) {
		return sent.time - received.time, sent.time > received.time
	}
	if ns, sure = c.before(received, sent); sure || c.agreement == nil {
		return ns, sure
	}
	a, wrongA, knownA := c.byComparisons(received)
	b, wrongB, knownB := c.byComparisons(sent)
	return b - a, knownA && knownB && b-a > wrongA+wrongB
}

// clockFacts describes the clocks of all nodes; nothing where all share a process.
func (c *checker) clockFacts() (list []Clock, order *Order) {
	g := c.agreement
	if g == nil {
		return nil, nil
	}
	for _, node := range c.r.Nodes() {
		f := Clock{Node: node}
		if n := c.r.Run().Node(node); n != nil {
			f.Host = n.Host
		}
		if node < len(g.Nodes) {
			f.Repair = g.Nodes[node]
		}
		if list := c.compared(node); len(list) > 0 {
			first, last := list[0], list[len(list)-1]
			f.Compared, f.Used, f.ErrorNS = len(list), len(model.Chosen(list)), c.clockError(node)
			f.OffsetNS, f.LastNS = first.Offset, last.Offset
			if d := last.Time - first.Time; d > 0 {
				f.DriftPPM = float64(last.Offset-first.Offset) / float64(d) * 1e6
			}
		}
		list = append(list, f)
	}
	return list, &Order{Messages: g.Messages, Raw: g.Raw, Interpolated: g.Interpolated, Repaired: g.Left}
}
