package simulate

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// Costs are what the run-time system takes for its own work, in nanoseconds, as measured in a recorded run.
// Each is the mean of the middle half of its samples: a few of which the worker lost its core, or memory was
// fetched from far away, do not count.
type Costs struct {
	// DispatchNS is from the end of one execution to the start of the next CF, which was queued already;
	// StructuredNS is the same before a structured CF.
	DispatchNS   float64 `json:"dispatch_ns"`
	StructuredNS float64 `json:"structured_ns"`
	WaitNS       float64 `json:"wait_ns"`   // to look at a CF's inputs and set it aside, one being missing
	CreateNS     float64 `json:"create_ns"` // to create and queue one CF
	SendNS       float64 `json:"send_ns"`   // of a worker, to send a CF, DF or request
	WakeNS       float64 `json:"wake_ns"`   // from the moment a CF is queued to its start on a parked worker
	// AnswerNS is from the receipt of a request to the sending of a DF that is there, TransportNS from the
	// sending of a small message to its receipt, without the latency of an emulated link.
	AnswerNS    float64 `json:"answer_ns"`
	TransportNS float64 `json:"transport_ns"`

	Samples map[string]int `json:"samples"` // how many each rests on, by its name for With
}

// defaults are used where a run has no samples at all.
var defaults = Costs{DispatchNS: 500, StructuredNS: 500, WaitNS: 500, CreateNS: 200, SendNS: 1000,
	WakeNS: 5000, AnswerNS: 1000, TransportNS: 2000}

// middle is the mean of the middle half of some samples, which it sorts.
func middle(list []float64) float64 {
	slices.Sort(list)
	n := len(list)
	list = list[n/4 : n-n/4]
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

// measure finds the costs of the run of a graph, whose links had a latency of so many nanoseconds, and the
// bytes per second of its links, 0 for no limit. known is the latter where it is known.
func measure(g *graph, latency, known float64) (c Costs, bandwidth float64) {
	m := g.m
	c = defaults
	c.Samples = map[string]int{}
	set := func(to *float64, name string, list []float64) {
		c.Samples[name] = len(list)
		if len(list) > 0 {
			*to = middle(list)
		}
	}
	waits := make([][]int64, len(m.Nodes)) // when CFs were set aside, by node
	for i, cf := range m.Awaits.CF {
		if n := m.NodeAt(cf, m.Awaits.Time[i]); n < len(waits) {
			waits[n] = append(waits[n], m.Awaits.Time[i])
		}
	}
	sends := make([][]int64, len(m.Nodes)) // when nodes sent something
	for _, list := range [][]model.Message{m.DFMessages, m.Requests, m.Moves} {
		for i := range list {
			if msg := &list[i]; msg.Sent != model.None && int(msg.From) < len(sends) {
				sends[msg.From] = append(sends[msg.From], msg.Sent)
			}
		}
	}
	for n := range waits {
		slices.Sort(waits[n])
		slices.Sort(sends[n])
	}
	posts := make([]int, m.Executions()) // values that an execution sent to the nodes that keep them
	for i := range m.DFMessages {
		if msg := &m.DFMessages[i]; msg.Request == 0 && msg.Sent != model.None {
			if c, ok := m.Creation(msg.DF, msg.Sent); ok && m.ExecOf[m.MadeBy[c]] != 0 {
				posts[m.ExecOf[m.MadeBy[c]]-1]++
			}
		}
	}
	busy := m.BusyUntil()
	var dispatch, structured, wake, create []float64
	var waited, sent []gap
	for id, w := range m.AllWorkers() {
		for e := w.First; e < w.End; e++ {
			cf, start, from := m.ExecCF[e], m.ExecStart[e], w.Started
			if e > w.First {
				from = busy[e-1]
			}
			if !m.Atomic(cf) && between(sends[id.Node], start, busy[e]+1) == 0 {
				create = append(create, float64(busy[e]-start)/float64(1+len(m.ChildrenOf(cf))))
			}
			if from == model.None || start < from {
				continue
			}
			if since, parked := parkedUntil(w, from, start); parked {
				if ready := m.Ready[cf]; m.Atomic(cf) && m.ExecNumber[e] == 1 && ready != model.None &&
					ready > since && ready <= start && start-ready < 1e6 {
					wake = append(wake, float64(start-ready))
				}
				continue
			}
			looked, left := between(waits[id.Node], from, start), between(sends[id.Node], from, start)
			length, workers := float64(start-from), len(m.Nodes[id.Node].Workers)
			switch {
			case looked > 0 && left > 0 || !m.Atomic(cf) && looked+left > 0:
			case looked > 0:
				waited = append(waited, gap{length, looked, workers})
			case left > 0:
				if workers == 1 || e > w.First && posts[e-1] == left { // else others of the node may have sent it
					sent = append(sent, gap{length, left, 1})
				}
			case m.Ready[cf] == model.None || m.Ready[cf] > from:
			case m.Atomic(cf):
				dispatch = append(dispatch, length)
			default:
				structured = append(structured, length)
			}
		}
	}
	set(&c.DispatchNS, "dispatch", dispatch)
	set(&c.StructuredNS, "structured", structured)
	set(&c.WakeNS, "wake", wake)
	set(&c.WaitNS, "wait", beyond(waited, c.DispatchNS))
	set(&c.SendNS, "send", beyond(sent, c.DispatchNS))
	set(&c.CreateNS, "create", create)
	bandwidth = links(m, &c, latency, known, set)
	return c, bandwidth
}

// gap is the time between two executions of a worker, in which its node set CFs aside, or sent something.
type gap struct {
	length         float64
	count, workers int
}

// beyond is what each of the things done in gaps took, beside the dispatch of the CF that ended the gap. Of a
// node with several workers nobody knows which one did them; each did its part.
func beyond(list []gap, dispatch float64) (samples []float64) {
	for _, p := range list {
		samples = append(samples, max(0, p.length-dispatch)*float64(p.workers)/float64(max(p.workers, p.count)))
	}
	return samples
}

func between(times []int64, from, to int64) int {
	i, _ := slices.BinarySearch(times, from)
	j, _ := slices.BinarySearch(times, to)
	return j - i
}

// parkedUntil tells whether a worker parked in an interval, and when it did so last.
func parkedUntil(w *model.Worker, from, to int64) (since int64, parked bool) {
	i, _ := slices.BinarySearchFunc(w.Idle, to, func(i model.Interval, t int64) int {
		return cmp.Compare(i.From, t)
	})
	if i == 0 || w.Idle[i-1].From < from {
		return 0, false
	}
	return w.Idle[i-1].From, true
}

// links measures what a message and an answer take, beyond the latency of an emulated link, which is given in
// nanoseconds. It gives the bytes per second of a link, 0 where even large messages take no longer than small
// ones. The quickest quarter tells of both: others waited for the receiver, or for a core.
func links(m *model.Model, c *Costs, latency, known float64,
	set func(to *float64, name string, list []float64)) (bandwidth float64) {
	all := flights(m, latency, known)
	c.Samples["transport"] = len(all)
	if len(all) > 0 {
		slices.SortFunc(all, func(a, b flight) int { return cmp.Compare(a.bytes, b.bytes) })
		var small, perByte []float64
		for _, f := range all[:(len(all)+1)/2] {
			small = append(small, f.ns)
		}
		c.TransportNS = quick(small)
		for _, f := range all[len(all)*3/4:] {
			if f.bytes >= 4096 && f.bytes > 8*all[len(all)/4].bytes {
				perByte = append(perByte, max(0, f.ns-c.TransportNS)/float64(f.bytes))
			}
		}
		bandwidth = known
		if q := quick(perByte); known == 0 && q > 0.1 { // 10 GB/s are as much as memory has
			bandwidth = 1e9 / q
		}
	}
	var answers []float64
	for i := range m.DFMessages {
		msg := &m.DFMessages[i]
		if msg.Request == 0 || int(msg.Request) >= len(m.Requests) || msg.Sent == model.None {
			continue
		}
		req := &m.Requests[msg.Request]
		if made, ok := m.Creation(msg.DF, msg.Sent); ok && req.Received != model.None &&
			m.MadeTime[made] < req.Received && msg.Sent >= req.Received {
			answers = append(answers, float64(msg.Sent-req.Received))
		}
	}
	set(&c.AnswerNS, "answer", answers)
	return bandwidth
}

// flight is a message that had its link to itself: how long it took beyond what is known of the link.
type flight struct {
	bytes int64
	ns    float64
}

// flights lists the messages that had their links to themselves.
func flights(m *model.Model, latency, bandwidth float64) (alone []flight) {
	var all []*model.Message
	for _, list := range [][]model.Message{m.DFMessages, m.Requests, m.Moves} {
		for i := range list {
			if g := &list[i]; g.Sent != model.None && g.Received != model.None && g.From != g.To {
				all = append(all, g)
			}
		}
	}
	slices.SortFunc(all, func(a, b *model.Message) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Sent, b.Sent))
	})
	free := int64(0)
	for i, g := range all {
		if i == 0 || all[i-1].From != g.From || all[i-1].To != g.To {
			free = g.Sent
		}
		if g.Sent >= free {
			ns := float64(g.Received-g.Sent) - latency
			if bandwidth > 0 {
				ns -= float64(g.Bytes) / bandwidth * 1e9
			}
			alone = append(alone, flight{g.Bytes, max(0, ns)})
		}
		free = max(free, g.Received)
	}
	return alone
}

