package advise

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// How little memory the copies of DFs could take at their peak, if each were freed right after its last use.
// That is a sum over all nodes at each moment, so processes tell each other what changes when. What the
// copies do take is the figure of the report.

// byteChange is a change of the bytes that are needed.
type byteChange struct{ Time, Bytes int64 }

// findMemory lists, for the copies on own nodes, when they would have to be there.
func (w *found) findMemory(m *model.Model, g procs.Group) error {
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
		w.Needed = append(w.Needed, byteChange{m.InRun(h.From), h.Bytes},
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

// lastUses gives, by DF, when a CF that was given it ended, or when it was sent, the last time anywhere; None
// for never.
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
			out[k] = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(out[k], id),
				uint64(last[df]))
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
