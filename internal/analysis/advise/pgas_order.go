package advise

import (
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/words"
)

// Which collectives come right before or after a barrier. A statement counts only if all its calls do, on all
// threads: what may be left out must be so every time.

// everyTime tells whether all calls of the statement that calls a collective have a property.
func (a *advisor) everyTime(c *pattern.Collective, have func(c *pattern.Collective) int64) bool {
	p, at := a.Pattern, &a.Pattern.Calls[c.Call]
	return !slices.ContainsFunc(p.Collectives, func(o pattern.Collective) bool {
		x := &p.Calls[o.Call]
		return x.Region == at.Region && x.File == at.File && x.Line == at.Line && have(&o) < o.Count
	})
}

// doubleBarrier: a barrier right after a barrier.
func (a *advisor) doubleBarrier() {
	best, total, _ := a.costly(func(c *pattern.Collective) int64 {
		if c.Kind != "barrier" ||
			!a.everyTime(c, func(c *pattern.Collective) int64 { return c.Follows }) {
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
			"between_ns": best.FollowsNS}, words.Say(
			"The barrier in %s follows directly after another one every time (%s): it took %s (%s). Remove one "+
				"of them.",
			"Барьер в %s каждый раз (%s) следует сразу за другим, и между ними ничего нет: он занял %s (%s). Уберите "+
				"один из них.",
			a.callPath(best.Call), often(best.Count), words.Time(total), a.share(total)))
}

// relaxExit: a collective waits at its end, and a barrier follows that waits once more.
func (a *advisor) relaxExit() {
	best, total, _ := a.costly(func(c *pattern.Collective) int64 {
		if !strings.HasSuffix(c.Sync, "/all") ||
			!a.everyTime(c, func(c *pattern.Collective) int64 { return c.Precedes }) {
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
