package division

import (
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Add takes in a block of events. Blocks of one stream come in the order they were recorded, those of different streams in
// any order. defs are the definitions in that node's file so far; they may grow between calls. Nothing of either is kept
// that the caller may change, except that defs is asked again later.
func (d *Division) Add(defs *trace.Defs, b *trace.Batch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stream(b.Node, b.Stream)
	s.defs = defs
	for i, t := range b.Time {
		d.event(s, t, b.Kind[i], b.Args(i))
	}
	if d.dirty > max(maxDirty, 4*d.workers()) {
		d.settle()
	}
	if d.added += int64(b.N); d.limit > 0 && d.added > d.limit/1000 {
		// An event takes some dozens of bytes: look often enough, and no more often.
		d.added = 0
		if n := d.bytes(); n > d.limit && n > d.weighed*9/8 {
			d.shrink()
		}
	}
}

// maxDirty is how many chunks may wait for being divided.
const maxDirty = 1 << 10

func node32(v uint64) int32 { return int32(min(v, trace.MaxNode)) }

func (d *Division) event(s *stream, t int64, kind trace.Kind, a []uint64) {
	s.last = max(s.last, t)
	if t < s.first || s.first == none {
		s.first = t
	}
	if t < d.horizon && d.at(t, s.number) < d.horizon {
		d.late++
	}
	switch kind {
	case trace.KindCFCreated:
		d.created(s, t, a)
	case trace.KindCFReady:
		d.ready(s, t-int64(a[1]), d.cf(a[0]))
	case trace.KindCFStarted:
		d.execute(s, t, d.cf(a[0]), uint32(a[1]), a[3:])
	case trace.KindCFFinished:
		d.ended(s, t, d.cf(a[0]), int64(a[2]))
	case trace.KindDFCreate:
		d.make(s, t, d.df(s.node, a[0]), d.cf(a[2]))
	case trace.KindDFStored, trace.KindDFDropped:
		d.copied(s, t, uint32(d.df(s.node, a[0])))
	case trace.KindDFDestroy:
		n := uint32(d.df(s.node, a[0]))
		d.dfs.at(n).gone = true
		d.copied(s, t, n)
	case trace.KindCFDestroyed:
		d.cfs.at(d.cf(a[0])).gone = true
	case trace.KindDFSent:
		d.sent(s, t, uint32(d.df(s.node, a[0])), d.message(a[3]), d.request(a[4]))
	case trace.KindDFReceived:
		d.received(s, t, uint32(d.df(s.node, a[0])), node32(a[1]), d.message(a[3]), d.request(a[4]))
	case trace.KindDFRequested:
		d.asked(s, t, uint32(d.df(s.node, a[0])), d.request(a[3]))
	case trace.KindDFRequestReceived:
		d.askedHere(s, t, uint32(d.df(s.node, a[0])), node32(a[1]), d.request(a[2]))
	case trace.KindCFMigrated, trace.KindCFStolen, trace.KindCFReceived:
		d.move(d.cf(a[0]), move{stamp{t, s.number}, node32(a[1]), kind != trace.KindCFReceived, kind == trace.KindCFStolen})
	case trace.KindCFHeld, trace.KindCFResumed:
		c := d.cf(a[0])
		d.held[c] = append(d.held[c], holding{stamp{t, s.number}, kind == trace.KindCFHeld})
	case trace.KindEntered:
		d.regions = true
	default:
		d.global(s, t, kind, a)
	}
}

// global takes the events of a whole stream or node.
func (d *Division) global(s *stream, t int64, kind trace.Kind, a []uint64) {
	switch kind {
	case trace.KindProgramStarted:
		if s.started == none {
			s.started, s.process, s.startedCPU = t, int(min(a[0], 1<<20)), int64(a[1])
			d.show(s)
		}
	case trace.KindProgramFinished:
		s.finished, s.finishedCPU = t, int64(a[0])
	case trace.KindIdle:
		if s.idleSince == none {
			s.idleSince = t
		}
	case trace.KindBusy:
		if s.idleSince != none && t >= s.idleSince {
			s.idle = append(s.idle, span{s.idleSince, t})
		}
		s.idleSince = none
	case trace.KindWaitStarted:
		s.openWaits = append(s.openWaits, openWait{s.defs.Name(trace.Name(a[0])), len(s.waits)})
		s.waits = append(s.waits, span{t, forever})
		s.cutsChange()
	case trace.KindWaitEnded:
		name := s.defs.Name(trace.Name(a[0]))
		for i := len(s.openWaits) - 1; i >= 0; i-- {
			if w := s.openWaits[i]; w.name == name {
				s.waits[w.index].to = t
				s.openWaits = s.openWaits[:i]
				s.cutsChange()
				break
			}
		}
	case trace.KindLost:
		s.lost = append(s.lost, loss{int64(min(a[3], math.MaxInt64)), int64(a[1]), int64(a[2])})
		for _, w := range s.workers {
			w.cutsChanged = true
		}
	case trace.KindClockSync:
		from, straight := s.clock.add(model.ClockSync{Time: t, Offset: int64(a[0])}, s.id)
		d.clockFrom, d.corrected = min(d.clockFrom, from), d.corrected || s.clock.on
		d.tangled = d.tangled || !straight
	}
}

func (s *stream) cutsChange() {
	if s.worker != nil {
		s.worker.cutsChanged = true
	}
}

// show makes a stream of a node that run.json does not list a worker.
func (d *Division) show(s *stream) {
	if s.worker == nil && s.id < maxWorkers && d.info.Node(s.node.number) == nil {
		d.setWorkers(s.node)
	}
}

// created takes in the creation of a CF: its parent, and whether it is atomic.
func (d *Division) created(s *stream, t int64, a []uint64) {
	n := d.cf(a[0])
	if n == 0 {
		return
	}
	c := d.cfs.at(n)
	if c.known {
		if d.earlier(stamp{t, s.number}, stamp{c.created, c.createdBy}) >= 0 {
			return // created twice: the first counts
		}
		d.tangled = true
		key := childKey(c.parent, c.parentNumber)
		if c.parent != 0 {
			d.unlink(key, n)
		}
	}
	parent := d.cf(a[2])
	c.known, c.created, c.createdBy, c.parent, c.parentNumber = true, t, s.number, parent, uint32(a[3])
	if parent != 0 {
		key := childKey(parent, c.parentNumber)
		c.sibling = d.children[key]
		d.children[key] = n
		d.parental(parent)
	}
	structured := false
	if site, ok := s.defs.Site(trace.Site(a[1])); ok && a[1] < 1<<24 {
		code, ok := s.defs.Code(site.Code)
		structured = ok && code.Kind != trace.Atomic
	}
	if structured != c.structured {
		c.structured = structured
		for e := range d.executions(n) {
			if structured {
				d.remove(e)
			}
		}
		d.producerChanged(n)
	}
	if c.exec == 0 {
		return
	}
	d.cfChanged(n)
	for e := range d.executions(n) {
		d.forget(e)
		if structured {
			d.descend(e)
		}
		d.chain(e)
	}
}

// parental marks a CF as one that creates others.
func (d *Division) parental(n uint32) {
	c := d.cfs.at(n)
	if c.parental {
		return
	}
	c.parental = true
	for i, e := range d.multi[n] {
		d.tangled = d.tangled || i > 0 && d.execs.at(d.multi[n][i-1]).number > d.execs.at(e).number
	}
}

func (d *Division) unlink(key uint64, n uint32) {
	if d.children[key] == n {
		d.children[key] = d.cfs.at(n).sibling
		return
	}
	for c := d.children[key]; c != 0; c = d.cfs.at(c).sibling {
		if x := d.cfs.at(c); x.sibling == n {
			x.sibling = d.cfs.at(n).sibling
			return
		}
	}
}

func (d *Division) ready(s *stream, t int64, n uint32) {
	c := d.cfs.at(n)
	if c.ready != none {
		c.moreReady = true
		d.moreReady[n] = append(d.moreReady[n], stamp{c.ready, c.readyBy})
	}
	c.ready, c.readyBy = t, s.number
	if c.exec != 0 && !c.structured {
		x := d.at(t, s.number)
		for e := range d.executions(n) {
			d.gapChanged(e, x)
		}
	}
}

// execute takes in the start of an execution.
func (d *Division) execute(s *stream, t int64, n, number uint32, inputs []uint64) {
	place, list := d.inputs.reserve(len(inputs))
	e := d.execs.add(exec{start: t, end: none, cpu: -1, cf: n, number: number, stream: s.number, inputs: place, count: uint32(len(inputs))})
	for i, v := range inputs {
		list[i] = d.df(s.node, v)
		if list[i] != 0 {
			d.use(uint32(list[i]), e)
		}
	}
	s.open = append(s.open, e)
	if !s.ran {
		s.ran = true
		d.show(s)
	}
	c := d.cfs.at(n)
	if c.exec == 0 {
		c.exec = e
	} else {
		d.again(n, e)
	}
	if s.worker != nil && !c.structured {
		s.worker.insert(e)
	}
	if c.parental {
		d.descend(e)
		if !c.structured {
			d.chainBelow(e)
		}
	}
	d.chain(e)
}

// again takes in a further execution of a CF.
func (d *Division) again(n, e uint32) {
	c := d.cfs.at(n)
	list := d.multi[n]
	if !c.several {
		c.several, list = true, []uint32{c.exec}
	}
	at := len(list)
	for at > 0 && d.execOrder(e, list[at-1]) < 0 {
		at--
	}
	list = slices.Insert(list, at, e)
	d.multi[n] = list
	c.exec = list[len(list)-1]
	for i := max(at, 1); i < min(at+2, len(list)); i++ {
		// They are looked up by number in order of time. Where that is not the order of numbers, others may be found than before.
		d.tangled = d.tangled || c.parental && d.execs.at(list[i-1]).number > d.execs.at(list[i]).number
	}
	if !c.structured {
		d.producerChanged(n)
	}
}

// execOrder orders executions by start, then as they were recorded.
func (d *Division) execOrder(a, b uint32) int {
	x, y := d.execs.at(a), d.execs.at(b)
	if o := d.earlier(stamp{x.start, x.stream}, stamp{y.start, y.stream}); o != 0 {
		return o
	}
	return int(int64(a) - int64(b))
}

func (d *Division) ended(s *stream, t int64, n uint32, cpu int64) {
	for i := len(s.open) - 1; i >= 0; i-- {
		e := s.open[i]
		x := d.execs.at(e)
		if x.cf != n {
			continue
		}
		x.end, x.cpu = t, max(cpu, -1)
		// What started later and has not ended never will: its end was lost.
		s.open = s.open[:i]
		if x.chunk != 0 {
			d.chunks[x.chunk].touch()
		}
		if !d.cfs.at(n).structured {
			d.producerChanged(n)
		}
		return
	}
}

// make takes in the creation of a DF.
func (d *Division) make(s *stream, t int64, g model.DF, by uint32) {
	n := uint32(g)
	r := d.dfs.at(n)
	m := made{time: t, stream: s.number, df: n, by: by}
	if by != 0 {
		m.product = d.cfs.at(by).products
	}
	k := d.mades.add(m)
	if by != 0 {
		d.cfs.at(by).products = k
	}
	from := none
	if r.made != 0 {
		d.remade[n] = true
		from = d.at(t, s.number)
	} else if n != 0 {
		delete(d.seen, n)
	}
	d.placeMade(r, k)
	if d.mades.at(k).before == 0 {
		from = none // it is the first: what there was no creation for by its time has this one
	}
	d.dfChanged(n, from, anyNode)
}

// placeMade puts a creation into the list of its DF: latest first, of equal ones the last of the latest stream.
func (d *Division) placeMade(r *df, k uint32) {
	m := d.mades.at(k)
	at := &r.made
	for *at != 0 {
		o := d.mades.at(*at)
		if d.earlier(stamp{o.time, o.stream}, stamp{m.time, m.stream}) <= 0 {
			break
		}
		at = &o.before
	}
	m.before = *at
	*at = k
}

// sighted gives what is known of a DF whose creation was not recorded, nil where it was.
func (d *Division) sighted(n uint32) *sighting {
	if n == 0 || d.dfs.at(n).made != 0 {
		return nil
	}
	v := d.seen[n]
	if v == nil {
		v = &sighting{}
		d.seen[n] = v
	}
	return v
}

func appendOnce(list []uint32, n uint32) []uint32 {
	if slices.Contains(list, n) {
		return list
	}
	return append(list, n)
}

// copied notes that a node held, or gave up, a copy of a DF.
func (d *Division) copied(s *stream, t int64, n uint32) {
	v := d.sighted(n)
	if v == nil {
		return
	}
	i := slices.IndexFunc(v.copies, func(o stamp) bool { return d.streams[o.stream].node == s.node })
	switch {
	case i < 0:
		v.copies = append(v.copies, stamp{t, s.number})
	case t < v.copies[i].time:
		v.copies[i] = stamp{t, s.number}
	default:
		return
	}
	d.dfChanged(n, none, anyNode)
}

func (d *Division) sent(s *stream, t int64, n, number, req uint32) {
	g := d.messages.at(number)
	if g.sent != none && d.streamOrder(s.number, g.sender) < 0 {
		return
	}
	g.sent, g.sender, g.request = t, s.number, req
	if req != 0 {
		d.requests.at(req).answer = n
	}
	if g.received == none {
		g.df, g.from = n, int32(s.node.number)
	} else {
		d.dfChanged(g.df, d.at(g.received, g.receiver), noNode)
	}
	d.inMessage(g.df, number)
}

// inMessage notes that a message has a DF.
func (d *Division) inMessage(n, number uint32) {
	if v := d.sighted(n); v != nil {
		v.messages = appendOnce(v.messages, number)
		d.dfChanged(n, none, anyNode)
	}
}

func (d *Division) received(s *stream, t int64, n uint32, from int32, number, req uint32) {
	if number == 0 {
		number = d.messages.add(newMessage)
	}
	g := d.messages.at(number)
	if g.received != none {
		// Received twice: the later stream counts. Of the other only the entry in the list of receipts stays.
		d.tangled = true
		if d.streamOrder(s.number, g.receiver) < 0 {
			return
		}
	}
	g.received, g.receiver, g.from, g.df = t, s.number, from, n
	if g.sent == none {
		g.request = req
		if req != 0 {
			d.requests.at(req).answer = n
		}
	}
	d.placeReceipt(d.receipts.add(receipt{message: number, node: uint32(s.node.number)}))
	d.dfChanged(n, d.at(t, s.number), int32(s.node.number))
	d.inMessage(n, number)
}

// placeReceipt puts a receipt into the list of its DF, latest first.
func (d *Division) placeReceipt(k uint32) {
	r := d.receipts.at(k)
	t := d.receivedAt(r.message)
	at := &d.dfs.at(d.messages.at(r.message).df).receipts
	for *at != 0 {
		o := d.receipts.at(*at)
		if d.receivedAt(o.message) <= t {
			break
		}
		at = &o.next
	}
	r.next = *at
	*at = k
}

func (d *Division) asked(s *stream, t int64, n, number uint32) {
	q := d.requests.at(number)
	if q.sent != none && d.streamOrder(s.number, q.sender) < 0 {
		return
	}
	q.sent, q.sender = t, s.number
	if q.received == none {
		q.from, q.df = int32(s.node.number), n
	}
	d.inRequest(q.df, number)
	d.dfChanged(q.answer, d.at(t, s.number), noNode)
}

func (d *Division) askedHere(s *stream, t int64, n uint32, from int32, number uint32) {
	q := d.requests.at(number)
	if q.received != none && d.streamOrder(s.number, q.receiver) < 0 {
		return
	}
	q.received, q.receiver, q.from, q.df = t, s.number, from, n
	d.inRequest(n, number)
	d.dfChanged(q.answer, d.at(t, s.number), noNode)
}

// inRequest notes that a request is for a DF.
func (d *Division) inRequest(n, number uint32) {
	if v := d.sighted(n); v != nil {
		v.requests = appendOnce(v.requests, number)
		d.dfChanged(n, none, anyNode)
	}
}

func (d *Division) move(n uint32, m move) {
	if n == 0 {
		return
	}
	d.cfs.at(n).moved = true
	v := d.moves[n]
	if v == nil {
		v = &moves{}
		d.moves[n] = v
	}
	v.ends, v.epoch = append(v.ends, m), 0
	d.cfChanged(n)
}

// What a fact changes.

// gapChanged tells that a fact about the time from concerns the gap before an execution. Facts later than the gap do not.
func (d *Division) gapChanged(e uint32, from int64) {
	if x := d.execs.at(e); x.chunk != 0 && (x.far || d.at(x.start, x.stream) >= from) {
		d.chunks[x.chunk].touch()
	}
}

// cfChanged tells that something about a CF itself has changed.
func (d *Division) cfChanged(n uint32) {
	if d.cfs.at(n).structured {
		return // there are no gaps before it
	}
	for e := range d.executions(n) {
		d.gapChanged(e, none)
	}
}

// Which nodes' control inputs a fact about a DF concerns, beside a node's number.
const (
	anyNode = int32(-2)
	noNode  = int32(-3)
)

// dfChanged tells that something about a DF has changed for those that were given it, unless they started before a time.
func (d *Division) dfChanged(n uint32, from int64, node int32) {
	if n == 0 {
		return
	}
	g := d.dfs.at(n)
	for k := g.uses; k != 0; {
		u := d.uses.at(k)
		if u.latest < from && !g.far && !d.corrected {
			return // all others started earlier
		}
		d.gapChanged(u.exec, from)
		if node != noNode && d.hasControl(u.exec) && d.started(u.exec) >= from &&
			(node == anyNode || node == d.nodeOf(u.exec)) {
			d.forget(u.exec)
		}
		k = u.next
	}
}

// producerChanged tells that a CF may have ended at another time than what it made was thought to be there.
func (d *Division) producerChanged(n uint32) {
	if n == 0 {
		return
	}
	for k := d.cfs.at(n).products; k != 0; {
		m := d.mades.at(k)
		from := none // the first creation counts for those who started before it, too
		if m.before != 0 {
			from = d.at(m.time, m.stream)
		}
		d.dfChanged(m.df, from, anyNode)
		k = m.product
	}
}
