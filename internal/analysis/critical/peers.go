package critical

import (
	"errors"

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
	first, end int // own executions
	// Where there are several processes: the numbers of the executions in this model, and where those of each
	// process begin; see model.Numbers.
	numbers, base []uint32
}

var errBroken = errors.New("internal error: what another process told about the critical path makes no sense")

func newPeers(m *model.Model, g procs.Group) *peers {
	p := &peers{Group: g, m: m}
	p.first, p.end = m.OwnExecutions()
	return p
}

// own tells whether an execution is one of this process.
func (p *peers) own(e int) bool { return e >= p.first && e < p.end }

// executionTimes is what a process tells of an execution.
type executionTimes struct{ Useful, Until int64 }

// introduce numbers the executions, and fills in the useful time and the end of those of others.
func (p *peers) introduce(useful, until []int64) (err error) {
	if p.Size() == 1 {
		return nil
	}
	if p.numbers, p.base, err = p.m.Numbers(p); err != nil {
		return err
	}
	questions := make([][]uint32, p.Size())
	for e, n := range p.numbers {
		if !p.own(e) {
			k := p.m.ExecutedBy(e)
			questions[k] = append(questions[k], n-p.base[k])
		}
	}
	answers, err := procs.Ask(p, questions, func(i uint32) (t executionTimes, err error) {
		if int(i) >= p.end-p.first {
			return t, errBroken
		}
		return executionTimes{useful[p.first+int(i)], until[p.first+int(i)]}, nil
	})
	for e := range p.numbers {
		if k := p.m.ExecutedBy(e); err == nil && !p.own(e) {
			useful[e], until[e] = answers[k][0].Useful, answers[k][0].Until
			answers[k] = answers[k][1:]
		}
	}
	return err
}
