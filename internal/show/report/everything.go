package report

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/blame"
	"github.com/whyslow/whyslow/internal/analysis/compare"
	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/imbalance"
	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Everything is what there is to tell about a run. What is nil was not computed; Failed says why.
type Everything struct {
	SLOU      *slou.Result      `json:"-"`                  // its members are members of the report
	Advice    []advise.Advice   `json:"advice"`             // the largest gain first
	Forecast  *advise.Forecast  `json:"forecast,omitempty"` // nil where no advice can be simulated
	Critical  *critical.Result  `json:"critical"`
	Series    *counters.Result  `json:"series"`
	Lifecycle *lifecycle.Result `json:"lifecycle"`
	Imbalance *imbalance.Result `json:"imbalance"`
	Blame     *blame.Result     `json:"blame"`
	Pattern   *pattern.Result   `json:"pgas,omitempty"` // nil where the run has no regions
	Run       *Run              `json:"run"`
	Failed    []Failure         `json:"failed"`
	// LeftOut names the analyses that say nothing of an interval, only of a whole run.
	LeftOut []string `json:"left_out,omitempty"`

	model    *model.Model
	apart    bool   // its nodes are of several processes or hosts
	language string // of Advice and Warnings
	by       string // the split that the user asked for
}

// Names of the analyses, as in Failure.Analysis.
const (
	analysisSLOU      = "factors"
	analysisCritical  = "critical path"
	analysisSeries    = "series"
	analysisLifecycle = "correctness"
	analysisImbalance = "balance"
	analysisBlame     = "blame"
	analysisAdvice    = "advice"
	analysisForecast  = "simulation"
	analysisPatterns  = "patterns"
)

// Failure is an analysis that could not be done.
type Failure struct {
	Analysis string `json:"analysis"`
	Why      string `json:"why"`
	Err      error  `json:"-"`
}

// Run is what is known of the run without any analysis.
type Run struct {
	Info    *trace.RunInfo `json:"info"`
	WallNS  int64          `json:"wall_ns"`
	Nodes   int            `json:"nodes"`
	Workers int            `json:"workers"`
	// some worker's trace has no end, and what the report is about reaches that
	Killed bool   `json:"killed"`
	Events uint64 `json:"events"` // read
	Lost   uint64 `json:"lost"`   // events known to be lost
	Kinds  []Kind `json:"kinds"`  // of standard events, most first
	// Problems says what could not be read.
	Problems []string `json:"problems"`
}

// Kind counts the events of one kind.
type Kind struct {
	Event string `json:"event"`
	Count uint64 `json:"count"`
}

// Wanted says what Compute is to compute; the zero value is what a report in a terminal needs.
type Wanted struct {
	Rule     slou.Rule
	Splits   []string // as slou.Options.Splits
	By       string   // the one of Splits that the user asked for; "": none
	Windows  int      // how many windows the run is cut into; 0 and no WindowNS: up to 120
	WindowNS int64    // or how long each is
	All      bool     // as lifecycle.Options.All
	Only     []string // the analyses to do, as Comparison; nil: all
	// Within is the part of the run that the report is about; nil: all of it, or what an exported trace has.
	Within *slou.Interval
	// Whole reads the model of the whole run, for what several processes cannot do together. One process need
	// not give it: its model is whole.
	Whole func() (*model.Model, error)
	// Progress, if not nil, gets the step at hand; several goroutines call it.
	Progress func(what string)
}

// Comparison is what a comparison of two runs takes, for Wanted.Only.
var Comparison = []string{analysisPatterns, analysisSLOU, analysisSeries, analysisCritical}

// errNoFactors is why there is no advice.
var errNoFactors = errors.New("it rests on the factors, which could not be computed")

const (
	defaultWindows = 120
	// maxGroups is how many groups of a split are kept apart.
	maxGroups = 1000
)

// settle fills in how many windows there are, and returns their number.
func (w *Wanted) settle(m *model.Model) int {
	if w.Windows == 0 && w.WindowNS == 0 {
		w.Windows = min(defaultWindows, slou.MostWindows(m))
	}
	if w.WindowNS > 0 {
		return int(min((m.Wall()+w.WindowNS-1)/w.WindowNS, 1<<20))
	}
	return w.Windows
}

// analysis is one of those that Compute does.
type analysis struct {
	name  string
	after []string // those whose results it takes
	ofCFs bool     // not done of a run without CFs
	do    func(c *computation, g procs.Group) error
}

