//go:build !no_foreign_block_timer_module

package modules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

func init() {
	prof.RegisterModule(prof.ModuleInfo{
		Name:   "foreign_block_timer_module",
		Doc:    "measures how long each worker spent in each code fragment's user code",
		Output: "a line per code fragment and worker at the end",
		Cost:   "25 ns per event, no lock",
		Events: []string{trace.KindForeignStarted.String(), trace.KindForeignEnded.String()},
		Params: []prof.Param{
			{Name: "sort", Default: "name", Choices: []string{"name", "time"}, Doc: "order of the lines: by name, " +
				"or longest first"},
			{Name: "file", Default: "", Doc: outputDoc},
		},
		New: func() prof.Module { return &ForeignBlockTimer{} },
	})
}

// ForeignBlockTimer is foreign_block_timer_module.
type ForeignBlockTimer struct {
	streams *prof.PerStream[calls]
	out     *prof.Output
	run     prof.RunFacts
	byTime  bool
}

// calls are what one worker did.
type calls struct {
	open  []call // those that have not returned, innermost last
	sites map[trace.Site]*ForeignTime
	names map[string]*ForeignTime // of the same code fragments
}

type call struct {
	of    *ForeignTime
	start int64
}

// ForeignTime is the time a worker spent in a code fragment.
type ForeignTime struct {
	Name    string
	PID     int
	TID     int   // the worker's number in the run
	TotalNS int64 // a call within a call of the same code fragment counts once
	Calls   int64
}

// Start connects the module.
func (m *ForeignBlockTimer) Start(h *prof.Host) error {
	var err error
	if m.out, err = h.Open(h.String("file")); err != nil {
		return err
	}
	m.run, m.byTime = h.Run(), h.String("sort") == "time"
	m.streams = prof.NewPerStream(h.Session(), func(_ *prof.Stream, c *calls) {
		c.sites, c.names = map[trace.Site]*ForeignTime{}, map[string]*ForeignTime{}
	})
	err = h.Session().ForeignStarted.Connect(h.Name(), h.Priority(),
		func(s *prof.Stream, t int64, function trace.Site) {
			c := m.streams.Get(s)
			of := c.sites[function]
			if of == nil {
				of = m.meet(s, c, function)
			}
			c.open = append(c.open, call{of, t})
		})
	if err != nil {
		return err
	}
	return h.Session().ForeignEnded.Connect(h.Name(), h.Priority(),
		func(s *prof.Stream, t int64, function trace.Site) {
			c := m.streams.Get(s)
			c.end(c.sites[function], t)
		})
}

// meet learns the name of a function. Two statements may call the same one.
func (m *ForeignBlockTimer) meet(s *prof.Stream, c *calls, function trace.Site) *ForeignTime {
	name := s.Session().Describe().Site(s.Node(), function).Code
	of := c.names[name]
	if of == nil {
		of = &ForeignTime{Name: name, PID: m.run.PID, TID: s.Node()*m.run.Workers + s.ID()}
		c.names[name] = of
	}
	c.sites[function] = of
	return of
}

// end ends a function's innermost call, and calls within it. An end without a start is ignored.
func (c *calls) end(of *ForeignTime, t int64) {
	for i := len(c.open) - 1; i >= 0; i-- {
		if c.open[i].of != of {
			continue
		}
		start := c.open[i].start
		c.open = c.open[:i]
		of.Calls++
		if !slices.ContainsFunc(c.open, func(outer call) bool { return outer.of == of }) {
			of.TotalNS += t - start
		}
		return
	}
}

// Times returns what was measured, in the order of the output. No stream may be in use.
func (m *ForeignBlockTimer) Times() []ForeignTime {
	var all []ForeignTime
	m.streams.All(func(_ *prof.Stream, c *calls) {
		for _, f := range c.names {
			if f.Calls > 0 {
				all = append(all, *f)
			}
		}
	})
	slices.SortFunc(all, func(a, b ForeignTime) int {
		order := cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
		if m.byTime {
			return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), order)
		}
		return order
	})
	return all
}

// Finish prints what was measured.
func (m *ForeignBlockTimer) Finish() error {
	for _, f := range m.Times() {
		fmt.Fprintf(m.out, "Func: %s, PID: %d, TID: %d => %d ms total\n", f.Name, f.PID, f.TID,
			(f.TotalNS+500_000)/1_000_000)
	}
	_ = m.out.Flush() // the Output keeps the error, and tells
	return nil
}
