package model

import (
	"cmp"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What processes tell each other of streams. Records travel as they stand in the columns of streams, with
// times of the node's own clock, in rows of a parcel. CFs, messages and requests become their ids on the way,
// DFs places in a list of the parcel. Each record keeps its place in the column of the process that read it:
// so the receiver can put what came, in whatever order and however often, into the order in which it was
// recorded.

// parcel is what one process tells another at a time.
type parcel struct {
	DFs     dfTable
	Records []*record
	packing *renaming
}

// record is what a process sends of one stream.
type record struct {
	Node, ID int
	Rows     rows
}

// subject is what a record is about; it goes to every process concerned with that.
type subject uint8

const (
	aboutCF subject = iota
	aboutDF
	aboutMessage
	aboutRequest
	subjects
)

// route says whom records about a subject are for: give is called for every such process. What is nil is for
// nobody.
type route struct {
	about  [subjects]func(n uint32, give func(rank int))
	inputs func(cf CF, node int, give func(rank int)) // executions with their inputs
}

// askedFor are, by subject, the processes that are to be told of it.
type askedFor [subjects]askers

// route gives everybody what they asked for.
func (a *askedFor) route() (to route) {
	for k := range a {
		if a[k].first != nil {
			to.about[k] = a[k].of
		}
	}
	return to
}

// told is a column of which processes tell each other.
type told interface {
	pack(h *sharing, s *stream, to *route)
	take(h *sharing, rank int, r *renaming)
	settle(r *renaming)
}

type toldColumn[T any] struct {
	of      func(r *rows) *column[T]
	about   subject
	number  func(v *T) uint32 // of the subject
	rename  func(v *T, r *renaming)
	details func(r *rows, i int) int // of two records of one place the one with more counts; nil: the first
}

var toldRuns = &toldColumn[execution]{func(r *rows) *column[execution] { return &r.Runs }, aboutCF,
	func(e *execution) uint32 { return uint32(e.CF) }, (*execution).rename,
	func(r *rows, i int) int { return min(len(r.inputsOf(i)), 1) }}

var toldReceived = ofEnds(func(r *rows) *column[end] { return &r.Received }, aboutMessage)

var toldColumns = [...]told{
	&toldColumn[creation]{func(r *rows) *column[creation] { return &r.Creations }, aboutCF,
		func(c *creation) uint32 { return uint32(c.CF) }, (*creation).rename, nil},
	ofCF(func(r *rows) *column[weight] { return &r.Weights }, func(v *weight) *CF { return &v.CF }),
	ofCF(func(r *rows) *column[ready] { return &r.Readies }, func(v *ready) *CF { return &v.CF }),
	toldRuns,
	ofCF(func(r *rows) *column[Move] { return &r.Moves }, func(v *Move) *CF { return &v.CF }),
	ofCF(func(r *rows) *column[holding] { return &r.Held }, func(v *holding) *CF { return &v.CF }),
	&toldColumn[made]{func(r *rows) *column[made] { return &r.Mades }, aboutDF,
		func(d *made) uint32 { return uint32(d.DF) }, (*made).rename, nil},
	ofEnds(func(r *rows) *column[end] { return &r.Sent }, aboutMessage),
	toldReceived,
	ofEnds(func(r *rows) *column[end] { return &r.Asked }, aboutRequest),
	ofEnds(func(r *rows) *column[end] { return &r.AskedHere }, aboutRequest),
}

// ofCF is a column of records that name a CF and nothing else.
func ofCF[T any](of func(*rows) *column[T], cf func(*T) *CF) *toldColumn[T] {
	return &toldColumn[T]{of, aboutCF, func(v *T) uint32 { return uint32(*cf(v)) },
		func(v *T, r *renaming) { r.cf(cf(v)) }, nil}
}

func ofEnds(of func(*rows) *column[end], about subject) *toldColumn[end] {
	return &toldColumn[end]{of, about, func(e *end) uint32 { return e.Number },
		func(e *end, r *renaming) { e.rename(r, about) }, nil}
}

// renaming copies records to other rows, where CFs, messages, requests and DFs have other numbers.
type renaming struct {
	h      *sharing
	number func(r *renaming, numbers *ids, n uint32) uint32
	df     func(df DF) DF
	inputs bool // copy the inputs of executions, too

	from, to       *rows
	i              int       // place in its column of the record being copied
	fromIDs, toIDs *[]uint64 // of its columns
}

// toID puts the id that n stands for into the list of the new column.
func toID(r *renaming, numbers *ids, n uint32) uint32 {
	*r.toIDs = append(*r.toIDs, numbers.id(n))
	return 0
}

// fromID is the number here of the next id in the list of the old column.
func fromID(r *renaming, numbers *ids, _ uint32) uint32 {
	id := (*r.fromIDs)[0]
	*r.fromIDs = (*r.fromIDs)[1:]
	return numbers.number(id)
}

func (r *renaming) cf(cf *CF) { *cf = CF(r.number(r, r.h.b.cfs, uint32(*cf))) }

func (c *creation) rename(r *renaming) {
	r.cf(&c.CF)
	r.cf(&c.Parent)
	if c.Label != 0 {
		n := uint32(r.from.Labels[c.Label-1])
		list := r.from.Labels[c.Label-1 : c.Label+n]
		c.Label = uint32(len(r.to.Labels)) + 1
		r.to.Labels = append(r.to.Labels, list...)
	}
}

func (e *execution) rename(r *renaming) {
	r.cf(&e.CF)
	e.Inputs = uint32(r.to.Inputs.len())
	if r.inputs {
		for _, df := range r.from.inputsOf(r.i) {
			r.to.Inputs.add(r.df(df))
		}
	}
}

func (d *made) rename(r *renaming) {
	d.DF = r.df(d.DF)
	r.cf(&d.By)
}

func (e *end) rename(r *renaming, about subject) {
	numbers := r.h.b.requests
	if about == aboutMessage {
		numbers = r.h.b.messages
	}
	e.Number = r.number(r, numbers, e.Number)
	e.DF = r.df(e.DF)
	e.Request = r.number(r, r.h.b.requests, e.Request)
	r.cf(&e.CF)
	if e.Direct && e.Number != 0 {
		r.h.direct.set(e.Number)
		e.Direct = false
	}
}

// inputsOf gives the inputs of the i-th execution recorded.
func (r *rows) inputsOf(i int) (list []DF) {
	end := uint32(r.Inputs.len())
	if i+1 < r.Runs.len() {
		end = r.Runs.at(i + 1).Inputs
	}
	for k := r.Runs.at(i).Inputs; k < end; k++ {
		list = append(list, *r.Inputs.at(int(k)))
	}
	return list
}

// copy adds a record to the column of other rows.
func (k *toldColumn[T]) copy(r *renaming, i int, place uint32) {
	from, to := k.of(r.from), k.of(r.to)
	v := *from.at(i)
	r.i, r.fromIDs, r.toIDs = i, &from.IDs, &to.IDs
	k.rename(&v, r)
	to.add(v)
	to.Place = append(to.Place, place)
}

// pack puts records of a stream into the parcels of those they are for, but of those who read the stream
// themselves.
func (h *sharing) pack(s *stream, to *route) {
	for _, k := range toldColumns {
		k.pack(h, s, to)
	}
	if to.inputs != nil && !s.abroad {
		toldRuns.tell(h, s, true, func(n uint32, give func(int)) { to.inputs(CF(n), s.Node, give) })
	}
}

func (k *toldColumn[T]) pack(h *sharing, s *stream, to *route) {
	if whom := to.about[k.about]; whom != nil {
		k.tell(h, s, false, whom)
	}
}

func (k *toldColumn[T]) tell(h *sharing, s *stream, inputs bool, whom func(n uint32, give func(rank int))) {
	owner, list := h.m.Owner(s.Node), k.of(&s.rows)
	i := 0
	give := func(rank int) {
		if rank == owner || rank == h.rank {
			return
		}
		r := h.packing(rank, s)
		r.inputs = inputs
		k.copy(r, i, list.place(i))
	}
	each(list, func(v *T) {
		// A message or request without a number is nobody else's.
		if n := k.number(v); n != 0 || k.about < aboutMessage {
			whom(n, give)
		}
		i++
	})
}

// packing is how records of a stream get into the parcel for a process.
func (h *sharing) packing(rank int, s *stream) *renaming {
	p := &h.out[rank]
	if p.packing == nil {
		p.packing = &renaming{h: h, number: toID, df: func(df DF) DF {
			return DF(h.out[rank].DFs.number(h.m.homeOf(df), func() wireDF { return h.wireDF(df) }))
		}}
	}
	p.packing.from, p.packing.to = &s.rows, h.to(rank, s)
	return p.packing
}

// to gives the rows of a stream in the parcel for a process.
func (h *sharing) to(rank int, s *stream) *rows {
	p := &h.out[rank]
	if n := len(p.Records); n == 0 || p.Records[n-1].Node != s.Node || p.Records[n-1].ID != s.ID {
		p.Records = append(p.Records, &record{Node: s.Node, ID: s.ID})
	}
	return &p.Records[len(p.Records)-1].Rows
}

// exchange sends the parcels of h.out and takes in those that came. h.asked, if not nil, gets what they are
// about.
func (h *sharing) exchange() error {
	out := h.out
	h.out = make([]parcel, h.size)
	return procs.Hand(h.g, out, func(rank int, p *parcel) error {
		dfs := make([]DF, len(p.DFs.List))
		taking := renaming{h: h, number: fromID, inputs: true, df: func(i DF) DF {
			if dfs[i] == 0 {
				dfs[i] = h.dfHere(&p.DFs.List[i])
			}
			return dfs[i]
		}}
		for i, r := range p.Records {
			taking.from, taking.to = &r.Rows, &h.abroad[streamKey{r.Node, r.ID}].rows
			for _, k := range toldColumns {
				k.take(h, rank, &taking)
			}
			p.Records[i] = nil
		}
		return nil
	})
}

func (k *toldColumn[T]) take(h *sharing, rank int, r *renaming) {
	from, to := k.of(r.from), k.of(r.to)
	for i := range from.len() {
		k.copy(r, i, from.place(i))
		if h.asked != nil {
			h.asked[k.about].add(k.number(to.at(to.len()-1)), rank)
		}
	}
}

// settle puts what came of a stream into the order in which it was recorded, each record once.
func (s *stream) settle(h *sharing) {
	came := s.rows
	s.rows = rows{}
	same := renaming{h: h, number: func(_ *renaming, _ *ids, n uint32) uint32 { return n },
		df: func(df DF) DF { return df }, inputs: true, from: &came, to: &s.rows}
	for _, k := range toldColumns {
		k.settle(&same)
	}
}

func (k *toldColumn[T]) settle(r *renaming) {
	list := k.of(r.from)
	order := ordered(list.len(), func(x, y int) int {
		by := cmp.Compare(list.Place[x], list.Place[y])
		if by == 0 && k.details != nil {
			by = k.details(r.from, y) - k.details(r.from, x)
		}
		return by
	})
	for n, i := range order {
		if n == 0 || list.Place[order[n-1]] != list.Place[i] {
			k.copy(r, i, list.Place[i])
		}
	}
	k.of(r.to).Place = nil
}

// wireDF names a DF: by its identity, or, where it has none, by its number in the file of a node, outside of
// which nobody knows it.
type wireDF struct {
	Node     int
	Number   uint32
	Name     string
	Identity []int64
}

// dfTable names DFs for another process, each once.
type dfTable struct {
	List  []wireDF
	known map[dfRef]uint32
}

// number gives the place in the table of the DF that a reference stands for.
func (t *dfTable) number(ref dfRef, name func() wireDF) uint32 {
	n, ok := t.known[ref]
	if !ok {
		if t.known == nil {
			t.known = map[dfRef]uint32{}
		}
		n = uint32(len(t.List))
		t.known[ref] = n
		t.List = append(t.List, name())
	}
	return n
}

func (h *sharing) wireDF(df DF) wireDF {
	home := h.m.homeOf(df)
	return wireDF{Node: int(home.node), Number: uint32(home.df), Name: h.m.DFNameOf(df),
		Identity: h.m.identity(df)}
}

// dfHere gives the number of a DF that another process names.
func (h *sharing) dfHere(w *wireDF) DF {
	m, t := h.m, h.b.tables
	if w.Node == 0 && w.Number == 0 {
		return 0
	}
	ref := dfRef{uint32(w.Node), trace.DF(w.Number)}
	if before := len(m.DFName); len(w.Identity) > 0 {
		df := t.df(ref, t.name(w.Name), w.Identity)
		if int(df) == before {
			m.abroad[df] = w.Identity
		}
		return df
	}
	if df := m.DFNumbered(w.Node, uint64(w.Number)); df != 0 {
		return df
	}
	return t.lateDF(ref, func() string { return w.Name })
}
