package lifecycle

import (
	"cmp"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// order says where a find stands among all finds of its kind, whichever process made it.
type order struct {
	N    [4]uint64
	Text string
}

func (a *order) compare(b *order) int {
	return cmp.Or(slices.Compare(a.N[:], b.N[:]), cmp.Compare(a.Text, b.Text))
}

// sameGroup tells groups apart.
type sameGroup struct {
	Name   uint32 // of the DFs
	Why    string
	Site   uint32
	Second uint32 // 1 + statement; 0 none
}

// gathered is a Group that is being put together.
type gathered struct {
	Same                           sameGroup
	Count, Bytes, HeldNS, UnusedNS int64
	First                          order // the least of any of it
	Examples                       []candidate
}

// candidate is an example, if no others come before it.
type candidate struct {
	At      order
	Example Example
	To      int         // 1 + Example.To, which gob would lose where it is 0
	CFs     [2]trace.CF // whose titles are to be filled in as Example.CF and Second; 0 none
}

// groups collects finds of one kind by name and statement.
type groups struct {
	f     *finder
	index map[sameGroup]*gathered
	list  []*gathered
	last  *gathered
}

func (f *finder) groups() *groups { return &groups{f: f, index: map[sameGroup]*gathered{}} }

func (g *groups) at(same sameGroup, first *order) *gathered {
	if g.last != nil && g.last.Same == same {
		return g.last
	}
	g.last = g.index[same]
	if g.last == nil {
		g.last = &gathered{Same: same, First: *first}
		g.index[same] = g.last
		g.list = append(g.list, g.last)
	}
	return g.last
}

// add counts a find. example is called where it may be one of those shown.
func (g *groups) add(same sameGroup, at order, bytes int64, cfs [2]trace.CF,
	example func() Example) *gathered {
	x := g.at(same, &at)
	x.Count++
	x.Bytes += bytes
	if at.compare(&x.First) < 0 {
		x.First = at
	}
	if n := len(x.Examples); n < g.f.opt.Examples || at.compare(&x.Examples[n-1].At) < 0 {
		c := candidate{At: at, Example: example(), CFs: cfs}
		if c.Example.To != nil {
			c.To = *c.Example.To + 1
		}
		x.keep(c, g.f.opt.Examples)
	}
	return x
}

// keep adds an example, and leaves the first ones.
func (x *gathered) keep(c candidate, most int) {
	at, _ := slices.BinarySearchFunc(x.Examples, c, func(a, b candidate) int {
		return cmp.Or(a.At.compare(&b.At), -1) // after those that are equal
	})
	x.Examples = slices.Insert(x.Examples, at, c)
	x.Examples = x.Examples[:min(len(x.Examples), most)]
}

// finding joins what all processes found, at rank 0; the others get nil.
func (g *groups) finding() (*Finding, error) {
	f := g.f
	err := procs.Collect(f.g, func() []*gathered { return g.list }, func(_ int, theirs *[]*gathered) error {
		for _, o := range *theirs {
			if int(o.Same.Name) >= len(f.m.Names) || int(max(o.Same.Site, o.Same.Second)) > len(f.m.Sites) {
				return errShare
			}
			g.join(o)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var ids []trace.CF
	for _, x := range g.list {
		for i := range x.Examples {
			ids = append(ids, x.Examples[i].CFs[:]...)
		}
	}
	titles, err := f.titles(ids)
	if err != nil || f.g.Rank() != 0 {
		return nil, err
	}
	slices.SortFunc(g.list, func(a, b *gathered) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Count, a.Count),
			cmp.Compare(f.m.Names[a.Same.Name], f.m.Names[b.Same.Name]), a.First.compare(&b.First))
	})
	out := &Finding{Groups: []Group{}, More: max(len(g.list)-f.opt.Groups, 0)}
	for i, x := range g.list {
		out.Count += x.Count
		out.Bytes += x.Bytes
		if i < f.opt.Groups {
			out.Groups = append(out.Groups, x.group(f, titles))
		}
	}
	return out, nil
}

func (g *groups) join(o *gathered) {
	x := g.at(o.Same, &o.First)
	x.Count += o.Count
	x.Bytes += o.Bytes
	x.HeldNS += o.HeldNS
	x.UnusedNS += o.UnusedNS
	if o.First.compare(&x.First) < 0 {
		x.First = o.First
	}
	for _, c := range o.Examples {
		x.keep(c, g.f.opt.Examples)
	}
}

func (x *gathered) group(f *finder, titles map[trace.CF]string) Group {
	out := Group{Name: f.m.Names[x.Same.Name], By: f.placeOf(int(x.Same.Site)), Why: x.Same.Why,
		Count: x.Count,
		Bytes: x.Bytes, HeldNS: x.HeldNS, UnusedNS: x.UnusedNS, Examples: []Example{}}
	if x.Same.Second != 0 {
		p := f.placeOf(int(x.Same.Second - 1))
		out.Second = &p
	}
	for _, c := range x.Examples {
		if to := c.To - 1; to >= 0 {
			c.Example.To = &to
		}
		c.Example.CF, c.Example.Second = titles[c.CFs[0]], titles[c.CFs[1]]
		out.Examples = append(out.Examples, c.Example)
	}
	return out
}

// titles tells rank 0, which asks for them, how CFs are called.
func (f *finder) titles(ids []trace.CF) (map[trace.CF]string, error) {
	ids, err := procs.FromMember(f.g, 0, ids)
	if err != nil {
		return nil, err
	}
	own := map[trace.CF]string{}
	for _, id := range ids {
		if id == 0 || f.m.Owner(id.Node()) != f.g.Rank() {
			continue
		}
		if cf := f.m.FindCF(id); cf != 0 {
			own[id] = f.m.CFString(cf)
		} else {
			own[id] = f.m.Codes[0].Name + " (" + id.String() + ")" // nothing is known of it
		}
	}
	err = procs.Collect(f.g, func() map[trace.CF]string { return own },
		func(_ int, theirs *map[trace.CF]string) error {
			maps.Copy(own, *theirs)
			return nil
		})
	return own, err
}
