package experiment

import (
	"fmt"
	"strings"
)

// What is expected. A time falls or rises within noise when no point breaks the order by more than the runs
// of the two points lie apart, or by a hundredth of the largest total; the ends must differ by much more.

// noise is the least difference between two points that means something, beside that of their runs.
func (e *Experiment) noise() int64 {
	most := int64(0)
	for _, p := range e.Points {
		most = max(most, p.Median().TotalNS)
	}
	return most / 100
}

// falls checks that a time does not grow from point to point; sign -1: does not shrink.
func (e *Experiment) falls(points []*Point, f factor, sign int64) (bool, string) {
	for i := 1; i < len(points); i++ {
		before, apart := points[i-1].median(f)
		after, more := points[i].median(f)
		if sign*(after-before) > max(e.noise(), apart+more) {
			return false, fmt.Sprintf("%s at %s, %s at %s", seconds(before), points[i-1].Label, seconds(after),
				points[i].Label)
		}
	}
	first, _ := points[0].median(f)
	last, _ := points[len(points)-1].median(f)
	return true, fmt.Sprintf("from %s to %s", seconds(first), seconds(last))
}

// share is the median of a factor as a part of all processor time.
func (p *Point) share(f factor) float64 {
	v, _ := p.median(f)
	total, _ := p.median(func(r *Run) int64 { return r.TotalNS })
	return float64(v) / float64(total)
}

func percent(share float64) string { return fmt.Sprintf("%.2f %%", 100*share) }

// nothing checks that a factor is zero in every run.
func (e *Experiment) nothing(claim string, f factor) Check {
	for _, p := range e.Points {
		for i := range p.Runs {
			if v := f(&p.Runs[i]); v != 0 {
				return Check{claim, false, fmt.Sprintf("%s at %s", seconds(v), p.Label)}
			}
		}
	}
	return Check{claim, true, "0 in every run"}
}

// sums checks that what is divided is all there is.
func (e *Experiment) sums() Check {
	const claim = "the factors add up to all processor time, to the nanosecond"
	for _, p := range e.Points {
		for i := range p.Runs {
			if r := &p.Runs[i]; r.Sum() != r.TotalNS {
				return Check{claim, false, fmt.Sprintf("%d ns of %d ns at %s", r.Sum(), r.TotalNS, p.Label)}
			}
		}
	}
	return Check{claim, true, "in every run"}
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
	holds, saw := e.falls(rising, starvation, 1)
	checks := []Check{{fmt.Sprintf("S falls as chains become more, up to one for each of the %d workers",
		workers), holds, saw}}

	idle := 1 - 1/float64(workers)
	one := rising[0].share(starvation)
	checks = append(checks, Check{"a single chain leaves all workers except one without work", one > 0.8*idle,
		fmt.Sprintf("S is %s of all processor time, %s expected", percent(one), percent(idle))})

	worst := after[0]
	for _, p := range after {
		if p.share(starvation) > worst.share(starvation) {
			worst = p
		}
	}
	checks = append(checks, Check{"S is negligible (under 5 %) from then on", worst.share(starvation) < 0.05,
		fmt.Sprintf("%s at most, at %s chains", percent(worst.share(starvation)), worst.Label)})
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
	holds, trend := e.falls(e.Points, f, sign)
	first, last := e.Points[0], e.Points[len(e.Points)-1]
	a, _ := first.median(f)
	b, _ := last.median(f)
	return []Check{{claim, holds, trend}, {"between the ends " + letter + " differs by a factor of 4 or more",
		max(a, b) > 4*min(a, b) && sign*(a-b) > 0,
		fmt.Sprintf(saw, percent(first.share(f)), first.Label, percent(last.share(f)), last.Label)}}
}

// each is O of each CF, without pre-emption.
func each(r *Run) int64 { return overhead(r) / max(r.CFs, 1) }

// judgeOverheadMPI: points of one rank and of two take turns.
func judgeOverheadMPI(e *Experiment) []Check {
	var checks []Check
	var small [2]int64 // by ranks
	for i, on := range []string{"one rank", "two ranks"} {
		var points []*Point
		for _, p := range e.Points {
			if p.Nodes == i+1 {
				points = append(points, p)
			}
		}
		holds, saw := e.falls(points, overhead, 1)
		checks = append(checks, Check{"on " + on + " O, apart from pre-emption, falls as CFs become fewer and " +
			"larger", holds, saw})
		small[i], _ = points[0].median(each)
	}
	return append(checks,
		Check{"a CF costs more if each of its results travels to another process", small[1] > small[0],
			fmt.Sprintf("O of each is %s on one rank, %s on two, at %s", micros(small[0]), micros(small[1]),
				e.Points[1].Label)},
		e.sums())
}

func judgePIC(e *Experiment) []Check {
	one, four := e.Points[0], e.Points[1]
	oneL, _ := one.median(latency)
	fourL, _ := four.median(latency)
	useful := func(r *Run) int64 { return r.UNS }
	same := Check{"the program computes the same result on both", true, "digit by digit"}
	for _, p := range e.Points {
		for i := range p.Runs {
			if p.Runs[i].Output != one.Runs[0].Output {
				same.Holds, same.Saw = false, "other digits on "+p.Label
			}
		}
	}
	return []Check{
		{fmt.Sprintf("L is zero on one %s and is not on four", strings.TrimSuffix(e.Parameter, "s")), oneL == 0 &&
			fourL > 0, fmt.Sprintf("%s and %s", seconds(oneL), seconds(fourL))},
		{"the useful share is smaller on four " + e.Parameter, four.share(useful) < one.share(useful),
			fmt.Sprintf("%s on one, %s on four", percent(one.share(useful)), percent(four.share(useful)))},
		same, e.sums(),
	}
}
