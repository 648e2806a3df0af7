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
// Only the split by index costs anything while pieces are visited: the others come out of sums that are kept
// anyway. There may be millions of values. Until the groups to be shown are chosen, each is a row of numbers,
// and the links and waits of all stand in one map.

// splitKey is what a split goes by.
type splitKey struct {
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
	_, err := parseSplit(what)
	return err
}

func parseSplit(what string) (splitKey, error) {
	switch what {
	case byNode, byWorker, byCode:
		return splitKey{what: what}, nil
	}
	if k, ok := strings.CutPrefix(what, byIndex+":"); ok {
		if n, err := strconv.ParseUint(k, 10, 16); err == nil {
			return splitKey{byIndex, int(n)}, nil
		}
	}
	return splitKey{}, fmt.Errorf("cannot split by %q; use node, worker, code or index:K, where K is the "+
		"position of an index in the labels of CFs, from 0", what)
}

// groupSum is one group before it is shown.
type groupSum struct {
	Cells         cells
	CFs, Measured int64
}

func (g *groupSum) join(o *groupSum) {
	g.Cells.join(&o.Cells)
	g.CFs += o.CFs
	g.Measured += o.Measured
}

type groupPart struct {
	Group int
	Part  partName
}

// grouping is a split before the groups to be shown are chosen. Group 0 is the remainder.
type grouping struct {
	Groups []*groupSum
	Named  map[groupPart]int64
	name   func(g int) (key string, index int64)
	// order compares groups as they are to be listed; nil: as they come.
	order func(a, b int) int
}

func newGrouping(name func(g int) (string, int64)) *grouping {
	return &grouping{Groups: []*groupSum{{}}, Named: map[groupPart]int64{}, name: name}
}

// add appends the sums of one or several workers as a group.
func (x *grouping) add(s *sums) {
	for k, ns := range s.Named {
		x.Named[groupPart{len(x.Groups), k}] += ns
	}
	x.Groups = append(x.Groups, &groupSum{s.Cells, s.CFs, s.Measured})
}

// indexGroups are the groups of one index of the labels of CFs.
type indexGroups struct {
	Found   grouping
	Values  []int32 // by group
	m       *model.Model
	at      int           // position of the index in the label
	numbers map[int32]int // group of a value
	last    model.CF
	present int // group of last
}

func newIndexGroups(m *model.Model, at int) *indexGroups {
	x := &indexGroups{m: m, at: at, Values: []int32{0}, numbers: map[int32]int{}}
	x.Found = *newGrouping(func(g int) (string, int64) {
		return strconv.Itoa(int(x.Values[g])), int64(x.Values[g])
	})
	x.Found.order = func(a, b int) int { return cmp.Compare(x.Values[a], x.Values[b]) }
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
		if x.present != 0 && x.Values[x.present] == v {
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
		g = len(x.Found.Groups)
		x.Found.Groups = append(x.Found.Groups, &groupSum{})
		x.numbers[v] = g
		x.Values = append(x.Values, v)
	}
	return g
}

func (x *indexGroups) join(o *indexGroups) {
	to := make([]int, len(o.Found.Groups))
	for g, sum := range o.Found.Groups {
		if g > 0 {
			to[g] = x.number(o.Values[g])
		}
		x.Found.Groups[to[g]].join(sum)
		o.Found.Groups[g] = nil // there may be millions
	}
	for k, ns := range o.Found.Named {
		x.Found.Named[groupPart{to[k.Group], k.Part}] += ns
	}
}

// byCode gives the groups of the code fragments. The causes have their links and waits.
func (t *tally) byCode() *grouping {
	codes := []int{0} // by group
	x := newGrouping(func(g int) (string, int64) { return t.codeAt(codes[g]).Name, int64(codes[g] - 1) })
	total := func(g int) int64 { return x.Groups[g].Cells.total() }
	x.order = func(a, b int) int { return cmp.Or(cmp.Compare(total(b), total(a)), cmp.Compare(a, b)) }
	of := make([]int, len(t.Codes)) // group of each
	for i := range t.Codes {
		c := &t.Codes[i]
		g := groupSum{c.Before, c.Count, c.Measured}
		if i == 0 {
			x.Groups[0] = &g
		} else if g != (groupSum{}) {
			of[i] = len(x.Groups)
			x.Groups, codes = append(x.Groups, &g), append(codes, i)
		}
	}
	for k, v := range t.Causes {
		if name, ok := nameOf(&Piece{Factor: k.Factor, Part: k.Part, Name: k.Name, Link: k.Link}); ok {
			x.Named[groupPart{of[k.Consumer], name}] += v.NS
		}
	}
	return x
}

