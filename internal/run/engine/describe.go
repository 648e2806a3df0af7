package engine

// What the numbers in events stand for, for modules that show events to people.

import (
	"sync"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// describer implements prof.Describer. It outlives the run, and holds nothing of it but the tables.
type describer struct {
	prog  *luna.Program
	names []*sync.Map   // by node: strings by trace.Name
	known []*identities // by node; nil: Config.DescribeDFs is off
}

func (d *describer) Site(_ int, s trace.Site) prof.Site {
	if s == 0 || int(s) > len(d.prog.Stmts) {
		return prof.Site{}
	}
	st := d.prog.Stmts[s-1]
	code := &d.prog.Codes[st.Code]
	return prof.Site{Code: code.Name, Kind: trace.CodeKind(code.Kind), Label: st.LabelName, File: st.Pos.File,
		Line: st.Pos.Line, Col: st.Pos.Col, Text: st.Text}
}

func (d *describer) DF(node int, df trace.DF) (name string, identity []int64) {
	if node < 0 || node >= len(d.known) || d.known[node] == nil {
		return "", nil
	}
	return d.known[node].find(df)
}

func (d *describer) Name(node int, n trace.Name) string {
	if node < 0 || node >= len(d.names) || d.names[node] == nil {
		return ""
	}
	s, _ := d.names[node].Load(n)
	text, _ := s.(string)
	return text
}

// setDescriber tells the session who knows the program.
func (e *engine) setDescriber() {
	d := &describer{prog: e.prog, names: make([]*sync.Map, len(e.nodes)),
		known: make([]*identities, len(e.nodes))}
	for _, n := range e.here {
		d.names[n.id], d.known[n.id] = &n.nameTexts, n.known
	}
	e.ses.SetDescriber(d)
}

// identities maps the numbers of a node's DFs to what they stand for. A number is known from before its first
// event until after its last one: as long as the store has a cell for it, or a CF has it among its inputs. It
// also stays known while it is one of the last retiredLength numbers that its shard gave up, for events
// that are just being emitted.
//
// A nil *identities knows nothing and does nothing.
type identities struct {
	shards [16]identityShard
}

type identityShard struct {
	mu      sync.Mutex
	known   map[trace.DF]*identity
	retired [retiredLength]trace.DF // given up, oldest at next
	next    int
}

// locked returns the shard of a number, which the caller unlocks.
func (t *identities) locked(df trace.DF) *identityShard {
	s := &t.shards[int(df)%len(t.shards)]
	s.mu.Lock()
	return s
}

const retiredLength = 1024

type identity struct {
	name string
	list []int64 // creating node, number, indices
	held int32   // inputs of CFs that it is
	gone bool    // given up by the store, and long ago
}

func newIdentities() *identities {
	t := &identities{}
	for i := range t.shards {
		t.shards[i].known = map[trace.DF]*identity{}
	}
	return t
}

// add makes a number known.
func (t *identities) add(df trace.DF, name string, list []int64) {
	s := t.locked(df)
	s.known[df] = &identity{name: name, list: list}
	s.mu.Unlock()
}

func (t *identities) find(df trace.DF) (name string, list []int64) {
	s := t.locked(df)
	defer s.mu.Unlock()
	if x := s.known[df]; x != nil {
		return x.name, x.list
	}
	return "", nil
}

// retire gives up a number that the store will not use again.
func (t *identities) retire(df trace.DF) {
	if t == nil || df == 0 {
		return
	}
	s := t.locked(df)
	oldest := s.retired[s.next]
	s.retired[s.next] = df
	s.next = (s.next + 1) % retiredLength
	if x := s.known[oldest]; x != nil {
		x.gone = true
		if x.held == 0 {
			delete(s.known, oldest)
		}
	}
	s.mu.Unlock()
}

// hold adds by to the number of inputs that the number is.
func (t *identities) hold(df trace.DF, by int32) {
	if t == nil || df == 0 {
		return
	}
	s := t.locked(df)
	if x := s.known[df]; x != nil {
		x.held += by
		if x.held == 0 && x.gone {
			delete(s.known, df)
		}
	}
	s.mu.Unlock()
}

// denote says which number an input has.
func (n *node) denote(s *slot, df trace.DF) {
	if s.df != df {
		n.known.hold(df, 1)
		n.known.hold(s.df, -1)
		s.df = df
	}
}

// forgetInputs gives up the numbers of a CF's inputs.
func (n *node) forgetInputs(c *cf) {
	if n.known == nil {
		return
	}
	for i := range c.inputs {
		n.denote(&c.inputs[i], 0)
	}
}
