package lifecycle

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// dossier is what the processes know of a DF that one of them has a question about. Times are those of the model.
type dossier struct {
	id        uint64
	home      [2]uint64 // node and number of the first mention, which orders DFs
	use       int64     // last use, None for none
	end       [2]uint64 // process, and where in its order: the first onDestroy because the run ended
	ended     int64     // when; None for none
	copies    int64     // on nodes without an end: stored less dropped
	destroyed []int64
}

// questions are DFs of which all is to be known.
type questions struct {
	asked map[uint64]bool       // by id
	own   map[model.DF]bool     // those that only this process knows
	found map[model.DF]*dossier // of DFs that were made here last
}

// dfs finds DFs that were never used, held to the end, or made anew before they were destroyed.
func (s *sharing) dfs() error {
	canUnused := s.need("never_used", trace.KindDFCreate, trace.KindCFStarted)
	canHeld := s.need("held_to_end", trace.KindDFCreate, trace.KindDFDestroy)
	canTwice := s.need("produced_twice", trace.KindDFCreate, trace.KindDFDuplicate)
	if !canUnused && !canHeld && !canTwice {
		return nil
	}
	own := s.dossiers()
	q, err := s.ask(own)
	if err != nil {
		return err
	}
	if err := s.tell(q, own); err != nil {
		return err
	}
	list := slices.Collect(maps.Keys(q.found))
	slices.SortFunc(list, func(a, b model.DF) int {
		x, y := q.found[a], q.found[b]
		return cmp.Or(slices.Compare(x.home[:], y.home[:]), cmp.Compare(a, b))
	})
	if canTwice {
		if err := s.twice(q, list); err != nil {
			return err
		}
	}
	if canUnused {
		if s.res.NeverUsed, err = s.neverUsed(q, list); err != nil {
			return err
		}
	}
	if canHeld {
		s.res.HeldToEnd, err = s.held(q, list)
	}
	return err
}

// madeHere tells whether this process's nodes made a DF last.
func (s *sharing) madeHere(df model.DF) bool {
	_, end := s.m.Creations(df)
	return s.made(df) && s.m.Own(int(s.m.MadeNode[end-1]))
}

// own is what this process knows by DF.
type own struct {
	use  []int64
	ends map[model.DF]int // first place in Copies
	// copies are counted, and times of destructions listed, for DFs for which they may matter.
	copies    map[model.DF]int64
	destroyed map[model.DF][]int64
}

func (s *sharing) dossiers() *own {
	m := s.m
	o := &own{use: s.lastUses(), ends: map[model.DF]int{}, copies: map[model.DF]int64{}, destroyed: map[model.DF][]int64{}}
	unended := make([]bool, len(m.Nodes))
	for n := range m.Nodes {
		for _, w := range m.Nodes[n].Workers {
			unended[n] = unended[n] || w.Finished == model.None
		}
	}
	for i := range m.Copies {
		c := &m.Copies[i]
		if c.DF == 0 || !m.Own(int(c.Node)) {
			continue
		}
		if first, end := m.Creations(c.DF); c.What >= model.CopyExpired && end > first+1 {
			o.destroyed[c.DF] = append(o.destroyed[c.DF], c.Time)
		}
		_, has := o.ends[c.DF]
		switch {
		case c.What == model.CopyEnd && !has:
			o.ends[c.DF] = i
		case !m.Killed || !unended[c.Node]:
		case c.What == model.CopyStored:
			o.copies[c.DF]++
		case c.What == model.CopyDropped:
			o.copies[c.DF]--
		}
	}
	return o
}

// ask finds the DFs that any process has a question about.
func (s *sharing) ask(o *own) (*questions, error) {
	m := s.m
	q := &questions{asked: map[uint64]bool{}, own: map[model.DF]bool{}, found: map[model.DF]*dossier{}}
	var b []byte
	for i := 1; i < m.DFs(); i++ {
		df := model.DF(i)
		first, end := m.Creations(df)
		_, ended := o.ends[df]
		if here := s.madeHere(df); !(here && (o.use[df] == model.None || end > first+1)) && !ended && o.copies[df] == 0 {
			continue
		}
		if id := m.DFID(df); id != 0 {
			b = binary.LittleEndian.AppendUint64(b, id)
		} else {
			q.own[df] = true
		}
	}
	all, err := procs.AllGather(s.g, b)
	for _, b := range all {
		for ; len(b) >= 8; b = b[8:] {
			q.asked[binary.LittleEndian.Uint64(b)] = true
		}
	}
	return q, err
}

