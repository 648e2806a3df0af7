package debug

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// kind is what a breakpoint is about.
type kind int

const (
	cfStarts kind = iota
	dfMade
	dfRequested
	dfSent
	dfReceived
	dfDropped
	duplicate // a DF that is assigned twice; always stops
	cfWaits   // of nobody's breakpoint; see Until
)

// kinds are those that a breakpoint begins with.
var kinds = map[string]kind{"made": dfMade, "requested": dfRequested, "sent": dfSent, "received": dfReceived,
	"dropped": dfDropped}

// Point is a breakpoint. Its text is
//
//	[EVENT] NAME[INDEX]... [node N] [hit N] [log TEXT] [if CONDITION]
//
// where EVENT is made, requested, sent, received or dropped, for a DF. Without EVENT, NAME is a code
// fragment, a label, or FILE:LINE, for CFs that are about to execute. An INDEX is a number or *. The
// CONDITION is an expression over what a CF gets: u[4] > 0.5 && i == 3; doubles(u[4])[0] is an element of raw
// data.
type Point struct {
	ID   int
	Text string

	kind      kind
	name      string
	indices   []string // "*" or a number; none: any
	line      int
	file      string
	node      int // -1: any
	hit       int
	hits      atomic.Int64
	elsewhere atomic.Int64 // hits in other processes
	log       string
	condition *vm.Program
	once      bool
	fleeting  bool     // not saved
	first     trace.CF // that First has found, and that has started
}

// Hits is how often it was reached.
func (p *Point) Hits() int64 { return p.hits.Load() + p.elsewhere.Load() }

// parse reads a breakpoint of a program.
func parse(prog *luna.Program, text string) (*Point, error) {
	p := &Point{Text: strings.TrimSpace(text), node: -1}
	rest, condition, _ := strings.Cut(p.Text, " if ")
	words := strings.Fields(rest)
	if len(words) == 0 {
		return nil, errors.New("a breakpoint needs a name, such as step, step[3][*], made u[4] or prog.fa:12")
	}
	if k, ok := kinds[words[0]]; ok && len(words) > 1 {
		p.kind, words = k, words[1:]
	}
	name := words[0]
	for words = words[1:]; len(words) > 0; {
		if len(words) == 1 {
			return nil, fmt.Errorf("%s: after the name come node N, hit N, log TEXT or if CONDITION, not %s", text,
				words[0])
		}
		n, err := strconv.Atoi(words[1])
		switch words[0] {
		case "node":
			p.node = n
		case "hit":
			p.hit = n
		case "log":
			p.log, err = strings.Join(words[1:], " "), nil
			words = words[:2]
		default:
			return nil, fmt.Errorf("%s: after the name come node N, hit N, log TEXT or if CONDITION, not %s", text,
				words[0])
		}
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s: %s %s: a number from 0 is needed", text, words[0], words[1])
		}
		words = words[2:]
	}
	if err := p.setName(prog, name); err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	if condition = strings.TrimSpace(condition); condition == "" {
		return p, nil
	}
	if p.kind >= dfSent {
		return nil, fmt.Errorf("%s: only breakpoints of CFs, made and requested have conditions", text)
	}
	var err error
	p.condition, err = expr.Compile(condition, expr.AllowUndefinedVariables(), expr.AsBool())
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("%s: the condition %s: %s", text, condition, first)
	}
	return p, nil
}

