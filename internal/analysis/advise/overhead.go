package advise

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// systemTime is the bound of what only the sums tell.
var systemTime = words.Say("The run-time system used that much time.",
	"Столько времени заняла работа самой системы.")

// littleOverhead is the share of a CF's time that the system may take.
const littleOverhead = 1 - goodUseful

// perCF is what the system's work costs for CFs of a code fragment: without what other threads took from
// them, and without late starts.
func (a *advisor) perCF(f *slou.Fragment) (each, total int64) {
	if f == nil || f.Count == 0 || a.res.Factors.O == nil {
		return 0, 0
	}
	total = f.Caused[slou.FactorO] - a.lateStarts().Of[f.Code]
	for i := range a.res.Causes {
		c := &a.res.Causes[i]
		if c.Factor == slou.FactorO.String() && c.Consumer == f.Code && insideParts[c.Part] {
			total -= c.NS
		}
	}
	total = max(total, 0)
	return total / f.Count, total
}

// insideParts are the parts of O that were taken from CFs that ran.
var insideParts = func() map[string]bool {
	set := map[string]bool{}
	for _, p := range slou.FactorO.Parts() {
		set[p.String()] = p.Info().Inside
	}
	return set
}()

// small tells whether the CFs of a code fragment are too small for what each of them costs: then advice to
// make them smaller would be the opposite of what helps. What costs more than any start does waits for
// something. A CF is as large as the time for which it has its worker, waiting included.
func (a *advisor) small(f *slou.Fragment) bool {
	if f == nil || f.Count == 0 {
		return false
	}
	each, _ := a.perCF(f)
	long := f.MeanNS
	for _, x := range slou.LostFactors {
		if x.Info().CutOut {
			long += f.Before[x] / f.Count
		}
	}
	return each <= longStart && float64(each) > littleOverhead*float64(long+each)
}

// granularity: the run-time system's work per CF.
func (a *advisor) granularity() {
	o := a.res.Factors.O
	if o == nil {
		return
	}
	late, taken := a.lateStarts().NS, a.res.Factors.InsideNS()
	system := o.NS - taken - o.Of(slou.PartExtra) - late
	var f *slou.Fragment // the one with the highest cost, of those whose CFs are too small if there are any
	each, caused := int64(0), int64(-1)
	for i := range a.res.Fragments {
		g := &a.res.Fragments[i]
		e, all := a.perCF(g)
		if g.Count > 0 && (f == nil || a.small(g) && !a.small(f) || a.small(g) == a.small(f) && all > caused) {
			f, each, caused = g, e, all
		}
	}
	if f == nil || system <= 0 {
		return
	}
	parts := maps.Clone(o.Parts)
	parts[slou.PartDispatch.String()] -= late
	largest := slou.Amount{}
	for _, p := range slou.Largest(parts) {
		if words.PartOf(p.Name).Spent != (words.Phrase{}) {
			largest = p
			break
		}
	}
	if largest.NS == 0 {
		return
	}
	evidence := map[string]any{"code": f.Code, "count": f.Count, "mean_ns": f.MeanNS, "overhead_ns": caused,
		"overhead_mean_ns": each, "part": largest.Name, "part_ns": largest.NS}
	head := words.Say("The run-time system used %s (%s) of the workers' time, mostly %s (%s).",
		"Исполнительная система заняла %s (%s) времени рабочих потоков, больше всего — %s (%s).",
		words.Time(system), a.share(system), words.PartOf(largest.Name).Spent.With(), words.Time(largest.NS))
	switch {
	case largest.Name == slou.PartDispatch.String() && a.crowded() != nil:
		h := a.crowded()
		a.add("too-many-workers", 0, min(system+taken, h.Excess), coresBound(h), evidence, words.Say(
			"%s A worker without a core cannot start what is ready: %s",
			"%s Рабочий поток, которому не досталось ядра, не может начать готовый ФВ: %s", head, a.whoTookCores())).
			by(a.fitting(h))
	case a.small(f):
		a.tooSmall(f, system, each, head, evidence)
	case largest.Name == slou.PartRequest.String() || largest.Name == slou.PartSend.String():
		if a.had("late-transfer", "locators-disagree", "replicate", "asked-again", "far-data") != nil {
			return // the same time
		}
		a.addTime("late-transfer", system, systemTime, evidence, words.Say(
			"%s The DFs of %s are requested or sent late (%s per CF). Store them where they are used "+
				"(`locator_cyclic name[i] => expression;`): then they leave as soon as they are made.",
			"%s ФД для %s поздно запрашиваются или отправляются (%s на каждый ФВ). Храните их там, где они "+
				"используются (`locator_cyclic имя[i] => выражение;`): тогда они будут отправляться сразу после "+
				"вычисления.",
			head, a.named(f.Code), words.Time(each)))
	}
}

