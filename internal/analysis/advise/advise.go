// Package advise says why a program was slow and what to change, each reason with its numbers and with what
// mending it would save.
//
// Every rule is a function that looks at one way to be slow and adds a piece of advice or none: starvation.go
// (low parallelism, uneven distribution, wrong order, too many workers), latency.go (DFs and CFs on links),
// overhead.go (the system's work, contention), traps.go (what LuNA programs get wrong) and pgas*.go (runs
// without CFs). The gain is not the time lost but how much shorter the run would be: most rules work the run
// out again without the fault (replay.go), others compare it with what so many workers can reach
// (critical.Work). What needs a replay is not said without one: so an interval of a run has only advice that
// rests on its factors and causes.
package advise

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Input is what is known of a run. Model and SLOU are needed; everything else may be nil: rules that need it
// are silent or work with less. In a group of processes each gives its model, and rank 0 the rest.
type Input struct {
	Model     *model.Model
	SLOU      *slou.Result
	Critical  *critical.Result
	Lifecycle *lifecycle.Result
	Memory    *counters.Memory // bytes held
	Pattern   *pattern.Result  // of a run with regions
	// Part: SLOU is of a part of the run (slou.Options.Within). Then only rules speak that rest on nothing else.
	Part bool
	// Prepared is what Prepare has made of the same model for parts of the run; nil: it is made.
	Prepared *Prepared
}

// Advice is one reason why the program is slow and what to try.
type Advice struct {
	ID string `json:"id"`
	// Title says it in a few words, Text in full, Gain what following it would give. These and Bound are in
	// English unless In was asked for another language.
	Title string `json:"title"`
	Text  string `json:"text"`
	Gain  string `json:"gain"`
	// Evidence holds the numbers and names the text rests on; keys that end in _ns are nanoseconds.
	Evidence map[string]any `json:"evidence"`
	// GainNS is the processor time that would be saved, GainWallNS by how much sooner the run would end; 0 where
	// no time is saved (Blocking, GainBytes, start-up).
	GainNS     int64 `json:"gain_ns"`
	GainWallNS int64 `json:"gain_wall_ns"`
	// GainBytes is by how much less memory the DFs would take at their peak.
	GainBytes int64 `json:"gain_bytes,omitempty"`
	// Bound is a sentence: what the gain rests on, and what would limit it.
	Bound string `json:"bound"`
	// Blocking: the program cannot end until this is mended.
	Blocking bool `json:"blocking,omitempty"`
	// Share is the gain as a part of the run's time, or else of the processors', from 0 to 1.
	Share float64 `json:"share"`
	// PredictedWallNS is how long the run would take by a simulation (Predict), and Predicted says so; 0 and ""
	// where it was not simulated.
	PredictedWallNS int64  `json:"predicted_wall_ns,omitempty"`
	Predicted       string `json:"predicted,omitempty"`

	text, gain, bound words.Text
	predicted         words.Text
	ranks             bool    // the title speaks of ranks, not of threads
	tasks             bool    // the title speaks of tasks, not of CFs
	remedy            *remedy // nil: it cannot be simulated
	weighs            int64   // ns; advice that saves nothing comes before what saves less than this
}

const (
	goodUseful = 0.95 // above this share of useful work nothing is said about time
	worthwhile = 0.05 // a reason must explain at least this share of all time
)

// advisor holds what the reasons are worked out from.
type advisor struct {
	Input
	res     *slou.Result
	workers int64
	atOnce  int64 // how many of them can be at work at a time: there may be fewer cores
	facts   *facts
	replay  *replay // nil without U, L or O
	late    *late   // nil: see lateStarts
	list    []Advice

	crowd      *crowd // see crowded
	crowdKnown bool
}

