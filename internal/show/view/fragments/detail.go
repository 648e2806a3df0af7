package fragments

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

// DetailQuery selects executions of a code fragment.
type DetailQuery struct {
	Code     int
	From, To int64
	Bins     int // bins of the histogram at most, up to MaxBins; 0: 40
	Node     int // only those that ran there; -1: all
	Longest  int // CFs listed; 0: 20
}

// MaxBins is the highest number of bins of a histogram.
const MaxBins = 1000

// FragmentDetail is the distribution of the times of a code fragment's executions.
type FragmentDetail struct {
	Code int    `json:"code"`
	Name string `json:"name"`
	// that touch; of equal lengths, or of equal ratios where the times differ by more than a factor of 20
	Bins    []Bin     `json:"bins"`
	ByNode  []NodeSum `json:"by_node"` // by node, those that ran any, whatever DetailQuery.Node
	Longest []CFRow   `json:"longest"` // CFs with most time
	CFs     int       `json:"cfs"`     // how many there are in all
}

// Bin counts the executions with From <= time < To, in nanoseconds.
type Bin struct {
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Count int64 `json:"count"`
}

// NodeSum sums up the executions on a node.
type NodeSum struct {
	Node    int   `json:"node"`
	Count   int64 `json:"count"`
	TotalNS int64 `json:"total_ns"`
	MeanNS  int64 `json:"mean_ns"`
}

// Detail returns the distribution of a code fragment's executions. It fails with fs.ErrNotExist where there
// is no such fragment or node, with fs.ErrInvalid where the query makes no sense.
func (x *Index) Detail(q DetailQuery) (*FragmentDetail, error) {
	if q.Bins == 0 {
		q.Bins = 40
	}
	if q.Longest == 0 {
		q.Longest = 20
	}
	if q.Bins < 1 || q.Bins > MaxBins {
		return nil, query.Bad("bins=%d: a histogram has 1 to %d bins", q.Bins, MaxBins)
	}
	if q.Node < -1 || q.Node >= len(x.m.Nodes) {
		return nil, query.Missing("there is no node %d; there are %d, from 0", q.Node, len(x.m.Nodes))
	}
	s, err := x.Interval(q.From, q.To)
	if err := cmp.Or(x.checkCode(q.Code), err); err != nil {
		return nil, err
	}
	d := &FragmentDetail{Code: q.Code, Name: x.m.Codes[q.Code].Name, ByNode: []NodeSum{}, Longest: []CFRow{}}
	byNode := make([]NodeSum, len(x.m.Nodes))
	var here []uint32
	for _, e := range x.started(q.Code, s) {
		id, ok := x.m.WorkerIDOf(int(e))
		if q.Node == -1 || ok && q.Node == id.Node {
			here = append(here, e)
		}
		if v := x.time[e]; v >= 0 && ok {
			byNode[id.Node].Count++
			byNode[id.Node].TotalNS += v
		}
	}
	for i, n := range byNode {
		if n.Count > 0 {
			n.Node, n.MeanNS = i, n.TotalNS/n.Count
			d.ByNode = append(d.ByNode, n)
		}
	}
	d.Bins = histogram(x.times(here), q.Bins)
	cfs := x.cfs(here)
	d.CFs = len(cfs)
	for _, k := range x.longest(cfs, q.Longest) {
		d.Longest = append(d.Longest, x.row(x.m.ExecCF[k.e]))
	}
	return d, nil
}

// TimeOf is the measured time of an execution in nanoseconds; 0 if nothing was measured.
func (x *Index) TimeOf(execution int) int64 { return max(x.time[execution], 0) }

// cfs returns the first of the executions of each CF.
func (x *Index) cfs(executions []uint32) []uint32 {
	out := make([]uint32, 0, len(executions))
	seen := map[model.CF]bool{} // those with several
	for _, e := range executions {
		cf := x.m.ExecCF[e]
		if seen[cf] {
			continue
		}
		if x.m.ExecOf[cf]-1 != e {
			seen[cf] = true
		}
		out = append(out, e)
	}
	return out
}

// keyed is a CF, as one of its executions, with its sort key.
type keyed struct {
	key int64
	e   uint32
}

// longest returns the n CFs with most time; of equal ones, those that started first.
func (x *Index) longest(cfs []uint32, n int) []keyed {
	var top []keyed
	for _, e := range cfs {
		k := keyed{key: -x.Time(x.m.ExecCF[e]), e: e}
		if len(top) == n && k.key >= top[n-1].key {
			continue
		}
		at := sort.Search(len(top), func(i int) bool { return top[i].key > k.key })
		top = slices.Insert(top, at, k)[:min(len(top)+1, n)]
	}
	return top
}

// histogram counts values in at most n bins.
func histogram(values []int64, n int) []Bin {
	if len(values) == 0 {
		return []Bin{}
	}
	least, most := slices.Min(values), slices.Max(values)
	edges := []int64{least}
	ratio := float64(most+1) / float64(max(least, 1))
	for i := 1; i <= n; i++ {
		share := float64(i) / float64(n)
		edge := least + int64(share*float64(most+1-least))
		if ratio > 20 {
			edge = int64(float64(max(least, 1)) * math.Pow(ratio, share))
		}
		if i == n {
			edge = most + 1
		}
		if edge > edges[len(edges)-1] && edge <= most+1 {
			edges = append(edges, edge)
		}
	}
	bins := make([]Bin, len(edges)-1)
	for i := range bins {
		bins[i].From, bins[i].To = edges[i], edges[i+1]
	}
	for _, v := range values {
		i, exact := slices.BinarySearch(edges, v)
		if !exact {
			i--
		}
		bins[i].Count++
	}
	return bins
}

