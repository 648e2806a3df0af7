package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

// terminal shows a document as text.
type terminal struct {
	speaker
	w    *bufio.Writer
	opt  Options
	face faceSet
	head int    // width of the longest Head
	last string // the kind of what was written last: "line", "warning", "heading" or "block"; "" nothing
}

// Terminal writes the report in the language of the advice: the five factors with their parts, how they
// changed, the code fragments that do the work, what was waited for most, a few lines for each other
// analysis, and what to change. With opt.Full it has all that the page has, but for the plots. Colours are
// used only if opt says so.
func Terminal(w io.Writer, all *Everything, opt Options) error {
	t := newTerminal(w, words.LangOf(all.language), opt)
	t.show(newAuthor(all, opt.By).document())
	if t.last != "warning" {
		t.printf("\n")
	}
	return t.w.Flush()
}

func newTerminal(w io.Writer, lang words.Lang, opt Options) *terminal {
	if opt.Width <= 0 {
		opt.Width = 80
	}
	t := &terminal{speaker: speaker{lang: lang}, w: bufio.NewWriter(w), opt: opt, face: short}
	if opt.Full {
		t.face = full
	}
	return t
}

func (t *terminal) show(document []section) {
	t.head = 13
	for _, s := range document {
		for _, b := range s.Blocks {
			t.head = max(t.head, width(b.Head))
		}
	}
	for i := range document {
		s := &document[i]
		if t.face == full && i > 0 {
			t.begin("section")
			t.printf("\n%s\n%s\n", t.paint("bold", s.Title), strings.Repeat("=", width(s.Title)))
			t.last = "heading"
		}
		t.blocks(s.Blocks)
	}
}

func (t *terminal) printf(format string, args ...any) { fmt.Fprintf(t.w, format, args...) }

// begin writes the blank line before a block of some kind. Lines and warnings stand together.
func (t *terminal) begin(kind string) {
	together := t.last == kind && (kind == "line" || kind == "warning")
	if t.last != "" && t.last != "heading" && !together {
		t.printf("\n")
	}
	t.last = kind
}

func (t *terminal) blocks(list []block) {
	for i := range list {
		b := &list[i]
		switch {
		case !b.On(t.face):
		case b.Head != "":
			t.begin("line")
			t.paragraph(t.paint(cmp.Or(b.Colour, "bold"), fmt.Sprintf("%-*s ", t.head, b.Head)), b.Text)
		case b.Text != "":
			t.begin("block")
			t.strong(b.Text, b.Strong)
		case b.Warning != "":
			t.begin("warning")
			t.paragraph(t.paint("S", t.say("warning:"))+" ", b.Warning)
		case b.Heading != "":
			t.begin("heading")
			t.title(b.Heading)
		case b.Advice != nil:
			t.advice(b.Advice)
		case b.List != nil:
			t.begin("block")
			for i, s := range b.List {
				t.paragraph(fmt.Sprintf("%d. ", b.Start()+i), s)
			}
		case b.Figure != nil && b.Figure.Sparks != nil:
			t.sparks(b.Figure)
		case b.Table != nil:
			t.grid(b.Table)
		case b.Cube != nil:
			b.Cube.Metrics.In = everywhere
			t.blocks([]block{{Table: b.Cube.Metrics}, {Table: b.Cube.Calls}})
		case b.Details != nil:
			t.blocks(b.Details.Blocks)
		}
	}
}

// ANSI colours of the factors: what is lost stands out, what is useful is calm.
var colours = func() map[string]string {
	m := map[string]string{"bold": "1", "dim": "2", "worse": "31", "better": "32"}
	for _, f := range words.Factors {
		m[f.Letter] = f.ANSI
	}
	return m
}()

// waitColour is that of the factor which patterns of waiting belong to.
var waitColour = words.Factors[slices.IndexFunc(words.Factors,
	func(f words.Factor) bool { return f.CutOut })].Letter

