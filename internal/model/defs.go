package model

import (
	"fmt"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/trace"
)

// tables merges the definitions of all nodes.
type tables struct {
	m     *Model
	names map[string]uint32
	codes map[Code]uint32
	sites map[Site]uint32
	// byID finds the DFs of several nodes that are the same one; with one node there is nothing to find.
	byID map[uint64]DF
	// clash holds, by id, the DFs beyond the first that have it and other identities.
	clash map[uint64][]DF
	mu    sync.Mutex
	late  map[dfRef]DF // DFs that events mention but no definition, by the streams
}

// nodeTables translate the numbers of one node's file.
type nodeTables struct {
	defs *trace.Defs
	dfs  []DF // 0 where not defined
	site []uint32
}

func newTables(m *Model, nodes int) *tables {
	t := &tables{m: m, names: map[string]uint32{}, codes: map[Code]uint32{}, sites: map[Site]uint32{},
		late: map[dfRef]DF{}}
	if nodes > 1 {
		t.byID = map[uint64]DF{}
	}
	t.name("")
	t.code(Code{Name: "?"})
	t.site(Site{})
	m.DFName, m.dfHome = []uint32{0}, []dfRef{{}}
	return t
}

// numberOf gives the number of a thing in a list, which grows where it is new.
func numberOf[T comparable](known map[T]uint32, list *[]T, v T) uint32 {
	n, ok := known[v]
	if !ok {
		n = uint32(len(*list))
		*list = append(*list, v)
		known[v] = n
	}
	return n
}

func (t *tables) name(s string) uint32 { return numberOf(t.names, &t.m.Names, s) }
func (t *tables) code(c Code) int      { return int(numberOf(t.codes, &t.m.Codes, c)) }
func (t *tables) site(s Site) uint32   { return numberOf(t.sites, &t.m.Sites, s) }

// add takes in the definitions of a node.
func (t *tables) add(node int, defs *trace.Defs) nodeTables {
	n := nodeTables{defs: defs}
	m := t.m
	m.defs[node] = defs
	code := func(number uint32) int {
		def, ok := defs.Code(number)
		if !ok {
			return 0
		}
		return t.code(Code{Name: defs.Name(def.Name), Kind: def.Kind, File: defs.Name(def.File), Line: def.Line})
	}
	sites := 0
	defs.EachSite(func(trace.SiteDef) { sites++ })
	defs.EachSite(func(def trace.SiteDef) {
		if farOut(uint64(def.Site), sites) {
			return
		}
		s := Site{Code: code(def.Code), Label: defs.Name(def.Label), File: defs.Name(def.File), Line: def.Line,
			Text: defs.Name(def.Text), DFs: defs.Name(def.DFs), Stealable: def.Stealable}
		n.site = put(n.site, int(def.Site), t.site(s))
	})
	names := map[trace.Name]uint32{}
	last, lastName := trace.Name(0), uint32(0) // most DFs follow one of the same name
	n.dfs = make([]DF, 0, defs.DFCount()+1)
	m.DFName, m.dfHome = slices.Grow(m.DFName, defs.DFCount()), slices.Grow(m.dfHome, defs.DFCount())
	if t.byID != nil && len(t.byID) == 0 {
		t.byID = make(map[uint64]DF, 2*defs.DFCount())
	}
	defs.EachDF(func(df trace.DF, name trace.Name, identity []int64) {
		if farOut(uint64(df), defs.DFCount()) {
			return
		}
		if name != last {
			g, known := names[name]
			if !known {
				g = t.name(defs.Name(name))
				names[name] = g
			}
			last, lastName = name, g
		}
		n.dfs = put(n.dfs, int(df), t.df(dfRef{uint32(node), df}, lastName, identity))
	})
	return n
}

// farOut tells whether a number is so large, where so many are defined, that a list up to it would cost much
// memory: it counts as not defined.
func farOut(number uint64, defined int) bool { return number > 4*uint64(defined)+1024 }

func put[T any](list []T, i int, v T) []T {
	if i >= len(list) {
		list = slices.Grow(list, i+1-len(list))[:i+1]
	}
	list[i] = v
	return list
}

func (t *tables) df(ref dfRef, name uint32, identity []int64) DF {
	m := t.m
	next := DF(len(m.DFName))
	if t.byID != nil && len(identity) > 0 {
		id := trace.IdentityID(identity)
		if old, ok := t.byID[id]; !ok {
			t.byID[id] = next
		} else if m.identified(old, identity) {
			return old
		} else {
			for _, df := range t.clash[id] {
				if m.identified(df, identity) {
					return df
				}
			}
			if t.clash == nil {
				t.clash = map[uint64][]DF{}
			}
			t.clash[id] = append(t.clash[id], next)
			m.Collisions = append(m.Collisions,
				fmt.Sprintf("DFs %s %v and %s %v have the same 64-bit id %016x; they are kept apart",
					m.Names[m.DFName[old]], m.identity(old), m.Names[name], identity, id))
		}
	}
	m.DFName, m.dfHome = append(m.DFName, name), append(m.dfHome, ref)
	return next
}

// undefined gives a number to a DF of which no definition was read.
func (t *tables) undefined(node int, df uint64) DF {
	if df == 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lateDF(dfRef{uint32(node), trace.DF(df)}, func() string { return fmt.Sprintf("#%d", df) })
}

func (t *tables) lateDF(ref dfRef, name func() string) DF {
	df, ok := t.late[ref]
	if !ok {
		df = DF(len(t.m.DFName))
		t.m.DFName, t.m.dfHome = append(t.m.DFName, t.name(name())), append(t.m.dfHome, ref)
		t.late[ref] = df
	}
	return df
}

// identified tells whether a DF has an identity list.
func (m *Model) identified(df DF, list []int64) bool {
	var space [8]int64
	return slices.Equal(m.AppendIdentity(space[:0], df), list)
}

// identity is AppendIdentity for a new list.
func (m *Model) identity(df DF) []int64 { return m.AppendIdentity(nil, df) }

// AppendIdentity is the identity list of a DF: creating node and number of its name, then the indices.
func (m *Model) AppendIdentity(dst []int64, df DF) []int64 {
	ref := m.homeOf(df)
	if int(ref.node) >= len(m.defs) || m.defs[ref.node] == nil {
		return append(dst, m.abroad[df]...)
	}
	_, dst, _ = m.defs[ref.node].DF(ref.df, dst)
	return dst
}
