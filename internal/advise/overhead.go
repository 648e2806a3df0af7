package advise

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/whyslow/whyslow/internal/slou"
	"github.com/whyslow/whyslow/internal/units"
)

// partWords say what the system did.
var partWords = map[string]string{
	"create":   "creating CFs",
	"request":  "before DFs are requested",
	"send":     "before DFs are sent",
	"deliver":  "from arrival to ready",
	"dispatch": "from ready to start",
	"steal":    "stealing CFs",
}

// littleOverhead is the share of a CF's time that the system may take.
const littleOverhead = 1 - goodUseful

// granularity: the run-time system's work per CF.
func (a *advisor) granularity() {
	o := a.res.Factors.O
	if o == nil {
		return
	}
	late, lateOf := a.lateStarts()
	system := o.NS - o.Parts["preempt"] - o.Parts["extra"] - late
	var f *slou.Fragment
	caused := int64(0)
	for i := range a.res.Fragments {
		if g := &a.res.Fragments[i]; g.Count > 0 && (f == nil || g.Caused.O-lateOf[g.Code] > caused) {
			f, caused = g, g.Caused.O-lateOf[g.Code]
		}
	}
	if f == nil || system <= 0 {
		return
	}
	parts := maps.Clone(o.Parts)
	parts["dispatch"] -= late
	largest := slou.Amount{}
	for _, p := range slou.Largest(parts) {
		if partWords[p.Name] != "" {
			largest = p
			break
		}
	}
	if largest.NS == 0 {
		return
	}
	each := max(caused, 0) / f.Count
	evidence := map[string]any{"code": f.Code, "count": f.Count, "mean_ns": f.MeanNS, "overhead_ns": caused, "overhead_mean_ns": each, "part": largest.Name, "part_ns": largest.NS}
	head := fmt.Sprintf("The run-time system used %s (%s) of the workers' time, most of it %s (%s).", units.Duration(system), a.share(system), partWords[largest.Name], units.Duration(largest.NS))
	switch {
	case largest.Name == "dispatch" && a.crowded() != nil:
		h := a.crowded()
		spare := int64(h.Workers-h.Cores) * a.res.WallNS
		a.add("too-many-workers", 0, min(system+o.Parts["preempt"], spare), a.coresBound(h), evidence,
			"%s A worker that has no core cannot start what is ready: %s", head, a.whoTookCores())
	case largest.Name == "request" || largest.Name == "send":
		if a.had("late-transfer", "locators-disagree", "replicate", "asked-again", "far-data") != nil {
			return // the same time
		}
		a.addTime("late-transfer", system, "The system used that much time.", evidence,
			"%s %s needs DFs that are asked for or sent late (%s per CF): store them where they are used (`locator_cyclic name[i] => expression;`), so that they are sent as soon as they are made.",
			head, a.named(f.Code), units.Duration(each))
	case each > f.MeanNS/4:
		a.tooSmall(f, system, each, head, evidence)
	default:
		a.addTime("overhead", system, "The system used that much time.", evidence, "%s %s causes most of it: %s per CF, in %s.", head, a.named(f.Code), units.Duration(each), units.Count(f.Count, "CF"))
	}
}

// tooSmall: a CF is not worth what it costs to run.
func (a *advisor) tooSmall(f *slou.Fragment, system, each int64, head string, evidence map[string]any) {
	times := max(int64(float64(each)/(littleOverhead*float64(max(f.MeanNS, 1)))), 2)
	times = max(min(times, f.Count/max(a.workers, 1)), 1) // every worker still needs one
	evidence["times"] = times
	const text = "%s A CF of %s works for %s on average and costs %s to run (%s): give each one more to do."
	args := []any{head, a.named(f.Code), units.Duration(f.MeanNS), units.Duration(each), units.Count(f.Count, "CF")}
	if a.replay == nil {
		a.addTime("too-small", system, "The system used that much time.", evidence, text, args...)
		return
	}
	// As many CFs as now, each at its share of the cost of one that does the work of so many: that is one in so many, at
	// the cost of one.
	wall := a.res.WallNS - a.replay.wall(change{
		rest: func(_ uint32, ns int64) int64 {
			if ns <= 0 || ns > longStart {
				return ns
			}
			return ns / times
		},
		length: func(e uint32, ns int64) int64 {
			if a.replay.atomic(e) {
				return ns
			}
			return ns / times
		},
	})
	a.addWall("too-small", wall, fmt.Sprintf("With one CF for %d and what each costs as it is, the run would take %s.", times, units.Duration(a.res.WallNS-wall)), evidence, text+" One should do the work of %d.", append(args, times)...)
}

// crowded is a host with more workers than cores, nil if there is none.
func (a *advisor) crowded() *slou.Host {
	for i, h := range a.res.Hosts {
		if h.Cores > 0 && h.Workers > h.Cores {
			return &a.res.Hosts[i]
		}
	}
	return nil
}

