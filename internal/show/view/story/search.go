package story

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
)

// Search. There may be millions of CFs and DFs, and some dozens of names. So names are looked through first;
// then the CFs of the statements, and the DFs of the names, that match. The labels of CFs stand in the model
// as numbers: a pass over them takes some milliseconds a million. The indices of DFs have to be decoded, so
// those of a name are kept once it was searched for.

// Found is something that a search found.
type Found struct {
	Kind  string `json:"kind"`  // "cf", "df" or "code"
	Key   string `json:"key"`   // "node.counter", the key of the DF, the number of the code fragment
	Title string `json:"title"` // "mult[1][2]"
	// when it started first, or else was created, since the start of the run; nil where there is no such time
	T    *int64 `json:"t"`
	Lane int    `json:"lane"` // where that was; -1 where not known
	More int    `json:"more,omitempty"`
}

// Index finds CFs, DFs and code fragments of a run. Any number of goroutines may use it.
type Index struct {
	t      *timeline.Timeline
	m      *model.Model
	once   sync.Once
	byName []dfTable
}

// NewIndex makes an index. It costs nothing until it is used.
func NewIndex(t *timeline.Timeline) *Index {
	return &Index{t: t, m: t.Model()}
}

// dfTable holds the indices of the DFs of a name.
type dfTable struct {
	once sync.Once
	dfs  []model.DF
	at   []uint32 // those of dfs[i] are indices[at[i]:at[i+1]]
	list []int64
}

// asked is what a query asks for: a name, or a part of one, and the first indices.
type asked struct {
	name    string
	indices []int64
}

const separators = " \t[](),;"

// parse reads "mult[1][2]", "mult 1 2", "mult(1, 2)", "mult[1".
func parse(q string) asked {
	rest := strings.TrimRight(strings.TrimSpace(q), separators)
	var a asked
	for rest != "" {
		i := strings.LastIndexAny(rest, separators) + 1
		n, err := strconv.ParseInt(rest[i:], 10, 64)
		if err != nil {
			break
		}
		a.indices = append(a.indices, n)
		rest = strings.TrimRight(rest[:i], separators)
	}
	slices.Reverse(a.indices)
	a.name = strings.TrimLeft(rest, separators)
	return a
}

// How well a name fits, the best first.
const (
	fitExact = iota
	fitFold  // but for upper and lower case
	fitPrefix
	fitPart
	fitNot
)

func fit(name, wanted string) int {
	if name == wanted && name != "" {
		return fitExact
	}
	name, wanted = strings.ToLower(name), strings.ToLower(wanted)
	switch {
	case name == "":
		return fitNot
	case name == wanted:
		return fitFold
	case strings.HasPrefix(name, wanted):
		return fitPrefix
	case strings.Contains(name, wanted):
		return fitPart
	}
	return fitNot
}

// Kinds of hits, in the order they are shown.
const (
	kindCode = iota
	kindCF
	kindDF
)

// hits are the CFs or DFs of one name, or a code fragment.
type hits struct {
	fit, kind  int
	name       string
	list, long []uint32 // the first with just the indices asked for, or with more
	count      int      // all
}

// Search finds CFs by "0.17", "mult[1][2]", "mult 1 2" or "mult", DFs by "x[3]" or "x", code fragments by
// name; a part of a name will do, and the first of its indices. A number alone is the counter of a CF. The
// best come first: the name as it stands before one that begins with what was asked for before one that has
// it inside, the indices as they stand before longer ones. Of each name a share of what is to be found is
// given; More of the last says how many of that name were left out. limit is 1 to 1000; 0 means 50.
func (x *Index) Search(q string, limit int) ([]Found, error) {
	switch {
	case limit == 0:
		limit = 50
	case limit < 0 || limit > 1000:
		return nil, query.Bad("a limit of %d: it has to be from 1 to 1000", limit)
	case len(q) > 1000:
		return nil, query.Bad("what is searched for is %d bytes long; 1000 are the most", len(q))
	}
	out := []Found{}
	if _, err := query.ParseCF(strings.TrimSpace(q)); err == nil {
		if cf, err := x.t.FindCF(strings.TrimSpace(q)); err == nil {
			out = append(out, x.cf(cf))
		}
		return out, nil
	}
	if _, err := strconv.ParseUint(strings.TrimSpace(q), 10, 64); err == nil {
		for n := range x.m.Nodes {
			if cf, err := x.t.FindCF(strconv.Itoa(n) + "." + strings.TrimSpace(q)); err == nil &&
				len(out) < limit {
				out = append(out, x.cf(cf))
			}
		}
		return out, nil
	}
	a := parse(q)
	if a.name == "" && len(a.indices) == 0 {
		return out, nil
	}
	groups := x.find(&a, limit)
	slices.SortStableFunc(groups, func(a, b *hits) int {
		return cmp.Or(cmp.Compare(a.fit, b.fit), cmp.Compare(a.kind, b.kind),
			cmp.Compare(len(a.name), len(b.name)))
	})
	for k, g := range groups {
		share := max((limit-len(out))/(len(groups)-k), 3)
		n := min(share, len(g.list)+len(g.long), limit-len(out))
		for i := range n {
			found := x.found(g, i)
			if i == n-1 {
				found.More = g.count - n
			}
			out = append(out, found)
		}
	}
	return out, nil
}

