package simulate

// box holds the messages that links have delivered to a node and that it has not received. Until some time
// it works on the last one. Those that are on their way are in order of time; only the first is in the heap,
// as are those that overtake it.
type box struct {
	come, coming fifo[event]
	until        int64
	call         uint64 // the event at which the first of come is received, if that stays
	waking       bool   // until then the thread is being woken
}

// call sets when a node receives the first message of its box.
func (r *run) call(node int, t int64, waking bool) {
	r.push(t, received, uint32(node), 0)
	box := &r.boxes[node]
	box.call, box.waking = r.seq, waking
}

// send lets something arrive at another node. wait is what passes before it is sent. It gives what sending
// takes the sender.
func (r *run) send(from, to int, bytes int64, wait float64, what happening, a uint32) (ns float64) {
	r.res.Messages++
	c := &r.m.Costs
	ns = c.SendNS
	if bytes >= leastCopied {
		copied := c.CopyNS * float64(bytes) / (1 << 20)
		ns, wait = ns+copied, wait+copied
	}
	if r.flying[to]++; r.flying[to] == 1 {
		ns += c.SignalNS
	}
	t := r.now + int64(wait)
	latency, bandwidth := r.m.Link(from, to)
	if bandwidth > 0 {
		free := &r.link[from*r.m.Nodes+to]
		t = max(t, *free) + int64(float64(bytes)/bandwidth*1e9)
		*free = t
	}
	r.seq++
	e := event{t: t + int64(latency), seq: r.seq, a: a, w: uint32(from), to: uint16(to), what: what | due}
	if latency == 0 && bandwidth == 0 && r.g.together {
		e.by = r.by
	}
	coming := &r.boxes[to].coming
	if n := len(coming.items); coming.empty() || coming.items[n-1].t <= e.t {
		coming.items = append(coming.items, e)
		if len(coming.items) > coming.head+1 {
			return ns
		}
	}
	r.put(e)
	return ns
}

// delivered is a message that a link has delivered. The thread that receives messages at the node takes the
// first of its box; it has to be woken if it had nothing to do.
func (r *run) delivered(e *event) {
	e.what &^= due
	node := int(e.to)
	box := &r.boxes[node]
	if !box.coming.empty() && box.coming.first().seq == e.seq {
		if box.coming.drop(); !box.coming.empty() {
			r.put(*box.coming.first())
		}
	}
	asleep := box.come.empty()
	if box.come.items = append(box.come.items, *e); !asleep {
		return
	}
	c := &r.m.Costs
	if box.until >= r.now {
		r.call(node, box.until+int64(c.HandleNS), false)
		return
	}
	r.call(node, r.now+int64(take(c.transports, &r.taken.transport, c.TransportNS)), true)
	if e.by != 0 {
		r.wakes[e.by-1] = uint32(node) + 1
	}
}

// handOver gives the core of a worker that parks to the receiver of messages that it has just woken: in one
// process that one need not wait for another core any longer.
func (r *run) handOver(w uint32) {
	node := int(r.wakes[w]) - 1
	if r.wakes[w] = 0; node >= 0 && r.boxes[node].waking {
		r.call(node, r.now+int64(r.m.Costs.HandleNS), false)
	}
}

// receive lets a node take the first message of its box, at an event.
func (r *run) receive(node int, event uint64) {
	box := &r.boxes[node]
	if event != box.call {
		return // it was called earlier
	}
	e := *box.come.first()
	box.come.drop()
	r.flying[node]--
	r.rec.receives(node)
	ns := 0.0
	switch e.what {
	case cfCame:
		r.rec.cfCame(int(e.w), r.now, e.a)
		r.came(node)
		r.enqueue(node, e.a, false)
	case requestCame:
		r.rec.requestCame(int(e.w), r.now, e.a)
		ns = r.request(node, e.a)
	case inputCame:
		r.rec.inputCame(int(e.w), r.now, e.a)
		r.answer(e.a)
	case valueCame:
		r.rec.valueCame(int(e.w), r.now, e.a)
		ns = r.post(node, e.a)
	}
	if r.crowded && r.active >= r.m.Cores {
		r.debt += ns + r.m.Costs.HandleNS
	}
	box.until, box.waking = r.now+int64(ns), false
	if !box.come.empty() {
		r.call(node, box.until+int64(r.m.Costs.HandleNS), false)
	}
}

// take gives the next of samples, or the mean where there are none.
func take(samples []float64, taken *int, mean float64) float64 {
	*taken++
	if len(samples) == 0 {
		return mean
	}
	return samples[(*taken-1)%len(samples)]
}
