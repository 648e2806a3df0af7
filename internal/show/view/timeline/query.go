package timeline

import (
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

// stretch of time, in nanoseconds since the start of the run.
type stretch struct{ from, to int64 }

// maxTime bounds times, so that two can be added and one can be multiplied by 255.
const maxTime = 1 << 54 // 208 days

func (r stretch) check() error {
	switch {
	case r.from >= r.to:
		return query.Bad("the interval from %d to %d ns is empty: from has to be before to", r.from, r.to)
	case r.from < -maxTime || r.to > maxTime:
		return query.Bad("the interval from %d to %d ns reaches more than 208 days away from the run", r.from, r.to)
	}
	return nil
}

// split returns the i-th of the n+1 edges of n columns of equal width, 0 <= i <= n.
func (r stretch) split(i, n int) int64 {
	span := r.to - r.from
	return r.from + span/int64(n)*int64(i) + span%int64(n)*int64(i)/int64(n)
}

// chosen returns the lanes of a query; nil means all.
func (t *Timeline) chosen(lanes []int) ([]int, error) {
	n := len(t.lanes)
	if lanes == nil {
		for i := range n {
			lanes = append(lanes, i)
		}
		return lanes, nil
	}
	seen := make([]bool, n)
	for _, i := range lanes {
		if i < 0 || i >= n {
			return nil, query.Bad("there is no lane %d; there are %d, from 0", i, n)
		}
		if seen[i] {
			return nil, query.Bad("lane %d is asked for twice", i)
		}
		seen[i] = true
	}
	return lanes, nil
}

// limit returns how many things a query wants at most.
func limit(n, standard int) (int, error) {
	switch {
	case n == 0:
		return standard, nil
	case n < 0 || n > maxLimit:
		return 0, query.Bad("limit=%d: must be 1 to %d", n, maxLimit)
	}
	return n, nil
}

const maxLimit = 1_000_000

// FindCF returns the CF with a name, "node.counter". It fails with fs.ErrNotExist if nothing was recorded
// about it.
func (t *Timeline) FindCF(s string) (model.CF, error) {
	id, err := query.ParseCF(s)
	if err != nil {
		return 0, err
	}
	m := t.m
	cf := m.FindCF(id)
	// Neighbours of a CF have numbers, too.
	if cf == 0 || int(cf) >= len(m.Created) || m.Created[cf] == model.None && m.Ready[cf] == model.None &&
		m.ExecOf[cf] == 0 &&
		len(m.MovesOf(cf)) == 0 && len(t.m.AwaitsOf(cf)) == 0 && len(t.m.OutputsOf(cf)) == 0 {
		return 0, query.Missing("there is no CF %s in this run", s)
	}
	return cf, nil
}

// CFKey is the name of a CF, "" for none.
func (t *Timeline) CFKey(cf model.CF) string {
	if cf == 0 {
		return ""
	}
	return t.m.CFID(cf).String()
}

// nodesOf reports, by node, whether one of its lanes is in a list.
func (t *Timeline) nodesOf(lanes []int) []bool {
	out := make([]bool, len(t.m.Nodes))
	for _, i := range lanes {
		out[t.lanes[i].id.Node] = true
	}
	return out
}

// FindDF returns the DF with a key. It fails with fs.ErrNotExist if the run has none.
func (t *Timeline) FindDF(key string) (model.DF, error) {
	df := t.m.FindDF(key)
	if df == 0 {
		return 0, query.Missing("there is no DF with the key %q in this run", key)
	}
	return df, nil
}
