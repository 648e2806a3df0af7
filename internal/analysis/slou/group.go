package slou

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
)

// Splits: the five factors once more for each node, worker, code fragment or value of a label's index.
//
// Only the last of these costs anything while pieces are visited: the others come out of sums that are kept anyway. There
// may be millions of values, so until the groups to be shown are chosen each is a row of numbers, and its links
// and waits stand in lists common to all.

// by is what a split goes by.
type by struct {
	what  string
	index int // of byIndex: which index of the label
}

const (
	byNode   = "node"
	byWorker = "worker"
	byCode   = "code"
	byIndex  = "index"
)

// Keys of the groups that stand for none or many.
const (
	KeyRest   = "(rest)"   // what belongs to no other group
	KeyOthers = "(others)" // the groups beyond Options.MaxGroups
)

// CheckBy tells what is wrong with an entry of Options.Splits.
func CheckBy(what string) error {
	_, err := parseBy(what)
	return err
}

func parseBy(what string) (by, error) {
	switch what {
	case byNode, byWorker, byCode:
		return by{what: what}, nil
	}
	if k, ok := strings.CutPrefix(what, byIndex+":"); ok {
		if n, err := strconv.ParseUint(k, 10, 16); err == nil {
			return by{byIndex, int(n)}, nil
		}
	}
	return by{}, fmt.Errorf("cannot split by %q; use node, worker, code or index:K, where K is the position of an index in the labels of CFs, from 0", what)
}

// group is one group before it is shown.
type group struct {
	cells         cells
	cfs, measured int64
}

func (g *group) join(o *group) {
	g.cells.join(&o.cells)
	g.cfs += o.cfs
	g.measured += o.measured
}

// groups is a list of groups that grows without being copied.
type groups struct {
	chunks [][]group
	n      int
}

const (
	chunkBits = 8
	chunkLen  = 1 << chunkBits
)

// add appends a group and gives its number.
func (l *groups) add(g group) int {
	if l.n&(chunkLen-1) == 0 {
		size := chunkLen
		if l.n == 0 {
			size = 4 // many lists stay short
		}
		l.chunks = append(l.chunks, make([]group, 0, size))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, g)
	l.n++
	return l.n - 1
}

func (l *groups) at(g int) *group { return &l.chunks[g>>chunkBits][g&(chunkLen-1)] }

type groupLink struct {
	group int
	link  Link
}

type groupNamed struct {
	group int
	namedPart
}

// grouping is a split before the groups to be shown are chosen. Group 0 is the remainder.
type grouping struct {
	groups groups
	links  map[groupLink]int64
	named  map[groupNamed]int64
	name   func(g int) (key string, index int64)
	// order compares groups as they are to be listed; nil: as they come.
	order func(a, b int) int
}

func newGrouping(name func(g int) (string, int64)) *grouping {
	x := &grouping{links: map[groupLink]int64{}, named: map[groupNamed]int64{}, name: name}
	x.groups.add(group{})
	return x
}

// add appends the sums of one or several workers as a group.
func (x *grouping) add(s *sums) {
	g := x.groups.add(group{s.cells, s.useful.count, s.useful.measured})
	for k, v := range s.link {
		x.links[groupLink{g, k}] += v
	}
	for k, v := range s.named {
		x.named[groupNamed{g, k}] += v
	}
}

// indexGroups are the groups of one index of the labels of CFs.
type indexGroups struct {
	grouping
	m       *model.Model
	at      int           // position of the index in the label
	values  []int32       // by group
	numbers map[int32]int // group of a value
	last    model.CF
	present int // group of last
}

func newIndexGroups(m *model.Model, at int) *indexGroups {
	x := &indexGroups{m: m, at: at, values: []int32{0}, numbers: map[int32]int{}}
	x.grouping = *newGrouping(func(g int) (string, int64) { return strconv.Itoa(int(x.values[g])), int64(x.values[g]) })
	x.order = func(a, b int) int { return cmp.Compare(x.values[a], x.values[b]) }
	return x
}

// group gives the group of a CF.
func (x *indexGroups) group(cf model.CF) int {
	if cf == x.last {
		return x.present
	}
	g := 0
	if label := x.m.Label(cf); x.at < len(label) {
		v := label[x.at]
		if x.present != 0 && x.values[x.present] == v {
			g = x.present // CFs of one time step follow each other
		} else {
			g = x.number(v)
		}
	}
	x.last, x.present = cf, g
	return g
}

func (x *indexGroups) number(v int32) int {
	g, ok := x.numbers[v]
	if !ok {
		g = x.groups.add(group{})
		x.numbers[v] = g
		x.values = append(x.values, v)
	}
	return g
}