// tell sends what this process knows of the DFs in question to those whose nodes made them last, and puts together what came.
func (s *sharing) tell(q *questions, o *own) error {
	m := s.m
	out := make([][]byte, s.g.Size())
	for i := 1; i < m.DFs(); i++ {
		df := model.DF(i)
		if !s.made(df) {
			continue
		}
		id := m.DFID(df)
		home := m.DFHome(df)
		if id == 0 && q.own[df] {
			if s.madeHere(df) {
				q.found[df] = s.dossier(o, df, id, home)
			}
			continue
		}
		if !q.asked[id] || !m.Own(int(home[0])) {
			continue
		}
		_, end := m.Creations(df)
		to := s.m.Owner(int(m.MadeNode[end-1]))
		out[to] = s.dossier(o, df, id, home).append(out[to])
	}
	in, err := s.g.Exchange(out)
	if err != nil {
		return err
	}
	byID := map[uint64]*dossier{}
	for _, b := range in {
		for len(b) > 0 {
			var d dossier
			if b, err = d.read(b); err != nil {
				return err
			}
			if x := byID[d.id]; x != nil {
				x.join(&d)
			} else {
				byID[d.id] = &d
			}
		}
	}
	for i := 1; i < m.DFs(); i++ {
		if df := model.DF(i); s.madeHere(df) {
			if d := byID[m.DFID(df)]; d != nil && m.DFID(df) != 0 {
				q.found[df] = d
			}
		}
	}
	return nil
}

func (s *sharing) dossier(o *own, df model.DF, id uint64, home [2]uint64) *dossier {
	d := &dossier{id: id, home: home, use: o.use[df], ended: model.None, copies: o.copies[df], destroyed: o.destroyed[df]}
	if i, ok := o.ends[df]; ok {
		d.end, d.ended = [2]uint64{uint64(s.g.Rank()), uint64(i)}, s.m.Copies[i].Time
	}
	return d
}

func (d *dossier) join(o *dossier) {
	if slices.Compare(o.home[:], d.home[:]) < 0 {
		d.home = o.home
	}
	if o.ended != model.None && (d.ended == model.None || slices.Compare(o.end[:], d.end[:]) < 0) {
		d.end, d.ended = o.end, o.ended
	}
	d.use = max(d.use, o.use)
	d.copies += o.copies
	d.destroyed = append(d.destroyed, o.destroyed...)
}

func (d *dossier) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, d.id)
	for _, v := range []uint64{d.home[0], d.home[1], d.end[0], d.end[1], uint64(len(d.destroyed))} {
		b = binary.AppendUvarint(b, v)
	}
	for _, v := range append([]int64{d.use, d.ended, d.copies}, d.destroyed...) {
		b = binary.AppendVarint(b, v)
	}
	return b
}

func (d *dossier) read(b []byte) ([]byte, error) {
	if len(b) < 8 {
		return nil, errShare
	}
	d.id, b = binary.LittleEndian.Uint64(b), b[8:]
	bad := false
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		bad = bad || n <= 0
		b = b[max(n, 0):]
		return v
	}
	signed := func() int64 {
		v, n := binary.Varint(b)
		bad = bad || n <= 0
		b = b[max(n, 0):]
		return v
	}
	d.home, d.end = [2]uint64{number(), number()}, [2]uint64{number(), number()}
	n := number()
	d.use, d.ended, d.copies = signed(), signed(), signed()
	for ; n > 0 && !bad; n-- {
		d.destroyed = append(d.destroyed, signed())
	}
	if bad {
		return nil, errShare
	}
	return b, nil
}

func (s *sharing) neverUsed(q *questions, list []model.DF) (*Finding, error) {
	m := s.m
	k := s.keyed()
	for _, df := range list {
		d := q.found[df]
		if d.use != model.None {
			continue
		}
		_, end := m.Creations(df)
		k.named(sameGroup{Name: m.DFNameOf(df), Site: m.SiteOf[m.MadeBy[end-1]]}, key(d.home[:]...), m.MadeSize[end-1], [2]trace.CF{m.CFID(m.MadeBy[end-1])},
			func() Example { return s.example(df, end-1) })
	}
	return k.finding()
}

func (s *sharing) held(q *questions, list []model.DF) (*Finding, error) {
	m := s.m
	k := s.keyed()
	add := func(df model.DF, order string, to int64) {
		d := q.found[df]
		_, end := m.Creations(df)
		i := end - 1
		g := k.named(sameGroup{Name: m.DFNameOf(df), Site: m.SiteOf[m.MadeBy[i]]}, order, m.MadeSize[i], [2]trace.CF{m.CFID(m.MadeBy[i])},
			func() Example { return s.example(df, i) })
		g.HeldNS += max(to-m.MadeTime[i], 0)
		g.UnusedNS += max(to-max(d.use, m.MadeTime[i]), 0)
	}
	// First those of which it was recorded, in that order, then those on nodes without an end.
	ended := slices.DeleteFunc(slices.Clone(list), func(df model.DF) bool { return q.found[df].ended == model.None })
	slices.SortFunc(ended, func(a, b model.DF) int { return slices.Compare(q.found[a].end[:], q.found[b].end[:]) })
	for _, df := range ended {
		d := q.found[df]
		add(df, key(0, d.end[0], d.end[1]), d.ended)
	}
	for _, df := range list {
		if d := q.found[df]; d.ended == model.None && d.copies > 0 {
			add(df, key(1, d.home[0], d.home[1]), m.End)
		}
	}
	return k.finding()
}
