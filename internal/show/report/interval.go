package report

import (
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/words"
)

// The report on an interval has what divides time: factors, splits, causes, and advice that rests on these.
// What a whole run is needed for is left out, and the summary says so.

// ofIntervals are the analyses of an interval. Patterns are found in the whole run, for the factors.
var ofIntervals = []string{analysisPatterns, analysisSLOU, analysisBlame, analysisAdvice}

// leaveOut notes which analyses an interval does not have.
func (c *computation) leaveOut() {
	if c.Pattern != nil {
		c.Pattern, c.LeftOut = nil, append(c.LeftOut, analysisPatterns)
	}
	for _, a := range analyses {
		if !slices.Contains(ofIntervals, a.name) && !(a.ofCFs && slou.OnlyRegions(c.model)) {
			c.LeftOut = append(c.LeftOut, a.name)
		}
	}
}

// interval is the part of the run that the report is about, nil if that is all of it.
func (a *Everything) interval() *slou.Interval {
	if a.SLOU == nil {
		return nil
	}
	return a.SLOU.Interval
}

// leftOut names what the summary says is left out.
var leftOut = []struct {
	analysis string
	name     words.Phrase
}{
	{analysisPatterns, words.Phrase{"PGAS", "PGAS"}},
	{analysisCritical, words.Phrase{"critical path", "критический путь"}},
	{analysisImbalance, words.Phrase{"balance", "равномерность"}},
	{analysisSeries, words.Phrase{"memory and traffic", "память и обмен"}},
	{analysisLifecycle, words.Phrase{"correctness", "правильность"}},
	{analysisForecast, words.Phrase{"advice that runs the program again in simulation",
		"советы, для которых программа исполняется заново в модели"}},
}

// partOnly says that the report is about an interval, and what it lacks.
func (a *author) partOnly(v *slou.Interval) {
	var names []string
	for _, x := range leftOut {
		if slices.Contains(a.LeftOut, x.analysis) {
			names = append(names, x.name.In(a.lang))
		}
	}
	if e := a.Run.Info; e != nil && e.Interval != nil {
		a.para("This trace was exported: it has the interval from %s to %s of the run.",
			words.Time(e.Interval.FromNS), words.Time(e.Interval.ToNS)).In = everywhere
	}
	a.para("Only the interval from %s to %s of %s is reported. Left out, since it needs the whole run: %s.",
		words.Time(v.FromNS), words.Time(v.ToNS), words.Time(a.Run.WallNS), a.listOf(names)).In = everywhere
}
