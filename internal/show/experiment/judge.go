package experiment

import (
	"fmt"
	"slices"
	"strings"
)

// What is expected. The points of an experiment take turns, so what disturbs the machine for a while disturbs
// all points of a round alike: points are compared within rounds. A claim holds if it does by the medians. It
// does not if it fails in every round of several, on a machine that left the program its cores. In between,
// the machine was too busy to say. What is exact, such as sums, is never too busy to say.

// disturbed is the part of the time of running CFs that others may take before nothing can be said.
const disturbed = 0.1

// busy tells whether other programs and threads took the cores from running CFs.
func (e *Experiment) busy() bool {
	var useful, taken int64
	for _, p := range e.Points {
		for i := range p.Runs {
			useful, taken = useful+p.Runs[i].UNS, taken+p.Runs[i].TakenNS
		}
	}
	return float64(taken) > disturbed*float64(useful+taken)
}

// claim is a check of something that holds by the medians, or does not, and in each round likewise.
func (e *Experiment) claim(text, saw string, holds bool, in func(round int) bool) Check {
	c := Check{Claim: text, Holds: holds, Saw: saw, Busy: !holds && (e.busy() || len(e.Points[0].Runs) < 2)}
	for round := range e.Points[0].Runs {
		c.Busy = c.Busy || !holds && in(round)
	}
	return c
}

// noise is the least difference between two points that means something: a hundredth of the largest total.
func (e *Experiment) noise() int64 {
	most := int64(0)
	for _, p := range e.Points {
		most = max(most, p.Median().TotalNS)
	}
	return most / 100
}

// falls checks that a time does not grow from point to point; sign -1: does not shrink.
func (e *Experiment) falls(claim string, points []*Point, f factor, sign int64) Check {
	unsure := Check{}
	for i := 1; i < len(points); i++ {
		before, after := points[i-1], points[i]
		grows := func(round int) bool { return sign*(f(&after.Runs[round])-f(&before.Runs[round])) > e.noise() }
		var differences []int64
		for round := range before.Runs {
			differences = append(differences, sign*(f(&after.Runs[round])-f(&before.Runs[round])))
		}
		slices.Sort(differences)
		c := e.claim(claim, fmt.Sprintf("%s at %s, %s at %s", seconds(before.median(f)), before.Label,
			seconds(after.median(f)), after.Label), differences[(len(differences)-1)/2] <= e.noise(),
			func(round int) bool { return !grows(round) })
		switch {
		case c.Busy:
			unsure = c
		case !c.Holds:
			return c
		}
	}
	if unsure.Busy {
		return unsure
	}
	return Check{Claim: claim, Holds: true, Saw: fmt.Sprintf("from %s to %s", seconds(points[0].median(f)),
		seconds(points[len(points)-1].median(f)))}
}

// share is the median of a factor as a part of all processor time.
func (p *Point) share(f factor) float64 {
	return float64(p.median(f)) / float64(max(p.median(func(r *Run) int64 { return r.TotalNS }), 1))
}

// share is a factor as a part of all processor time.
func (r *Run) share(f factor) float64 { return float64(f(r)) / float64(max(r.TotalNS, 1)) }

func percent(share float64) string { return fmt.Sprintf("%.2f %%", 100*share) }

// nothing checks that a factor is zero in every run.
func (e *Experiment) nothing(claim string, f factor) Check {
	for _, p := range e.Points {
		for i := range p.Runs {
			if v := f(&p.Runs[i]); v != 0 {
				return Check{Claim: claim, Saw: fmt.Sprintf("%s at %s", seconds(v), p.Label)}
			}
		}
	}
	return Check{Claim: claim, Holds: true, Saw: "0 in every run"}
}

// sums checks that what is divided is all there is.
func (e *Experiment) sums() Check {
	const claim = "the factors add up to all processor time, to the nanosecond"
	for _, p := range e.Points {
		for i := range p.Runs {
			if r := &p.Runs[i]; r.Sum() != r.TotalNS {
				return Check{Claim: claim, Saw: fmt.Sprintf("%d ns of %d ns at %s", r.Sum(), r.TotalNS, p.Label)}
			}
		}
	}
	return Check{Claim: claim, Holds: true, Saw: "in every run"}
}

