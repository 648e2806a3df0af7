package eventlist

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Most sentences do not hold what is searched for, and that can be told without making them.
//
// A sentence is made of fixed text and of values, and where two of these meet there is never a letter on both
// sides. So a run of letters in what is searched for, "update" in "update[3]", has to be within a fixed text,
// a name, or a word that numbers and lists go with. Which of the runs each of these holds is worked out once
// for the filter; of an event it is then a matter of a few numbers whether all runs can be there. Only if so
// the sentence is made and looked at.

// hints say which sentences may contain all runs of letters of a text: a bit for each run.
type hints struct {
	all     uint8
	fixed   [trace.FirstUserKind]uint8 // of standard kinds; those of users are not told apart
	reasons [len(reasons)]uint8
	sites   []uint8                      // of the names of CFs, by site of the model
	codes   []uint8                      // of code fragments of the model, as functions
	names   map[int]map[trace.Name]uint8 // by node; those that hold any run
}

// maxRuns is how many runs are looked for, the longest.
const maxRuns = 8

// loose has the words that go with numbers and lists, in lower case: runs within them may be anywhere.
var loose = func() (list []string) {
	list = []string{"e", "nan", "inf", "bytes", "байта", seconds[0], seconds[1]} // of floats; amounts
	for _, n := range []int64{1, 1e3, 1e6} {
		list = append(list, unit(words.English.Duration(n)), unit(words.Russian.Duration(n)))
	}
	for _, n := range []int64{1e3, 1e6, 1e9, 1e12} {
		list = append(list, unit(words.English.Bytes(n)), unit(words.Russian.Bytes(n)))
	}
	for lang := range cfWord {
		list = append(list, cfWord[lang], andMore[lang][0], andMore[lang][1])
	}
	for i, s := range list {
		list[i] = strings.ToLower(s)
	}
	return list
}()

// unit is the text after a number.
func unit(s string) string { _, u, _ := strings.Cut(s, " "); return u }

// newHints returns the hints for a text in lower case, nil if they would say nothing.
func (l *List) newHints(text string, lang words.Lang) *hints {
	var runs []string
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if !slices.ContainsFunc(loose, func(s string) bool { return strings.Contains(s, run) }) {
			runs = append(runs, run)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	slices.SortFunc(runs, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	runs = runs[:min(len(runs), maxRuns)]
	in := func(s string) (bits uint8) {
		s = strings.ToLower(s)
		for i, run := range runs {
			if strings.Contains(s, run) {
				bits |= 1 << i
			}
		}
		return bits
	}
	named := func(s string) uint8 { return in(oneLine(s)) }
	h := &hints{all: uint8(1<<len(runs) - 1), names: map[int]map[trace.Name]uint8{}}
	var texts func(list []segment) uint8
	texts = func(list []segment) (bits uint8) {
		for i := range list {
			bits |= in(list[i].text) | texts(list[i].group)
		}
		return bits
	}
	for k := range h.fixed {
		h.fixed[k] = texts(sentences[k][lang])
	}
	for i := range reasons {
		h.reasons[i] = named(reasons[i][lang])
	}
	for i := range l.titles {
		h.sites = append(h.sites, in(l.titles[i].text[lang]))
	}
	for i := range l.m.Codes {
		c := &l.m.Codes[i]
		h.codes = append(h.codes, named(c.Name)|in(c.Kind.String()))
	}
	for number, n := range l.nodes {
		names := map[trace.Name]uint8{}
		n.defs.EachName(func(name trace.Name, s string) {
			if bits := named(s); bits != 0 {
				names[name] = bits
			}
		})
		h.names[number] = names
	}
	return h
}

// possible reports whether the sentence of an event may hold all runs.
func (h *hints) possible(l *List, e *events, k trace.Kind, args []uint64) bool {
	if k >= trace.FirstUserKind || standard[k] == nil {
		return true
	}
	found := h.fixed[k]
	if found == h.all {
		return true
	}
	names := h.names[e.number]
	df := func(v uint64) uint8 {
		if len(names) == 0 {
			return 0
		}
		var space [8]int64
		name, _, _ := e.defs.DF(trace.DF(v), space[:0])
		return names[name]
	}
	for i, f := range standard[k].spec.Fields {
		switch f.Type {
		case trace.FieldCF:
			if cf := l.m.FindCF(trace.CF(args[i])); cf != 0 {
				found |= h.sites[l.m.SiteOf[cf]]
			}
		case trace.FieldDF:
			found |= df(args[i])
		case trace.FieldDFs:
			list := args[i+1:]
			for _, v := range list[:min(len(list), listed+1)] {
				found |= df(v)
			}
		case trace.FieldSite:
			found |= h.codes[l.m.CodeAt(e.number, args[i])]
		case trace.FieldReason:
			if args[i] < uint64(len(reasons)) {
				found |= h.reasons[args[i]]
			}
		case trace.FieldName:
			found |= names[trace.Name(args[i])]
		}
		if found == h.all {
			return true
		}
	}
	return false
}