// tooSmall: a CF is not worth what it costs to run.
func (a *advisor) tooSmall(f *slou.Fragment, system, each int64, head words.Text, evidence map[string]any) {
	times := max(int64(math.Ceil(float64(each)/(littleOverhead*float64(max(f.MeanNS, 1))))), 2)
	times = max(min(times, f.Count/max(a.workers, 1)), 1) // every worker still needs one
	evidence["times"] = times
	more := words.Say("give each CF more to do", "дайте каждому больше работы")
	if a.openMP() && construct(f.Code, loopChunk) {
		more = words.Say("make chunks larger, with `schedule(dynamic, %[1]d)` for example, or use "+
			"`schedule(static)`",
			"увеличьте порции, например `schedule(dynamic, %[1]d)`, или используйте `schedule(static)`", times)
	} else if a.openMP() {
		more = words.Say("create no tasks below a certain size (clauses `if` and `final`; `grainsize` of a "+
			"`taskloop`)%s",
			"не создавайте задач меньше некоторого размера (`if` и `final`, у `taskloop` — `grainsize`)%s",
			a.cutOff(f, times, evidence))
	}
	text := words.Say("%s A CF of %s works for %s on average and costs %s to run (%s): %s.",
		"%s Один ФВ %s исполняется в среднем %s, а накладные расходы на него — %s (всего %s): %s.",
		head, a.named(f.Code), words.Time(f.MeanNS), words.Time(each), words.Number{N: f.Count, What: words.CFs},
		more)
	if a.replay == nil {
		a.addTime("too-small", system-system/times, systemTime, evidence, text).by(merged(times))
		return
	}
	if work := a.processorTime() - a.res.Factors.U.NS; work > 0 { // all that was no work of CFs
		evidence["processor_ns"] = work - work/times
	}
	c := a.replay.merged(times, a.ownDoing(system), a.facts.Shortest)
	still, asOften := c, c
	still.links, asOften.links = nowhere, nil
	walls := a.replay.walls([]change{c, still, asOften})
	takes, least := walls[0], walls[1]
	if float64(a.res.WallNS-walls[2]) < worthwhile*float64(a.res.WallNS) {
		return // if only fewer messages help, it is not what a CF costs that makes the program slow
	}
	wall := a.res.WallNS - takes
	bound := words.Say("With one CF for %d, at the same cost per CF, the run would take %s.",
		"Если объединить ФВ по %d, а накладные расходы на один ФВ не изменятся, запуск займёт %s.", times,
		words.Time(takes))
	// Whether merged CFs exchange data less often is up to the program.
	if float64(takes-least) > worthwhile*float64(a.res.WallNS) {
		bound = words.Say("%s Of that, messages between nodes take %s; fewer messages would take less.",
			"%s Из них %s занимают сообщения между узлами; если их станет меньше, запуск займёт меньше.", bound,
			words.Time(takes-least))
	}
	a.addWall("too-small", wall, bound,
		evidence, words.Say("%s One CF should do the work of %d.", "%s Стоит объединить их по %d.", text, times)).
		by(merged(times))
}

