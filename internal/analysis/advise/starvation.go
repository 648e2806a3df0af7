package advise

import (
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/words"
)

// loads finds the node that ran most CFs and how many nodes ran any.
func (a *advisor) loads() (loaded *slou.Node, busy int, all int64) {
	loaded, all = largest(a.res.Nodes, func(n *slou.Node) int64 {
		if n.CFs > 0 {
			busy++
		}
		return n.CFs
	})
	return loaded, busy, all
}

// longest finds the node whose workers did most useful work, nil if that is not known.
func (a *advisor) longest() (longest *slou.Node, all int64) {
	return largest(a.res.Nodes, func(n *slou.Node) int64 {
		if n.Factors.U == nil {
			return 0
		}
		return n.Factors.U.NS
	})
}

// spread is what the run would gain if any worker could run any CF: the busiest node would have less to do;
// false where the longest chain is not known.
func (a *advisor) spread() (wall int64, bound words.Text, ok bool) {
	if a.Critical == nil || a.Critical.Work == nil {
		return 0, words.Text{}, false
	}
	w := a.Critical.Work
	even := ceil(w.T1NS, a.workers)
	return min(a.busiest(false), a.res.WallNS) - max(even, w.TinfNS),
		words.Say("The busiest node has %s of useful work per worker. Spread evenly, each worker has %s; the "+
			"longest chain of dependent CFs takes %s.",
			"На самом загруженном узле на каждый рабочий поток приходится %s полезной работы, а при равномерном "+
				"распределении было бы %s; самая длинная цепочка зависимых ФВ занимает %s.",
			words.Time(a.busiest(false)), words.Time(even), words.Time(w.TinfNS)), true
}

// busiest is the most useful time per worker of any node, with the system's work for it if that is asked
// for.
func (a *advisor) busiest(system bool) (most int64) {
	for i := range a.res.Nodes {
		if n := &a.res.Nodes[i]; n.Factors.U != nil {
			ns := n.Factors.U.NS
			if o := n.Factors.O; o != nil && system {
				ns += o.NS
			}
			most = max(most, ceil(ns, int64(len(n.Workers))))
		}
	}
	return most
}

// mostly names the code fragment with most useful time on a node: ", mostly of `f` (p.fa:7)".
func (a *advisor) mostly(node int) (text words.Text, code string) {
	if a.facts.Nodes[node].NS == 0 {
		return text, ""
	}
	site := a.facts.Nodes[node].Site
	return a.by(", mostly of ", ", в основном это ", site+1), a.codeOf(site)
}

// oneNode: only one of several nodes ran anything; the others starve because nothing is sent to them.
func (a *advisor) oneNode() {
	loaded, busy, all := a.loads()
	if a.res.Factors.S == nil || busy != 1 || len(a.res.Nodes) < 2 {
		return
	}
	_, starved := largest(a.res.Nodes, func(n *slou.Node) int64 {
		if n == loaded || n.Factors.S == nil {
			return 0
		}
		return n.Factors.S.NS
	})
	mostly, code := a.mostly(loaded.Node)
	text := words.Say("All %s ran on node %d of %d%s; the others idled. Without a locator everything goes to "+
		"node 0. Spread the CFs with `@ { locator_cyclic: expression; }` on calls or loops, and the DFs with "+
		"`locator_cyclic name[i] => expression;`.",
		"Все %s исполнены на узле %d%[4]s; остальные узлы бездействовали (всего узлов: %[3]d). Без локатора всё "+
			"попадает на узел 0: распределите ФВ, указав у вызовов или циклов `@ { locator_cyclic: выражение; }`, "+
			"а ФД — указав `locator_cyclic имя[i] => выражение;`.",
		words.Number{N: all, What: words.CFs}, loaded.Node, len(a.res.Nodes), mostly)
	evidence := map[string]any{"node": loaded.Node, "nodes": len(a.res.Nodes), "cfs": all, "starved_ns": starved,
		"code": code}
	if wall, bound, ok := a.spread(); ok {
		a.add("one-node", wall, min(wall*a.workers, starved), bound, evidence, text).by(distributed)
		return
	}
	a.addTime("one-node", starved, words.Say("The other nodes idled for that long.",
		"Столько времени остальные узлы бездействовали."), evidence, text).by(distributed)
}

