package lifecycle

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// made tells whether a DF got a value on any node.
func (f *finder) made(df model.DF) bool { return f.m.MadeFrom[df] != f.m.MadeFrom[df+1] }

// madeAnywhere is made for a DF that was requested, of which this process may know nothing else.
func (f *finder) madeAnywhere(df model.DF) bool { return f.made(df) || f.madeAbroad[df] }

// madeHere tells whether a node of this process made a DF last: then this process answers for it.
func (f *finder) madeHere(df model.DF) bool {
	_, end := f.m.Creations(df)
	return f.made(df) && f.m.Own(int(f.m.MadeNode[end-1]))
}

// dfFacts is what is known of the DFs that this process answers for.
type dfFacts struct {
	m   *model.Model
	use []int64 // by DF: when it was last used; None for never
	// by DF: 1 + the first copy in Model.Copies destroyed because the run ended
	end       []uint32
	copies    []int64              // by DF: copies on nodes without an end; nil where all have one
	destroyed map[model.DF][]int64 // of DFs that were made several times
	told      map[model.DF]*dossier
}

// dossier is what processes know of a DF that several of them know. Times are those of the model.
type dossier struct {
	Home      [2]uint64 // node and number of the first mention, which orders DFs
	Use       int64
	Ended     int64     // when it was first destroyed because the run ended; None for never
	End       [2]uint64 // the process that recorded this, and where in its order
	Copies    int64
	Destroyed []int64
}

