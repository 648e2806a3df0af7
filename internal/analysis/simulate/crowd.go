package simulate

import (
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// crowd is what the run-time system's own threads (collecting garbage, handling messages, writing the trace)
// take from the workers.
//
// Others than this program may have had the core that a thread waited for, and will not be there again. But
// its own threads will: as far as their CPU time explains what was waited for, that stays part of what was
// measured. It leaves where every worker gets a core and there are some to spare. Where there was a spare
// core and now is none, their whole CPU time slows the workers.
type crowd struct {
	cores  int     // of the recorded machine; 0: not known
	own    float64 // part of what was waited for a core that is due to these threads
	waited float64 // that, as part of the workers' busy time
	extra  float64 // CPU time of these threads, likewise
	full   bool    // every core had a worker
}

func crowdOf(m *model.Model) (c crowd) {
	workers, measured := 0, false
	var busy, waited int64
	for _, w := range m.AllWorkers() {
		workers++
		measured = measured || w.Measured > 0
		for _, off := range w.Off {
			waited += off.Queued + off.Before
		}
		if w.Started != model.None && w.Finished != model.None {
			busy += w.Finished - w.Started
		}
		for _, idle := range w.Idle {
			busy -= idle.To - idle.From
		}
	}
	if !measured {
		return c // how long CFs waited for a core is part of what they took
	}
	hosts := map[string]int{}
	for i := range m.Processes {
		p := &m.Processes[i]
		hosts[p.Host] = max(hosts[p.Host], p.Cores)
	}
	for _, cores := range hosts {
		c.cores += cores
	}
	c.full = c.cores > 0 && workers >= c.cores
	if busy <= waited {
		return c
	}
	extra := slou.ExtraCores(m)
	c.extra = float64(extra) / float64(busy-waited)
	if waited > 0 {
		c.own = float64(min(waited, extra)) / float64(waited)
		c.waited = c.own * float64(waited) / float64(busy-waited)
	}
	return c
}

// slowdown is how many times as long as recorded everything takes while so many of a machine's workers are
// active.
func (c *crowd) slowdown(active float64, m *Machine) float64 {
	switch spare, crowding := spare(m), active/float64(m.Cores); {
	case spare && c.full:
		return 1 / (1 + c.waited)
	case spare:
		return 1
	case c.full:
		return max(1, crowding)
	default:
		return max(1, crowding*(1+c.extra)/(1+c.waited))
	}
}

// spare tells whether a machine has a core that needs no worker.
func spare(m *Machine) bool { return m.Cores < 0 || m.Cores > m.Nodes*m.Workers }
