package gotrace

import (
	"math"
	"slices"
	"strings"

	exptrace "golang.org/x/exp/trace"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Names of what workers wait for, and of the DF between two CFs of a goroutine.
const (
	systemCall = model.SystemCall
	continues  = "continues"
)

var stopTheWorld, collecting = model.GCWait("stop the world"), model.GCWait("collecting")

// df makes a DF, of a CF or of none.
func (r *reader) df(s *stream, name string, by trace.CF) uint64 {
	df := uint64(r.node.DF(name))
	s.emit(r.now, trace.KindDFCreate, df, 0, uint64(by))
	return df
}

// ready makes the CF with which a goroutine goes on, with the inputs that it has.
func (r *reader) ready(g *goroutine, s *stream) {
	g.cf = r.node.CF()
	if g.code == 0 {
		g.code = r.node.Code("goroutine", trace.Atomic, "", 0)
		g.site = r.node.Site(g.code, "", 0)
		defer func() { g.code = 0 }() // it may become known
	}
	s.emit(r.now, trace.KindCFCreated, uint64(g.cf), uint64(g.site), 0, 1, math.Float64bits(1), 1, uint64(g.id))
	s.emit(r.now, trace.KindCFReady, uint64(g.cf), 0)
}

// wake makes a goroutine ready that waited, or is new. by, if not nil, did it; at is where, nil: on no P.
func (r *reader) wake(g *goroutine, at *proc, by *goroutine) {
	stream := r.system
	if at != nil {
		stream = at.stream
	}
	if g.blocked != "" {
		if by != nil && by != g && by.on != nil && by.on == at && by.cf != 0 && by.syscall == none {
			maker := by.cf
			r.cut(by, func() { g.inputs = append(g.inputs, r.df(stream, g.blocked, maker)) })
		} else {
			g.inputs = append(g.inputs, r.df(stream, g.blocked, 0))
		}
	}
	g.blocked = ""
	if !g.collects {
		r.ready(g, stream)
	}
}

// cut ends the CF of a goroutine that runs and begins its next one. made makes what the first has made.
func (r *reader) cut(g *goroutine, made func()) {
	p := g.on
	r.stop(g, r.now, true)
	made()
	r.ready(g, p.stream)
	r.run(g, p)
}

// run has a P run a goroutine.
func (r *reader) run(g *goroutine, p *proc) {
	if p.g != nil && p.g != g { // its end was not recorded
		r.detach(p.g)
		r.stop(p.g, r.now, true)
	}
	p.g, g.on, g.syscall = g, p, none
	if g.collects {
		p.emit(r.now, trace.KindWaitStarted, r.text(collecting))
		return
	}
	if g.cf == 0 {
		r.ready(g, p.stream)
	}
	args := append([]uint64{uint64(g.cf), 1, uint64(len(g.inputs))}, g.inputs...)
	p.emit(r.now, trace.KindCFStarted, args...)
	g.inputs = g.inputs[:0]
	for _, name := range g.ranges {
		p.emit(r.now, trace.KindWaitStarted, r.text(name))
	}
}

// stop ends what a goroutine does on its P. more: it will go on, or may.
func (r *reader) stop(g *goroutine, t int64, more bool) {
	p := g.on
	if p == nil {
		return
	}
	p.g, g.on, g.syscall = nil, nil, none
	if g.collects {
		p.emit(t, trace.KindWaitEnded, r.text(collecting))
		return
	}
	for _, name := range slices.Backward(g.ranges) {
		p.emit(t, trace.KindWaitEnded, r.text(name))
	}
	p.emit(t, trace.KindCFFinished, uint64(g.cf), 1, math.MaxUint64)
	if more {
		df := uint64(r.node.DF(continues))
		p.emit(t, trace.KindDFCreate, df, 0, uint64(g.cf))
		g.inputs = append(g.inputs[:0], df)
	}
	g.cf = 0
}

// detach ends the CF of a goroutine whose P was taken from it in a system call.
func (r *reader) detach(g *goroutine) {
	if g.on != nil && g.syscall != none {
		r.stop(g, g.syscall, true)
	}
}

// collector notes that a goroutine is one of the garbage collector's.
func (r *reader) collector(g *goroutine) {
	if g.collects {
		return
	}
	p := g.on
	r.stop(g, r.now, false)
	g.collects = true
	if p != nil {
		r.run(g, p)
	}
}

// rangeName names what a range keeps a worker from; "" if it does not.
func rangeName(name string) string {
	switch {
	case strings.HasPrefix(name, "stop-the-world"):
		return stopTheWorld
	case name == "GC mark assist":
		return model.GCWait("mark assist")
	case name == "GC incremental sweep":
		return model.GCWait("sweep")
	}
	return ""
}

func (r *reader) rangeBegins(e *exptrace.Event) error {
	of := e.Range()
	name := rangeName(of.Name)
	switch {
	case name == "":
	case name == stopTheWorld:
		if !r.stopped {
			r.stopped = true
			for _, p := range r.procs {
				p.emit(r.now, trace.KindWaitStarted, r.text(name))
			}
		}
	case of.Scope.Kind == exptrace.ResourceGoroutine:
		g := r.goroutines[of.Scope.Goroutine()]
		if g == nil || slices.Contains(g.ranges, name) || len(g.ranges) > 8 {
			return nil
		}
		g.ranges = append(g.ranges, name)
		if g.on != nil && !g.collects {
			g.on.emit(r.now, trace.KindWaitStarted, r.text(name))
		}
	case of.Scope.Kind == exptrace.ResourceProc:
		p, err := r.proc(of.Scope.Proc())
		if err != nil {
			return err
		}
		p.emit(r.now, trace.KindWaitStarted, r.text(name))
	}
	return nil
}

func (r *reader) rangeEnds(e *exptrace.Event) error {
	of := e.Range()
	name := rangeName(of.Name)
	switch {
	case name == "":
	case name == stopTheWorld:
		if r.stopped {
			r.stopped = false
			for _, p := range r.procs {
				p.emit(r.now, trace.KindWaitEnded, r.text(name))
			}
		}
	case of.Scope.Kind == exptrace.ResourceGoroutine:
		g := r.goroutines[of.Scope.Goroutine()]
		if g == nil || !slices.Contains(g.ranges, name) {
			return nil
		}
		g.ranges = slices.DeleteFunc(g.ranges, func(n string) bool { return n == name })
		if g.on != nil && !g.collects {
			g.on.emit(r.now, trace.KindWaitEnded, r.text(name))
		}
	case of.Scope.Kind == exptrace.ResourceProc:
		p, err := r.proc(of.Scope.Proc())
		if err != nil {
			return err
		}
		p.emit(r.now, trace.KindWaitEnded, r.text(name))
	}
	return nil
}

// finish ends the trace: what runs then ends there.
func (r *reader) finish() {
	if len(r.procs) == 0 {
		return
	}
	for _, p := range r.procs {
		if g := p.g; g != nil {
			if g.syscall != none && !g.collects {
				p.emit(g.syscall, trace.KindWaitStarted, r.text(systemCall))
				p.emit(r.now, trace.KindWaitEnded, r.text(systemCall))
			}
			r.stop(g, r.now, false)
		}
		if r.stopped {
			p.emit(r.now, trace.KindWaitEnded, r.text(stopTheWorld))
		}
	}
	r.node.Finish(r.start, r.now)
}
