package advise

import (
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// What only OpenMP programs are told: about code outside of parallel regions, and about loops whose threads
// do not end together. The names are those that sdk/omp gives to what it records.

const (
	serialCode = "serial code"
	barrier    = "barrier"
)

// openMP tells whether the program uses OpenMP: what it is advised to do is in that language.
func (a *advisor) openMP() bool { return a.facts != nil && a.facts.m.OpenMP() }

const (
	// littleSerial is the share of the run that may pass outside of parallel regions without a word.
	littleSerial = 0.05
	// loading is how long a process may take to load its libraries, before its first line: no code to share.
	loading = 10_000_000 // ns
)

// serial: one thread executes the code outside of parallel regions, the others wait.
func (a *advisor) serial() {
	var most *slou.Fragment
	all, code := int64(0), int64(0) // code: without loading
	for i := range a.res.Fragments {
		f := &a.res.Fragments[i]
		if !strings.HasPrefix(f.Code, serialCode) {
			continue
		}
		all, code = all+f.UsefulNS, code+f.UsefulNS
		if f.Code == serialCode+" at the start" {
			code -= min(f.UsefulNS, loading)
		}
		if most == nil || f.UsefulNS > most.UsefulNS {
			most = f
		}
	}
	if most == nil || a.workers < 2 || float64(code) < littleSerial*float64(a.res.WallNS) {
		return
	}
	a.addWall("serial-code", code-code/a.workers, words.Say("Shared evenly by all threads, that code would end that "+
		"much sooner.", "Если бы этот код поровну делили все потоки, он заканчивался бы на столько же раньше."),
		map[string]any{"code": most.Code, "serial_ns": all, "code_ns": most.UsefulNS}, words.Say(
			"One thread worked %s outside of parallel regions, mostly in `%s` (%s); the others waited. Find what takes "+
				"the time there, and share it: a `parallel for`, or tasks.",
			"Вне параллельных областей один поток работал %s, больше всего — `%s` (%s), а остальные ждали. Найдите, "+
				"что там занимает время, и разделите это между потоками: `parallel for` или задачи.",
			words.Time(all), most.Code, words.Time(most.UsefulNS)))
}

// uneven: threads wait at a barrier for the one that ends last.
func (a *advisor) uneven() {
	waits := func(c *slou.Cause) int64 {
		if c.Factor != slou.FactorS.String() || c.DF != barrier || strings.HasPrefix(c.Producer, "single") ||
			strings.HasPrefix(c.Producer, "masked") || strings.Contains(c.Producer, "task") {
			return 0 // that is no uneven loop
		}
		return c.NS
	}
	_, all := largest(a.res.Causes, waits)
	_, late := largest(a.res.Causes, func(c *slou.Cause) int64 {
		if c.Factor == slou.FactorO.String() && (strings.HasPrefix(c.Consumer, "for ") ||
			strings.HasPrefix(c.Consumer, "parallel ")) {
			return c.NS
		}
		return 0
	})
	all -= late // who comes last because it had no core has no more to do than the others
	c := a.top(waits, func(c *slou.Cause) [4]string { return [4]string{c.Consumer} })
	if all <= 0 {
		return
	}
	where, evidence := c.Consumer, map[string]any{"consumer": c.Consumer, "waited_ns": all}
	remedy := words.Say("Hand out its iterations at run time: `schedule(dynamic)` or `schedule(guided)`.",
		"Раздавайте итерации по ходу дела: `schedule(dynamic)` или `schedule(guided)`.")
	if loop, shares := a.loop(c.Consumer); loop != nil {
		where = loop.Code
		evidence["loop"] = loop.Code
		if loop.Count > shares {
			remedy = words.Say("The last chunks take long: make chunks smaller, or begin with the longest iterations.",
				"Последние порции длинные: уменьшите порции или начинайте с самых долгих итераций.")
		}
	}
	a.addTime("uneven-loop", all, words.Say("If all threads came to the barriers at the same time, the run would end "+
		"that much sooner.", "Если бы все потоки приходили к барьерам одновременно, запуск закончился бы на столько "+
		"же раньше."), evidence, words.Say(
		"Threads waited %s (%s) at barriers for the slowest one, mostly after `%s`: some of its iterations take longer "+
			"than others. %s",
		"Потоки ждали самого медленного у барьеров %s (%s), больше всего после `%s`: одни итерации дольше других. %s",
		words.Time(all), a.share(all), where, remedy))
}

// loop is the loop with most useful time in a parallel region, by the code fragment of its implicit tasks, nil
// if none is recorded; shares is how many CFs it has if every thread has one share each time.
func (a *advisor) loop(region string) (loop *slou.Fragment, shares int64) {
	m := a.facts.m
	inside, threads := map[string]bool{}, map[model.CF]bool{}
	for i, parent := range m.Parent {
		if parent == 0 || m.Codes[m.CodeOf(parent)].Name != region {
			continue
		}
		threads[parent] = true
		inside[m.Codes[m.CodeOf(model.CF(i))].Name] = true
	}
	for i := range a.res.Fragments {
		f := &a.res.Fragments[i]
		if inside[f.Code] && strings.HasPrefix(f.Code, "for ") && (loop == nil || f.UsefulNS > loop.UsefulNS) {
			loop = f
		}
	}
	return loop, int64(len(threads))
}
