package simulate

import "slices"

// Costs are what the run-time system takes for its own work, in nanoseconds, as measured in a recorded run:
// see gaps.go for what workers do, and messages.go for messages.
type Costs struct {
	StartNS float64 `json:"start_ns"` // from the start of the first worker to that of the first CF
	// DispatchNS is from the end of one execution to the start of the next CF, which was queued already;
	// StructuredNS is the same before a structured CF.
	DispatchNS   float64 `json:"dispatch_ns"`
	StructuredNS float64 `json:"structured_ns"`
	WaitNS       float64 `json:"wait_ns"`   // to look at a CF's inputs and set it aside, one being missing
	CreateNS     float64 `json:"create_ns"` // to create and queue one CF
	PostNS       float64 `json:"post_ns"`   // to store one value
	// SignalNS is to wake what sleeps: a parked worker, or the thread that receives messages of another node.
	SignalNS float64 `json:"signal_ns"`
	ParkNS   float64 `json:"park_ns"` // to park, and to go on when awake
	SendNS   float64 `json:"send_ns"` // of a worker, to send a CF, DF or request
	CopyNS   float64 `json:"copy_ns"` // to copy 1 MiB of a value that is sent
	// WakeNS is from the moment a worker queues a CF until a worker that was parked is awake; ResumeNS is the
	// same of a CF that a message queued.
	WakeNS   float64 `json:"wake_ns"`
	ResumeNS float64 `json:"resume_ns"`
	// AnswerNS is from the receipt of a request to the sending of a DF that is there; TransportNS from the
	// sending of a small message to its receipt, without the latency of an emulated link, where the receiver
	// slept; HandleNS from one receipt to the next where it did not.
	AnswerNS    float64 `json:"answer_ns"`
	TransportNS float64 `json:"transport_ns"`
	HandleNS    float64 `json:"handle_ns"`

	Samples map[string]int `json:"samples"` // how many each rests on, by its name for With

	// Waking takes a few microseconds or milliseconds, as it happens, and what comes of that is not what the
	// mean would lead to. So the times are taken as they came, one after the other and again from the start.
	// Where there are none, the mean is.
	wakes, resumes, transports []float64

	// merged CFs are one, see Divided: so much less comes of what took longer than these costs explain. 0 is 1.
	merged float64
}

// defaults are used where a run has no samples at all, with what here measures.
var defaults = Costs{DispatchNS: 500, StructuredNS: 500, WaitNS: 500, CreateNS: 200, SendNS: 1000,
	ResumeNS: 3000, AnswerNS: 1000, HandleNS: 1000}

// mean is that of samples, 0 of none.
func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(max(1, len(list)))
}

// measure finds the costs of the run of a graph, whose links had a latency of so many nanoseconds, and the
// bytes per second of its links, 0 for no limit. known is the latter where it is known; unknown gives what
// the run does not tell.
func measure(g *graph, latency, known float64, unknown func() Costs) (c Costs, bandwidth float64) {
	c = unknown()
	c.Samples = map[string]int{}
	set := func(to *float64, name string, list []float64) {
		c.Samples[name] = len(list)
		if len(list) > 0 {
			*to = mean(list)
		}
	}
	gaps, create, woken := gapsOf(g.m, g.crowd.own)
	c.wakes, c.resumes = woken.signalled, woken.resumed
	set(&c.WakeNS, "wake", c.wakes)
	set(&c.ResumeNS, "resume", c.resumes)
	c.StartNS = startOf(g.m)
	if c.StartNS > 0 {
		c.Samples["start"] = 1
	}
	fit, counts := gaps.fit()
	gaps.odd(&fit, g.odd, g.index)
	for what, name := range gapNames {
		if c.Samples[name] = counts[what]; counts[what] > 0 {
			*costOf(&c, name) = fit[what]
		}
	}
	if c.Samples["create"] = counts[child]; counts[child] > 0 {
		c.CreateNS = create + fit[child]
	}
	bandwidth = links(g.m, &c, latency, known, g.together, set)
	// Either way a thread that sleeps is woken, by one that goes on. The longest waited for something else.
	if wake, transport := len(c.wakes), len(c.transports); wake == 0 && transport > 0 {
		c.WakeNS = usual(slices.Clone(c.transports))
	} else if transport == 0 && wake > 0 {
		c.TransportNS = usual(slices.Clone(c.wakes))
	}
	return c, bandwidth
}

// Divided are the costs of all that is done for each CF, when one does the work of so many: also of sending
// it and of receiving it. What a message takes on its way, and a worker to wake up, stays.
func (c Costs) Divided(by float64) Costs {
	for _, k := range costs {
		if !slices.Contains([]string{"transport", "wake", "start"}, k.name) {
			*k.of(&c) /= by
		}
	}
	c.merged = by
	return c
}

// odd is what comes of time that costs do not explain.
func (c *Costs) odd(ns float32) float64 { return float64(ns) / max(c.merged, 1) }

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
	samples func(c *Costs) *[]float64 // that are taken one by one
}{
	{"start", func(c *Costs) *float64 { return &c.StartNS }, false, nil},
	{"dispatch", func(c *Costs) *float64 { return &c.DispatchNS }, false, nil},
	{"structured", func(c *Costs) *float64 { return &c.StructuredNS }, false, nil},
	{"wait", func(c *Costs) *float64 { return &c.WaitNS }, false, nil},
	{"create", func(c *Costs) *float64 { return &c.CreateNS }, false, nil},
	{"send", func(c *Costs) *float64 { return &c.SendNS }, false, nil},
	{"copy", func(c *Costs) *float64 { return &c.CopyNS }, false, nil},
	{"post", func(c *Costs) *float64 { return &c.PostNS }, false, nil},
	{"signal", func(c *Costs) *float64 { return &c.SignalNS }, false, nil},
	{"park", func(c *Costs) *float64 { return &c.ParkNS }, false, nil},
	{"wake", func(c *Costs) *float64 { return &c.WakeNS }, false,
		func(c *Costs) *[]float64 { return &c.wakes }},
	{"resume", func(c *Costs) *float64 { return &c.ResumeNS }, false,
		func(c *Costs) *[]float64 { return &c.resumes }},
	{"answer", func(c *Costs) *float64 { return &c.AnswerNS }, true, nil},
	{"transport", func(c *Costs) *float64 { return &c.TransportNS }, true,
		func(c *Costs) *[]float64 { return &c.transports }},
	{"handle", func(c *Costs) *float64 { return &c.HandleNS }, true, nil},
}

// costOf is where the cost of a name stands.
func costOf(c *Costs, name string) *float64 {
	for _, k := range costs {
		if k.name == name {
			return k.of(c)
		}
	}
	return nil
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
		v, given := other[k.name]
		if given || k.message && noLatency || !k.message && noOverhead {
			*k.of(&c) = v
			if k.samples != nil {
				*k.samples(&c) = nil
			}
		}
	}
	return c
}
