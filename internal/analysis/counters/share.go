package counters

import (
	"errors"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Several processes, each with the model of its nodes
//
// A level of the whole run must see the changes of all nodes in order of time. So the processes share out the
// windows, not the nodes. Each finds the changes at its nodes, sends them to the processes that have their
// windows, and follows all levels through its own windows, beginning with the sum of the changes before
// them. That makes the same additions in the same order as one process, to the last bit. The exchange goes
// over the run in rounds, so that nobody holds more than a few million changes of others at a time.
//
// A process that is alone is a group of one: it has all windows, and exchanges nothing.

// changesPerRound is how many changes of one process are exchanged in one round.
const changesPerRound = 1 << 21

var errBadShare = errors.New("internal error: what another process sent about counters cannot be read")

// levels follows some quantities of a family through all windows. It gives, for each quantity, the levels of
// the places and, last, of the whole run. Only the process of rank 0 gets windows; the peaks and ends are
// known to all.
func (c *computation) levels(g family, s source, wanted []quantity, places int) ([][]level, error) {
	s.m = c.m
	n, table := c.grid.n, newLevelTable(wanted, places)
	if c.group.Size() == 1 {
		if err := c.followAll(table, s.sorted(g)); err != nil {
			return nil, err
		}
		return slices.Collect(slices.Chunk(table.list, places+1)), nil
	}
	list := s.record(g)
	rounds, err := c.most(int64(list.Len())/changesPerRound + 1)
	if err != nil {
		return nil, err
	}
	rounds = min(rounds, int64(n))
	if c.group.Rank() == 0 {
		for i := range table.list {
			table.list[i] = newLevel(0, n)
		}
	}
	before := make([]int64, len(table.list)) // what the levels are when a round begins
	for round := range int(rounds) {
		low, high := round*n/int(rounds), (round+1)*n/int(rounds)
		changes, err := c.swap(list, low, high)
		if err != nil {
			return nil, errors.Join(err, c.ctx.Err())
		}
		begin, err := c.begin(wanted, places, before, changes)
		if err != nil {
			return nil, err
		}
		from, to := c.windowsOf(c.group.Rank(), low, high)
		table.enter(c, from, to, begin)
		done := 0
		for w := from; w < to; w++ {
			if err := c.ctx.Err(); err != nil {
				return nil, err
			}
			end := c.until(changes, w)
			table.follow(changes, done, end)
			done = end
			table.close(w, &c.grid)
		}
		if err := c.gatherWindows(table, low, high); err != nil {
			return nil, err
		}
	}
	if err := c.sharePeaks(table.list); err != nil {
		return nil, err
	}
	for i := range before {
		table.list[i].end = before[i]
	}
	return slices.Collect(slices.Chunk(table.list, places+1)), nil
}

// followAll follows levels through all windows and the changes of this process, which has them all.
func (c *computation) followAll(table *levelTable, changes *sorter) error {
	defer changes.close()
	n, w := c.grid.n, 0
	table.windows = n
	for part := range changes.parts {
		for done := 0; done < part.Len(); {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			end := c.until(part, w)
			table.follow(part, done, end)
			if done = end; done < part.Len() {
				table.close(w, &c.grid)
				w++
			}
		}
	}
	for ; w < n; w++ {
		table.close(w, &c.grid)
	}
	never := newLevel(0, n).levelWindows // of all levels that never changed
	for i := range table.list {
		if l := &table.list[i]; l.Mean == nil {
			l.levelWindows = never
		}
	}
	return nil
}

// close ends window w of all levels.
func (x *levelTable) close(w int, g *grid) {
	for i := range x.list {
		x.list[i].close(w, g)
	}
}

// until is how many changes there are up to the end of a window.
func (c *computation) until(list *record, window int) int {
	if window == c.grid.n-1 {
		return list.Len()
	}
	return list.upTo(int64(window+1)*c.grid.width - 1)
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
func (c *computation) begin(wanted []quantity, places int, before []int64,
	changes *record) ([]int64, error) {
	begin := slices.Clone(before)
	net := newLevelTable(wanted, places)
	net.follow(changes, 0, changes.Len())
	own := make([]int64, len(before))
	for i := range own {
		own[i] = net.list[i].now
	}
	all, err := procs.AllOf(c.group, own)
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
func (c *computation) swap(own *record, low, high int) (*record, error) {
	out := make([]*record, c.group.Size())
	for rank := range out {
		first, end := 0, 0
		if from, to := c.windowsOf(rank, low, high); from < to {
			if from > 0 {
				first = c.until(own, from-1)
			}
			end = c.until(own, to-1)
		}
		out[rank] = own.part(first, end)
	}
	in, err := procs.Swap(c.group, out)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, x := range in {
		if !x.sound() {
			return nil, errBadShare
		}
		n += x.Len()
	}
	list := newSorter(c.m, 0, c.m.Wall(), n, own.Size != nil)
	defer list.close()
	for _, x := range in {
		for i := range x.T {
			list.add(x.at(i))
		}
	}
	return list.record(c.m), nil
}

// gatherWindows gives rank 0 the windows of everybody, of those from low up to but not including high.
func (c *computation) gatherWindows(table *levelTable, low, high int) error {
	own := func() (list []levelWindows) {
		for i := range table.list {
			list = append(list, table.list[i].levelWindows)
		}
		return list
	}
	return procs.Collect(c.group, own, func(rank int, theirs *[]levelWindows) error {
		from, to := c.windowsOf(rank, low, high)
		if len(*theirs) != len(table.list) {
			return errBadShare
		}
		for i, x := range *theirs {
			l := &table.list[i]
			if copy(l.Mean[from:to], x.Mean)+copy(l.Min[from:to], x.Min)+copy(l.Max[from:to], x.Max)+
				copy(l.Last[from:to], x.Last) != 4*(to-from) {
				return errBadShare
			}
		}
		return nil
	})
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

// meeting says who follows which CFs: the process of the node that created them. nil: this process has them
// all.
type meeting struct {
	c *computation
	// by has the events, in order, of the CFs that are followed here and of which other processes know
	// something.
	by map[trace.CF][]model.CFEvent
}

// alone tells whether a CF is to be followed here, and all that happened to it is in this process's model.
func (x *meeting) alone(cf model.CF) bool {
	if x == nil {
		return true
	}
	id := x.c.m.CFID(cf)
	_, met := x.by[id]
	return !met && x.c.m.Owner(id.Node()) == x.c.group.Rank()
}

// others follows the CFs that are not alone.
func (x *meeting) others(lives *model.Lives) {
	if x == nil {
		return
	}
	for id, events := range x.by {
		lives.Walk(int32(id.Node()), events)
	}
}

// meet sends what happened here to CFs that others follow to them.
func (c *computation) meet() (*meeting, error) {
	if c.group.Size() == 1 {
		return nil, nil
	}
	type metCF struct {
		ID     trace.CF
		Events []model.CFEvent
	}
	m, s := c.m, c.group
	out := make([][]metCF, s.Size())
	for i := 1; i < len(m.Created); i++ {
		cf := model.CF(i)
		id := m.CFID(cf)
		to := m.Owner(id.Node())
		if id == 0 || to == s.Rank() {
			continue
		}
		if list := m.CFEvents(cf, true, nil); len(list) > 0 {
			out[to] = append(out[to], metCF{id, list})
		}
	}
	in, err := procs.Swap(s, out)
	if err != nil {
		return nil, err
	}
	x := &meeting{c: c, by: map[trace.CF][]model.CFEvent{}}
	for _, list := range in {
		for _, v := range list {
			x.by[v.ID] = append(x.by[v.ID], v.Events...)
		}
	}
	for id, list := range x.by {
		if cf := m.FindCF(id); cf != 0 {
			list = m.CFEvents(cf, true, list)
		}
		model.SortCFEvents(list)
		x.by[id] = list
	}
	return x, nil
}
