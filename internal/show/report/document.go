package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

// The report is a document: sections of blocks, written once, in one language, by an author (author.go and a
// file for each section). The terminal (terminal.go) and the page (page.go) show the same document; blocks,
// rows and columns say which faceSet have them.

// faceSet are the faces that show something. Whatever does not name any is for full and paper.
type faceSet uint8

const (
	short      faceSet = 1 << iota // the terminal
	full                           // the terminal with Options.Full
	paper                          // the HTML page
	everywhere = short | full | paper
)

func (f faceSet) on(face faceSet) bool { return cmp.Or(f, full|paper)&face != 0 }

// section is a part of the document with a heading of its own.
type section struct {
	ID, Title string
	Blocks    []block
}

// block is one of its fields, with In.
type block struct {
	In      faceSet
	Text    string
	Head    string // what Text is about
	Colour  string // of Head in a terminal, "" means bold
	Strong  string // what stands out in Text
	Warning string
	Heading string
	Advice  []advise.Advice
	Brief   bool     // of Advice the titles and gains alone
	List    []string // numbered
	From    int      // how many came before List
	Tiles   []tile
	Figure  *figure
	Table   *grid
	Cube    *cube
	Details *details
}

// Start is the number of the first entry of List.
func (b block) Start() int { return b.From + 1 }

// On tells whether a face shows the block. Tables without rows are not shown.
func (b block) On(face faceSet) bool {
	if b.Table != nil {
		return b.Table.In.on(face) && len(b.Table.Rows) > 0
	}
	return b.In.on(face)
}

// tile is a number that stands out.
type tile struct{ Value, Name, Class string }

// figure is a plot with what explains it. A terminal draws Sparks, where there are any.
type figure struct {
	Title   string
	draw    func() string // of Plot
	Legend  []key
	Caption string
	Sparks  []spark
	Windows int   // of each of Sparks
	WallNS  int64 // that they last
}

// Plot is the drawing, which is made for those who show it.
func (f *figure) Plot() template.HTML { return template.HTML(f.draw()) }

// spark is a factor over time; share is its part of the windows from first to end, from 0 to 1.
type spark struct {
	letter string
	share  func(first, end int) float64
}

// key explains a colour.
type key struct{ Class, Name string }

// details are blocks that the page shows when they are asked for.
type details struct {
	Title  string
	Blocks []block
}

const (
	maxRows  = 50  // rows of a table
	topRows  = 10  // rows of the longest tables in the short form
	few      = 8   // rows that a table shows however little they say
	maxWord  = 160 // how much of a name a table shows; the whole is the tooltip
	longWord = 28  // words longer than this get a wide column
)

// grid is a table.
type grid struct {
	speaker
	In      faceSet
	Caption string
	Bare    bool // the short form leaves the caption out
	Heads   []head
	Rows    []line
	Note    string // stands below
	More    int    // rows left out
	Left    int    // rows left out of the short form, which says so
	Indent  int    // blanks by which a terminal indents rows, 0 means 2
	Plain   bool   // its order means something: it is whole, and not sorted
}

// head is a column.
type head struct {
	Name, Tip string
	Number    bool // aligned to the right, sorted by number
	Wide      bool // has bars, takes the room that is left
	Bar       int  // how many columns wide they are in a terminal at most, 0 means it has none
	Whole     bool // as text, what is cut in the table is told in full below it
	Detail    bool // not in the short form
	Roomy     bool // nor in a terminal of less than 80 columns
}

// line is a row.
type line struct {
	In    faceSet
	Cells []cell
	Fixed bool // stays at the end when the others are sorted
}

type cell struct {
	Text   string
	Value  string // what to sort by; "" means Text
	Tip    string
	Depth  int    // how many rows contain this one
	Class  string // of the page
	Colour string // of the terminal
	Path   bool   // a terminal that cuts it keeps its end
	Plot   template.HTML
	Bar    float64 // what Plot shows, for a terminal: from 0 to 1
	Number bool
}

// Classes are those of the page.
func (c cell) Classes() string {
	if c.Depth > 0 {
		return strings.TrimSpace(fmt.Sprintf("d%d %s", min(c.Depth, 8), c.Class))
	}
	return c.Class
}