// extraCores: the run used more than its workers' cores.
func (a *advisor) extraCores() {
	if a.res.Factors.O == nil {
		return
	}
	ns := a.res.Factors.O.Of(slou.PartExtra)
	whose := words.Say("recording and the program's own threads need cores of their own.",
		"записи трассы и собственным потокам программы нужны свои ядра.")
	if a.res.Messages.Count > 0 {
		whose = words.Say("communication and system threads need cores of their own. Larger fragments mean fewer "+
			"messages.", "системным потокам и потокам передачи сообщений нужны свои ядра. Чем крупнее фрагменты, тем "+
			"меньше сообщений.")
	}
	a.add("extra-cores", 0, ns,
		words.Say("Other threads used this time; the run may not become shorter without it.",
			"Это время потрачено помимо рабочих потоков: без него запуск не обязательно станет короче."),
		map[string]any{"extra_ns": ns}, words.Say(
			"Threads other than the workers used %s (%s) of processor time: %s",
			"Помимо рабочих потоков процессы заняли %s (%s) процессорного времени: %s",
			words.Time(ns), a.share(ns), whose))
}

// contention: workers waited for a lock, a resource or a collective.
func (a *advisor) contention() {
	for _, f := range slou.LostFactors {
		if w := a.res.Factors.Of(f); w != nil && f.Info().CutOut {
			a.waited(f, w)
		}
	}
}

// gaveUp says of parts of W that are no contention what CFs waited for, and what to do.
var gaveUp = map[slou.Part]struct{ what, remedy words.Phrase }{
	slou.PartIO: {words.Phrase{"for files and sockets", "файлы и сокеты"}, words.Phrase{
		"Read and write more at a time, or start reading before the data is needed, in a CF of its own.",
		"Читайте и пишите большими порциями или начинайте чтение заранее, в отдельном ФВ."}},
	slou.PartSleep: {words.Phrase{"asleep", "во сне"}, words.Phrase{
		"Do not sleep in a CF: pass the awaited value as a DF, and the CF starts when it is there.",
		"Не усыпляйте ФВ: передайте ожидаемое значение как ФД, и ФВ начнётся, когда оно появится."}},
	slou.PartFault: {words.Phrase{"for pages read from disk", "чтение страниц с диска"}, words.Phrase{
		"Use less memory than the machine has, and read mapped files before they are needed.",
		"Занимайте меньше памяти, чем есть на машине, и заранее читайте отображённые файлы."}},
	slou.PartBlocked: {words.Phrase{"blocked for an unknown reason", "по неизвестной причине"}, words.Phrase{
		"A library that it calls waits for a file, a lock or another thread.",
		"Библиотека, которую он вызывает, ждёт файл, блокировку или другой поток."}},
}

// gaveUpPart tells whether a part is one of them.
func gaveUpPart(name string) bool {
	for p := range gaveUp {
		if p.String() == name {
			return true
		}
	}
	return false
}

// ofPattern tells whether a part of W is a pattern of MPI's, of which other advice speaks.
func (a *advisor) ofPattern(part string) bool {
	return a.ofRanks() && a.Pattern != nil &&
		slices.ContainsFunc(a.Pattern.Metrics, func(m pattern.Metric) bool { return m.ID == part })
}

// blocked: user code gave its core up, but not for other workers.
func (a *advisor) blocked(f slou.Factor, w *slou.Share) (ns int64) {
	largest := slou.PartNone
	for _, p := range f.Parts() {
		if _, ok := gaveUp[p]; ok {
			ns += w.Of(p)
			if w.Of(p) > 0 && (largest == slou.PartNone || w.Of(p) > w.Of(largest)) {
				largest = p
			}
		}
	}
	if largest == slou.PartNone {
		return 0
	}
	c := a.top(lost(f.String(), largest.String()), func(c *slou.Cause) [4]string {
		return [4]string{c.Consumer, c.What}
	})
	where := words.Text{}
	if c.What != "" {
		where = words.Say(", `%s`", ", `%s`", c.What)
	}
	say := gaveUp[largest]
	if largest == slou.PartBlocked && a.facts != nil && a.facts.m.Info.Settings["waits"] == "off" {
		say.remedy = words.Phrase{"Run it without --no-waits to see what they wait for.",
			"Запустите её без --no-waits, чтобы увидеть, чего они ждут."}
	}
	a.addTime("blocked", ns, words.Say("Without such waits the workers would have that much more time.",
		"Столько времени рабочих потоков освободилось бы без такого ожидания."),
		map[string]any{"part": largest.String(), "blocked_ns": ns, "part_ns": w.Of(largest), "consumer": c.Consumer,
			"what": c.What},
		words.Say("CFs gave up their cores for %s (%s), mostly %s (%s), and mostly in %s%s. %s",
			"ФВ отдавали процессор на %s (%s), больше всего — %s (%s), чаще всего в %s%s. %s",
			words.Time(ns), a.share(ns), say.what, words.Time(w.Of(largest)), a.named(c.Consumer), where, say.remedy)).
		by(a.without(f, gaveUpPart))
	return ns
}

