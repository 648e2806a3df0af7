//go:build !no_perfetto_module

package modules

import (
	"errors"
	"strconv"

	"github.com/whyslow/whyslow/internal/tracefile/eventjson"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// connect connects the handlers: those of what is wanted.
func (m *Perfetto) connect(h *prof.Host, counter func(name string) bool, flows bool) error {
	ses, name, prio := h.Session(), h.Name(), h.Priority()
	err := errors.Join(
		ses.ForeignStarted.Connect(name, prio, func(s *prof.Stream, t int64, site trace.Site) {
			st := m.streams.Get(s)
			st.calling, st.called, st.site = true, t, site
		}),
		ses.ForeignEnded.Connect(name, prio, m.foreignEnded),
		ses.CFCreated.Connect(name, prio, m.cfCreated),
		ses.CFStarted.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF, _ uint64, _ []trace.DF) {
			m.cfs.at(cf).started.Store(t)
			m.streams.Get(s).cf = cf
		}),
		ses.CFFinished.Connect(name, prio, m.cfFinished),
		ses.CFDestroyed.Connect(name, prio, func(_ *prof.Stream, _ int64, cf trace.CF) { m.cfs.gone(cf) }),
		ses.WaitStarted.Connect(name, prio, func(s *prof.Stream, t int64, _ trace.Name) {
			st := m.streams.Get(s)
			st.waits = append(st.waits, t)
		}),
		ses.WaitEnded.Connect(name, prio, m.waitEnded),
	)
	if counter("DFSizer") {
		sizer := func(s *prof.Stream, t int64, created, destroyed int64) {
			st := m.streams.Get(s)
			created, destroyed = st.node.created.Add(created), st.node.destroyed.Add(destroyed)
			m.counter(st, ",\n"+`{"name":"DFSizer","cat":"DF","ph":"C","ts":`, t)
			st.buf = strconv.AppendInt(append(st.buf, `"created":`...), created, 10)
			st.buf = strconv.AppendInt(append(st.buf, `,"destroyed":`...), destroyed, 10)
			m.done(st, t)
		}
		err = errors.Join(err,
			ses.DFCreate.Connect(name, prio, func(s *prof.Stream, t int64, _ trace.DF, size int64, _ trace.CF) {
				sizer(s, t, size, 0)
			}), ses.DFDestroy.Connect(name, prio, func(s *prof.Stream, t int64, _ trace.DF, size int64,
				_ trace.Reason) {
				sizer(s, t, 0, size)
			}))
	}
	if counter("DFHeld") {
		held := func(s *prof.Stream, t int64, bytes int64) {
			st := m.streams.Get(s)
			m.writeHeld(st, st.node.changed(t, bytes), t)
		}
		err = errors.Join(err, ses.DFStored.Connect(name, prio, func(s *prof.Stream, t int64, _ trace.DF,
			size int64) {
			held(s, t, size)
		}), ses.DFDropped.Connect(name, prio, func(s *prof.Stream, t int64, _ trace.DF, size int64) {
			held(s, t, -size)
		}))
	}
	if counter("ReadyQueue") {
		err = errors.Join(err, ses.ReadyQueue.Connect(name, prio, func(s *prof.Stream, t int64, length uint64) {
			st := m.streams.Get(s)
			m.counter(st, ",\n"+`{"name":"ReadyQueue","cat":"CF","ph":"C","ts":`, t)
			st.buf = strconv.AppendUint(append(st.buf, `"length":`...), length, 10)
			m.done(st, t)
		}))
	}
	if counter("SendQueue") {
		err = errors.Join(err, ses.SendQueue.Connect(name, prio,
			func(s *prof.Stream, t int64, peer int, length uint64) {
				st := m.streams.Get(s)
				m.counter(st, ",\n"+`{"name":"SendQueue","cat":"Message","ph":"C","ts":`, t)
				st.buf = strconv.AppendInt(append(st.buf, `"to node `...), int64(peer), 10)
				st.buf = strconv.AppendUint(append(st.buf, `":`...), length, 10)
				m.done(st, t)
			}))
	}
	if flows {
		err = errors.Join(err,
			ses.DFSent.Connect(name, prio, func(s *prof.Stream, t int64, df trace.DF, to int, bytes int64,
				message, _ uint64, _ trace.CF) {
				m.message(s, t, ",\n"+`{"name":"send","cat":"DF","flow_out":true,"bind_id":"0x`, `"to":`, df,
					to, bytes, message)
			}), ses.DFReceived.Connect(name, prio, func(s *prof.Stream, t int64, df trace.DF, from int,
				bytes int64, message, _ uint64, _ trace.CF) {
				m.message(s, t, ",\n"+`{"name":"receive","cat":"DF","flow_in":true,"bind_id":"0x`, `"from":`,
					df, from, bytes, message)
			}))
	}
	return err
}

