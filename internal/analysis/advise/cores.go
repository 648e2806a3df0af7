package advise

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// Who had the cores when workers had none? The kernel says for how long a thread waited for a core, not for
// whom. Workers waited for each other as far as more of them were at work than there are cores. The other
// threads of the program took no more than they used. The rest was other programs.

// late is for how long workers had no core before CFs that were ready, as part of O.dispatch.
type late struct {
	NS    int64            // in all, with what is only guessed: see replay
	Known int64            // of it, what the kernel said
	On    map[int]int64    // Known by node
	Of    map[string]int64 // NS by code fragment
}

// lateStarts is nothing without a model.
func (a *advisor) lateStarts() *late {
	if a.late != nil {
		return a.late
	}
	l := &late{On: map[int]int64{}, Of: map[string]int64{}}
	a.late = l
	if a.replay == nil {
		return l
	}
	r := a.replay
	dispatch := a.res.Factors.O.Of(slou.PartDispatch)
	for _, e := range r.order {
		ns := min(r.late[e], dispatch-l.NS)
		if ns <= 0 || !r.atomic(e) {
			continue
		}
		l.NS += ns
		l.Of[r.code(e).Name] += ns
		if !r.List[e].Unknown {
			l.Known += ns
			l.On[int(r.nodeOf(e))] += ns
		}
	}
	return l
}

// findCores finds out how the threads of own workers fared while they were not parked. What was not measured
// counts like the rest.
func (f *found) findCores(m *model.Model) {
	for _, w := range m.OwnWorkers() {
		awake, queued := m.Wall(), int64(0)
		for _, v := range w.Idle {
			awake -= v.To - v.From
		}
		if w.Measured == 0 {
			f.Ran += awake
			continue
		}
		for i := range w.Off {
			queued += w.Off[i].Queued + w.Off[i].Before
		}
		all := float64(awake) / float64(w.Measured)
		f.Ran, f.Queued = f.Ran+int64(all*float64(w.CPU)), f.Queued+int64(all*float64(queued))
	}
}

// processorTime is that of all processes; 0 where it is not known.
func (a *advisor) processorTime() (ns int64) {
	for i := range a.facts.m.Processes {
		cpu := a.facts.m.Processes[i].CPU
		if cpu < 0 {
			return 0
		}
		ns += cpu
	}
	return ns
}

// ownDoing is the part of the time for which workers had no core that would go with the system's work, from 0
// to 1: what its other threads took, which collect garbage and record; and of what other programs took, as
// much as the workers themselves need the cores for that work. system is the workers' part of it.
func (a *advisor) ownDoing(system int64) float64 {
	own := float64(0)
	if threads := a.processorTime() - a.facts.Ran; threads > 0 && a.facts.Queued > 0 {
		own = min(float64(threads)/float64(a.facts.Queued), 1)
	}
	return own + (1-own)*float64(system)/float64(max(system+a.res.Factors.U.NS, 1))
}

// crowd is a host whose workers competed for its cores.
type crowd struct {
	On     model.Host
	Excess int64 // ns for which workers were at work beyond the number of cores, at most that of all workers
}

// crowded is the host whose workers competed most; nil if none did, or if that explains less than half of the
// time for which workers had no core. It is worked out once.
func (a *advisor) crowded() *crowd {
	if !a.crowdKnown {
		a.crowd, a.crowdKnown = a.findCrowd(), true
	}
	return a.crowd
}

func (a *advisor) findCrowd() *crowd {
	var worst crowd
	for _, h := range a.res.Hosts {
		if h.Cores <= 0 || h.Workers <= h.Cores {
			continue
		}
		excess := int64(h.Workers-h.Cores) * a.res.WallNS
		if a.Part {
			excess = min(excess, a.atWork(h.Host)-int64(h.Cores)*a.res.WallNS)
		}
		if a.replay != nil {
			excess = a.replay.excess(h.Host, h.Cores)
		}
		if excess > worst.Excess {
			worst = crowd{h, excess}
		}
	}
	if o := a.res.Factors.O; o != nil && 2*worst.Excess < a.res.Factors.InsideNS()+a.lateStarts().NS {
		return nil
	}
	if worst.Excess == 0 {
		return nil
	}
	return &worst
}

