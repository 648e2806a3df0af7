package fragments

import (
	"context"
	"sort"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// Class is a class of pieces of workers' time.
type Class struct {
	Factor   slou.Factor
	Link     slou.Link // of L
	Node     int32     // of the worker
	Consumer int32     // 1 + number of the code fragment that could not start, or that ran; 0 none
	Producer int32     // 1 + number of the code fragment whose result was waited for (S, L); 0 none
}

// lane is the time of one worker, cut into pieces that touch.
type lane struct {
	start int64
	to    []int64
	class []uint32
}

// classer gives numbers to classes.
type classer struct {
	m       *model.Model
	list    []Class
	numbers map[Class]uint32
	last    Class
	number  uint32
}

func (c *classer) code(cf model.CF) int32 {
	if cf == 0 {
		return 0
	}
	return int32(c.m.CodeOf(cf)) + 1
}

func (c *classer) of(node int, p *slou.Piece) uint32 {
	k := Class{Factor: p.Factor, Node: int32(node), Consumer: c.code(p.Consumer)}
	switch p.Factor {
	case slou.FactorL:
		k.Link, k.Producer = p.Link, c.code(p.Producer)
	case slou.FactorS:
		k.Producer = c.code(p.Producer)
	}
	if k == c.last && len(c.list) > 0 {
		return c.number
	}
	n, ok := c.numbers[k]
	if !ok {
		n = uint32(len(c.list))
		c.list = append(c.list, k)
		c.numbers[k] = n
	}
	c.last, c.number = k, n
	return n
}

// append adds pieces of a worker of a node, in order.
func (l *lane) append(c *classer, node int, pieces []slou.Piece) {
	for i := range pieces {
		p := &pieces[i]
		k := c.of(node, p)
		if n := len(l.class); n > 0 && l.class[n-1] == k {
			l.to[n-1] = p.To // the difference does not matter here
			continue
		}
		l.to, l.class = append(l.to, p.To), append(l.class, k)
	}
}

// clone makes a copy without spare capacity.
func (l *lane) clone() lane {
	return lane{l.start, append(make([]int64, 0, len(l.to)), l.to...),
		append(make([]uint32, 0, len(l.class)), l.class...)}
}

// add adds the time from one moment to another by class.
func (l *lane) add(sums []int64, from, to int64) {
	i := sort.Search(len(l.to), func(i int) bool { return l.to[i] > from })
	at := l.start
	if i > 0 {
		at = l.to[i-1]
	}
	at = max(at, from)
	for ; i < len(l.to) && at < to; i++ {
		end := min(l.to[i], to)
		sums[l.class[i]] += end - at
		at = end
	}
}

// Time is an amount of workers' time of a class, in nanoseconds.
type Time struct {
	Class
	NS int64
}

// Times divides the time of all workers in an interval: nanoseconds since the start of the run, to not
// included.
func (x *Index) Times(from, to int64) []Time {
	var out []Time
	for k, ns := range x.times(x.timeRange(from, to)) {
		if ns > 0 {
			out = append(out, Time{x.classes[k], ns})
		}
	}
	return out
}

// times returns the time by class.
func (x *Index) times(s timeRange) []int64 {
	if s == always {
		return x.whole
	}
	return x.sumLanes(s)
}

func (x *Index) sumLanes(s timeRange) []int64 {
	parts := make([][]int64, max(procs.Lanes(0, len(x.lanes)), 1))
	for lane := range parts {
		parts[lane] = make([]int64, len(x.classes))
	}
	_ = procs.Each(context.Background(), 0, len(x.lanes), func(lane, i int) error {
		x.lanes[i].add(parts[lane], s.from, s.to)
		return nil
	})
	for _, p := range parts[1:] {
		for k, ns := range p {
			parts[0][k] += ns
		}
	}
	return parts[0]
}
