package series

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// Several processes, each with the model of its nodes.
//
// A level of the whole run must see the changes of all nodes in order of time. So the processes share out not the nodes but
// the windows: each finds the changes at its nodes, sends them to whoever has their windows, and follows all levels through
// its own windows, beginning with the sum of the changes before them. What comes out are the same additions in the same order
// as in one process, to the last bit. The exchange goes over the run in rounds, so that nobody holds more than a few
// million changes of others at a time.
//
// The rest are sums over nodes, or over messages, each of which counts in one process only.

// changesPerRound is how many changes of one process are exchanged in one round.
const changesPerRound = 1 << 21

var errBadShare = errors.New("internal error: what another process sent about series cannot be read")

// share is this process's place among those that compute series together.
type share struct {
	procs.Group
	m *model.Model
}

// ComputeShare is Compute by several processes at once, each with its model from model.BuildShare. All members of g call it with
// the same options. The process of rank 0 gets the result, which is that of Compute on the whole trace; the others get nil.
func ComputeShare(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*Result, error) {
	if g == nil || g.Size() == 1 {
		return Compute(ctx, m, opt)
	}
	r, err := newRun(ctx, m, opt)
	if err != nil {
		return nil, err // the same everywhere
	}
	r.share = &share{g, m}
	for _, task := range r.tasks() { // everybody exchanges in the same order
		if err := errors.Join(ctx.Err(), task()); err != nil {
			return nil, err
		}
	}
	if g.Rank() != 0 {
		return nil, nil
	}
	return r.result(), nil
}

// part gives the windows of a member of those from low up to but not including high.
func (s *share) part(rank, low, high int) (from, to int) {
	n := high - low
	return low + rank*n/s.Size(), low + (rank+1)*n/s.Size()
}

// sharedLevels follows levels together: rank 0 gets them all, the others their peaks and ends.
func sharedLevels[D int32 | int64](r *run, count int, own arranged[D], apply func(levels []level, c *change[D])) ([]level, error) {
	s, g := r.share, r.grid
	rounds, err := s.most(int64(len(own.list))/changesPerRound + 1)
	if err != nil {
		return nil, err
	}
	rounds = min(rounds, int64(g.n))
	before := make([]int64, count) // what the levels are when the round begins
	peaks := make([]level, count)
	pieces := make([][]byte, rounds)
	for round := range int(rounds) {
		low, high := round*g.n/int(rounds), (round+1)*g.n/int(rounds)
		changes, err := swap(s, own, low, high)
		if err != nil {
			return nil, errors.Join(err, r.ctx.Err())
		}
		// The net change of each part of the windows tells where the parts after it begin.
		net := make([]level, count)
		for i := range changes {
			apply(net, &changes[i])
		}
		var b []byte
		for i := range net {
			b = binary.AppendVarint(b, net[i].now)
		}
		nets, err := procs.AllGather(s, b)
		if err != nil {
			return nil, err
		}
		begin := slices.Clone(before)
		for rank, b := range nets {
			for i := range count {
				v, n := binary.Varint(b)
				if n <= 0 {
					return nil, errBadShare
				}
				b = b[n:]
				before[i] += v
				if rank < s.Rank() {
					begin[i] += v
				}
			}
		}
		from, to := s.part(s.Rank(), low, high)
		part := g.follow(begin, from, to)
		next := 0
		for w := from; w < to; w++ {
			if err := r.ctx.Err(); err != nil {
				return nil, err
			}
			for end := g.endOf(w); next < len(changes) && (changes[next].t < end || w == g.n-1); next++ {
				apply(part, &changes[next])
			}
			wFrom, wTo := g.bounds(w)
			for i := range part {
				part[i].close(w-from, wFrom, wTo, w == g.n-1)
			}
		}
		for i := range part {
			peaks[i].higher(&part[i])
		}
		pieces[round] = appendLevels(nil, part)
	}
	for i := range peaks {
		peaks[i].end = before[i]
	}
	if err := s.sharePeaks(peaks); err != nil {
		return nil, err
	}
	return peaks, s.collect(g, peaks, pieces)
}