// setName takes the name with its indices apart, and checks that the program has it.
func (p *Point) setName(prog *luna.Program, name string) error {
	if file, line, ok := strings.Cut(name, ":"); ok && p.kind == cfStarts {
		n, err := strconv.Atoi(line)
		if err != nil || !slices.ContainsFunc(prog.Stmts, func(s *luna.Stmt) bool { return atLine(s, file, n) }) {
			return errors.New("no statement of the program begins there")
		}
		p.file, p.line = file, n
		return nil
	}
	name, indices, indexed := strings.Cut(name, "[")
	p.name = name
	if indexed {
		if !strings.HasSuffix(indices, "]") {
			return errors.New("indices are numbers or * in brackets")
		}
		p.indices = strings.Split(strings.TrimSuffix(indices, "]"), "][")
		for _, x := range p.indices {
			if _, err := strconv.Atoi(x); err != nil && x != "*" {
				return errors.New("indices are numbers or * in brackets")
			}
		}
	}
	var known []string
	for _, d := range prog.Decls {
		if p.kind != cfStarts && !d.Label {
			known = append(known, d.Name)
		}
	}
	for _, s := range prog.Stmts {
		if p.kind == cfStarts {
			if s.LabelName != "" {
				known = append(known, s.LabelName)
			}
			if len(p.indices) == 0 {
				known = append(known, prog.Codes[s.Code].Name)
			}
		}
	}
	if slices.Contains(known, name) {
		return nil
	}
	slices.Sort(known)
	what := "DF"
	if p.kind == cfStarts {
		if what = "code fragment or label"; len(p.indices) > 0 {
			what = "label"
		}
	}
	return fmt.Errorf("the program has no %s %s; it has %s", what, name,
		strings.Join(slices.Compact(known), ", "))
}

func atLine(s *luna.Stmt, file string, line int) bool {
	return s.Pos.Line == line && (file == "" || filepath.Base(s.Pos.File) == filepath.Base(file))
}

// matchesCF reports whether the breakpoint is about the CF.
func (p *Point) matchesCF(x *engine.Execution) bool {
	switch {
	case p.line > 0:
		return atLine(x.Stmt, p.file, p.line)
	case x.Stmt.LabelName == p.name:
		return p.matches(x.Name())
	}
	return len(p.indices) == 0 && x.Code() == p.name
}

// matchesStmt reports whether the breakpoint is about CFs of a statement, whatever their indices.
func (p *Point) matchesStmt(prog *luna.Program, st *luna.Stmt) bool {
	if p.line > 0 {
		return atLine(st, p.file, p.line)
	}
	return st.LabelName == p.name || len(p.indices) == 0 && prog.Codes[st.Code].Name == p.name
}

// matching gives the names that the breakpoint is about.
func (p *Point) matching(names []string) (list []string) {
	for _, n := range names {
		if p.matches(n) {
			list = append(list, n)
		}
	}
	return list
}

// matches compares a name with its indices.
func (p *Point) matches(full string) bool {
	name, indices, _ := strings.Cut(full, "[")
	if name != p.name || len(p.indices) == 0 {
		return name == p.name
	}
	list := strings.Split(strings.TrimSuffix(indices, "]"), "][")
	if len(list) != len(p.indices) {
		return false
	}
	for i, x := range p.indices {
		if x != "*" && x != list[i] {
			return false
		}
	}
	return true
}

// holds evaluates the condition.
func (p *Point) holds(x *engine.Execution) (bool, error) {
	if p.condition == nil {
		return true, nil
	}
	v, err := expr.Run(p.condition, values(x))
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return false, fmt.Errorf("the condition cannot be evaluated: %s", first)
	}
	return v.(bool), nil
}

// logText is the text of a logpoint, with {EXPRESSION} replaced by its value.
func (p *Point) logText(x *engine.Execution) string {
	var b strings.Builder
	for rest := p.log; ; {
		before, after, open := strings.Cut(rest, "{")
		b.WriteString(before)
		text, next, closed := strings.Cut(after, "}")
		if !open || !closed {
			return b.String() + after
		}
		b.WriteString(evaluate(x, text))
		rest = next
	}
}

// Evaluate gives the value of an expression over what a CF gets that is kept or waits, or says what is wrong
// with it.
func (d *Debugger) Evaluate(cf trace.CF, text string) (string, error) {
	a, err := d.one(order{Op: opEvaluate, CF: cf, Text: text})
	return a.Text, err
}

