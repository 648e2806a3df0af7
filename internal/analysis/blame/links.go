package blame

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
)

// Latency tells what L is spent on.
type Latency struct {
	NS    int64  `json:"ns"`    // L
	Links []Flow `json:"links"` // by L, most first
	Names []Sent `json:"names"` // by L, most first
	Worst []Cost `json:"worst"` // single DFs by L, most first; no more than Options.Waits
}

// Flow is what went over a link.
type Flow struct {
	Link     string `json:"link"` // "0->1"
	From     int    `json:"from"`
	To       int    `json:"to"`
	WaitNS   int64  `json:"wait_ns"` // L; that of all links adds up to Latency.NS
	Messages int64  `json:"messages"`
	DFs      int64  `json:"dfs"`      // messages with DFs
	CFs      int64  `json:"cfs"`      // messages with CFs
	Requests int64  `json:"requests"` // messages with requests; their bytes were not recorded
	Bytes    int64  `json:"bytes"`
	MeanSize int64  `json:"mean_size"` // of a DF or CF, in bytes
	// FlightNS is the time from sending to receipt, summed over messages with both recorded; MeanNS that of
	// one, ShortestNS that of the quickest.
	FlightNS   int64 `json:"flight_ns"`
	MeanNS     int64 `json:"mean_ns"`
	ShortestNS int64 `json:"shortest_ns"`
	// BusyNS is how long at least one of them was under way.
	BusyNS int64 `json:"busy_ns"`
	// Bandwidth is bytes of DFs and CFs per second of BusyNS, Peak the highest of any time in which messages
	// were under way without a break. 0: not measured.
	Bandwidth float64 `json:"bandwidth"`
	Peak      float64 `json:"peak"`
	// Half counts messages of which one end was recorded only, Backwards those that came before they were
	// sent: the clocks disagree. Their flight is in no sum.
	Half      int64 `json:"half"`
	Backwards int64 `json:"backwards"`
}

// Sent are the DFs of one name, made by CFs of one code fragment, that went over links; or, with no name, CFs
// and requests.
type Sent struct {
	Name     string `json:"name"`
	By       Place  `json:"by"`
	WaitNS   int64  `json:"wait_ns"` // L; that of all names adds up to Latency.NS
	Waits    int64  `json:"waits"`   // times that a worker waited
	Messages int64  `json:"messages"`
	Bytes    int64  `json:"bytes"`
	MeanSize int64  `json:"mean_size"`
	FlightNS int64  `json:"flight_ns"`
}

// Cost is one DF that was waited for while it was on its way.
type Cost struct {
	DF       string `json:"df"`
	By       Place  `json:"by"`
	WaitNS   int64  `json:"wait_ns"` // L, of all workers
	Size     int64  `json:"size"`    // of its value
	Messages int64  `json:"messages"`
	Bytes    int64  `json:"bytes"` // of all messages with it
	FlightNS int64  `json:"flight_ns"`
}

type flight struct {
	from, to, bytes int64
}

// flow is a link under way.
type flow struct {
	Flow
	// Flights counts the messages with both ends, Measured their bytes.
	Flights, Measured int64
	flights           []flight
}

