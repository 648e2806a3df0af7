package slou

import (
	"fmt"
	"strconv"
)

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

// split makes the splits that were asked for. nodes has the sums of res.Nodes.
func (c *computation) split(res *Result, nodes, workers []*sums, all *tally, null map[Factor]bool) ([]Split,
	error) {
	var out []Split
	indices := all.Indices
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
			x = all.byCode() // which has O.extra
		case byIndex:
			x, indices = indices[0].grouping(), indices[1:]
		}
		if k.what != byCode {
			x.Groups.at(0).Cells[cell(FactorO, PartExtra)] += res.ExtraCoresNS
		}
		out = append(out, x.split(c.opt.Splits[i], c.opt.MaxGroups, null))
		if err := out[i].check(res); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// check tells whether the groups add up to the whole.
func (s *Split) check(res *Result) error {
	got, want := map[string]int64{}, map[string]int64{}
	for i := range s.Groups {
		g := &s.Groups[i]
		got["time"] += g.TotalNS
		got["lost time"] += g.LossNS
		got["undivided time"] += g.UndividedNS
		got["CFs"] += g.CFs
		g.Factors.addTo(got)
	}
	for i := range res.Nodes {
		want["CFs"] += res.Nodes[i].CFs
	}
	want["time"], want["lost time"], want["undivided time"] = res.TotalNS, res.Loss.NS, res.UndividedNS
	res.Factors.addTo(want)
	return differ("by "+s.By, got, want)
}

func (f *Factors) addTo(sums map[string]int64) {
	add := func(name string, s *Share) {
		if s == nil {
			return
		}
		sums[name] += s.NS
		for part, ns := range s.Parts {
			sums[name+"."+part] += ns
		}
	}
	if f.U != nil {
		add("U", &f.U.Share)
		sums["measured time"] += f.U.MeasuredNS
	}
	add("S", f.S)
	add("L", f.L)
	add("O", f.O)
	add("W", f.W)
}

// differ names something whose parts do not add up.
func differ(what string, got, want map[string]int64) error {
	for _, m := range []map[string]int64{want, got} {
		for k := range m {
			if got[k] != want[k] {
				return fmt.Errorf("internal error: %s, %s adds up to %d, the whole has %d", what, k, got[k],
					want[k])
			}
		}
	}
	return nil
}
