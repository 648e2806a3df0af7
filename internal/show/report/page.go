package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

// The HTML face is one file that asks nothing of anybody: style and script are inline and named by their
// hashes in the Content-Security-Policy, which forbids all else. There are no style attributes, which it
// would forbid too. Names from a trace pass three gates: html/template (or svg) escapes them, what cannot be
// printed is replaced in the whole page at the end, and whatever got through could run nothing.

//go:embed page.tmpl
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

var pageTemplates = [2]*template.Template{parsedIn(words.English), parsedIn(words.Russian)}

func parsedIn(lang words.Lang) *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{"code": withCode, "meter": meter,
		"say": speaker{lang}.say}).
		Parse(pageText))
}

// withCode sets what stands between backticks as code.
func withCode(s string) template.HTML {
	parts := strings.Split(s, "`")
	for i, p := range parts {
		parts[i] = template.HTMLEscapeString(p)
		if i%2 == 1 && i < len(parts)-1 {
			parts[i] = "<code>" + parts[i] + "</code>"
		} else if i%2 == 1 {
			parts[i] = "`" + parts[i] // one that is never closed
		}
	}
	return template.HTML(strings.Join(parts, ""))
}

// meter is a bar for a share of 0 to 1.
func meter(share float64) template.HTML {
	return template.HTML(svg.Strip(words.Percent(int64(1000*share), 1000), 10,
		[]svg.Part{{Class: "u", Value: share}, {Class: "none", Value: 1 - share}}))
}

// page is the whole document.
type page struct {
	Lang     string // "en" or "ru"
	Title    string
	Sections []section
	Footer   string
}

// section is a part of the page with a heading of its own.
type section struct {
	ID, Title string
	Blocks    []block
}

// block is one of its fields.
type block struct {
	Text    string
	Warning string
	Heading string
	Advice  []advise.Advice
	List    []string // numbered
	From    int      // how many came before List
	Tiles   []tile
	Figure  *figure
	Table   *grid
	Cube    *cube
	Details *details
}

// tile is a number that stands out.
type tile struct{ Value, Name, Class string }

// figure is a plot with what explains it.
type figure struct {
	Title   string
	Plot    template.HTML
	Legend  []key
	Caption string
}

// key explains a colour.
type key struct{ Class, Name string }

// details are blocks that are shown when they are asked for.
type details struct {
	Title  string
	Blocks []block
}

// maxRows is how many rows of a table the page shows.
const maxRows = 50

// grid is a table.
type grid struct {
	speaker
	Caption string
	Heads   []head
	Rows    [][]cell
	More    int  // rows left out
	Fixed   int  // rows at the end that are not sorted
	Plain   bool // its order means something: not sorted at all
}

type head struct {
	Name, Tip string
	Number    bool // aligned to the right, sorted by number
	Wide      bool // takes the room that is left
	Whole     bool // as text, what is cut in the table is told in full below it
}

type cell struct {
	Is     words.Worded // Text, in the language of the table
	TipIs  words.Worded // Tip, likewise
	Text   string
	Value  string // what to sort by; "" means Text
	Tip    string
	Class  string
	Plot   template.HTML
	Number bool
}

// grid makes a table from its heads: "#name" is a column of numbers, "~name" a wide one; what follows a |
// explains it. They are of the catalogue, and the caption, if it has no arguments.
func (s speaker) grid(caption string, heads ...string) *grid {
	g := &grid{speaker: s, Caption: s.say(caption)}
	for _, h := range heads {
		var c head
		c.Name, c.Tip, _ = strings.Cut(h, "|")
		if name, ok := strings.CutPrefix(c.Name, "#"); ok {
			c.Name, c.Number = name, true
		}
		if name, ok := strings.CutPrefix(c.Name, "~"); ok {
			c.Name, c.Wide = name, true
		}
		c.Name, c.Tip = s.say(c.Name), s.say(c.Tip)
		g.Heads = append(g.Heads, c)
	}
	return g
}

// row adds a row, or counts it if there are too many.
func (g *grid) row(cells ...cell) {
	if len(g.Rows) >= maxRows {
		g.More++
		return
	}
	g.add(cells)
}

// few is how many rows a table shows however little they say.
const few = 8

