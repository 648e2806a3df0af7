//go:build cgo && linux

package cli

import (
	"fmt"
	"io"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/order"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// steering is what decides about the order of a run.
type steering struct {
	recorded *order.Recorded // nil: no trace does
	results  *order.Results  // nil: nobody wants them
}

// steer gives the engine who decides about the order.
func (o *orderOptions) steer(prog *luna.Program, cfg *engine.Config) error {
	if !o.steered() {
		return nil
	}
	s := &o.steering
	switch {
	case o.trace != "":
		r, err := trace.Open(o.trace)
		if err != nil {
			return badInput(err)
		}
		defer r.Close()
		if s.recorded, err = order.Read(r, prog); err != nil {
			return badInput(fmt.Errorf("%s: %w", o.trace, err))
		}
		cfg.Gate, cfg.Steal = s.recorded, false
		if places := s.recorded.Places; places != nil {
			if cfg.Place != nil {
				places.DFs = cfg.Place.DFs
			}
			cfg.Place = places
		}
	case o.fuzz != "":
		cfg.Gate, cfg.Steal = order.NewFuzz(o.seed, cfg.Workers), false
	}
	if o.results != "" {
		s.results = order.NewResults(cfg.Gate)
		cfg.Gate = s.results
	}
	return nil
}

// tell says, after the run, how well the order was kept, and keeps the results.
func (o *orderOptions) tell(std console.IO, quiet bool) error {
	s := &o.steering
	if s.results != nil {
		err := files.Replace(o.results, func(w io.Writer) error { return s.results.Write(w) })
		if err != nil {
			return badInput(err)
		}
	}
	if s.recorded == nil {
		return nil
	}
	c := s.recorded.Count()
	cfs := func(n int) string { return words.Plural(n, "CF", "CFs") }
	switch {
	case c.Missing > 0:
		std.Say("warning: %d of %s of %s did not start in the recorded order, the first is %s: the program no "+
			"longer does what it did", c.Missing, cfs(c.Executions), o.trace, c.First)
	case !quiet:
		std.Say("%s started in the order of %s; times and random numbers in C++ code are not repeated",
			cfs(c.Executions), o.trace)
	}
	if c.New > 0 {
		std.Say("warning: %s ran that %s does not have", cfs(c.New), o.trace)
	}
	if c.Elsewhere > 0 {
		std.Say("warning: %s ran on another node than in %s", cfs(c.Elsewhere), o.trace)
	}
	return nil
}