// analyses are all there are. Several processes do them one after the other, in this order.
var analyses = []analysis{
	{analysisPatterns, nil, false, func(c *computation, g procs.Group) (err error) {
		c.Pattern, err = pattern.Compute(c.ctx, c.model, g)
		return err
	}},
	{analysisSLOU, []string{analysisPatterns}, false, func(c *computation, g procs.Group) (err error) {
		c.SLOU, err = slou.Compute(c.ctx, c.model, slou.Options{Rule: c.want.Rule,
			Splits: c.want.Splits, MaxGroups: maxGroups, Windows: c.want.Windows, WindowNS: c.want.WindowNS,
			Patterns: c.Pattern, Within: c.want.Within}, g)
		return err
	}},
	{analysisSeries, nil, true, func(c *computation, g procs.Group) (err error) {
		c.Series, err = counters.Compute(c.ctx, c.model, counters.Options{Windows: c.windows}, g)
		return err
	}},
	{analysisCritical, nil, true, func(c *computation, g procs.Group) (err error) {
		c.Critical, err = critical.Compute(c.ctx, c.model, critical.Options{}, g)
		return err
	}},
	{analysisLifecycle, nil, true, func(c *computation, g procs.Group) (err error) {
		c.Lifecycle, err = lifecycle.Compute(c.ctx, c.model, lifecycle.Options{All: c.want.All}, g)
		return err
	}},
	{analysisImbalance, []string{analysisSLOU, analysisSeries}, true,
		func(c *computation, g procs.Group) (err error) {
			c.Imbalance, err = imbalance.Compute(c.ctx, c.model, imbalance.Options{SLOU: c.SLOU, Series: c.Series,
				Rule: c.want.Rule}, g)
			return err
		}},
	{analysisBlame, []string{analysisSLOU}, true, func(c *computation, g procs.Group) (err error) {
		c.Blame, err = blame.Compute(c.ctx, c.model, blame.Options{SLOU: c.SLOU, Patterns: c.Pattern,
			Rule: c.want.Rule, Within: c.want.Within}, g)
		return err
	}},
	{analysisAdvice, []string{analysisSLOU, analysisSeries, analysisCritical, analysisLifecycle}, false,
		(*computation).advise},
	{analysisForecast, []string{analysisAdvice}, false, (*computation).forecast},
}

// computation is Everything in the making.
type computation struct {
	*Everything
	ctx     context.Context
	want    Wanted
	windows int
}

func (c *computation) advise(g procs.Group) (err error) {
	if g.Rank() == 0 && c.SLOU == nil {
		return errNoFactors
	}
	in := advise.Input{Model: c.model, SLOU: c.SLOU, Critical: c.Critical, Lifecycle: c.Lifecycle,
		Pattern: c.Pattern, Part: c.want.Within != nil}
	if c.Series != nil {
		in.Memory = c.Series.Memory
	}
	c.Advice, err = advise.Advise(in, g)
	return err
}

// forecast simulates what advice would give. Rank 0 does it alone.
func (c *computation) forecast(g procs.Group) (err error) {
	if g.Rank() != 0 || c.Advice == nil || c.model.Info.Ended != trace.EndedDone {
		return nil
	}
	whole := c.want.Whole
	switch {
	case g.Size() == 1:
		whole = func() (*model.Model, error) { return c.model, nil }
	case whole == nil:
		return nil
	}
	c.Forecast, err = advise.Predict(c.ctx, c.Advice, c.SLOU, whole)
	return err
}

// Compute does all analyses of a run, several at once. In a group each process calls it with the same
// want and with its model from model.BuildShare; rank 0 gets the result, the same as one process with the
// whole trace would, and the others get nil. A nil group is a group of one. An analysis that fails is noted
// in Everything.Failed and leaves the others alone; an error is returned only when a ctx ends.
func Compute(ctx context.Context, m *model.Model, want Wanted, g procs.Group) (*Everything, error) {
	if g == nil || g.Size() == 1 {
		g = procs.Alone() // its exchanges may be at once
	}
	if want.Within == nil {
		want.Within = slou.Exported(m)
	}
	if want.Within != nil {
		want.Only = ofIntervals
	}
	c := &computation{Everything: &Everything{Run: runOf(m, want.Within), Failed: []Failure{}, model: m,
		apart: apart(m), by: want.By}, ctx: ctx}
	c.windows = want.settle(m)
	c.want = want
	c.all(g)
	slices.SortFunc(c.Failed, func(a, b Failure) int { return cmp.Compare(a.Analysis, b.Analysis) })
	// Interrupted anywhere is interrupted everywhere.
	if err := procs.Together(g, func(procs.Group) error { return ctx.Err() }); err != nil || g.Rank() != 0 {
		return nil, err
	}
	if want.Within != nil {
		c.leaveOut()
	}
	return c.In("en"), nil
}