// distribution: CFs were ready on other nodes while workers had nothing to do.
func (a *advisor) distribution() {
	s := a.res.Factors.S
	loaded, busy, all := a.loads()
	if s == nil || busy < 2 || float64(s.Of(slou.PartElsewhere)) < worthwhile*float64(a.res.TotalNS) {
		return
	}
	elsewhere := s.Of(slou.PartElsewhere)
	idle, _ := largest(a.res.Nodes, func(n *slou.Node) int64 {
		if n.Factors.S == nil {
			return 0
		}
		return n.Factors.S.Of(slou.PartElsewhere)
	})
	ran := words.Say("ran %d of %d CFs", "исполнил %d из %d ФВ", loaded.CFs, all)
	if most, useful := a.longest(); most != nil && most.CFs*int64(busy) <= all {
		loaded = most // its CFs are not more but longer
		ran = words.Say("did %s of %s of useful work", "выполнил %s из %s полезной работы",
			words.Time(most.Factors.U.NS), words.Time(useful))
	}
	if idle == nil || idle == loaded {
		return
	}
	c := a.top(lost("S", slou.PartElsewhere.String()),
		func(c *slou.Cause) [4]string { return [4]string{c.Consumer} })
	var before words.Text
	if c.Consumer != "" {
		before = words.Say(", %s of it before %s", " (из этого времени %s — перед %s)", words.Time(c.NS),
			a.named(c.Consumer))
	}
	stealing, stolen := words.Say(", or use work stealing: mark calls `stealable`",
		", или позвольте простаивающим узлам перехватывать ФВ: пометьте вызовы словом `stealable`"), a.facts.Stolen
	gives := remedy(distributedOrStolen)
	if stolen > 0 {
		gives = distributed
		stealing = words.Say(": idle nodes stole %s, too few or too late",
			": того, что перехватили простаивающие узлы (%s), было слишком мало, или оно пришло слишком поздно",
			words.Number{N: stolen, What: words.CFs})
	}
	mostly, code := a.mostly(loaded.Node)
	evidence := map[string]any{"stolen": stolen, "idle_node": idle.Node,
		"idle_ns": idle.Factors.S.Of(slou.PartElsewhere), "loaded_node": loaded.Node,
		"loaded_cfs": loaded.CFs, "cfs": all, "consumer": c.Consumer, "elsewhere_ns": elsewhere, "code": code}
	total, bound := elsewhere, words.Say("Workers idled for that long while CFs were ready on other nodes.",
		"Столько времени рабочим потокам было нечего делать, хотя на других узлах были готовые ФВ.")
	wall := total / max(a.workers, 1)
	if w, b, ok := a.spread(); ok {
		wall, total, bound = w, min(w*a.workers, s.NS), b
	}
	a.add("distribution", wall, total, bound, evidence, words.Say(
		"Workers idled for %s (%s) while CFs were ready on other nodes%s. Node %d idled most (%s); node %d %s%s. "+
			"Change the locators to even out the load%s.",
		"Рабочим потокам было нечего делать %s (%s), хотя на других узлах были готовые ФВ%s. Дольше всех "+
			"простаивал узел %d (%s); узел %d %s%s. Измените локаторы так, чтобы нагрузка была "+
			"равномерной%s.",
		words.Time(elsewhere), a.share(elsewhere), before, idle.Node,
		words.Time(idle.Factors.S.Of(slou.PartElsewhere)), loaded.Node, ran, mostly, stealing)).by(gives)
}

