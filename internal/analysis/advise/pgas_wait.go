package advise

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Advice on waiting that is no collective and no lock: for a value that another thread changes, and for a
// thread's own transfers.
//
// Nothing in a trace tells which write ended a wait. It is taken to be the one to the waiting thread's node
// that began last before the wait was over, and after the wait before it: a write may be over for who made it
// before it has arrived.

// write is an operation that changes the memory of a node.
type write struct {
	at     int64
	thread int
}

// awaitPair is what a thread waited for the writes of another one: indices of threads.
type awaitPair struct{ Waiter, Writer int }

// writesTo are the times of the writes of one thread to a node.
type writesTo struct {
	Node, Thread int
	At           []int64
}

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
	to := map[int][]write{}
	told := make([][]writesTo, g.Size()) // by process
	for i := range threads {
		by := map[int]*writesTo{} // by node
		t := &threads[i]
		for k := range t.Transfers {
			x := &t.Transfers[k]
			node := int(x.Peer)
			switch {
			case x.Visit < 0 || x.Kind == model.TransferGet || !waiting[node]:
			case m.Own(node):
				to[node] = append(to[node], write{t.Enter[x.Visit], i})
			default:
				if by[node] == nil {
					by[node] = &writesTo{Node: node, Thread: i}
				}
				by[node].At = append(by[node].At, t.Enter[x.Visit])
			}
		}
		for node, w := range by {
			k := m.Owner(node)
			told[k] = append(told[k], *w)
		}
	}
	if err := exchangeWrites(g, told, to); err != nil {
		return nil, err
	}
	for _, list := range to {
		slices.SortFunc(list, func(x, y write) int {
			return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.thread, y.thread))
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

// exchangeWrites gives each process what it is told, and adds what is told here.
func exchangeWrites(g procs.Group, told [][]writesTo, to map[int][]write) error {
	if g.Size() == 1 {
		return nil
	}
	out := make([][]byte, g.Size())
	for k, list := range told {
		if len(list) > 0 {
			out[k] = procs.Encode(&list)
		}
	}
	in, err := g.Exchange(out)
	if err != nil {
		return err
	}
	for _, b := range in {
		if len(b) == 0 {
			continue
		}
		var list []writesTo
		if err := procs.Decode(b, &list); err != nil {
			return errBroken
		}
		for _, w := range list {
			for _, at := range w.At {
				to[w.Node] = append(to[w.Node], write{at, w.Thread})
			}
		}
	}
	return nil
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
			return cmp.Compare(w.at, at)
		})
		for n--; n >= 0 && list[n].at >= before; n-- {
			if list[n].thread != i {
				out[awaitPair{i, list[n].thread}] += t.Exit[v] - t.Enter[v]
				break
			}
		}
		before = t.Exit[v]
	}
}

func isAwait(m *model.Model, site uint32) bool {
	return m.Codes[m.Sites[site].Code].Kind == trace.Await
}

// ofMetric is a metric over all call paths and threads, and by thread.
func (a *advisor) ofMetric(id string) (total int64, byThread []int64) {
	byThread = make([]int64, len(a.Pattern.Threads))
	for i := range a.Pattern.Metrics {
		if a.Pattern.Metrics[i].ID != id {
			continue
		}
		for _, row := range a.Pattern.Metrics[i].Rows {
			for t, v := range row.Values {
				total += v
				byThread[t] += v
			}
		}
	}
	return total, byThread
}

// await: threads wait until another one changes a value.
func (a *advisor) await() {
	total, byThread := a.ofMetric("await")
	call := a.worst("await")
	if call < 0 {
		return
	}
	evidence := map[string]any{"call": a.callPath(call), "waited_ns": total}
	text := words.Say("Threads waited %s (%s) for another thread to change a value, mostly in %s.",
		"Потоки ждали %s (%s), пока другой поток изменит значение, дольше всего в %s.",
		words.Time(total), a.share(total), a.callPath(call))
	var top awaitPair
	most := int64(0)
	for p, ns := range a.facts.awaited {
		if c := cmp.Compare(ns, most); c > 0 ||
			c == 0 && ns > 0 && cmp.Or(cmp.Compare(p.Waiter, top.Waiter), cmp.Compare(p.Writer, top.Writer)) < 0 {
			top, most = p, ns
		}
	}
	if most > 0 {
		evidence["waiter"], evidence["writer"], evidence["writer_ns"] = a.thread(top.Waiter),
			a.thread(top.Writer), most
		text = words.Say("%s Thread %s waited %s; %s of it ended after a write by thread %s.",
			"%s Поток %s ждал %s, и %s из этого закончились после записи потока %s.",
			text, a.thread(top.Waiter), words.Time(byThread[top.Waiter]), words.Time(most), a.thread(top.Writer))
	}
	a.addTime("await", total,
		words.Say("This is all the time in these waits. Only an earlier value or other work in the meantime "+
			"shortens it.",
			"Это всё время ожидания. Оно исчезнет лишь настолько, насколько значение можно записать раньше или есть "+
				"чем заняться до этого."), evidence, words.Say(
			"%s Write the value sooner, do independent work before waiting, or keep several messages in flight "+
				"instead of one at a time.",
			"%s Записывайте значение раньше, делайте до ожидания независимую от него работу или держите в пути "+
				"несколько сообщений, не дожидаясь ответа на каждое.", text))
}

