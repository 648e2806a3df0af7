package division

import "github.com/whyslow/whyslow/internal/model"

// Bounded memory. When too much is held, everything about CFs and DFs that are gone and were last heard of before a horizon
// is forgotten: what stays is copied, so nothing has to be kept in a state in which single records can be taken out. The
// chunks before the horizon are frozen: their packed pieces stay as they are. When those are too much, they are
// folded (fold.go).
//
// What stays: executions that are not frozen, with all ancestors and inputs; CFs that have not run; structured CFs and DFs that
// have not been destroyed; the producers of these DFs, without inputs; messages with these DFs and those under way. If that
// is too much as well, age alone counts: a leak of the program must not be one here.

// Sizes of records in maps and of chunks beside their pieces, roughly.
const (
	mapBytes   = 40
	chunkBytes = 320
)

// bytes tells roughly how much memory is taken.
func (d *Division) bytes() int64 {
	f := d.facts
	n := f.cfs.bytes() + f.execs.bytes() + f.dfs.bytes() + f.mades.bytes() + f.uses.bytes() + f.receipts.bytes() +
		f.messages.bytes() + f.requests.bytes() + f.controls.bytes() + 4*f.inputs.size + 16*int64(cap(d.homes))
	n += mapBytes * int64(len(f.cfOf)+len(f.messageOf)+len(f.requestOf)+len(f.children)+len(d.dfOf))
	n += 4 * mapBytes * int64(len(f.multi)+len(f.moreReady)+len(f.moves)+len(f.seen)+len(f.held))
	for _, node := range d.nodes {
		if node != nil {
			n += 4*int64(cap(node.dfs)) + mapBytes*int64(len(node.odd))
		}
	}
	for _, s := range d.streams[1:] {
		n += 16 * int64(cap(s.waits)+cap(s.idle))
	}
	return n + d.chunkMemory()
}

func (d *Division) chunkMemory() (n int64) {
	for w := range d.eachWorker {
		n += int64(cap(w.waitCuts)+cap(w.cuts)) * 24
		for _, c := range w.chunks {
			n += chunkBytes + int64(cap(c.packed))
		}
	}
	return n
}

// shrink forgets what is old until little enough is held.
func (d *Division) shrink() {
	d.settle()
	for age := range 4 {
		n := d.execs.n
		if n < 2 {
			break // there is nothing to forget
		}
		// The youngest half of the executions stays, then a quarter, and so on.
		d.horizon = max(d.horizon, d.started(min(n-n>>(age+1), n-1)))
		d.freeze()
		d.forgetOld(age)
		for w := range d.eachWorker {
			w.trim()
		}
		if d.chunkMemory() > d.limit/4 {
			d.fold(age)
		}
		if d.bytes() <= d.limit*3/4 {
			break
		}
	}
	d.weighed = d.bytes()
}

// freeze fixes the chunks that end before the horizon.
func (d *Division) freeze() {
	live := []*chunk{nil}
	for w := range d.eachWorker {
		for i, c := range w.chunks {
			if i == w.frozen && i < len(w.chunks)-1 && c.to <= d.horizon && !c.open {
				for _, e := range c.execs {
					d.execs.at(e).chunk = 0
				}
				c.frozen, c.execs = true, nil
				w.frozen++
				continue
			}
			if !c.frozen {
				c.number = uint32(len(live))
				live = append(live, c)
				for _, e := range c.execs {
					d.execs.at(e).chunk = c.number
				}
			}
		}
	}
	d.chunks = live
}

// keeper finds out what stays.
type keeper struct {
	*Division
	age                                   int
	cfs, execs, bare, dfs, mess, requests []bool
}

// forgetOld drops the facts that nothing needs that may still change. age grows with the need.
func (d *Division) forgetOld(age int) {
	k := &keeper{Division: d, age: age, cfs: make([]bool, d.facts.cfs.n), execs: make([]bool, d.facts.execs.n), bare: make([]bool, d.facts.execs.n),
		dfs: make([]bool, d.facts.dfs.n), mess: make([]bool, d.facts.messages.n), requests: make([]bool, d.facts.requests.n)}
	k.roots()
	d.take(k)
}

// young tells of a time, none included, whether it is after the horizon.
func (k *keeper) young(t int64, stream uint32) bool {
	return t != none && k.at(t, stream) >= k.horizon
}