func judgeStarvation(e *Experiment) []Check {
	workers := int64(e.Points[0].Workers)
	var rising, after []*Point
	for _, p := range e.Points {
		if p.Value <= workers {
			rising = append(rising, p)
		}
		if p.Value >= workers {
			after = append(after, p)
		}
	}
	checks := []Check{e.falls(fmt.Sprintf("S falls as chains become more, up to one for each of the %d workers",
		workers), rising, starvation, 1)}

	idle, one := 1-1/float64(workers), rising[0]
	checks = append(checks, e.claim("a single chain leaves all workers except one without work",
		fmt.Sprintf("S is %s of all processor time, %s expected", percent(one.share(starvation)), percent(idle)),
		one.share(starvation) > 0.8*idle,
		func(round int) bool { return one.Runs[round].share(starvation) > 0.8*idle }))

	worst := after[0]
	for _, p := range after {
		if p.share(starvation) > worst.share(starvation) {
			worst = p
		}
	}
	checks = append(checks, e.claim("S is negligible (under 5 %) from then on",
		fmt.Sprintf("%s at most, at %s chains", percent(worst.share(starvation)), worst.Label),
		worst.share(starvation) < 0.05,
		func(round int) bool { return worst.Runs[round].share(starvation) < 0.05 }))
	return append(checks, e.nothing("L is zero on one node", latency), e.sums())
}

func judgeOverhead(e *Experiment) []Check {
	checks := e.differs(overhead, 1, "O, apart from pre-emption, falls as CFs become fewer and larger", "O",
		"%s of all processor time with %s CFs, %s with %s")
	return append(checks, e.nothing("L is zero on one node", latency), e.sums())
}

func judgeLatency(e *Experiment) []Check {
	return append(e.differs(latency, -1, "L grows with the size of DFs", "L",
		"%s of all processor time with DFs of %s, %s with %s"), e.sums())
}

// differs checks that a factor falls from point to point (sign -1: rises), and much in all.
func (e *Experiment) differs(f factor, sign int64, claim, letter, saw string) []Check {
	first, last := e.Points[0], e.Points[len(e.Points)-1]
	much := func(a, b int64) bool { return max(a, b) > 4*min(a, b) && sign*(a-b) > 0 }
	return []Check{e.falls(claim, e.Points, f, sign), e.claim("between the ends "+letter+
		" differs by a factor of 4 or more",
		fmt.Sprintf(saw, percent(first.share(f)), first.Label, percent(last.share(f)), last.Label),
		much(first.median(f), last.median(f)),
		func(round int) bool { return much(f(&first.Runs[round]), f(&last.Runs[round])) })}
}

// each is O of each CF, without pre-emption.
func each(r *Run) int64 { return overhead(r) / max(r.CFs, 1) }

// judgeOverheadMPI: points of one rank and of two take turns.
func judgeOverheadMPI(e *Experiment) []Check {
	var checks []Check
	var small [2]*Point // by ranks
	for i, on := range []string{"one rank", "two ranks"} {
		var points []*Point
		for _, p := range e.Points {
			if p.Nodes == i+1 {
				points = append(points, p)
			}
		}
		checks = append(checks, e.falls("on "+on+" O, apart from pre-emption, falls as CFs become fewer and larger",
			points, overhead, 1))
		small[i] = points[0]
	}
	return append(checks,
		e.claim("a CF costs more if each of its results travels to another process",
			fmt.Sprintf("O of each is %s on one rank, %s on two, at %s", micros(small[0].median(each)),
				micros(small[1].median(each)), small[1].Label), small[1].median(each) > small[0].median(each),
			func(round int) bool { return each(&small[1].Runs[round]) > each(&small[0].Runs[round]) }),
		e.sums())
}

func judgePIC(e *Experiment) []Check {
	one, four := e.Points[0], e.Points[1]
	oneL, fourL := one.median(latency), four.median(latency)
	useful := func(r *Run) int64 { return r.UNS }
	same := Check{Claim: "the program computes the same result on both", Holds: true, Saw: "digit by digit"}
	for _, p := range e.Points {
		for i := range p.Runs {
			if p.Runs[i].Output != one.Runs[0].Output {
				same.Holds, same.Saw = false, "other digits on "+p.Label
			}
		}
	}
	return []Check{
		{Claim: fmt.Sprintf("L is zero on one %s and is not on four", strings.TrimSuffix(e.Parameter, "s")),
			Holds: oneL == 0 && fourL > 0, Saw: fmt.Sprintf("%s and %s", seconds(oneL), seconds(fourL))},
		e.claim("the useful share is smaller on four "+e.Parameter,
			fmt.Sprintf("%s on one, %s on four", percent(one.share(useful)), percent(four.share(useful))),
			four.share(useful) < one.share(useful),
			func(round int) bool { return four.Runs[round].share(useful) < one.Runs[round].share(useful) }),
		same, e.sums(),
	}
}
