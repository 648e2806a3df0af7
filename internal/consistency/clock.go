package consistency

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/trace"
)

// Clock is what is known of a node's clock compared with node 0's.
type Clock struct {
	Node     int     `json:"node"`
	Compared int     `json:"compared"`  // how often
	OffsetNS int64   `json:"offset_ns"` // to be added at the first comparison
	DriftPPM float64 `json:"drift_ppm"` // change of the offset per time, in parts per million
	ErrorNS  int64   `json:"error_ns"`  // largest error of an offset
}

type comparison struct{ time, offset, err int64 }

// nodeClock converts a node's times to the common clock.
type nodeClock struct{ comparisons []comparison }

// readClocks collects the comparisons. They are events of the run-time system's own streams, which are read for this
// beforehand; where all nodes share a process there are none.
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
	var mu sync.Mutex
	return c.r.EachStream(1, func(cur *trace.Cursor) error {
		if n := info.Node(cur.Node); n != nil && cur.Stream < n.Workers {
			return ctx.Err()
		}
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

// common converts a time; between comparisons the offset is interpolated.
func (k *nodeClock) common(t int64) int64 {
	if k == nil {
		return t
	}
	l := k.comparisons
	i, _ := slices.BinarySearchFunc(l, t, func(c comparison, t int64) int { return cmp.Compare(c.time, t) })
	switch {
	case i == 0:
		return t + l[0].offset
	case i == len(l):
		return t + l[i-1].offset
	}
	a, b := l[i-1], l[i]
	share := float64(t-a.time) / float64(b.time-a.time)
	return t + a.offset + int64(share*float64(b.offset-a.offset))
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

func (c *checker) clockFacts() (list []Clock) {
	for node, k := range c.clocks {
		first, last := k.comparisons[0], k.comparisons[len(k.comparisons)-1]
		f := Clock{Node: node, Compared: len(k.comparisons), OffsetNS: first.offset, ErrorNS: k.error()}
		if d := last.time - first.time; d > 0 {
			f.DriftPPM = float64(last.offset-first.offset) / float64(d) * 1e6
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b Clock) int { return a.Node - b.Node })
	return list
}
