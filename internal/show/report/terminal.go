package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/words"
)

// terminal writes the report for people.
type terminal struct {
	w   *bufio.Writer
	all *Everything
	res *slou.Result
	opt Options
}

// Terminal writes the report: the five factors with their parts, how they changed, the code fragments that do
// the work, what was waited for most, a few lines for each other analysis, and in words what to change. With
// opt.Full all tables of the HTML face follow. Colours are used only if opt says so.
func Terminal(w io.Writer, all *Everything, opt Options) error {
	t := newTerminal(w, all, opt)
	if t.res == nil {
		t.paragraph("", fmt.Sprintf("%s: %s on %s, %s", newHTMLFace(all).title(), words.Duration(all.Run.WallNS),
			words.Count(int64(all.Run.Nodes), "node"), words.Count(int64(all.Run.Workers), "worker")))
		t.printf("\n")
	} else {
		t.header()
		t.factors()
		if !all.onlyRegions() || opt.Full {
			t.overTime()
		}
		t.split()
		if !all.onlyRegions() {
			t.fragments()
			t.causes()
		}
	}
	t.pgas()
	t.outline()
	if t.res != nil {
		t.advice()
	}
	t.warnings()
	if opt.Full {
		t.full()
	}
	return t.w.Flush()
}

func newTerminal(w io.Writer, all *Everything, opt Options) *terminal {
	if opt.Width <= 0 {
		opt.Width = 80
	}
	if opt.Top <= 0 {
		opt.Top = 10
	}
	return &terminal{bufio.NewWriter(w), all, all.SLOU, opt}
}

func (t *terminal) printf(format string, args ...any) { fmt.Fprintf(t.w, format, args...) }

// ANSI colours of the factors: what is lost stands out, what is useful is calm.
var colours = map[string]string{"U": "32", "S": "31", "L": "33", "O": "35", "W": "36",
	"bold": "1", "dim": "2"}

func (t *terminal) paint(colour, s string) string {
	if !t.opt.Color || s == "" {
		return s
	}
	return "\x1b[" + colours[colour] + "m" + s + "\x1b[0m"
}

func (t *terminal) header() {
	r := t.res
	workers := 0
	even := true
	for i := range r.Nodes {
		workers += len(r.Nodes[i].Workers)
		even = even && len(r.Nodes[i].Workers) == len(r.Nodes[0].Workers)
	}
	where := words.Count(int64(workers), "worker") + " on " + words.Count(int64(len(r.Nodes)), "node")
	if even && len(r.Nodes) > 0 {
		where = words.Count(int64(len(r.Nodes)), "node") + " x " + words.Count(int64(len(r.Nodes[0].Workers)),
			"worker")
	}
	if t.all.onlyRegions() {
		where = words.Count(int64(len(t.all.Pattern.Threads)), "thread")
	}
	program := printable(r.Program)
	if program == "" {
		program = "a program without a name"
	}
	ended := ""
	if r.Ended != "" && r.Ended != "done" {
		ended = " (" + r.Ended + ")"
	} else if r.Ended == "" && r.Killed {
		ended = " (killed)"
	}
	lines := wrap(fmt.Sprintf("%s%s: %s on %s, %s of processor time", program, ended, words.Duration(r.WallNS),
		where, words.Duration(r.TotalNS)), t.opt.Width)
	lines[0] = strings.Replace(lines[0], program, t.paint("bold", program), 1)
	t.printf("%s\n\n", strings.Join(lines, "\n"))
}

var factorNames = []struct{ letter, name string }{
	{"U", "Useful work"}, {"S", "Starvation"}, {"L", "Latency"}, {"O", "Overhead"}, {"W", "Waiting"}}

// partWords say what a part means; parts of L and W speak for themselves.
var partWords = map[string]string{
	"nowhere":   "nothing ready anywhere",
	"here":      "ready on this node",
	"elsewhere": "ready on other nodes",
	"create":    "creating CFs",
	"request":   "before DFs are requested",
	"send":      "before DFs are sent",
	"deliver":   "from arrival to ready",
	"dispatch":  "from ready to start",
	"preempt":   "pre-empted",
	"steal":     "stealing CFs",
	"extra":     "cores beyond the workers",
	// In a run of regions.
	"runtime": "the run-time system",
	"start":   "before the thread began",
	"end":     "after it had ended",
}

func shares(f *slou.Factors) []*slou.Share {
	out := []*slou.Share{nil, f.S, f.L, f.O, f.W}
	if f.U != nil {
		out[0] = &f.U.Share
	}
	return out
}

// maxParts is how many parts of a factor are listed; the rest is summed up.
const maxParts = 8

