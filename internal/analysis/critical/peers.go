package critical

import (
	"encoding/binary"
	"errors"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// Several processes, each with the model of its nodes.
//
// What held up an execution its own process finds, with what model.BuildShare brought of others; only the useful time and the end of
// executions elsewhere are asked for. All graphs then go to the process of rank 0, which does with the whole what it does in a
// run that it has alone. It finds out which executions are on the path and when the path comes to each; what happened there those find
// who executed them, all at the same time.
//
// Following chains from process to process instead would take as many exchanges as they change processes, often thousands: much
// longer than it takes one process to go through a graph. What the first process needs for that is some hundred bytes by execution of
// the whole run, a small part of what the models of all processes take together.

// peers are the processes that have a run together, seen from one of them.
type peers struct {
	procs.Group
	m          *model.Model
	first, end int      // own executions
	theirs     []theirs // those of others that are in the model, ascending
}

// theirs is an execution of another process.
type theirs struct {
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
	out := make([][]byte, p.Size())
	for i, e := range list {
		t := theirs{e: e, rank: uint32(p.m.ExecutedBy(int(e))), index: places[i]}
		p.theirs = append(p.theirs, t)
		out[t.rank] = binary.AppendUvarint(out[t.rank], uint64(t.index))
	}
	in, err := p.Exchange(out)
	if err != nil {
		return err
	}
	var failed error
	clear(out)
	for k, b := range in {
		for w := (wire{b: b}); len(w.b) > 0 && failed == nil; {
			i := w.uvarint()
			if w.bad || i >= uint64(p.end-p.first) {
				failed = errBroken
				break
			}
			e := p.first + int(i)
			out[k] = binary.AppendVarint(binary.AppendVarint(out[k], useful[e]), until[e])
		}
	}
	if err := procs.Agree(p, failed); err != nil {
		return err
	}
	if in, err = p.Exchange(out); err != nil {
		return err
	}
	answers := make([]wire, len(in))
	for k, b := range in {
		answers[k].b = b
	}
	for i := range p.theirs {
		t := &p.theirs[i]
		w := &answers[t.rank]
		useful[t.e], until[t.e] = w.varint(), w.varint()
		if w.bad {
			failed = errBroken
		}
	}
	return procs.Agree(p, failed)
}

// wire is what another process told, read from the front.
type wire struct {
	b   []byte
	bad bool
}

func (w *wire) uvarint() uint64 {
	v, n := binary.Uvarint(w.b)
	if n <= 0 {
		w.bad, w.b = true, nil
		return 0
	}
	w.b = w.b[n:]
	return v
}

func (w *wire) varint() int64 {
	v, n := binary.Varint(w.b)
	if n <= 0 {
		w.bad, w.b = true, nil
		return 0
	}
	w.b = w.b[n:]
	return v
}
