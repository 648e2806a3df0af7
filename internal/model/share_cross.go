package model

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// route says whom records are for: give is called for every such process. What is nil is for nobody.
type route struct {
	cf      func(cf CF, give func(rank int))
	inputs  func(cf CF, node int, give func(rank int)) // executions with their inputs
	made    func(df DF, give func(rank int))
	message func(n uint32, give func(rank int))
	request func(n uint32, give func(rank int))
}

// pack puts records of a stream into the parcels of those they are for, but of those who read the stream
// themselves.
func (h *sharing) pack(s *stream, to *route) {
	b, at, own := h.b, s.at, s.at == nil
	if own {
		at = new(positions)
	}
	id := func(cf CF) uint64 { return b.cfs.id(uint32(cf)) }
	if to.cf != nil {
		packEach(h, s, &s.creations, at.creations, func(c *creation, give func(int)) {
			to.cf(c.cf, give)
		}, func(r *record, _ int, at uint32, c *creation) {
			w := wireCreation{At: at, Time: c.time, CF: id(c.cf), Parent: id(c.parent), Exec: c.exec, Site: c.site}
			if c.label != 0 {
				w.Label = s.labels[c.label : int32(c.label)+s.labels[c.label-1]]
			}
			r.Creations = append(r.Creations, w)
		})
		packEach(h, s, &column[weight]{last: s.weights}, at.weights, func(w *weight, give func(int)) {
			to.cf(w.cf, give)
		}, func(r *record, _ int, at uint32, w *weight) {
			r.Weights = append(r.Weights, wireWeight{at, id(w.cf), w.w})
		})
		packEach(h, s, &s.readies, at.readies, func(v *ready, give func(int)) {
			to.cf(v.cf, give)
		}, func(r *record, _ int, at uint32, v *ready) {
			r.Readies = append(r.Readies, wireReady{at, v.time, id(v.cf)})
		})
		packEach(h, s, &s.runs, at.runs, func(e *execution, give func(int)) {
			to.cf(e.cf, give)
		}, func(r *record, _ int, at uint32, e *execution) {
			r.Runs = append(r.Runs, wireRun{at, e.start, e.end, e.cpu, id(e.cf), e.number, nil})
		})
		packEach(h, s, &s.moves, at.moves, func(v *move, give func(int)) {
			to.cf(v.cf, give)
		}, func(r *record, _ int, at uint32, v *move) {
			r.Moves = append(r.Moves, wireMove{at, id(v.cf), v.time, v.bytes, v.peer, v.out, v.stolen})
		})
		packEach(h, s, &column[holding]{last: s.held}, at.held, func(v *holding, give func(int)) {
			to.cf(v.cf, give)
		}, func(r *record, _ int, at uint32, v *holding) {
			r.Held = append(r.Held, wireHeld{at, id(v.cf), v.time, v.on})
		})
	}
	if to.inputs != nil && own {
		packEach(h, s, &s.runs, nil, func(e *execution, give func(int)) { to.inputs(e.cf, s.node, give) },
			func(r *record, rank int, at uint32, e *execution) {
				w := wireRun{at, e.start, e.end, e.cpu, id(e.cf), e.number, nil}
				for _, df := range s.inputsOf(int(at)) {
					w.Inputs = append(w.Inputs, h.dfTo(rank, df))
				}
				r.Runs = append(r.Runs, w)
			})
	}
	if to.made != nil {
		packEach(h, s, &s.mades, at.mades, func(d *made, give func(int)) {
			to.made(d.df, give)
		}, func(r *record, rank int, at uint32, d *made) {
			r.Mades = append(r.Mades, wireMade{at, d.time, d.size, h.dfTo(rank, d.df), id(d.by)})
		})
	}
	for k, list := range s.ends() {
		numbers, whom := b.messages, to.message
		if k >= endAsked {
			numbers, whom = b.requests, to.request
		}
		if whom == nil {
			continue
		}
		wants := func(e *end, give func(int)) {
			if e.number != 0 { // else nobody else has anything to do with it
				whom(e.number, give)
			}
		}
		packEach(h, s, list, at.ends[k], wants, func(r *record, rank int, at uint32, e *end) {
			r.Ends[k] = append(r.Ends[k], wireEnd{At: at, Number: numbers.id(e.number), Time: e.time, Peer: e.peer,
				DF: h.dfTo(rank, e.df), Bytes: e.bytes,
				Request: b.requests.id(e.request), CF: id(e.cf),
				First: k == endSent && own && !h.messages.arrived.has(uint32(e.df))})
		})
	}
}