// atWork is the time that a host's workers spent in CFs and in the system, or had no core for that.
func (a *advisor) atWork(host string) (ns int64) {
	for i := range a.res.Nodes {
		if n := &a.res.Nodes[i]; n.Host == host {
			for _, f := range []slou.Factor{slou.FactorU, slou.FactorO} {
				if share := n.Factors.Of(f); share != nil {
					ns += share.NS
				}
			}
		}
	}
	return ns
}

// excess sums up, over all times, the workers of a host that ran a CF or had no core for one, beyond the
// number of cores. Result in nanoseconds.
func (r *replay) excess(host string, cores int) (ns int64) {
	type turn struct {
		at int64
		by int // worker more or less
	}
	scratch := r.m.Scratch()
	defer scratch.Close()
	turns := memory.Make[turn](scratch, 2*len(r.order))[:0]
	for _, e := range r.order {
		if x := &r.List[e]; r.m.Nodes[r.nodeOf(e)].Host == host {
			turns = append(turns, turn{x.Start - r.late[e], 1}, turn{max(x.Until, x.Start), -1})
		}
	}
	slices.SortFunc(turns, func(x, y turn) int { return cmp.Compare(x.at, y.at) })
	busy := 0
	for i, t := range turns {
		if i > 0 && busy > cores {
			ns += int64(busy-cores) * (t.at - turns[i-1].at)
		}
		busy += t.by
	}
	return ns
}

func coresBound(h *crowd) words.Text { return runAtOnce(int64(h.On.Cores)) }

// runAtOnce is the bound that a number of cores sets.
func runAtOnce(cores int64) words.Text {
	return words.Say("%s cannot run more than %s at a time.",
		"На %s не может исполняться больше %s одновременно.",
		words.Number{N: cores, What: words.OnCores}, words.Number{N: cores, What: words.CFs})
}

// whoTookCores says why CFs were pre-empted, and what to do.
func (a *advisor) whoTookCores() words.Text {
	if h := a.crowded(); h != nil {
		name := words.Say("%s", " `%s`", printable(h.On.Host))
		if h.On.Host == "" {
			name = words.Text{}
		}
		if a.Pattern != nil && slou.OnlyRegions(a.facts.m) {
			return words.Say("%s share %s of host %s. Use fewer threads.",
				"на %s приходится %s хоста%s. Уменьшите число потоков.",
				words.Number{N: int64(h.On.Workers), What: threads},
				words.Number{N: int64(h.On.Cores), What: words.Cores}, name)
		}
		return words.Say("%s share %s of host %s. Use fewer workers.",
			"на %s приходится %s хоста%s. Уменьшите число рабочих потоков.",
			words.Number{N: int64(h.On.Workers), What: words.Workers},
			words.Number{N: int64(h.On.Cores), What: words.Cores},
			name)
	}
	return words.Say("other threads (other programs, messages, recording) ran on their cores. Stop other "+
		"programs, or leave them a core.",
		"их ядра занимали другие потоки (других программ, передачи сообщений, записи трассы). Остановите на "+
			"машине всё лишнее или оставьте для остального отдельное ядро.")
}

var threads = words.Noun{One: "thread", More: "threads", Russian: [3]string{"поток", "потока", "потоков"}}

// slowNode is the node whose workers alone had no cores: of the time in which all had none, it lost more than
// nine tenths. nil: there is none.
func (a *advisor) slowNode() *slou.Node {
	late := a.lateStarts()
	ns := a.res.Factors.InsideNS() + late.Known
	for i := range a.res.Nodes {
		if n := &a.res.Nodes[i]; len(a.res.Nodes) > 1 && 10*(n.Factors.InsideNS()+late.On[n.Node]) > 9*ns {
			return n
		}
	}
	return nil
}

