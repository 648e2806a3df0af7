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
