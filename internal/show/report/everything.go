package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/blame"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/imbalance"
	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/series"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Everything is what there is to tell about a run. What is nil was not computed; Failed says why.
type Everything struct {
	Run       *Run
	Pattern   *pattern.Result // nil where the run has no regions
	SLOU      *slou.Result
	Critical  *critical.Result
	Series    *series.Result
	Lifecycle *lifecycle.Result
	Imbalance *imbalance.Result
	Blame     *blame.Result
	Advice    []advise.Advice // the largest gain first
	Failed    []Failure

	model *model.Model
	facts *advise.Facts // of the whole run, where model is one of several processes' only
	lang  string        // of Advice and Warnings
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
	Killed  bool           `json:"killed"` // some worker's trace has no end
	Events  uint64         `json:"events"` // read
	Lost    uint64         `json:"lost"`   // events known to be lost
	Kinds   []Kind         `json:"kinds"`  // of standard events, most first
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
	DataInputsOnly bool     // as slou.Options.DataInputsOnly
	Splits         []string // as slou.Options.Splits
	Windows        int      // how many windows the run is cut into; 0 and no WindowNS: 120
	WindowNS       int64    // or how long each is
	All            bool     // as lifecycle.Options.All
	Merged         bool     // ComputeShare does in one process, too, only what several do
	Lang           string   // of advice and warnings: "en" or "ru"; anything else is "en"
	// Progress, if not nil, is told what is being done; by several goroutines.
	Progress func(what string)
}

const (
	defaultWindows = 120
	// maxGroups is how many groups of a split are told apart.
	maxGroups = 1000
)

// settle fills in how many windows there are, and returns their number.
func (w *Wanted) settle(m *model.Model) int {
	if w.Windows == 0 && w.WindowNS == 0 {
		w.Windows = defaultWindows
	}
	if w.WindowNS > 0 {
		return int(min((m.Wall()+w.WindowNS-1)/w.WindowNS, 1<<20))
	}
	return w.Windows
}

func (w *Wanted) slou() slou.Options {
	return slou.Options{DataInputsOnly: w.DataInputsOnly, Splits: w.Splits, MaxGroups: maxGroups, Windows: w.Windows, WindowNS: w.WindowNS}
}

// Compute does all analyses of a run, several at once. One that fails is noted in Everything.Failed and leaves the others
// alone; an error is returned only when ctx ends.
func Compute(ctx context.Context, m *model.Model, want Wanted) (*Everything, error) {
	windows := want.settle(m)
	all := &Everything{Run: runOf(m), model: m, lang: want.Lang}
	jobs := []job{
		{analysisPatterns, nil, func() (err error) {
			all.Pattern, err = pattern.Compute(ctx, m, pattern.Options{}, procs.Alone())
			return err
		}},
		{analysisSLOU, []string{analysisPatterns}, func() (err error) {
			opt := want.slou()
			opt.Patterns = all.Pattern
			all.SLOU, err = slou.Compute(ctx, m, opt, procs.Alone())
			return err
		}},
		{analysisSeries, nil, all.needCFs(func() (err error) {
			all.Series, err = series.Compute(ctx, m, series.Options{Windows: windows})
			return err
		})},
		{analysisCritical, nil, all.needCFs(func() (err error) {
			all.Critical, err = critical.Compute(ctx, m, critical.Options{}, procs.Alone())
			return err
		})},
		{analysisLifecycle, nil, all.needCFs(func() (err error) {
			all.Lifecycle, err = lifecycle.Compute(ctx, m, lifecycle.Options{All: want.All}, nil)
			return err
		})},
		{analysisImbalance, []string{analysisSLOU, analysisSeries}, all.needCFs(func() (err error) {
			all.Imbalance, err = imbalance.Compute(ctx, m, imbalance.Options{SLOU: all.SLOU, Series: all.Series, DataInputsOnly: want.DataInputsOnly}, procs.Alone())
			return err
		})},
		{analysisBlame, []string{analysisSLOU}, all.needCFs(func() (err error) {
			all.Blame, err = blame.Compute(ctx, m, blame.Options{SLOU: all.SLOU, Patterns: all.Pattern, DataInputsOnly: want.DataInputsOnly}, procs.Alone())
			return err
		})},
		{analysisAdvice, []string{analysisSLOU, analysisSeries, analysisCritical, analysisLifecycle}, func() error {
			if all.SLOU == nil {
				return errNoFactors
			}
			all.advise()
			return nil
		}},
	}
	all.Failed = runAll(jobs, want.Progress)
	return all, ctx.Err()
}

func (a *Everything) advise() {
	in := advise.Input{SLOU: a.SLOU, Model: a.model, Facts: a.facts, Critical: a.Critical, Lifecycle: a.Lifecycle,
		Pattern: a.Pattern, Lang: a.lang}
	if a.Series != nil {
		in.Memory = a.Series.Memory
	}
	a.Advice = advise.Advise(in)
}

// In gives the same in another language, "en" or "ru": only the advice is worked out anew. It shares everything else with a,
// which stays as it is.
func (a *Everything) In(lang string) *Everything {
	if words.LangOf(lang) == words.LangOf(a.lang) {
		return a
	}
	other := *a
	other.lang = lang
	if len(a.Advice) > 0 {
		other.advise()
	}
	return &other
}

// job is one analysis.
type job struct {
	name  string
	after []string // the jobs whose results it takes
	do    func() error
}

// runAll does jobs, several at once, and tells which failed. progress, if not nil, is told which are under way.
func runAll(jobs []job, progress func(string)) (failed []Failure) {
	done := map[string]chan struct{}{}
	var running []string
	for _, j := range jobs {
		done[j.name] = make(chan struct{})
		running = append(running, j.name)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	tell := func() {
		if progress != nil && len(running) > 0 {
			progress(strings.Join(running, ", "))
		}
	}
	tell()
	for _, j := range jobs {
		wg.Go(func() {
			defer close(done[j.name])
			for _, name := range j.after {
				<-done[name]
			}
			err := guarded(j.do)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, Failure{j.name, err.Error(), err})
			}
			running = slices.DeleteFunc(running, func(s string) bool { return s == j.name })
			tell()
		})
	}
	wg.Wait()
	sortFailures(failed)
	return failed
}

func sortFailures(list []Failure) {
	slices.SortFunc(list, func(a, b Failure) int { return cmp.Compare(a.Analysis, b.Analysis) })
}

// guarded makes a panic in an analysis an error: the others are worth having.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	return do()
}

// FactorsError is why the factors could not be computed, nil if they were.
func (a *Everything) FactorsError() error {
	for _, f := range a.Failed {
		if f.Analysis == analysisSLOU {
			return f.Err
		}
	}
	return nil
}

func runOf(m *model.Model) *Run {
	r := &Run{Info: m.Info, WallNS: m.Wall(), Nodes: len(m.Nodes), Workers: m.Workers(), Killed: m.Killed, Events: m.Events, Lost: m.LostCount,
		Kinds: []Kind{}, Problems: append([]string{}, m.Problems...)}
	for k, n := range m.Count {
		if n > 0 {
			r.Kinds = append(r.Kinds, Kind{trace.Kind(k).String(), n})
		}
	}
	slices.SortFunc(r.Kinds, func(a, b Kind) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Event, b.Event)) })
	return r
}