func (a *advisor) coresBound(h *slou.Host) string {
	return fmt.Sprintf("%s cannot do more than %s at a time.", units.Count(int64(h.Cores), "core"), units.Count(int64(h.Cores), "CF"))
}

// whoTookCores says why CFs were pre-empted, and what to do.
func (a *advisor) whoTookCores() string {
	if h := a.crowded(); h != nil {
		return fmt.Sprintf("%s run on %s of host %s. Use fewer workers.", units.Count(int64(h.Workers), "worker"), units.Count(int64(h.Cores), "core"), printable(h.Host))
	}
	return "other threads ran on their cores, such as other programs, messages or recording. Stop what else runs on the machine, or leave it a core."
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

// longStart is how long it takes at most to start a CF on a worker that has a core: waking its thread takes some tens of
// microseconds. What took longer had to wait for a core.
const longStart = 100_000 // ns

// lateStarts is the part of O.dispatch in which workers had no core to start what was ready; of all and of each code
// fragment. 0 without a model.
func (a *advisor) lateStarts() (total int64, of map[string]int64) {
	of = map[string]int64{}
	if a.replay == nil {
		return 0, of
	}
	m := a.Model
	dispatch := a.res.Factors.O.Parts["dispatch"]
	for _, e := range a.replay.order {
		since := a.replay.base[e]
		if t, ok := m.LastReady(m.ExecCF[e], a.replay.node[e], m.ExecStart[e]); ok {
			since = max(since, t)
		}
		ns := m.ExecStart[e] - since
		if ns <= longStart || !a.replay.atomic(e) || total >= dispatch {
			continue
		}
		ns = min(ns, dispatch-total)
		total += ns
		of[m.Codes[m.CodeOf(m.ExecCF[e])].Name] += ns
	}
	return total, of
}

// preempted: the operating system gave the cores to others, while CFs ran or when they were to start.
func (a *advisor) preempted() {
	if a.res.Factors.O == nil {
		return
	}
	ns := a.res.Factors.O.Parts["preempt"]
	late, _ := a.lateStarts()
	evidence := map[string]any{"preempt_ns": ns, "late_ns": late}
	var lost []string
	little := a.res.TotalNS / 200 // beside the other part not worth the words
	if ns > little || ns > late {
		lost = append(lost, fmt.Sprintf("CFs that were running lost the processor for %s (%s)", units.Duration(ns), a.share(ns)))
	}
	if late > little || late > ns {
		lost = append(lost, fmt.Sprintf("workers that had a CF to start had no processor for %s (%s)", units.Duration(late), a.share(late)))
	}
	text := strings.Join(lost, ", and ")
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	ns += late
	who := a.whoTookCores()
	if h := a.crowded(); h != nil {
		a.add("preempted", 0, min(ns, max(ns-late, int64(h.Workers-h.Cores)*a.res.WallNS)), a.coresBound(h), evidence, "%s: %s", text, who)
		if a.had("preempted") != nil { // the same fault is said once
			a.list = slices.DeleteFunc(a.list, func(x Advice) bool { return x.ID == "too-many-workers" })
		}
		return
	}
	a.addTime("preempted", ns, "With cores of their own, CFs would have started and ended that much sooner.", evidence, "%s: %s", text, who)
}

// extraCores: the run used more than its workers' cores.
func (a *advisor) extraCores() {
	if a.res.Factors.O == nil {
		return
	}
	ns := a.res.Factors.O.Parts["extra"]
	a.add("extra-cores", 0, ns, "This time was used beside the workers; the run need not become shorter without it.", map[string]any{"extra_ns": ns},
		"The processes used %s (%s) of processor time beyond their workers': communication and system threads need cores of their own. Larger fragments mean fewer messages.", units.Duration(ns), a.share(ns))
}

// contention: workers waited for a lock, a resource or a collective.
func (a *advisor) contention() {
	w := a.res.Factors.W
	if w == nil {
		return
	}
	parts := slou.Largest(w.Parts)
	if len(parts) == 0 || parts[0].Name == "held" {
		return // held is a debugger's doing
	}
	name := parts[0].Name
	c := a.top(func(c *slou.Cause) bool { return c.Factor == "W" && c.Part == name }, func(c *slou.Cause) [4]string { return [4]string{c.Consumer} }, lost)
	a.addTime("contention", w.NS, "Without any waiting, as much time of the workers would be free.", map[string]any{"name": name, "waited_ns": parts[0].NS, "consumer": c.Consumer},
		"Workers waited %s (%s) for each other, most at `%s` (%s), most often in %s. Hold it for a shorter time, or give each worker its own.",
		units.Duration(w.NS), a.share(w.NS), name, units.Duration(parts[0].NS), a.named(c.Consumer))
}
