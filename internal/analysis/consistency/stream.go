package consistency

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// stream is one stream being read.
type stream struct {
	c        *checker
	node, id int
	worker   bool
	defs     *trace.Defs
	clock    []model.ClockSync
	found    found

	open     []opened
	tolerant bool // events were dropped before: ends may lack their starts
	last     int64
	lastKind trace.Kind
	started  bool
	finished bool
	begins   bool // an onProgramStarted is recorded
}

// opened is something that has started and not ended. Several may be open at once, and end in any order.
type opened struct {
	kind   trace.Kind // that of the start
	what   uint64     // CF, function, name
	number uint64     // execution
	time   int64
}

// phases are the kinds that start or end something: with which it starts, and how many arguments must be the
// same at its start and end.
var phases = [trace.FirstUserKind]struct {
	start trace.Kind
	args  int
}{
	trace.KindProgramStarted:  {trace.KindProgramStarted, 0},
	trace.KindProgramFinished: {trace.KindProgramStarted, 0},
	trace.KindCFStarted:       {trace.KindCFStarted, 2},
	trace.KindCFFinished:      {trace.KindCFStarted, 2},
	trace.KindForeignStarted:  {trace.KindForeignStarted, 1},
	trace.KindForeignEnded:    {trace.KindForeignStarted, 1},
	trace.KindWaitStarted:     {trace.KindWaitStarted, 1},
	trace.KindWaitEnded:       {trace.KindWaitStarted, 1},
	trace.KindIdle:            {trace.KindIdle, 0},
	trace.KindBusy:            {trace.KindIdle, 0},
}

func newStream(c *checker, s trace.StreamInfo) *stream {
	st := &stream{c: c, node: s.Node, id: s.Stream, defs: c.r.Defs(s.Node), begins: s.Started,
		found: newFound(), last: math.MinInt64}
	if s.Node < len(c.corrections) {
		st.clock = c.corrections[s.Node]
	}
	st.worker = c.isWorker(s.Node, s.Stream)
	return st
}

func (s *stream) read(ctx context.Context) error {
	var b trace.Batch
	for cur := s.c.r.Stream(s.node, s.id); cur.Next(&b); {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i, t := range b.Time {
			s.event(t, b.Kind[i], b.Args(i))
		}
	}
	for _, o := range s.open {
		if o.kind == trace.KindIdle || o.kind == trace.KindProgramStarted && !s.worker {
			continue // a worker may sleep to the end
		}
		s.found.add("start-without-end", s.node, s.id, o.time, "%s", o.text(s.defs))
	}
	return nil
}

func (o opened) text(d *trace.Defs) string {
	switch o.kind {
	case trace.KindCFStarted:
		return fmt.Sprintf("%v of CF %v, execution %d", o.kind, trace.CF(o.what), o.number)
	case trace.KindForeignStarted, trace.KindBlockStarted:
		return fmt.Sprintf("%v of %s", o.kind, siteText(d, trace.Site(o.what)))
	case trace.KindWaitStarted:
		return fmt.Sprintf("%v for %s", o.kind, d.Name(trace.Name(o.what)))
	}
	return o.kind.String()
}

func siteText(d *trace.Defs, n trace.Site) string {
	if s, ok := d.Site(n); ok && s.Text != 0 {
		return fmt.Sprintf("%q", d.Name(s.Text))
	}
	return fmt.Sprintf("statement #%d", n)
}

// event checks one event within the stream and passes on what concerns others.
func (s *stream) event(t int64, k trace.Kind, a []uint64) {
	c := s.c
	c.events++
	// In OpenMP programs, whoever waited records what it waited for, once the wait is over.
	run := c.r.Run() // nil without a run.json
	late := k == trace.KindDFCreate && run != nil && model.ThreadsProgram(run.Settings["program"])
	if t < s.last && !late {
		s.found.add("time-back", s.node, s.id, t, "%v %d ns before the event before it, %v", s.name(k), s.last-t,
			s.name(s.lastKind))
	}
	s.program(t, k)
	s.last, s.lastKind = max(s.last, t), k
	if k >= trace.FirstUserKind {
		return
	}
	c.count[k]++
	s.defined(t, k, a)
	if k == trace.KindLost {
		c.loss += a[0]
		s.tolerant, s.open = true, nil
	}
	if x := phases[k]; x.start != 0 {
		o := opened{kind: x.start, time: t}
		if x.args > 0 {
			o.what = a[0]
		}
		if x.args > 1 {
			o.number = a[1]
		}
		if k == x.start {
			s.open = append(s.open, o)
		} else {
			s.end(k, o)
		}
	}
	c.take(s, t, k, a)
}

// at is a place of the stream.
func (s *stream) at(t int64) place {
	return place{int32(s.node), int32(s.id), t, model.Common(t, s.clock)}
}

func (s *stream) name(k trace.Kind) string {
	if spec := s.defs.Kind(k); spec != nil {
		return spec.String()
	}
	return k.String()
}

// program checks that a worker's events lie between the start and the end of the program.
func (s *stream) program(t int64, k trace.Kind) {
	if !s.worker {
		return
	}
	switch {
	case k == trace.KindProgramStarted:
		s.started = true
	case s.finished:
		s.found.add("outside-program", s.node, s.id, t, "%s after onProgramFinished", s.name(k))
	case !s.started && !s.tolerant && s.begins:
		s.found.add("outside-program", s.node, s.id, t, "%s before onProgramStarted", s.name(k))
	}
	s.finished = s.finished || k == trace.KindProgramFinished
}

// end closes what has started and ends now.
func (s *stream) end(k trace.Kind, ended opened) {
	for i := len(s.open) - 1; i >= 0; i-- {
		if o := s.open[i]; o.kind == ended.kind && o.what == ended.what && o.number == ended.number {
			s.open = slices.Delete(s.open, i, i+1)
			return
		}
	}
	if !s.tolerant {
		s.found.add("end-without-start", s.node, s.id, ended.time, "%v without %s", k, ended.text(s.defs))
	}
}

// defined looks for numbers without a definition.
func (s *stream) defined(t int64, k trace.Kind, a []uint64) {
	spec := k.Spec()
	if spec == nil {
		return
	}
	for f := range spec.Fields {
		switch spec.Fields[f].Type {
		case trace.FieldDF:
			s.definedDF(t, k, a[f])
		case trace.FieldSite:
			if _, ok := s.defs.Site(trace.Site(a[f])); !ok && a[f] != 0 {
				s.found.add("undefined", s.node, s.id, t, "%v names statement #%d", k, a[f])
			}
		case trace.FieldDFs:
			for _, v := range a[f+1:] {
				s.definedDF(t, k, v)
			}
		}
	}
}

func (s *stream) definedDF(t int64, k trace.Kind, df uint64) {
	if df != 0 && !s.defs.HasDF(trace.DF(df)) {
		s.found.add("undefined", s.node, s.id, t, "%v names DF #%d", k, df)
	}
}
