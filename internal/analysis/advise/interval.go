package advise

import (
	"cmp"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/words"
)

// part gives the reasons of a part of the run. Nothing is run again for it, and what is known of the whole
// run only is left out: which statement a node was busy with, how many CFs were stolen.
func (a *advisor) part() {
	a.facts.Nodes, a.facts.Stolen = nil, 0
	if !slow(a.res) || slou.OnlyRegions(a.facts.m) {
		return
	}
	a.oneNode()
	a.distribution()
	a.order()
	a.messages()
	a.overhead()
	a.offProcessor()
	a.contention()
	a.parallelism()
}

// lost gives advice on a factor that took much of a part of the run: its largest cause.
func (a *advisor) lost(id string, factor slou.Factor,
	say func(all, most words.Time, c *slou.Cause) words.Text) {
	share := a.res.Factors.Of(factor)
	if share == nil {
		return
	}
	c := a.top(lost(factor.String(), ""), func(c *slou.Cause) [4]string {
		return [4]string{cmp.Or(c.Link, c.Part), c.DF, c.Producer, c.Consumer}
	})
	a.addTime(id, share.NS, words.Say("That much of the workers' time in this interval.",
		"Столько времени рабочих потоков в этом интервале."),
		map[string]any{"part": c.Part, "link": c.Link, "df": c.DF, "producer": c.Producer, "consumer": c.Consumer,
			"waited_ns": c.NS, "count": c.Count}, say(words.Time(share.NS), words.Time(c.NS), &c))
}

// messages: what workers waited for was on a link.
func (a *advisor) messages() {
	a.lost("latency", slou.FactorL, func(all, most words.Time, c *slou.Cause) words.Text {
		what := words.Say("CFs of %s", "ФВ %s", a.named(c.Consumer))
		if c.DF != "" {
			what = words.Say("DFs `%s` for %s", "ФД `%s` для %s", c.DF, a.named(c.Consumer))
		}
		return words.Say("Workers waited %s (%s) for messages, most of it (%s) for %s on link %s.",
			"Рабочие потоки ждали сообщений %s (%s), больше всего (%s) — %s по связи %s.", all,
			a.share(int64(all)), most, what, c.Link)
	})
}

// overhead: the run-time system took the time.
func (a *advisor) overhead() {
	a.lost("overhead", slou.FactorO, func(all, most words.Time, c *slou.Cause) words.Text {
		return words.Say("Overhead took %s (%s) of the workers' time, most of it (%s) before or in %s: %s.",
			"Накладные расходы заняли %s (%s) времени рабочих потоков, больше всего (%s) — перед %s или в нём: %s.",
			all, a.share(int64(all)), most, a.named(c.Consumer), words.PartOf(c.Part).Means.With())
	})
}