func (all *sums) latency(want int64, costs []Cost) (*Latency, error) {
	out := &Latency{NS: want, Links: []Flow{}, Names: []Sent{}, Worst: costs}
	var sum [2]int64
	for _, f := range all.Links {
		f.finish()
		sum[0] += f.WaitNS
		out.Links = append(out.Links, f.Flow)
	}
	slices.SortFunc(out.Links, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.WaitNS, a.WaitNS), cmp.Compare(b.Bytes, a.Bytes),
			cmp.Compare(a.From, b.From),
			cmp.Compare(a.To, b.To))
	})
	for _, s := range all.Names {
		sum[1] += s.WaitNS
		if s.Messages > 0 {
			s.MeanSize = s.Bytes / s.Messages
		}
		out.Names = append(out.Names, *s)
	}
	slices.SortFunc(out.Names, func(a, b Sent) int {
		return cmp.Or(cmp.Compare(b.WaitNS, a.WaitNS), cmp.Compare(b.Bytes, a.Bytes),
			cmp.Compare(a.Name, b.Name),
			comparePlace(a.By, b.By))
	})
	for _, s := range sum {
		if err := check("L", s, want); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func flowOf(flows map[slou.Link]*flow, from, to int32) *flow {
	l := slou.Link{From: from, To: to}
	f := flows[l]
	if f == nil {
		f = &flow{Flow: Flow{Link: l.String(), From: int(from), To: int(to)}}
		flows[l] = f
	}
	return f
}

func (b *blamer) sentOf(names map[nameKey]*Sent, k nameKey) *Sent {
	s := names[k]
	if s == nil {
		s = &Sent{Name: b.m.Names[k.Name]}
		if k.Code >= 0 {
			s.By = placeOf(b.m, int(k.Code))
		}
		names[k] = s
	}
	return s
}

// counted tells whether this process counts a message; it was under way in the part of the run that counts.
func (b *blamer) counted(g *model.Message) bool { return b.m.Counted(g) && slou.Underway(g, b.within) }

// flows collects what went over each link. All messages that came over one are in the model of one process.
// Flights are counted first: lists that grow would be copied again and again.
func (b *blamer) flows(flows map[slou.Link]*flow) {
	each := func(list []model.Message, add func(f *flow)) {
		for i := range list {
			g := &list[i]
			if !b.counted(g) {
				continue
			}
			f := flowOf(flows, g.From, g.To)
			f.Messages++
			add(f)
			f.Bytes += g.Bytes
			switch {
			case g.Sent == model.None || g.Received == model.None:
				f.Half++
			case g.Received < g.Sent:
				f.Backwards++
			default:
				f.Flights++
			}
		}
	}
	var requests []model.Message
	if len(b.m.Requests) > 0 {
		requests = b.m.Requests[1:]
	}
	each(b.m.DFMessages, func(f *flow) { f.DFs++ })
	each(b.m.Moves, func(f *flow) { f.CFs++ })
	each(requests, func(f *flow) { f.Requests++ })
	for _, f := range flows {
		f.flights = memory.Make[flight](b.scratch, int(f.Flights))[:0]
	}
	for _, list := range [][]model.Message{b.m.DFMessages, b.m.Moves, requests} {
		for i := range list {
			if g := &list[i]; b.counted(g) && g.Sent != model.None && g.Received >= g.Sent {
				f := flowOf(flows, g.From, g.To)
				f.flights = append(f.flights, flight{g.Sent, g.Received, g.Bytes})
			}
		}
	}
}

// measure works out the times of a link: its flights are joined where they overlap or touch.
func (f *flow) measure() {
	byStart := func(a, b flight) int { return cmp.Compare(a.from, b.from) }
	if !slices.IsSortedFunc(f.flights, byStart) {
		slices.SortFunc(f.flights, byStart)
	}
	var busy flight
	end := func() {
		ns := busy.to - busy.from
		f.BusyNS += ns
		if ns > 0 {
			f.Peak = max(f.Peak, float64(busy.bytes)/float64(ns)*1e9)
		}
	}
	for i, x := range f.flights {
		ns := x.to - x.from
		f.FlightNS += ns
		f.Measured += x.bytes
		if i == 0 || ns < f.ShortestNS {
			f.ShortestNS = ns
		}
		if i > 0 && x.from <= busy.to {
			busy.to = max(busy.to, x.to)
			busy.bytes += x.bytes
			continue
		}
		if i > 0 {
			end()
		}
		busy = x
	}
	end()
	f.flights = nil
}

// join adds what another process knows of a link. What was measured is known to one only.
func (f *flow) join(o *flow) {
	f.WaitNS, f.Messages, f.DFs, f.CFs, f.Requests = f.WaitNS+o.WaitNS, f.Messages+o.Messages, f.DFs+o.DFs,
		f.CFs+o.CFs, f.Requests+o.Requests
	f.Bytes, f.Half, f.Backwards = f.Bytes+o.Bytes, f.Half+o.Half, f.Backwards+o.Backwards
	if o.Flights > 0 {
		f.Flights, f.FlightNS, f.ShortestNS, f.BusyNS, f.Measured, f.Peak = o.Flights, o.FlightNS,
			o.ShortestNS,
			o.BusyNS, o.Measured, o.Peak
	}
}

// finish works out means.
func (f *flow) finish() {
	if f.Flights > 0 {
		f.MeanNS = f.FlightNS / f.Flights
	}
	if n := f.DFs + f.CFs; n > 0 {
		f.MeanSize = f.Bytes / n
	}
	if f.BusyNS > 0 {
		f.Bandwidth = float64(f.Measured) / float64(f.BusyNS) * 1e9
	}
}

// sent collects the messages with DFs by name and producer.
func (b *blamer) sent(names map[nameKey]*Sent) {
	m := b.m
	for i := range m.DFMessages {
		g := &m.DFMessages[i]
		if !b.counted(g) {
			continue
		}
		k := nameKey{m.DFName[g.DF], -1}
		if c, ok := m.Creation(g.DF, max(g.Sent, g.Received)); ok && m.MadeBy[c] != 0 {
			k.Code = int32(m.CodeOf(m.MadeBy[c]))
		}
		b.sentOf(names, k).add(g)
	}
}

func (s *Sent) join(o *Sent) {
	s.WaitNS, s.Waits, s.FlightNS = s.WaitNS+o.WaitNS, s.Waits+o.Waits, s.FlightNS+o.FlightNS
	s.Messages, s.Bytes = s.Messages+o.Messages, s.Bytes+o.Bytes
}

func (s *Sent) add(g *model.Message) {
	s.Messages++
	s.Bytes += g.Bytes
	if g.Sent != model.None && g.Received != model.None {
		s.FlightNS += max(g.Received-g.Sent, 0)
	}
}
