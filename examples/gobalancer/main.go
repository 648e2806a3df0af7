// Gobalancer is a whyslow with one more balancer: every idle node gets a CF from the node with most to do.
//
//	go build -o build/mywhyslow ./examples/gobalancer
//	build/mywhyslow run -n 4 -w 1 --balance=greedy_balancer_module examples/uneven/uneven.fa 16 40 10 4
package main

import (
	"time"

	"github.com/whyslow/whyslow/cli"
	"github.com/whyslow/whyslow/prof"
)

func main() { cli.Main() }

func init() {
	prof.RegisterModule(prof.ModuleInfo{
		Name:   "greedy_balancer_module",
		Doc:    "gives every idle node a CF from the node with most to do",
		Output: "nothing but its decisions: GlobalEvents.onBalanced",
		Cost:   "a microsecond a period and node",
		Params: []prof.Param{{Name: "period", Default: 1.0, Doc: "milliseconds from one decision to the next"}},
		New:    func() prof.Module { return &greedy{} },
	})
}

// greedy is the module. One goroutine calls Balance, so it needs no lock.
type greedy struct{ period time.Duration }

func (g *greedy) Start(h *prof.Host) error {
	g.period = time.Duration(h.Float("period") * float64(time.Millisecond))
	return nil
}

func (g *greedy) Finish() error { return nil }

func (g *greedy) Period() time.Duration { return g.period }

func (g *greedy) Balance(r prof.Runtime) {
	var loads []prof.Load
	busiest := 0
	for n := range r.Nodes() {
		loads = append(loads, r.Load(n))
		if loads[n].AheadNS > loads[busiest].AheadNS {
			busiest = n
		}
	}
	work := loads[busiest].Work
	for n, l := range loads {
		if l.Idle < l.Workers || len(work) == 0 {
			continue
		}
		w := &work[0]
		if time.Duration(w.MeanNS) < 2*r.Carry(w.Bytes/w.CFs) {
			return // the way there and back would take longer
		}
		r.Move(prof.Move{Code: w.Code, Class: w.Class, From: busiest, To: n, CFs: 1,
			AheadNS: loads[busiest].AheadNS, ThereNS: l.AheadNS})
		if w.CFs--; w.CFs == 0 {
			work = work[1:]
		}
	}
}