// order: CFs that others waited for, or that begin a chain, were ready while others were taken first.
func (a *advisor) order() {
	if a.res.Factors.S == nil {
		return
	}
	queued := func(c *slou.Cause) int64 { return c.QueuedNS }
	_, gain := largest(a.res.Causes, queued)
	c := a.top(queued, func(c *slou.Cause) [4]string { return [4]string{c.Producer} })
	evidence := map[string]any{"producer": c.Producer, "df": c.DF, "consumer": c.Consumer,
		"queued_ns": c.QueuedNS, "waited_ns": c.NS}
	if a.Critical == nil || a.Critical.Work == nil || a.Critical.Path == nil || a.res.Factors.U == nil {
		if c.Producer == "" {
			return
		}
		a.addTime("order", gain, words.Say("They were ready for that long while their workers ran others.",
			"Столько времени они были готовы, пока их рабочие потоки исполняли другие ФВ."), evidence, words.Say(
			"Workers waited %s for the results of %s. Its CFs were ready but queued behind others: starting them at "+
				"once would save up to %s. Create them earlier or give them priority.",
			"Рабочие потоки %s ждали результатов %s, ФВ которого были готовы, но стояли в очереди за другими. Если "+
				"бы их начинали сразу, удалось бы избежать потери до %s. Создавайте их раньше или дайте им приоритет.",
			words.Time(c.NS), a.named(c.Producer), words.Time(c.QueuedNS)))
		return
	}
	// In another order, every node still has its own CFs to run, the last of which its workers cannot share,
	// and the chain still takes its time.
	work := a.Critical.Work
	least := a.busiest(true)
	if f := a.chain(); f != nil && a.workers > int64(len(a.res.Nodes)) {
		least += f.MeanNS / 2
	}
	least = max(least, work.TinfNS)
	if work.TinfLinksNS != nil {
		least = max(least, *work.TinfLinksNS)
	}
	ready, site := a.queuedOnPath()
	if site == 0 {
		return
	}
	code := a.codeOf(site - 1)
	wall := min(a.res.WallNS-least, ready, a.res.Factors.S.NS/max(a.workers, 1))
	evidence["producer"], evidence["ready_ns"], evidence["chain_ns"], evidence["created_at"] = code, ready,
		work.TinfNS, a.statement(site)
	first, remedy := words.Say("run with `--priority %s`", "запускайте с `--priority %s`", code),
		prioritized(code)
	if a.openMP() {
		first, remedy = words.Say("give them a `priority` clause", "дайте им `priority`"), nil
	}
	a.addWall("order", wall,
		words.Say("With the CFs on their present nodes, any order takes at least %s: the work of the busiest "+
			"node, or the longest chain.",
			"Если ФВ исполняются там же, где сейчас, при любом порядке нужно не меньше %s: столько занимает работа "+
				"самого загруженного узла или самая длинная цепочка.", words.Time(least)), evidence, words.Say(
			"CFs of %s begin a chain of dependent CFs (the longest takes %s). They were ready for %s but queued "+
				"behind others; in the end workers could only wait for the chain. They are on the critical path: create "+
				"them earlier, or %s.",
			"ФВ %s, с которых начинается цепочка зависимых ФВ (самая длинная занимает %s), были готовы, но %s стояли "+
				"в очереди за другими; под конец рабочим потокам оставалось только ждать эту цепочку. Они лежат на "+
				"критическом пути: создавайте их раньше или %s.",
			a.named(code), words.Time(work.TinfNS), words.Time(ready), first)).by(remedy)
}

// chain is the code fragment with most useful time on the longest chain, nil if it is not known.
func (a *advisor) chain() *slou.Fragment {
	if chain := a.Critical.Work.Chain; len(chain) > 0 {
		return a.fragment(chain[0].Code)
	}
	return nil
}

// queuedOnPath finds the CF on the critical path that was ready longest while its worker ran others, of
// those that begin a chain of CFs: only these are worth being preferred. It gives 1 + its statement, 0 for
// none.
func (a *advisor) queuedOnPath() (ready int64, site uint32) {
	length := 0 // CFs behind this one that the path goes through without waiting for a worker
	steps := a.Critical.Path.Steps
	for i, s := range slices.Backward(steps) {
		if !s.Running || s.Kind != critical.KindExecute ||
			i > 0 && steps[i-1].Running && steps[i-1].Execution == s.Execution {
			continue
		}
		if s.Reason != critical.ReasonWorker {
			length++
			continue
		}
		if length >= 2 && s.QueuedNS > ready {
			ready, site = s.QueuedNS, a.facts.m.SiteOf[s.CF]+1
		}
		length = 0
	}
	return ready, site
}

// afterLast is how long the run went on when the last CF had ended: the system gives memory back, and no CF
// is missing. 0 where that is not known.
func (a *advisor) afterLast() int64 {
	if a.replay == nil || len(a.replay.order) == 0 {
		return 0
	}
	last := int64(math.MinInt64)
	for _, e := range a.replay.order {
		last = max(last, a.replay.List[e].End)
	}
	return max(a.facts.m.End-last, 0)
}

