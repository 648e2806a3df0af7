package model

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/record/pgas/symbols"
	"github.com/whyslow/whyslow/trace"
)

// lockDef says what a lock is. Events know its number only; the label of a site that no event refers to tells
// the rest, of which all but the number may be left out:
//
//	lock 0x4060 byte 8 call 2 thread 1
//
// Where the site's code fragment is a lock operation, its text is the lock's name or the address of its
// variable, file and line are where that is declared. Where it allocates memory, the site is the call that
// allocated the lock: the lock is at that byte of that memory, of that call, counted from 1, by that thread
// or by all together.
type lockDef struct {
	number, at, call, thread uint64
	alone                    bool // it is one thread's call
}

// parseLock reads a label; ok is false where it is another one.
func parseLock(label string) (d lockDef, ok bool) {
	rest, ok := strings.CutPrefix(label, "lock ")
	if !ok {
		return d, false
	}
	words := strings.Fields(rest)
	if len(words)%2 == 0 {
		return d, false
	}
	number, err := strconv.ParseUint(words[0], 0, 64)
	if err != nil {
		return d, false
	}
	d.number = number
	for i := 1; i < len(words); i += 2 {
		v, err := strconv.ParseUint(words[i+1], 10, 64)
		if err != nil {
			return d, false
		}
		switch words[i] {
		case "byte":
			d.at = v
		case "call":
			d.call = v
		case "thread":
			d.thread, d.alone = v, true
		}
	}
	return d, true
}

// isVariable tells a site that says which variable a lock is.
func (m *Model) isVariable(s *Site) bool {
	_, ok := parseLock(s.Label)
	return ok && m.Codes[s.Code].Kind == trace.Lock
}

// origin is where memory with locks comes from.
type origin struct {
	name, file string
	line       int
}

// nameLocks finds out what the locks that were used are called.
func (m *Model) nameLocks() {
	locks := m.Regions.Locks
	defs := map[uint64]lockDef{}
	sites := map[uint64]*Site{}
	for i := range m.Sites {
		s := &m.Sites[i]
		d, ok := parseLock(s.Label)
		kind := m.Codes[s.Code].Kind
		if _, known := sites[d.number]; !ok || known || kind != trace.Lock && kind != trace.Memory {
			continue
		}
		defs[d.number], sites[d.number] = d, s
	}
	if len(sites) == 0 {
		return
	}
	of := func(s *Site) origin { return origin{m.Codes[s.Code].Name, s.File, s.Line} }
	// Calls are counted only where there were several, of the locks that were used.
	first, several, alone := map[origin]lockDef{}, map[origin]bool{}, map[origin]bool{}
	for i := range locks {
		s := sites[locks[i].ID]
		if s == nil || m.Codes[s.Code].Kind != trace.Memory {
			continue
		}
		d := defs[locks[i].ID]
		f, known := first[of(s)]
		if !known {
			first[of(s)] = d
			continue
		}
		several[of(s)] = several[of(s)] || d.call != f.call
		alone[of(s)] = alone[of(s)] || d.alone && d.thread != f.thread
	}
	for i := range locks {
		l := &locks[i]
		s := sites[l.ID]
		if s == nil {
			continue
		}
		l.File, l.Line = s.File, s.Line
		if m.Codes[s.Code].Kind == trace.Lock {
			if l.Name = s.Function; l.Name == "" {
				l.Name = cmp.Or(s.Text, m.Codes[s.Code].Name)
			}
			continue
		}
		d := defs[l.ID]
		l.Name = m.Codes[s.Code].Name
		if several[of(s)] {
			l.Name += fmt.Sprintf(", call %d", d.call)
		}
		if alone[of(s)] {
			l.Name += fmt.Sprintf(" of thread %d", d.thread)
		}
		if d.at > 0 {
			l.Name = fmt.Sprintf("byte %d of %s", d.at, l.Name)
		}
	}
}

// ofVariable is what is known of a variable, for the site that tells of it.
func ofVariable(s *Site, address string, p symbols.Place) {
	s.Function, s.File, s.Line = p.Variable, p.File, p.Line
	if p.Variable == "" {
		s.Function, s.File, s.Line = filepath.Base(address), "", 0
	}
}
