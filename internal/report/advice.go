package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/slou"
	"github.com/whyslow/whyslow/internal/units"
)

// Advice is one reason why the program is slow and what to try.
type Advice struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Evidence holds the numbers and names the text rests on.
	Evidence map[string]any `json:"evidence"`
	// GainNS is the processor time that would be saved at most.
	GainNS int64 `json:"gain_ns"`
}

const (
	goodUseful = 0.95 // above this share of useful work there is nothing to say
	worthwhile = 0.05 // a reason must explain at least this share of all time
	maxAdvice  = 3
	// fewPerWorker is the number of CFs per worker below which a transfer has little to overlap with.
	fewPerWorker = 8
)

// advisor holds what the reasons are worked out from.
type advisor struct {
	res  *slou.Result
	list []Advice
}

// Advise gives the two or three main reasons why a run was slow, the one with the largest gain first; none when
// nearly all time was useful or nothing stands out. The reasons are those of Kireev and Litvinov (2024),
// section 3.2.
func Advise(res *slou.Result) []Advice {
	if res.TotalNS == 0 || (res.Factors.U != nil && float64(res.Factors.U.NS) >= goodUseful*float64(res.TotalNS)) {
		return nil
	}
	a := &advisor{res: res}
	if s := res.Factors.S; s != nil {
		a.distribution(s)
		a.order()
		a.parallelism(s)
	}
	if l := res.Factors.L; l != nil {
		a.latency(l)
	}
	if o := res.Factors.O; o != nil {
		a.granularity(o)
		a.processors(o)
	}
	if w := res.Factors.W; w != nil {
		a.contention(w)
	}
	slices.SortStableFunc(a.list, func(x, y Advice) int { return cmp.Compare(y.GainNS, x.GainNS) })
	return a.list[:min(len(a.list), maxAdvice)]
}

func (a *advisor) add(id string, gain int64, evidence map[string]any, format string, args ...any) {
	if float64(gain) < worthwhile*float64(a.res.TotalNS) {
		return
	}
	a.list = append(a.list, Advice{ID: id, Text: fmt.Sprintf(format, args...), Evidence: evidence, GainNS: gain})
}

func (a *advisor) share(ns int64) string { return percent(ns, a.res.TotalNS) }

// top gives the largest cause that fits, its sums taken over all causes with the same key.
func (a *advisor) top(fits func(*slou.Cause) bool, key func(*slou.Cause) [4]string, by func(*slou.Cause) int64) (best slou.Cause) {
	sums := map[[4]string]*slou.Cause{}
	var order []*slou.Cause
	for i := range a.res.Causes {
		c := &a.res.Causes[i]
		if !fits(c) {
			continue
		}
		k := key(c)
		s := sums[k]
		if s == nil {
			copied := *c
			s = &copied
			s.NS, s.Count, s.QueuedNS = 0, 0, 0
			sums[k] = s
			order = append(order, s)
		}
		s.NS += c.NS
		s.Count += c.Count
		s.QueuedNS += c.QueuedNS
	}
	for _, s := range order {
		if by(s) > by(&best) {
			best = *s
		}
	}
	return best
}

func lost(c *slou.Cause) int64 { return c.NS }

