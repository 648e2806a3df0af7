package simulate

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// Messages are received by a thread of each node, which sleeps while there are none. To wake it takes long;
// what comes meanwhile, or while it is still at work, is received at once after that.

// flight is a message between two nodes.
type flight struct {
	from, to       int
	sent, received int64
	due            float64 // when its link has delivered it
	bytes          int64
	answered       bool // it answers a request for what was there
	alone          bool // no other was on its way to the node when it was sent
	linked         bool // it had its link to itself
	slept          bool // the receiver had nothing else to do when it was due
	before         int64
}

// flights lists the messages of a run in the order in which each node received them. latency is what a link
// adds in ns, bandwidth its bytes per second or 0, and copied what it takes to copy 1 MiB.
func flights(m *model.Model, latency, bandwidth, copied float64) (all []flight) {
	for k, list := range [][]model.Message{m.DFMessages, m.Requests, m.Moves} {
		for i := range list {
			g := &list[i]
			if g.Sent != model.None && g.Received != model.None && g.From != g.To {
				all = append(all, flight{from: int(g.From), to: int(g.To), sent: g.Sent, received: g.Received,
					bytes: g.Bytes, answered: k == 0 && answersAtOnce(m, g)})
			}
		}
	}
	slices.SortFunc(all, func(a, b flight) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.sent, b.sent))
	})
	free, last := 0.0, int64(0)
	for i := range all {
		f := &all[i]
		if i == 0 || all[i-1].from != f.from || all[i-1].to != f.to {
			free, last = 0, 0
		}
		f.due = float64(f.sent)
		if f.bytes >= leastCopied {
			f.due += copied * float64(f.bytes) / (1 << 20)
		}
		if bandwidth > 0 {
			f.due = max(f.due, free) + float64(f.bytes)/bandwidth*1e9
		}
		free = f.due
		f.due += latency
		f.linked = f.sent >= last
		last = max(last, f.received)
	}
	slices.SortFunc(all, func(a, b flight) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.received, b.received), cmp.Compare(a.sent, b.sent))
	})
	for i := range all {
		f := &all[i]
		f.slept = i == 0 || all[i-1].to != f.to || float64(all[i-1].received) < f.due
		if !f.slept {
			f.before = all[i-1].received
		}
	}
	inOrder(all)
	return all
}

// inOrder notes which messages were alone on their way.
func inOrder(all []flight) {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(all[i].to, all[j].to), cmp.Compare(all[i].sent, all[j].sent))
	})
	until := int64(0)
	for k, i := range order {
		if f := &all[i]; k == 0 || all[order[k-1]].to != f.to || f.sent > until {
			f.alone, until = true, f.received
		} else {
			until = max(until, f.received)
		}
	}
}

// answersAtOnce tells whether a message answers a request for a DF that was there when it was asked for.
func answersAtOnce(m *model.Model, msg *model.Message) bool {
	if msg.Request == 0 || int(msg.Request) >= len(m.Requests) || msg.Sent == model.None {
		return false
	}
	req := &m.Requests[msg.Request]
	made, ok := m.Creation(msg.DF, msg.Sent)
	return ok && req.Received != model.None && m.MadeTime[made] < req.Received && msg.Sent >= req.Received
}

// links measures what a message and an answer take, beyond the latency of an emulated link, which is given
// in nanoseconds. It gives the bytes per second of a link, 0 where even large messages take no longer than
// small ones. The quickest quarter tells of that: others waited for a core.
func links(m *model.Model, c *Costs, latency, known float64, together bool,
	set func(to *float64, name string, list []float64)) (bandwidth float64) {
	all := flights(m, latency, known, c.CopyNS)
	var sizes []int64
	for _, f := range all {
		sizes = append(sizes, f.bytes)
	}
	slices.Sort(sizes)
	var asleep, awake, perByte []float64
	var began []int64
	var handed []bool
	for _, f := range all {
		ns := max(0, float64(f.received)-f.due)
		switch {
		case f.bytes > sizes[len(sizes)/2]:
		case f.slept:
			asleep, began = append(asleep, ns), append(began, f.sent)
			handed = append(handed, together && latency == 0 && known == 0 && handedOver(m, &f))
		default:
			awake = append(awake, float64(f.received-f.before))
		}
	}
	c.Samples["transport"], c.Samples["handle"] = len(asleep), len(awake)
	if len(asleep) > 0 {
		longer(asleep, handed)
		c.transports = inTime(asleep, began)
		c.TransportNS = mean(asleep)
		slices.Sort(asleep)
	}
	if len(awake) > 0 {
		c.HandleNS = usual(awake)
	}
	bandwidth = known
	if known == 0 && len(asleep) > 0 {
		for _, f := range all {
			if f.linked && f.slept && f.bytes >= 4096 && f.bytes >= sizes[len(sizes)*3/4] &&
				f.bytes > 8*sizes[len(sizes)/4] {
				perByte = append(perByte, max(0, float64(f.received)-f.due-quick(asleep))/float64(f.bytes))
			}
		}
		if q := quick(perByte); q > 0.1 { // 10 GB/s are as much as memory has
			bandwidth = 1e9 / q
		}
	}
	var answers []float64
	for i := range m.DFMessages {
		if msg := &m.DFMessages[i]; answersAtOnce(m, msg) {
			answers = append(answers, float64(msg.Sent-m.Requests[msg.Request].Received))
		}
	}
	set(&c.AnswerNS, "answer", answers)
	return bandwidth
}

// handedOver tells whether the receiver of a message did not have to wait any longer because a worker of the
// sender's node parked, and left it its core.
func handedOver(m *model.Model, f *flight) bool {
	const soon = 5000
	for i := range m.Nodes[f.from].Workers {
		idle := m.Nodes[f.from].Workers[i].Idle
		k, _ := slices.BinarySearchFunc(idle, f.received-soon, func(i model.Interval, t int64) int {
			return cmp.Compare(i.From, t)
		})
		if k < len(idle) && idle[k].From > f.sent && idle[k].From <= f.received {
			return true
		}
	}
	return false
}

// longer replaces samples that were cut short by the mean of those longer ones that were not.
func longer(list []float64, cut []bool) {
	var whole []float64
	for i, v := range list {
		if !cut[i] {
			whole = append(whole, v)
		}
	}
	slices.Sort(whole)
	means := make([]float64, len(whole)) // of those from there on
	sum := 0.0
	for i := len(whole) - 1; i >= 0; i-- {
		sum += whole[i]
		means[i] = sum / float64(len(whole)-i)
	}
	for i, v := range list {
		if k, _ := slices.BinarySearch(whole, v); cut[i] && k < len(whole) {
			list[i] = means[k]
		}
	}
}

// inTime gives samples in the order of their times.
func inTime(list []float64, at []int64) []float64 {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
	sorted := make([]float64, len(list))
	for k, i := range order {
		sorted[k] = list[i]
	}
	return sorted
}
