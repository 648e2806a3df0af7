package advise

import (
	"cmp"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Advice on waiting for a value that another thread changes, and for a thread's own transfers.
//
// A trace does not tell which write ended a wait. It is taken to be the last one to the waiting thread's node
// that began before the wait was over, and after the wait before it.

// write is an operation of a thread that changes the memory of a node.
type write struct {
	Node, Thread int
	At           int64
}

// awaitPair is what a thread waited for the writes of another one: indices of threads.
type awaitPair struct{ Waiter, Writer int }

// awaitedIn is the time of waits of own threads by who waited and who wrote. What no write was recorded for
// is not there. All members of g call it: they tell each other of the writes to nodes that wait.
func awaitedIn(m *model.Model, g procs.Group) (map[awaitPair]int64, error) {
	threads := m.Regions.Threads
	waiting := map[int]bool{}
	for i := range threads {
		t := &threads[i]
		if m.Own(t.Node) && slices.ContainsFunc(t.Site, func(site uint32) bool { return isAwait(m, site) }) {
			waiting[t.Node] = true
		}
	}
	all, err := procs.AllOf(g, waiting)
	if err != nil {
		return nil, err
	}
	for _, nodes := range all {
		maps.Copy(waiting, nodes)
	}
	told := make([][]write, g.Size()) // by process
	for i := range threads {
		t := &threads[i]
		for k := range t.Transfers {
			x := &t.Transfers[k]
			if node := int(x.Peer); x.Visit >= 0 && x.Kind != model.TransferGet && waiting[node] {
				owner := m.Owner(node)
				told[owner] = append(told[owner], write{node, i, t.Enter[x.Visit]})
			}
		}
	}
	in, err := procs.Swap(g, told)
	if err != nil {
		return nil, err
	}
	to := map[int][]write{}
	for _, w := range slices.Concat(in...) {
		to[w.Node] = append(to[w.Node], w)
	}
	for _, list := range to {
		slices.SortFunc(list, func(x, y write) int {
			return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Thread, y.Thread))
		})
	}
	out := map[awaitPair]int64{}
	for i := range threads {
		if m.Own(threads[i].Node) {
			threadAwaits(m, i, to[threads[i].Node], out)
		}
	}
	return out, nil
}

// threadAwaits adds the waits of a thread, to whose node others wrote as list says.
func threadAwaits(m *model.Model, i int, list []write, out map[awaitPair]int64) {
	t := &m.Regions.Threads[i]
	before := t.Start
	for v := range t.Enter {
		if !isAwait(m, t.Site[v]) || t.Parent[v] >= 0 && isAwait(m, t.Site[t.Parent[v]]) {
			continue
		}
		n, _ := slices.BinarySearchFunc(list, t.Exit[v], func(w write, at int64) int {
			return cmp.Compare(w.At, at)
		})
		for n--; n >= 0 && list[n].At >= before; n-- {
			if list[n].Thread != i {
				out[awaitPair{i, list[n].Thread}] += t.Exit[v] - t.Enter[v]
				break
			}
		}
		before = t.Exit[v]
	}
}

func isAwait(m *model.Model, site uint32) bool {
	return m.Codes[m.Sites[site].Code].Kind == trace.Await
}

// await: threads wait until another one changes a value.
func (a *advisor) await() {
	m := a.Pattern.Sum("await", nil)
	if m.Total == 0 {
		return
	}
	evidence := map[string]any{"call": a.callPath(m.Call), "waited_ns": m.Total}
	text := words.Say("Threads waited %s (%s) for another thread to change a value, mostly in %s.",
		"Потоки ждали %s (%s), пока другой поток изменит значение, дольше всего в %s.",
		words.Time(m.Total), a.share(m.Total), a.callPath(m.Call))
	top, longest := most(a.facts.Awaited, func(x, y awaitPair) int {
		return cmp.Or(cmp.Compare(x.Waiter, y.Waiter), cmp.Compare(x.Writer, y.Writer))
	})
	if longest > 0 {
		evidence["waiter"], evidence["writer"] = a.thread(top.Waiter), a.thread(top.Writer)
		evidence["writer_ns"] = longest
		text = words.Say("%s Thread %s waited %s; %s of it ended after a write by thread %s.",
			"%s Поток %s ждал %s, и %s из этого закончились после записи потока %s.",
			text, a.thread(top.Waiter), words.Time(m.ByThread[top.Waiter]), words.Time(longest), a.thread(top.Writer))
	}
	a.addTime("await", m.Total,
		words.Say("This is all the time in these waits. Only an earlier value or other work in the meantime "+
			"shortens it.",
			"Это всё время ожидания. Оно исчезнет лишь настолько, насколько значение можно записать раньше или есть "+
				"чем заняться до этого."), evidence, words.Say(
			"%s Write the value sooner, do independent work before waiting, or keep several messages in flight "+
				"instead of one at a time.",
			"%s Записывайте значение раньше, делайте до ожидания независимую от него работу или держите в пути "+
				"несколько сообщений, не дожидаясь ответа на каждое.", text))
}

