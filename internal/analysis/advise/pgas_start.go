package advise

import (
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/words"
)

// muchStart is the least share of all time that start-up and shutdown must take to be mentioned.
const muchStart = 0.2

// startUp: much of the run is start-up and shutdown. Nothing can be saved there, but it makes all other
// shares look small: so this comes before advice that gains less.
func (a *advisor) startUp() {
	begin := int64(0)
	most, total := largest(a.Pattern.Collectives, func(c *pattern.Collective) int64 {
		switch c.Kind {
		case "start":
			begin += c.NS
			return c.NS
		case "finish":
			return c.NS - c.EntryNS // that is imbalance of the program
		}
		return 0
	})
	total = min(total, a.res.TotalNS)
	if most == nil || float64(total) < muchStart*float64(a.res.TotalNS) {
		return
	}
	system := words.Say("UPC", "системы исполнения")
	if name := a.region(most.Call).Name; strings.HasPrefix(name, "shmem_") || name == "start_pes" {
		system = words.Say("OpenSHMEM", "системы исполнения")
	}
	rest := a.res.TotalNS - total
	evidence := map[string]any{"call": a.callPath(most.Call), "time_ns": total, "start_ns": begin,
		"finish_ns": total - begin, "rest_ns": rest}
	text := words.Say("%s of the run (%s) is start-up and shutdown of %s, mostly in %s. No change of the "+
		"program shortens it: measure a longer run or a larger problem.",
		"%s времени запуска (%s) занимают инициализация и завершение %s, дольше всего %s; изменением программы "+
			"этого не сократить: измерьте более долгий запуск или большую задачу.",
		a.share(total), words.Time(total), system, a.callPath(most.Call))
	if u := a.res.Factors.U; u != nil && rest > 0 {
		evidence["useful_ns"] = u.NS
		text = words.Say("%s Threads worked for %[3]s of the other %[2]s.",
			"%s Из остальных %s потоки работали %s.", text, words.Time(rest), words.Share{Part: u.NS, Whole: rest})
	}
	a.list = append(a.list, Advice{ID: "start-up", Evidence: evidence, weighs: total, text: text,
		bound: words.Say("They take about the same time for any amount of work, so their share shrinks.",
			"Они занимают примерно одно и то же время, сколько бы ни было работы: их доля станет меньше.")})
}
