package critical

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// Write writes a result as text: the steps of the path, one line each,
//
//	FROM TO KIND FACTOR.PART NODE.WORKER CF <- DF (REASON)
//
// (a step on a link has no worker), then its sums, the bounds and the slack, with times in nanoseconds since
// the start of the run. It is what the tests are written in.
func Write(w io.Writer, r *Result) error {
	out := bufio.NewWriter(w)
	for _, m := range r.Missing {
		fmt.Fprintf(out, "missing %s null %v doubt %v\n", m.Event, m.Null, m.Doubt)
	}
	if p := r.Path; p != nil {
		for i := range p.Steps {
			p.writeStep(out, p.Named(&p.Steps[i]))
		}
		fmt.Fprintf(out, "path length %d tail %d cfs %d structured %d\n", p.LengthNS, p.TailNS, p.CFs,
			p.Structured)
		for _, v := range p.Parts {
			fmt.Fprintf(out, "part %s %d in %d\n", v.Name, v.NS, v.Count)
		}
		for _, f := range p.Fragments {
			fmt.Fprintf(out, "code %s %d of %d: U %d S %d L %s O %s W %d loss %d\n",
				orDash(f.Code), f.NS, f.Count, f.Factors.NS[slou.FactorU], f.Factors.NS[slou.FactorS],
				orUnknown(f.Factors.Of(slou.FactorL)), orUnknown(f.Factors.Of(slou.FactorO)),
				f.Factors.NS[slou.FactorW], f.Factors.NS[slou.FactorLoss])
		}
		for _, v := range p.Reasons {
			fmt.Fprintf(out, "reason %s %d in %d", v.Reason, v.NS, v.Count)
			if v.ReadyNS > 0 {
				fmt.Fprintf(out, " ready %d", v.ReadyNS)
			}
			fmt.Fprintln(out)
		}
	}
	if k := r.Work; k != nil {
		fmt.Fprintf(out, "work T1 %d Tinf %d", k.T1NS, k.TinfNS)
		if k.TinfLinksNS != nil {
			fmt.Fprintf(out, " with links %d", *k.TinfLinksNS)
		}
		fmt.Fprintf(out, " parallelism %.3f helpful %d lost %d chain of %d:", k.Parallelism, k.HelpfulWorkers,
			k.LostNS, k.ChainCFs)
		for _, c := range k.Chain {
			fmt.Fprintf(out, " %s %d", c.Code, c.NS)
		}
		fmt.Fprintln(out)
		for _, b := range k.Bounds {
			fmt.Fprintf(out, "workers %d least %d greedy %d speedup %.3f %.3f", b.Workers, b.LeastNS,
				b.GreedyNS,
				b.Speedup, b.Greedy)
			if b.Workers == k.Own.Workers {
				fmt.Fprint(out, " own")
			}
			fmt.Fprintln(out)
		}
	}
	for _, f := range r.Slack {
		fmt.Fprintf(out, "slack %s min %d all %s mean %d sum %d max %d of %d, critical %d, on path %d\n",
			f.Code, f.MinNS, orUnknown(f.AllNS), f.MeanNS, f.SumNS, f.MaxNS, f.Count, f.Critical, f.OnPath)
	}
	return out.Flush()
}

func (p *Path) writeStep(out io.Writer, s NamedStep) {
	fmt.Fprintf(out, "%d %d %s %s", s.FromNS, s.ToNS, s.Kind, s.Name)
	if s.CF != "" {
		if s.Link == "" {
			fmt.Fprintf(out, " %d.%d", s.Node, s.Worker)
		}
		fmt.Fprintf(out, " %s", s.CF)
		if s.DF != "" {
			fmt.Fprintf(out, " <- %s", s.DF)
		}
		fmt.Fprintf(out, " (%s)", s.Reason)
	}
	fmt.Fprintln(out)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func orUnknown(ns *int64) string {
	if ns == nil {
		return "?"
	}
	return strconv.FormatInt(*ns, 10)
}