// packEach calls add for every record of a column and every process that it is for. at says where the records
// stand; nil: as in the column.
func packEach[T any](h *sharing, s *stream, list *column[T], at []uint32,
	whom func(v *T, give func(rank int)), add func(r *record, rank int, at uint32, v *T)) {
	owner := h.m.Owner(s.node)
	i := 0
	var now *T
	give := func(rank int) {
		if rank == owner || rank == h.rank {
			return
		}
		place := uint32(i)
		if at != nil {
			place = at[i]
		}
		add(h.to(rank, s), rank, place, now)
	}
	each(list, func(v *T) {
		now = v
		whom(v, give)
		i++
	})
}

// inputsOf gives the inputs of the i-th execution recorded.
func (s *stream) inputsOf(i int) (list []DF) {
	end := uint32(s.inputs.len())
	if i+1 < s.runs.len() {
		end = s.runs.at(i + 1).inputs
	}
	for k := s.runs.at(i).inputs; k < end; k++ {
		list = append(list, *s.inputs.at(int(k)))
	}
	return list
}

// tellCrossing completes what is known here of all CFs, messages, requests and DFs of which something was
// recorded here.
func (h *sharing) tellCrossing() error {
	if err := h.match(); err != nil {
		return err
	}
	for _, s := range h.own {
		each(&s.received, func(e *end) { h.messages.arrived.set(uint32(e.df)) })
	}
	b := h.b
	toHome := func(numbers *ids) func(n uint32, give func(int)) {
		return func(n uint32, give func(int)) { give(h.home(numbers.id(n))) }
	}
	cfHome := toHome(b.cfs)
	home := route{message: toHome(b.messages), request: toHome(b.requests)}
	home.cf = func(cf CF, give func(int)) {
		if k := h.home(b.cfs.id(uint32(cf))); k != h.rank {
			h.told.set(uint32(cf))
			cfHome(uint32(cf), give)
		}
	}
	// Who has to do with a DF is known to the one who compared its id: all are told by it, and what it need not
	// know itself is not kept.
	var forward []forwarded
	home.made = func(df DF, give func(int)) {
		if !h.shared.has(uint32(df)) {
			return
		}
		if k := h.matcher(trace.IdentityID(h.m.identity(df))); k != h.rank {
			give(k)
		}
	}
	for _, s := range h.own {
		h.pack(s, &home)
	}
	var cfs, messages, requests askers
	h.heard = func(p *parcel, rank int) {
		for _, r := range p.Records {
			if len(r.Mades) > 0 {
				forward = append(forward, forwarded{rank, r.Node, r.Stream, p.DFs, r.Mades})
				r.Mades = nil
			}
			h.askedBy(r, rank, &cfs, &messages, &requests)
		}
	}
	if err := h.exchange(); err != nil {
		return err
	}
	h.heard = nil
	for i := range forward {
		h.forward(&forward[i])
	}
	forward = nil
	back := route{cf: func(cf CF, give func(int)) { cfs.of(uint32(cf), give) }, message: messages.of,
		request: requests.of}
	back.made = func(df DF, give func(int)) {
		// Own creations of DFs that were compared here go to the others directly.
		if h.shared.has(uint32(df)) {
			if id := trace.IdentityID(h.m.identity(df)); h.matcher(id) == h.rank {
				for _, k := range h.matches.of(id) {
					give(int(k))
				}
			}
		}
	}
	for s := range h.all {
		h.pack(s, &back)
	}
	if err := h.exchange(); err != nil {
		return err
	}
	return h.findMixed()
}

// askedBy notes that a process recorded something about CFs, messages and requests.
func (h *sharing) askedBy(r *record, rank int, cfs, messages, requests *askers) {
	cf := func(id uint64) { cfs.add(h.b.cfs.number(id), rank) }
	for i := range r.Creations {
		cf(r.Creations[i].CF)
	}
	for i := range r.Weights {
		cf(r.Weights[i].CF)
	}
	for i := range r.Readies {
		cf(r.Readies[i].CF)
	}
	for i := range r.Runs {
		cf(r.Runs[i].CF)
	}
	for i := range r.Moves {
		cf(r.Moves[i].CF)
	}
	for i := range r.Held {
		cf(r.Held[i].CF)
	}
	for k, list := range r.Ends {
		for i := range list {
			if k < endAsked {
				messages.add(h.b.messages.number(list[i].Number), rank)
			} else {
				requests.add(h.b.requests.number(list[i].Number), rank)
			}
		}
	}
}

