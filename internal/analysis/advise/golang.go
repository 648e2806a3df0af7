package advise

import (
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// What only Go programs are told: workers that wait for the garbage collector, or are in system calls, wait
// for nothing that another worker holds.

// ofGo tells whether only Go programs have a part of W.
func ofGo(part string) bool { return model.IsGCWait(part) || part == model.SystemCall }

// goWaits gives the advice on these parts, and their time.
func (a *advisor) goWaits(f slou.Factor, parts []slou.Amount) (ns int64) {
	collected, calls := int64(0), int64(0)
	longest := ""
	for _, p := range parts {
		switch {
		case model.IsGCWait(p.Name):
			if collected += p.NS; longest == "" {
				longest = p.Name
			}
		case p.Name == model.SystemCall:
			calls = p.NS
		}
	}
	if collected > 0 {
		a.addTime("garbage-collection", collected, words.Say(
			"Without garbage the workers would have that much more time.",
			"Столько времени рабочих потоков освободилось бы, если бы не было мусора."),
			map[string]any{"name": longest, "collected_ns": collected}, words.Say(
				"The garbage collector took %s (%s) of the workers' time. Allocate less: reuse buffers, and keep "+
					"small objects in arrays. A larger `GOGC` collects less often and takes more memory.",
				"Сборщик мусора занял %s (%s) времени рабочих потоков. Выделяйте меньше памяти: используйте буферы "+
					"повторно, храните мелкие объекты в массивах. С большим `GOGC` мусор собирается реже, но памяти "+
					"нужно больше.",
				words.Time(collected), a.share(collected))).
			by(a.without(f, model.IsGCWait))
	}
	if calls > 0 {
		c := a.top(lost(f.String(), model.SystemCall), func(c *slou.Cause) [4]string {
			return [4]string{c.Consumer}
		})
		a.addTime("system-calls", calls, words.Say(
			"Without any of these calls the workers would have that much more time.",
			"Столько времени рабочих потоков освободилось бы, если бы не было ни одного такого вызова."),
			map[string]any{"name": model.SystemCall, "consumer": c.Consumer}, words.Say(
				"Workers were in system calls for %s (%s), mostly in %s. Make fewer and larger ones, for example "+
					"with a buffer.",
				"Рабочие потоки были в системных вызовах %s (%s), чаще всего в %s. Делайте меньше вызовов и больше за "+
					"один вызов, например через буфер.",
				words.Time(calls), a.share(calls), a.named(c.Consumer))).
			by(a.without(f, func(part string) bool { return part == model.SystemCall }))
	}
	return collected + calls
}
