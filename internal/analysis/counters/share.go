package counters

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
)

// Several processes, each with the model of its nodes
//
// A level of the whole run must see the changes of all nodes in order of time. So the processes share out the
// windows, not the nodes. Each finds the changes at its nodes, sends them to whoever has their windows, and
// follows all levels through its own windows, beginning with the sum of the changes before them. That makes
// the same additions in the same order as one process, to the last bit. The exchange goes over the run in
// rounds, so that nobody holds more than a few million changes of others at a time.
//
// A process that is alone is a group of one: it has all windows, and exchanges nothing.

// changesPerRound is how many changes of one process are exchanged in one round.
const changesPerRound = 1 << 21

var errBadShare = errors.New("internal error: what another process sent about counters cannot be read")

// levels follows the levels of some quantities, at so many places and of the whole run. source and about are
// as in arrange; spread tells a sink what a change means. The process of rank 0 gets the levels by quantity;
// the others get their peaks and ends.
func levels[D int32 | int64](c *computation, wanted []quantity, places, about int, source changeSource[D],
	spread func(out sink, x *change[D])) ([][]level, error) {
	own, err := arrange(c.ctx, c.grid, about, source)
	if err != nil {
		return nil, err
	}
	rounds, err := c.most(int64(len(own.list))/changesPerRound + 1)
	if err != nil {
		return nil, err
	}
	n, alone := c.grid.n, c.group.Size() == 1
	rounds = min(rounds, int64(n))
	if alone {
		rounds = 1
	}
	table := newLevelTable(wanted, places)
	if c.group.Rank() == 0 {
		for i := range table.list {
			table.list[i] = newLevel(0, n)
		}
	}
	before := make([]int64, len(table.list)) // what the levels are when a round begins
	for round := range int(rounds) {
		low, high := round*n/int(rounds), (round+1)*n/int(rounds)
		changes, err := swap(c, own, low, high)
		if err != nil {
			return nil, errors.Join(err, c.ctx.Err())
		}
		begin, err := c.begin(table, before, func(out sink) {
			for i := range changes.list {
				spread(out, &changes.list[i])
			}
		})
		if err != nil {
			return nil, err
		}
		from, to := c.windowsOf(c.group.Rank(), low, high)
		table.enter(c, from, to, begin)
		next := uint32(0)
		for w := from; w < to; w++ {
			if err := c.ctx.Err(); err != nil {
				return nil, err
			}
			for end := changes.ends[w-from]; next < end; next++ {
				spread(table, &changes.list[next])
			}
			for i := range table.list {
				table.list[i].close(w, &c.grid)
			}
		}
		if err := c.gatherWindows(table, low, high); err != nil {
			return nil, err
		}
	}
	if err := c.sharePeaks(table.list); err != nil {
		return nil, err
	}
	for i := range before {
		if !alone {
			table.list[i].end = before[i]
		}
	}
	return slices.Collect(slices.Chunk(table.list, places+1)), nil
}

// enter makes the levels ready to be followed through some windows, from the values that they have before
// these. Rank 0 has room for all windows, the others for these.
func (x *levelTable) enter(c *computation, from, to int, begin []int64) {
	for i := range x.list {
		l := &x.list[i]
		if c.group.Rank() != 0 {
			peak, peakAt := l.peak, l.peakAt
			*l = newLevel(from, to)
			l.peak, l.peakAt = peak, peakAt
		}
		l.now = begin[i]
		l.since, _ = c.grid.bounds(from)
	}
}

// windowsOf gives the windows of a member of those from low up to but not including high.
func (c *computation) windowsOf(rank, low, high int) (from, to int) {
	n, size := high-low, c.group.Size()
	return low + rank*n/size, low + (rank+1)*n/size
}

// begin gives the values with which the windows of this process begin, by the changes that each process has
// in this round, and moves before on to the end of the round.
func (c *computation) begin(table *levelTable, before []int64, changes func(out sink)) ([]int64, error) {
	begin := slices.Clone(before)
	if c.group.Size() == 1 {
		return begin, nil
	}
	net := &netSums{table, make([]int64, len(before))}
	changes(net)
	all, err := procs.AllOf(c.group, net.sums)
	for rank, sums := range all {
		if len(sums) != len(before) {
			return nil, errBadShare
		}
		for i, d := range sums {
			before[i] += d
			if rank < c.group.Rank() {
				begin[i] += d
			}
		}
	}
	return begin, err
}