// small tells that the next row says too little about a whole to be shown, and counts it as left out.
func (g *grid) small(ns, whole int64) bool {
	if len(g.Rows) < few || ns > whole/200 {
		return false
	}
	g.More++
	return true
}

// fixed adds a row that stays at the end.
func (g *grid) fixed(cells ...cell) {
	g.Fixed++
	g.add(cells)
}

func (g *grid) add(cells []cell) {
	for i := range cells {
		c := &cells[i]
		c.Number = i < len(g.Heads) && g.Heads[i].Number
		if c.Is != nil {
			c.Text = c.Is.In(g.lang)
		}
		if c.TipIs != nil {
			c.Tip = c.TipIs.In(g.lang)
		}
	}
	g.Rows = append(g.Rows, cells)
}

// FixedFrom is the index of the first row that is not sorted.
func (g *grid) FixedFrom() int { return len(g.Rows) - g.Fixed }

// Start is the number of the first entry of List.
func (b block) Start() int { return b.From + 1 }

// in is the text of a cell in a language.
func (c cell) in(l words.Lang) string {
	if c.Is != nil {
		return c.Is.In(l)
	}
	return c.Text
}

// Cells of several kinds.

// maxWord is how much of a name a table shows; the whole is the tooltip.
const maxWord = 160

func word(s string) cell {
	c := cell{Text: s}
	n := utf8.RuneCountInString(s)
	if n > 28 {
		c.Class = "words"
	}
	if n > maxWord {
		c.Text, c.Value, c.Tip = string([]rune(s)[:maxWord-1])+"…", s, s
	}
	return c
}

func number[T int | int64 | uint64](n T) cell {
	return cell{Text: fmt.Sprint(n), Value: fmt.Sprint(n)}
}

func decimal(v float64) cell {
	return cell{Text: strconv.FormatFloat(v, 'f', 2, 64), Value: strconv.FormatFloat(v, 'g', -1, 64)}
}

func timeCell(ns int64) cell { return cell{Is: words.Time(ns), Value: fmt.Sprint(ns)} }

// shareCell writes a share; its tooltip is the time.
func shareCell(ns, of int64) cell {
	c := cell{Is: words.Share{Part: ns, Whole: of}, Value: "0", TipIs: words.Time(ns)}
	if of > 0 {
		c.Value = strconv.FormatFloat(float64(ns)/float64(of), 'g', 6, 64)
	}
	return c
}

func sizeCell(n int64) cell { return cell{Is: words.Size(n), Value: fmt.Sprint(n)} }

func plotCell(s string) cell { return cell{Plot: template.HTML(s)} }

func none() cell { return cell{Text: "-", Value: "-1"} }

// plot has a title and a caption of the catalogue, or made by say.
func (s speaker) plot(title, drawing, caption string, legend ...key) block {
	return block{Figure: &figure{Title: s.say(title), Plot: template.HTML(drawing), Legend: legend,
		Caption: s.say(caption)}}
}

func (s speaker) para(format string, args ...any) block { return block{Text: s.say(format, args...)} }

func (s speaker) warning(format string, args ...any) block {
	return block{Warning: s.say(format, args...)}
}

func (s speaker) heading(name string) block { return block{Heading: s.say(name)} }

func (s speaker) details(title string, blocks ...block) block {
	return block{Details: &details{s.say(title), blocks}}
}

// counted is a number of things, by their name in English.
func counted(n int64, what string) words.Number { return words.Number{N: n, What: nouns[what]} }

// failed is what stands where an analysis could not be done.
func (h *htmlFace) failed(what string) block {
	for _, f := range h.Failed {
		if f.Analysis == what {
			return h.warning("This could not be computed: %s", f.Why)
		}
	}
	return h.para("This was not computed.")
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// write writes the page.
func (p *page) write(w io.Writer) error {
	var out bytes.Buffer
	err := pageTemplates[words.LangOf(p.Lang)].Execute(&out, map[string]any{
		"Page":   p,
		"Style":  template.CSS(pageStyle),
		"Script": template.JS(pageScript),
		"Policy": "default-src 'none'; style-src " + hash(pageStyle) + "; script-src " + hash(pageScript) +
			"; img-src data:; base-uri 'none'; form-action 'none'",
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, svg.Printable(out.String()))
	return err
}
