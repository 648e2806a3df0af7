package balance

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/run/placement"
)

// File is a placement as a file, nil being that of locators; program is the name of the program's file, for
// messages.
func (p *Program) File(place *simulate.Placement, program string) *placement.File {
	return p.file(place, program, true)
}

// Needed is File without the DFs that nobody read: wherever they go, it must not complicate locators.
func (p *Program) Needed(place *simulate.Placement, program string) *placement.File {
	return p.file(place, program, false)
}

func (p *Program) file(place *simulate.Placement, program string, unread bool) *placement.File {
	if place == nil {
		place = p.Located
	}
	m := p.Model()
	f := &placement.File{Version: placement.Version, Program: program, Nodes: p.Machine.Nodes}
	for _, s := range p.statements(place) {
		site := m.Sites[s.site]
		f.CFs = append(f.CFs, placement.CFs{Statement: site.Text, Line: site.Line, Label: site.Label,
			Places: placement.Boxes(s.points)})
	}
	for _, n := range p.names(place, unread) {
		f.DFs = append(f.DFs, placement.DFs{Name: n.name, Places: placement.Boxes(n.points)})
	}
	return f
}

// placed are the points of a statement or name.
type placed struct {
	site   uint32
	name   string
	points []placement.Point
}

// statements gives the nodes of all units of CFs, by statement in the order of the source.
func (p *Program) statements(place *simulate.Placement) (list []placed) {
	u, m := &p.units, p.Model()
	done := make([]bool, len(u.ofCF))
	at := map[uint32]int{}
	for x, unit := range u.execution {
		if unit < 0 || done[unit] {
			continue
		}
		done[unit] = true
		key := u.ofCF[unit]
		i, ok := at[key.site]
		if !ok {
			i = len(list)
			at[key.site] = i
			list = append(list, placed{site: key.site})
		}
		list[i].points = append(list[i].points, placement.Point{At: u.paths.at(key.path),
			Node: place.Executions[x]})
	}
	slices.SortFunc(list, func(a, b placed) int {
		return cmp.Or(cmp.Compare(m.Sites[a.site].Line, m.Sites[b.site].Line), cmp.Compare(a.site, b.site))
	})
	return list
}

// names gives the nodes of all units of DFs, by name.
func (p *Program) names(place *simulate.Placement, unread bool) (list []placed) {
	u, m := &p.units, p.Model()
	done := make([]bool, len(u.ofDF))
	at := map[string]int{}
	for v, unit := range u.value {
		if unit < 0 || done[unit] || !unread && len(p.readers(uint32(v))) == 0 {
			continue
		}
		done[unit] = true
		df := u.ofDF[unit]
		name := m.DFNameOf(df)
		i, ok := at[name]
		if !ok {
			i = len(list)
			at[name] = i
			list = append(list, placed{name: name})
		}
		indices := []int32{}
		for _, k := range m.Indices(df, nil) {
			indices = append(indices, int32(k))
		}
		list[i].points = append(list[i].points, placement.Point{At: indices, Node: place.Values[v]})
	}
	slices.SortFunc(list, func(a, b placed) int { return cmp.Compare(a.name, b.name) })
	return list
}
