package model

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// LearnSites finds out which statements CFs come from of which other processes know that, in a model of
// BuildShare: one knows a CF by its id only where nothing of its own nodes' time depends on it. All members
// of g call it, while nobody else uses the model.
func (m *Model) LearnSites(g procs.Group, cfs []CF) error {
	if m.share == nil {
		return nil
	}
	var unknown []CF
	for _, cf := range cfs {
		if cf != 0 && m.SiteOf[cf] == 0 && m.Owner(m.CFID(cf).Node()) != g.Rank() {
			unknown = append(unknown, cf)
		}
	}
	slices.Sort(unknown)
	unknown = slices.Compact(unknown)
	out, asked := make([][]byte, g.Size()), make([][]CF, g.Size())
	for _, cf := range unknown {
		k := m.Owner(m.CFID(cf).Node())
		out[k], asked[k] = binary.AppendUvarint(out[k], uint64(m.CFID(cf))), append(asked[k], cf)
	}
	in, err := g.Exchange(out)
	if err != nil {
		return err
	}
	for k, b := range in {
		out[k] = nil
		for len(b) > 0 && err == nil {
			id := number(&b, &err)
			out[k] = binary.AppendUvarint(out[k], uint64(m.SiteOf[m.FindCF(trace.CF(id))]))
		}
	}
	if err := procs.Agree(g, err); err != nil {
		return err
	}
	if in, err = g.Exchange(out); err != nil {
		return err
	}
	for k, list := range asked {
		for _, cf := range list {
			if site := number(&in[k], &err); site < uint64(len(m.Sites)) {
				m.SiteOf[cf] = uint32(site)
			}
		}
	}
	return procs.Agree(g, err)
}

var errLearn = errors.New("internal error: what another process asked or told about CFs makes no sense")

// number takes a number from the front of what another process told.
func number(b *[]byte, err *error) uint64 {
	v, n := binary.Uvarint(*b)
	if n <= 0 {
		*err, *b = errLearn, nil
		return 0
	}
	*b = (*b)[n:]
	return v
}

// Places gives, for executions in a model of BuildShare, the how-manieth each is of OwnExecutions of the
// process that it is ExecutedBy. All members of g call it.
func (m *Model) Places(g procs.Group, executions []uint32) ([]uint32, error) {
	first, end := m.OwnExecutions()
	own := func(e int) bool { return e >= first && e < end }
	out := make([][]byte, g.Size())
	for _, e := range executions {
		if own(int(e)) {
			continue
		}
		// All processes that have one execution of a CF have all.
		cf, n := m.ExecCF[e], uint64(0)
		for x := range m.ExecutionsOf(cf) {
			if x == int(e) {
				break
			}
			n++
		}
		k := m.ExecutedBy(int(e))
		out[k] = binary.AppendUvarint(binary.AppendUvarint(out[k], uint64(m.CFID(cf))), n)
	}
	in, err := g.Exchange(out)
	if err != nil {
		return nil, err
	}
	for k, b := range in {
		out[k] = nil
		for len(b) > 0 && err == nil {
			cf, n := m.FindCF(trace.CF(number(&b, &err))), number(&b, &err)
			found := false
			for x := range m.ExecutionsOf(cf) {
				if found = n == 0 && own(x); found {
					out[k] = binary.AppendUvarint(out[k], uint64(x-first))
				}
				if n == 0 {
					break
				}
				n--
			}
			if !found {
				err = errLearn
			}
		}
	}
	if err := procs.Agree(g, err); err != nil {
		return nil, err
	}
	if in, err = g.Exchange(out); err != nil {
		return nil, err
	}
	places := make([]uint32, len(executions))
	for i, e := range executions {
		if own(int(e)) {
			places[i] = e - uint32(first)
		} else {
			places[i] = uint32(number(&in[m.ExecutedBy(int(e))], &err))
		}
	}
	return places, procs.Agree(g, err)
}