// parallelism: no CF was ready anywhere.
func (a *advisor) parallelism() {
	s := a.res.Factors.S
	if s == nil || a.res.Factors.U == nil || a.res.WallNS == 0 || a.workers < 2 || a.had("one-node") != nil {
		return // of one-node it is the same time
	}
	if a.res.Factors.L == nil {
		return // what the CFs that were waited for waited for may have been messages
	}
	nowhere := s.Of(slou.PartNowhere)
	for i := range a.res.Causes {
		if c := &a.res.Causes[i]; c.Factor == "S" && c.Part == slou.PartNowhere.String() {
			nowhere -= c.QueuedNS
		}
	}
	c := a.top(func(c *slou.Cause) int64 {
		if c.Producer == "" {
			return 0
		}
		return lost("S", slou.PartNowhere.String())(c)
	}, func(c *slou.Cause) [4]string { return [4]string{c.Producer} })
	c.NS = min(c.NS, nowhere)
	parallel := float64(a.res.Factors.U.NS) / float64(a.res.WallNS)
	var blame words.Text
	try, code := words.Say("Divide the data into more fragments",
		"Разделите данные на большее число фрагментов"), c.Producer
	if c.Producer != "" {
		blame = words.Say(" Most of it, %s, was waiting for %s.", " Дольше всего, %s, ждали %s.", words.Time(c.NS),
			a.named(c.Producer))
	}
	total := max(nowhere-a.afterLast()*a.workers, 0)
	wall := total / a.workers
	bound := words.Say("No CF was ready for that long.", "Столько времени не было ни одного готового ФВ.")
	if a.replay != nil && a.Critical != nil && a.Critical.Work != nil {
		if f := a.chain(); f != nil {
			code = f.Code
		}
		if a.small(a.fragment(code)) {
			return // divided, it would cost more than it gains
		}
		whole := a.replay.wall(change{length: func(e uint32, ns int64) int64 {
			if a.replay.code(e).Name == code {
				return ns / a.workers
			}
			return ns
		}})
		least := max(whole, ceil(a.Critical.Work.T1NS, a.workers))
		wall = min(wall, a.res.WallNS-least)
		if other := a.had("distribution", "order"); other != nil {
			wall -= other.GainWallNS // the same time
		}
		for _, id := range []string{"serial-code", "uneven-loop", "one-creator", "taskwait", "wide-depend"} {
			if other := a.had(id); other != nil {
				wall -= other.GainWallNS // likewise
			}
		}
		total = wall * a.workers
		bound = words.Say("Even with every CF of `%s` divided into %d that run in parallel, the run takes at "+
			"least %s.",
			"Даже если каждый ФВ `%s` разделить по числу рабочих потоков (%d) и исполнять части одновременно, запуск "+
				"займёт не меньше %s.", code, a.workers, words.Time(least))
	}
	if code != "" {
		try = words.Say("Divide %s into smaller CFs that can run in parallel",
			"Разделите %s на ФВ поменьше, которые могут исполняться одновременно,", a.named(code))
	}
	a.add("parallelism", wall, total, bound,
		map[string]any{"parallelism": parallel, "workers": a.workers, "producer": code, "waited_ns": c.NS,
			"count": c.Count, "nowhere_ns": nowhere}, words.Say(
			"For %s (%s) of the workers' time no CF was ready on any node: on average the program keeps %s of %s "+
				"busy.%s %s, or use fewer workers.",
			"В течение %s (%s) времени рабочих потоков ни на одном узле не было готовых ФВ: в среднем программа "+
				"занимает %s из %s.%s %s или уменьшите число рабочих потоков.",
			words.Time(nowhere), a.share(nowhere), words.Decimal(parallel),
			words.Number{N: a.workers, What: words.OfWorkers.AlwaysMore()}, blame, try)).by(a.divided(code))
}

// fewerWorkers: dependencies keep more workers idle than they keep busy, however the CFs are arranged.
func (a *advisor) fewerWorkers() {
	if a.Critical == nil || a.Critical.Work == nil || a.res.Factors.S == nil {
		return
	}
	w := a.Critical.Work
	helpful := min(w.HelpfulWorkers, a.atOnce)
	fewCores := helpful < w.HelpfulWorkers
	if w.T1NS == 0 || 4*helpful > 3*a.workers || fewCores && a.had("preempted", "too-many-workers") != nil {
		return // the last two say the same
	}
	more := words.Say(", or divide the work into more CFs", " или разделите работу на большее число ФВ")
	if a.small(a.chain()) {
		more = words.Text{}
	}
	evidence := map[string]any{"workers": a.workers, "helpful_workers": helpful, "parallelism": w.Parallelism,
		"work_ns": w.T1NS, "chain_ns": w.TinfNS}
	gain := min((a.workers-helpful)*a.res.WallNS, a.res.Factors.S.NS)
	if fewCores {
		a.add("fewer-workers", 0, gain, runAtOnce(helpful), evidence,
			words.Say("%s share %s, so %s can be as fast. Use fewer workers.",
				"На %s приходится %s: с %s программа может работать так же быстро. Уменьшите число рабочих потоков.",
				words.Number{N: a.workers, What: words.Workers}, words.Number{N: helpful, What: words.Cores},
				words.Number{N: helpful, What: words.WithWorkers})).by(a.fewer(helpful))
		return
	}
	a.add("fewer-workers", 0, gain, words.Say("With %s of useful work and a longest chain of %s, at most %s "+
		"can be busy on average, and %d can reach the same time.",
		"Полезной работы %s, самая длинная цепочка зависимых ФВ — %s: в среднем может быть занято не больше "+
			"%[3]s, и этого хватит, чтобы уложиться в то же время.",
		words.Time(w.T1NS), words.Time(w.TinfNS), words.Number{N: helpful, What: words.OfWorkers}, helpful),
		evidence, words.Say(
			"The program is too small for %s: dependencies between CFs keep at most %s busy on average. %s can be as "+
				"fast. Use fewer workers%s.",
			"Программа слишком мала для %s: из-за зависимостей между ФВ в среднем может быть занято не больше %s. "+
				"С %s она может работать так же быстро. Уменьшите число рабочих потоков%s.",
			words.Number{N: a.workers, What: words.OfWorkers}, words.Decimal(w.Parallelism),
			words.Number{N: helpful, What: words.Noun{Russian: words.WithWorkers.Russian}}, more)).
		by(a.fewer(helpful))
}

