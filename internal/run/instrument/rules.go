package instrument

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/run/config"
)

// Rule says what is inserted where.
type Rule struct {
	Event     string // "Namespace::onName"
	At        config.Rule
	Args      []string // C++ expressions, passed to the event in this order
	Functions []string // patterns with * and ?, see compiled.allows; none: all functions
	Pos       string   // where it was configured, "file:line:col"
}

// ReadRules reads the rules of an events_config.json, with groups switched as "NAME=on" or "NAME=off". The
// warnings are about the file; the error is one line with the place.
func ReadRules(path string, groups ...string) (rules []Rule, warnings []config.Warning, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the configuration of events: %w", err)
	}
	events, warnings, err := config.ReadEvents(path, text)
	if err != nil {
		return nil, nil, err
	}
	plan, err := config.Resolve(config.Input{Events: events, Flags: config.Flags{Groups: groups}})
	if err != nil {
		return nil, nil, err
	}
	return Rules(plan), append(warnings, plan.Warnings...), nil
}

// Rules are those of the events that are on.
func Rules(plan *config.Plan) []Rule {
	var list []Rule
	for _, e := range plan.Events {
		if e.On && e.Rule != nil {
			list = append(list, Rule{e.Namespace + "::" + e.Name, *e.Rule, e.Args, e.Functions, e.Pos.String()})
		}
	}
	return list
}

// Warning is something that was not done as the rules ask.
type Warning struct {
	Pos  string // "file:line:col"
	Text string
	// Skipped: the whole file was left as it is.
	Skipped bool
}

// String is "file:line:col: text".
func (w Warning) String() string {
	if w.Pos == "" {
		return w.Text
	}
	return w.Pos + ": " + w.Text
}

// maxArgs is how many arguments EMIT_EVENT of whyslow.hpp takes.
const maxArgs = 16

// compiled is a rule made ready.
type compiled struct {
	Rule
	call   string   // EMIT_EVENT(...);
	result []string // of "return X": the tokens of X
	any    bool     // of "return *"
}

// compile checks rules; those that can insert nothing are left out with a warning.
func compile(rules []Rule) (list []*compiled, warnings []Warning) {
	for _, r := range rules {
		c, problem := r.compile()
		if problem != "" {
			warnings = append(warnings, Warning{Pos: r.Pos, Text: fmt.Sprintf("%s, %q: %s", r.Event, r.At, problem)})
			continue
		}
		list = append(list, c)
	}
	return list, warnings
}

func (r Rule) compile() (c *compiled, problem string) {
	c = &compiled{Rule: r}
	args := strings.Split(r.Event, "::")
	if len(args) != 2 || !isName(args[0]) || !isName(args[1]) {
		return nil, "the event needs a name like Namespace::onName"
	}
	for _, a := range r.Args {
		if _, problem := expression(a); problem != "" {
			return nil, fmt.Sprintf("the argument %q %s", a, problem)
		}
		args = append(args, strings.TrimSpace(a))
	}
	if len(r.Args) > maxArgs {
		return nil, fmt.Sprintf("an event has at most %d arguments", maxArgs)
	}
	c.call = "EMIT_EVENT(" + strings.Join(args, ", ") + ");"
	if x, ok := r.At.Return(); ok {
		if !r.At.Before {
			return nil, "nothing is executed after a return; write before"
		}
		toks, problem := expression(x)
		if problem != "" {
			return nil, fmt.Sprintf("%q %s", x, problem)
		}
		c.result = spellings(toks)
		c.any = x == "*"
	}
	return c, ""
}

func isName(s string) bool {
	toks := lex([]byte(s), 0, len(s))
	return len(toks) == 1 && toks[0].kind == word && toks[0].end == len(s) && toks[0].start == 0
}

// expression checks that a text of the configuration can stand in one line of C++ without changing what is
// around it.
func expression(s string) (toks []token, problem string) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, "has several lines"
	}
	p := newParser(lex([]byte(s), 0, len(s)))
	if len(p.toks) == 0 {
		return nil, "is empty"
	}
	end := 0
	for _, t := range p.toks {
		if t.kind == directive || t.kind == bad || strings.Contains(s[end:t.start], "/") || t.kind == mark {
			return nil, "is not a C++ expression" // with a comment, among others, which might swallow what follows
		}
		end = t.end
	}
	if strings.ContainsAny(s[end:], `/\`) || p.pair() != nil {
		return nil, "is not a C++ expression"
	}
	if p.find(0, len(p.toks), ";") < len(p.toks) {
		return nil, "is not a C++ expression"
	}
	return p.toks, ""
}

// spellings are what two expressions are compared by; parentheses around the whole do not count.
func spellings(toks []token) []string {
	p := newParser(toks)
	if p.pair() == nil {
		for len(p.toks) > 2 && p.is(0, "(") && p.match[0] == len(p.toks)-1 {
			p.toks = p.toks[1 : len(p.toks)-1]
			_ = p.pair()
		}
	}
	return texts(p.toks)
}

// returns tells whether the rule is meant for a return of this expression. A name also stands for the same
// name behind qualifiers: EXIT for BlockRetStatus::EXIT.
func (c *compiled) returns(expr []token) bool {
	if c.any {
		return true
	}
	have := spellings(expr)
	if slices.Equal(have, c.result) {
		return true
	}
	extra := len(have) - len(c.result)
	if extra < 1 || !slices.Equal(have[extra:], c.result) || !isPath(have) {
		return false
	}
	return isPath(c.result) && c.result[0] != "::"
}

// isPath tells whether the tokens are a qualified name, ::a::b.
func isPath(s []string) bool {
	if s[0] == "::" {
		s = s[1:]
	}
	for i, t := range s {
		if (i%2 == 0) != (t != "::") || i%2 == 0 && !isName(t) {
			return false
		}
	}
	return len(s)%2 == 1
}

// allows tells whether a pattern fits a function: its name, or its name with one or more of what it is in.
func (c *compiled) allows(path []string) bool {
	if len(c.Functions) == 0 {
		return true
	}
	for i := range path {
		name := strings.Join(path[i:], "::")
		if slices.ContainsFunc(c.Functions, func(pattern string) bool { return config.Match(pattern, name) }) {
			return true
		}
	}
	return false
}

// names are functions by the last part of their names.
type names map[string][][]string

// add enters functions; one that is there already is not added again.
func (n names) add(paths [][]string) {
	for _, p := range paths {
		last := p[len(p)-1]
		if !slices.ContainsFunc(n[last], func(q []string) bool { return slices.Equal(p, q) }) {
			n[last] = append(n[last], p)
		}
	}
}

// has tells whether a call by this name may be of one of the functions.
func (n names) has(path []string) bool {
	return slices.ContainsFunc(n[path[len(path)-1]], func(f []string) bool {
		return len(path) <= len(f) && slices.Equal(f[len(f)-len(path):], path)
	})
}
