package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// full writes the sections of the HTML face as text: paragraphs and tables, without plots.
func (t *terminal) full() {
	for _, s := range newHTMLFace(t.all).sections() {
		if s.ID == "summary" {
			continue // it is there already
		}
		t.printf("\n%s\n%s\n", t.paint("bold", s.Title), strings.Repeat("=", len(s.Title)))
		t.blocks(s.Blocks)
	}
}

func (t *terminal) blocks(list []block) {
	for i := range list {
		b := &list[i]
		switch {
		case b.Text != "":
			t.paragraph("", b.Text)
			t.printf("\n")
		case b.Warning != "":
			t.paragraph(t.paint("S", "warning:")+" ", b.Warning)
			t.printf("\n")
		case b.Heading != "":
			if i+1 < len(list) && list[i+1].Table != nil && list[i+1].Table.Caption == b.Heading {
				continue // the table says it
			}
			t.title(b.Heading)
		case b.Advice != nil:
			for i := range b.Advice {
				a := &b.Advice[i]
				t.paragraph(fmt.Sprintf("%d. ", 1+i),
					strings.TrimSpace(fmt.Sprintf("%s. %s Gain: %s. %s", a.Title, a.Text, a.Gain, a.Bound)))
			}
			t.printf("\n")
		case b.List != nil:
			for i, s := range b.List {
				t.paragraph(fmt.Sprintf("%d. ", b.Start()+i), s)
			}
			t.printf("\n")
		case b.Table != nil:
			t.grid(b.Table)
		case b.Cube != nil:
			t.grid(b.Cube.Metrics)
			t.grid(b.Cube.Calls)
		case b.Details != nil:
			t.blocks(b.Details.Blocks)
		}
	}
}

// indentOf stands before what is a part of a row above: its class is d1, d2, ...
func indentOf(c cell) string {
	if len(c.Class) == 2 && c.Class[0] == 'd' {
		return strings.Repeat("  ", int(c.Class[1]-'0'))
	}
	return ""
}

// minWord is how narrow a column of words may become.
const minWord = 16

// grid writes a table; columns of plots are left out, words are cut to what fits.
func (t *terminal) grid(g *grid) {
	if len(g.Rows) == 0 {
		return
	}
	heads := g.Heads
	for len(heads) > 0 && heads[len(heads)-1].Wide {
		heads = heads[:len(heads)-1]
	}
	width := make([]int, len(heads))
	for i, h := range heads {
		width[i] = text.StringWidthWithoutEscSequences(h.Name)
		for _, row := range g.Rows {
			if i < len(row) {
				n := text.StringWidthWithoutEscSequences(printable(row[i].Text))
				width[i] = max(width[i], len(indentOf(row[i]))+n)
			}
		}
	}
	room := t.opt.Width - 2*(len(heads)-1)
	for i, h := range heads {
		if h.Number {
			room -= width[i]
		}
	}
	// Words get as much as there is; where even that is too little, columns at the right end are left out.
	fit := func() (limit int) {
		for limit = maxWord; limit > minWord; limit-- {
			sum := 0
			for i, h := range heads {
				if !h.Number {
					sum += min(width[i], limit)
				}
			}
			if sum <= room {
				return limit
			}
		}
		return 0
	}
	limit := fit()
	left := ""
	for ; limit == 0 && len(heads) > 2; limit = fit() {
		last := len(heads) - 1
		left = heads[last].Name + "; " + left
		if room += 2; heads[last].Number {
			room += width[last]
		}
		heads = heads[:last]
	}
	limit = max(limit, minWord)
	t.title(g.Caption)
	tab := &table{}
	var names []any
	var below []string
	for i, h := range heads {
		if h.Number {
			tab.numbers = append(tab.numbers, i+1)
		}
		name := h.Name
		if !h.Number {
			name = t.clip(name, limit)
		}
		names = append(names, t.paint("dim", name))
	}
	tab.row(names...)
	for _, row := range g.Rows {
		var cells []any
		for i := range heads {
			switch {
			case i >= len(row):
			case heads[i].Number:
				cells = append(cells, printable(row[i].Text))
			default:
				whole := indentOf(row[i]) + row[i].Text
				cells = append(cells, t.clip(whole, limit))
				if heads[i].Whole && t.clip(whole, limit) != printable(whole) && !slices.Contains(below, whole) {
					below = append(below, whole)
				}
			}
		}
		tab.row(cells...)
	}
	t.render(tab)
	for _, s := range below {
		t.paragraph("  ", s)
	}
	if left != "" {
		t.paragraph("", "No room for the columns "+strings.TrimSuffix(left, "; ")+".")
	}
	if g.More > 0 {
		t.printf("%d more\n", g.More)
	}
	t.printf("\n")
}
