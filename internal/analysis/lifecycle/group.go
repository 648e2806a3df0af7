package lifecycle

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// groups collects DFs by name and statement.
type groups struct {
	f     *finder
	list  []*Group
	index map[groupKey]*Group
	last  groupKey
	at    *Group
	count int64
	bytes int64
}

type groupKey struct {
	name, site, second uint32
	why                string
}

func (f *finder) groups() *groups { return &groups{f: f, index: map[groupKey]*Group{}} }

// add counts a DF that cf made, or asked for. second is 0 but for what was produced twice.
func (g *groups) add(df model.DF, cf, second model.CF, why string, bytes int64) *Group {
	m := g.f.m
	key := groupKey{m.DFName[df], m.SiteOf[cf], m.SiteOf[second], why}
	if g.at == nil || key != g.last {
		g.last, g.at = key, g.index[key]
		if g.at == nil {
			g.at = &Group{Name: m.Names[key.name], By: g.f.place(cf), Why: why, Examples: []Example{}}
			if second != 0 {
				p := g.f.place(second)
				g.at.Second = &p
			}
			g.index[key] = g.at
			g.list = append(g.list, g.at)
		}
	}
	g.at.Count++
	g.at.Bytes += bytes
	g.count++
	g.bytes += bytes
	return g.at
}

// wants tells whether the group just added to has room for another example.
func (g *groups) wants() bool { return len(g.at.Examples) < g.f.opt.Examples }

func (g *groups) finding() *Finding {
	slices.SortStableFunc(g.list, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	out := &Finding{Count: g.count, Bytes: g.bytes, Groups: []Group{}}
	for i, x := range g.list {
		if i == g.f.opt.Groups {
			out.More = len(g.list) - i
			break
		}
		out.Groups = append(out.Groups, *x)
	}
	return out
}