// findDFs finds DFs that were made anew before they were destroyed, never used, or held to the end.
func (f *finder) findDFs() error {
	canUnused := f.need("never_used", trace.KindDFCreate, trace.KindCFStarted)
	canHeld := f.need("held_to_end", trace.KindDFCreate, trace.KindDFDestroy)
	canTwice := f.need("produced_twice", trace.KindDFCreate, trace.KindDFDuplicate)
	if !canUnused && !canHeld && !canTwice {
		return nil
	}
	k := f.ownFacts()
	if err := f.shareFacts(k); err != nil {
		return err
	}
	for _, x := range []struct {
		can  bool
		find func(*dfFacts) error
	}{{canTwice, f.findTwice}, {canUnused, f.findUnused}, {canHeld, f.findHeld}} {
		if x.can {
			if err := x.find(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownFacts collects what was recorded on this process's nodes.
func (f *finder) ownFacts() *dfFacts {
	m := f.m
	k := &dfFacts{m: m, use: f.lastUses(), end: make([]uint32, m.DFs()), destroyed: map[model.DF][]int64{}}
	unended := make([]bool, len(m.Nodes))
	for n := range m.Nodes {
		for _, w := range m.Nodes[n].Workers {
			unended[n] = unended[n] || w.Finished == model.None
		}
	}
	if m.Killed {
		k.copies = make([]int64, m.DFs())
	}
	for i := range m.Copies {
		c := &m.Copies[i]
		if c.What < model.CopyExpired && k.copies == nil || c.DF == 0 || !m.Own(int(c.Node)) {
			continue
		}
		if m.MadeFrom[c.DF+1]-m.MadeFrom[c.DF] > 1 && c.What >= model.CopyExpired {
			k.destroyed[c.DF] = append(k.destroyed[c.DF], c.Time)
		}
		switch {
		case c.What == model.CopyEnd && k.end[c.DF] == 0:
			k.end[c.DF] = uint32(i) + 1
		case k.copies == nil || !unended[c.Node]:
		case c.What == model.CopyStored:
			k.copies[c.DF]++
		case c.What == model.CopyDropped:
			k.copies[c.DF]--
		}
	}
	return k
}

// lastUses gives, by DF, the latest end of a CF that was given it, or when it was awaited or requested; None
// for never.
func (f *finder) lastUses() []int64 {
	m := f.m
	use := m.LastGiven()
	a := &m.Awaits
	for i := range a.CF {
		for _, df := range a.Of(i) {
			use[df] = max(use[df], a.Time[i])
		}
	}
	for i := 1; i < len(m.Requests); i++ {
		q := &m.Requests[i]
		use[q.DF] = max(use[q.DF], q.Sent, q.Received)
	}
	return use
}

// shareFacts lets the processes that answer for DFs know what all know of them.
func (f *finder) shareFacts(k *dfFacts) error {
	m, rank := f.m, uint64(f.g.Rank())
	k.told = map[model.DF]*dossier{}
	return model.JoinDFs(m, f.g, func(df model.DF) (*dossier, bool) {
		d := &dossier{Home: m.DFHome(df), Use: k.use[df], Ended: model.None, Destroyed: k.destroyed[df]}
		if i := k.end[df]; i != 0 {
			d.End, d.Ended = [2]uint64{rank, uint64(i - 1)}, m.Copies[i-1].Time
		}
		if k.copies != nil {
			d.Copies = k.copies[df]
		}
		return d, f.made(df) && (f.madeHere(df) || m.Own(int(d.Home[0])))
	}, func(d, o *dossier) *dossier {
		d.join(o)
		return d
	}, func(df model.DF, d *dossier) {
		if !f.madeHere(df) {
			return
		}
		k.told[df], k.use[df] = d, d.Use
		if k.copies != nil {
			k.copies[df] = d.Copies
		}
		if len(d.Destroyed) > 0 {
			k.destroyed[df] = d.Destroyed
		}
	})
}

func (d *dossier) join(o *dossier) {
	if slices.Compare(o.Home[:], d.Home[:]) < 0 {
		d.Home = o.Home
	}
	if o.Ended != model.None && (d.Ended == model.None || slices.Compare(o.End[:], d.End[:]) < 0) {
		d.End, d.Ended = o.End, o.Ended
	}
	d.Use = max(d.Use, o.Use)
	d.Copies += o.Copies
	d.Destroyed = append(d.Destroyed, o.Destroyed...)
}

// home is where a DF was first mentioned: by which node, and the number there.
func (k *dfFacts) home(df model.DF) [2]uint64 {
	if d := k.told[df]; d != nil {
		return d.Home
	}
	return k.m.DFHome(df)
}

// ended tells when a DF was first destroyed because the run ended, and the order among such ends; None for
// never.
func (k *dfFacts) ended(df model.DF, rank int) (at order, t int64) {
	if d := k.told[df]; d != nil {
		return order{N: [5]uint64{0, d.End[0], d.End[1]}}, d.Ended
	}
	if i := k.end[df]; i != 0 {
		return order{N: [5]uint64{0, uint64(rank), uint64(i - 1)}}, k.m.Copies[i-1].Time
	}
	return at, model.None
}

// addMade counts a DF by the CF that made it last.
func (g *groups) addMade(df model.DF, at order) (x *gathered, made int64) {
	m := g.f.m
	_, end := m.Creations(df)
	i := end - 1
	same := sameGroup{Name: m.DFName[df], Site: m.SiteOf[m.MadeBy[i]]}
	return g.add(same, at, m.SizeMade(i), func() candidate {
		return candidate{CFs: [2]trace.CF{m.CFID(m.MadeBy[i])}, Example: Example{DF: m.DFString(df),
			Node: int(m.MadeNode[i]), AtNS: g.f.at(m.MadeTime[i]), Bytes: m.SizeMade(i)}}
	}), m.MadeTime[i]
}

func (f *finder) findUnused(k *dfFacts) (err error) {
	g := f.groups()
	for df := model.DF(1); int(df) < f.m.DFs(); df++ {
		if k.use[df] == model.None && f.madeHere(df) {
			home := k.home(df)
			g.addMade(df, order{N: [5]uint64{home[0], home[1]}})
		}
	}
	f.res.NeverUsed, err = g.finding()
	return err
}

// findHeld goes through the DFs that were destroyed because the run ended, then those that nodes without an
// end stored and did not give up.
func (f *finder) findHeld(k *dfFacts) (err error) {
	g := f.groups()
	for df := model.DF(1); int(df) < f.m.DFs(); df++ {
		if k.end[df] == 0 && k.copies == nil && len(k.told) == 0 || !f.madeHere(df) {
			continue
		}
		at, to := k.ended(df, f.g.Rank())
		if to == model.None {
			if k.copies == nil || k.copies[df] <= 0 {
				continue
			}
			home := k.home(df)
			at, to = order{N: [5]uint64{1, home[0], home[1]}}, f.m.End
		}
		x, made := g.addMade(df, at)
		x.HeldNS += max(to-made, 0)
		x.UnusedNS += max(to-max(k.use[df], made), 0)
	}
	f.res.HeldToEnd, err = g.finding()
	return err
}
