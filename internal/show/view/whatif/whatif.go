// Package whatif tells how a recorded run would go on another machine, for the page.
//
// # How fast
//
// Package simulate takes about a second for three million CFs on one core. Answers come in three steps, each
// when asked for: of a large program, an estimate from a sample; the exact wall time with pictures of what
// workers do; and the factors, for which the predicted run is written as a trace to a temporary folder, read,
// and divided like any other. That takes some twenty times as long as the simulation.
package whatif

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/balance"
	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/words"
)

// Program is a recorded program, ready to be run in virtual time.
type Program struct {
	m       *model.Model
	s       *simulate.Simulator
	sample  *simulate.Sample // nil: the program is small
	again   *simulate.Result // on the recorded machine
	picture *Picture         // as recorded
}

// Largest machine that can be asked for.
const (
	MostNodes   = 4096
	MostWorkers = 1024 // of a node
	mostLanes   = 1 << 16
)

// Why says why there is nothing to predict of a run, and whether that is so.
func Why(m *model.Model, live, whole bool) (why words.Text, is bool) {
	switch {
	case live:
		return words.Say("The run goes on: it can be predicted for other machines when it is over.",
			"Запуск ещё идёт: что было бы на другой машине, можно предсказать, когда он закончится."), true
	case m.Regions != nil:
		return words.Say("This run has operations of threads, not CFs, and only CFs can be run in virtual time.",
			"В этом запуске записаны операции потоков, а не ФВ; в виртуальном времени выполняются только ФВ."), true
	case !whole:
		return words.Say("The trace is too long for the memory that the page may use, and only a whole run can "+
			"be predicted: give --memory, or use whyslow predict.",
			"Трасса не помещается в память, разрешённую странице, а предсказать можно только весь запуск: "+
				"дайте --memory или возьмите whyslow predict."), true
	case m.Executions() == 0:
		return words.Say("No CF was executed, so there is nothing to predict.",
			"Ни один ФВ не выполнялся, предсказывать нечего."), true
	}
	return words.Text{}, false
}

// Bytes is about how much memory the program of a model takes, and each prediction beside it.
func Bytes(m *model.Model) (program, prediction int64) {
	executions, values := int64(m.Executions()), int64(len(m.MadeTime))
	return 120*executions + 60*values, 120*executions + 60*values
}

// Build prepares a program; see Why for those that cannot be. It fails when ctx ends.
func Build(ctx context.Context, m *model.Model) (*Program, error) {
	p := &Program{m: m, picture: recorded(m, all)}
	var err error
	if p.s, err = simulate.New(ctx, m); err != nil {
		return nil, err
	}
	if p.again, err = p.s.Run(ctx, p.s.Recorded()); err != nil {
		return nil, err
	}
	p.sample, err = p.s.Sample(ctx, p.again, simulate.SampleOf)
	return p, err
}

// Facts are what the page needs to ask.
type Facts struct {
	Why        string   `json:"why"` // there is nothing to predict; "": there is
	Nodes      int      `json:"nodes"`
	Workers    int      `json:"workers"` // of each node
	LatencyNS  float64  `json:"latency_ns"`
	Bandwidth  float64  `json:"bandwidth"`  // bytes per second; 0: no limit
	Codes      []string `json:"codes"`      // whose speed can be changed
	Strategies []string `json:"strategies"` // of the balancer, what locators say first
	CFs        int      `json:"cfs"`        // executions
	Sampled    bool     `json:"sampled"`    // there are estimates
	WallNS     int64    `json:"wall_ns"`
	UsefulNS   int64    `json:"useful_ns"`
	Warning    string   `json:"warning"` // about all predictions; "": none
	Picture    *Picture `json:"picture"` // of the recorded run
}

// Facts gives them, with sentences in a language.
func (p *Program) Facts(lang string) *Facts {
	r := p.s.Recorded()
	f := &Facts{Nodes: r.Nodes, Workers: r.Workers, LatencyNS: r.Latency, Bandwidth: r.Bandwidth,
		Codes: p.s.Codes(), Strategies: balance.Names(), CFs: p.again.Executed, Sampled: p.sample != nil,
		WallNS:   p.s.WallNS(),
		UsefulNS: p.again.UsefulNS, Picture: p.picture}
	if f.Codes == nil {
		f.Codes = []string{}
	}
	if w, is := simulate.Missed(f.WallNS, p.again.WallNS); is {
		f.Warning = w.In(words.LangOf(lang))
	}
	return f
}

// Query asks about a machine. Numbers less than 0, and 0 nodes or workers, mean what was recorded.
type Query struct {
	Nodes, Workers int
	LatencyNS      float64
	Bandwidth      float64 // bytes per second; 0: no limit
	Speed          string  // "step=2,larger=0.5": code fragments that are so many times as fast
	Strategy       string  // of the balancer, where it is asked
	From, To       int64   // an interval, for pictures
	Lang           string
}

// machine reads a query. Errors are those of package query.
func (p *Program) machine(q *Query) (m simulate.Machine, err error) {
	m = simulate.Machine{Nodes: q.Nodes, Workers: q.Workers, Latency: q.LatencyNS, Bandwidth: q.Bandwidth,
		Speed: map[string]float64{}}
	for part := range strings.SplitSeq(q.Speed, ",") {
		if part == "" {
			continue
		}
		code, factor, _ := strings.Cut(part, "=")
		v, err := strconv.ParseFloat(factor, 64)
		if err != nil || !(v >= 1e-3 && v <= 1e3) {
			return m, query.Bad("speed=%.80q: give CODE=FACTOR, with a factor from 0.001 to 1000", part)
		}
		if !p.s.Has(code) {
			return m, query.Missing("the program has no code fragment %.80q", code)
		}
		m.Speed[code] = v
	}
	m = p.s.Complete(m)
	if m.Nodes > MostNodes || m.Workers > MostWorkers || m.Nodes*m.Workers > mostLanes ||
		math.IsNaN(m.Latency+m.Bandwidth) {
		return m, query.Bad("%d nodes with %d workers each: the limits are %d, %d, and %d workers in all", m.Nodes,
			m.Workers, MostNodes, MostWorkers, mostLanes)
	}
	return m, nil
}
