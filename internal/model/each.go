package model

import (
	"iter"
	"slices"
	"sort"
)

// WorkerID names a worker: its node, and its number on that node.
type WorkerID struct{ Node, Worker int }

// AllWorkers gives the workers of all nodes in the order of nodes and workers.
func (m *Model) AllWorkers() iter.Seq2[WorkerID, *Worker] {
	return func(yield func(WorkerID, *Worker) bool) {
		for n := range m.Nodes {
			for w := range m.Nodes[n].Workers {
				if !yield(WorkerID{n, w}, &m.Nodes[n].Workers[w]) {
					return
				}
			}
		}
	}
}

// OwnWorkers gives those of own nodes.
func (m *Model) OwnWorkers() iter.Seq2[WorkerID, *Worker] {
	return func(yield func(WorkerID, *Worker) bool) {
		for id, w := range m.AllWorkers() {
			if m.Own(id.Node) && !yield(id, w) {
				return
			}
		}
	}
}

// WorkerIDOf gives the worker of an execution; false for one on a stream that is no worker.
func (m *Model) WorkerIDOf(execution int) (WorkerID, bool) {
	w := m.workerOf(execution)
	if w == nil {
		return WorkerID{}, false
	}
	return WorkerID{int(w.node), int(w.number)}, true
}

func (m *Model) workerOf(execution int) *workerRef {
	i := sort.Search(len(m.byEnd), func(i int) bool { return m.byEnd[i].End > execution })
	if i == len(m.byEnd) || m.byEnd[i].First > execution {
		return nil
	}
	return &m.byEnd[i]
}

// CFs gives every CF of which an event was recorded: its creation, that it was ready, an execution or a
// migration.
func (m *Model) CFs() iter.Seq[CF] {
	return func(yield func(CF) bool) {
		for i := range m.Created {
			cf := CF(i)
			if m.Created[i] == None && m.Ready[i] == None && m.ExecOf[i] == 0 && len(m.MovesOf(cf)) == 0 {
				continue
			}
			if cf != 0 && !yield(cf) {
				return
			}
		}
	}
}

// ExecutionsOf gives the executions of a CF in order of start.
func (m *Model) ExecutionsOf(cf CF) iter.Seq[int] {
	return func(yield func(int) bool) {
		list := m.multi.of(cf)
		if last := m.ExecOf[cf]; len(list) == 0 && last != 0 {
			yield(int(last - 1))
		}
		for _, e := range list {
			if !yield(int(e)) {
				return
			}
		}
	}
}

// Receipts gives the messages, as indices into DFMessages, with which a node received a DF, in order of time.
func (m *Model) Receipts(df DF, node int) []uint32 {
	if df == 0 || node < 0 || node >= len(m.received) || !m.Travelled(df) {
		return nil
	}
	r := &m.received[node]
	from, found := slices.BinarySearch(r.df, df)
	if !found {
		return nil
	}
	to := from + sort.Search(len(r.df)-from, func(i int) bool { return r.df[from+i] > df })
	return r.message[from:to:to]
}

// Creations gives the creations of a DF in order of time: indices from first up to but not including end into
// MadeTime, MadeBy, MadeNode and SizeMade.
func (m *Model) Creations(df DF) (first, end int) {
	return int(m.MadeFrom[df]), int(m.MadeFrom[df+1])
}

// DFs gives the number of DFs plus one: DFs are numbered from 1 and below it.
func (m *Model) DFs() int { return len(m.DFName) }
