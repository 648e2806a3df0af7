package advise

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// How much memory the copies of DFs take at their peak, and what they would take if each were freed when it was used the last time. Both
// are sums over all nodes at each moment, so processes tell each other what changed when.

// held is a change of what is held, in bytes.
type held struct{ Time, Bytes int64 }

// findMemory lists the changes on own nodes: as they were, in order of time, and as they would need to be.
func (w *found) findMemory(m *model.Model, g procs.Group) error {
	last, err := lastUses(m, g)
	if err != nil {
		return err
	}
	copies := slices.Clone(m.Copies)
	slices.SortStableFunc(copies, func(x, y model.Copy) int { return cmp.Compare(x.Time, y.Time) })
	type place struct {
		df   model.DF
		node uint16
	}
	holding := map[place]held{}
	free := func(df model.DF, h held, until int64) {
		if h.Bytes > 0 {
			w.Needed = append(w.Needed, h, held{min(max(last[df], h.Time), until), -h.Bytes})
		}
	}
	for i := range copies {
		c := &copies[i]
		k := place{c.DF, c.Node}
		h := holding[k]
		free(c.DF, h, c.Time)
		now := -h.Bytes
		delete(holding, k)
		if made, ok := m.Creation(c.DF, c.Time); ok && c.What == model.CopyStored {
			holding[k] = held{c.Time, m.MadeSize[made]}
			now += m.MadeSize[made]
		}
		if now != 0 {
			w.Held = append(w.Held, held{c.Time, now})
		}
	}
	for k, h := range holding {
		free(k.df, h, m.End)
	}
	return nil
}

// most is the most bytes that are held at one time, of the changes of all nodes in order.
func most(changes []held) (peak int64) {
	slices.SortStableFunc(changes, func(x, y held) int { return cmp.Compare(x.Time, y.Time) })
	var now int64
	for _, c := range changes {
		now += c.Bytes
		peak = max(peak, now)
	}
	return peak
}

// least is the same of changes in any order, of which those that free memory come first.
func least(changes []held) int64 {
	slices.SortFunc(changes, func(x, y held) int { return cmp.Or(cmp.Compare(x.Time, y.Time), cmp.Compare(x.Bytes, y.Bytes)) })
	return most(changes)
}

// lastUses gives, by DF, when a CF that was given it ended, or when it was sent, the last time anywhere; None for never.
func lastUses(m *model.Model, g procs.Group) ([]int64, error) {
	last := make([]int64, m.DFs())
	for df := range last {
		last[df] = model.None
	}
	for e := range m.ExecCF {
		end := m.ExecEnd[e]
		if end == model.None {
			end = m.End
		}
		for _, df := range m.Inputs(e) {
			last[df] = max(last[df], end)
		}
	}
	for i := range m.DFMessages {
		if g := &m.DFMessages[i]; g.DF != 0 {
			last[g.DF] = max(last[g.DF], g.Sent)
		}
	}
	if g.Size() == 1 {
		return last, nil
	}
	// Of those that others may know, each process compares some.
	size := g.Size()
	dfs, out := make([][]model.DF, size), make([][]byte, size)
	for i := 1; i < m.DFs(); i++ {
		df := model.DF(i)
		if id := m.DFID(df); id != 0 && m.Shared(df) {
			k := id % uint64(size)
			dfs[k] = append(dfs[k], df)
			out[k] = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(out[k], id), uint64(last[df]))
		}
	}
	in, err := g.Exchange(out)
	if err != nil {
		return nil, err
	}
	latest := map[uint64]int64{}
	for _, b := range in {
		if len(b)%16 != 0 {
			err = errBroken
			continue
		}
		for ; len(b) > 0; b = b[16:] {
			id, t := binary.LittleEndian.Uint64(b), int64(binary.LittleEndian.Uint64(b[8:]))
			if old, ok := latest[id]; !ok || t > old {
				latest[id] = t
			}
		}
	}
	clear(out)
	for k, b := range in {
		for ; len(b) >= 16; b = b[16:] {
			out[k] = binary.LittleEndian.AppendUint64(out[k], uint64(latest[binary.LittleEndian.Uint64(b)]))
		}
	}
	if err := procs.Agree(g, err); err != nil {
		return nil, err
	}
	if in, err = g.Exchange(out); err != nil {
		return nil, err
	}
	for k, list := range dfs {
		if len(in[k]) != 8*len(list) {
			err = errBroken
			continue
		}
		for i, df := range list {
			last[df] = int64(binary.LittleEndian.Uint64(in[k][8*i:]))
		}
	}
	return last, procs.Agree(g, err)
}