// printable replaces what a terminal might take for a command.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// longStart is how long starting a CF takes at most on a worker that has a core: waking its thread takes
// some tens of microseconds.
const longStart = 100_000 // ns

// offProcessor: the operating system gave the cores to others, while CFs ran or when they were to start.
func (a *advisor) offProcessor() {
	if a.res.Factors.O == nil {
		return
	}
	ns := a.res.Factors.InsideNS()
	late := a.lateStarts().Known
	evidence := map[string]any{"preempt_ns": ns, "late_ns": late}
	var text words.Text
	little := a.res.TotalNS / 200 // beside the other part not worth the words
	if a.res.OneOff && a.crowded() == nil {
		a.offCore(ns, evidence)
		return
	}
	if ns > little || ns > late {
		text = words.Say("Running CFs were pre-empted for %s (%s)",
			"У исполнявшихся ФВ процессор был отобран на %s (%s)", words.Time(ns), a.share(ns))
	}
	if late > little || late > ns {
		workers := words.Say("Workers", "Рабочие потоки")
		if ns > little {
			workers = words.Say("%s, and workers", "%s, а рабочие потоки", text)
		}
		text = words.Say("%s with a ready CF had no processor for %s (%s)",
			"%s, которым было что исполнять, оставались без процессора %s (%s)", workers, words.Time(late),
			a.share(late))
	}
	ns += late
	if n := a.slowNode(); n != nil {
		evidence["node"] = n.Node
		text = words.Say("%s, nearly all of it on node %d", "%s, почти всё это на узле %d", text, n.Node)
	}
	text = words.Say("%s: %s", "%s: %s", text, a.whoTookCores())
	if h := a.crowded(); h != nil {
		a.add("preempted", 0, min(ns, h.Excess), coresBound(h), evidence, text).by(a.fitting(h))
		if a.had("preempted") != nil { // the same fault is said once
			a.list = slices.DeleteFunc(a.list, func(x Advice) bool { return x.ID == "too-many-workers" })
		}
		return
	}
	a.addTime("preempted", ns, words.Say("With cores of their own, CFs would start and end that much sooner.",
		"Будь у рабочих потоков собственные ядра, ФВ начинались и заканчивались бы на столько же раньше."),
		evidence, text)
}

// offCore: on a kernel that does not tell how long threads wait for a core, CFs were pre-empted or blocked.
func (a *advisor) offCore(ns int64, evidence map[string]any) {
	c := a.top(func(c *slou.Cause) int64 {
		if c.Factor != slou.FactorO.String() || !insideParts[c.Part] {
			return 0
		}
		return c.NS
	}, func(c *slou.Cause) [4]string { return [4]string{c.Consumer} })
	evidence["consumer"] = c.Consumer
	a.addTime("off-core", ns, words.Say("If their threads never left the cores, CFs would end that much sooner.",
		"Если бы потоки не оставались без процессора, ФВ заканчивались бы на столько же раньше."), evidence,
		words.Say("Running CFs were off their cores for %s (%s), mostly in %s: pre-empted, or blocked for an "+
			"unknown reason. This machine's kernel does not say which. Stop other programs, and look whether a "+
			"library that it calls waits for a file, a lock or another thread.",
			"Исполнявшиеся ФВ оставались без процессора %s (%s), чаще всего в %s: он был отобран, или они ждали "+
				"по неизвестной причине. Ядро этой машины не сообщает, что из этого верно. Остановите на машине всё "+
				"лишнее и проверьте, не ждёт ли вызываемая библиотека файл, блокировку или другой поток.",
			words.Time(ns), a.share(ns), a.named(c.Consumer)))
}
