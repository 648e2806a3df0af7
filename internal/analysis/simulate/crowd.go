package simulate

import (
	"math"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// crowd is what the run-time system's own threads (collecting garbage, handling messages, writing the trace)
// take from the workers.
//
// Others than this program may have had the core that a thread waited for, and will not be there again. But
// its own threads will: as far as their CPU time explains what was waited for, that stays part of what was
// measured, and so does what others cannot have caused, having taken less: a kernel may let threads queue
// while another core is idle, and takes time to wake one up. It leaves where every worker gets a core and
// there are some to spare. Where there was a spare core and now is none, their whole CPU time slows the
// workers.
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
	c.cores = m.SharedCores()
	c.full = c.cores > 0 && workers >= c.cores
	if busy <= waited {
		return c
	}
	extra := slou.ExtraCores(m)
	c.extra = float64(extra) / float64(busy-waited)
	if waited > 0 {
		c.own = float64(min(waited, max(extra, waited-others(m)))) / float64(waited)
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

// others is how much processor time other programs took on the cores of a run; where that is not known, all.
func others(m *model.Model) (ns int64) {
	type cores struct{ host, affinity string }
	type load struct{ own, busy, cores int64 }
	loads := map[cores]load{}
	for _, p := range m.Info.Processes {
		if p.Busy == 0 {
			return math.MaxInt64
		}
		l := loads[cores{p.Host, p.Affinity}]
		loads[cores{p.Host, p.Affinity}] = load{l.own + p.CPU, max(l.busy, p.Busy), int64(p.Cores)}
	}
	for _, l := range loads {
		const tick = 10_000_000 // busy may be that much off, of each core
		ns += max(0, l.busy-l.own-l.cores*tick)
	}
	return ns
}
