package advise

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/words"
)

// Advice on runs of regions, without CFs, from what the search for patterns found (pattern.Result) and from
// the order of operations in the model.
//
// Every gain is time that threads lost to waiting or transfers, in sum. The run ends with its last thread,
// which cannot gain more than the mean: so it may end sooner by gain / threads at most.

// pgas looks at such a run.
func (a *advisor) pgas() {
	a.startUp()
	a.lateThread()
	a.relaxEntry()
	a.provenEntry()
	a.relaxExit()
	a.doubleBarrier()
	a.allocInLoop()
	a.lockContention()
	a.overlap()
	a.hideTransfers()
	a.await()
	a.completion()
	a.ofMessages()
}

// steady is the share of what others lost to one thread above which that one is named.
const steady = 0.6

// callPath is a call path with its place: "`main > upc_barrier` (is.c:12)".
func (a *advisor) callPath(call int) string {
	c := &a.Pattern.Calls[call]
	return nameAt(a.Pattern.Path(call), c.File, c.Line)
}

// region is what is called at a call path.
func (a *advisor) region(call int) *pattern.Region {
	return &a.Pattern.Regions[a.Pattern.Calls[call].Region]
}

// inLanguage chooses between what is said of OpenSHMEM, of MPI and of UPC, by what a call path calls.
func (a *advisor) inLanguage(call int, shmem, mpi, upc words.Text) words.Text {
	switch name := a.region(call).Name; {
	case strings.HasPrefix(name, "shmem_"):
		return shmem
	case strings.HasPrefix(name, "MPI_"):
		return mpi
	}
	return upc
}

// nameAt is a name of the program's with its place in the source: "`queue_lock` (queue.c:12)".
func nameAt(name, file string, line int) string {
	s := "`" + strings.ReplaceAll(printable(name), "`", "'") + "`"
	if file == "" {
		return s
	}
	place := strings.ReplaceAll(printable(path.Base(file)), " ", "_")
	if line > 0 {
		place += fmt.Sprintf(":%d", line)
	}
	return s + " (" + place + ")"
}

// thread is the name of a thread: "3", "3.1" where nodes have several.
func (a *advisor) thread(i int) string {
	t := &a.Pattern.Threads[i]
	if slices.ContainsFunc(a.Pattern.Threads, func(t pattern.Thread) bool { return t.Stream > 0 }) {
		return fmt.Sprintf("%d.%d", t.Node, t.Stream)
	}
	return strconv.Itoa(t.Node)
}

// lateThread: one thread comes last, or now this one and now that.
func (a *advisor) lateThread() {
	p := a.Pattern
	late := slices.DeleteFunc(slices.Clone(p.Late), func(l pattern.Late) bool {
		m := &p.Metrics[l.Metric]
		return m.Pattern == 0 || m.Reading != "" || m.ID == "lock-contention" || inMessages[m.ID]
	})
	type sum struct{ lost, work, left int64 }
	var all sum
	caused, of := map[int]int64{}, map[int]sum{} // by thread
	for _, l := range late {
		s := of[l.Thread]
		s.lost, s.work, s.left = s.lost+l.NS, s.work+l.WorkNS, s.left+l.LeftNS
		all.lost, all.work, all.left = all.lost+l.NS, all.work+l.WorkNS, all.left+l.LeftNS
		caused[l.Thread], of[l.Thread] = s.lost, s
	}
	last, lost := most(caused, cmp.Compare)
	if lost == 0 || len(p.Threads) < 2 {
		return
	}
	one := float64(lost) >= steady*float64(all.lost)
	if one {
		late, all = slices.DeleteFunc(late, func(l pattern.Late) bool { return l.Thread != last }), of[last]
	}
	top, _ := largest(late, func(l *pattern.Late) int64 { return l.NS })
	name := a.thread(last)
	evidence := map[string]any{"thread": name, "lost_ns": lost, "call": a.callPath(top.Call),
		"work_ns": all.work, "left_late_ns": all.left}
	if 2*all.left > all.lost {
		a.leftLate(all.left, one, name, a.callPath(top.Call), evidence)
		return
	}
	if !one {
		evidence["all_lost_ns"] = all.lost
		a.unevenSteps(all.lost, all.work, lost, top, name, evidence)
		return
	}
	times, doing := int64(0), map[int]int64{} // by call path
	for _, l := range late {
		times += l.Count
		for _, d := range l.Doing {
			doing[d.Call] += d.NS
		}
	}
	evidence["times"] = times
	text := words.Say("Thread %s came last %s. The others waited %s (%s) for it, mostly at %s.",
		"Поток %s приходил последним %s, и остальные ждали его %s (%s), дольше всего в %s.",
		name, often(times), words.Time(lost), a.share(lost), a.callPath(top.Call))
	if call, did := most(doing, cmp.Compare); did > 0 {
		evidence["doing"], evidence["doing_ns"] = a.callPath(call), did
		if call == 0 || a.region(call).Kind == "function" {
			text = words.Say("%s Meanwhile it worked in %s (%s): give it less of that work, so that all arrive "+
				"together.", "%s Он в это время работал в %s (%s): дайте ему меньше этой работы, чтобы все приходили "+
				"одновременно.",
				text, a.callPath(call), words.Time(did))
		} else {
			text = words.Say("%s Meanwhile it was in %s (%s): look there first.",
				"%s Он в это время был в %s (%s): начните с этого.", text, a.callPath(call), words.Time(did))
		}
	}
	a.addTime("late-thread", all.work,
		words.Say("The others waited %s of that for what this thread did between two collectives; with its work "+
			"spread evenly they would not.",
			"Из этого %s остальные ждали того, что этот поток делал между двумя коллективными операциями; если "+
				"распределить его работу поровну, ожидания не будет.", words.Time(all.work)),
		evidence, text)
}

