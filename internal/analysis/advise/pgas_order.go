package advise

import (
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// Which collectives come right before or after a barrier. A call path counts only if all its calls do, on all
// threads: what may be left out must be so every time.

// order is how often a collective that is called at some place was so, and how long was between at most.
type order struct {
	Calls, Before, After int64 // right before a barrier, right after one
	Between              int64
}

// placeOf names where something is called, as pattern.Result does.
type placeOf struct {
	Name, File string
	Line       int
}

func (o order) plus(v order) order {
	return order{o.Calls + v.Calls, o.Before + v.Before, o.After + v.After, max(o.Between, v.Between)}
}

// isBarrier tells whether a collective ends a barrier.
func isBarrier(c *model.Collective) bool {
	return c.Kind == model.CollectiveBarrier || c.Kind == model.CollectiveWait
}

func (a *advisor) placeOfCall(call int) placeOf {
	c := &a.Pattern.Calls[call]
	return placeOf{a.Pattern.Regions[c.Region].Name, c.File, c.Line}
}

// ordersIn looks at the collectives of the threads of own nodes.
func ordersIn(m *model.Model) map[placeOf]order {
	out := map[placeOf]order{}
	add := func(t *model.Thread, c *model.Collective, o order) {
		s := &m.Sites[t.Site[c.Visit]]
		k := placeOf{m.Codes[s.Code].Name, s.File, s.Line}
		out[k] = out[k].plus(o)
	}
	for i := range m.Regions.Threads {
		t := &m.Regions.Threads[i]
		if !m.Own(t.Node) {
			continue
		}
		var last *model.Collective  // the one before, as a whole
		var begun *model.Collective // the notify of a barrier of two phases
		for k := range t.Collectives {
			c := &t.Collectives[k]
			if c.Visit < 0 {
				last, begun = nil, nil
				continue
			}
			if c.Kind == model.CollectiveNotify {
				begun = c
				continue
			}
			first := c
			if c.Kind == model.CollectiveWait && begun != nil {
				first = begun
			}
			add(t, c, order{Calls: 1})
			if last != nil && sameGroup(last, first) && nothingBetween(m, t, last.Visit, first.Visit) &&
				(first == c || nothingBetween(m, t, first.Visit, c.Visit)) {
				between := t.Enter[first.Visit] - t.Exit[last.Visit]
				if isBarrier(c) && between <= proof {
					add(t, last, order{Before: 1, Between: between})
				}
				if isBarrier(last) && between <= proof {
					add(t, c, order{After: 1, Between: between})
				}
			}
			last, begun = c, nil
		}
	}
	return out
}

func sameGroup(a, b *model.Collective) bool {
	return a.Start == b.Start && a.Stride == b.Stride && a.Size == b.Size
}

// nothingBetween tells that a thread entered no operation between two visits.
func nothingBetween(m *model.Model, t *model.Thread, from, to int32) bool {
	for v := from + 1; v < to; v++ {
		if m.Operation(t.Site[v]) {
			return false
		}
	}
	return true
}

// doubleBarrier: a barrier right after a barrier.
func (a *advisor) doubleBarrier() {
	orders := a.facts.Orders
	best, total, _ := a.costly(func(c *pattern.Collective) int64 {
		if o := orders[a.placeOfCall(c.Call)]; c.Kind != "barrier" || o.Calls == 0 ||
			o.After < o.Calls {
			return 0
		}
		return c.NS
	})
	if best == nil {
		return
	}
	a.addTime("double-barrier", total,
		words.Say("This is all the time in these barriers; without them the threads' next synchronisation comes "+
			"at most that much sooner.", "Это всё время в этих барьерах; без них следующая синхронизация наступит "+
			"раньше самое большее на столько."),
		map[string]any{"call": a.callPath(best.Call), "times": best.Count, "time_ns": best.NS,
			"between_ns": orders[a.placeOfCall(best.Call)].Between}, words.Say(
			"The barrier in %s follows directly after another one every time (%s): it took %s (%s). Remove one "+
				"of them.",
			"Барьер в %s каждый раз (%s) следует сразу за другим, и между ними ничего нет: он занял %s (%s). Уберите "+
				"один из них.",
			a.callPath(best.Call), often(best.Count), words.Time(total), a.share(total)))
}

// relaxExit: a collective waits at its end, and a barrier follows that waits once more.
func (a *advisor) relaxExit() {
	orders := a.facts.Orders
	best, total, _ := a.costly(func(c *pattern.Collective) int64 {
		if o := orders[a.placeOfCall(c.Call)]; !strings.HasSuffix(c.Sync, "/all") || o.Calls == 0 ||
			o.Before < o.Calls {
			return 0
		}
		return c.ExitNS
	})
	if best == nil {
		return
	}
	a.addTime("relax-exit", total,
		words.Say("Threads waited that long at the end of the collective after the first one could leave; part of "+
			"it may move to the barrier.", "Столько потоки ждали в конце операции после того, как первый мог выйти; "+
			"часть этого может перейти к барьеру."),
		map[string]any{"call": a.callPath(best.Call), "sync": best.Sync, "to": "no", "exit_ns": best.ExitNS,
			"times": best.Count}, words.Say(
			"Threads waited %s (%s) at the end of %s, and a barrier follows directly every time (%s). "+
				"`UPC_OUT_NOSYNC` leaves the waiting to the barrier.",
			"Потоки ждали %s (%s) в конце %s, и сразу за ним каждый раз (%s) следует барьер. С `UPC_OUT_NOSYNC` "+
				"ожидание останется только в барьере.",
			words.Time(total), a.share(total), a.callPath(best.Call), often(best.Count)))
}