// endOf is where a window ends.
func (g *grid) endOf(w int) int64 { return int64(w+1) * g.width }

// follow gives levels with values at the beginning of a window, to be followed to another one.
func (g *grid) follow(begin []int64, from, to int) []level {
	out := make([]level, len(begin))
	at, _ := g.bounds(from)
	for i := range out {
		out[i] = newLevel(to - from)
		out[i].now, out[i].since = begin[i], at
	}
	return out
}

// higher takes the peak of another stretch of the run if it is higher, or as high and earlier.
func (l *level) higher(o *level) {
	if o.peak > l.peak || o.peak == l.peak && o.peakAt < l.peakAt {
		l.peak, l.peakAt = o.peak, o.peakAt
	}
}

// swap gives the changes of windows from low up to but not including high to those who have these, and returns those of this
// process's windows, of all processes, in order of time.
func swap[D int32 | int64](s *share, own arranged[D], low, high int) ([]change[D], error) {
	start := func(w int) uint32 {
		if w == 0 {
			return 0
		}
		return own.ends[w-1]
	}
	out := make([][]byte, s.Size())
	for rank := range out {
		from, to := s.part(rank, low, high)
		list := own.list[start(from):start(to)]
		b, last := binary.AppendUvarint(nil, uint64(len(list))), int64(0)
		for i := range list {
			c := &list[i]
			b = binary.AppendUvarint(b, uint64(c.t-last))
			b = binary.AppendVarint(b, int64(c.key))
			b = binary.AppendVarint(b, int64(c.d))
			last = c.t
		}
		out[rank] = b
	}
	in, err := s.Exchange(out)
	if err != nil {
		return nil, err
	}
	var all []change[D]
	for _, b := range in {
		p := reader{b: b}
		n, t := p.uvarint(), int64(0)
		if n > uint64(len(b)) {
			return nil, errBadShare
		}
		all = slices.Grow(all, int(n))
		for range n {
			t += int64(p.uvarint())
			all = append(all, change[D]{t, int32(p.varint()), D(p.varint())})
		}
		if p.bad {
			return nil, errBadShare
		}
	}
	sortChanges(all)
	return all, nil
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

// appendLevels writes the windows of levels.
func appendLevels(b []byte, list []level) []byte {
	for i := range list {
		l := &list[i]
		for w := range l.mean {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(l.mean[w]))
			b = binary.AppendVarint(b, l.min[w])
			b = binary.AppendVarint(b, l.max[w])
			b = binary.AppendVarint(b, l.last[w])
		}
	}
	return b
}

// take reads the windows from up to but not including to.
func (p *reader) take(list []level, from, to int) {
	for i := range list {
		l := &list[i]
		for w := from; w < to; w++ {
			l.mean[w] = math.Float64frombits(p.word())
			l.min[w], l.max[w], l.last[w] = p.varint(), p.varint(), p.varint()
		}
	}
}

// collect gives rank 0 the windows of all.
func (s *share) collect(g grid, list []level, pieces [][]byte) error {
	for round, b := range pieces {
		in, err := procs.Gather(s, 0, b)
		if err != nil {
			return err
		}
		for rank, b := range in {
			if round == 0 && rank == 0 {
				for i := range list {
					l := newLevel(g.n)
					l.peak, l.peakAt, l.end = list[i].peak, list[i].peakAt, list[i].end
					list[i] = l
				}
			}
			from, to := s.part(rank, round*g.n/len(pieces), (round+1)*g.n/len(pieces))
			p := reader{b: b}
			if p.take(list, from, to); p.bad {
				return errBadShare
			}
		}
	}
	return nil
}