func (k *keeper) roots() {
	d := k.Division
	for e := uint32(1); e < d.facts.execs.n; e++ {
		x := d.facts.execs.at(e)
		c := d.facts.cfs.at(x.cf)
		if x.chunk != 0 || k.young(x.start, x.stream) || k.young(x.end, x.stream) || k.age < 1 && c.structured && !c.gone {
			k.exec(e)
		}
	}
	for _, s := range d.streams[1:] {
		for _, e := range s.open {
			k.exec(e)
		}
	}
	k.cfs[0] = true
	for n := uint32(1); n < d.facts.cfs.n; n++ {
		c := d.facts.cfs.at(n)
		waits := k.age < 2 && !c.gone && (c.known || c.ready != none)
		if c.exec == 0 && (waits || k.young(c.created, c.createdBy) || k.young(c.ready, c.readyBy)) {
			k.cf(n)
		}
	}
	k.dfs[0] = true
	for n := uint32(1); n < d.facts.dfs.n; n++ {
		g := d.facts.dfs.at(n)
		keep := k.age < 2 && !g.gone
		if m := d.mades.at(g.made); g.made != 0 {
			keep = keep || k.young(m.time, m.stream)
		}
		if g.receipts != 0 {
			keep = keep || d.receivedAt(d.facts.receipts.at(g.receipts).message) >= d.horizon
		}
		if v := d.seen[n]; v != nil {
			for _, s := range v.copies {
				keep = keep || k.young(s.time, s.stream)
			}
		}
		if keep {
			k.df(n)
		}
	}
	k.mess[0], k.requests[0] = true, true
	for n := uint32(1); n < d.facts.messages.n; n++ {
		g := d.facts.messages.at(n)
		if k.young(g.sent, g.sender) || g.received == none && k.age < 1 {
			k.message(n)
		}
	}
	for n := uint32(1); n < d.facts.requests.n; n++ {
		q := d.facts.requests.at(n)
		if k.young(q.sent, q.sender) || k.young(q.received, q.receiver) || q.answer == 0 && k.age < 1 {
			k.request(n)
		}
	}
}

// exec keeps an execution, its inputs and its ancestors.
func (k *keeper) exec(e uint32) {
	for ok := true; ok && !k.execs[e]; e, ok = k.parent(k.Division.execs.at(e).cf) {
		k.execs[e], k.bare[e] = true, true
		x := k.Division.execs.at(e)
		c := k.facts.cfs.at(x.cf)
		k.cfs[x.cf] = true
		if c.parent != 0 {
			k.cfs[c.parent] = true
		}
		for _, d := range k.inputs.at(x.inputs, x.count) {
			k.df(uint32(d))
		}
		k.df(x.fetched)
	}
}

// cf keeps a CF that may still run.
func (k *keeper) cf(n uint32) {
	k.cfs[n] = true
	if p := k.facts.cfs.at(n).parent; p != 0 {
		k.cfs[p] = true
		if e, ok := k.parent(n); ok {
			k.exec(e)
		}
	}
}

// df keeps a DF with the messages that brought it and with its producers.
func (k *keeper) df(n uint32) {
	if k.dfs[n] {
		return
	}
	k.dfs[n] = true
	g := k.facts.dfs.at(n)
	for m := g.made; m != 0; m = k.mades.at(m).before {
		if by := k.mades.at(m).by; by != 0 {
			k.cfs[by] = true
			for e := range k.executions(by) {
				k.bare[e] = true
			}
		}
	}
	for r := g.receipts; r != 0; r = k.facts.receipts.at(r).next {
		k.message(k.facts.receipts.at(r).message)
	}
	if v := k.seen[n]; v != nil {
		for _, m := range v.messages {
			k.message(m)
		}
		for _, q := range v.requests {
			k.request(q)
		}
	}
}

func (k *keeper) message(n uint32) {
	if k.mess[n] {
		return
	}
	k.mess[n] = true
	g := k.facts.messages.at(n)
	k.df(g.df)
	k.request(g.request)
}

func (k *keeper) request(n uint32) {
	k.requests[n] = true
	q := k.facts.requests.at(n)
	k.df(q.df)
	k.df(q.answer)
}

// copied copies the records of a pool that stay and gives their new numbers.
func copied[T any](from *pool[T], keep []bool) (to pool[T], number []uint32) {
	number = make([]uint32, from.n)
	to.add(*from.at(0))
	for i := uint32(1); i < from.n; i++ {
		if keep[i] {
			number[i] = to.add(*from.at(i))
		}
	}
	return to, number
}

// renumbered gives the entries of a map by number that stay.
func renumbered[V any](m map[uint32]V, number []uint32) map[uint32]V {
	out := map[uint32]V{}
	for k, v := range m {
		if k == 0 || number[k] != 0 {
			out[number[k]] = v
		}
	}
	return out
}

func renamed(m map[uint64]uint32, number []uint32) map[uint64]uint32 {
	out := map[uint64]uint32{}
	for id, n := range m {
		if number[n] != 0 {
			out[id] = number[n]
		}
	}
	return out
}