// CFRow is a CF that ran. Times are nanoseconds.
type CFRow struct {
	CF      string  `json:"cf"`
	Title   string  `json:"title"`
	Node    int     `json:"node"`     // where it ran last
	Lane    int     `json:"lane"`     // -1: on no worker
	Start   int64   `json:"start"`    // of its first execution, since the start of the run
	End     *int64  `json:"end"`      // of its last one; nil: it has not ended
	TotalNS int64   `json:"total_ns"` // of all its executions, in the measure of FragmentRow
	WaitNS  int64   `json:"wait_ns"`  // S, L, O and W of its worker before and in it
	Runs    int     `json:"runs"`     // executions
	Weight  float64 `json:"weight"`
}

// row describes a CF.
func (x *Index) row(cf model.CF) CFRow {
	m := x.m
	r := CFRow{CF: m.CFID(cf).String(), Title: m.CFTitle(cf), Node: m.CFID(cf).Node(), Lane: -1,
		Weight: m.Weight(cf), TotalNS: x.Time(cf), WaitNS: x.lost[cf]}
	for e := range m.ExecutionsOf(cf) {
		if r.Runs == 0 {
			r.Start = m.ExecStart[e] - m.Start
		}
		r.Runs++
		r.End = x.t.Since(m.ExecEnd[e])
		if r.Lane = x.t.LaneOf(e); r.Lane >= 0 {
			r.Node = x.t.NodeOf(r.Lane)
		}
	}
	return r
}

// Time is the measured time of all executions of a CF in nanoseconds.
func (x *Index) Time(cf model.CF) int64 {
	sum := int64(0)
	for e := range x.m.ExecutionsOf(cf) {
		sum += max(x.time[e], 0)
	}
	return sum
}

// CFQuery asks for some of the CFs of a code fragment.
type CFQuery struct {
	Code     int
	From, To int64
	// "start", "total", "wait" or "label", with "-" before it the greatest first; "": "start"
	Sort          string
	Offset, Limit int // Limit 0: 100
}

// MaxLimit is the highest number of rows of a page.
const MaxLimit = 10_000

// CFPage is a part of the list of CFs.
type CFPage struct {
	Total  int     `json:"total"`
	Offset int     `json:"offset"`
	Rows   []CFRow `json:"rows"`
}

// CFs lists the CFs of a code fragment that have an execution that started in an interval. It fails as Detail
// does.
func (x *Index) CFs(q CFQuery) (*CFPage, error) {
	if q.Sort == "" {
		q.Sort = "start"
	}
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Offset < 0 || q.Limit < 1 || q.Limit > MaxLimit {
		return nil, query.Bad("offset=%d limit=%d: offset must not be negative, limit be 1 to %d", q.Offset,
			q.Limit, MaxLimit)
	}
	if !slices.Contains([]string{"start", "total", "wait", "label"}, strings.TrimPrefix(q.Sort, "-")) {
		return nil, query.Bad("sort=%q: sort by start, total, wait or label, with - before it the greatest first",
			q.Sort)
	}
	s, err := x.Interval(q.From, q.To)
	if err := cmp.Or(x.checkCode(q.Code), err); err != nil {
		return nil, err
	}
	list := x.ordered(q.Code, s, q.Sort)
	p := &CFPage{Total: len(list), Offset: min(q.Offset, len(list)), Rows: []CFRow{}}
	for _, e := range list[p.Offset:min(p.Offset+q.Limit, len(list))] {
		p.Rows = append(p.Rows, x.row(x.m.ExecCF[e]))
	}
	return p, nil
}

// sort reorders CFs that are sorted by start; equal ones stay sorted by start.
func (x *Index) sort(cfs []uint32, by string) {
	m := x.m
	name, back := strings.CutPrefix(by, "-")
	sign := 1
	if back {
		sign = -1
	}
	if name == "label" {
		slices.SortStableFunc(cfs, func(a, b uint32) int {
			ca, cb := m.ExecCF[a], m.ExecCF[b]
			return sign * cmp.Or(cmp.Compare(m.Sites[m.SiteOf[ca]].Label, m.Sites[m.SiteOf[cb]].Label),
				slices.Compare(m.Label(ca), m.Label(cb)))
		})
		return
	}
	list := make([]keyed, len(cfs))
	for i, e := range cfs {
		list[i].e = e
		switch name {
		case "start":
			list[i].key = m.ExecStart[e]
		case "total":
			list[i].key = x.Time(m.ExecCF[e])
		case "wait":
			list[i].key = x.lost[m.ExecCF[e]]
		}
	}
	slices.SortStableFunc(list, func(a, b keyed) int { return sign * cmp.Compare(a.key, b.key) })
	for i, k := range list {
		cfs[i] = k.e
	}
}

// order is a list of CFs, each by its first execution in the interval.
type order struct {
	code int
	in   Interval
	by   string
}

// maxOrders is how many lists are remembered.
const maxOrders = 8

func (x *Index) ordered(code int, s Interval, by string) []uint32 {
	x.mu.Lock() // so that nobody else makes the same list meanwhile
	defer x.mu.Unlock()
	o := order{code, s, by}
	list, ok := x.orders.Get(o)
	if !ok {
		list = x.cfs(x.started(code, s))
		if by != "start" {
			x.sort(list, by)
		}
		x.orders.Put(o, list)
	}
	return list
}
