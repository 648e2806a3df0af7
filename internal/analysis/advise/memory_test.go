package advise_test

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// peak is the most bytes that copies of DFs took at one time.
func peak(a *analysed) (most int64) {
	m := a.m
	copies := slices.Clone(m.Copies)
	slices.SortStableFunc(copies, func(x, y model.Copy) int { return cmp.Compare(x.Time, y.Time) })
	var now int64
	for _, c := range copies {
		i, ok := m.Creation(c.DF, c.Time)
		if !ok {
			continue
		}
		if c.What == model.CopyStored {
			now += m.MadeSize[i]
		} else {
			now -= m.MadeSize[i]
		}
		most = max(most, now)
	}
	return most
}
