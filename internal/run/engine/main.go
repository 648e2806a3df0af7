package engine

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/words"
)

// ArgError says that the words given for main's parameters do not fit.
type ArgError struct {
	Msg      string
	LunaLine string
}

func (e *ArgError) Error() string { return e.Msg }

// CheckArgs reports, as an *ArgError, what is wrong with the words given for main's parameters.
func CheckArgs(p *luna.Program, args []string) error {
	_, err := parseArgs(p, args, nil)
	return err
}

// CheckNoMoreArgs reports words that main has no parameters for. LuNA's own start lets them be.
func CheckNoMoreArgs(p *luna.Program, args []string) error {
	if most := len(p.Main.Params); len(args) > most {
		return fmt.Errorf("main(%s) takes %s, %d given: %q is too many", paramList(p.Main),
			words.Plural(most, "argument", "arguments"), len(args), args[most])
	}
	return nil
}

// mainFrame makes the frame of main from the program's arguments; nil where node 0 is elsewhere.
func (e *engine) mainFrame() (*frame, error) {
	if e.nodes[0] == nil {
		return nil, CheckArgs(e.prog, e.cfg.Args)
	}
	vals, err := parseArgs(e.prog, e.cfg.Args, e.cfg.Warn)
	if err != nil {
		return nil, err
	}
	f := &frame{block: e.prog.Main.Body, vals: vals}
	e.nodes[0].workers[0].name(f)
	return f, nil
}

// parseArgs gives main's parameters their values.
func parseArgs(p *luna.Program, args []string, warn func(string)) ([]value, error) {
	sub := p.Main
	vals := make([]value, len(sub.Params)+len(sub.NFParams))
	for i, d := range sub.Params {
		if i >= len(args) {
			return nil, &ArgError{fmt.Sprintf("main(%s) needs %s, %d given: give them after the"+
				" program's name", paramList(sub), words.Plural(len(sub.Params), "argument",
				"arguments"), len(args)),
				fmt.Sprintf("Argv index out of range: %d>=%d", i, len(args))}
		}
		word := args[i]
		v := &vals[i]
		v.set = true
		switch d.Kind {
		case luna.IntParam:
			n, ok := leadingInt(word)
			if !ok {
				return nil, &ArgError{fmt.Sprintf("argument %d of main, int %s: %q is not a number that fits"+
					" 32 bits", i+1, d.Name, word),
					"terminate called after throwing an instance of 'std::invalid_argument'"}
			}
			v.typ, v.i = luna.Int, n
		case luna.RealParam:
			f, fault := leadingReal(word)
			if fault != "" && warn != nil {
				warn(fmt.Sprintf("argument %d of main, real %s: %q is %s, taken as %g", i+1, d.Name, word, fault, f))
			}
			v.typ, v.f = luna.Real, f
		default:
			v.typ, v.s = luna.String, word
		}
	}
	return vals, nil
}

func paramList(s *luna.Sub) string {
	var l []string
	for _, p := range s.Params {
		l = append(l, p.Kind.String()+" "+p.Name)
	}
	return strings.Join(l, ", ")
}

var (
	intPrefix  = regexp.MustCompile(`^\s*[-+]?[0-9]+`)
	realPrefix = regexp.MustCompile(`^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]*)?`)
)

// leadingInt reads the digits a word begins with, as C++'s stoi does.
func leadingInt(s string) (int32, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(intPrefix.FindString(s)), 10, 32)
	return int32(n), err == nil
}

// leadingReal reads the number a word begins with, as C++'s streams do. fault says what is wrong with it.
func leadingReal(s string) (f float64, fault string) {
	f, err := strconv.ParseFloat(strings.TrimSpace(realPrefix.FindString(s)), 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return math.Copysign(math.MaxFloat64, f), "too large for a real"
	case err != nil:
		return 0, "not a number"
	}
	return f, ""
}
