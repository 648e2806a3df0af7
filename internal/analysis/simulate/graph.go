package simulate

import (
	"cmp"
	"context"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// graph is what a recorded run had to do, without its times: executions in the order of CFs, values of DFs,
// and who needs what. Value i+1 is creation i of the model; 0 is a DF that was there from the start, or
// whose creation was not recorded.
type graph struct {
	m *model.Model

	first  []uint32  // by CF, and one more: its executions are first[cf] <= x < first[cf+1]
	cf     []uint32  // by execution
	own    []int64   // ns on its worker on the recorded machine: user code, or making CFs
	asleep []float32 // by execution: part of its time for which its thread had given up the core
	waited []float32 // ns in own code for a core that the run-time system's own threads had
	odd    []float32 // ns by which the gap before it was longer than costs explain
	node   []uint16  // where it ran
	late   []bool    // by site: its CFs go to their node when they reach the head of a queue, not when created
	inAt   []uint32  // by execution, and one more
	in     []uint32  // values
	outAt  []uint32
	out    []uint32 // values, in the order of creation
	kidAt  []uint32
	kid    []uint32       // CFs, in the order of creation
	roots  []uint32       // CFs that nobody created
	given  []uint32       // values that are there from the start
	alone  []uint32       // values that no CF made: they come when they came in the recorded run
	home   []uint16       // by value: where it was kept, to be asked for
	size   []int64        // by value
	step   map[uint32]int // by value: the step between the nodes that keep it, where several do
	pushed []bool         // by input: its value was sent to the CF without being asked for
	steals int64
	// together: nodes are threads of one process, so a worker that parks leaves its core to them.
	together bool
	maker    []uint32 // by CF: 1 + the execution that created it

	madeIn  []uint32 // by value: 1 + the execution that made it
	started []uint32 // executions in the order of their recorded starts
	places  places
	crowd   crowd

	useful  int64    // ns of user code that was not blocked
	locked  int64    // ns for which it waited for locks
	traffic float64  // bytes a second that it read and wrote, as far as they are values of DFs
	few     []string // code fragments measured fewer than fewRuns times that took a 20th of useful
	index   []uint32 // by execution of the model: its number here
}

// newGraph finds what the run of a model had to do.
func newGraph(ctx context.Context, m *model.Model) (*graph, error) {
	g := &graph{m: m, crowd: crowdOf(m), first: make([]uint32, len(m.Created)+1),
		late: make([]bool, len(m.Sites)), together: len(m.Processes) < 2}
	busy := m.BusyUntil()
	var order []uint32 // executions of the model in the order of g
	for i := range m.Created {
		g.first[i] = uint32(len(order))
		for e := range m.ExecutionsOf(model.CF(i)) {
			order = append(order, uint32(e))
		}
	}
	g.first[len(m.Created)] = uint32(len(order))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.values()
	g.inAt = append(g.inAt, 0)
	for _, e := range order {
		cf := m.ExecCF[e]
		_, node := m.WorkerOf(int(e))
		node = max(node, 0)
		if m.Sites[m.SiteOf[cf]].Stealable {
			for _, move := range m.MovesOf(cf) {
				if move.Stolen && move.Sent != model.None {
					node = move.From // there it was, until it was stolen
					break
				}
			}
		}
		own, queued := busy[e]-m.ExecStart[e], int64(0)
		if m.Atomic(cf) {
			own, queued = ownTime(m, int(e))
		}
		g.asleep = append(g.asleep, 0)
		if own > 0 && m.Atomic(cf) {
			g.asleep[len(g.asleep)-1] = float32(min(float64(blocked(m, int(e)))/float64(own), 1))
		}
		g.waited = append(g.waited, float32(g.crowd.own*float64(queued)))
		g.cf, g.own, g.node = append(g.cf, uint32(cf)), append(g.own, max(own, 0)), append(g.node, uint16(node))
		for _, df := range m.Inputs(int(e)) {
			value, pushed := uint32(0), false
			if i, ok := m.Creation(df, m.ExecStart[e]); ok {
				value, pushed = uint32(i+1), g.isPush(df, cf, node)
			}
			g.in, g.pushed = append(g.in, value), append(g.pushed, pushed)
		}
		g.inAt = append(g.inAt, uint32(len(g.in)))
	}
	g.odd = make([]float32, len(order))
	g.index = make([]uint32, m.Executions())
	for x, e := range order {
		g.index[e] = uint32(x)
	}
	g.outputs()
	g.children()
	g.places = newPlaces(g)
	g.measure()
	g.started = make([]uint32, len(order))
	for x := range g.started {
		g.started[x] = uint32(x)
	}
	slices.SortStableFunc(g.started, func(x, y uint32) int {
		return cmp.Compare(m.ExecStart[order[x]], m.ExecStart[order[y]])
	})
	for _, move := range m.Moves {
		if move.Stolen && !m.Sites[m.SiteOf[move.CF]].Stealable {
			g.steals++
		}
	}
	return g, ctx.Err()
}

// ownTime is how long user code takes with a core of its own, and how long its thread waited for one. Where
// the latter is not known but the CPU time is, all else but the calls that were blocked was such waiting.
func ownTime(m *model.Model, e int) (own, queued int64) {
	w, _ := m.WorkerOf(e)
	start, end := m.ExecStart[e], m.EndOf(e)
	if w == nil {
		return end - start, 0
	}
	if off, ok := w.OffOf(e); ok {
		return end - start - off.Queued, off.Queued
	}
	if m.CPU(e) < 0 {
		return end - start, 0
	}
	own = min(m.CPU(e)+blocked(m, e), end-start)
	return own, end - start - own
}

// fewRuns is how often a code fragment has to run for its time to be known well.
const fewRuns = 5

// measure finds what user code did with its time.
func (g *graph) measure() {
	bytes := int64(0)
	runs, took := make([]int, len(g.m.Codes)), make([]int64, len(g.m.Codes))
	for x, cf := range g.cf {
		if !g.atomic(cf) {
			continue
		}
		useful := int64(float64(g.own[x]) * float64(1-g.asleep[x]))
		g.useful += useful
		code := g.m.CodeOf(model.CF(cf))
		runs[code]++
		took[code] += useful
		for _, v := range g.in[g.inAt[x]:g.inAt[x+1]] {
			bytes += g.size[v]
		}
		for _, v := range g.out[g.outAt[x]:g.outAt[x+1]] {
			bytes += g.size[v]
		}
	}
	for code, n := range runs {
		if n > 0 && n < fewRuns && 20*took[code] >= g.useful && took[code] > 0 {
			g.few = append(g.few, g.m.Codes[code].Name)
		}
	}
	if g.useful > 0 {
		g.traffic = float64(bytes) / float64(g.useful) * 1e9
	}
	for _, w := range g.m.AllWorkers() {
		for i := range w.Waits {
			if wait := &w.Waits[i]; wait.Blocked && wait.Name == "lock" {
				g.locked += wait.To - wait.From
			}
		}
	}
}

// blocked is how long user code was blocked, such as asleep, in which it needs no core.
func blocked(m *model.Model, e int) (ns int64) {
	w, _ := m.WorkerOf(e)
	if w == nil {
		return 0
	}
	start, end := m.ExecStart[e], m.EndOf(e)
	i, _ := slices.BinarySearchFunc(w.Waits, start, func(w model.Wait, t int64) int {
		return cmp.Compare(w.From, t)
	})
	for ; i < len(w.Waits) && w.Waits[i].From < end; i++ {
		ns += min(w.Waits[i].To, end) - w.Waits[i].From
	}
	return ns
}

// values finds where each value was kept: at the node that made it, or those that it was sent to without a
// request.
func (g *graph) values() {
	m := g.m
	g.home, g.size = make([]uint16, len(m.MadeTime)+1), make([]int64, len(m.MadeTime)+1)
	for i := range m.MadeTime {
		g.home[i+1], g.size[i+1] = m.MadeNode[i], m.SizeMade(i)
	}
	sent := map[uint32]int{} // of what several nodes keep: to how many it went
	for i := range m.DFMessages {
		msg := &m.DFMessages[i]
		if !msg.Recorded() || msg.Request != 0 || msg.CF != 0 || msg.Sent == model.None {
			continue
		}
		if c, ok := m.Creation(msg.DF, msg.Sent); ok {
			g.home[c+1] = uint16(msg.To)
			if m.Homes(msg.DF) != nil {
				sent[uint32(c+1)]++
			}
		}
	}
	g.replicated(sent)
}

// isPush tells whether a CF got a DF that was sent to it.
func (g *graph) isPush(df model.DF, _ model.CF, node int32) bool {
	for _, i := range g.m.Receipts(df, int(node)) {
		if msg := &g.m.DFMessages[i]; msg.Request == 0 && msg.CF != 0 {
			return true
		}
	}
	return false
}

// outputs gives each creation to the execution of its maker that was the last to start before it.
func (g *graph) outputs() {
	m := g.m
	g.madeIn = make([]uint32, len(m.MadeTime)+1)
	maker := g.madeIn[1:]
	for i, cf := range m.MadeBy {
		first, end := g.first[cf], g.first[cf+1]
		if cf == 0 {
			g.alone = append(g.alone, uint32(i+1))
		}
		if cf == 0 || first == end {
			continue
		}
		x := end - 1
		for e := range m.ExecutionsOf(cf) {
			if m.ExecStart[e] > m.MadeTime[i] {
				break
			}
			x = first
			first++
		}
		maker[i] = x + 1
	}
	g.outAt, g.out = group(len(g.cf), maker, func(i int) uint32 { return uint32(i + 1) },
		func(a, b uint32) int { return int(m.MadeTime[a-1] - m.MadeTime[b-1]) })
}

// children gives each CF to the execution that created it.
func (g *graph) children() {
	m := g.m
	g.maker = make([]uint32, len(m.Created))
	for cf := range m.CFs() {
		parent := m.Parent[cf]
		first, end := g.first[parent], g.first[parent+1]
		if parent == 0 || first == end {
			g.roots = append(g.roots, uint32(cf))
			continue
		}
		g.maker[cf] = min(first+max(m.ParentExec[cf], 1)-1, end-1) + 1
	}
	g.kidAt, g.kid = group(len(g.cf), g.maker, func(i int) uint32 { return uint32(i) },
		func(a, b uint32) int { return int(m.CFID(model.CF(a)).Counter()) - int(m.CFID(model.CF(b)).Counter()) })
	stayed := make([]int, len(m.Sites)) // CFs that left later, less those that left at once
	for x := range g.cf {
		kids := g.kid[g.kidAt[x]:g.kidAt[x+1]]
		for i, k := range kids {
			moves := m.MovesOf(model.CF(k))
			if len(moves) == 0 || moves[0].Sent == model.None {
				continue
			}
			// A CF whose locator needs no DF leaves before its next sibling is created. Who creates it may lose
			// its core in between, but not every time.
			sent, born := moves[0].Sent, m.Created[k]
			if sent-born > 20_000 && (i+1 == len(kids) || sent > m.Created[kids[i+1]]) {
				stayed[m.SiteOf[k]]++
			} else {
				stayed[m.SiteOf[k]]--
			}
		}
	}
	for site, n := range stayed {
		g.late[site] = n > 0
	}
}

// group lists, for keys below n, the items with 1 + that key, ordered by less.
func group(n int, key []uint32, item func(i int) uint32, order func(a, b uint32) int) (at, items []uint32) {
	at = make([]uint32, n+1)
	total := 0
	for _, k := range key {
		if k != 0 {
			at[k]++
			total++
		}
	}
	for k := 1; k <= n; k++ {
		at[k] += at[k-1]
	}
	next := slices.Clone(at)
	items = make([]uint32, total)
	for i, k := range key {
		if k != 0 {
			items[next[k-1]] = item(i)
			next[k-1]++
		}
	}
	for k := range n {
		if l := items[at[k]:at[k+1]]; len(l) > 1 && !slices.IsSortedFunc(l, order) {
			slices.SortStableFunc(l, order)
		}
	}
	return at, items
}

func (g *graph) atomic(cf uint32) bool { return g.m.Atomic(model.CF(cf)) }
