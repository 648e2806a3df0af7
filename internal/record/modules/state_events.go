//go:build !no_state_module

package modules

import (
	"errors"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// connect connects a handler to each event that changes a count.
func (m *State) connect(h *prof.Host) error {
	ses, name, prio := h.Session(), h.Name(), h.Priority()
	to := func(state uint64) func(s *prof.Stream, t int64, cf trace.CF) {
		return func(s *prof.Stream, t int64, cf trace.CF) {
			st := m.streams.Get(s)
			m.move(st, cf, state)
			m.tick(s, st, t)
		}
	}
	waiting, ready, running, here := to(cfWaiting), to(cfReady), to(cfRunning), to(cfHere)
	left := func(s *prof.Stream, t int64, cf trace.CF, bytes int64) {
		st := m.streams.Get(s)
		m.leave(st, cf)
		st.sent.Add(bytes)
		m.tick(s, st, t)
	}
	held := func(s *prof.Stream, t int64, copies, size int64) {
		st := m.streams.Get(s)
		st.dfs.Add(copies)
		st.bytes.Add(copies * size)
		m.tick(s, st, t)
	}
	busy := func(s *prof.Stream, workers int64) {
		if s.ID() < m.workers {
			m.streams.Get(s).busy.Store(workers)
		}
	}
	return errors.Join(
		ses.CFCreated.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF, _ trace.Site, _ trace.CF,
			_ uint64, weight float64, _ []int32) {
			st := m.streams.Get(s)
			m.enter(st, cf, weight)
			m.tick(s, st, t)
		}),
		ses.CFReceived.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF, _ int, bytes int64,
			weight float64) {
			st := m.streams.Get(s)
			m.enter(st, cf, weight)
			st.received.Add(bytes)
			m.tick(s, st, t)
		}),
		ses.CFMigrated.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF, _ int, bytes int64,
			_ float64) {
			left(s, t, cf, bytes)
		}),
		ses.CFStolen.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF, _ int, bytes int64, _ float64) {
			left(s, t, cf, bytes)
		}),
		ses.CFDestroyed.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF) {
			st := m.streams.Get(s)
			m.leave(st, cf)
			m.cfs.gone(cf)
			m.tick(s, st, t)
		}),
		ses.CFWaiting.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF, _ []trace.DF) {
			waiting(s, t, cf)
		}),
		ses.CFReady.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF, _ int64) {
			ready(s, t, cf)
		}),
		ses.CFStarted.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF, _ uint64, _ []trace.DF) {
			running(s, t, cf)
		}),
		ses.CFFinished.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF, _ uint64, _ int64) {
			m.streams.Get(s).finished.Add(1)
			here(s, t, cf)
		}),
		ses.DFStored.Connect(name, prio, func(s *prof.Stream, t int64, _ trace.DF, size int64) {
			held(s, t, 1, size)
		}),
		ses.DFDropped.Connect(name, prio, func(s *prof.Stream, t int64, _ trace.DF, size int64) {
			held(s, t, -1, size)
		}),
		ses.DFSent.Connect(name, prio, func(s *prof.Stream, _ int64, _ trace.DF, _ int, bytes int64, _,
			_ uint64, _ trace.CF) {
			m.streams.Get(s).sent.Add(bytes)
		}),
		ses.DFReceived.Connect(name, prio, func(s *prof.Stream, _ int64, _ trace.DF, _ int, bytes int64, _,
			_ uint64, _ trace.CF) {
			m.streams.Get(s).received.Add(bytes)
		}),
		ses.ReadyQueue.Connect(name, prio, func(s *prof.Stream, _ int64, length uint64) {
			m.streams.Get(s).node.queue.Store(int64(length))
		}),
		ses.SendQueue.Connect(name, prio, func(s *prof.Stream, _ int64, peer int, length uint64) {
			m.streams.Get(s).setSending(peer, length)
		}),
		ses.ProgramStarted.Connect(name, prio, func(s *prof.Stream, _ int64, _ uint64, _ int64) {
			busy(s, 1)
		}),
		ses.Busy.Connect(name, prio, func(s *prof.Stream, _ int64) { busy(s, 1) }),
		ses.Idle.Connect(name, prio, func(s *prof.Stream, _ int64) { busy(s, 0) }),
		ses.ProgramFinished.Connect(name, prio, func(s *prof.Stream, _ int64, _ int64) { busy(s, 0) }),
	)
}

// setSending notes the length of the queue of messages to a node.
func (st *stateStream) setSending(peer int, length uint64) {
	if peer < 0 || peer > trace.MaxNode {
		return
	}
	for len(st.peers) <= peer {
		st.peers = append(st.peers, 0)
	}
	st.sending.Add(int64(length) - int64(st.peers[peer]))
	st.peers[peer] = length
}
