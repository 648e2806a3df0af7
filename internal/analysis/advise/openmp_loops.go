package advise

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// Loops whose threads do not end together. What another schedule would give is worked out from the recorded
// chunks: how long each part of the iterations took is known from them, and so when each thread would end had
// the iterations been divided in another way. Within a chunk all iterations count as equally long.

// uneven: threads wait at a barrier for the one that ends last.
func (a *advisor) uneven() {
	waits := func(c *slou.Cause) int64 {
		if c.Factor != slou.FactorS.String() || c.DF != barrier || strings.HasPrefix(c.Producer, "single") ||
			strings.HasPrefix(c.Producer, "masked") || strings.Contains(c.Producer, "task") {
			return 0 // that is no uneven loop
		}
		return c.NS
	}
	_, all := largest(a.res.Causes, waits)
	_, late := largest(a.res.Causes, func(c *slou.Cause) int64 {
		if c.Factor == slou.FactorO.String() && (strings.HasPrefix(c.Consumer, "for ") ||
			strings.HasPrefix(c.Consumer, "parallel ")) {
			return c.NS
		}
		return 0
	})
	c := a.top(waits, func(c *slou.Cause) [4]string { return [4]string{c.Consumer} })
	s := a.schedules() // from times without those for which threads had no core
	if s == nil {
		all -= late // who comes last because it had no core has no more to do than the others
	}
	if all <= 0 {
		return
	}
	where, evidence := c.Consumer, map[string]any{"consumer": c.Consumer, "waited_ns": all}
	remedy := words.Say("Hand out its iterations at run time: `schedule(dynamic)` or `schedule(guided)`.",
		"Раздавайте итерации по ходу дела: `schedule(dynamic)` или `schedule(guided)`.")
	bound := words.Say("If all threads came to the barriers at the same time, the run would end that much "+
		"sooner.",
		"Если бы все потоки приходили к барьерам одновременно, запуск закончился бы на столько же раньше.")
	wall := all / a.workers
	if s != nil {
		where = s.code
		evidence["loop"], evidence["now_ns"], evidence["static_ns"] = s.code, s.now, s.static
		evidence["dynamic_ns"], evidence["guided_ns"], evidence["chunk"] = s.dynamic, s.guided, s.chunk
		least, clause := s.best()
		wall = min(wall, s.now-least)
		bound = words.Say("With the recorded times of its chunks, the loop takes its threads %s: now %s, "+
			"`static` %s, `dynamic, %d` %s, `guided` %s.",
			"При записанных временах порций цикл занимает потоки %s: сейчас %s, `static` — %s, `dynamic, %d` — %s, "+
				"`guided` — %s.", words.Time(least), words.Time(s.now), words.Time(s.static), s.chunk,
			words.Time(s.dynamic), words.Time(s.guided))
		remedy = words.Say("Best is `%s`.", "Лучше всего `%s`.", clause)
	}
	a.add("uneven-loop", wall, min(wall*a.workers, all), bound, evidence, words.Say(
		"Threads waited %s (%s) at barriers for the slowest one, mostly after `%s`: some of its iterations take "+
			"longer than others. %s",
		"Потоки ждали самого медленного у барьеров %s (%s), больше всего после `%s`: одни итерации дольше "+
			"других. %s",
		words.Time(all), a.share(all), where, remedy))
}

// schedule is how long a loop takes its threads in all, in ns, as it is and by other schedules.
type schedule struct {
	code                         string // of the loop
	now, static, dynamic, guided int64
	chunk                        int64 // iterations, of dynamic
}

// best is the least time, and the clause for it. What is simpler is preferred where it is nearly as good:
// nothing has to be given out by a static schedule, and guided begins with large chunks, however long they
// take.
func (s *schedule) best() (ns int64, clause string) {
	least := min(s.static, s.dynamic, s.guided)
	nearly := least + least/50
	switch {
	case s.static <= nearly:
		return s.static, "schedule(static)"
	case s.dynamic <= nearly:
		return s.dynamic, fmt.Sprintf("schedule(dynamic, %d)", s.chunk)
	}
	return s.guided, "schedule(guided)"
}

// chunksEach is into how many chunks for each thread another schedule would divide a loop.
const chunksEach = 16

// chunk is a chunk of a loop, or a thread's share.
type chunk struct {
	thread model.CF // the implicit task
	first  int64    // iteration
	from   int64    // time, ns
	ns     int64    // without what its thread waited for a core
}

