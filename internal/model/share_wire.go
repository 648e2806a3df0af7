package model

import (
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What processes tell each other of streams. A record says where in its stream's column it stands, so that
// the receiver can put what came, in whatever order and however often, into the order in which it was
// recorded. Times are those of the node's own clock.

type (
	wireCreation struct {
		At         uint32 // its place
		Time       int64
		CF, Parent uint64
		Exec, Site uint32
		Label      []int32
	}
	wireWeight struct {
		At uint32 // its place
		CF uint64
		W  float64
	}
	wireReady struct {
		At   uint32 // its place
		Time int64
		CF   uint64
	}
	wireRun struct {
		At              uint32 // its place
		Start, End, CPU int64
		CF              uint64
		Number          uint32
		Inputs          []uint32 // indices into parcel.DFs
	}
	wireMade struct {
		At         uint32 // its place
		Time, Size int64
		DF         uint32
		By         uint64
	}
	wireEnd struct {
		At                  uint32 // its place
		Number, Request, CF uint64
		Time, Bytes         int64
		Peer                int32
		DF                  uint32
		First               bool // of a sending: the node never received the DF itself
	}
	wireMove struct {
		At          uint32 // its place
		CF          uint64
		Time, Bytes int64
		Peer        int32
		Out, Stolen bool
	}
	wireHeld struct {
		At   uint32 // its place
		CF   uint64
		Time int64
		On   bool
	}
)

// wireDF names a DF: by its identity, or, where it has none, by its number in the file of a node, outside of
// which nobody knows it.
type wireDF struct {
	Node     int
	Number   uint32
	Name     string
	Identity []int64
}

// record is what is told of one stream.
type record struct {
	Node, Stream int
	Creations    []wireCreation
	Weights      []wireWeight
	Readies      []wireReady
	Runs         []wireRun
	Mades        []wireMade
	Ends         [endKinds][]wireEnd
	Moves        []wireMove
	Held         []wireHeld
}

// The columns of ends, in the order of stream.ends.
const (
	endSent = iota
	endReceived
	endAsked
	endAskedHere
	endKinds
)

func (s *stream) ends() [endKinds]*column[end] {
	return [endKinds]*column[end]{&s.sent, &s.received, &s.asked, &s.askedHere}
}

// parcel is what one process tells another at a time.
type parcel struct {
	DFs     []wireDF
	Records []*record
}

// outbox is a parcel that is being made.
type outbox struct {
	parcel
	dfs map[DF]uint32
}

// to gives the record of a stream in the parcel for a process.
func (h *sharing) to(rank int, s *stream) *record {
	o := &h.out[rank]
	if n := len(o.Records); n > 0 && o.Records[n-1].Node == s.node && o.Records[n-1].Stream == s.id {
		return o.Records[n-1]
	}
	r := &record{Node: s.node, Stream: s.id}
	o.Records = append(o.Records, r)
	return r
}

// dfTo gives a DF's number in the parcel for a process.
func (h *sharing) dfTo(rank int, df DF) uint32 {
	o := &h.out[rank]
	n, ok := o.dfs[df]
	if !ok {
		if o.dfs == nil {
			o.dfs = map[DF]uint32{}
		}
		n = uint32(len(o.DFs))
		o.dfs[df] = n
		o.DFs = append(o.DFs, h.wireDF(df))
	}
	return n
}

func (h *sharing) wireDF(df DF) wireDF {
	home := h.m.dfHome[df]
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
	before := len(m.DFName)
	if len(w.Identity) > 0 {
		df := t.df(ref, t.name(w.Name), w.Identity)
		if int(df) == before {
			m.abroad[df] = w.Identity
		}
		return df
	}
	if w.Node < len(m.numbers) && uint64(w.Number) < uint64(len(m.numbers[w.Node])) &&
		m.numbers[w.Node][w.Number] != 0 {
		return m.numbers[w.Node][w.Number]
	}
	df, ok := t.late[ref]
	if !ok {
		df = DF(before)
		m.DFName, m.dfHome = append(m.DFName, t.name(w.Name)), append(m.dfHome, ref)
		t.late[ref] = df
	}
	return df
}

// exchange sends the parcels of h.out and takes in those that came, which h.heard sees before.
func (h *sharing) exchange() error {
	out := make([][]byte, h.size)
	for i := range h.out {
		if len(h.out[i].Records) > 0 {
			out[i] = procs.Encode(&h.out[i].parcel)
		}
		h.out[i] = outbox{}
	}
	in, err := h.g.Exchange(out)
	if err != nil {
		return err
	}
	for rank, b := range in {
		in[rank] = nil
		if len(b) == 0 {
			continue
		}
		var p parcel
		if err := procs.Decode(b, &p); err != nil {
			return procs.Told(rank, err)
		}
		if h.heard != nil {
			h.heard(&p, rank)
		}
		dfs := make([]DF, len(p.DFs))
		df := func(i uint32) DF {
			if dfs[i] == 0 {
				dfs[i] = h.dfHere(&p.DFs[i])
			}
			return dfs[i]
		}
		for i, r := range p.Records {
			h.take(h.abroad[streamKey{r.Node, r.Stream}], r, df)
			p.Records[i] = nil
		}
	}
	return nil
}

// told is an error in what a process told.
// positions say where the records of a stream of another process stand in its columns there.
type positions struct {
	creations, weights, readies, runs, mades, moves, held []uint32
	ends                                                  [endKinds][]uint32
}

// take adds what came of a stream.
func (h *sharing) take(s *stream, r *record, df func(uint32) DF) {
	b, at := h.b, s.at
	for i := range r.Creations {
		c := &r.Creations[i]
		v := creation{time: c.Time, cf: s.cf(c.CF), parent: s.cf(c.Parent), exec: c.Exec, site: c.Site}
		v.label = s.label(c.Label)
		s.creations.add(v)
		at.creations = append(at.creations, c.At)
	}
	for i := range r.Weights {
		w := &r.Weights[i]
		s.weights, at.weights = append(s.weights, weight{s.cf(w.CF), w.W}), append(at.weights, w.At)
	}
	for i := range r.Readies {
		v := &r.Readies[i]
		s.readies.add(ready{v.Time, s.cf(v.CF)})
		at.readies = append(at.readies, v.At)
	}
	for i := range r.Runs {
		v := &r.Runs[i]
		s.runs.add(execution{v.Start, v.End, v.CPU, s.cf(v.CF), v.Number, uint32(s.inputs.len())})
		for _, n := range v.Inputs {
			s.inputs.add(df(n))
		}
		at.runs = append(at.runs, v.At)
	}
	for i := range r.Mades {
		v := &r.Mades[i]
		s.mades.add(made{v.Time, v.Size, df(v.DF), s.cf(v.By)})
		at.mades = append(at.mades, v.At)
	}
	for k, list := range s.ends() {
		ids := b.messages
		if k >= endAsked {
			ids = b.requests
		}
		for i := range r.Ends[k] {
			v := &r.Ends[k][i]
			n := ids.number(v.Number)
			list.add(end{number: n, time: v.Time, peer: v.Peer, df: df(v.DF), bytes: v.Bytes,
				request: b.requests.number(v.Request), cf: s.cf(v.CF)})
			if v.First {
				h.direct.set(n)
			}
			at.ends[k] = append(at.ends[k], v.At)
		}
	}
	for i := range r.Moves {
		v := &r.Moves[i]
		s.moves.add(move{cf: s.cf(v.CF), time: v.Time, node: int32(s.node), peer: v.Peer, bytes: v.Bytes,
			out: v.Out, stolen: v.Stolen})
		at.moves = append(at.moves, v.At)
	}
	for i := range r.Held {
		v := &r.Held[i]
		s.held = append(s.held, holding{s.cf(v.CF), v.Time, v.On})
		at.held = append(at.held, v.At)
	}
}

// label keeps the indices of a label and gives its number.
func (s *stream) label(list []int32) uint32 {
	if len(list) == 0 {
		return 0
	}
	at := uint32(len(s.labels)) + 1
	s.labels = append(append(s.labels, int32(len(list))), list...)
	return at
}

// settle puts what came of a stream into the order in which it was recorded, each record once.
func (s *stream) settle() {
	at := s.at
	s.creations = inOrder(s.creations.move(nil), at.creations, nil)
	s.readies = inOrder(s.readies.move(nil), at.readies, nil)
	s.mades = inOrder(s.mades.move(nil), at.mades, nil)
	s.moves = inOrder(s.moves.move(nil), at.moves, nil)
	for k, list := range s.ends() {
		*list = inOrder(list.move(nil), at.ends[k], nil)
	}
	weights, held := inOrder(s.weights, at.weights, nil), inOrder(s.held, at.held, nil)
	s.weights, s.held = weights.move(nil), held.move(nil)
	// Of an execution that came with and without its inputs the one with them counts.
	inputs := s.inputs.move(nil)
	runs := s.runs.move(nil)
	to := make(map[uint32]uint32, len(runs)) // inputs by where they begin; empty lists need no entry
	for i := range runs {
		end := uint32(len(inputs))
		if i+1 < len(runs) {
			end = runs[i+1].inputs
		}
		if runs[i].inputs < end {
			to[runs[i].inputs] = end
		} else {
			runs[i].inputs = noInputs
		}
	}
	s.runs = inOrder(runs, at.runs, func(a, b *execution) bool {
		return a.inputs == noInputs && b.inputs != noInputs
	})
	each(&s.runs, func(e *execution) {
		from := e.inputs
		e.inputs = uint32(s.inputs.len())
		if from != noInputs {
			for _, df := range inputs[from:to[from]] {
				s.inputs.add(df)
			}
		}
	})
	s.at = nil
}

const noInputs = ^uint32(0)

// inOrder sorts records by their places and leaves one of each; better tells whether of two of one place the
// second says more.
func inOrder[T any](list []T, at []uint32, better func(a, b *T) bool) (out column[T]) {
	order := make([]uint32, len(list))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(x, y uint32) int { return int(int64(at[x]) - int64(at[y])) })
	for i, n := range order {
		if i > 0 && at[order[i-1]] == at[n] {
			if last := out.at(out.len() - 1); better != nil && better(last, &list[n]) {
				*last = list[n]
			}
			continue
		}
		out.add(list[n])
	}
	return out
}