// newGrid makes a table from its heads, which begin with marks: # numbers, ~ bars, + not in the short form,
// ? nor in a narrow terminal. What follows a | explains the column. Heads and caption are of the catalogue,
// or made by say.
func newGrid(s speaker, caption string, heads ...string) *grid {
	g := &grid{speaker: s, Caption: s.say(caption)}
	for _, text := range heads {
		name := strings.TrimLeft(text, "#~+?")
		marks := text[:len(text)-len(name)]
		name, tip, _ := strings.Cut(name, "|")
		g.Heads = append(g.Heads, head{Name: s.say(name), Tip: s.say(tip), Number: strings.Contains(marks, "#"),
			Wide: strings.Contains(marks, "~"), Detail: strings.Contains(marks, "+"),
			Roomy: strings.Contains(marks, "?")})
	}
	return g
}

// row adds a row, or counts it if there are too many.
func (g *grid) row(values ...any) *line {
	if len(g.Rows) >= maxRows && !g.Plain {
		g.More++
		return &line{}
	}
	return g.add(values...)
}

// add adds a row whatever their number.
func (g *grid) add(values ...any) *line {
	l := line{In: g.In, Cells: make([]cell, len(values))}
	for i, v := range values {
		l.Cells[i] = g.cell(v)
		l.Cells[i].Number = i < len(g.Heads) && g.Heads[i].Number
		if whole, ok := v.(string); ok && i < len(g.Heads) && g.Heads[i].Whole {
			l.Cells[i].Text, l.Cells[i].Value, l.Cells[i].Tip = whole, "", ""
		}
	}
	g.Rows = append(g.Rows, l)
	return &g.Rows[len(g.Rows)-1]
}

// small tells whether the next row is too small a part of a whole to be shown, and then counts it as left
// out.
func (g *grid) small(ns, whole int64) bool {
	if len(g.Rows) < few || ns > whole/200 {
		return false
	}
	g.More++
	return true
}

// ratio is a number that is shown in per cent.
type ratio float64

// cell writes a value: a cell, a name, a number, or something of the package words. The tooltip of a share is
// its time. Nil stands for the unknown.
func (g *grid) cell(v any) cell {
	switch v := v.(type) {
	case cell:
		return v
	case nil:
		return cell{Text: "-", Value: "-1"}
	case string:
		return word(v)
	case words.Time:
		return cell{Text: v.In(g.lang), Value: fmt.Sprint(int64(v))}
	case words.Size:
		return cell{Text: v.In(g.lang), Value: fmt.Sprint(int64(v))}
	case words.Share:
		part := float64(v.Part) / float64(max(v.Whole, 1))
		return cell{Text: v.In(g.lang), Value: strconv.FormatFloat(part, 'g', 6, 64), Tip: g.lang.Duration(v.Part)}
	case ratio:
		return cell{Text: g.lang.Percent(int64(math.Round(1e6*float64(v))), 1e6),
			Value: strconv.FormatFloat(float64(v), 'g', 6, 64)}
	case float64:
		return cell{Text: g.lang.Fixed(v, 2), Value: strconv.FormatFloat(v, 'g', -1, 64)}
	}
	return cell{Text: fmt.Sprint(v), Value: fmt.Sprint(v)}
}

func word(s string) cell {
	c := cell{Text: s}
	n := utf8.RuneCountInString(s)
	if n > longWord {
		c.Class = "words"
	}
	if n > maxWord {
		c.Text, c.Value, c.Tip = string([]rune(s)[:maxWord-1])+"…", s, s
	}
	return c
}

// deep is a word so many rows deep in a tree.
func deep(depth int, s string) cell {
	c := word(s)
	c.Depth = depth
	return c
}

// number is a cell that reads as text and sorts by n.
func number(n int64, text string) cell { return cell{Text: text, Value: fmt.Sprint(n)} }

// optional is a T, or nil, from what may not be known.
func optional[T, V ~int64 | ~float64](v *V) any {
	if v == nil {
		return nil
	}
	return T(*v)
}

func shareOf(part, whole int64) words.Share { return words.Share{Part: part, Whole: whole} }

// bar draws a part of a whole.
func (s speaker) bar(class string, part, whole int64) cell {
	c := stripCell(s.lang.Percent(part, whole), 12, svg.Part{Class: class, Value: float64(part)},
		svg.Part{Class: "none", Value: float64(whole - part)})
	c.Bar, c.Colour = float64(part)/float64(max(whole, 1)), strings.ToUpper(class[:1])
	return c
}

func stripCell(label string, height int, parts ...svg.Part) cell {
	return cell{Plot: template.HTML(svg.Strip(label, height, parts))}
}