// forwarded are creations of DFs that one process told another, for those who have to do with them.
type forwarded struct {
	from, node, stream int
	dfs                []wireDF
	mades              []wireMade
}

func (h *sharing) forward(f *forwarded) {
	to := make([]map[uint32]uint32, h.size) // by process: its numbers of f's DFs
	s := &stream{node: f.node, id: f.stream}
	for _, d := range f.mades {
		for _, k := range h.matches.of(trace.IdentityID(f.dfs[d.DF].Identity)) {
			rank := int(k)
			if rank == f.from {
				continue
			}
			if rank == h.rank {
				// It has to do with it itself.
				s := h.abroad[streamKey{f.node, f.stream}]
				h.take(s, &record{Mades: []wireMade{{d.At, d.Time, d.Size, 0, d.By}}}, func(uint32) DF {
					return h.dfHere(&f.dfs[d.DF])
				})
				continue
			}
			if to[rank] == nil {
				to[rank] = map[uint32]uint32{}
			}
			n, ok := to[rank][d.DF]
			if !ok {
				o := &h.out[rank]
				n = uint32(len(o.DFs))
				o.DFs = append(o.DFs, f.dfs[d.DF])
				to[rank][d.DF] = n
			}
			w := d
			w.DF = n
			r := h.to(rank, s)
			r.Mades = append(r.Mades, w)
		}
	}
}

// matches are the ids of DFs that are mentioned in files of several processes, of those that are compared
// here.
type matches struct {
	ids   []uint64 // ascending
	at    []uint32 // by id: where its processes begin; one more at the end
	ranks []uint16
}

func (m *matches) of(id uint64) []uint16 {
	i, ok := slices.BinarySearch(m.ids, id)
	if !ok {
		return nil
	}
	return m.ranks[m.at[i]:m.at[i+1]]
}

// matcher gives the process that compares an id of a DF.
func (h *sharing) matcher(id uint64) int { return int(id % uint64(h.size)) }

// match finds the DFs that are mentioned in files of several processes.
func (h *sharing) match() error {
	t := h.b.tables
	type entry struct {
		id uint64
		df DF
	}
	own := make([][]entry, h.size)
	for id, df := range t.byID {
		k := h.matcher(id)
		own[k] = append(own[k], entry{id, df})
	}
	out := make([][]byte, h.size)
	for k, list := range own {
		slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
		for _, e := range list {
			out[k] = binary.LittleEndian.AppendUint64(out[k], e.id)
		}
	}
	in, err := h.g.Exchange(out)
	if err != nil {
		return err
	}
	answers, err := h.matches.find(in)
	if err := procs.Agree(h.g, err); err != nil {
		return err
	}
	if answers, err = h.g.Exchange(answers); err != nil {
		return err
	}
	for k, list := range own {
		if len(answers[k]) != (len(list)+7)/8 {
			return errors.New("an answer about data fragments has the wrong length")
		}
		for i, e := range list {
			if answers[k][i/8]&(1<<(i%8)) == 0 {
				continue
			}
			h.shared.set(uint32(e.df))
			for _, df := range t.clash[e.id] {
				h.shared.set(uint32(df))
			}
		}
	}
	return nil
}

// find merges sorted lists of ids and answers to each, with a bit for each of its ids, whether it is in
// another one, too.
func (m *matches) find(lists [][]byte) ([][]byte, error) {
	answers := make([][]byte, len(lists))
	at := make([]int, len(lists))
	for k, b := range lists {
		if len(b)%8 != 0 {
			return nil, errors.New("a list of data fragments has the wrong length")
		}
		answers[k] = make([]byte, (len(b)/8+7)/8)
	}
	first := func(k int) uint64 { return binary.LittleEndian.Uint64(lists[k][8*at[k]:]) }
	var those []int
	for {
		those = those[:0]
		least := ^uint64(0)
		for k := range lists {
			if 8*at[k] == len(lists[k]) {
				continue
			}
			id := first(k)
			if id < least || len(those) == 0 {
				least, those = id, those[:0]
			}
			if id == least {
				those = append(those, k)
			}
		}
		if len(those) == 0 {
			m.at = append(m.at, uint32(len(m.ranks)))
			return answers, nil
		}
		if len(those) > 1 {
			m.ids, m.at = append(m.ids, least), append(m.at, uint32(len(m.ranks)))
		}
		for _, k := range those {
			if len(those) > 1 {
				m.ranks = append(m.ranks, uint16(k))
				answers[k][at[k]/8] |= 1 << (at[k] % 8)
			}
			at[k]++
		}
	}
}
