package critical

import (
	"errors"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// Several processes, each with the model of its nodes.
//
// Each process finds out itself what held up its executions, with what model.BuildShare brought about others.
// It asks only for the useful time and the end of executions elsewhere. Then all graphs go to the process of
// rank 0, which treats the whole like a run that it has alone. It finds out which executions are on the path
// and when the path comes to each. The processes that executed them then find the steps there, all at the
// same time.
//
// Following chains from process to process instead would take one exchange for each change of process, often
// thousands. That takes much longer than one process needs to go through a graph. The graph takes some
// hundred bytes per execution of the whole run, a small part of what the models of all processes take
// together.

// peers are the processes that have a run together, seen from one of them.
type peers struct {
	procs.Group
	m          *model.Model
	first, end int                // own executions
	theirs     []foreignExecution // those of others that are in the model, ascending
}

// foreignExecution is an execution of another process.
type foreignExecution struct {
	e     uint32 // here
	rank  uint32
	index uint32 // there, among those of that process
}

var errBroken = errors.New("internal error: what another process told about the critical path makes no sense")

func newPeers(m *model.Model, g procs.Group) *peers {
	p := &peers{Group: g, m: m}
	p.first, p.end = m.OwnExecutions()
	return p
}

// own tells whether an execution is one of this process.
func (p *peers) own(e int) bool { return e >= p.first && e < p.end }

// place gives the process that executed something, and the number there.
func (p *peers) place(e uint32) (rank, number uint32) {
	if p.own(int(e)) {
		return uint32(p.Rank()), e - uint32(p.first)
	}
	t := &p.theirs[sort.Search(len(p.theirs), func(k int) bool { return p.theirs[k].e >= e })]
	return t.rank, t.index
}

// executionTimes is what a process tells of an execution.
type executionTimes struct{ Useful, Until int64 }

// introduce fills in the useful time and the end of executions of others.
func (p *peers) introduce(useful, until []int64) error {
	if p.Size() == 1 {
		return nil
	}
	var list []uint32
	for e := range useful {
		if !p.own(e) {
			list = append(list, uint32(e))
		}
	}
	places, err := p.m.Places(p, list)
	if err != nil {
		return err
	}
	out := make([][]uint32, p.Size())
	for i, e := range list {
		t := foreignExecution{e: e, rank: uint32(p.m.ExecutedBy(int(e))), index: places[i]}
		p.theirs = append(p.theirs, t)
		out[t.rank] = append(out[t.rank], t.index)
	}
	asked, err := procs.Swap(p, out)
	answers := make([][]executionTimes, p.Size())
	for k, list := range asked {
		for _, i := range list {
			if int(i) >= p.end-p.first {
				err = errBroken
				break
			}
			answers[k] = append(answers[k], executionTimes{useful[p.first+int(i)], until[p.first+int(i)]})
		}
	}
	if err := procs.Agree(p, err); err != nil {
		return err
	}
	told, err := procs.Swap(p, answers)
	for i := 0; i < len(p.theirs) && err == nil; i++ {
		t := &p.theirs[i]
		if len(told[t.rank]) == 0 {
			err = errBroken
			break
		}
		v := told[t.rank][0]
		useful[t.e], until[t.e], told[t.rank] = v.Useful, v.Until, told[t.rank][1:]
	}
	return procs.Agree(p, err)
}