// wanted are the analyses to be done. A comparison has the figures of memory, though they may be 0.
func (c *computation) wanted() (list []analysis) {
	for _, a := range analyses {
		if only := c.want.Only; only == nil || slices.Contains(only, a.name) {
			a.ofCFs = a.ofCFs && (only == nil || a.name != analysisSeries)
			list = append(list, a)
		}
	}
	return list
}

// do does an analysis.
func (c *computation) do(a *analysis, g procs.Group) error {
	if a.ofCFs && slou.OnlyRegions(c.model) {
		return errNoCFs
	}
	return procs.Together(g, func(g procs.Group) error { return a.do(c, g) })
}

// all does the analyses, those at once that do not wait for each other. Several processes do one after the
// other: all of them must exchange in the same order. So does one whose model is on disk: at once they would
// need more memory, and take each other's pages away.
func (c *computation) all(g procs.Group) {
	done := map[string]chan struct{}{}
	var names []string
	var mu sync.Mutex
	var wg sync.WaitGroup
	list := c.wanted()
	for _, a := range list {
		done[a.name] = make(chan struct{})
		names = append(names, a.name)
	}
	running := slices.Clone(names)
	c.want.tell(running...)
	for i, a := range list {
		if g.Size() > 1 || c.model.OnDisk() {
			a.after = names[:i]
		}
		wg.Go(func() {
			defer close(done[a.name])
			for _, name := range a.after {
				if before := done[name]; before != nil {
					<-before
				}
			}
			err := c.do(&a, g)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				c.Failed = append(c.Failed, Failure{a.name, err.Error(), err})
			}
			running = slices.DeleteFunc(running, func(s string) bool { return s == a.name })
			c.want.tell(running...)
		})
	}
	wg.Wait()
}

// tell says what is being done.
func (w *Wanted) tell(what ...string) {
	if w.Progress != nil && len(what) > 0 {
		w.Progress(strings.Join(what, ", "))
	}
}

// In gives the same with its sentences in another language, "en" or "ru". It shares everything else with a,
// which stays as it is.
func (a *Everything) In(lang string) *Everything {
	other := *a
	other.language = lang
	other.Advice = make([]advise.Advice, len(a.Advice))
	for i := range a.Advice {
		other.Advice[i] = a.Advice[i].In(words.LangOf(lang))
	}
	other.Forecast = a.Forecast.In(words.LangOf(lang))
	if a.Pattern != nil {
		other.Pattern = a.Pattern.In(words.LangOf(lang))
	}
	return &other
}

// failure is an analysis that could not be done, nil if it was.
func (a *Everything) failure(analysis string) *Failure {
	if i := slices.IndexFunc(a.Failed, func(f Failure) bool { return f.Analysis == analysis }); i >= 0 {
		return &a.Failed[i]
	}
	return nil
}

// Compared is the run as one side of a comparison; an error says which analysis failed.
func (a *Everything) Compared(name string) (compare.Run, error) {
	for _, analysis := range Comparison {
		if f := a.failure(analysis); f != nil && !errors.Is(f.Err, errNoCFs) {
			return compare.Run{}, f.Err
		}
	}
	return compare.Run{Name: name, SLOU: a.SLOU, Critical: a.Critical, Series: a.Series, Pattern: a.Pattern}, nil
}

// FactorsError is why the factors could not be computed, nil if they were.
func (a *Everything) FactorsError() error {
	if f := a.failure(analysisSLOU); f != nil {
		return f.Err
	}
	return nil
}

func runOf(m *model.Model, within *slou.Interval) *Run {
	r := &Run{Info: m.Info, WallNS: m.Wall(), Nodes: len(m.Nodes), Workers: m.Workers(),
		Killed: m.Killed && within.Of(m).To >= m.End, Events: m.Events, Lost: m.LostCount,
		Kinds: []Kind{}, Problems: m.Unread()}
	for k, n := range m.Count {
		if n > 0 {
			r.Kinds = append(r.Kinds, Kind{trace.Kind(k).String(), n})
		}
	}
	slices.SortFunc(r.Kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Event, b.Event))
	})
	return r
}