// Advise gives the reasons why a run was slow: first those that keep it from ending, then the largest gain.
// There are none when nearly all time was useful or nothing stands out. Gains overlap: do not add them up.
// All members of g call it, each with its model from model.BuildShare. Rank 0 gets the advice, the others
// nil.
func Advise(in Input, g procs.Group) ([]Advice, error) {
	if in.Part && in.Prepared != nil {
		f := in.Prepared.facts
		return in.advice(&f), nil
	}
	f, err := gather(in.Model, in.needs(), g)
	if err != nil || g.Rank() != 0 {
		return nil, err
	}
	return in.advice(f), nil
}

func (in Input) advice(f *facts) []Advice {
	a := &advisor{Input: in, res: in.SLOU, facts: f, replay: f.replay}
	for i := range a.res.Nodes {
		a.workers += int64(len(a.res.Nodes[i].Workers))
	}
	a.atOnce = a.workers
	if cores := int64(f.m.SharedCores()); cores > 0 {
		a.atOnce = min(a.atOnce, cores)
	}
	if in.Part {
		a.part()
		return a.finished()
	}
	if slou.OnlyRegions(f.m) {
		if f.need.Regions {
			a.pgas()
		}
		return a.finished()
	}
	a.stuckLocators()
	a.neverFreed()
	// Of a run that does not end it matters more that it does than when; the times of one that was debugged are
	// not the program's.
	if slow(a.res) && f.m.Info.Ended != trace.EndedStuck && len(f.m.Stopped) == 0 {
		a.oneNode()
		a.distribution()
		a.order()
		a.latency()
		a.migration()
		a.manyNodes()
		a.granularity()
		a.offProcessor()
		a.extraCores()
		a.contention()
		if a.openMP() {
			a.serial()
			a.uneven()
			a.ofTasks()
			a.nested()
		}
		if a.ofRanks() && a.Pattern != nil {
			a.ofMessages()
		}
		a.parallelism()
		a.fewerWorkers()
	}
	return a.finished()
}

// sort puts what keeps the program from ending before all, then the largest gain first: by the share that is
// printed, of the run's time or of the processors'.
func (a *advisor) sort() {
	weight := func(x Advice) float64 {
		if x.Blocking {
			return math.Inf(1)
		}
		return max(x.Share, part(a.share(x.weighs)))
	}
	slices.SortStableFunc(a.list, func(x, y Advice) int {
		return cmp.Or(cmp.Compare(weight(y), weight(x)), cmp.Compare(y.GainNS, x.GainNS),
			cmp.Compare(y.GainBytes, x.GainBytes))
	})
}

// slow tells whether there is something to say about time.
func slow(res *slou.Result) bool {
	u := res.Factors.U
	return res.TotalNS > 0 && (u == nil || float64(u.NS) < goodUseful*float64(res.TotalNS))
}

// add takes up advice if it is worth it. wall is what it saves of the run's time, total of the processors'.
// No advice makes the useful work less, so the run never gets shorter than that takes on all cores.
// It gives the advice, or nil.
func (a *advisor) add(id string, wall, total int64, bound words.Text, evidence map[string]any,
	text words.Text) *Advice {
	total = min(total, a.res.TotalNS)
	if float64(total) < worthwhile*float64(a.res.TotalNS) || total <= 0 {
		return nil
	}
	wall = min(wall, a.res.WallNS)
	if u := a.res.Factors.U; u != nil {
		least := ceil(u.NS, max(a.atOnce, 1))
		if wall > a.res.WallNS-least && a.atOnce < a.workers {
			bound = words.Say("%s But the useful work takes at least %s on %s.",
				"%s Но полезная работа занимает не меньше %s на %s.", bound, words.Time(least),
				words.Number{N: a.atOnce, What: words.OnCores})
		}
		wall = min(wall, a.res.WallNS-least)
	}
	a.list = append(a.list, Advice{ID: id, Evidence: evidence, GainNS: total, GainWallNS: max(wall, 0),
		text: text, bound: bound})
	return &a.list[len(a.list)-1]
}