func (t *terminal) factors() {
	tab := t.table(2, 3, "", "seconds", "share", "")
	total := t.res.TotalNS
	width := min(t.opt.Width-58, 40)
	row := func(name, colour string, ns int64, bar bool) {
		b := ""
		if bar && width > 5 {
			b = t.paint(colour, barOf(ns, total, width))
		}
		tab.row(name, seconds(ns, total), words.Percent(ns, total), b)
	}
	for i, s := range shares(&t.res.Factors) {
		f := factorNames[i]
		label := t.paint(f.letter, f.letter+"  "+f.name)
		if s == nil {
			tab.row(label, "-", "-", "not recorded")
			continue
		}
		row(label, f.letter, s.NS, true)
		parts := slou.Largest(s.Parts)
		if t.all.onlyRegions() && !t.opt.Full {
			parts = nil // the tree of metrics has them
		}
		rest := int64(0)
		for j, p := range parts {
			if j >= maxParts {
				rest += p.NS
				continue
			}
			name := printable(p.Name)
			if words := partWords[p.Name]; words != "" && f.letter != "W" && f.letter != "L" {
				name = p.Name + ": " + words
			}
			row(t.paint("dim", "     "+name), "dim", p.NS, false)
		}
		if rest > 0 {
			row(t.paint("dim", fmt.Sprintf("     %d others", len(parts)-maxParts)), "dim", rest, false)
		}
	}
	if t.res.UndividedNS > 0 {
		row("   not divided", "dim", t.res.UndividedNS, true)
	}
	t.render(tab)
	if u := t.res.Factors.U; u != nil && u.NS > 0 && !t.all.onlyRegions() {
		t.paragraph("", english.say("Thread clocks measured %s of the useful time.",
			words.Share{Part: u.MeasuredNS, Whole: u.NS}))
	}
	t.printf("\n")
}

// barOf draws ns as a share of total, in eighths of a column.
func barOf(ns, total int64, width int) string {
	if total <= 0 || ns <= 0 {
		return ""
	}
	eighths := int(float64(ns)/float64(total)*float64(width)*8 + 0.5)
	s := strings.Repeat("█", eighths/8)
	if r := eighths % 8; r > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[r-1])
	}
	return s
}

// seconds writes a time in seconds with the decimals that total deserves.
func seconds(ns, total int64) string {
	decimals := 9
	switch {
	case total >= 100e9:
		decimals = 1
	case total >= 1e9:
		decimals = 3
	case total >= 1e6:
		decimals = 6
	}
	return fmt.Sprintf("%.*f", decimals, float64(ns)/1e9)
}

// table starts a table whose columns from right to rightEnd, counted from 1, are aligned to the right.
func (t *terminal) table(right, rightEnd int, heads ...string) *table {
	tab := &table{}
	for i := right; i <= rightEnd; i++ {
		tab.numbers = append(tab.numbers, i)
	}
	var row []any
	for _, h := range heads {
		row = append(row, t.paint("dim", h))
	}
	tab.row(row...)
	return tab
}

func (t *terminal) render(tab *table) {
	for _, line := range tab.lines() {
		t.printf("%s\n", line)
	}
}

func (t *terminal) title(s string) {
	for _, line := range wrap(printable(s), t.opt.Width) {
		t.printf("%s\n", t.paint("bold", line))
	}
}

// split shows the split that was asked for.
func (t *terminal) split() {
	var s *slou.Split
	for i := range t.res.Splits {
		if t.res.Splits[i].By == t.opt.By {
			s = &t.res.Splits[i]
		}
	}
	if s == nil {
		return
	}
	heading, column := newHTMLFace(t.all).splitName(s.By)
	t.title(heading)
	// A narrow terminal has no room for times, nor for factors that say nothing.
	narrow := t.opt.Width < 80
	heads := []string{column}
	if !narrow {
		heads = append(heads, "seconds")
	}
	var factors []int
	for i, f := range shares(&t.res.Factors) {
		if !narrow || f != nil && f.NS > 0 {
			factors, heads = append(factors, i), append(heads, factorNames[i].letter)
		}
	}
	last := "CFs"
	if t.all.onlyRegions() {
		last = ""
	}
	tab := t.table(2, len(heads)+1, append(heads, last)...)
	for i := range s.Groups {
		g := &s.Groups[i]
		if i == maxRows && len(s.Groups) > maxRows {
			tab.row(fmt.Sprintf("%d more", len(s.Groups)-i))
			break
		}
		name := newHTMLFace(t.all).groupName(s.By, g)
		if s.By == "node" && !g.Rest && g.Joined == 0 {
			name = t.all.nodeName(int(g.Index))
		}
		row := []any{t.clip(name, 24)}
		if narrow {
			row[0] = t.clip(name, 16)
		} else {
			row = append(row, seconds(g.TotalNS, t.res.TotalNS))
		}
		list := shares(&g.Factors)
		for _, f := range factors {
			if list[f] == nil {
				row = append(row, "-")
			} else {
				row = append(row, t.paint(factorNames[f].letter, words.Percent(list[f].NS, g.TotalNS)))
			}
		}
		if last != "" && (g.CFs > 0 || !g.Rest) {
			row = append(row, g.CFs)
		}
		tab.row(row...)
	}
	t.render(tab)
	t.printf("\n")
}