// found is the i-th of some hits.
func (x *Index) found(g *hits, i int) Found {
	list := g.list
	if i >= len(list) {
		i, list = i-len(list), g.long
	}
	switch g.kind {
	case kindCode:
		return Found{Kind: "code", Key: strconv.FormatUint(uint64(list[i]), 10), Title: g.name, Lane: -1}
	case kindCF:
		return x.cf(model.CF(list[i]))
	}
	return x.dfFound(model.DF(list[i]))
}

func (x *Index) cf(cf model.CF) Found {
	m := x.m
	f := Found{Kind: "cf", Key: x.t.CFKey(cf), Title: x.t.Title(cf), Lane: -1}
	at := m.Created[cf]
	for e := range m.ExecutionsOf(cf) {
		at, f.Lane = m.ExecStart[e], x.t.LaneOf(e)
		break
	}
	if at != model.None {
		at -= m.Start
		f.T = &at
	}
	return f
}

func (x *Index) dfFound(df model.DF) Found {
	m := x.m
	f := Found{Kind: "df", Key: x.t.DFKey(df), Title: m.DFString(df), Lane: -1}
	if first, end := m.Creations(df); first < end {
		at := m.MadeTime[first] - m.Start
		f.T = &at
		if e, ok := m.ExecutionAt(m.MadeBy[first], m.MadeTime[first]); ok {
			f.Lane = x.t.LaneOf(e)
		}
	}
	return f
}

// find gives what fits a query, without names of which nothing does.
func (x *Index) find(a *asked, limit int) []*hits {
	var out []*hits
	m := x.m
	if len(a.indices) == 0 {
		for i := 1; i < len(m.Codes); i++ {
			if f := fit(m.Codes[i].Name, a.name); f != fitNot {
				out = append(out, &hits{fit: f, kind: kindCode, name: m.Codes[i].Name,
					list: []uint32{uint32(i)}, count: 1})
			}
		}
	}
	out = append(out, x.findCFs(a, limit)...)
	for name := range m.Names {
		if f := fit(m.Names[name], a.name); f != fitNot {
			g := &hits{fit: f, kind: kindDF, name: m.Names[name]}
			t := x.table(name)
			for i, df := range t.dfs {
				take(g, uint32(df), t.list[t.at[i]:t.at[i+1]], a.indices, limit)
			}
			out = append(out, g)
		}
	}
	return slices.DeleteFunc(out, func(g *hits) bool { return g.count == 0 })
}

// take counts one whose indices begin with those wanted, and lists it among the first.
func take[T int32 | int64](g *hits, n uint32, has []T, wanted []int64, limit int) {
	if len(has) < len(wanted) {
		return
	}
	for i, v := range wanted {
		if int64(has[i]) != v {
			return
		}
	}
	g.count++
	to := &g.long
	if len(has) == len(wanted) || len(wanted) == 0 {
		to = &g.list
	}
	if len(*to) < limit {
		*to = append(*to, n)
	}
}

// findCFs goes through all CFs once.
func (x *Index) findCFs(a *asked, limit int) (out []*hits) {
	m := x.m
	of := make([]*hits, len(m.Sites)) // nil: not wanted
	byName := map[string]*hits{}
	for i := 1; i < len(m.Sites); i++ {
		s := &m.Sites[i]
		name := s.Label
		if name == "" {
			name = m.Codes[s.Code].Name
		}
		f := fit(name, a.name)
		if f == fitNot {
			continue
		}
		if byName[name] == nil {
			byName[name] = &hits{fit: f, kind: kindCF, name: name}
			out = append(out, byName[name])
		}
		of[i] = byName[name]
	}
	for cf, site := range m.SiteOf {
		g := of[site]
		if g == nil || m.Created[cf] == model.None {
			continue
		}
		take(g, uint32(cf), m.Label(model.CF(cf)), a.indices, limit)
	}
	return out
}

// table gives the DFs of a name.
func (x *Index) table(name int) *dfTable {
	m := x.m
	x.once.Do(func() {
		x.byName = make([]dfTable, len(m.Names))
		count := make([]int, len(m.Names))
		for _, name := range m.DFName[1:] {
			count[name]++
		}
		for name, n := range count {
			x.byName[name].dfs = make([]model.DF, 0, n)
		}
		for df, name := range m.DFName {
			if df > 0 {
				x.byName[name].dfs = append(x.byName[name].dfs, model.DF(df))
			}
		}
	})
	t := &x.byName[name]
	t.once.Do(func() {
		t.at = make([]uint32, 1, len(t.dfs)+1)
		for _, df := range t.dfs {
			t.list = m.Indices(df, t.list)
			t.at = append(t.at, uint32(len(t.list)))
		}
	})
	return t
}
