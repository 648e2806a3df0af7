package lifecycle

import (
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Makers tells which of the CFs that wait at the end would make what others wait for. Any number of
// goroutines may ask.
type Makers struct {
	mu sync.Mutex // asking keeps names of DFs
	s  *makers    // nil: nothing is known
}

// FindMakers looks through the CFs that are left, once: a second for some hundred thousand of them.
func FindMakers(m *model.Model) *Makers {
	s := newFinder(m, Options{}, nil)
	if !s.need("cfs", trace.KindCFCreated, trace.KindCFStarted, trace.KindCFFinished, trace.KindDFCreate) {
		return &Makers{}
	}
	l, err := s.leftovers()
	if err == nil {
		var x *makers
		if x, err = s.newMakers(l); err == nil {
			return &Makers{s: x}
		}
	}
	panic(err) // nobody else can make it fail
}

// Of gives the waiting CF that would make a DF that another CF waits for, 0 where none is known. sure is
// false where its statement can be read in another way, too.
func (x *Makers) Of(waiting model.CF, df model.DF) (by model.CF, sure bool) {
	if x.s == nil || df == 0 || x.s.f.made(df) {
		return 0, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	m := x.s.f.m
	w := x.s.unmade(m.CFID(waiting), m.SiteOf[waiting], m.DFString(df), m.DFName[df])
	return m.FindCF(w.by), w.by != 0 && w.kind == WouldMake
}