// quick is the first quartile of samples, which it sorts; 0 where there are none.
func quick(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/4]
}

// costs are the names of Costs, and where each stands.
var costs = []struct {
	name    string
	of      func(c *Costs) *float64
	message bool
}{
	{"dispatch", func(c *Costs) *float64 { return &c.DispatchNS }, false},
	{"structured", func(c *Costs) *float64 { return &c.StructuredNS }, false},
	{"wait", func(c *Costs) *float64 { return &c.WaitNS }, false},
	{"create", func(c *Costs) *float64 { return &c.CreateNS }, false},
	{"send", func(c *Costs) *float64 { return &c.SendNS }, false},
	{"wake", func(c *Costs) *float64 { return &c.WakeNS }, false},
	{"answer", func(c *Costs) *float64 { return &c.AnswerNS }, true},
	{"transport", func(c *Costs) *float64 { return &c.TransportNS }, true},
}

// CostNames are the names that With takes: those of the fields of Costs.
func CostNames() (list []string) {
	for _, c := range costs {
		list = append(list, c.name)
	}
	return list
}

// With gives the costs with some of them, by name in nanoseconds, replaced; first, noOverhead sets all to 0
// but those of messages, and noLatency sets the latter to 0.
func (c Costs) With(other map[string]float64, noOverhead, noLatency bool) Costs {
	for _, k := range costs {
		if k.message && noLatency || !k.message && noOverhead {
			*k.of(&c) = 0
		}
		if v, ok := other[k.name]; ok {
			*k.of(&c) = v
		}
	}
	return c
}
