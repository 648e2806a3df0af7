package whatif

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/balance"
	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/model/query"
)

// mostLabels is how many labels a profile lists, those that take most time.
const mostLabels = 1000

// Profile tells of every code fragment and label what its CFs cost, and where they are.
type Profile struct {
	Codes  []Row `json:"codes"`  // by time, most first
	Labels []Row `json:"labels"` // likewise
	More   int   `json:"more"`   // labels that are not listed
	// Strategy is that of the balancer's distribution, WallNS what is predicted for it; "": the balancer was not
	// asked.
	Strategy string   `json:"strategy"`
	WallNS   int64    `json:"wall_ns"`
	Picture  *Picture `json:"picture"` // of the run so distributed; nil: the balancer was not asked
}

// Trial is a strategy of the balancer, tried on a machine.
type Trial struct {
	Strategy string `json:"strategy"`
	WallNS   int64  `json:"wall_ns"`
	Moved    int    `json:"moved"`        // CFs that it puts on another node than locators
	Memory   int64  `json:"memory_bytes"` // the most that a node holds of DFs
	Left     int    `json:"left"`         // executions that never get what they need
}

// Row sums up the CFs of a code fragment or label. Times are those of user code in nanoseconds.
type Row struct {
	Code    int     `json:"code"`
	Title   string  `json:"title"`
	Count   int     `json:"count"` // executions
	NS      int64   `json:"ns"`
	Bytes   int64   `json:"bytes"`   // of the DFs that it makes
	Traffic int64   `json:"traffic"` // bytes of its inputs that were on other nodes
	Ran     []Place `json:"ran"`     // the node with most of its time first
	Put     []Place `json:"put"`     // by the balancer
}

// Place is how much of a row's time is on a node.
type Place struct {
	Node int   `json:"node"`
	NS   int64 `json:"ns"`
}

// Profile profiles the recorded run. It fails as Predict does.
func (p *Program) Profile(ctx context.Context, q Query) (*Profile, error) {
	if _, err := p.machine(&q); err != nil {
		return nil, err
	}
	return p.profile(ctx, nil)
}

// Try tells what a strategy of the balancer gains on a machine. It fails as Predict does.
func (p *Program) Try(ctx context.Context, q Query) (*Trial, error) {
	_, t, err := p.try(ctx, &q)
	if err != nil {
		return nil, err
	}
	return &Trial{t.Strategy, t.Predicted.WallNS, t.Moved, t.Memory, t.Predicted.Left}, nil
}

// Balance is Profile that also tells where a strategy of the balancer puts everything on a machine.
func (p *Program) Balance(ctx context.Context, q Query) (*Profile, error) {
	m, t, err := p.try(ctx, &q)
	if err != nil {
		return nil, err
	}
	m.Place = t.Place
	picture, r, err := p.watched(ctx, m, all)
	if err != nil {
		return nil, err
	}
	place := t.Place
	if place == nil {
		place = p.s.Located(m.Nodes)
	}
	a, err := p.profile(ctx, place)
	if err == nil {
		a.Strategy, a.WallNS, a.Picture = t.Strategy, r.WallNS, picture
	}
	return a, err
}

func (p *Program) try(ctx context.Context, q *Query) (simulate.Machine, *balance.Trial, error) {
	m, err := p.machine(q)
	if err != nil {
		return m, nil, err
	}
	if !slices.Contains(balance.Names(), q.Strategy) {
		return m, nil, query.Bad("strategy=%.80q: one of %s", q.Strategy, strings.Join(balance.Names(), ", "))
	}
	r, err := balance.Compute(ctx, p.s, balance.Options{Machine: m, Only: []string{q.Strategy}})
	if err != nil {
		return m, nil, err
	}
	return m, r.Of(q.Strategy), nil
}

// profile sums up; put is where the balancer puts the program, nil: it was not asked.
func (p *Program) profile(ctx context.Context, put *simulate.Placement) (*Profile, error) {
	tasks := p.s.Tasks()
	ran := p.s.Located(p.s.Recorded().Nodes)
	codes, labels := map[int]*sum{}, map[string]*sum{}
	for x := range tasks.Executions() {
		if x&0xffff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		cf, _ := tasks.CF(x)
		if !p.m.Atomic(cf) {
			continue
		}
		code, title := p.m.CodeOf(cf), p.m.CFTitle(cf)
		a, b := codes[code], labels[title]
		if a == nil {
			a = newSum(code, p.m.Codes[code].Name)
			codes[code] = a
		}
		if b == nil {
			b = newSum(code, title)
			labels[title] = b
		}
		for _, s := range []*sum{a, b} {
			s.Count++
			s.NS += tasks.Own(x)
			for _, v := range tasks.Outputs(x) {
				s.Bytes += tasks.Size(v)
			}
			for _, v := range tasks.Inputs(x) {
				if v != 0 && ran.Values[v] != ran.Executions[x] {
					s.Traffic += tasks.Size(v)
				}
			}
			s.ran[ran.Executions[x]] += tasks.Own(x)
			if put != nil {
				s.put[put.Executions[x]] += tasks.Own(x)
			}
		}
	}
	a := &Profile{Codes: rows(codes), Labels: rows(labels)}
	if n := len(a.Labels); n > mostLabels {
		a.Labels, a.More = a.Labels[:mostLabels], n-mostLabels
	}
	return a, nil
}

// sum is a row whose places are not in order yet.
type sum struct {
	Row
	ran, put map[uint16]int64
}

func newSum(code int, title string) *sum {
	return &sum{Row{Code: code, Title: title}, map[uint16]int64{}, map[uint16]int64{}}
}

func rows[K comparable](sums map[K]*sum) []Row {
	list := make([]Row, 0, len(sums))
	for _, s := range sums {
		s.Ran, s.Put = places(s.ran), places(s.put)
		list = append(list, s.Row)
	}
	slices.SortFunc(list, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Title, b.Title))
	})
	return list
}

func places(by map[uint16]int64) []Place {
	list := []Place{}
	for node, ns := range by {
		list = append(list, Place{int(node), ns})
	}
	slices.SortFunc(list, func(a, b Place) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Node, b.Node))
	})
	return list
}