func (a *advisor) waited(f slou.Factor, w *slou.Share) {
	parts := slou.Largest(w.Parts)
	if len(parts) == 0 || model.ByDebugger(parts[0].Name) {
		return
	}
	ns := w.NS - a.blocked(f, w) - a.goWaits(f, parts)
	others := func(part string) bool { return !gaveUpPart(part) && !ofGo(part) && !a.ofPattern(part) }
	for _, p := range parts {
		if !gaveUpPart(p.Name) && a.ofPattern(p.Name) {
			ns -= p.NS
		}
	}
	parts = slices.DeleteFunc(parts, func(p slou.Amount) bool { return !others(p.Name) })
	if ns == 0 || len(parts) == 0 {
		return
	}
	part := parts[0].Name
	c := a.top(lost(f.String(), part), func(c *slou.Cause) [4]string { return [4]string{c.Consumer, c.What} })
	name := cmp.Or(c.What, part)
	there := func(x *slou.Cause) int64 {
		if x.What != c.What {
			return 0
		}
		return lost(f.String(), part)(x)
	}
	_, at := largest(a.res.Causes, there)
	holder := a.top(func(x *slou.Cause) int64 {
		if x.Producer == "" {
			return 0
		}
		return there(x)
	}, func(x *slou.Cause) [4]string { return [4]string{x.Producer} }).Producer
	evidence := map[string]any{"name": name, "waited_ns": at, "consumer": c.Consumer}
	bound := words.Say("Without any waiting the workers would have that much more time.",
		"Столько времени рабочих потоков освободилось бы, если бы они совсем не ждали.")
	if part == slou.PartLock.String() && holder == "" {
		where := words.Say("mostly", "дольше всего")
		if c.What != "" {
			where = words.Say("mostly at `%s` (%s) and mostly", "дольше всего на `%s` (%s), чаще всего", name,
				words.Time(at))
		}
		a.addTime("contention", ns, bound, evidence, words.Say(
			"Workers waited %s (%s), %s in %s. No CF is known to have held what they waited for: it may be a "+
				"semaphore, a signal or a thread. Pass its result as a DF: the CF then starts when it is "+
				"there.",
			"Рабочие потоки ждали %s (%s): %s в %s. Какой ФВ это занимал, неизвестно: возможно, это семафор, "+
				"сигнал или поток. Передайте его результат как ФД, и ФВ начнётся, когда он появится.",
			words.Time(ns), a.share(ns), where, a.named(c.Consumer))).
			by(a.without(f, others))
		return
	}
	heldBy := words.Say("", ",")
	if holder != "" {
		evidence["holder"] = holder
		heldBy = words.Say(", held most by %s,", ", который чаще всего занимал %s,", a.named(holder))
	}
	mend := words.Say("Hold it for less time, or give each worker its own.",
		"Занимайте его на меньшее время или дайте каждому рабочему потоку свой.")
	if a.openMP() && construct(name, "critical") {
		mend = words.Say("If it only adds to a value or compares with it, use a `reduction`, or `atomic`. "+
			"Otherwise do "+
			"less inside of it.", "Если там значение только накапливается или сравнивается, используйте `reduction` "+
			"или `atomic`. Иначе выполняйте внутри меньше.")
	}
	a.addTime("contention", ns, bound, evidence, words.Say(
		"Workers waited %s (%s) for each other, mostly at `%s` (%s)%s and mostly in %s. %s",
		"Рабочие потоки ждали друг друга %s (%s): дольше всего на `%s` (%s)%s чаще всего в %s. %s",
		words.Time(ns), a.share(ns), name, words.Time(at), heldBy, a.named(c.Consumer), mend)).
		by(a.without(f, others))
}
