package simulate

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// Costs are what the run-time system takes for its own work, in nanoseconds, as measured in a recorded run:
// see gaps.go for what workers do, and links for messages.
type Costs struct {
	StartNS float64 `json:"start_ns"` // from the start of the first worker to that of the first CF
	// DispatchNS is from the end of one execution to the start of the next CF, which was queued already;
	// StructuredNS is the same before a structured CF.
	DispatchNS   float64 `json:"dispatch_ns"`
	StructuredNS float64 `json:"structured_ns"`
	WaitNS       float64 `json:"wait_ns"`   // to look at a CF's inputs and set it aside, one being missing
	CreateNS     float64 `json:"create_ns"` // to create and queue one CF
	PostNS       float64 `json:"post_ns"`   // to store one value
	SignalNS     float64 `json:"signal_ns"` // to wake a parked worker
	SendNS       float64 `json:"send_ns"`   // of a worker, to send a CF, DF or request
	// WakeNS is from the moment a CF is queued until a worker that was parked is awake.
	WakeNS float64 `json:"wake_ns"`
	// AnswerNS is from the receipt of a request to the sending of a DF that is there, TransportNS from the
	// sending of a small message to its receipt, without the latency of an emulated link.
	AnswerNS    float64 `json:"answer_ns"`
	TransportNS float64 `json:"transport_ns"`

	Samples map[string]int `json:"samples"` // how many each rests on, by its name for With
}

// defaults are used where a run has no samples at all, with what here measures.
var defaults = Costs{DispatchNS: 500, StructuredNS: 500, WaitNS: 500, CreateNS: 200, SendNS: 1000,
	AnswerNS: 1000}

// mean is that of samples, 0 of none.
func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(max(1, len(list)))
}

// measure finds the costs of the run of a graph, whose links had a latency of so many nanoseconds, and the
// bytes per second of its links, 0 for no limit. known is the latter where it is known.
func measure(g *graph, latency, known float64) (c Costs, bandwidth float64) {
	c = here()
	c.Samples = map[string]int{}
	set := func(to *float64, name string, list []float64) {
		c.Samples[name] = len(list)
		if len(list) > 0 {
			*to = mean(list)
		}
	}
	gaps, create, wake := gapsOf(g.m, g.crowd.own)
	if c.Samples["wake"] = len(wake); len(wake) > 0 {
		slices.Sort(wake)
		c.WakeNS = wake[len(wake)/2]
	}
	c.StartNS = startOf(g.m)
	if c.StartNS > 0 {
		c.Samples["start"] = 1
	}
	fit, counts := gaps.fit()
	gaps.odd(&fit, g.odd, g.index)
	for i, to := range []*float64{&c.DispatchNS, &c.StructuredNS, &c.WaitNS, &c.SendNS, &c.PostNS, &c.SignalNS} {
		name := gapNames[i]
		if c.Samples[name] = counts[i]; counts[i] > 0 {
			*to = fit[i]
		}
	}
	if c.Samples["create"] = counts[child]; counts[child] > 0 {
		c.CreateNS = create + fit[child]
	}
	bandwidth = links(g.m, &c, latency, known, set)
	return c, bandwidth
}

// links measures what a message and an answer take, beyond the latency of an emulated link, which is given
// in nanoseconds. It gives the bytes per second of a link, 0 where even large messages take no longer than
// small ones. The quickest quarter tells of both: others waited for the receiver, or for a core.
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
		c.TransportNS = usual(small)
		quickest := quick(small)
		for _, f := range all[len(all)*3/4:] {
			if f.bytes >= 4096 && f.bytes > 8*all[len(all)/4].bytes {
				perByte = append(perByte, max(0, f.ns-quickest)/float64(f.bytes))
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

// usual is the mean of samples, which it sorts. None counts for more than twice the median: those waited for
// something else.
func usual(list []float64) float64 {
	slices.Sort(list)
	sum, most := 0.0, 2*list[len(list)/2]
	for _, v := range list {
		sum += min(v, most)
	}
	return sum / float64(len(list))
}

// costs are the names of Costs, and where each stands.
var costs = []struct {
	name    string
	of      func(c *Costs) *float64
	message bool
}{
	{"start", func(c *Costs) *float64 { return &c.StartNS }, false},
	{"dispatch", func(c *Costs) *float64 { return &c.DispatchNS }, false},
	{"structured", func(c *Costs) *float64 { return &c.StructuredNS }, false},
	{"wait", func(c *Costs) *float64 { return &c.WaitNS }, false},
	{"create", func(c *Costs) *float64 { return &c.CreateNS }, false},
	{"send", func(c *Costs) *float64 { return &c.SendNS }, false},
	{"post", func(c *Costs) *float64 { return &c.PostNS }, false},
	{"signal", func(c *Costs) *float64 { return &c.SignalNS }, false},
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
