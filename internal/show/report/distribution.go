package report

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/whyslow/whyslow/internal/analysis/balance"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/internal/words"
)

// Distribution is what strategies do with a recorded program.
type Distribution struct {
	Program  string `json:"program"`
	Recorded struct {
		Nodes   int   `json:"nodes"`
		Workers int   `json:"workers"` // of each node
		WallNS  int64 `json:"wall_ns"`
	} `json:"recorded"`
	*balance.Result
	// Source are the rules to write for the best distribution; none where the program is not here
	Source []placement.Rule `json:"source,omitempty"`
}

// Rounds is what runs took with the distributions found, one after the other.
type Rounds struct {
	*Distribution         // from the first run
	List          []Round `json:"rounds"` // the first is as the locators say
	Best          int     `json:"best"`   // the fastest, an index into List
}

// Round is a run.
type Round struct {
	Strategy    string `json:"strategy"`
	Trace       string `json:"trace"`
	PredictedNS int64  `json:"predicted_ns"`
	MeasuredNS  int64  `json:"measured_ns"`
}

// Tried writes the rounds for people. Of opt it takes Color and Width.
func Tried(w io.Writer, r *Rounds, lang string, opt Options) error {
	t := newTerminal(w, words.LangOf(lang), opt)
	a := &author{speaker: t.speaker}
	first := r.List[0]
	if len(r.List) == 1 {
		a.para("No strategy is predicted to be faster than the program's locators.").In = everywhere
	} else {
		g := a.table("", "strategy", "#predicted", "#measured", "#saves, predicted", "#saves, measured", "trace")
		g.In, g.Plain = everywhere, true
		saves := func(was, is int64) words.Share { return words.Share{Part: was - is, Whole: max(was, 1)} }
		for _, x := range r.List {
			g.row(x.Strategy, words.Time(x.PredictedNS), words.Time(x.MeasuredNS),
				saves(first.PredictedNS, x.PredictedNS), saves(first.MeasuredNS, x.MeasuredNS), x.Trace)
		}
		if r.Best == 0 {
			a.para("None of them was faster than the program's locators.").In = everywhere
		}
	}
	t.show([]section{{Blocks: a.out}})
	return t.w.Flush()
}

// Distributed writes what strategies do for people. Of opt it takes Color and Width.
func Distributed(w io.Writer, d *Distribution, lang string, opt Options) error {
	t := newTerminal(w, words.LangOf(lang), opt)
	a := &author{speaker: t.speaker}
	rec, m := &d.Recorded, d.Result.Program.Machine
	a.para("%s was recorded on %s with %s each: %s.", d.Program, counted(int64(rec.Nodes), "node"),
		counted(int64(rec.Workers), "worker"), words.Time(rec.WallNS)).In = everywhere
	if m.Nodes != rec.Nodes || m.Workers != rec.Workers {
		a.para("Distributions for %s with %s each:", counted(int64(m.Nodes), "node"),
			counted(int64(m.Workers), "worker")).In = everywhere
	}
	was := max(d.Result.Of(balance.Recorded).Predicted.WallNS, 1)
	g := a.table("", "strategy", "#predicted", "#saves", "#busy", "#messages", "#CFs moved", "#bytes of a node")
	g.In, g.Plain = everywhere, true
	for _, x := range d.Trials {
		p := x.Predicted
		wall := max(p.WallNS, 1)
		size := any(words.Size(x.Memory))
		if x.TooLarge {
			size = a.say("too much: %s", words.Size(x.Memory))
		}
		g.row(x.Strategy, words.Time(p.WallNS), words.Share{Part: was - p.WallNS, Whole: was},
			words.Share{Part: p.UsefulNS, Whole: wall * int64(m.Nodes*m.Workers)}, p.Messages, x.Moved, size)
	}
	told := map[string]bool{}
	for _, x := range d.Trials {
		for _, doubt := range x.Predicted.Doubts {
			if text := doubt.In(t.lang); !told[text] {
				told[text] = true
				a.add(block{Warning: text, In: everywhere})
			}
		}
	}
	if len(d.Source) > 0 {
		a.para("Rules of LuNA that place the program as %s does:", d.Result.Best().Strategy).In = everywhere
	}
	t.show([]section{{Blocks: a.out}})
	for _, r := range d.Source { // to be copied, so they are whole however long
		for _, line := range r.Text {
			fmt.Fprintf(t.w, "%s:%d  %s\n", filepath.Base(r.File), r.Line, line)
		}
		if r.Why != "" {
			fmt.Fprintf(t.w, "%s:%d  %s: %s\n", filepath.Base(r.File), r.Line, r.What, t.phrase(whyNoRule, r.Why))
		}
	}
	return t.w.Flush()
}

// whyNoRule are the reasons of package placement for not writing a rule.
var whyNoRule = map[string]words.Phrase{
	"no expression of its indices gives these nodes": {"no expression of its indices gives these nodes",
		"никакое выражение от индексов не даёт этих узлов"},
	"several names are called so": {"several names are called so", "так называется несколько имён"},
	"a macro writes its rules":    {"a macro writes its rules", "его правила пишет макрос"},
}
