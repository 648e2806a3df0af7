package critical

import (
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// stretch is a part of a worker's time with one CF.
type stretch struct {
	from, to int64
	factor   slou.Factor // U, O (pre-empted) or what is cut out
	name     string      // what the CF waited for
}

// eachStretch divides the time between from and to that a worker spent on a CF, in order: what cuts takes out
// of the worker's time, when a debugger held the CF, and the rest as U.
//
// The holds are those of this CF, which may be a structured one: model.Cuts has those of atomic CFs only,
// because the division of time says nothing about structured CFs.
func eachStretch(m *model.Model, cuts []model.Cut, cf model.CF, from, to int64, visit func(stretch)) {
	cuts = model.CutsWithin(cuts, from, to)
	if len(m.Held) > 0 {
		var held []model.Cut
		for _, v := range m.Held[cf] {
			held = append(held, model.Cut{Interval: v, Name: model.HeldName})
		}
		cuts = model.Overlay(cuts, held)
	}
	for i := range cuts {
		c := &cuts[i]
		a, b := max(c.From, from), min(c.To, to)
		if a >= b {
			continue
		}
		if from < a {
			visit(stretch{from, a, slou.FactorU, ""})
		}
		visit(stretch{a, b, slou.FactorOfCut(c), c.Name})
		from = b
	}
	if from < to {
		visit(stretch{from, to, slou.FactorU, ""})
	}
}
