package model

import (
	"math"
	"slices"
)

// Spans finds, in a list of messages, those that were under way in an interval, without looking at all: it
// has the time that every so many of them take, which follow each other in the list. Those that do were sent
// at about the same time.
type Spans []Interval

const spansBlock = 256

// NewSpans makes the Spans of a list of messages. Those of which neither end was recorded are nowhere.
func NewSpans(list []Message) Spans {
	s := make(Spans, 0, len(list)/spansBlock+1)
	for block := range slices.Chunk(list, spansBlock) {
		v := Interval{math.MaxInt64, math.MinInt64}
		for i := range block {
			if way, ok := block[i].Way(); ok {
				v.From, v.To = min(v.From, way.From, way.To), max(v.To, way.From, way.To)
			}
		}
		s = append(s, v)
	}
	return s
}

// Each calls f with the place in the list, of which there are n, of every message that was under way in an
// interval, its ends included, and of some others.
func (s Spans) Each(in Interval, n int, f func(i int)) {
	for b, v := range s {
		if v.From > in.To || v.To < in.From {
			continue
		}
		for i := b * spansBlock; i < min((b+1)*spansBlock, n); i++ {
			f(i)
		}
	}
}

// Way is when a message was sent and received; an end that was not recorded is when the other was. To is
// before From where clocks disagree. false: neither was recorded.
func (g *Message) Way() (v Interval, ok bool) {
	v = Interval{g.Sent, g.Received}
	switch {
	case g.Sent == None:
		v.From = g.Received
	case g.Received == None:
		v.To = g.Sent
	}
	return v, g.Recorded()
}