func (m *Perfetto) foreignEnded(s *prof.Stream, t int64, site trace.Site) {
	st := m.streams.Get(s)
	if !st.calling {
		return // its start was before this module's, or is switched off
	}
	st.calling = false
	x := m.text(st, s.Node(), site)
	m.slice(st, x.foreign, st.called, t)
	if m.args {
		m.appendCF(st, x, st.cf)
	}
	m.done(st, t)
}

func (m *Perfetto) cfCreated(s *prof.Stream, _ int64, cf trace.CF, site trace.Site, _ trace.CF, _ uint64,
	_ float64, indices []int32) {
	c := m.cfs.at(cf)
	c.site.Store(uint64(s.Node())<<32 | uint64(site))
	if m.args && len(indices) > 0 {
		var space [64]byte
		text := space[:0]
		for _, i := range indices {
			text = append(strconv.AppendInt(append(text, '['), int64(i), 10), ']')
		}
		label := string(text)
		c.label.Store(&label)
	}
}

// cfFinished writes executions of structured CFs, if wanted, and of atomic CFs that called no user code.
func (m *Perfetto) cfFinished(s *prof.Stream, t int64, cf trace.CF, _ uint64, _ int64) {
	st := m.streams.Get(s)
	c := m.cfs.find(cf)
	if c == nil {
		return // its start was not seen
	}
	from, site := c.started.Load(), c.site.Load()
	x := m.text(st, int(site>>32), trace.Site(site))
	if x.atomic && (st.calling || st.site != 0 && st.called >= from) || !x.atomic && !m.structured {
		return
	}
	m.slice(st, x.cf, from, t)
	if m.args {
		m.appendCF(st, x, cf)
	}
	m.done(st, t)
}

// appendCF appends the arguments that tell which CF a record is about.
func (m *Perfetto) appendCF(st *perfettoStream, x *perfettoText, cf trace.CF) {
	if cf == 0 {
		return
	}
	st.buf = strconv.AppendInt(append(st.buf, `"cf":"`...), int64(cf.Node()), 10)
	st.buf = append(strconv.AppendUint(append(st.buf, '.'), cf.Counter(), 10), '"')
	if x.label == nil {
		return
	}
	st.buf = append(append(st.buf, `,"label":`...), x.label...)
	if c := m.cfs.find(cf); c != nil {
		if l := c.label.Load(); l != nil {
			st.buf = append(st.buf, *l...)
		}
	}
	st.buf = append(st.buf, '"')
}

func (m *Perfetto) waitEnded(s *prof.Stream, t int64, n trace.Name) {
	st := m.streams.Get(s)
	if len(st.waits) == 0 {
		return
	}
	from := st.waits[len(st.waits)-1]
	st.waits = st.waits[:len(st.waits)-1]
	st.buf = eventjson.AppendString(append(st.buf, ",\n{\"name\":"...), m.describe().Name(s.Node(), n))
	m.slice(st, []byte(`,"cat":"Sync","ph":"X","ts":`), from, t)
	m.done(st, t)
}

// message writes the sending or receipt of a DF: a moment, with an end of an arrow.
func (m *Perfetto) message(s *prof.Stream, t int64, head, peer string, df trace.DF, node int, bytes int64,
	message uint64) {
	st := m.streams.Get(s)
	st.buf = strconv.AppendUint(append(st.buf, head...), message, 16)
	m.slice(st, []byte(`","ph":"X","ts":`), t, t)
	st.buf = strconv.AppendInt(append(st.buf, peer...), int64(node), 10)
	st.buf = strconv.AppendInt(append(st.buf, `,"bytes":`...), bytes, 10)
	if m.args {
		st.buf = eventjson.AppendString(append(st.buf, `,"df":`...), prof.DFText(m.describe(), s.Node(), df))
	}
	m.done(st, t)
}
