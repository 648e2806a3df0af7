package engine

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/luna"
)

// ArgError says that the words given for main's parameters do not fit.
type ArgError struct {
	Msg      string
	LunaLine string
}

func (e *ArgError) Error() string { return e.Msg }

// mainFrame makes the frame of main from the program's arguments.
func (e *engine) mainFrame() (*frame, error) {
	sub := e.prog.Main
	f := &frame{block: sub.Body, vals: make([]value, len(sub.Params)+len(sub.NFParams))}
	for i, p := range sub.Params {
		if p.Kind == luna.NameParam || p.Kind == luna.ValueParam {
			return nil, &ArgError{fmt.Sprintf("%s: main's parameter %s must be int, real or string to be given on the command line", posText(sub.Pos), p.Name), "Conversion to type not supported"}
		}
		if i >= len(e.cfg.Args) {
			return nil, &ArgError{fmt.Sprintf("main(%s) needs %d arguments, %d given: give them after the program's name", paramList(sub), len(sub.Params), len(e.cfg.Args)),
				fmt.Sprintf("Argv index out of range: %d>=%d", i, len(e.cfg.Args))}
		}
		word := e.cfg.Args[i]
		v := &f.vals[i]
		v.set = true
		switch p.Kind {
		case luna.IntParam:
			n, ok := leadingInt(word)
			if !ok {
				return nil, &ArgError{fmt.Sprintf("argument %d of main, int %s: %q is no number that fits 32 bits", i+1, p.Name, word), "terminate called after throwing an instance of 'std::invalid_argument'"}
			}
			v.typ, v.i = luna.Int, n
		case luna.RealParam:
			v.typ, v.f = luna.Real, e.leadingReal(word, p.Name)
		default:
			v.typ, v.s = luna.String, word
		}
	}
	w := e.nodes[0].workers[0]
	w.name(f)
	return f, nil
}

func paramList(s *luna.Sub) string {
	names := [...]string{luna.IntParam: "int ", luna.RealParam: "real ", luna.StringParam: "string ", luna.NameParam: "name ", luna.ValueParam: "value "}
	var l []string
	for _, p := range s.Params {
		l = append(l, names[p.Kind]+p.Name)
	}
	return strings.Join(l, ", ")
}

var (
	intPrefix  = regexp.MustCompile(`^\s*[-+]?[0-9]+`)
	realPrefix = regexp.MustCompile(`^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?`)
)

// leadingInt reads the digits a word begins with, as C++'s stoi does.
func leadingInt(s string) (int32, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(intPrefix.FindString(s)), 10, 32)
	return int32(n), err == nil
}

func (e *engine) leadingReal(s, name string) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(realPrefix.FindString(s)), 64)
	if err != nil && e.cfg.Warn != nil {
		e.cfg.Warn(fmt.Sprintf("argument real %s: %q is no number, taken as 0", name, s))
	}
	return f
}
