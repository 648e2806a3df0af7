// Command gen writes OpenSHMEM's wrappers, sdk/pgas/shmem_*.h, from table.go: go generate ./sdk/pgas/...
package main

import (
	"fmt"
	"os"
	"strings"
)

//go:generate sh -c "cd .. && go run ./gen"

func main() {
	for name, text := range files() {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}

// files returns the generated files by name.
func files() map[string]string {
	out := map[string]string{}
	for _, g := range groups() {
		var b strings.Builder
		b.WriteString("/* " + g.about + "\n" + notice)
		for _, f := range g.functions {
			b.WriteString(f.wrapper())
		}
		out["shmem_"+g.name+".h"] = b.String()
	}
	out["shmem_names.h"] = names()
	return out
}

const notice = " *\n * Made by sdk/pgas/gen from its table; the macros are in shmem_wrap.h.\n * To make it " +
	"anew: go generate ./sdk/pgas/... */\n\n"

// kinds of the regions that a macro's functions are, WS_REGION_...
var kinds = map[string]string{
	"WSS_PUT": "BULK", "WSS_PUT_NBI": "BULK", "WSS_P": "ACCESS", "WSS_GET": "BULK", "WSS_GET_NBI": "BULK",
	"WSS_G":      "ACCESS",
	"WSS_ATOMIC": "REMOTE_ATOMIC", "WSS_FETCH": "REMOTE_ATOMIC",
	"WSS_ALL": "BARRIER", "WSS_SET": "BARRIER", "WSS_COLLECTIVE": "COLLECTIVE", "WSS_ALLOC": "MEMORY",
	"WSS_FREE":  "MEMORY",
	"WSS_AWAIT": "AWAIT", "WSS_TEST": "AWAIT", "WSS_SET_LOCK": "LOCK", "WSS_CLEAR_LOCK": "LOCK",
	"WSS_TEST_LOCK": "LOCK",
	"WSS_QUIET":     "COMPLETION", "WSS_FENCE": "COMPLETION", "WSS_CTX_CREATE": "RUNTIME",
	"WSS_CTX_DESTROY": "RUNTIME",
}

// names returns the list of all wrapped functions with their kinds.
func names() string {
	var b strings.Builder
	b.WriteString("/* All functions that are wrapped.\n" + notice)
	line := 0
	add := func(name, kind string) {
		text := "WSS_NAME(" + name + ", " + kind + ")"
		if line += len(text) + 1; line > lineWidth {
			b.WriteString("\n")
			line = len(text)
		} else if line > len(text)+1 {
			b.WriteString(" ")
		}
		b.WriteString(text)
	}
	for _, name := range byHand {
		add(name, "RUNTIME")
	}
	for _, g := range groups() {
		for _, f := range g.functions {
			add(f.name, kinds[f.macro])
		}
	}
	return b.String() + "\n"
}

// param is a parameter as C writes it: the type with all of its stars and blanks, and the name.
type param struct{ typ, name string }

// function is a function to be wrapped: macro is the macro of shmem_wrap.h that makes the wrapper, result its
// result's type ("" for void), and extra what the macro needs to know beyond parameters and arguments.
type function struct {
	macro, result, name string
	params              []param
	extra               []string
}

func (f function) wrapper() string {
	params, args := make([]string, len(f.params)), make([]string, len(f.params))
	for i, p := range f.params {
		params[i], args[i] = p.typ+p.name, p.name
	}
	if len(params) == 0 {
		params = []string{"void"}
	}
	all := make([]string, 0, 4+len(f.extra))
	if f.result != "" {
		all = append(all, f.result)
	}
	all = append(all, f.name, "("+strings.Join(params, ", ")+")", "("+strings.Join(args, ", ")+")")
	return folded(f.macro + "(" + strings.Join(append(all, f.extra...), ", ") + ")")
}

// lineWidth is the most columns of a line.
const lineWidth = 110

// folded breaks a line behind commas, better those between the lists of a macro than those within.
func folded(line string) string {
	if len(line) > lineWidth {
		at := strings.LastIndex(line[:lineWidth], "), ") + 2
		if at < lineWidth/3 {
			at = strings.LastIndex(line[:lineWidth], ", ") + 1
		}
		return line[:at] + "\n" + folded("   "+line[at:])
	}
	return line + "\n"
}
