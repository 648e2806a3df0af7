package advise

import (
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/words"
)

// muchStart is the share of all time from which on the start and the end of the run-time system are spoken
// of.
const muchStart = 0.2

// startUp: much of the run is the start and the end of the run-time system. Nothing can be saved there, and
// all other shares are small only because of it: so this stands before what gains less than it takes.
func (a *advisor) startUp() {
	p := a.Pattern
	var most *pattern.Collective
	total, begin := int64(0), int64(0)
	for i := range p.Collectives {
		c := &p.Collectives[i]
		ns := c.NS
		switch c.Kind {
		case "start":
			begin += ns
		case "finish":
			ns -= c.EntryNS // that is imbalance of the program
		default:
			continue
		}
		if total += ns; most == nil || ns > most.NS {
			most = c
		}
	}
	total = min(total, a.res.TotalNS)
	if most == nil || float64(total) < muchStart*float64(a.res.TotalNS) {
		return
	}
	system := words.Say("UPC", "системы исполнения")
	if name := p.Regions[p.Calls[most.Call].Region].Name; strings.HasPrefix(name, "shmem_") ||
		name == "start_pes" {
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
	a.list = append(a.list, Advice{ID: "start-up", Evidence: evidence, text: text, bound: words.Say(
		"They take about the same time for any amount of work, so their share shrinks.",
		"Они занимают примерно одно и то же время, сколько бы ни было работы: их доля станет меньше.")})
	a.weighs = map[string]int64{"start-up": total}
}