// distribution: CFs were ready on other nodes while workers had nothing to do.
func (a *advisor) distribution(s *slou.Share) {
	gain := s.Parts["elsewhere"]
	var idle, loaded *slou.Node
	var all int64
	busy := 0
	for i := range a.res.Nodes {
		n := &a.res.Nodes[i]
		all += n.CFs
		if n.CFs > 0 {
			busy++
		}
		if n.Factors.S != nil && (idle == nil || n.Factors.S.Parts["elsewhere"] > idle.Factors.S.Parts["elsewhere"]) {
			idle = n
		}
		if loaded == nil || n.CFs > loaded.CFs {
			loaded = n
		}
	}
	if busy == 1 && len(a.res.Nodes) > 1 {
		// The other nodes starve because nothing is sent to them, whether or not something was ready.
		var starved int64
		for i := range a.res.Nodes {
			if n := &a.res.Nodes[i]; n != loaded && n.Factors.S != nil {
				starved += n.Factors.S.NS
			}
		}
		a.add("one-node", starved, map[string]any{"node": loaded.Node, "nodes": len(a.res.Nodes), "cfs": all, "starved_ns": starved},
			"All %s ran on node %d of %d; the others did nothing. Without a locator everything goes to node 0: spread the CFs with `@ { locator_cyclic: expression; }` on the calls or loops, and the DFs with `locator_cyclic name[i] => expression;`.",
			units.Count(all, "CF"), loaded.Node, len(a.res.Nodes))
		return
	}
	if idle == nil || loaded == nil || idle == loaded {
		return
	}
	c := a.top(func(c *slou.Cause) bool { return c.Factor == "S" && c.Part == "elsewhere" },
		func(c *slou.Cause) [4]string { return [4]string{c.Consumer} }, lost)
	before := ""
	if c.Consumer != "" {
		before = fmt.Sprintf(", %s of it before `%s`", units.Duration(c.NS), c.Consumer)
	}
	a.add("distribution", gain, map[string]any{"idle_node": idle.Node, "idle_ns": idle.Factors.S.Parts["elsewhere"], "loaded_node": loaded.Node, "loaded_cfs": loaded.CFs, "cfs": all, "consumer": c.Consumer},
		"Workers had nothing to do for %s (%s) while CFs were ready on other nodes%s. Node %d idled most (%s); node %d ran %d of %d CFs. Change the locators so that the load is even, or switch on work stealing.",
		units.Duration(gain), a.share(gain), before, idle.Node, units.Duration(idle.Factors.S.Parts["elsewhere"]), loaded.Node, loaded.CFs, all)
}

// order: the CF everybody waited for had been ready, but others were taken first.
func (a *advisor) order() {
	var gain int64
	for i := range a.res.Causes {
		gain += a.res.Causes[i].QueuedNS
	}
	c := a.top(func(c *slou.Cause) bool { return c.QueuedNS > 0 }, func(c *slou.Cause) [4]string { return [4]string{c.Producer} },
		func(c *slou.Cause) int64 { return c.QueuedNS })
	if c.Producer == "" {
		return
	}
	a.add("order", gain, map[string]any{"producer": c.Producer, "df": c.DF, "consumer": c.Consumer, "queued_ns": c.QueuedNS, "waited_ns": c.NS},
		"Workers waited %s for the results of `%s`, whose CFs were ready but stood in the queue behind others: up to %s of it would not have been lost had they been started at once. They are on the critical path: create them earlier or give them priority.",
		units.Duration(c.NS), c.Producer, units.Duration(c.QueuedNS))
}

// parallelism: no CF was ready anywhere.
func (a *advisor) parallelism(s *slou.Share) {
	gain := s.Parts["nowhere"]
	workers := 0
	for i := range a.res.Nodes {
		workers += len(a.res.Nodes[i].Workers)
	}
	for i := range a.res.Causes {
		if c := &a.res.Causes[i]; c.Factor == "S" && c.Part == "nowhere" {
			gain -= c.QueuedNS
		}
	}
	c := a.top(func(c *slou.Cause) bool { return c.Factor == "S" && c.Part == "nowhere" && c.Producer != "" },
		func(c *slou.Cause) [4]string { return [4]string{c.Producer} }, lost)
	if a.res.Factors.U == nil || a.res.WallNS == 0 || workers < 2 {
		return
	}
	for i := range a.list {
		if a.list[i].ID == "one-node" {
			return // the same time
		}
	}
	parallel := float64(a.res.Factors.U.NS) / float64(a.res.WallNS)
	blame, try := "", "Divide the data into more fragments"
	if c.Producer != "" {
		blame = fmt.Sprintf(" Most of it, %s, was spent waiting for `%s`.", units.Duration(c.NS), c.Producer)
		try = fmt.Sprintf("Divide `%s` into smaller CFs that can run side by side", c.Producer)
	}
	a.add("parallelism", gain, map[string]any{"parallelism": parallel, "workers": workers, "producer": c.Producer, "waited_ns": c.NS, "count": c.Count},
		"No CF was ready on any node for %s (%s) of the workers' time: the program keeps %.1f of %d workers busy on average.%s %s, or use fewer workers.",
		units.Duration(gain), a.share(gain), parallel, workers, blame, try)
}