// choose gives the groups to be shown, in their order: all but the remainder, or the largest.
func (x *grouping) choose(limit int) []int {
	list := make([]int, 0, len(x.Groups)-1)
	for g := 1; g < len(x.Groups); g++ {
		list = append(list, g)
	}
	if limit > 0 && len(list) > limit {
		size := func(g int) int64 { c := &x.Groups[g].Cells; return c.total() + c[FactorLoss] }
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

// split makes the groups of a run to be shown, at most limit of them beside the others and the remainder; 0
// means all. It fails where they do not add up to the run.
func (x *grouping) split(name string, limit int, run *sums, null map[Factor]bool) (Split, error) {
	list := x.choose(limit)
	const others, rest = 0, 1
	to := make([]int, len(x.Groups)) // others
	to[0] = rest
	for i, g := range list {
		to[g] = i + 2
	}
	all := make([]*sums, len(list)+2)
	for i := range all {
		all[i] = newSums(nil)
	}
	for i, g := range x.Groups {
		s := all[to[i]]
		s.Cells.join(&g.Cells)
		s.CFs += g.CFs
		s.Measured += g.Measured
	}
	for k, ns := range x.Named {
		all[to[k.Group]].Named[k.Part] += ns
	}
	out := Split{By: name, Groups: make([]Group, 0, len(all))}
	add := func(s *sums, g Group) {
		g.CFs, g.TotalNS, g.LossNS = s.CFs, s.Cells.total(), s.Cells[FactorLoss]
		g.UndividedNS, g.Factors = s.Cells.undivided(null), s.factors(null)
		out.Groups = append(out.Groups, g)
	}
	for i, g := range list {
		key, index := x.name(g)
		add(all[i+2], Group{Key: key, Index: index})
	}
	if n := len(x.Groups) - 1 - len(list); n > 0 {
		add(all[others], Group{Key: KeyOthers, Joined: int64(n)})
	}
	if all[rest].Cells != (cells{}) || all[rest].CFs > 0 {
		add(all[rest], Group{Key: KeyRest, Rest: true})
	}
	return out, run.check("by "+name, all...)
}

// Split is the division of all processor time once more, by something. Its groups add up to the result it
// belongs to.
type Split struct {
	By string `json:"by"` // as in Options.Splits
	// Groups are in the order of nodes and workers, of values, or, by code fragment, of total time, most
	// first. After them come, where there are any, the group of the others, and the remainder.
	Groups []Group `json:"groups"`
}

// Group is the share of one group of a split. All times are nanoseconds.
type Group struct {
	// "0", worker "0.1", the code fragment, the value of the index; KeyOthers; KeyRest
	Key string `json:"key"`
	// Index is the number of the node, of the worker among all workers, of the code fragment in the model, or
	// the value of the index; 0 for the others and the remainder.
	Index int64 `json:"index"`
	// Rest marks the remainder: what belongs to no group. By node and worker it is O.extra; by code fragment
	// and index also the time after a worker's last CF, what was lost, and, by index, CFs without that index.
	Rest        bool    `json:"rest,omitempty"`
	Joined      int64   `json:"joined,omitempty"` // of the others: how many groups they are
	CFs         int64   `json:"cfs"`              // executions of atomic CFs
	TotalNS     int64   `json:"total_ns"`         // what the factors and UndividedNS add up to
	LossNS      int64   `json:"loss_ns"`
	UndividedNS int64   `json:"undivided_ns"` // of factors that are null
	Factors     Factors `json:"factors"`
}

// split makes the splits of a run that were asked for. nodes has the sums of res.Nodes.
func (c *computation) split(res *Result, nodes, workers []*sums, run *sums, null map[Factor]bool) ([]Split,
	error) {
	var out []Split
	indices := run.Indices
	for i, k := range c.splits {
		var x *grouping
		switch k.what {
		case byNode:
			x = newGrouping(func(g int) (string, int64) {
				n := res.Nodes[g-1].Node
				return strconv.Itoa(n), int64(n)
			})
			for _, s := range nodes {
				x.add(s)
			}
		case byWorker:
			x = newGrouping(func(g int) (string, int64) {
				id := workers[g-1].ID
				return fmt.Sprintf("%d.%d", id.Node, id.Worker), int64(g - 1)
			})
			for _, s := range workers {
				x.add(s)
			}
		case byCode:
			x = run.byCode() // which has O.extra
		case byIndex:
			x, indices = &indices[0].Found, indices[1:]
		}
		if k.what != byCode {
			x.Groups[0].Cells[cell(FactorO, PartExtra)] += res.ExtraCoresNS
		}
		split, err := x.split(c.opt.Splits[i], c.opt.MaxGroups, run, null)
		if err != nil {
			return nil, err
		}
		out = append(out, split)
	}
	return out, nil
}
