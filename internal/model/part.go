package model

import (
	"context"
	"slices"

	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/trace"
)

// stretch is what a model of a part of a run needs from the whole run: the marks, which are read first, and
// the times of the streams, which headers tell. A nil stretch is the whole run.
type stretch struct {
	in    trace.Span // on the common clock
	marks map[streamKey][]markEvent
	// offsets are, by node, the least and the greatest offset of its clock.
	offsets map[int]trace.Span
	spans   map[streamKey]trace.Span
	roles   map[streamKey]role // findRoles
}

type streamKey struct{ node, stream int }

type markEvent struct {
	time int64
	kind trace.Kind
	args []uint64
}

// mark tells whether events of a kind are read wherever they are.
func mark(k trace.Kind) bool {
	return k == trace.KindProgramStarted || k == trace.KindProgramFinished || k == trace.KindClockSync
}

func findPart(ctx context.Context, r *trace.Reader, in *trace.Span) (*stretch, error) {
	if in == nil {
		return nil, nil
	}
	p := &stretch{in: *in, marks: map[streamKey][]markEvent{}, spans: map[streamKey]trace.Span{},
		offsets: map[int]trace.Span{}}
	for _, s := range r.Streams() {
		p.spans[streamKey{s.Node, s.Stream}] = trace.Span{From: s.First, To: s.Last}
	}
	err := r.EachMark(func(b *trace.Batch) error {
		key := streamKey{b.Node, b.Stream}
		for i, k := range b.Kind {
			if !mark(k) {
				continue
			}
			e := markEvent{b.Time[i], k, slices.Clone(b.Args(i))}
			p.marks[key] = append(p.marks[key], e)
			if k == trace.KindClockSync {
				offset := int64(e.args[0])
				known, ok := p.offsets[b.Node]
				if !ok {
					known = trace.Span{From: offset, To: offset}
				}
				p.offsets[b.Node] = trace.Span{From: min(known.From, offset), To: max(known.To, offset)}
			}
		}
		return ctx.Err()
	})
	if err == nil {
		p.roles, err = findRoles(ctx, r)
	}
	return p, err
}

// enter gives a stream what is known of the whole run and restricts its cursor to the part.
func (p *stretch) enter(s *stream, c *trace.Cursor) {
	if p == nil {
		return
	}
	key := streamKey{s.Node, s.ID}
	for _, e := range p.marks[key] {
		s.event(e.time, e.kind, e.args)
	}
	span := p.spans[key]
	s.First, s.Last, s.Role = span.From, span.To, p.roles[key]
	by := p.offsets[s.Node]
	c.Within(trace.Span{From: query.Shift(p.in.From, -by.To), To: query.Shift(p.in.To, -by.From)})
}