// latency: DFs or CFs were on their way.
func (a *advisor) latency(l *slou.Share) {
	c := a.top(func(c *slou.Cause) bool { return c.Factor == "L" },
		func(c *slou.Cause) [4]string { return [4]string{c.Producer, c.DF, c.Link, c.Consumer} }, lost)
	if c.NS == 0 {
		return
	}
	g := a.res.Messages
	var flight int64
	if g.Count > 0 {
		flight = g.FlightNS / g.Count
	}
	user := a.fragment(c.Consumer)
	evidence := map[string]any{"link": c.Link, "df": c.DF, "producer": c.Producer, "consumer": c.Consumer, "waited_ns": c.NS, "count": c.Count,
		"messages": g.Count, "bytes": g.Bytes, "flight_ns": flight, "repeated": g.Repeated}
	what := fmt.Sprintf("`%s` for `%s` from `%s`", c.Consumer, c.DF, c.Producer)
	if c.DF == "" {
		what = fmt.Sprintf("for CFs of `%s` that migrated", c.Consumer)
	} else if c.Producer == "" {
		what = fmt.Sprintf("`%s` for `%s`", c.Consumer, c.DF)
	}
	head := fmt.Sprintf("Workers waited %s (%s) for messages, most of all (%s, %s) %s on the link %s.",
		units.Duration(l.NS), a.share(l.NS), units.Duration(c.NS), units.Count(c.Count, "time"), what, c.Link)
	switch {
	case g.Repeated*5 >= g.Count && g.Repeated > 0:
		evidence["repeated_bytes"] = g.RepeatBytes
		a.add("replicate", l.NS, evidence,
			"%s %d of %d messages (%s) brought a node a DF it had received before: keep a copy there with `locator_replicating name => all;`, or run the CFs that share it on one node.",
			head, g.Repeated, g.Count, units.Bytes(g.RepeatBytes))
	case user != nil && user.Count > 0 && flight > 4*user.MeanNS:
		a.add("too-small-to-send", l.NS, evidence,
			"%s A message takes %s on average, a CF of `%s` %s: it does not pay to send so little work to the data. Make the fragments larger, or place `%s` where its DFs are.",
			head, units.Duration(flight), c.Consumer, units.Duration(user.MeanNS), c.Consumer)
	case c.DF == "":
		a.add("migration", l.NS, evidence, "%s Create CFs where they run: give the enclosing loop or sub the same locator.", head)
	default:
		overlap := ""
		if n := a.cfsPerWorker(); n < fewPerWorker {
			evidence["cfs_per_worker"] = n
			overlap = fmt.Sprintf(" With %.1f CFs per worker there is little else to do meanwhile: smaller fragments would let transfers overlap with work.", n)
		}
		a.add("far-data", l.NS, evidence,
			"%s Give `%s` and the code fragments that make and use it the same locator, so that they meet on one node.%s", head, c.DF, overlap)
	}
}

func (a *advisor) fragment(code string) *slou.Fragment {
	for i := range a.res.Fragments {
		if a.res.Fragments[i].Code == code {
			return &a.res.Fragments[i]
		}
	}
	return nil
}

func (a *advisor) cfsPerWorker() float64 {
	var cfs, workers int64
	for i := range a.res.Nodes {
		cfs += a.res.Nodes[i].CFs
		workers += int64(len(a.res.Nodes[i].Workers))
	}
	return float64(cfs) / float64(max(workers, 1))
}