// hideTransfers: threads stand still during single transfers; overlap is about several in a row.
func (a *advisor) hideTransfers() {
	alone := map[int]bool{} // call paths
	worst, _ := largest(a.Pattern.Transfers, func(x *pattern.Transfer) int64 {
		if 2*x.OverlapNS >= x.NS {
			return 0
		}
		alone[x.Call] = true
		return x.NS
	})
	if worst == nil {
		return
	}
	isAlone := func(call int) bool { return alone[call] }
	bulk, access := a.Pattern.Sum("bulk", isAlone), a.Pattern.Sum("access", isAlone)
	work := a.Pattern.Sum("program", nil)
	total, gain := bulk.Total+access.Total, int64(0)
	for t, ns := range work.ByThread {
		gain += min(ns, bulk.ByThread[t]+access.ByThread[t])
	}
	how := a.inLanguage(worst.Call,
		words.Say("Start them early with the non-blocking form (`shmem_..._nbi`), process what is already there, "+
			"and wait (`shmem_quiet`) where you need the data.",
			"Начинайте их заранее неблокирующими вызовами (`shmem_..._nbi`), обрабатывайте то, что уже есть, и ждите "+
				"(`shmem_quiet`) там, где данные нужны."),
		words.Say("Start them early, process what is already there, and complete them where you need the data.",
			"Начинайте их заранее, обрабатывайте то, что уже есть, и завершайте там, где данные нужны."),
		words.Say("Start them early with the non-blocking form (`upc_memget_nbi`, `upc_memput_nbi`), process what "+
			"is already there, and wait (`upc_synci`) where you need the data.",
			"Начинайте их заранее неблокирующими вызовами (`upc_memget_nbi`, `upc_memput_nbi`), обрабатывайте то, "+
				"что уже есть, и ждите (`upc_synci`) там, где данные нужны."))
	a.addTime("hide-transfers", gain,
		words.Say("This is their time, or a thread's own work where that is shorter: no more can overlap. This "+
			"needs work that does not use the data.",
			"Это их время, а у потока, который работает меньше, чем передаёт, — время его работы: больше совместить "+
				"нельзя. Нужна работа, которой эти данные не нужны."),
		map[string]any{"call": a.callPath(worst.Call), "times": worst.Count, "bytes": worst.Bytes,
			"time_ns": total}, words.Say(
			"Threads sat idle for %s (%s) in blocking transfers, mostly in %s: %s, %s. %s",
			"Потоки простаивали %s (%s) в блокирующих передачах, больше всего в %s: %s, %s. %s",
			words.Time(total), a.share(total), a.callPath(worst.Call), words.Number{N: worst.Count, What: transfers},
			words.Size(worst.Bytes), how))
}

// completion: threads wait for their own transfers.
func (a *advisor) completion() {
	m := a.Pattern.Sum("completion", nil)
	if m.Total == 0 {
		return
	}
	times := a.Pattern.Sum("visits", func(call int) bool {
		return a.region(call).Kind == trace.Completion.String()
	}).Total
	_, moved := largest(a.Pattern.Threads, func(t *pattern.Thread) int64 { return t.Puts + t.Gets + t.Atomics })
	evidence := map[string]any{"call": a.callPath(m.Call), "time_ns": m.Total, "times": times,
		"transfers": moved}
	text := words.Say("Threads spent %s (%s) completing their own transfers, mostly in %s.",
		"Потоки ждали завершения собственных передач %s (%s), дольше всего в %s.",
		words.Time(m.Total), a.share(m.Total), a.callPath(m.Call))
	if moved > 0 { // otherwise they were not recorded
		text = words.Say("%s They did so %s for %s.", "%s Это было %s; всего в программе %s.", text, often(times),
			words.Number{N: moved, What: transfers})
	}
	how := a.inLanguage(m.Call,
		words.Say("Put independent work between a transfer and `shmem_quiet`, and call that once for several "+
			"transfers. If only their order matters, `shmem_fence` is enough.",
			"Делайте между передачей и `shmem_quiet` работу, которой её результат не нужен, и вызывайте его один раз "+
				"для нескольких; если важен только порядок, хватит `shmem_fence`."),
		words.Say("Put independent work between a transfer and its completion (`MPI_Win_flush`, "+
			"`MPI_Win_unlock`), and complete several at once.",
			"Делайте между передачей и её завершением (`MPI_Win_flush`, `MPI_Win_unlock`) работу, которой её "+
				"результат не нужен, и завершайте сразу несколько передач."),
		words.Say("Put independent work between a transfer and its completion, and complete several at once.",
			"Делайте между передачей и её завершением работу, которой её результат не нужен, и завершайте сразу "+
				"несколько передач."))
	a.addTime("completion", m.Total,
		words.Say("This is all the time in it; what transfers take beyond the work in between remains.",
			"Это всё время в этих вызовах; останется то, на сколько передачи дольше работы между ними."),
		evidence, words.Say("%s %s", "%s %s", text, how))
}
