package timeline

import (
	"cmp"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
)

// mostInputs is how many inputs are looked at for one answer. A variable for tests.
var mostInputs = 200_000

// inside returns the longest ways of inputs from one lane of a node to another that end within an interval,
// at one of some lanes, and how many more there are: inputs that were not looked at are among them.
func (t *Timeline) inside(q ArrowQuery, lanes []int, most int) (list []Arrow, more int) {
	m := t.m
	type way struct {
		ns int64
		e  int
		df model.DF
	}
	var found []way
	looked := 0
	for _, lane := range lanes {
		w := t.lanes[lane].worker
		first := w.First + sort.Search(w.End-w.First, func(i int) bool {
			return t.at(m.ExecStart[w.First+i]) >= q.From
		})
		for e := first; e < w.End && t.at(m.ExecStart[e]) < q.To; e++ {
			start := m.ExecStart[e]
			for _, df := range m.Inputs(e) {
				if looked++; looked > mostInputs {
					more++
					continue
				}
				i, ok := m.Creation(df, start)
				if !ok || int(m.MadeNode[i]) != t.lanes[lane].id.Node {
					continue
				}
				if from := t.maker(i, int32(m.MadeNode[i])); from >= 0 && from != lane {
					found = append(found, way{start - min(m.MadeTime[i], start), e, df})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b way) int {
		return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(a.e, b.e), cmp.Compare(a.df, b.df))
	})
	n := min(len(found), most)
	for _, f := range found[:n] {
		list = append(list, t.wait(f.e, f.df))
	}
	return list, more + len(found) - n
}
