package modules

import (
	"testing"
	"time"

	"github.com/whyslow/whyslow/prof"
)

// plates is a run-time system that remembers what is to move.
type plates struct {
	loads []prof.Load
	moved []prof.Move
}

func (p *plates) Nodes() int                { return len(p.loads) }
func (p *plates) Load(node int) prof.Load   { return p.loads[node] }
func (p *plates) Carry(int64) time.Duration { return 10 * time.Microsecond }
func (p *plates) Move(m prof.Move)          { p.moved = append(p.moved, m) }

// patient is a balancer for which no time passes from one look to the next.
func patient(t *testing.T, name string) *balancer {
	b := use(t, name, nil).Info.New().(*balancer)
	b.period, b.idle = time.Minute, 0.1
	return b
}

// A node that is always busy and one that is always idle: of what is done again and again the part moves that
// leaves them least different, and then nothing more.
func TestBalancerShifts(t *testing.T) {
	for _, name := range []string{CentralName, DiffusionName} {
		p := &plates{loads: []prof.Load{
			{Workers: 1, AheadNS: 1000, Again: []prof.Work{
				{Code: "push", Class: 1, CFs: 1, MeanNS: 1e6, Share: 0.1},
				{Code: "push", Class: 2, CFs: 1, MeanNS: 4e6, Share: 0.4},
				{Code: "push", Class: 3, CFs: 1, MeanNS: 5e6, Share: 0.5},
			}},
			{Workers: 1, Idle: 1},
		}}
		b := patient(t, name)
		for i := 0; i < 500 && len(p.moved) == 0; i++ {
			b.Balance(p)
		}
		if len(p.moved) != 1 || !p.moved[0].Next || p.moved[0].From != 0 || p.moved[0].To != 1 {
			t.Fatalf("%s: %+v", name, p.moved)
		}
		p.loads[1].Idle = 0
		b.Balance(p)
		if len(p.moved) != 1 {
			t.Errorf("%s: balanced, and yet %+v", name, p.moved)
		}
	}
}

// What a node does again and again does not move as it is ready if the other node would then have more to do
// than this one; what does not recur does.
func TestBalancerKeepsPlaces(t *testing.T) {
	work := prof.Work{Code: "push", Class: 2, CFs: 1, MeanNS: 90e9, Share: 0.9}
	p := &plates{loads: []prof.Load{{Workers: 1, AheadNS: 200e9, Work: []prof.Work{work}}, {Workers: 1, Idle: 1}}}
	b := patient(t, CentralName)
	for range 20 {
		b.Balance(p)
	}
	if len(p.moved) > 0 {
		t.Errorf("moved %+v", p.moved)
	}
	p.loads[0].Work[0].Share = 0
	b.Balance(p)
	if len(p.moved) != 1 {
		t.Errorf("moved %+v", p.moved)
	}
}