// manyNodes: one node would do all the work in less time, because nothing would have to travel.
func (a *advisor) manyNodes() {
	l := a.res.Factors.L
	if len(a.res.Nodes) < 2 || a.Critical == nil || a.Critical.Work == nil || l == nil {
		return
	}
	if _, busy, _ := a.loads(); busy < 2 {
		return
	}
	w, p := a.Critical.Work, int64(len(a.res.Nodes[0].Workers))
	if p == 0 {
		return
	}
	// What the system does for each CF it would do there, too, and other threads would take as much time from
	// the workers. Any order that leaves no worker idle takes at most T1/p + Tinf (1 - 1/p) (Graham).
	system, taken := int64(0), int64(0)
	if o := a.res.Factors.O; o != nil {
		late := a.lateStarts().NS
		taken = a.res.Factors.InsideNS() + late
		system = o.Of(slou.PartCreate) + o.Of(slou.PartDispatch) - late
		if a.replay != nil { // of this, waking workers that waited for messages would go
			system = min(system, a.replay.systemTime())
		}
	}
	alone := ceil(w.T1NS+system+taken-w.TinfNS, p) + w.TinfNS
	wall := a.res.WallNS - alone
	if a.replay != nil {
		atOnce := change{links: nowhere, move: func(uint32, int64) int64 { return 0 }}
		if flights := a.res.WallNS - a.replay.wall(atOnce); 2*flights < wall {
			return // it is not the messages that make these nodes slow
		}
	}
	if float64(wall) < worthwhile*float64(a.res.WallNS) {
		return
	}
	var busy words.Text
	if float64(taken) >= worthwhile*float64(alone) {
		busy = words.Say(", if other threads take as much time from the workers as now (%s)",
			", если другие потоки отнимут у рабочих столько же времени, сколько сейчас (%s)", words.Time(taken))
	}
	a.add("too-many-nodes", wall, a.res.WallNS*a.workers-alone*p,
		words.Say("On one node with %[3]s, any order takes at most %[4]s for %[1]s of useful work and %[2]s of "+
			"the system's work%[5]s.",
			"Вся полезная работа (%s) вместе с работой системы для неё (%s) займёт на одном узле с %s не больше %s "+
				"при любом порядке%s.",
			words.Time(w.T1NS), words.Time(system), words.Number{N: p, What: words.WithWorkers}, words.Time(alone),
			busy),
		map[string]any{"nodes": len(a.res.Nodes), "workers": a.workers, "work_ns": w.T1NS, "system_ns": system,
			"taken_ns": taken, "alone_ns": alone, "latency_ns": l.NS, "messages": a.res.Messages.Count}, words.Say(
			"The %s take %s; one would take about %s. The %s between nodes cost more than the other nodes contribute "+
				"(%s of latency). Use fewer nodes, or larger fragments.",
			"На %s запуск занимает %s, а на одном занял бы около %s: обмен между узлами (%s, задержка связи %s) "+
				"отнимает больше, чем дают остальные узлы. Уменьшите число узлов или укрупните фрагменты.",
			words.Number{N: int64(len(a.res.Nodes)), What: words.OnNodes}, words.Time(a.res.WallNS), words.Time(alone),
			words.Number{N: a.res.Messages.Count, What: words.Messages}, words.Time(l.NS))).by(machine(1, int(p)))
}