// schedules is what another schedule would give to the loop that gains most by it; nil if none is known.
func (a *advisor) schedules() *schedule {
	if a.replay == nil {
		return nil
	}
	m := a.facts.m
	type key struct { // a loop within one execution of a region
		region model.CF
		site   uint32
	}
	type part struct{ from, n, filled int } // of chunks
	loop, team := map[key]*part{}, map[model.CF]int{}
	isLoop, isThread := make([]bool, len(m.Codes)), make([]bool, len(m.Codes))
	for i := range m.Codes {
		name := m.Codes[i].Name
		isLoop[i] = construct(name, loopChunk)
		isThread[i] = construct(name, parallelThread) && !construct(name, parallelRegion)
	}
	// each calls f with each chunk, its first iteration, and the loop that it is of.
	each := func(f func(cf model.CF, first int64, k key)) {
		for i, parent := range m.Parent {
			cf := model.CF(i)
			if parent == 0 || !isLoop[m.CodeOf(cf)] || m.Created[cf] == model.None {
				continue
			}
			if label := m.Label(cf); len(label) == 1 {
				f(cf, int64(label[0]), key{m.Parent[parent], m.SiteOf[cf]})
			}
		}
	}
	for i, parent := range m.Parent {
		if parent != 0 && isThread[m.CodeOf(model.CF(i))] {
			team[parent]++
		}
	}
	each(func(_ model.CF, _ int64, k key) {
		if loop[k] == nil {
			loop[k] = &part{}
		}
		loop[k].n++
	})
	if len(loop) == 0 {
		return nil
	}
	n := 0
	for _, p := range loop {
		p.from = n
		n += p.n
	}
	taken := model.Make[int64](m, len(m.Created))
	first, end := m.OwnExecutions()
	for e := first; e < end; e++ {
		x := &a.replay.List[e-first]
		taken[m.ExecCF[e]] += x.End - x.Start - int64(x.Queued)
	}
	chunks := model.Make[chunk](m, n)
	each(func(cf model.CF, first int64, k key) {
		p := loop[k]
		chunks[p.from+p.filled] = chunk{m.Parent[cf], first, m.Created[cf], taken[cf]}
		p.filled++
	})
	loops := map[string]*schedule{}
	for k, p := range loop {
		if threads := team[k.region]; threads > 1 {
			code := m.Codes[m.Sites[k.site].Code].Name
			if loops[code] == nil {
				loops[code] = &schedule{code: code}
			}
			loops[code].take(chunks[p.from:p.from+p.n], threads)
		}
	}
	var best *schedule
	gain := func(s *schedule) int64 { least, _ := s.best(); return s.now - least }
	for _, code := range slices.Sorted(maps.Keys(loops)) {
		if s := loops[code]; gain(s) > 0 && (best == nil || gain(s) > gain(best)) {
			best = s
		}
	}
	return best
}

// take adds what a loop took each time that a region came to it. A thread that begins again with no later
// iteration than its last has come to the loop again: then all others have, too, since they waited for it.
func (s *schedule) take(list []chunk, threads int) {
	slices.SortFunc(list, func(x, y chunk) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.first, y.first))
	})
	last := map[model.CF]int64{}
	from := 0
	for i, c := range list {
		if before, ok := last[c.thread]; ok && c.first <= before {
			s.once(list[from:i], threads)
			clear(last)
			from = i
		}
		last[c.thread] = c.first
	}
	s.once(list[from:], threads)
}

// once adds what a loop took at one time. It sorts the list.
func (s *schedule) once(list []chunk, threads int) {
	now := map[model.CF]int64{}
	for _, c := range list {
		now[c.thread] += c.ns
	}
	longest, _ := most(now, func(x, y model.CF) int { return cmp.Compare(x, y) })
	s.now += now[longest]
	cost := newIterations(list)
	s.static += cost.blocks(threads)
	chunk := max((cost.end-cost.first)/int64(chunksEach*threads), 1)
	s.chunk = max(s.chunk, chunk)
	s.dynamic += cost.handedOut(threads, func(int64) int64 { return chunk })
	s.guided += cost.handedOut(threads, func(left int64) int64 { return max(left/int64(2*threads), 1) })
}

// iterations tell how long each part of a loop's iterations took.
type iterations struct {
	first, end int64
	chunks     []chunk // in order of iterations
}

func newIterations(list []chunk) iterations {
	slices.SortFunc(list, func(x, y chunk) int { return cmp.Compare(x.first, y.first) })
	// Where the last chunk ends is not recorded: it counts as large as the one before.
	n := len(list)
	size := int64(1)
	if n > 1 {
		size = max(list[n-1].first-list[n-2].first, 1)
	}
	return iterations{list[0].first, list[n-1].first + size, list}
}

// between is how long the iterations from one up to but not including another took.
func (it iterations) between(from, to int64) (ns int64) {
	i, found := slices.BinarySearchFunc(it.chunks, from, func(c chunk, at int64) int {
		return cmp.Compare(c.first, at)
	})
	if !found {
		i--
	}
	for ; i < len(it.chunks) && it.chunks[i].first < to; i++ {
		c, end := &it.chunks[i], it.end
		if i+1 < len(it.chunks) {
			end = it.chunks[i+1].first
		}
		if part := min(end, to) - max(c.first, from); part > 0 {
			ns += int64(math.Round(float64(c.ns) * float64(part) / float64(end-c.first)))
		}
	}
	return ns
}

// blocks is when the last of so many threads ends, if each has one block of iterations.
func (it iterations) blocks(threads int) (longest int64) {
	n := it.end - it.first
	for t := range int64(threads) {
		longest = max(longest, it.between(it.first+n*t/int64(threads), it.first+n*(t+1)/int64(threads)))
	}
	return longest
}

// handedOut is when the last of so many threads ends, if the one that is free first gets the next iterations:
// as many as size says of what is left.
func (it iterations) handedOut(threads int, size func(left int64) int64) int64 {
	free := make([]int64, threads)
	for at := it.first; at < it.end; {
		next := min(at+size(it.end-at), it.end)
		t := 0
		for i := range free {
			if free[i] < free[t] {
				t = i
			}
		}
		free[t] += it.between(at, next)
		at = next
	}
	return slices.Max(free)
}