// hideTransfers: threads stand still while a block of bytes goes to or from another one. Where several follow
// each other, overlap speaks.
func (a *advisor) hideTransfers() {
	p := a.Pattern
	alone := map[int]bool{} // call paths
	worst := (*pattern.Transfer)(nil)
	for i := range p.Transfers {
		x := &p.Transfers[i]
		if 2*x.OverlapNS >= x.NS {
			continue
		}
		alone[x.Call] = true
		if worst == nil || x.NS > worst.NS {
			worst = x
		}
	}
	if worst == nil {
		return
	}
	_, work := a.ofMetric("program")
	blocked := make([]int64, len(p.Threads))
	for i := range p.Metrics {
		if id := p.Metrics[i].ID; id != "bulk" && id != "access" {
			continue
		}
		for _, row := range p.Metrics[i].Rows {
			for t, v := range row.Values {
				if alone[row.Call] {
					blocked[t] += v
				}
			}
		}
	}
	total, gain := int64(0), int64(0)
	for t, ns := range blocked {
		total, gain = total+ns, gain+min(ns, work[t])
	}
	how := words.Say("Start them early with the non-blocking form (`upc_memget_nbi`, `upc_memput_nbi`), "+
		"process what is already there, and wait (`upc_synci`) where you need the data.",
		"Начинайте их заранее неблокирующими вызовами (`upc_memget_nbi`, `upc_memput_nbi`), обрабатывайте то, что "+
			"уже есть, и ждите (`upc_synci`) там, где данные нужны.")
	if strings.HasPrefix(p.Regions[p.Calls[worst.Call].Region].Name, "shmem_") {
		how = words.Say("Start them early with the non-blocking form (`shmem_..._nbi`), process what is already "+
			"there, and wait (`shmem_quiet`) where you need the data.",
			"Начинайте их заранее неблокирующими вызовами (`shmem_..._nbi`), обрабатывайте то, что уже есть, и ждите "+
				"(`shmem_quiet`) там, где данные нужны.")
	}
	a.addTime("hide-transfers", gain,
		words.Say("This is their time, or a thread's own work where that is shorter: no more can overlap. It "+
			"takes work that needs none of the data.",
			"Это их время, а у потока, который работает меньше, чем передаёт, — время его работы: больше совместить "+
				"нельзя. Нужна работа, которой эти данные не нужны."),
		map[string]any{"call": a.callPath(worst.Call), "times": worst.Count, "bytes": worst.Bytes,
			"time_ns": total}, words.Say(
			"Threads stood still for %s (%s) in blocking transfers, mostly in %s: %s, %s. %s",
			"Потоки простаивали %s (%s) в блокирующих передачах, больше всего в %s: %s, %s. %s",
			words.Time(total), a.share(total), a.callPath(worst.Call), words.Number{N: worst.Count, What: transfers},
			words.Size(worst.Bytes), how))
}

// completion: threads wait for their own transfers.
func (a *advisor) completion() {
	p := a.Pattern
	total, _ := a.ofMetric("completion")
	call := a.worst("completion")
	if call < 0 {
		return
	}
	times, moved := int64(0), int64(0)
	for i := range p.Metrics {
		if p.Metrics[i].ID != "visits" {
			continue
		}
		for _, row := range p.Metrics[i].Rows {
			if p.Regions[p.Calls[row.Call].Region].Kind == trace.Completion.String() {
				for _, v := range row.Values {
					times += v
				}
			}
		}
	}
	for i := range p.Threads {
		moved += p.Threads[i].Puts + p.Threads[i].Gets + p.Threads[i].Atomics
	}
	evidence := map[string]any{"call": a.callPath(call), "time_ns": total, "times": times, "transfers": moved}
	text := words.Say("Threads spent %s (%s) completing their own transfers, mostly in %s.",
		"Потоки ждали завершения собственных передач %s (%s), дольше всего в %s.",
		words.Time(total), a.share(total), a.callPath(call))
	if moved > 0 { // otherwise they were not recorded
		text = words.Say("%s They did so %s for %s.", "%s Это было %s; всего в программе %s.", text, often(times),
			words.Number{N: moved, What: transfers})
	}
	how := words.Say("Put independent work between a transfer and its completion, and complete several at once.",
		"Делайте между передачей и её завершением работу, которой её результат не нужен, и завершайте сразу "+
			"несколько передач.")
	if strings.HasPrefix(p.Regions[p.Calls[call].Region].Name, "shmem_") {
		how = words.Say("Put independent work between a transfer and `shmem_quiet`, and call that once for "+
			"several transfers. If only their order matters, `shmem_fence` is enough.",
			"Делайте между передачей и `shmem_quiet` работу, которой её результат не нужен, и вызывайте его один раз "+
				"для нескольких; если важен только порядок, хватит `shmem_fence`.")
	}
	a.addTime("completion", total,
		words.Say("This is all the time in it; what transfers take beyond the work in between remains.",
			"Это всё время в этих вызовах; останется то, на сколько передачи дольше работы между ними."),
		evidence, words.Say("%s %s", "%s %s", text, how))
}