// unevenSteps: threads take turns being late.
func (a *advisor) unevenSteps(total, gain, lost int64, top *pattern.Late, name string,
	evidence map[string]any) {
	how := words.Say("Synchronise less often, or divide the work of each step more evenly.",
		"Синхронизируйтесь реже или делите работу каждого шага ровнее.")
	if a.region(top.Call).Kind == "barrier" {
		how = a.inLanguage(top.Call, how, // which has no barrier of two phases
			words.Say("Synchronise less often, divide the work of each step more evenly, or do independent work "+
				"in the barrier (`MPI_Ibarrier`, then `MPI_Wait`).",
				"Синхронизируйтесь реже, делите работу каждого шага ровнее или делайте во время барьера независимую "+
					"работу (`MPI_Ibarrier`, затем `MPI_Wait`)."),
			words.Say("Synchronise less often, or split the barrier (`upc_notify`, independent work, `upc_wait`).",
				"Синхронизируйтесь реже или разделите барьер (`upc_notify`, затем независимая работа, затем "+
					"`upc_wait`)."))
	}
	a.addTime("uneven-steps", gain,
		words.Say("The threads waited that long for each other's work; with equal work in every step they would "+
			"not.",
			"Столько потоки ждали работы друг друга; при равной работе на каждом шаге ожидания не было бы."),
		evidence, words.Say(
			"Threads waited %s (%s) for the last one, mostly at %s, and the last one changes: thread %s "+
				"caused %s. %s",
			"Потоки ждали последнего %s (%s), дольше всего в %s, и последним приходит не всегда один и тот же: "+
				"из-за потока %s потеряно %s. %s",
			words.Time(total), a.share(total), a.callPath(top.Call), name, words.Time(lost), how))
}

// leftLate: threads are late because they left the collective before late.
func (a *advisor) leftLate(ns int64, one bool, name, call string, evidence map[string]any) {
	waited := []any{words.Time(ns), a.share(ns), a.whoTookCores()}
	text := words.Say("Threads were late, mostly at %s, because they left the previous collective later than "+
		"the others, which waited %s (%s) for that. They had no core then: %s",
		"Потоки опаздывали (дольше всего в %s), потому что позже других выходили из предыдущей коллективной "+
			"операции: из-за этого остальные ждали %s (%s). У них не было ядра: %s",
		append([]any{call}, waited...)...)
	if one {
		text = words.Say("Thread %s was late, mostly at %s, because it left the previous collective later than "+
			"the others: they waited %s (%s) for that. It had no core then: %s",
			"Поток %s опаздывал (дольше всего в %s), потому что позже других выходил из предыдущей коллективной "+
				"операции: из-за этого остальные ждали %s (%s). У него не было ядра: %s",
			append([]any{name, call}, waited...)...)
	}
	if h := a.crowded(); h != nil {
		a.add("late-leaving", 0, ns, coresBound(h), evidence, text)
		return
	}
	a.addTime("late-leaving", ns, words.Say("With cores of their own, threads would arrive that much sooner.",
		"Будь у потоков собственные ядра, они приходили бы на столько же раньше."), evidence, text)
}

// costly gives the collective that costs most, nil for none, what all cost, and how often they were called.
// ns gives 0 for those that do not count.
func (a *advisor) costly(ns func(c *pattern.Collective) int64) (most *pattern.Collective,
	total, times int64) {
	most, total = largest(a.Pattern.Collectives, func(c *pattern.Collective) int64 {
		v := ns(c)
		if v > 0 {
			times += c.Count
		}
		return v
	})
	return most, total, times
}