func (t *terminal) paint(colour, s string) string {
	if code := colours[colour]; t.opt.Color && s != "" && code != "" {
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	return s
}

func (t *terminal) title(s string) {
	for _, line := range words.Wrap(words.Cut(svg.Printable(s)), t.opt.Width) {
		t.printf("%s\n", t.paint("bold", line))
	}
}

// strong writes text of which a part stands out.
func (t *terminal) strong(s, part string) {
	lines := words.Wrap(printable(s), t.opt.Width)
	if part = printable(part); part != "" {
		lines[0] = strings.Replace(lines[0], part, t.paint("bold", part), 1)
	}
	t.printf("%s\n", strings.Join(lines, "\n"))
}

// paragraph writes text wrapped to the width, indented under its first word.
func (t *terminal) paragraph(head, s string) {
	indent := strings.Repeat(" ", width(head))
	for i, line := range words.Wrap(printable(s), max(t.opt.Width-len(indent), 30)) {
		if i > 0 {
			head = indent
		}
		t.printf("%s%s\n", head, line)
	}
}

const (
	maxAdvice = 3  // reasons that the short form names
	gainWidth = 10 // columns of the bar of a gain
)

func (t *terminal) advice(list []advise.Advice) {
	t.begin("block")
	shown := list
	if t.face == short {
		t.title(t.say("What to change"))
		shown = list[:min(len(list), maxAdvice)]
		if len(shown) > 1 {
			t.paragraph("", words.GainsOverlap.In(t.lang))
		}
	}
	for i, x := range shown {
		head := fmt.Sprintf("%d. ", i+1)
		for _, l := range words.Wrap(printable(x.Title), t.opt.Width-len(head)) {
			t.printf("%s%s\n", head, t.paint("bold", l))
			head = strings.Repeat(" ", len(head))
		}
		t.paragraph(head, x.Text)
		gain := t.say("Gain: %s.", x.Gain)
		if x.Predicted != "" {
			gain += " " + t.say("Simulated: %s.", x.Predicted)
		}
		if t.face == full && x.Bound != "" {
			gain += " " + x.Bound
		}
		if bar := barOf(x.Share, gainWidth); bar != "" {
			head += t.paint("U", bar) + strings.Repeat(" ", gainWidth+1-width(bar))
		}
		t.paragraph(head, gain)
	}
	t.more(len(list) - len(shown))
}

// more tells how many rows of the short form are in the long one.
func (t *terminal) more(n int) {
	if n > 0 && t.face == short {
		t.printf("%s\n", t.say("%d more: whyslow report --full", n))
	}
}

const (
	maxSpark = 60   // columns of a line over time
	seldom   = 0.01 // factors below this share of all time get no line
)

// sparks draws factors over time as lines of blocks.
func (t *terminal) sparks(f *figure) {
	n := min(f.Windows, maxSpark, max(t.opt.Width-30, 10))
	g := newGrid(t.speaker, t.say("Over time: %d steps of about %s", n, words.Time(f.WallNS/int64(n))), "", "",
		"#least", "#most")
	for _, s := range f.Sparks {
		low, high := 1.0, 0.0
		var blocks strings.Builder
		for i := range n {
			v := s.share(i*f.Windows/n, (i+1)*f.Windows/n)
			low, high = min(low, v), max(high, v)
			blocks.WriteRune(block8(v))
		}
		g.add(cell{Text: s.letter, Colour: s.letter}, cell{Text: blocks.String(), Colour: s.letter},
			fmt.Sprintf("%.0f %%", 100*low), fmt.Sprintf("%.0f %%", 100*high)).In = everywhere
	}
	t.grid(g)
}

// block8 is a block as high as v, between 0 and 1.
func block8(v float64) rune {
	if v <= 0 {
		return ' '
	}
	return []rune("▁▂▃▄▅▆▇█")[min(int(v*8), 7)]
}

// barOf draws a share, from 0 to 1, in eighths of a column.
func barOf(share float64, columns int) string {
	eighths := int(max(share, 0)*float64(columns)*8 + 0.5)
	s := strings.Repeat("█", eighths/8)
	if r := eighths % 8; r > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[r-1])
	}
	return s
}

const (
	minWord = 16 // how narrow a column of words may become
	minBar  = 6  // and one of bars
)

