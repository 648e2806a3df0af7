package imbalance

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// fragments fills in the balance of all code fragments and of each.
func (r *computation) fragments() {
	type place struct {
		code, file string
		line       int
	}
	caused := map[place]int64{}
	for i := range r.slou.Fragments {
		f := &r.slou.Fragments[i]
		caused[place{f.Code, f.File, f.Line}] += f.Caused[slou.FactorS]
	}
	shares := make([]Share, len(r.workers))
	for c := range r.m.Codes {
		f := Fragment{Code: r.m.Codes[c].Name, File: r.m.Codes[c].File, Line: r.m.Codes[c].Line}
		for i, t := range r.workers {
			x := &t.Codes[c]
			shares[i] = Share{Node: t.Node, Worker: t.Worker, Count: x.Count, UsefulNS: x.NS}
			f.LongestNS = max(f.LongestNS, x.Longest)
			f.Count += x.Count
		}
		if f.Count > 0 {
			r.balance(&f, shares, caused[place{f.Code, f.File, f.Line}])
			r.res.Fragments = append(r.res.Fragments, f)
		}
	}
	slices.SortStableFunc(r.res.Fragments, func(a, b Fragment) int {
		waited := 0
		if a.WaitedNS != nil && b.WaitedNS != nil {
			waited = cmp.Compare(*b.WaitedNS, *a.WaitedNS)
		}
		return cmp.Or(waited, cmp.Compare(b.ExcessNS, a.ExcessNS), cmp.Compare(b.UsefulNS, a.UsefulNS),
			cmp.Compare(a.Code, b.Code))
	})
	total := &Fragment{}
	for i, t := range r.workers {
		shares[i] = Share{Node: t.Node, Worker: t.Worker, UsefulNS: t.NS}
		for c := range t.Codes {
			shares[i].Count += t.Codes[c].Count
			total.LongestNS = max(total.LongestNS, t.Codes[c].Longest)
		}
		total.Count += shares[i].Count
	}
	starved := int64(0)
	if s := r.slou.Factors.S; s != nil {
		starved = s.NS
	}
	r.balance(total, shares, starved)
	r.res.Total = total
}

// balance works out the measures of a code fragment from what each worker did and the starvation that it
// caused.
func (r *computation) balance(f *Fragment, shares []Share, starved int64) {
	f.Workers = balanceOf(shares, make([]int, len(shares)))
	var nodes []Share
	var workers []int
	for _, s := range shares {
		if n := len(nodes); n == 0 || nodes[n-1].Node != s.Node {
			nodes, workers = append(nodes, Share{Node: s.Node, Worker: -1}), append(workers, 0)
		}
		n := &nodes[len(nodes)-1]
		n.Count += s.Count
		n.UsefulNS += s.UsefulNS
		workers[len(nodes)-1]++
		f.UsefulNS += s.UsefulNS
	}
	f.Nodes = balanceOf(nodes, workers)
	f.ExcessNS = int64(len(shares))*f.Workers.MaxNS - f.UsefulNS
	f.AchievableNS = max(f.Workers.MeanNS, f.LongestNS)
	if r.slou.Factors.S == nil {
		return
	}
	waited := min(f.ExcessNS, starved)
	f.WaitedNS = &waited
	if r.res.LostNS != nil {
		f.LostShare = ratio(float64(waited), float64(*r.res.LostNS))
	}
}

// balanceOf gives the distribution over workers, or nodes with a number of workers each; 0 stands for a
// worker.
func balanceOf(shares []Share, workers []int) Balance {
	b := Balance{Of: slices.Clone(shares)}
	var ns, count, most float64
	all := 0
	for i, s := range shares {
		n := max(workers[i], 1)
		each := s.UsefulNS / int64(n)
		if i == 0 || each < b.MinNS {
			b.MinNS = each
		}
		if i == 0 || each > b.MaxNS {
			b.MaxNS, b.Most = each, strconv.Itoa(s.Node)
			if s.Worker >= 0 {
				b.Most += "." + strconv.Itoa(s.Worker)
			}
		}
		most = max(most, float64(s.UsefulNS)/float64(n))
		b.MaxCount = max(b.MaxCount, float64(s.Count)/float64(n))
		ns += float64(s.UsefulNS)
		count += float64(s.Count)
		all += n
	}
	if all == 0 {
		return b
	}
	mean := ns / float64(all)
	b.MeanNS, b.MeanCount = int64(mean), count/float64(all)
	if b.Imbalance = ratio(most, mean); b.Imbalance != nil {
		*b.Imbalance = max(*b.Imbalance, 1) // rounded
		percent := 100 * (*b.Imbalance - 1)
		b.Percent = &percent
	}
	return b
}
