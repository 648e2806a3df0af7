package counters

import (
	"maps"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// tooOften tells of which DFs how many destructions are to be left out: of one that is destroyed more often
// than it was created, the first ones, in the order of nodes and streams. Processes of a group leave out
// theirs.
func tooOften(m *model.Model, g procs.Group) (map[model.DF]int32, error) {
	balance := make([]int32, m.DFs()) // creations less destructions
	for df := range balance {
		for i, end := m.Creations(model.DF(df)); i < end; i++ {
			if m.Own(int(m.MadeNode[i])) {
				balance[df]++
			}
		}
	}
	for x := range destructions(m) {
		balance[x.DF]--
	}
	extra := map[model.DF]int32{}
	alone := g.Size() == 1
	for df, n := range balance {
		// Nobody else knows a DF that no definition tells of.
		if n < 0 && (alone || m.DFID(model.DF(df)) == 0) {
			extra[model.DF(df)] = -n
		}
	}
	if alone {
		return extra, nil
	}
	return extra, shareBalance(m, g, balance, extra)
}

// shareBalance adds up the balances of DFs of all processes. Where one is negative, it fills in how many
// destructions this process is to leave out.
func shareBalance(m *model.Model, g procs.Group, balance []int32, extra map[model.DF]int32) error {
	// Each DF is added up by one process.
	out := make([]map[uint64]int32, g.Size())
	for i, n := range balance {
		if id := m.DFID(model.DF(i)); n != 0 && id != 0 {
			to := int(id % uint64(g.Size()))
			if out[to] == nil {
				out[to] = map[uint64]int32{}
			}
			out[to][id] += n
		}
	}
	in, err := procs.Swap(g, out)
	if err != nil {
		return err
	}
	sums := map[uint64]int64{}
	for _, list := range in {
		for id, n := range list {
			sums[id] += int64(n)
		}
	}
	maps.DeleteFunc(sums, func(_ uint64, n int64) bool { return n >= 0 })
	negative, err := procs.AllOf(g, sums)
	if err != nil {
		return err
	}
	left := map[uint64]int64{}
	for _, list := range negative {
		maps.Copy(left, list)
	}
	if len(left) == 0 {
		return nil
	}
	// That is rare: only now it matters how often each process saw them destroyed.
	destroyed, number := map[uint64]int64{}, map[uint64]model.DF{}
	for x := range destructions(m) {
		if id := m.DFID(x.DF); x.DF != 0 && left[id] < 0 {
			destroyed[id]++
			number[id] = x.DF
		}
	}
	all, err := procs.AllOf(g, destroyed)
	if err != nil {
		return err
	}
	for rank, list := range all {
		for id, n := range list {
			n = min(n, -left[id])
			if left[id] += n; rank == g.Rank() && n > 0 {
				extra[number[id]] = int32(n)
			}
		}
	}
	return nil
}
