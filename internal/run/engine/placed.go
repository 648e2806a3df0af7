package engine

import (
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
)

// A placement from a file (Config.Place) comes before locators. It names CFs by path and DFs by name and
// indices, so all nodes agree on it without a word. DFs in locators are requested all the same: programs
// count requests.

// placed is the node where the placement wants a CF's next execution; false where it does not say.
func (w *worker) placed(c *cf) (node int, ok bool) {
	p := w.n.eng.cfg.Place
	if p == nil || p.CFs[c.st.ID] == nil {
		return 0, false
	}
	path := c.path
	if c.st.Kind == luna.WhileLoop {
		path = placement.Add(path, int32(c.exec))
	}
	n, ok := p.CFs[c.st.ID][path]
	return int(n), ok
}

// storedAt is the node where the placement wants a DF.
func (a *actor) storedAt(r *luna.DFRef, id *ident) (node int, ok bool) {
	p := a.n.eng.cfg.Place
	if p == nil || p.DFs[id.decl] == nil || r.Loc.Kind != luna.LocZero && r.Loc.Kind != luna.LocCyclic {
		return 0, false
	}
	key := placement.Start
	for i := range int(id.n) {
		key = placement.Add(key, id.at(i))
	}
	n, ok := p.DFs[id.decl][key]
	return int(n), ok
}

// unplaced counts a CF that the placement does not place although it does others of its statement.
func (w *worker) unplaced(c *cf) {
	if p := w.n.eng.cfg.Place; p != nil && p.CFs[c.st.ID] != nil {
		if _, ok := w.placed(c); !ok {
			w.stats.unplaced++
		}
	}
}

// hasPaths tells whether the paths of CFs matter to anybody.
func (e *engine) hasPaths() bool { return e.cfg.Place != nil || e.cfg.Gate != nil }
