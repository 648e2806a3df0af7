package cpp

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// The generated file, in this order:
//
//	what wrappers need (include/whyslow_wrap.h), before anything of the user's can disturb it
//	one wrapper per routine, calling the user's function by its C name through an asm label: its C++ name here
//	    is our own, so that it may be called like anything in a header (rand)
//	the table whyslow_library
//	the head blocks
//	one extern "C" function per C++ sub
//	the names of the source files, in a section of their own, for messages about missing symbols
//
// Everything of the user's stands under #line with the file as given to us, padded so that columns come out
// right as well.

//go:embed include/ucenv.h
var ucenvH string

//go:embed include/whyslow_abi.h
var abiH string

//go:embed include/whyslow_wrap.h
var wrapH string

// runtimeCC is a unit of its own, so that it is not compiled again with every change to the program.
//
//go:embed include/whyslow_runtime.cc
var runtimeCC string

// waitsCC is likewise; it is left out with Spec.NoWaits.
//
//go:embed include/whyslow_waits.cc
var waitsCC string

// generatedName is the file name of what is not the user's, as the compiler sees it.
const generatedName = "<whyslow>"

// sourcesSection holds the names of the files the library was made from, separated by newlines.
const sourcesSection = "whyslow_sources"

// signature identifies a routine: a library fits a program if they are equal for all routines.
func signature(r *luna.Routine) string {
	var s strings.Builder
	s.WriteString(Symbol(r))
	for _, p := range r.Params {
		s.WriteByte(",irsnv"[1+p.Kind])
	}
	return s.String()
}

// Symbol is the name under which the linker knows the user's function.
func Symbol(r *luna.Routine) string {
	if r.Body != nil {
		return subPrefix + strconv.Itoa(r.ID) + "_" + r.Name
	}
	return r.CName
}

// subPrefix begins the symbols of C++ subs: a sub may be called rand.
const subPrefix = "ws_sub_"

var paramTypes = [...]string{
	luna.IntParam:    "int ",
	luna.RealParam:   "double ",
	luna.StringParam: "const char *",
	luna.NameParam:   "OutputDF &",
	luna.ValueParam:  "const InputDF &",
}

// generate returns the text of the generated file.
func generate(p *luna.Program, sources []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#line 1 \"%s\"\n#include <whyslow_wrap.h>\n", generatedName)
	for _, r := range p.Routines {
		wrapper(&b, r)
	}
	b.WriteString("static const ws_entry ws_entries[] = {\n")
	for _, r := range p.Routines {
		fmt.Fprintf(&b, "\t{%s, ws_call_%d},\n", quote(signature(r)), r.ID)
	}
	b.WriteString("\t{nullptr, nullptr}};\n")
	b.WriteString("extern \"C\" __attribute__((visibility(\"default\"))) const ws_library " +
		"whyslow_library = {WHYSLOW_ABI_VERSION, " + strconv.Itoa(len(p.Routines)) +
		", ws_entries, luna::ucenv::detail::connect, luna::ucenv::detail::flush, luna::ucenv::detail::finish};\n")
	fmt.Fprintf(&b, "__attribute__((section(%q), used)) static const char ws_sources[] = %s;\n",
		sourcesSection, quote(strings.Join(sources, "\n")))
	for i := range p.Heads {
		block(&b, &p.Heads[i])
	}
	for _, r := range p.Routines {
		if r.Body == nil {
			continue
		}
		fmt.Fprintf(&b, "#line %d %s\nextern \"C\" void %s(%s)\n", r.Pos.Line, quote(r.Pos.File), Symbol(r),
			params(r, true))
		block(&b, r.Body)
	}
	return b.String()
}

func params(r *luna.Routine, names bool) string {
	var s []string
	for _, p := range r.Params {
		if !names {
			p.Name = ""
		}
		s = append(s, paramTypes[p.Kind]+p.Name)
	}
	return strings.Join(s, ", ")
}

// wrapper writes the function that Call calls.
func wrapper(b *strings.Builder, r *luna.Routine) {
	user := Symbol(r)
	if r.Body != nil {
		fmt.Fprintf(b, "extern \"C\" void %s(%s);\n", user, params(r, false))
	} else {
		user = "ws_user_" + strconv.Itoa(r.ID)
		fmt.Fprintf(b, "extern \"C\" void %s(%s) __asm__(%s);\n", user, params(r, false), quote(r.CName))
	}
	fmt.Fprintf(b, "static void ws_call_%d(ws_value *a)\n{\n\t(void)a;\n\tusing namespace "+
		"luna::ucenv::detail;\n\ttry {\n", r.ID)
	var args, after []string
	for i, p := range r.Params {
		switch p.Kind {
		case luna.IntParam:
			args = append(args, fmt.Sprintf("as_int(a[%d])", i))
		case luna.RealParam:
			args = append(args, fmt.Sprintf("as_real(a[%d])", i))
		case luna.StringParam:
			fmt.Fprintf(b, "\t\tText p%d(a[%d]);\n", i, i)
			args = append(args, fmt.Sprintf("p%d.p", i))
		case luna.ValueParam:
			fmt.Fprintf(b, "\t\tInput p%d(a[%d]);\n", i, i)
			args = append(args, fmt.Sprintf("p%d.df", i))
		case luna.NameParam:
			fmt.Fprintf(b, "\t\tOutput p%d;\n\t\ta[%d].type = 0;\n", i, i)
			args = append(args, fmt.Sprintf("p%d.df", i))
			after = append(after, fmt.Sprintf("\t\tp%d.give(a[%d]);\n", i, i))
		}
	}
	fmt.Fprintf(b, "\t\t%s(%s);\n%s\t} catch (...) {\n\t\tcaught();\n\t}\n}\n", user,
		strings.Join(args, ", "), strings.Join(after, ""))
}

// quote makes a C string literal.
func quote(s string) string {
	b := []byte{'"'}
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == '?': // ?? would begin a trigraph
			b = fmt.Appendf(b, "\\%03o", c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

// block writes a block of the user's so that line and column of everything in it are those in its file. Pos
// is the position of the text, except where the preprocessor has put a brace before it: then it is the one
// after the brace.
func block(b *strings.Builder, f *luna.Foreign) {
	col := max(f.Pos.Col, 1)
	if strings.HasSuffix(f.Before, "${{") {
		col--
	}
	fmt.Fprintf(b, "#line %d %s\n", max(f.Pos.Line, 1), quote(f.Pos.File))
	b.WriteString(luna.Pad(f.Before, col))
	b.WriteString(f.Text)
	fmt.Fprintf(b, "\n#line 1 \"%s\"\n", generatedName)
}
