// Package advise says what to change in a program that was slow: the reasons, each with the numbers it rests
// on and with what mending it would save.
//
// Every rule is a small function that looks at one way to be slow and adds a piece of advice or none:
// starvation.go (too little to do: low parallelism, uneven distribution, wrong order, too many workers),
// latency.go (DFs and CFs on links), overhead.go (the system's work, contention) and traps.go (what LuNA
// programs get wrong); pgas.go has those of runs without CFs. The gain is not the time lost but what is left
// of it after the rest of the program had its say: most rules work the run out again with the fault taken
// away (replay.go), others compare it with what the given number of workers can reach (critical.Work).
//
// Without a model the rules go by the sums of slou.Result alone, as well as these allow.
//
// A rule says each sentence in English and Russian side by side, with the same arguments (words.Say), and
// knows nothing of the language that is wanted.
package advise

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// Input is what is known of a run. SLOU is needed; everything else may be nil: rules that need it are silent
// or work with less.
type Input struct {
	SLOU      *slou.Result
	Model     *model.Model
	Facts     *Facts // those of the model, where the caller has them and not all of the model
	Critical  *critical.Result
	Lifecycle *lifecycle.Result
	Memory    *counters.Memory // bytes held
	Pattern   *pattern.Result  // of a run with regions
}

// Advice is one reason why the program is slow and what to try.
type Advice struct {
	ID string `json:"id"`
	// Title says it in a few words, Text in full, Gain what following it would give. These and Bound are
	// sentences, in English unless In was asked for another language.
	Title string `json:"title"`
	Text  string `json:"text"`
	Gain  string `json:"gain"`
	// Evidence holds the numbers and names the text rests on; keys that end in _ns are nanoseconds.
	Evidence map[string]any `json:"evidence"`
	// GainNS is the processor time that would be saved, GainWallNS by how much sooner the run would end; both 0
	// where it is not time that is saved (Blocking, GainBytes), or nothing is to be saved (start-up).
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

	text, gain, bound words.Text
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
	facts   *Facts  // nil without a model
	replay  *replay // nil without a model, or without U, L or O
	list    []Advice
	weighs  map[string]int64 // of advice that saves nothing: it comes before what saves less than this, ns
}

// Advise gives the reasons why a run was slow, the one with the largest gain first, those that keep it from
// ending before all; none when nearly all time was useful or nothing stands out. Gains overlap: do not add
// them up.
func Advise(in Input) []Advice {
	a := &advisor{Input: in, res: in.SLOU, facts: in.Facts}
	for i := range a.res.Nodes {
		a.workers += int64(len(a.res.Nodes[i].Workers))
	}
	if in.Model != nil && slou.OnlyRegions(in.Model) {
		if in.Pattern != nil && slow(a.res) {
			if a.facts == nil {
				a.facts = factsOf(in)
			}
			a.pgas()
		}
		return a.finished()
	}
	if a.facts == nil && in.Model != nil {
		a.facts = factsOf(in)
	}
	a.stuckLocators()
	a.neverFreed()
	if a.facts != nil {
		a.replay = a.facts.replay
	}
	if slow(a.res) && (a.facts == nil || !a.facts.stuck()) { // else it matters more that it ends than when
		a.oneNode()
		a.distribution()
		a.order()
		a.latency()
		a.migration()
		a.manyNodes()
		a.granularity()
		a.preempted()
		a.extraCores()
		a.contention()
		a.parallelism()
		a.fewerWorkers()
	}
	return a.finished()
}

// sort puts what keeps the program from ending before all, then the largest gain first.
func (a *advisor) sort() {
	slices.SortStableFunc(a.list, func(x, y Advice) int {
		if x.Blocking != y.Blocking {
			if x.Blocking {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(max(y.GainNS, a.weighs[y.ID]), max(x.GainNS, a.weighs[x.ID])),
			cmp.Compare(y.GainBytes, x.GainBytes))
	})
}

// slow tells whether there is something to say about time.
func slow(res *slou.Result) bool {
	u := res.Factors.U
	return res.TotalNS > 0 && (u == nil || float64(u.NS) < goodUseful*float64(res.TotalNS))
}

// add takes up advice if it is worth it. wall is what it saves of the run's time, total of the processors'.
func (a *advisor) add(id string, wall, total int64, bound words.Text, evidence map[string]any,
	text words.Text) {
	total = min(total, a.res.TotalNS)
	if float64(total) < worthwhile*float64(a.res.TotalNS) || total <= 0 {
		return
	}
	a.list = append(a.list, Advice{ID: id, Evidence: evidence, GainNS: total,
		GainWallNS: max(min(wall, a.res.WallNS), 0), text: text, bound: bound})
}

// addWall is add for what makes the run shorter, on the same workers.
func (a *advisor) addWall(id string, wall int64, bound words.Text, evidence map[string]any, text words.Text) {
	a.add(id, wall, wall*a.workers, bound, evidence, text)
}

// addTime is add for processor time that would go, as much on every worker.
func (a *advisor) addTime(id string, total int64, bound words.Text, evidence map[string]any,
	text words.Text) {
	a.add(id, total/max(a.workers, 1), total, bound, evidence, text)
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
	if f := a.fragment(code); f != nil && f.File != "" && f.Line > 0 {
		return fmt.Sprintf("`%s` (%s:%d)", code, f.File, f.Line)
	}
	return "`" + code + "`"
}

// statement is the place of a statement, which is 1 + its number: "mxm.fa:12"; "" where it is not known.
func (a *advisor) statement(site uint32) string {
	if site == 0 {
		return ""
	}
	s := &a.facts.m.Sites[site-1]
	if s.File == "" || s.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// codeOf is the name of the code fragment that a statement calls.
func (a *advisor) codeOf(site uint32) string {
	m := a.facts.m
	return m.Codes[m.Sites[site].Code].Name
}

// top gives the largest cause that fits, its sums taken over all causes with the same key.
func (a *advisor) top(fits func(*slou.Cause) bool, key func(*slou.Cause) [4]string,
	by func(*slou.Cause) int64) (best slou.Cause) {
	sums := map[[4]string]*slou.Cause{}
	var order []*slou.Cause
	for i := range a.res.Causes {
		c := &a.res.Causes[i]
		if !fits(c) {
			continue
		}
		k := key(c)
		s := sums[k]
		if s == nil {
			copied := *c
			s = &copied
			s.NS, s.Count, s.QueuedNS = 0, 0, 0
			sums[k] = s
			order = append(order, s)
		}
		s.NS += c.NS
		s.Count += c.Count
		s.QueuedNS += c.QueuedNS
	}
	for _, s := range order {
		if by(s) > by(&best) {
			best = *s
		}
	}
	return best
}

func lost(c *slou.Cause) int64 { return c.NS }

// ceil is x/y rounded up.
func ceil(x, y int64) int64 { return (x + y - 1) / max(y, 1) }
