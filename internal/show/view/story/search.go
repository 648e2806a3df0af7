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

// Search. There may be millions of CFs and DFs, and some dozens of names. So names are looked through first,
// then the CFs of the statements and the DFs of the names that match. The labels of CFs are numbers in the
// model: a pass over a million takes some milliseconds. The indices of DFs have to be decoded, so those of a
// name are kept once somebody has searched for it.

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
	small, wantedSmall := strings.ToLower(name), strings.ToLower(wanted)
	switch {
	case name == "":
		return fitNot
	case name == wanted:
		return fitExact
	case small == wantedSmall:
		return fitFold
	case strings.HasPrefix(small, wantedSmall):
		return fitPrefix
	case strings.Contains(small, wantedSmall):
		return fitPart
	}
	return fitNot
}

// hits are the CFs or DFs of one name, or a code fragment.
type hits struct {
	fit   int
	kind  int // code fragments 0, CFs 1, DFs 2
	name  string
	order func(a, b uint32) int
	first []hit // at most limit
	limit int
	count int // all
	found func(n uint32) Found
}

// hit is a CF, DF or code fragment by its number in the model. One with more indices than those asked for is
// long, and comes after the others.
type hit struct {
	long int // 0, 1
	n    uint32
}

func (g *hits) compare(a, b hit) int {
	return cmp.Or(cmp.Compare(a.long, b.long), g.order(a.n, b.n))
}

// take counts one whose indices begin with those wanted, and lists it if it is among the first.
func take[T int32 | int64](g *hits, n uint32, has []T, wanted []int64) {
	if len(has) < len(wanted) {
		return
	}
	for i, v := range wanted {
		if int64(has[i]) != v {
			return
		}
	}
	g.count++
	h := hit{min(len(has)-len(wanted), len(wanted), 1), n}
	if len(g.first) == g.limit && g.compare(h, g.first[g.limit-1]) > 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(g.first, h, g.compare)
	g.first = slices.Insert(g.first, i, h)[:min(len(g.first)+1, g.limit)]
}