// take makes the facts anew from what stays.
func (d *Division) take(k *keeper) {
	old, f := d.facts, newFacts(d.dataOnly)
	f.streams, f.epoch = old.streams, old.epoch+1
	var cfs, execs, dfs, messages, requests []uint32 // new numbers by old ones
	f.cfs, cfs = copied(&old.cfs, k.cfs)
	f.execs, execs = copied(&old.execs, k.bare)
	f.dfs, dfs = copied(&old.dfs, k.dfs)
	f.messages, messages = copied(&old.messages, k.mess)
	f.requests, requests = copied(&old.requests, k.requests)
	f.cfOf, f.messageOf, f.requestOf = renamed(old.cfOf, cfs), renamed(old.messageOf, messages), renamed(old.requestOf, requests)
	f.moreReady, f.moves, f.held = renumbered(old.moreReady, cfs), renumbered(old.moves, cfs), renumbered(old.held, cfs)
	f.seen, f.remade = renumbered(old.seen, dfs), renumbered(old.remade, dfs)
	for i := range old.cfs.n {
		if !k.cfs[i] {
			continue
		}
		c := f.cfs.at(cfs[i])
		c.products, c.sibling, c.several, c.exec, c.parent = 0, 0, false, 0, cfs[c.parent]
		var list []uint32
		for e := range old.executions(i) {
			if execs[e] != 0 {
				list = append(list, execs[e])
			}
		}
		if len(list) > 0 {
			c.exec = list[len(list)-1]
		}
		if len(list) > 1 {
			c.several = true
			f.multi[cfs[i]] = list
		}
		if c.parent != 0 {
			key := childKey(c.parent, c.parentNumber)
			c.sibling = f.children[key]
			f.children[key] = cfs[i]
		}
	}
	f.linkDFs(old, k, dfs, cfs, execs, messages)
	for i := range f.messages.n {
		g := f.messages.at(i)
		g.df, g.request = dfs[g.df], requests[g.request]
	}
	for i := range f.requests.n {
		q := f.requests.at(i)
		q.df, q.answer = dfs[q.df], dfs[q.answer]
	}
	for _, v := range f.seen {
		for i, n := range v.messages {
			v.messages[i] = messages[n]
		}
		for i, n := range v.requests {
			v.requests[i] = requests[n]
		}
	}
	d.facts = f
	d.rename(dfs, execs)
}

// linkDFs makes the lists of the DFs and the inputs of executions anew.
func (f *facts) linkDFs(old *facts, k *keeper, dfs, cfs, execs, messages []uint32) {
	for e := uint32(1); e < old.execs.n; e++ {
		if execs[e] == 0 {
			continue
		}
		x := f.execs.at(execs[e])
		x.cf, x.control, x.fetched = cfs[x.cf], 0, dfs[x.fetched]
		before := old.inputs.at(x.inputs, x.count)
		if x.inputs, x.count = 0, 0; !k.execs[e] {
			continue // it is of interest for its end only
		}
		place, list := f.inputs.reserve(len(before))
		for i, g := range before {
			list[i] = model.DF(dfs[g])
		}
		x.inputs, x.count = place, uint32(len(before))
	}
	for g := range old.dfs.n {
		if !k.dfs[g] {
			continue
		}
		r, was := f.dfs.at(dfs[g]), old.dfs.at(g)
		*r = df{gone: was.gone, far: was.far}
		for u := was.uses; u != 0; u = old.uses.at(u).next {
			if e := old.uses.at(u).exec; k.execs[e] {
				f.use(dfs[g], execs[e])
			}
		}
		at := &r.made
		for m := was.made; m != 0; m = old.mades.at(m).before {
			x := *old.mades.at(m)
			x.df, x.by, x.before, x.product = dfs[g], cfs[x.by], 0, 0
			if x.by != 0 {
				x.product = f.cfs.at(x.by).products
			}
			*at = f.mades.add(x)
			if x.by != 0 {
				f.cfs.at(x.by).products = *at
			}
			at = &f.mades.at(*at).before
		}
		at = &r.receipts
		for m := was.receipts; m != 0; m = old.receipts.at(m).next {
			x := *old.receipts.at(m)
			x.message, x.next = messages[x.message], 0
			*at = f.receipts.add(x)
			at = &f.receipts.at(*at).next
		}
	}
}

// rename gives everything outside the facts that names DFs and executions their new numbers.
func (d *Division) rename(dfs, execs []uint32) {
	homes := make([]home, d.dfs.n)
	for i, h := range d.homes {
		if i == 0 || dfs[i] != 0 {
			homes[dfs[i]] = h
		}
	}
	d.homes = homes
	dfOf := map[uint64]model.DF{}
	for id, g := range d.dfOf {
		if dfs[g] != 0 {
			dfOf[id] = model.DF(dfs[g])
		}
	}
	d.dfOf = dfOf
	for id, list := range d.clashes {
		delete(d.clashes, id)
		for _, g := range list {
			if dfs[g] != 0 {
				d.clashes[id] = append(d.clashes[id], model.DF(dfs[g]))
			}
		}
	}
	for _, n := range d.nodes {
		if n == nil {
			continue
		}
		odd := map[uint64]model.DF{}
		for v, g := range n.odd {
			if dfs[g] != 0 {
				odd[v] = model.DF(dfs[g])
			}
		}
		for i, g := range n.dfs {
			if dfs[g] != 0 {
				odd[n.base+uint64(i)] = model.DF(dfs[g])
			}
		}
		n.base += uint64(len(n.dfs))
		n.odd, n.dfs = odd, nil
	}
	for _, s := range d.streams[1:] {
		for i, e := range s.open {
			s.open[i] = execs[e]
		}
	}
	for w := range d.eachWorker {
		for _, c := range w.chunks {
			for i, e := range c.execs {
				c.execs[i] = execs[e]
			}
		}
	}
}
