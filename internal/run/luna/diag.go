package luna

import (
	"fmt"
	"io"
	"iter"
	"sort"
	"strings"
)

// maxDiags bounds how many faults one compilation reports; more would not help.
const maxDiags = 100

// Error says the first fault and how many more there are, on one line.
func (e *Error) Error() string {
	d := e.First()
	s := d.Msg
	if d.Pos.File != "" {
		s = d.Pos.String() + ": " + s
	}
	if n := len(e.Diags) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// First returns the fault that LuNA itself would have stopped at: the first one by position of the earliest
// stage.
func (e *Error) First() Diag {
	rank := func(s Stage) int {
		for i, t := range []Stage{StagePreprocess, StageParse, StageLet, StageRecom, StageCPP} {
			if s == t {
				return i
			}
		}
		return 0
	}
	best := e.Diags[0]
	for _, d := range e.Diags[1:] {
		if rank(d.Stage) < rank(best.Stage) {
			best = d
		}
	}
	return best
}

// String returns file:line:column.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Format prints a message the way compilers do: position, kind and text, the source line, a marker under the
// column, and the hint. Colour uses ANSI sequences. Errors of w are ignored.
func Format(w io.Writer, d Diag, color bool) {
	kind, tint := "error", "\x1b[31m"
	if d.Warn {
		kind, tint = "warning", "\x1b[33m"
	}
	bold, dim, off := "\x1b[1m", "\x1b[36m", "\x1b[0m"
	if !color {
		tint, bold, dim, off = "", "", "", ""
	}
	if d.Pos.File != "" {
		fmt.Fprintf(w, "%s%s:%s ", bold, d.Pos, off)
	}
	fmt.Fprintf(w, "%s%s:%s %s\n", tint, kind, off, d.Msg)
	if d.Line != "" && d.Pos.Line > 0 {
		fmt.Fprintf(w, "    %s\n    %s%s^%s\n", printable(d.Line), padTo(d.Line, d.Pos.Col), tint, off)
	}
	if d.Hint != "" {
		fmt.Fprintf(w, "    %shint:%s %s\n", dim, off, d.Hint)
	}
}

// padTo is white space as wide as the first col-1 characters of line: tabs stay tabs.
func padTo(line string, col int) string {
	var b strings.Builder
	n := 1
	for _, r := range line {
		if n >= col {
			break
		}
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
		n++
	}
	for ; n < col; n++ {
		b.WriteByte(' ')
	}
	return b.String()
}

// printable keeps control characters of a source line from reaching a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}

// LunaText is the message in the form of the "luna" command (language reference 10.2), without a final
// newline. Scripts match its first line and the stage names.
func LunaText(d Diag) string {
	pos := d.Pos
	if d.After.Line > 0 {
		pos = d.After
	}
	at := fmt.Sprintf("%s at %s:%d:%d:", d.Msg, pos.File, pos.Line, pos.Col)
	if d.Line != "" {
		at += "\n" + printable(d.Line) + "\n" + lunaMarker(d.Line, pos.Col)
	}
	if pos.Line == 0 {
		at = d.Msg
	}
	switch {
	case d.Warn:
		return "luna: WARNING: " + at
	case d.Stage == StagePreprocess && pos.Line == 0:
		return "luna: fatal error: preprocessing failed (see error messages below):\npp.py: fatal error: " + at
	case d.Stage == StagePreprocess:
		return "luna: fatal error: preprocessing failed (see error messages below):\npp.py: preprocessing " +
			"error: " + at
	case d.Stage == StageParse:
		return "luna: compile error: " + at
	case d.Stage == StageLet:
		return "luna: fatal error: compilation failed: see error messages below:\nError: " + at
	case d.Stage == StageCPP && strings.HasPrefix(d.Msg, badStringOp):
		return "luna: fatal error: cpp-generation failed (see below):\n" + at
	case d.Stage == StageCPP:
		return "luna: fatal error: cpp-generation failed (see below):\nerr> " + strings.ReplaceAll(at, "\n",
			"\nerr> ")
	}
	return fmt.Sprintf("luna: fatal error: %s failed (see below):\n%s", d.Stage, at)
}

// badStringOp begins the one message whose text LuNA fixes.
const badStringOp = "invalid operation on strings: "

func lunaMarker(line string, col int) string {
	if col < 8 || strings.ContainsRune(line, '\t') {
		return padTo(line, col) + "^--here"
	}
	return strings.Repeat(" ", col-7) + "here--^"
}

// reporter collects messages and knows their sources.
type reporter struct {
	files    []string // paths
	lines    [][]string
	diags    []Diag
	warnings []Diag
	seen     map[string]bool
}

func (r *reporter) addFile(path, text string) int32 {
	r.files = append(r.files, path)
	r.lines = append(r.lines, strings.Split(text, "\n"))
	return int32(len(r.files) - 1)
}

func (r *reporter) lineAt(p Pos) string {
	for i, f := range r.files {
		if f == p.File && p.Line >= 1 && p.Line <= len(r.lines[i]) {
			return r.lines[i][p.Line-1]
		}
	}
	return ""
}

// add keeps a message unless there is already the same one at the same place, as when many references use one
// rule.
func (r *reporter) add(d Diag) {
	d.Msg = printable(strings.NewReplacer("\n", "\\n", "\t", "\\t").Replace(d.Msg))
	key := fmt.Sprint(d.Pos, d.Msg)
	if r.seen[key] {
		return
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[key] = true
	d.Line = r.lineAt(d.Pos)
	if d.Warn {
		if len(r.warnings) < maxDiags {
			r.warnings = append(r.warnings, d)
		}
	} else if len(r.diags) < maxDiags {
		r.diags = append(r.diags, d)
	}
}

// err returns the collected faults as an *Error, sorted, or nil.
func (r *reporter) err() error {
	if len(r.diags) == 0 {
		return nil
	}
	r.sort(r.diags)
	return &Error{Diags: r.diags}
}

// sort orders by file (main file first, includes in order of opening), line, column.
func (r *reporter) sort(ds []Diag) {
	order := map[string]int{}
	for i, f := range r.files {
		if _, ok := order[f]; !ok {
			order[f] = i
		}
	}
	sort.SliceStable(ds, func(i, j int) bool {
		a, b := ds[i].Pos, ds[j].Pos
		if order[a.File] != order[b.File] {
			return order[a.File] < order[b.File]
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Col < b.Col
	})
}

// nearest returns the candidate that name was probably meant to be, or "".
func nearest(name string, candidates iter.Seq[string]) string {
	limit := 2
	if len(name) < 5 {
		limit = 1
	}
	best, dist := "", limit+1
	for c := range candidates {
		if c == name || len(c) < 2 && len(name) < 3 {
			continue
		}
		if d := editDistance(name, c, limit); d < dist || d == dist && d <= limit && c < best {
			best, dist = c, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, substitutions and swaps of neighbours; above limit any larger
// number.
func editDistance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	var prev2 []int
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, cur
	}
	return prev[len(b)]
}

// didYouMean is a hint for an unknown name. Names are not compared for messages that are not kept.
func (r *reporter) didYouMean(name string, candidates iter.Seq[string]) string {
	if len(r.diags) >= maxDiags {
		return ""
	}
	if n := nearest(name, candidates); n != "" {
		return "did you mean " + n + "?"
	}
	return ""
}