// Search finds CFs by "0.17", "mult[1][2]", "mult 1 2" or "mult", DFs by "x[3]" or "x", code fragments by
// name. A part of a name will do, and the first of its indices. A number alone is the counter of a CF. The
// best come first: the name as it stands, then one that begins with what was asked for, then one that has it
// inside; just the indices asked for before more. Equally good ones are in order of kind (code fragment, CF,
// DF), name and number. Of each name a share of what is to be found is given; More of the last says how many
// of that name were left out. limit is 1 to 1000; 0 means 50.
func (x *Index) Search(q string, limit int) ([]Found, error) {
	limit = cmp.Or(limit, 50)
	switch {
	case limit < 0 || limit > 1000:
		return nil, query.Bad("limit=%d: must be 1 to 1000", limit)
	case len(q) > 1000:
		return nil, query.Bad("the search text has %d bytes; the limit is 1000", len(q))
	}
	out := []Found{}
	name := strings.TrimSpace(q)
	ids := []string{name}
	_, notCF := query.ParseCF(name)
	_, notNumber := strconv.ParseUint(name, 10, 64)
	if notNumber == nil {
		ids = nil
		for n := range x.m.Nodes {
			ids = append(ids, strconv.Itoa(n)+"."+name)
		}
	}
	if notCF == nil || notNumber == nil {
		for _, id := range ids {
			if cf, err := x.t.FindCF(id); err == nil && len(out) < limit {
				out = append(out, x.cf(uint32(cf)))
			}
		}
		return out, nil
	}
	a := parse(q)
	if a.name == "" && len(a.indices) == 0 {
		return out, nil
	}
	groups := slices.Concat(x.codes(&a), x.cfs(&a, limit), x.dfs(&a, limit))
	groups = slices.DeleteFunc(groups, func(g *hits) bool { return g.count == 0 })
	slices.SortStableFunc(groups, func(a, b *hits) int {
		return cmp.Or(cmp.Compare(a.fit, b.fit), cmp.Compare(a.kind, b.kind),
			cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
	})
	for k, g := range groups {
		share := max((limit-len(out))/(len(groups)-k), 3)
		n := min(share, len(g.first), limit-len(out))
		for i, h := range g.first[:n] {
			found := g.found(h.n)
			if i == n-1 {
				found.More = g.count - n
			}
			out = append(out, found)
		}
	}
	return out, nil
}

func (x *Index) cf(n uint32) Found {
	m, cf := x.m, model.CF(n)
	f := Found{Kind: "cf", Key: x.t.CFKey(cf), Title: m.CFTitle(cf), Lane: -1}
	at := m.Created[cf]
	for e := range m.ExecutionsOf(cf) {
		at, f.Lane = m.ExecStart[e], x.t.LaneOf(e)
		break
	}
	f.T = x.t.Since(at)
	return f
}

func (x *Index) df(n uint32) Found {
	m, df := x.m, model.DF(n)
	f := Found{Kind: "df", Key: m.DFKey(df), Title: m.DFString(df), Lane: -1}
	if first, end := m.Creations(df); first < end {
		f.T = x.t.Since(m.MadeTime[first])
		if e, ok := m.ExecutionAt(m.MadeBy[first], m.MadeTime[first]); ok {
			f.Lane = x.t.LaneOf(e)
		}
	}
	return f
}

// codes finds code fragments; they have no indices.
func (x *Index) codes(a *asked) (out []*hits) {
	for i := 1; i < len(x.m.Codes) && len(a.indices) == 0; i++ {
		name := x.m.Codes[i].Name
		if f := fit(name, a.name); f != fitNot {
			out = append(out, &hits{fit: f, name: name, first: []hit{{n: uint32(i)}}, count: 1,
				found: func(n uint32) Found {
					return Found{Kind: "code", Key: strconv.FormatUint(uint64(n), 10), Title: name, Lane: -1}
				}})
		}
	}
	return out
}

// cfs goes through all CFs once.
func (x *Index) cfs(a *asked, limit int) (out []*hits) {
	m := x.m
	of := make([]*hits, len(m.Sites)) // nil: not wanted
	byName := map[string]*hits{}
	for i := 1; i < len(m.Sites); i++ {
		name := cmp.Or(m.Sites[i].Label, m.Codes[m.Sites[i].Code].Name)
		f := fit(name, a.name)
		if f == fitNot {
			continue
		}
		if byName[name] == nil {
			// The model's numbers of CFs differ from one reading of a trace to the next; their ids do not.
			byName[name] = &hits{fit: f, kind: 1, name: name, limit: limit, found: x.cf,
				order: func(a, b uint32) int { return cmp.Compare(m.CFID(model.CF(a)), m.CFID(model.CF(b))) }}
			out = append(out, byName[name])
		}
		of[i] = byName[name]
	}
	for cf, site := range m.SiteOf {
		if g := of[site]; g != nil && m.Created[cf] != model.None {
			take(g, uint32(cf), m.Label(model.CF(cf)), a.indices)
		}
	}
	return out
}

func (x *Index) dfs(a *asked, limit int) (out []*hits) {
	for name := range x.m.Names {
		f := fit(x.m.Names[name], a.name)
		if f == fitNot {
			continue
		}
		g := &hits{fit: f, kind: 2, name: x.m.Names[name], limit: limit, found: x.df, order: cmp.Compare[uint32]}
		t := x.table(name)
		for i, df := range t.dfs {
			take(g, uint32(df), t.list[t.at[i]:t.at[i+1]], a.indices)
		}
		out = append(out, g)
	}
	return out
}

// table gives the DFs of a name.
func (x *Index) table(name int) *dfTable {
	m := x.m
	x.once.Do(func() {
		x.byName = make([]dfTable, len(m.Names))
		for df := 1; df < m.DFs(); df++ {
			t := &x.byName[m.DFName[df]]
			t.dfs = append(t.dfs, model.DF(df))
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
