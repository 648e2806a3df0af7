package luna

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/words"
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
	rank := func(d Diag) int {
		return slices.Index([]Stage{StagePreprocess, StageParse, StageLet, StageRecom, StageCPP}, d.Stage)
	}
	return slices.MinFunc(e.Diags, func(a, b Diag) int { return rank(a) - rank(b) })
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
		fmt.Fprintf(w, "%s%s:%s ", bold, words.Cut(d.Pos.String()), off)
	}
	fmt.Fprintf(w, "%s%s:%s %s\n", tint, kind, off, words.Cut(d.Msg))
	if d.Line != "" && d.Pos.Line > 0 {
		line, col := excerpt(d.Line, d.Pos.Col)
		fmt.Fprintf(w, "    %s\n    %s%s^%s\n", printable(line), Pad(line, col), tint, off)
	}
	if d.Hint != "" {
		fmt.Fprintf(w, "    %shint:%s %s\n", dim, off, words.Cut(d.Hint))
	}
}

// The longest source line and message that are printed whole, in characters.
const (
	longestLine = 200
	longestText = 1000
)

// excerpt is the part of a long line around a column, and where the column is in it.
func excerpt(line string, col int) (string, int) {
	runes := []rune(line)
	from := max(0, min(col-1-longestLine/2, len(runes)-longestLine))
	if to := from + longestLine; to < len(runes) {
		runes = append(slices.Clone(runes[:to]), '…')
	}
	if from == 0 {
		return string(runes), col
	}
	return "…" + string(runes[from:]), col - from + 1
}

// Pad is white space as wide as the first col-1 characters of line: tabs stay tabs.
func Pad(line string, col int) string {
	runes := []rune(line)
	pad := make([]rune, 0, max(col, 1))
	for i := range col - 1 {
		if i < len(runes) && runes[i] == '\t' {
			pad = append(pad, '\t')
		} else {
			pad = append(pad, ' ')
		}
	}
	return string(pad)
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
		line, col := excerpt(d.Line, pos.Col)
		at += "\n" + printable(line) + "\n" + lunaMarker(line, col)
	}
	if pos.Line == 0 {
		at = d.Msg
	}
	const fatal, below = "luna: fatal error: ", " (see below):\n"
	switch {
	case d.Warn:
		return "luna: WARNING: " + at
	case d.Stage == StagePreprocess && pos.Line == 0:
		return fatal + "preprocessing failed (see error messages below):\npp.py: fatal error: " + at
	case d.Stage == StagePreprocess:
		return fatal + "preprocessing failed (see error messages below):\npp.py: preprocessing error: " + at
	case d.Stage == StageParse:
		return "luna: compile error: " + at
	case d.Stage == StageLet:
		return fatal + "compilation failed: see error messages below:\nError: " + at
	case d.Stage == StageCPP && !strings.HasPrefix(d.Msg, badStringOp):
		at = "err> " + strings.ReplaceAll(at, "\n", "\nerr> ")
	}
	return fatal + string(d.Stage) + " failed" + below + at
}

// badStringOp begins the one message whose text LuNA fixes.
const badStringOp = "invalid operation on strings: "

func lunaMarker(line string, col int) string {
	if col < 8 || strings.ContainsRune(line, '\t') {
		return Pad(line, col) + "^--here"
	}
	return strings.Repeat(" ", col-7) + "here--^"
}

// reporter collects messages and knows their sources.
type reporter struct {
	files    []string // paths
	lines    [][]string
	exps     []expansion // of macros; 0 is none
	diags    []Diag
	warnings []Diag
	seen     map[string]bool
}

func (r *reporter) addFile(path, text string) int32 {
	r.files = append(r.files, path)
	r.lines = append(r.lines, strings.Split(text, "\n"))
	return int32(len(r.files) - 1)
}

func (r *reporter) posOf(c ch) Pos {
	return Pos{File: r.files[c.file], Line: max(1, int(c.line)), Col: max(1, int(c.col))}
}

// diagAt is a fault at a character. It names the macro that the character stems from.
func (r *reporter) diagAt(stage Stage, c ch, msg, hint string) Diag {
	if c.exp != 0 {
		msg += " (in expansion of macro $" + r.exps[c.exp].name + ")"
	}
	return Diag{Stage: stage, Pos: r.posOf(c), Msg: msg, Hint: hint}
}

func (r *reporter) lineAt(p Pos) string {
	if i := slices.Index(r.files, p.File); i >= 0 && p.Line >= 1 && p.Line <= len(r.lines[i]) {
		return r.lines[i][p.Line-1]
	}
	return ""
}

// add keeps a message unless there is already the same one at the same place, as when many references use one
// rule.
func (r *reporter) add(d Diag) {
	d.Msg = printable(strings.NewReplacer("\n", "\\n", "\t", "\\t").Replace(d.Msg))
	if runes := []rune(d.Msg); len(runes) > longestText {
		d.Msg = string(runes[:longestText]) + "…"
	}
	key := fmt.Sprint(d.Pos, d.Msg)
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	d.Line = r.lineAt(d.Pos)
	list := &r.diags
	if d.Warn {
		list = &r.warnings
	}
	if len(*list) < maxDiags {
		*list = append(*list, d)
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
	slices.SortStableFunc(ds, func(x, y Diag) int {
		a, b := x.Pos, y.Pos
		return cmp.Or(cmp.Compare(slices.Index(r.files, a.File), slices.Index(r.files, b.File)),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
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
		if d := words.Distance(name, c, limit); d < dist || d == dist && d <= limit && c < best {
			best, dist = c, d
		}
	}
	return best
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