// relaxEntry: collectives wait for all, though their data would be there sooner.
func (a *advisor) relaxEntry() {
	best, total, n := a.costly(func(c *pattern.Collective) int64 {
		if !strings.HasPrefix(c.Sync, "all/") {
			return 0
		}
		return c.AllSyncNS
	})
	if best == nil {
		return
	}
	a.addTime("relax-entry", total, words.Say(
		"Threads waited that long but did not need the data. A library that treats both modes alike, as the "+
			"reference collectives do, saves nothing. The waiting may also move to the next barrier.",
		"Столько потоки ждали сверх того, чего требуют данные. Библиотека, которая не различает эти режимы (как "+
			"эталонная реализация коллективных операций), ничего не выиграет, а ожидание может перейти к следующему "+
			"барьеру."),
		map[string]any{"call": a.callPath(best.Call), "sync": best.Sync, "to": "my", "allsync_ns": best.AllSyncNS,
			"entry_ns": best.EntryNS, "times": n}, words.Say(
			"Threads waited %s (%s) at the entry of collectives only because `UPC_IN_ALLSYNC` waits for all; most, "+
				"%s, in %s. With `UPC_IN_MYSYNC` each thread begins when its data is ready: use it where nobody else "+
				"still writes the data.",
			"Потоки ждали на входе в коллективные операции %s (%s) только потому, что `UPC_IN_ALLSYNC` требует "+
				"прихода всех; больше всего (%s) в %s. С `UPC_IN_MYSYNC` каждый начинает, когда готовы нужные ему "+
				"данные: используйте этот режим там, где их больше никто не меняет.",
			words.Time(total), a.share(total), words.Time(best.AllSyncNS), a.callPath(best.Call)))
}

// provenEntry: a barrier has just made sure of what the collective waits for.
func (a *advisor) provenEntry() {
	best, total, _ := a.costly(func(c *pattern.Collective) int64 {
		in, _, _ := strings.Cut(c.Sync, "/")
		if in == "" || in == "no" || c.Count == 0 || c.Follows < c.Count {
			return 0
		}
		return c.EntryNS
	})
	if best == nil {
		return
	}
	a.addTime("proven-entry", total,
		words.Say("This is all the time between a thread's entry and that of the last one.",
			"Это всё время от входа потока до входа последнего."),
		map[string]any{"call": a.callPath(best.Call), "sync": best.Sync, "to": "no", "entry_ns": best.EntryNS,
			"times": best.Count, "after_barrier": best.AfterBarrier, "between_ns": best.BetweenNS}, words.Say(
			"Threads waited %s (%s) at the entry of %s, though every time (%s) all of them had just left a barrier. "+
				"`UPC_IN_NOSYNC` does not wait a second time.",
			"Потоки ждали %s (%s) на входе в %s, хотя каждый раз (%s) непосредственно перед этим все вышли из "+
				"барьера. С `UPC_IN_NOSYNC` второго ожидания не будет.",
			words.Time(total), a.share(total), a.callPath(best.Call), often(best.Count)))
}

// allocInLoop: shared memory is allocated by all again and again.
func (a *advisor) allocInLoop() {
	time := int64(0)
	best, total, _ := a.costly(func(c *pattern.Collective) int64 {
		if c.Kind != "alloc" || c.Count < 2 {
			return 0
		}
		time += c.NS
		call := c.NS - c.EntryNS
		return call - call/c.Count
	})
	if best == nil {
		return
	}
	a.addTime("alloc-in-loop", total,
		words.Say("All calls but one per call path would disappear. Waiting for late threads does not count: it "+
			"moves to the next synchronisation.",
			"Останется по одному вызову в каждом месте. Ожидание опоздавших не учтено: их будут ждать при следующей "+
				"синхронизации."),
		map[string]any{"call": a.callPath(best.Call), "times": best.Count, "time_ns": best.NS,
			"waited_ns": best.EntryNS}, words.Say(
			"All threads allocate shared memory in %s again and again (%s). That took %s (%s), including %s of "+
				"waiting for each other. Allocate once, before the loop, and reuse the memory.",
			"Все потоки снова и снова выделяют общую память в %s (%s); на это ушло %s (%s), из них %s — на ожидание "+
				"друг друга. Выделите её один раз, до цикла, и используйте повторно.",
			a.callPath(best.Call), often(best.Count), words.Time(time), a.share(time), words.Time(best.EntryNS)))
}

