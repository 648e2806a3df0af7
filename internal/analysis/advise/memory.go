package advise

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// How little memory the copies of DFs could take at their peak, if each were freed right after its last use.
// The peak is one of all nodes together, so processes tell each other what changes when.

// byteChange is a change of the bytes that are needed.
type byteChange struct{ Time, Bytes int64 }

// findMemory lists, for the copies on own nodes, when they would have to be there.
func (f *found) findMemory(m *model.Model, g procs.Group) error {
	last, err := lastUses(m, g)
	if err != nil {
		return err
	}
	for h := range m.Holdings() {
		if h.From == model.None || h.Bytes == 0 {
			continue
		}
		until := h.To
		if until == model.None {
			until = m.End
		}
		until = min(max(last[h.DF], h.From), until)
		f.Needed = append(f.Needed, byteChange{m.InRun(h.From), h.Bytes},
			byteChange{m.InRun(until), -h.Bytes})
	}
	return nil
}

// peakOf is the greatest sum of the changes at any moment. Changes at one moment count together.
func peakOf(changes []byteChange) (peak int64) {
	slices.SortFunc(changes, func(x, y byteChange) int { return cmp.Compare(x.Time, y.Time) })
	var now int64
	for i, c := range changes {
		now += c.Bytes
		if i+1 == len(changes) || changes[i+1].Time > c.Time {
			peak = max(peak, now)
		}
	}
	return peak
}

// lastUses gives, by DF, when it was last sent, or when the last CF that was given it ended; None for never.
func lastUses(m *model.Model, g procs.Group) ([]int64, error) {
	last := m.LastGiven()
	for i := range m.DFMessages {
		if g := &m.DFMessages[i]; g.DF != 0 {
			last[g.DF] = max(last[g.DF], g.Sent)
		}
	}
	if g.Size() == 1 {
		return last, nil
	}
	// Of those that others may know, each process compares some.
	type use struct {
		ID   uint64
		Time int64
	}
	dfs, out := make([][]model.DF, g.Size()), make([][]use, g.Size())
	for df := model.DF(1); int(df) < m.DFs(); df++ {
		if id := m.DFID(df); id != 0 && m.Shared(df) {
			k := id % uint64(g.Size())
			dfs[k], out[k] = append(dfs[k], df), append(out[k], use{id, last[df]})
		}
	}
	in, err := procs.Swap(g, out)
	if err != nil {
		return nil, err
	}
	latest := map[uint64]int64{}
	for _, u := range slices.Concat(in...) {
		if old, ok := latest[u.ID]; !ok || u.Time > old {
			latest[u.ID] = u.Time
		}
	}
	for _, list := range in {
		for i := range list {
			list[i].Time = latest[list[i].ID]
		}
	}
	in, err = procs.Swap(g, in)
	for k, list := range in {
		for i, u := range list {
			last[dfs[k][i]] = u.Time
		}
	}
	return last, err
}
