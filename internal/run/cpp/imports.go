package cpp

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// Imports that do not fit.
//
// An imported function has C linkage: neither compiler nor linker sees what it takes, and a call with a real
// where the function takes an int hands over garbage. So the definition is looked up in the text of the C++
// files. This is no C++ parser: it finds `name(...) {` outside of comments and strings and reads the types of
// the parameters by their words. What it does not understand (macros, typedefs, templates) it passes over in
// silence. What works in spite of different types is none of its business: integers of all kinds, pointers
// for strings, a pointer that is not used for an int, fewer parameters than there are.

// cxxType is what a parameter of a C++ function is, as far as it matters to a call.
type cxxType int

const (
	cxxUnknown cxxType = iota
	cxxInt             // any integer
	cxxDouble
	cxxFloat
	cxxDF      // a DF, by reference or not
	cxxText    // a pointer or reference to char
	cxxPointer // to something else
	cxxString  // std::string
)

// fits tells whether a function that takes t can be called with a parameter of a kind.
func (t cxxType) fits(k luna.ParamKind) bool {
	if t == cxxUnknown {
		return true
	}
	switch k {
	case luna.IntParam:
		return t == cxxInt || t == cxxText || t == cxxPointer
	case luna.RealParam:
		return t == cxxDouble
	case luna.StringParam:
		return t == cxxText || t == cxxPointer
	}
	return t == cxxDF
}

// misfits says which imports of a program do not fit the functions that the sources define, a sentence each.
func misfits(p *luna.Program, sources []string) (list []string) {
	imported := slices.DeleteFunc(slices.Clone(p.Routines), func(r *luna.Routine) bool { return r.Body != nil })
	if len(imported) == 0 {
		return nil
	}
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the compiler says so
		}
		bare := blank(string(text))
		for _, r := range imported {
			params, line, ok := definition(bare, r.CName)
			if !ok {
				continue
			}
			if what := misfit(r, params); what != "" {
				list = append(list, fmt.Sprintf("%s:%d: import of %s: %s (%s:%d)", r.Pos.File, r.Pos.Line, r.CName, what,
					path, line))
			}
		}
	}
	return list
}

var kindWords = [...]string{luna.IntParam: "int", luna.RealParam: "real", luna.StringParam: "string",
	luna.NameParam: "name", luna.ValueParam: "value"}

// misfit compares an import with the parameters of its function; "" if it fits.
func misfit(r *luna.Routine, params []string) string {
	if len(params) > len(r.Params) {
		return fmt.Sprintf("the C++ function takes %d parameters, the import has %d", len(params), len(r.Params))
	}
	for i, text := range params {
		if k := r.Params[i].Kind; !typeOf(text).fits(k) {
			return fmt.Sprintf("parameter %d is %s, the C++ function takes `%s`", i+1, kindWords[k], text)
		}
	}
	return ""
}

// blank replaces comments, strings, characters and directives of C++ by spaces; lines stay where they are.
func blank(s string) string {
	b := []byte(s)
	hide := func(from, to int) {
		for i := from; i < to; i++ {
			if b[i] != '\n' {
				b[i] = ' '
			}
		}
	}
	lineStart := true
	for i := 0; i < len(b); {
		end := i + 1
		switch c := b[i]; {
		case c == '/' && i+1 < len(b) && b[i+1] == '*':
			end = len(b)
			if n := strings.Index(s[i+2:], "*/"); n >= 0 {
				end = i + 2 + n + 2
			}
			hide(i, end)
		case c == '#' && lineStart, c == '/' && i+1 < len(b) && b[i+1] == '/':
			for end = i; end < len(b) && (b[end] != '\n' || end > i && b[end-1] == '\\'); end++ {
			}
			hide(i, end)
		case c == '"' || c == '\'' && (i == 0 || !wordByte(b[i-1])): // else it separates digits
			for end = i + 1; end < len(b) && b[end] != c && b[end] != '\n'; end++ {
				if b[end] == '\\' {
					end++
				}
			}
			end = min(end+1, len(b))
			hide(i, end)
			lineStart = false
		case c == '\n':
			lineStart = true
		case c != ' ' && c != '\t' && c != '\r':
			lineStart = false
		}
		i = end
	}
	return string(b)
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// afterParams is what may stand between the parameters of a function and its body.
var afterParams = regexp.MustCompile(`^\s*(noexcept\s*)?\{`)

// definition finds the definition of a function, and gives the texts of its parameters and its line.
func definition(text, name string) (params []string, line int, ok bool) {
	for at := 0; ; {
		n := strings.Index(text[at:], name)
		if n < 0 {
			return nil, 0, false
		}
		from := at + n
		at = from + len(name)
		if from > 0 && (wordByte(text[from-1]) || text[from-1] == ':' || text[from-1] == '.') ||
			at < len(text) && wordByte(text[at]) {
			continue
		}
		rest := strings.TrimLeft(text[at:], " \t\r\n")
		if !strings.HasPrefix(rest, "(") {
			continue
		}
		inside, after, closed := parentheses(rest)
		if !closed || !afterParams.MatchString(after) {
			continue
		}
		return split(inside), 1 + strings.Count(text[:from], "\n"), true
	}
}

// parentheses takes the text in the parentheses that s begins with, and what follows them.
func parentheses(s string) (inside, after string, closed bool) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return s[1:i], s[i+1:], true
			}
		}
	}
	return "", "", false
}

// split divides parameters at the commas that are in no brackets. (void) has none.
func split(s string) (list []string) {
	depth, from := 0, 0
	for i := range len(s) + 1 {
		switch {
		case i == len(s) || s[i] == ',' && depth == 0:
			list = append(list, strings.Join(strings.Fields(s[from:i]), " "))
			from = i + 1
		case strings.IndexByte("(<[{", s[i]) >= 0:
			depth++
		case strings.IndexByte(")>]}", s[i]) >= 0:
			depth--
		}
	}
	if len(list) == 1 && (list[0] == "" || list[0] == "void") {
		return nil
	}
	return list
}

var (
	cxxWords = regexp.MustCompile(`\w+`)
	intWords = []string{"int", "long", "short", "unsigned", "signed", "bool", "char", "size_t", "int32_t",
		"uint32_t", "int64_t", "uint64_t", "int16_t", "uint16_t", "int8_t", "uint8_t", "ptrdiff_t"}
	dfWords = []string{"DF", "InputDF", "OutputDF"}
)

// typeOf is what a parameter is, by its text: `const char *name`.
func typeOf(text string) cxxType {
	text, _, _ = strings.Cut(text, "=")
	all := cxxWords.FindAllString(text, -1)
	has := func(of ...string) bool {
		return slices.ContainsFunc(all, func(w string) bool { return slices.Contains(of, w) })
	}
	points := strings.ContainsAny(text, "*&[")
	switch {
	case strings.ContainsAny(text, "<>(."):
		return cxxUnknown
	case has(dfWords...):
		return cxxDF
	case has("string"):
		return cxxString
	case points && has("char"):
		return cxxText
	case points && has(append([]string{"void", "double", "float"}, intWords...)...):
		return cxxPointer
	case points:
		return cxxUnknown
	case has("double"):
		return cxxDouble
	case has("float"):
		return cxxFloat
	case has(intWords...):
		return cxxInt
	}
	return cxxUnknown
}