func (x *indexGroups) add(p *Piece, at int) {
	g, ns := x.group(p.Consumer), p.To-p.From
	x.groups.at(g).cells[at] += ns
	switch {
	case p.Name != "":
		x.named[groupNamed{g, namedPart{p.Factor, p.Name}}] += ns
	case p.Factor == FactorL:
		x.links[groupLink{g, p.Link}] += ns
	}
}

func (x *indexGroups) join(o *indexGroups) {
	to := make([]int, o.groups.n)
	for g := range to {
		if g > 0 {
			to[g] = x.number(o.values[g])
		}
		x.groups.at(to[g]).join(o.groups.at(g))
		if g&(chunkLen-1) == chunkLen-1 {
			o.groups.chunks[g>>chunkBits] = nil // there may be millions
		}
	}
	for k, v := range o.links {
		x.links[groupLink{to[k.group], k.link}] += v
	}
	for k, v := range o.named {
		x.named[groupNamed{to[k.group], k.namedPart}] += v
	}
}

// byCode gives the groups of the code fragments. The causes have their links and waits.
func (t *tally) byCode() *grouping {
	var codes []int // by group
	x := newGrouping(func(g int) (string, int64) { return t.codeAt(codes[g]).Name, int64(codes[g] - 1) })
	x.order = func(a, b int) int {
		return cmp.Or(cmp.Compare(x.groups.at(b).cells.total(), x.groups.at(a).cells.total()), cmp.Compare(a, b))
	}
	of := make([]int, len(t.codes)) // group of each
	codes = []int{0}
	for i := range t.codes {
		c := &t.codes[i]
		g := group{c.before, c.count, c.measured}
		if i == 0 {
			*x.groups.at(0) = g
		} else if g != (group{}) {
			of[i] = x.groups.add(g)
			codes = append(codes, i)
		}
	}
	for k, v := range t.causes {
		switch g := of[k.consumer]; {
		case k.name != "":
			x.named[groupNamed{g, namedPart{k.factor, k.name}}] += v.ns
		case k.factor == FactorL:
			x.links[groupLink{g, k.link}] += v.ns
		}
	}
	return x
}

// choose gives the groups to be shown, in their order: all but the remainder, or the largest.
func (x *grouping) choose(limit int) []int {
	list := make([]int, 0, x.groups.n-1)
	for g := 1; g < x.groups.n; g++ {
		list = append(list, g)
	}
	if limit > 0 && len(list) > limit {
		size := func(g int) int64 { c := &x.groups.at(g).cells; return c.total() + c[FactorLoss] }
		slices.SortFunc(list, func(a, b int) int {
			if c := cmp.Compare(size(b), size(a)); c != 0 || x.order == nil {
				return cmp.Or(c, cmp.Compare(a, b))
			}
			return x.order(a, b)
		})
		list = list[:limit]
		slices.Sort(list)
	}
	if x.order != nil {
		slices.SortFunc(list, x.order)
	}
	return list
}

// split makes the groups to be shown, at most limit of them beside the others and the remainder; 0 means all.
func (x *grouping) split(name string, limit int, null map[Factor]bool) Split {
	list := x.choose(limit)
	const others, rest = 0, 1
	to := make([]int, x.groups.n) // others
	to[0] = rest
	for i, g := range list {
		to[g] = i + 2
	}
	all := make([]*sums, len(list)+2)
	for i := range all {
		all[i] = newSums(nil)
	}
	for i, to := range to {
		s, g := all[to], x.groups.at(i)
		s.cells.join(&g.cells)
		s.useful.count += g.cfs
		s.useful.measured += g.measured
	}
	for k, v := range x.links {
		all[to[k.group]].link[k.link] += v
	}
	for k, v := range x.named {
		all[to[k.group]].named[k.namedPart] += v
	}
	out := Split{By: name, Groups: make([]Group, 0, len(all))}
	add := func(s *sums, g Group) {
		g.CFs, g.TotalNS, g.LossNS = s.useful.count, s.cells.total(), s.cells[FactorLoss]
		g.UndividedNS, g.Factors = s.cells.undivided(null), s.factors(null)
		out.Groups = append(out.Groups, g)
	}
	for i, g := range list {
		key, index := x.name(g)
		add(all[i+2], Group{Key: key, Index: index})
	}
	if n := x.groups.n - 1 - len(list); n > 0 {
		add(all[others], Group{Key: KeyOthers, Joined: int64(n)})
	}
	if all[rest].cells != (cells{}) || all[rest].useful.count > 0 {
		add(all[rest], Group{Key: KeyRest, Rest: true})
	}
	return out
}
