package model

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/record/pgas/symbols"
	"github.com/whyslow/whyslow/trace"
)

// What is derived for traces of OpenMP programs, so that it need not be recorded for every task: which
// construct a CF comes from, which variable a DF is, and when a task was ready.

// OpenMP tells whether the trace is that of an OpenMP program, recorded through OMPT, or of a program that
// makes threads itself, recorded by the same library.
func (m *Model) OpenMP() bool { return ThreadsProgram(m.Info.Settings["program"]) }

// ThreadsProgram tells whether a run's setting "program" is that of such a program.
func ThreadsProgram(setting string) bool {
	return setting == "threads" || strings.Contains(setting, "OpenMP")
}

// nameConstructs gives every construct of the program a code fragment of its own, named after its place:
// "task fib.c:12". The trace has one for each kind of construct, and statements with addresses.
func (b *builder) nameConstructs(resolved []bool) {
	m := b.m
	for i := range m.Sites {
		s := &m.Sites[i]
		kind := m.Codes[s.Code].Kind
		if !resolved[i] || kind >= trace.Function {
			continue
		}
		c := Code{Name: m.Codes[s.Code].Name, Kind: kind, File: s.File, Line: s.Line}
		switch {
		case s.Line > 0:
			c.Name += " " + filepath.Base(s.File) + ":" + strconv.Itoa(s.Line)
		case strings.HasPrefix(filepath.Base(s.File), "libomp."): // LLVM's own address: no place of the program
		case s.Function != "": // no debug information: two constructs of a function have two addresses
			c.Name += " " + s.Function + " " + s.File
		default:
			c.Name += " " + s.File
		}
		s.Code = b.tables.code(c)
	}
}

// nameVariables gives DFs that are known by the address of a variable its name.
func nameVariables(m *Model, f func(address string, set func(symbols.Place))) {
	for i := range m.Names {
		if _, _, ok := symbols.Split(m.Names[i]); ok {
			address := m.Names[i]
			f(address, func(p symbols.Place) {
				if m.Names[i] = p.Variable; p.Variable == "" {
					m.Names[i] = filepath.Base(address)
				}
			})
		}
	}
}

// findReady works out when tasks were ready, which is not recorded: when they had been created and the last
// task that they depend on had ended. Two kinds of CFs are recorded as created when they start. The implicit
// tasks of a parallel region were created with it, and the serial code after one when the region had ended.
func (b *builder) findReady() {
	m := b.m
	if !m.OpenMP() || m.Count[trace.KindCFReady] > 0 {
		return
	}
	for e, cf := range m.ExecCF {
		if m.ExecNumber[e] != 1 || m.Created[cf] == None {
			continue
		}
		made := None
		for _, df := range m.Inputs(e) {
			if i, ok := m.Creation(df, m.ExecStart[e]); ok {
				made = max(made, m.MadeTime[i])
			}
		}
		switch parent := m.Parent[cf]; {
		case parent != 0 && !m.Atomic(parent) && m.Created[parent] != None:
			m.Created[cf] = min(m.Created[cf], m.Created[parent])
		case parent == 0 && made != None:
			m.Created[cf] = min(m.Created[cf], made)
		}
		m.Ready[cf] = min(max(m.Created[cf], made), m.ExecStart[e])
		m.ReadyNode[cf] = uint16(m.CFID(cf).Node())
	}
}