// grid writes a table: no borders, two blanks between columns. Words are cut to what fits; where even that is
// too little, columns at the right end are left out.
func (t *terminal) grid(g *grid) {
	var heads []head
	var columns [][]cell // of the heads
	wide := []int{}
	for i, h := range g.Heads {
		bar := min(t.opt.Width-58, h.Bar)
		if h.Wide && bar < minBar || h.Detail && t.face == short || h.Roomy && t.opt.Width < 80 {
			continue
		}
		cells := []cell{{Text: h.Name, Colour: "dim"}}
		for _, l := range g.Rows {
			if !l.In.on(t.face) {
				continue
			}
			c := cell{}
			if i < len(l.Cells) {
				c = l.Cells[i]
			}
			c.Text = strings.Repeat(" ", c.Depth*max(g.Indent, 2)) + printable(c.Text)
			if h.Bar > 0 && c.Text == "" {
				c.Text = barOf(c.Bar, bar)
			}
			cells = append(cells, c)
		}
		heads, columns, wide = append(heads, h), append(columns, cells), append(wide, widest(cells, h))
	}
	if len(columns) == 0 || len(columns[0]) == 1 {
		return
	}
	limit, n := math.MaxInt, len(heads)
	if !t.opt.Whole {
		limit, n = fit(heads, wide, t.opt.Width)
	}
	t.begin("block")
	if !g.Bare || t.face == full {
		t.title(g.Caption)
	}
	w := pretty.NewWriter()
	w.SetStyle(pretty.Style{Box: pretty.BoxStyle{PaddingRight: "  "},
		Options: pretty.OptionsNoBordersAndSeparators})
	var right []pretty.ColumnConfig
	var below []string
	for r := range columns[0] {
		row := make(pretty.Row, n)
		for i, h := range heads[:n] {
			c := columns[i][r]
			if r == 0 && h.Number {
				right = append(right, pretty.ColumnConfig{Number: i + 1, Align: text.AlignRight})
			}
			whole := c.Text
			if !h.Number && h.Bar == 0 {
				c.Text = clip(c.Text, limit, c.Path)
			}
			if h.Whole && c.Text != whole && !slices.Contains(below, whole) {
				below = append(below, whole)
			}
			row[i] = t.paint(c.Colour, c.Text)
		}
		w.AppendRow(row)
	}
	w.SetColumnConfigs(right)
	for l := range strings.SplitSeq(w.Render(), "\n") {
		t.printf("%s\n", strings.TrimRight(l, " "))
	}
	for _, s := range below {
		t.paragraph("  ", s)
	}
	if n < len(heads) && t.face == full {
		var names []string
		for _, h := range heads[n:] {
			names = append(names, h.Name)
		}
		t.paragraph("", t.say("No room for the columns %s.", strings.Join(names, "; ")))
	}
	if g.More > 0 && t.face == full {
		t.printf("%s\n", t.say("%d more", g.More))
	}
	if g.Note != "" {
		t.paragraph("", g.Note)
	}
	t.more(g.Left)
}

// widest is how wide a column would be.
func widest(cells []cell, h head) (n int) {
	for _, c := range cells {
		n = max(n, width(c.Text))
	}
	if h.Bar > 0 {
		return 0 // there is room for bars, or there are none
	}
	return n
}

// fit says how many columns fit into a width, and how wide words may be.
func fit(heads []head, wide []int, room int) (limit, n int) {
	for n = len(heads); ; n-- {
		for limit = maxWord; limit >= minWord; limit-- {
			sum := 2 * (n - 1)
			for i, h := range heads[:n] {
				if sum += wide[i]; !h.Number {
					sum += min(limit-wide[i], 0)
				}
			}
			if sum <= room {
				return limit, n
			}
		}
		if n <= 2 {
			return minWord, n
		}
	}
}

func width(s string) int { return text.StringWidthWithoutEscSequences(s) }

// clip cuts a name to so many columns, a call path at its beginning: "… > rank > upc_barrier".
func clip(s string, limit int, path bool) string {
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	if !path {
		return string(r[:limit-1]) + "…"
	}
	for rest := s; ; {
		_, after, more := strings.Cut(rest, " > ")
		if !more {
			return "…" + string(r[len(r)-limit+1:])
		}
		if short := "… > " + after; len([]rune(short)) <= limit {
			return short
		}
		rest = after
	}
}

// printable keeps what a damaged or hostile trace holds from steering or flooding the terminal.
func printable(s string) string { return words.Cut(strings.ReplaceAll(svg.Printable(s), "\n", "?")) }