// evaluate gives the value of an expression over what a CF gets, or says what is wrong with it.
func evaluate(x *engine.Execution, text string) string {
	program, err := expr.Compile(text, expr.AllowUndefinedVariables())
	if err == nil {
		var v any
		if v, err = expr.Run(program, values(x)); err == nil {
			if raw, ok := v.([]byte); ok {
				return hexText(raw)
			}
			return fmt.Sprint(v)
		}
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// values are what expressions can use: counters and parameters by name, DFs by name and indices.
func values(x *engine.Execution) map[string]any {
	env := map[string]any{"doubles": doubles, "floats": floats, "ints": ints}
	for _, v := range x.Inputs() {
		name, indices, _ := strings.Cut(v.Name, "[")
		if indices == "" {
			env[name] = goValue(v.Value)
			continue
		}
		list := strings.Split(strings.TrimSuffix(indices, "]"), "][")
		at, _ := env[name].(map[int]any)
		if at == nil {
			at = map[int]any{}
			env[name] = at
		}
		for i, text := range list {
			n, _ := strconv.Atoi(text)
			if i == len(list)-1 {
				at[n] = goValue(v.Value)
				break
			}
			inner, _ := at[n].(map[int]any)
			if inner == nil {
				inner = map[int]any{}
				at[n] = inner
			}
			at = inner
		}
	}
	for _, v := range x.Scalars() {
		if _, inner := env[v.Name]; !inner {
			env[v.Name] = goValue(v.Value)
		}
	}
	return env
}

// publish tells those who emit events of DFs which breakpoints are about them.
func (d *Debugger) publish() {
	var list []*Point
	for _, p := range d.points {
		if p.kind >= dfSent {
			list = append(list, p)
		}
	}
	d.dfs.Store(&list)
}

// happened looks whether a stop is about an event of a DF, or a CF that waits. The emitter may hold locks: so
// it only asks for the stop. Who assigns a DF for the second time waits until the program goes on.
func (d *Debugger) happened(ctx context.Context, k kind, node int, a *prof.Any) {
	if k == duplicate {
		var goesOn chan struct{}
		err := d.do(func() []*engine.Execution {
			d.stop(Stop{Reason: Breakpoint, Text: d.dfName(node, a) + " is assigned for the second time"})
			goesOn = d.goesOn
			return nil
		})
		if err == nil && goesOn != nil {
			select {
			case <-goesOn:
			case <-ctx.Done():
			}
		}
		return
	}
	if k == cfWaits {
		if d.untilWait.CompareAndSwap(true, false) {
			d.ask(&Stop{Reason: Reached, CF: trace.CF(a.Words[0]), Node: node, Worker: engine.AnyWorker,
				Text: "waits for " + prof.DFText(d.opt.Session.Describe(), node, trace.DF(a.Words[2]))})
		}
		return
	}
	list := d.dfs.Load()
	if list == nil {
		return
	}
	name := ""
	for _, p := range *list {
		if p.kind != k || p.node >= 0 && p.node != node {
			continue
		}
		if name == "" {
			name = d.dfName(node, a)
		}
		if !p.matches(name) || p.hits.Add(1) < int64(p.hit) {
			continue
		}
		text := fmt.Sprintf("%s was %s at node %d", name, map[kind]string{dfSent: "sent", dfReceived: "received",
			dfDropped: "dropped"}[k], node)
		if p.log != "" {
			d.log(text + ": " + p.log)
			continue
		}
		d.ask(&Stop{Reason: Breakpoint, Text: text, Break: p.ID})
	}
}

// ask has the program stopped as soon as possible.
func (d *Debugger) ask(s *Stop) {
	d.asked.Store(s)
	select {
	case d.wanted <- struct{}{}:
	default:
	}
}

// stopIfAsked stops the program if an event has wanted it.
func (d *Debugger) stopIfAsked() {
	s := d.asked.Swap(nil)
	if s == nil {
		return
	}
	if s.CF != 0 {
		name := s.CF.String()
		d.ctl.Waiting(s.CF, func(x *engine.Execution) {
			name = fmt.Sprintf("%s on node %d (%s)", x.Name(), x.Node, place(x.Stmt))
		})
		s.Text = name + " " + s.Text
	}
	d.stop(*s)
}

// serveWanted stops the program as soon as an event wants it.
func (d *Debugger) serveWanted() {
	for {
		select {
		case <-d.ended:
			return
		case <-d.wanted:
		}
		_ = d.do(func() []*engine.Execution { // the run may be over
			d.stopIfAsked()
			return nil
		})
	}
}

// dfName is the name of the DF that an event is about.
func (d *Debugger) dfName(node int, a *prof.Any) string {
	return prof.DFText(d.opt.Session.Describe(), node, trace.DF(a.Words[0]))
}