// addWall is add for what makes the run shorter, on the same workers.
func (a *advisor) addWall(id string, wall int64, bound words.Text, evidence map[string]any,
	text words.Text) *Advice {
	return a.add(id, wall, wall*a.workers, bound, evidence, text)
}

// addTime is add for processor time that would go, as much on every worker.
func (a *advisor) addTime(id string, total int64, bound words.Text, evidence map[string]any,
	text words.Text) *Advice {
	return a.add(id, total/max(a.workers, 1), total, bound, evidence, text)
}

// had is the advice of that name that was given, nil if none.
func (a *advisor) had(ids ...string) *Advice {
	for i := range a.list {
		if slices.Contains(ids, a.list[i].ID) {
			return &a.list[i]
		}
	}
	return nil
}

// share is which part of all time that is.
func (a *advisor) share(ns int64) words.Share { return words.Share{Part: ns, Whole: a.res.TotalNS} }

// often is how often something was.
func often(n int64) words.Number { return words.Number{N: n, What: words.Times} }

// fragment gives what is known of a code fragment, nil if it is not there.
func (a *advisor) fragment(code string) *slou.Fragment {
	for i := range a.res.Fragments {
		if a.res.Fragments[i].Code == code {
			return &a.res.Fragments[i]
		}
	}
	return nil
}

// named is a code fragment with its place: "`mult` (mxm.fa:12)".
func (a *advisor) named(code string) string {
	if f := a.fragment(code); f != nil {
		return by("", "", lifecycle.Place{Code: code, File: f.File, Line: f.Line}).In(words.English)
	}
	return "`" + code + "`"
}

// statement is the place of a statement, which is 1 + its number: "mxm.fa:12"; "" where it is not known.
func (a *advisor) statement(site uint32) string {
	if site == 0 {
		return ""
	}
	s := &a.facts.m.Sites[site-1]
	return at(lifecycle.Place{File: s.File, Line: s.Line})
}

// codeOf is the name of the code fragment that a statement calls.
func (a *advisor) codeOf(site uint32) string {
	m := a.facts.m
	return m.Codes[m.Sites[site].Code].Name
}

// top gives the largest cause that fits, its sums taken over all causes with the same key; by gives 0 for
// those that do not fit.
func (a *advisor) top(by func(*slou.Cause) int64, key func(*slou.Cause) [4]string) slou.Cause {
	index := map[[4]string]int{}
	var sums []slou.Cause
	for i := range a.res.Causes {
		c := &a.res.Causes[i]
		if by(c) == 0 {
			continue
		}
		k, known := index[key(c)]
		if !known {
			index[key(c)] = len(sums)
			sums = append(sums, *c)
			continue
		}
		s := &sums[k]
		s.NS, s.Count, s.QueuedNS = s.NS+c.NS, s.Count+c.Count, s.QueuedNS+c.QueuedNS
	}
	best, _ := largest(sums, by)
	if best == nil {
		return slou.Cause{}
	}
	return *best
}

// lost gives the time of causes of a factor and, unless that is "", of a part of it.
func lost(factor, part string) func(*slou.Cause) int64 {
	return func(c *slou.Cause) int64 {
		if c.Factor != factor || part != "" && c.Part != part {
			return 0
		}
		return c.NS
	}
}

// largest gives the first element with most of something, nil if none has any, and the sum of all that have.
func largest[T any](list []T, of func(*T) int64) (best *T, total int64) {
	most := int64(0)
	for i := range list {
		v := of(&list[i])
		if v > most {
			best, most = &list[i], v
		}
		total += max(v, 0)
	}
	return best, total
}

// most gives the key with the largest value above 0, the first by compare where several have it.
func most[K comparable](m map[K]int64, compare func(x, y K) int) (best K, value int64) {
	for k, v := range m {
		if v > value || v == value && v > 0 && compare(k, best) < 0 {
			best, value = k, v
		}
	}
	return best, value
}

// ceil is x/y rounded up.
func ceil(x, y int64) int64 { return (x + y - 1) / max(y, 1) }
