package lifecycle

import (
	"cmp"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// order says where a find stands among all finds of its kind, whichever process made it.
type order struct {
	N    [5]uint64
	Text string
}

func (a *order) compare(b *order) int {
	return cmp.Or(slices.Compare(a.N[:], b.N[:]), cmp.Compare(a.Text, b.Text))
}

// remarks are the values of Group.Why in English and Russian.
var remarks = []words.Phrase{
	{"its requests were used up", "запросы к нему исчерпаны"},
	{"it had been deleted", "он был удалён"},
	{"it was never answered", "ответа не было"},
	{"the answer was sent but never arrived", "ответ отправлен и не пришёл"},
	{"the request never arrived", "запрос не дошёл"},
	{"the DF was never produced", "ФД так и не вычислен"},
}

// In is Why in a language.
func (g *Group) In(l words.Lang) string {
	for _, r := range remarks {
		if r[words.English] == g.Why {
			return r[l]
		}
	}
	return g.Why
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
	Example Example     // all of it but To, CF and Second
	To      int         // 1 + Example.To; 0 none
	CFs     [2]trace.CF // that Example.CF and Second are to name; 0 none
}

// find is something found, with whatever it takes to count it elsewhere.
type find struct {
	Shown candidate
	Same  sameGroup // without statements, which are those of the CFs
	DF    uint64    // model.DFGlobal
	Bytes int64
}

// grouped groups what all processes found, at rank 0. Member i counts out[i]; if once, only the first of each
// DF.
func (f *finder) grouped(out [][]find, once bool) (*Finding, error) {
	in, err := procs.Swap(f.g, out)
	if err != nil {
		return nil, err
	}
	list := slices.Concat(in...)
	if once {
		slices.SortStableFunc(list, func(a, b find) int { return a.Shown.At.compare(&b.Shown.At) })
		seen := map[uint64]bool{}
		list = slices.DeleteFunc(list, func(x find) bool {
			was := seen[x.DF]
			seen[x.DF] = true
			return was
		})
	}
	var cfs []model.CF
	for i := range list {
		for _, id := range list[i].Shown.CFs {
			switch {
			case id == 0:
				cfs = append(cfs, 0)
			case f.g.Size() == 1:
				cfs = append(cfs, f.m.FindCF(id))
			default:
				cfs = append(cfs, f.m.Learn(id, 0))
			}
		}
	}
	if err := f.m.LearnSites(f.g, cfs); err != nil {
		return nil, err
	}
	g := f.groups()
	for i := range list {
		x := &list[i]
		x.Same.Site = f.m.SiteOf[cfs[2*i]]
		if x.Shown.CFs[1] != 0 {
			x.Same.Second = f.m.SiteOf[cfs[2*i+1]] + 1
		}
		g.add(x.Same, x.Shown.At, x.Bytes, func() candidate { return x.Shown })
	}
	return g.finding()
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

// add counts a find. example is called where it may be one of those shown; At need not be set.
func (g *groups) add(same sameGroup, at order, bytes int64, example func() candidate) *gathered {
	x := g.at(same, &at)
	x.Count++
	x.Bytes += bytes
	if at.compare(&x.First) < 0 {
		x.First = at
	}
	if n := len(x.Examples); n < g.f.opt.Examples || at.compare(&x.Examples[n-1].At) < 0 {
		c := example()
		c.At = at
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
			g.join(o)
		}
		return nil
	})
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
			out.Groups = append(out.Groups, x.group(f))
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

func (x *gathered) group(f *finder) Group {
	out := Group{Name: f.m.Names[x.Same.Name], By: f.placeOf(int(x.Same.Site)), Why: x.Same.Why, Count: x.Count,
		Bytes: x.Bytes, HeldNS: x.HeldNS, UnusedNS: x.UnusedNS, Examples: make([]Example, len(x.Examples))}
	if x.Same.Second != 0 {
		p := f.placeOf(int(x.Same.Second - 1))
		out.Second = &p
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, c := range x.Examples {
		if to := c.To - 1; to >= 0 {
			c.Example.To = &to
		}
		e := &out.Examples[i]
		*e = c.Example
		f.names[&e.CF], f.names[&e.Second] = c.CFs[0], c.CFs[1]
	}
	return out
}

// name fills in how CFs are called, where rank 0 asks for it.
func (f *finder) name() error {
	ids, err := procs.FromMember(f.g, 0, slices.Collect(maps.Values(f.names)))
	if err != nil {
		return err
	}
	titles := map[trace.CF]string{}
	for _, id := range ids {
		if id == 0 || f.m.Owner(id.Node()) != f.g.Rank() {
			continue
		}
		if cf := f.m.FindCF(id); cf != 0 {
			titles[id] = f.m.CFString(cf)
		} else {
			titles[id] = f.m.Codes[0].Name + " (" + id.String() + ")" // nothing is known of it
		}
	}
	err = procs.Collect(f.g, func() map[trace.CF]string { return titles },
		func(_ int, theirs *map[trace.CF]string) error {
			maps.Copy(titles, *theirs)
			return nil
		})
	for to, id := range f.names {
		*to = titles[id]
	}
	return err
}
