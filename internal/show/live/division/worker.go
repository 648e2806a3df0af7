package division

import (
	"cmp"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// worker is one worker's time.
type worker struct {
	d      *Division
	node   *node
	number int
	stream *stream // nil: nothing has come from it

	chunks []*chunk
	frozen int // how many of them, the first ones, stay as they are
	tree   fenwick
	dirty  []*chunk

	cuts        []cut // what is cut out first; ordered, disjoint
	cutsChanged bool
	waitCuts    []cut // of its waits
	kept        waitState
	simple      bool // cuts are those of the waits only, and share their memory

	rest  rest // after the last chunk
	whole bool // rest is all of it: the chunks cannot be used
	idled idleSum
}

// touch marks a chunk to be divided anew.
func (c *chunk) touch() {
	if c.dirty || c.frozen {
		return
	}
	c.dirty = true
	w := c.worker
	if len(w.dirty) == 0 {
		w.d.touched = append(w.d.touched, w)
	}
	w.dirty = append(w.dirty, c)
	w.d.dirty++
}

// insert puts the execution of an atomic CF in its place. Executions of a worker come in order, unless clocks run backwards.
func (w *worker) insert(e uint32) {
	d := w.d
	start := d.started(e)
	if w.frozen > 0 && start < w.chunks[w.frozen-1].to {
		return // too late
	}
	if len(w.chunks) == w.frozen {
		w.addChunk(w.frozen)
	}
	at := len(w.chunks) - 1
	if last := w.chunks[at]; len(last.execs) > 0 && d.started(last.execs[0]) > start {
		list := w.chunks[w.frozen:at]
		at = w.frozen + max(sort.Search(len(list), func(i int) bool { return d.started(list[i].execs[0]) > start })-1, 0)
	}
	c := w.chunks[at]
	i := len(c.execs)
	for i > 0 && d.execOrder(e, c.execs[i-1]) < 0 {
		i--
	}
	if i == len(c.execs) && at == len(w.chunks)-1 && i >= chunkLen {
		c.touch() // its last execution ends by this one's start
		c = w.addChunk(len(w.chunks))
		i = 0
	}
	c.execs = slices.Insert(c.execs, i, e)
	d.execs.at(e).chunk = c.number
	c.touch()
	if i == 0 && c.pos > 0 {
		w.chunks[c.pos-1].touch()
	}
	if len(c.execs) >= 2*chunkLen {
		w.split(c)
	}
}

// addChunk makes a chunk at a place.
func (w *worker) addChunk(pos int) *chunk {
	c := &chunk{worker: w, number: uint32(len(w.d.chunks)), pos: pos}
	w.d.chunks = append(w.d.chunks, c)
	w.chunks = slices.Insert(w.chunks, pos, c)
	if pos == len(w.chunks)-1 {
		w.tree = w.tree.grow()
		return c
	}
	w.replant()
	return c
}

// replant makes the tree anew.
func (w *worker) replant() {
	w.tree = w.tree[:0]
	for i, c := range w.chunks {
		c.pos = i
		w.tree = append(w.tree, c.sum)
	}
	for i := range w.tree {
		if up := i | (i + 1); up < len(w.tree) {
			w.tree[up].add(&w.tree[i])
		}
	}
}

func (w *worker) split(c *chunk) {
	n := w.addChunk(c.pos + 1)
	half := len(c.execs) / 2
	n.execs = slices.Clone(c.execs[half:])
	c.execs = c.execs[:half]
	for _, e := range n.execs {
		w.d.execs.at(e).chunk = n.number
	}
	n.from, n.to = c.to, c.to
	n.touch()
	c.touch()
}

// remove takes an execution out that has turned out to be of a structured CF.
func (d *Division) remove(e uint32) {
	x := d.execs.at(e)
	if x.chunk == 0 {
		return
	}
	c := d.chunks[x.chunk]
	x.chunk = 0
	c.touch()
	if i := slices.Index(c.execs, e); i >= 0 {
		c.execs = slices.Delete(c.execs, i, i+1)
	}
	w := c.worker
	if c.pos > 0 {
		w.chunks[c.pos-1].touch()
	}
	if len(c.execs) == 0 {
		w.drop(c)
	}
}

// drop removes an empty chunk; its time goes to its neighbours.
func (w *worker) drop(c *chunk) {
	pos := c.pos
	w.chunks = slices.Delete(w.chunks, pos, pos+1)
	w.d.chunks[c.number] = nil
	c.pos = -1
	if pos == len(w.chunks) {
		w.tree = w.tree[:pos]
		return
	}
	w.replant()
	w.chunks[pos].touch()
}

// settle divides what has changed, in order of time: where a chunk ends the next one begins.
func (w *worker) settle() {
	slices.SortFunc(w.dirty, func(a, b *chunk) int { return cmp.Compare(a.pos, b.pos) })
	for _, c := range w.dirty {
		if c.pos < 0 || !c.dirty {
			continue
		}
		for {
			w.divide(c)
			if c.pos+1 == len(w.chunks) {
				break
			}
			if next := w.chunks[c.pos+1]; next.dirty || next.from == c.to {
				break
			} else {
				c = next
			}
		}
	}
	clear(w.dirty)
	w.dirty = w.dirty[:0]
}

// divide works out the pieces of a chunk.
func (w *worker) divide(c *chunk) {
	c.dirty, c.from = false, w.d.start
	if c.pos > 0 {
		c.from = w.chunks[c.pos-1].to
	}
	next := forever
	if c.pos+1 < len(w.chunks) {
		next = w.d.started(w.chunks[c.pos+1].execs[0])
	}
	k := cutter{w: w, cuts: w.cuts, p: pieces{out: c.packed[:0]}}
	c.to, c.open = k.run(c.execs, c.from, next, forever)
	k.p.flush()
	c.packed = k.p.out
	diff := k.p.sum
	diff.sub(&c.sum)
	c.sum = k.p.sum
	w.tree.add(c.pos, &diff)
}

// cutter cuts a stretch of a worker's time into pieces, as slou does for a whole worker.
type cutter struct {
	w    *worker
	cuts []cut // those that end before the pieces so far are gone
	p    pieces
	left int64 // CPU time of the present execution
}

// run divides executions of atomic CFs and the gaps before them, the first of which begins at a. next is when the
// execution after them starts; no time lasts beyond limit. It tells where that ends. An execution that is open has not
// ended, and neither has the limit: its time is left out.
func (k *cutter) run(execs []uint32, a, next, limit int64) (to int64, open bool) {
	d := k.w.d
	i := sort.Search(len(k.cuts), func(i int) bool { return k.cuts[i].to > a })
	k.cuts = k.cuts[i:]
	start := none
	if len(execs) > 0 {
		start = d.started(execs[0])
	}
	for i, e := range execs {
		x := d.execs.at(e)
		after, end := next, forever
		if i+1 < len(execs) {
			after = d.started(execs[i+1])
		}
		if x.end != none {
			end = d.at(x.end, x.stream)
		}
		start = min(max(start, a), limit)
		end = min(max(min(end, after), start), limit)
		k.gap(e, x, a, start)
		if end == forever {
			return start, true
		}
		k.left = end - start
		if x.cpu >= 0 {
			k.left = x.cpu
		}
		k.clip(slou.FactorU, start, end)
		a, start = end, after
	}
	return a, false
}

func (k *cutter) gap(e uint32, x *exec, a, start int64) {
	d := k.w.d
	x.far = false
	if a >= start {
		return
	}
	d.gap, d.facts.begin, d.far = e, start, false
	g := slou.Gap{Node: int32(k.w.node.number), CF: model.CF(x.cf), Execution: int(e), A: a, D: start}
	d.steps = slou.Divide(d.facts, g, d.dataOnly, d.steps[:0])
	if x.far = d.far; x.far {
		for _, g := range d.inputs.at(x.inputs, x.count) {
			d.dfs.at(uint32(g)).far = true
		}
		d.dfs.at(x.fetched).far = true
	}
	for i := len(d.steps) - 1; i >= 0; i-- {
		k.clip(d.steps[i].Factor, d.steps[i].From, d.steps[i].To)
	}
}

// clip gives a stretch of time to a factor, except what is cut out of it.
func (k *cutter) clip(f slou.Factor, from, to int64) {
	for from < to {
		for len(k.cuts) > 0 && k.cuts[0].to <= from {
			k.cuts = k.cuts[1:]
		}
		if len(k.cuts) == 0 || k.cuts[0].from >= to {
			k.give(f, to-from)
			return
		}
		c := k.cuts[0]
		if from < c.from {
			k.give(f, c.from-from)
			from = c.from
		}
		k.p.add(c.factor, min(c.to, to)-from)
		from = min(c.to, to)
	}
}

func (k *cutter) give(f slou.Factor, ns int64) {
	if f != slou.FactorU {
		k.p.add(f, ns)
		return
	}
	u := min(k.left, ns)
	k.left -= u
	k.p.add(f, u)
	k.p.add(slou.FactorO, ns-u)
}

// rest is a stretch of a worker's time that is worked out for each question.
type rest struct {
	from   int64
	packed []byte
	sum    amounts
}

// finish works out what comes after the last chunk: the execution that goes on, or nothing to do; and what was not recorded.
func (w *worker) finish() {
	d := w.d
	from, f := d.start, slou.FactorS
	if n := len(w.chunks); n > 0 {
		from = w.chunks[n-1].to
		if w.chunks[n-1].open {
			f = slou.FactorU
		}
	}
	lost := forever // from when on nothing is known
	if d.endsRecorded() && (w.stream == nil || w.stream.finished == none) {
		lost = d.start
		if w.stream != nil && w.stream.last != none {
			lost = max(d.at(w.stream.last, w.stream.number), lost)
		}
	}
	end := min(d.end, lost)
	k := cutter{w: w, cuts: w.cuts, left: forever}
	w.whole = from > end && w.frozen == 0
	if w.whole {
		// Clocks that run backwards, or events after the end: the chunks reach too far.
		from = d.start
		var execs []uint32
		for _, c := range w.chunks {
			execs = append(execs, c.execs...)
		}
		k.cuts = overlay([]cut{{lost, forever, slou.FactorLoss}}, w.cuts)
		from, _ = k.run(execs, from, forever, d.end)
		k.left = forever
		k.clip(slou.FactorS, from, d.end)
		from = d.start
	} else {
		i := sort.Search(len(k.cuts), func(i int) bool { return k.cuts[i].to > from })
		k.cuts = k.cuts[i:]
		k.clip(f, from, end)
		k.p.add(slou.FactorLoss, d.end-max(from, end))
	}
	k.p.flush()
	w.rest = rest{from, k.p.out, k.p.sum}
}

// upTo adds up a worker's time until t.
func (w *worker) upTo(t int64) (sum amounts) {
	if !w.whole && t > w.d.start {
		i := sort.Search(len(w.chunks), func(i int) bool { return w.chunks[i].to > t })
		sum = w.tree.sum(i)
		if i < len(w.chunks) {
			upTo(w.chunks[i].packed, w.chunks[i].from, t, &sum)
			return sum
		}
	}
	upTo(w.rest.packed, w.rest.from, t, &sum)
	return sum
}