// sharePeaks tells everybody the peaks over the whole run.
func (s *share) sharePeaks(list []level) error {
	var b []byte
	for i := range list {
		b = binary.AppendVarint(b, list[i].peak)
		b = binary.AppendVarint(b, list[i].peakAt)
	}
	all, err := procs.AllGather(s, b)
	if err != nil {
		return err
	}
	for _, b := range all {
		p := reader{b: b}
		for i := range list {
			list[i].higher(&level{peak: p.varint(), peakAt: p.varint()})
		}
		if p.bad {
			return errBadShare
		}
	}
	return nil
}

// most gives the largest number that anybody has.
func (s *share) most(n int64) (int64, error) {
	all, err := procs.AllGather(s, binary.AppendVarint(nil, n))
	for _, b := range all {
		v, _ := binary.Varint(b)
		n = max(n, v)
	}
	return n, err
}

// allGather tells everybody what everybody has, in the order of ranks.
func allGather[T any](s *share, v T) ([]T, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	in, err := procs.AllGather(s, b)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(in))
	for i, b := range in {
		if err := json.Unmarshal(b, &out[i]); err != nil {
			return nil, errBadShare
		}
	}
	return out, nil
}

// shareMatrix adds up the traffic of all processes, for all.
func (r *run) shareMatrix(x *matrix) error {
	if r.share == nil {
		return nil
	}
	all, err := allGather(r.share, x.list)
	if err != nil {
		return err
	}
	*x = matrix{index: map[link]int32{}, last: link{-1, -1}, lastIndex: -1}
	for _, list := range all {
		for i := range list {
			o := &list[i]
			n := x.of(&model.Message{From: int32(o.From), To: int32(o.To)})
			if n < 0 {
				return errBadShare
			}
			x.list[n].add(&o.Traffic)
		}
	}
	return nil
}

// sumAmounts adds up what happened in each window over all processes.
func (r *run) sumAmounts(lists ...[]amount) error {
	if r.share == nil {
		return nil
	}
	var flat []int64
	for _, list := range lists {
		for _, a := range list {
			flat = append(flat, a...)
		}
	}
	flat, err := procs.Sum(r.share, flat)
	if err != nil {
		return err
	}
	for _, list := range lists {
		for _, a := range list {
			flat = flat[copy(a, flat):]
		}
	}
	return nil
}

// shareLinks numbers the links of all processes; each link's queue is known to one of them.
func (r *run) shareLinks(names *[]link, index map[link]int32) error {
	if r.share == nil {
		return nil
	}
	own := make([][2]int32, len(*names))
	for i, l := range *names {
		own[i] = [2]int32{l.from, l.to}
	}
	all, err := allGather(r.share, own)
	*names = (*names)[:0]
	for _, list := range all {
		for _, l := range list {
			index[link{l[0], l[1]}] = int32(len(*names))
			*names = append(*names, link{l[0], l[1]})
		}
	}
	return err
}

// shareMemory puts together what the processes know of the peaks of memory; total is what was held at that of the whole run, by
// the names of DFs.
func (r *run) shareMemory(mem *Memory, total map[string]Holder) error {
	if r.share == nil {
		return nil
	}
	type known struct {
		Memory Memory
		Total  map[string]Holder
	}
	all, err := allGather(r.share, known{*mem, total})
	*mem = Memory{Nodes: []Peak{}}
	clear(total)
	for i := range all {
		k := &all[i]
		mem.Nodes = append(mem.Nodes, k.Memory.Nodes...)
		mem.Unsized += k.Memory.Unsized
		mem.Unmatched += k.Memory.Unmatched
		for name, h := range k.Total {
			sum := total[name]
			sum.Bytes += h.Bytes
			sum.Copies += h.Copies
			total[name] = sum
		}
	}
	for name, h := range total {
		if h == (Holder{}) {
			delete(total, name)
		}
	}
	slices.SortFunc(mem.Nodes, func(a, b Peak) int { return cmp.Compare(a.Node, b.Node) })
	return err
}