// swap gives the changes of the windows from low up to but not including high to the processes that have
// these. It returns those of the windows of this process, from all processes, in order of time.
func swap[D int32 | int64](c *computation, own arranged[D], low, high int) (arranged[D], error) {
	if c.group.Size() == 1 {
		return own, nil
	}
	start := func(w int) uint32 {
		if w == 0 {
			return 0
		}
		return own.ends[w-1]
	}
	out := make([][]byte, c.group.Size())
	for rank := range out {
		from, to := c.windowsOf(rank, low, high)
		list := own.list[start(from):start(to)]
		b, last := binary.AppendUvarint(nil, uint64(len(list))), int64(0)
		for i := range list {
			x := &list[i]
			b = binary.AppendUvarint(b, uint64(x.t-last))
			b = binary.AppendVarint(b, int64(x.key))
			b = binary.AppendVarint(b, int64(x.d))
			last = x.t
		}
		out[rank] = b
	}
	in, err := c.group.Exchange(out)
	if err != nil {
		return arranged[D]{}, err
	}
	var all arranged[D]
	for _, b := range in {
		p := reader{b: b}
		n, t := p.uvarint(), int64(0)
		if n > uint64(len(b)) {
			return all, errBadShare
		}
		all.list = slices.Grow(all.list, int(n))
		for range n {
			t += int64(p.uvarint())
			all.list = append(all.list, change[D]{t, int32(p.varint()), D(p.varint())})
		}
		if p.bad {
			return all, errBadShare
		}
	}
	sortChanges(all.list)
	from, to := c.windowsOf(c.group.Rank(), low, high)
	next := 0
	for w := from; w < to; w++ {
		end := int64(w+1) * c.grid.width
		for next < len(all.list) && (all.list[next].t < end || w == c.grid.n-1) {
			next++
		}
		all.ends = append(all.ends, uint32(next))
	}
	return all, nil
}

// gatherWindows gives rank 0 the windows of everybody, of those from low up to but not including high.
func (c *computation) gatherWindows(table *levelTable, low, high int) error {
	if c.group.Size() == 1 {
		return nil
	}
	var b []byte
	if c.group.Rank() != 0 {
		for i := range table.list {
			l := &table.list[i]
			for w := range l.mean {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(l.mean[w]))
				b = binary.AppendVarint(b, l.min[w])
				b = binary.AppendVarint(b, l.max[w])
				b = binary.AppendVarint(b, l.last[w])
			}
		}
	}
	in, err := procs.Gather(c.group, 0, b)
	for rank := 1; rank < len(in); rank++ {
		from, to := c.windowsOf(rank, low, high)
		p := reader{b: in[rank]}
		for i := range table.list {
			l := &table.list[i]
			for w := from; w < to; w++ {
				l.mean[w] = math.Float64frombits(p.word())
				l.min[w], l.max[w], l.last[w] = p.varint(), p.varint(), p.varint()
			}
		}
		if p.bad {
			return errBadShare
		}
	}
	return err
}

// sharePeaks tells everybody the peaks over the whole run: the earliest of several equal ones.
func (c *computation) sharePeaks(list []level) error {
	own := make([][2]int64, len(list))
	for i := range list {
		own[i] = [2]int64{list[i].peak, list[i].peakAt}
	}
	all, err := procs.AllOf(c.group, own)
	for _, peaks := range all {
		if len(peaks) != len(list) {
			return errBadShare
		}
		for i, p := range peaks {
			if l := &list[i]; p[0] > l.peak || p[0] == l.peak && p[1] < l.peakAt {
				l.peak, l.peakAt = p[0], p[1]
			}
		}
	}
	return err
}

// most gives the greatest number that anybody has.
func (c *computation) most(n int64) (int64, error) {
	all, err := procs.AllOf(c.group, n)
	for _, v := range all {
		n = max(n, v)
	}
	return n, err
}

// reader reads numbers; after a mistake it is bad and returns zeros.
type reader struct {
	b   []byte
	bad bool
}

func (p *reader) uvarint() uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.b, p.bad = nil, true
		return 0
	}
	p.b = p.b[n:]
	return v
}

func (p *reader) varint() int64 {
	v, n := binary.Varint(p.b)
	if n <= 0 {
		p.b, p.bad = nil, true
		return 0
	}
	p.b = p.b[n:]
	return v
}

// word reads 8 bytes.
func (p *reader) word() uint64 {
	if len(p.b) < 8 {
		p.b, p.bad = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint64(p.b)
	p.b = p.b[8:]
	return v
}
