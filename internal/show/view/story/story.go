// Package story tells the life of one CF or DF in words, English or Russian, and finds CFs, DFs and code
// fragments by what people call them.
//
// A story says only what was recorded. Every line has a time and a node and may lead on to a CF or DF; a
// trace that was cut short or damaged has fewer lines, and what is out of order there is sorted
// by time.
package story

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/words"
)

// Limits on the lines of a story.
const (
	namesShown  = 3    // in a line
	linesShown  = 20   // of one kind of line
	usersShown  = 8    // consumers of a DF of a CF's story
	listShown   = 200  // children, inputs, outputs, consumers of a DF's own story
	runsShown   = 1000 // executions
	statesShown = 10   // awaited DFs of a CF that never ran
)

// CFRef leads to a CF.
type CFRef struct {
	CF    string `json:"cf"` // "node.counter"
	Title string `json:"title"`
}

// DFRef leads to a DF.
type DFRef struct {
	DF            string  `json:"df"` // its key
	Title         string  `json:"title"`
	Bytes         int64   `json:"bytes"`    // of its value, 0 where not known
	Producer      *CFRef  `json:"producer"` // nil where not known
	Consumers     []CFRef `json:"consumers"`
	ConsumersMore int     `json:"consumers_more"`
}

// Line is something that happened.
type Line struct {
	T    int64  `json:"t"` // nanoseconds since the start of the run
	Node int    `json:"node"`
	Text string `json:"text"`
	CF   string `json:"cf,omitempty"` // the other CF the line is about
	DF   string `json:"df,omitempty"`
}

// teller tells a story.
type teller struct {
	m     *model.Model
	t     *timeline.Timeline
	lang  words.Lang
	lines []Line
	told  map[string]int // lines by kind
}

func newTeller(t *timeline.Timeline, lang string) *teller {
	return &teller{m: t.Model(), t: t, lang: words.LangOf(lang), lines: []Line{}, told: map[string]int{}}
}

// say adds a line about another CF or DF, 0 for none. t is on the common clock; what has no time is not told.
func (w *teller) say(t int64, node int, cf model.CF, df model.DF, text phrase, args ...any) {
	w.tell(t, node, cf, df, text, func() string { return w.text(text, args...) })
}

// tell adds a line of a kind; only the first ones of a kind are kept.
func (w *teller) tell(t int64, node int, cf model.CF, df model.DF, kind phrase, text func() string) {
	if t == model.None {
		return
	}
	if w.told[kind[words.English]]++; w.told[kind[words.English]] > linesShown {
		return
	}
	w.lines = append(w.lines, Line{T: t - w.m.Start, Node: node, Text: text(), CF: w.t.CFKey(cf),
		DF: w.m.DFKey(df)})
}

// inOrder gives the lines in order of time.
func (w *teller) inOrder() []Line {
	left := 0
	for _, n := range w.told {
		left += max(n-linesShown, 0)
	}
	slices.SortStableFunc(w.lines, func(a, b Line) int { return cmp.Compare(a.T, b.T) })
	if left > 0 && len(w.lines) > 0 {
		last := w.lines[len(w.lines)-1]
		w.lines = append(w.lines, Line{T: last.T, Node: last.Node, Text: w.text(andMoreLines, left)})
	}
	return w.lines
}

func (w *teller) ref(cf model.CF) CFRef { return CFRef{w.t.CFKey(cf), w.m.CFTitle(cf)} }

func (w *teller) refOrNil(cf model.CF) *CFRef {
	if cf == 0 {
		return nil
	}
	r := w.ref(cf)
	return &r
}

// users gives the CFs that were given a DF: the first to start, most of them, and how many there are. A DF
// can have very many, so they are neither sorted nor, but for those that were executed several times, looked
// for among the others.
func (w *teller) users(df model.DF, most int) (first []model.CF, count int) {
	m := w.m
	seen := map[model.CF]bool{}
	starts := make([]int64, 0, most+1)
	last := -1
	for _, e := range w.m.UsesOf(df) {
		cf := m.ExecCF[e]
		if int(e) == last || cf == 0 {
			continue
		}
		last = int(e)
		if m.ExecNumber[e] != 1 || m.ExecOf[cf] != e+1 {
			if seen[cf] {
				continue
			}
			seen[cf] = true
		}
		if slices.Contains(first, cf) {
			continue // damaged: two executions with the same number
		}
		count++
		start := m.ExecStart[e]
		if len(first) == most && start >= starts[most-1] {
			continue
		}
		i, _ := slices.BinarySearchFunc(starts, start,
			func(a, b int64) int { return cmp.Or(cmp.Compare(a, b), -1) })
		starts, first = slices.Insert(starts, i, start), slices.Insert(first, i, cf)
		starts, first = starts[:min(len(starts), most)], first[:min(len(first), most)]
	}
	return first, count
}

// refs leads to some of count CFs.
func (w *teller) refs(list []model.CF, count int) (out []CFRef, more int) {
	out = []CFRef{}
	for _, cf := range list {
		out = append(out, w.ref(cf))
	}
	return out, count - len(list)
}

func (w *teller) dfRef(df model.DF, t int64) DFRef {
	r := DFRef{DF: w.m.DFKey(df), Title: w.m.DFString(df)}
	if i, ok := w.m.Creation(df, t); ok {
		r.Bytes, r.Producer = w.m.SizeMade(i), w.refOrNil(w.m.MadeBy[i])
	}
	r.Consumers, r.ConsumersMore = w.refs(w.users(df, usersShown))
	return r
}

// sized names a DF with the size of its value, where that is known.
func (w *teller) sized(df model.DF, bytes int64) string {
	if bytes <= 0 {
		return w.m.DFString(df)
	}
	return w.m.DFString(df) + " (" + w.bytes(bytes) + ")"
}

// place is where a statement stands in the source, "" where not known.
func (w *teller) place(site uint32) string {
	s := &w.m.Sites[site]
	if s.File != "" {
		return position(s.File, s.Line)
	}
	if c := &w.m.Codes[s.Code]; c.File != "" {
		return position(c.File, c.Line)
	}
	return ""
}

// sorted gives a list in order of time.
func sorted(list []uint32, at func(i uint32) int64) []uint32 {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b uint32) int { return cmp.Compare(at(a), at(b)) })
	return list
}
