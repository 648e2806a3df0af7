package consistency

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
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

// Order tells how many of the messages between processes were received before they were sent: by the clocks
// as they were, by clocks corrected with their comparisons, and by clocks that were put forward where that
// still was so. The last is what reports use.
type Order struct {
	Messages     int64          `json:"messages"`
	Raw          model.Disorder `json:"raw"`
	Interpolated model.Disorder `json:"interpolated"`
	Repaired     model.Disorder `json:"repaired"`
}

type comparison struct{ time, offset, err int64 }

// nodeClock is what a node's clock was compared to.
type nodeClock struct{ comparisons []comparison }

// readClocks finds the corrections of the clocks and collects the comparisons. LuNA's are events of the
// run-time system's own streams, those of PGAS programs of a thread's. All that is read for this beforehand;
// where all nodes share a process there is nothing to correct.
func (c *checker) readClocks(ctx context.Context) error {
	c.clocks = map[int]*nodeClock{}
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
	corrections, agreement, err := model.ReadClocks(ctx, c.r)
	if err != nil {
		return err
	}
	c.corrections, c.agreement = corrections, &agreement
	var mu sync.Mutex
	return c.r.EachStream(1, func(cur *trace.Cursor) error {
		var list []comparison
		var b trace.Batch
		for cur.Next(&b) {
			if err := ctx.Err(); err != nil {
				return err
			}
			for i, k := range b.Kind {
				if k == trace.KindClockSync {
					a := b.Args(i)
					list = append(list, comparison{b.Time[i], int64(a[0]), int64(a[1])})
				}
			}
		}
		if len(list) > 0 {
			mu.Lock()
			if c.clocks[cur.Node] == nil {
				c.clocks[cur.Node] = &nodeClock{}
			}
			k := c.clocks[cur.Node]
			k.comparisons = append(k.comparisons, list...)
			slices.SortFunc(k.comparisons, func(a, b comparison) int { return cmp.Compare(a.time, b.time) })
			mu.Unlock()
		}
		return nil
	})
}

// used counts the comparisons that the correction follows.
func (k *nodeClock) used() int {
	var list []model.ClockSync
	for _, c := range k.comparisons {
		list = append(list, model.ClockSync{Time: c.time, Offset: c.offset, Error: c.err})
	}
	return len(model.Chosen(list))
}

func (k *nodeClock) error() (worst int64) {
	if k != nil {
		for _, c := range k.comparisons {
			worst = max(worst, c.err)
		}
	}
	return worst
}

// tolerance is how far the clocks of two nodes may disagree.
func (c *checker) tolerance(a, b int) int64 {
	if a == b {
		return 0
	}
	return c.clocks[a].error() + c.clocks[b].error()
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
		if k := c.clocks[node]; k != nil {
			first, last := k.comparisons[0], k.comparisons[len(k.comparisons)-1]
			f.Compared, f.Used, f.OffsetNS, f.LastNS, f.ErrorNS = len(k.comparisons), k.used(), first.offset,
				last.offset, k.error()
			if d := last.time - first.time; d > 0 {
				f.DriftPPM = float64(last.offset-first.offset) / float64(d) * 1e6
			}
		}
		list = append(list, f)
	}
	return list, &Order{Messages: g.Messages, Raw: g.Raw, Interpolated: g.Interpolated, Repaired: g.Left}
}