// lockContention: threads wait for a lock that another one has.
func (a *advisor) lockContention() {
	l, total := largest(a.Pattern.Locks, func(l *pattern.Lock) int64 { return l.WaitNS })
	if l == nil || l.Acquired == 0 {
		return
	}
	owners := map[int]int64{}
	for _, b := range l.Blocks {
		owners[b.Owner] += b.NS
	}
	owner, longest := most(owners, cmp.Compare)
	lock := nameAt(l.Name, l.File, l.Line)
	hold := l.HoldNS / l.Acquired
	evidence := map[string]any{"lock": lock, "waited_ns": l.WaitNS, "hold_ns": hold, "longest_ns": l.LongestNS,
		"handover_ns": l.HandoverNS, "acquired": l.Acquired, "contended": l.Contended, "chain": l.Chain}
	text := words.Say("Threads waited %s (%s) for locks, mostly for lock %s: it was taken %s and held for %s "+
		"on average, %s at most.",
		"Потоки ждали блокировок %s (%s), дольше всего — %s: её захватывали %s и держали в среднем %s, самое "+
			"большее %s.",
		words.Time(total), a.share(total), lock, often(l.Acquired), words.Time(hold), words.Time(l.LongestNS))
	if m := a.Pattern.Sum("lock-contention", nil); m.Total > 0 {
		evidence["call"] = a.callPath(m.Call)
		text = words.Say("%s They waited in %s.", "%s Ждали в %s.", text, a.callPath(m.Call))
	}
	if longest > 0 {
		evidence["owner"], evidence["owner_ns"] = a.thread(owner), longest
		text = words.Say("%s Thread %[3]s held it for %[2]s of that time.",
			"%s Из этого %s блокировку держал поток %s.", text, words.Time(longest), a.thread(owner))
	}
	a.addTime("lock-contention", total,
		words.Say("This is all the time from a request for a held lock to its release.",
			"Это всё время от запроса занятой блокировки до её освобождения."), evidence,
		words.Say("%s Do less while holding it, or guard parts of the data with locks of their own.",
			"%s Делайте под ней меньше или защитите части данных разными блокировками.", text))
}

// overlap: transfers that wait for each other could be under way at once.
func (a *advisor) overlap() {
	runs := int64(0)
	best, total := largest(a.Pattern.Transfers, func(x *pattern.Transfer) int64 {
		if x.Runs == 0 || x.OverlapNS <= 0 {
			return 0
		}
		runs += x.Runs
		return x.OverlapNS
	})
	if best == nil {
		return
	}
	how := a.inLanguage(best.Call,
		words.Say("Start them with the non-blocking form (`shmem_..._nbi`) and wait once for all (`shmem_quiet`).",
			"Начинайте их неблокирующими вызовами (`shmem_..._nbi`) и ждите один раз (`shmem_quiet`)."),
		words.Say("Wait once for all of them (`MPI_Win_flush_all`).",
			"Ждите один раз для всех (`MPI_Win_flush_all`)."),
		words.Say("Start them with the non-blocking form (`upc_memget_nbi`, `upc_memput_nbi`) and wait once for "+
			"all (`upc_synci`).", "Начинайте их неблокирующими вызовами (`upc_memget_nbi`, `upc_memput_nbi`) и ждите "+
			"один раз (`upc_synci`)."))
	a.addTime("overlap", total,
		words.Say("The longest transfer of each run remains; if a link or the memory is busy all the time, more "+
			"remains.", "От каждой серии остаётся самая долгая передача; если канал или память заняты всё время, "+
			"останется больше."),
		map[string]any{"call": a.callPath(best.Call), "runs": best.Runs, "times": best.Count, "bytes": best.Bytes,
			"time_ns": best.NS, "overlap_ns": best.OverlapNS}, words.Say(
			"Blocking transfers follow each other directly (%s), mostly in %s: %s, %s. One after another they take "+
				"%s (%s) longer than in parallel. %s",
			"Блокирующие передачи идут подряд (%s), больше всего в %s: %s, %s. По очереди они занимают на %s (%s) "+
				"больше, чем одновременно. %s",
			words.Number{N: runs, What: runsNoun}, a.callPath(best.Call), words.Number{N: best.Count, What: transfers},
			words.Size(best.Bytes), words.Time(total), a.share(total), how))
}

var (
	runsNoun  = words.Noun{One: "run", More: "runs", Russian: [3]string{"серия", "серии", "серий"}}
	transfers = words.Noun{One: "transfer", More: "transfers",
		Russian: [3]string{"передача", "передачи", "передач"}}
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
	system := a.inLanguage(most.Call, words.Say("OpenSHMEM", "системы исполнения"), words.Say("MPI", "MPI"),
		words.Say("UPC", "системы исполнения"))
	if a.region(most.Call).Name == "start_pes" {
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