func (t *terminal) fragments() {
	tab := t.table(2, 6, "code fragment", "CFs", "useful", "share", "mean", "longest")
	n := 0
	for i := range t.res.Fragments {
		f := &t.res.Fragments[i]
		if n == t.opt.Top || f.Count == 0 {
			continue
		}
		n++
		tab.row(t.clip(f.Code, t.opt.Width-50), f.Count, words.Duration(f.UsefulNS),
			words.Percent(f.UsefulNS, t.res.TotalNS), words.Duration(f.MeanNS), words.Duration(f.MaxNS))
	}
	if n == 0 || t.res.Factors.U == nil {
		return
	}
	t.title("Where useful time goes")
	t.render(tab)
	t.printf("\n")
}

func (t *terminal) causes() {
	tab := t.table(1, 3, "waiting", "share", "times", "factor", "why")
	n := 0
	for _, c := range t.res.Causes {
		if n == t.opt.Top || c.NS == 0 {
			break
		}
		n++
		name := c.Factor
		if c.Part != "" {
			name += "." + printable(c.Part)
		}
		tab.row(words.Duration(c.NS), words.Percent(c.NS, t.res.TotalNS), c.Count, t.paint(c.Factor, name),
			t.clip(why(&c), t.opt.Width-42))
	}
	if n == 0 {
		return
	}
	t.title("What was waited for most")
	t.render(tab)
	t.printf("\n")
}

// why says in a few words who waited for whom.
func why(c *slou.Cause) string {
	who := c.Consumer
	if who == "" {
		who = "the end of the run"
	}
	from := ""
	if c.Producer != "" {
		from = " from " + c.Producer
	}
	switch {
	case c.Part == "extra":
		return "the run-time system's own threads"
	case c.Factor == "S" && c.DF != "":
		return who + " <- " + c.DF + from
	case c.Factor == "S" && c.Producer != "" && c.Consumer == "":
		return "idle at the end while " + c.Producer + " still runs"
	case c.Factor == "L" && c.DF != "":
		return who + " <- " + c.DF + from
	case c.Factor == "L":
		return who + " itself, migrating"
	}
	return who
}

// clip makes a name from the trace fit to be shown.
func (t *terminal) clip(s string, width int) string {
	s = printable(s)
	width = max(width, 16)
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	r := []rune(s)
	return string(r[:width-1]) + "…"
}

// printable keeps what a damaged or hostile trace holds from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// maxAdvice is how many reasons the terminal names.
const maxAdvice = 3

func (t *terminal) advice() {
	list := t.all.Advice
	if len(list) == 0 {
		return
	}
	t.title("What to change")
	for i := range list[:min(len(list), maxAdvice)] {
		t.paragraph(fmt.Sprintf("%d. ", i+1), fmt.Sprintf("%s (gain: %s)", list[i].Text, list[i].Gain))
	}
	if more := len(list) - maxAdvice; more > 0 && !t.opt.Full {
		t.printf("%d more: whyslow report --full\n", more)
	}
	t.printf("\n")
}

func (t *terminal) warnings() {
	for _, f := range t.all.Failed {
		if errors.Is(f.Err, errNoCFs) {
			continue
		}
		t.paragraph(t.paint("S", "warning:")+" ", fmt.Sprintf("An analysis failed (%s): %s", f.Analysis, f.Why))
	}
	if t.all.Pattern != nil {
		for _, s := range t.all.Pattern.Problems {
			t.paragraph(t.paint("S", "warning:")+" ", sentence(s))
		}
	}
	for _, s := range t.all.Warnings() {
		t.paragraph(t.paint("S", "warning:")+" ", s)
	}
}

// paragraph writes text wrapped to the width, indented under its first word.
func (t *terminal) paragraph(head, s string) {
	indent := strings.Repeat(" ", text.StringWidthWithoutEscSequences(head))
	for i, line := range wrap(printable(s), max(t.opt.Width-len(indent), 30)) {
		if i > 0 {
			head = indent
		}
		t.printf("%s%s\n", head, line)
	}
}
