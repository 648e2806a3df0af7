package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/compare"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Diff writes a comparison of two runs for people, with at most top code fragments, in the language lang,
// "en" or "ru". Of opt it takes Color and Width.
func Diff(w io.Writer, r *compare.Result, top int, lang string, opt Options) error {
	t := newTerminal(w, words.LangOf(lang), opt)
	t.paragraph("A  ", t.side(&r.A))
	t.paragraph("B  ", t.side(&r.B))
	t.last = "block"
	c := &comparison{author: &author{speaker: t.speaker}, Result: r, top: top}
	c.ranCFs = len(r.Patterns) == 0 || slices.ContainsFunc(r.Fragments,
		func(f compare.Fragment) bool { return f.CountA+f.CountB > 0 })
	c.whole()
	c.factors()
	c.fragments()
	c.patterns()
	c.path()
	t.show([]section{{Blocks: c.out}})
	return t.w.Flush()
}

// side tells which run one of the two is.
func (s speaker) side(x *compare.Side) string {
	text := s.say("%s: %s, %s, %s", x.Name, x.Program, counted(int64(x.Nodes), "node"),
		counted(int64(x.Workers), "worker"))
	switch {
	case x.Ended == "":
		text += s.say(", without an end")
	case x.Ended != trace.EndedDone:
		text += ", " + s.phrase(endedWords, x.Ended)
	}
	return text
}

// comparison writes the document about two runs.
type comparison struct {
	*author
	*compare.Result
	top    int
	ranCFs bool
}

// part adds a table; share is the head of the part that each row makes of the difference.
func (c *comparison) part(title, share string) *grid {
	g := c.table(title, "", "#A", "#B", "#B - A", "#B / A", "#"+share)
	g.In, g.Indent, g.Plain = everywhere, 5, true
	return g
}

// compared adds a figure of both runs. More time, more memory and more traffic are worse.
func (c *comparison) compared(g *grid, r *compare.Row, name cell) {
	value := func(v *int64) any {
		if v == nil {
			return nil
		}
		return c.lang.Amount(*v, r.Unit)
	}
	var change cell
	ratio, share := "", ""
	if d, ok := r.Change(); ok {
		change.Text = c.lang.Amount(d, r.Unit)
		switch {
		case d > 0:
			change = cell{Text: "+" + change.Text, Colour: "worse"}
		case d < 0:
			change.Colour = "better"
		}
		if r.Unit == "count" {
			change.Colour = ""
		}
		if *r.A != 0 {
			ratio = c.lang.Fixed(float64(*r.B)/float64(*r.A), 2)
		}
		if r.Share != 0 && g.Heads[5].Name != "" {
			share = fmt.Sprintf("%.0f %%", 100*r.Share)
		}
	}
	g.row(name, value(r.A), value(r.B), change, ratio, share)
}

// small tells that a row is next to nothing in both runs.
func (c *comparison) small(r *compare.Row) bool {
	least := *c.Find("total").B / 1000
	return (r.A == nil || *r.A <= least) && (r.B == nil || *r.B <= least)
}

var wholeWords = map[string]words.Phrase{
	"wall":           {"wall time", "время запуска"},
	"total":          {"processor time", "процессорное время"},
	"workers":        {"workers", "рабочих потоков"},
	"cfs":            {"CFs executed", "исполнено ФВ"},
	"t1":             {"useful work (T1)", "полезная работа (T1)"},
	"tinf":           {"longest chain (Tinf)", "самая длинная цепочка (Tinf)"},
	"memory":         {"most held by DFs", "память ФД в пике"},
	"messages":       {"messages", "сообщений"},
	"bytes":          {"bytes sent", "отправлено байт"},
	"bytes-sent":     {"bytes put or sent", "записано или отправлено байт"},
	"bytes-received": {"bytes got or received", "прочитано или получено байт"},
}

// ofCFs are the rows of the whole run that say nothing where neither run has CFs: transfers are no messages.
// ofRegions stand in their place.
var (
	ofCFs     = []string{"cfs", "t1", "tinf", "memory", "messages", "bytes"}
	ofRegions = []string{"bytes-sent", "bytes-received"}
)

func (c *comparison) whole() {
	g := c.part("Run", "")
	for i := range c.Whole {
		if r := &c.Whole[i]; c.ranCFs || !slices.Contains(ofCFs, r.Name) {
			c.compared(g, r, word(c.phrase(wholeWords, r.Name)))
		}
	}
	for _, name := range ofRegions {
		if r := c.Find("pgas." + name); !c.ranCFs && r != nil {
			c.compared(g, r, word(c.phrase(wholeWords, name)))
		}
	}
}

func (c *comparison) factors() {
	g := c.part("Factors", "of it")
	for i := range c.Factors {
		f := &c.Factors[i]
		c.compared(g, f, word(f.Name+"  "+c.factor(f.Name)))
		for k := range c.Parts {
			p := &c.Parts[k]
			if name, ok := strings.CutPrefix(p.Name, f.Name+"."); ok && !c.small(p) {
				c.compared(g, p, deep(1, name))
			}
		}
	}
}

func (c *comparison) fragments() {
	title, none := "Code fragments, with the time before their CFs", "no CF: ends, extra cores"
	if !c.ranCFs {
		title, none = "Functions and operations", "none: before the start, after the end"
	}
	g := c.part(title, "of it")
	shown := 0
	for i := range c.Fragments {
		f := &c.Fragments[i]
		name := f.Code
		switch {
		case f.Code == "":
			name = c.say(none)
		case shown == c.top:
			continue
		case f.CountA != f.CountB:
			name = c.say("%s (%d -> %s)", name, f.CountA, words.Number{N: f.CountB, What: words.CFs.AlwaysMore()})
		case f.CountA > 0: // otherwise it is a region
			name = c.say("%s (%s)", name, counted(f.CountA, "CF"))
		}
		if f.Code != "" {
			shown++
		}
		c.compared(g, &f.Time, word(name))
		if f.Mean.A != nil || f.Mean.B != nil {
			mean := f.Mean
			mean.Share = 0
			c.compared(g, &mean, deep(1, c.say("useful, mean of a CF")))
		}
	}
	if n := len(c.Fragments) - 1 - shown; n > 0 {
		g.Note = c.say("%d more, see --top and --json", n)
	}
}

func (c *comparison) patterns() {
	g := c.part("Regions and patterns", "of it")
	for i := range c.Patterns {
		if r := &c.Patterns[i]; r.Unit == "ns" && !c.small(r) {
			c.compared(g, r, word(strings.TrimPrefix(r.Name, "pgas.")))
		}
	}
}

func (c *comparison) path() {
	g := c.part("Critical path", "of it")
	for i := range c.Path {
		if r := c.Path[i]; i == 0 || !c.small(&r) && i < 6+c.top {
			if i == 0 {
				r.Share = 0 // it is the whole
			}
			c.compared(g, &r, word(strings.TrimPrefix(strings.TrimPrefix(r.Name, "path."), "code:")))
		}
	}
}
