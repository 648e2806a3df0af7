package report

import (
	"io"
	"math"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/words"
)

// Prediction is what is foretold of a recorded program, on one or more machines.
type Prediction struct {
	Program  string `json:"program"`
	Recorded struct {
		Nodes   int   `json:"nodes"`
		Workers int   `json:"workers"` // of each node
		WallNS  int64 `json:"wall_ns"`
		// PredictedNS is what the simulation says of the recorded machine itself.
		PredictedNS int64 `json:"predicted_ns"`
	} `json:"recorded"`
	Costs    simulate.Costs     `json:"costs"`
	Machines []*simulate.Result `json:"machines"`
}

// Predicted writes a prediction for people. Of opt it takes Color and Width.
func Predicted(w io.Writer, p *Prediction, lang string, opt Options) error {
	t := newTerminal(w, words.LangOf(lang), opt)
	a := &author{speaker: t.speaker}
	rec := &p.Recorded
	a.para("%s was recorded on %s with %s each: %s.", p.Program, counted(int64(rec.Nodes), "node"),
		counted(int64(rec.Workers), "worker"), words.Time(rec.WallNS)).In = everywhere
	g := a.table("", "#nodes", "#workers each", "#predicted", "#times as fast", "#busy", "#at least", "")
	g.In, g.Plain = everywhere, true
	g.Heads[6].Bar = 20
	fastest := int64(math.MaxInt64)
	for _, m := range p.Machines {
		fastest = min(fastest, max(m.WallNS, 1))
	}
	for _, m := range p.Machines {
		wall := max(m.WallNS, 1)
		bar := a.bar("u", fastest, wall)
		if len(p.Machines) == 1 {
			bar.Bar = 0
		}
		g.row(m.Nodes, m.Workers, words.Time(m.WallNS), float64(rec.WallNS)/float64(wall),
			words.Share{Part: m.UsefulNS, Whole: wall * int64(m.Nodes*m.Workers)}, words.Time(m.LeastNS), bar)
	}
	if best := simulate.Pays(p.Machines); best != nil {
		a.para("More than %s with %s each gain less than 5 %%.",
			counted(int64(best.Nodes), "node"), counted(int64(best.Workers), "worker")).In = everywhere
	}
	if off, is := simulate.Missed(rec.WallNS, rec.PredictedNS); is {
		a.add(block{Warning: off.In(t.lang), In: everywhere})
	}
	told := map[string]bool{}
	for _, m := range p.Machines {
		for _, d := range m.Doubts {
			if text := d.In(t.lang); !told[text] {
				told[text] = true
				a.add(block{Warning: text, In: everywhere})
			}
		}
	}
	t.show([]section{{Blocks: a.out}})
	return t.w.Flush()
}