// granularity: the run-time system's work per CF.
func (a *advisor) granularity(o *slou.Share) {
	gain := o.NS - o.Parts["preempt"] - o.Parts["extra"]
	var f *slou.Fragment
	for i := range a.res.Fragments {
		if g := &a.res.Fragments[i]; g.Count > 0 && (f == nil || g.Caused.O > f.Caused.O) {
			f = g
		}
	}
	if f == nil {
		return
	}
	largest := part{}
	for _, p := range sortedParts(o.Parts) {
		if p.name != "preempt" && p.name != "extra" {
			largest = p
			break
		}
	}
	if largest.ns == 0 {
		return
	}
	each := f.Caused.O / f.Count
	evidence := map[string]any{"code": f.Code, "count": f.Count, "mean_ns": f.MeanNS, "overhead_ns": f.Caused.O, "overhead_mean_ns": each, "part": largest.name, "part_ns": largest.ns}
	head := fmt.Sprintf("The run-time system used %s (%s) of the workers' time, most of it %s (%s).", units.Duration(gain), a.share(gain), partWords[largest.name], units.Duration(largest.ns))
	switch {
	case largest.name == "dispatch" && a.crowded() != nil:
		a.add("too-many-workers", gain, evidence, "%s A worker that has no core cannot start what is ready: %s", head, a.whoTookCores())
	case largest.name == "request" || largest.name == "send":
		a.add("late-transfer", gain, evidence,
			"%s `%s` needs DFs that are asked for or sent late (%s per CF): store them where they are used (`locator_cyclic name[i] => expression;`), so that they are sent as soon as they are made.",
			head, f.Code, units.Duration(each))
	case each > f.MeanNS/4:
		a.add("too-small", gain, evidence,
			"%s A CF of `%s` works for %s on average and costs %s to run (%s): give each one more to do.",
			head, f.Code, units.Duration(f.MeanNS), units.Duration(each), units.Count(f.Count, "CF"))
	default:
		a.add("overhead", gain, evidence, "%s `%s` causes most of it: %s per CF, in %s.", head, f.Code, units.Duration(each), units.Count(f.Count, "CF"))
	}
}

// processors: the operating system gave the cores to others, or the run used more than its workers'.
func (a *advisor) processors(o *slou.Share) {
	gain := o.Parts["preempt"]
	a.add("preempted", gain, map[string]any{"preempt_ns": gain},
		"CFs that were running lost the processor for %s (%s): %s", units.Duration(gain), a.share(gain), a.whoTookCores())
	gain = o.Parts["extra"]
	a.add("extra-cores", gain, map[string]any{"extra_ns": gain},
		"The processes used %s (%s) of processor time beyond their workers': communication and system threads need cores of their own. Larger fragments mean fewer messages.", units.Duration(gain), a.share(gain))
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

// whoTookCores says why CFs were pre-empted, and what to do.
func (a *advisor) whoTookCores() string {
	if h := a.crowded(); h != nil {
		return fmt.Sprintf("%s run on %s of host %s. Use fewer workers.", units.Count(int64(h.Workers), "worker"), units.Count(int64(h.Cores), "core"), printable(h.Host))
	}
	return "other threads ran on their cores, such as other programs, messages or recording. Stop what else runs on the machine, or leave it a core."
}

func (a *advisor) contention(w *slou.Share) {
	parts := sortedParts(w.Parts)
	if len(parts) == 0 {
		return
	}
	name := parts[0].name
	if name == "held" {
		return // a debugger's doing
	}
	c := a.top(func(c *slou.Cause) bool { return c.Factor == "W" && c.Part == name }, func(c *slou.Cause) [4]string { return [4]string{c.Consumer} }, lost)
	a.add("contention", w.NS, map[string]any{"name": name, "waited_ns": parts[0].ns, "consumer": c.Consumer},
		"Workers waited %s (%s) for each other, most at `%s` (%s), most often in `%s`. Hold it for a shorter time, or give each worker its own.",
		units.Duration(w.NS), a.share(w.NS), name, units.Duration(parts[0].ns), c.Consumer)
}
