package advise

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/slou"
	"github.com/whyslow/whyslow/internal/units"
)

// Data fragments on links.
//
// All transfers of DFs of one name are looked at together: they have the same locator. For each name the first of these
// that holds is said: the DFs are stored where nobody makes or uses them; the same DF comes to a node again and again;
// they take long because they are large; the CFs that take them are shorter than their way; they are asked for late;
// or else they are used far from where they are made.

// flow sums up the transfers of the DFs of one name.
type flow struct {
	name     string
	ways     []int32 // indices into transfers
	pairs    int64   // different DF and user
	messages int64
	bytes    int64
	links    int64 // time on links
	astray   int64 // stored neither where made nor where used
	asked    int64
	users    int64          // most nodes that use one DF
	link     string         // the one used most
	maker    model.CF       // of one of them
	reader   model.CF       // likewise
	again    map[int32]bool // nodes that got the same DF again
}

// maxFlows is how many names are looked at closely: those with the most time on links.
const maxFlows = 8

// parts into which advice divides what is too large.
const pieces = 8

func (a *advisor) flows() []*flow {
	r, m := a.replay, a.Model
	byName := map[uint32]*flow{}
	var order []*flow
	for i := range r.transfers {
		w := &r.transfers[i]
		name := m.DFName[w.df]
		f := byName[name]
		if f == nil {
			f = &flow{name: m.Names[name], again: map[int32]bool{}}
			byName[name] = f
			order = append(order, f)
		}
		f.ways = append(f.ways, int32(i))
		f.links += w.post + w.ask + w.answer
	}
	slices.SortStableFunc(order, func(x, y *flow) int { return cmp.Compare(y.links, x.links) })
	order = order[:min(len(order), maxFlows)]
	for _, f := range order {
		f.sum(r, m)
	}
	return order
}

// sum works out all but the name and the time on links.
func (f *flow) sum(r *replay, m *model.Model) {
	slices.SortFunc(f.ways, func(i, k int32) int {
		x, y := &r.transfers[i], &r.transfers[k]
		return cmp.Or(cmp.Compare(x.df, y.df), cmp.Compare(x.user, y.user), cmp.Compare(x.message, y.message), cmp.Compare(i, k))
	})
	links := map[slou.Link]int64{}
	var users int64
	for n, i := range f.ways {
		w := &r.transfers[i]
		newDF, newPair, newMessage := true, true, true
		if n > 0 {
			old := &r.transfers[f.ways[n-1]]
			newDF = old.df != w.df
			newPair = newDF || old.user != w.user
			newMessage = newPair || old.message != w.message
		}
		if newDF {
			users = 0
		}
		if newPair {
			f.pairs++
			users++
			f.users = max(f.users, users)
		} else if newMessage {
			f.again[w.user] = true
		}
		if newMessage {
			f.messages++
			f.bytes += w.bytes
			links[slou.Link{From: w.store, To: w.user}]++
			if w.store != w.maker && w.store != w.user {
				f.astray++
			}
			if w.requested {
				f.asked++
			}
		}
	}
	most := int64(0)
	for l, n := range links {
		if n > most || n == most && l.String() < f.link {
			most, f.link = n, l.String()
		}
	}
	w := &r.transfers[f.ways[0]]
	f.reader = m.ExecCF[w.reader]
	if i, ok := m.Creation(w.df, m.ExecStart[w.reader]); ok {
		f.maker = m.MadeBy[i]
	}
}

// direct is the way of a DF that is stored where it is used: it leaves as soon as it is made.
func direct(w *transfer) (post, ask, answer int64) {
	if w.maker == w.user {
		return 0, 0, 0
	}
	return max(w.post, w.answer), 0, 0
}

func nowhere(*transfer) (post, ask, answer int64) { return 0, 0, 0 }

// only changes the transfers of one name.
func (a *advisor) only(f *flow, links func(*transfer) (post, ask, answer int64)) change {
	name := a.Model.DFName[a.replay.transfers[f.ways[0]].df]
	return change{links: func(w *transfer) (int64, int64, int64) {
		if a.Model.DFName[w.df] != name {
			return w.post, w.ask, w.answer
		}
		return links(w)
	}}
}

// latency: DFs were on their way.
func (a *advisor) latency() {
	l := a.res.Factors.L
	if l == nil {
		return
	}
	if a.replay == nil {
		a.latencySums(l)
		return
	}
	worth := int64(worthwhile * float64(a.res.WallNS))
	for _, f := range a.flows() {
		best := a.res.WallNS - a.replay.wall(a.only(f, nowhere))
		if best*a.workers < int64(worthwhile*float64(a.res.TotalNS)) || best < worth {
			continue
		}
		a.flow(f, best)
	}
}

// flow says what is wrong with the DFs of one name, whose way costs best of the run's time.
func (a *advisor) flow(f *flow, best int64) {
	m, r := a.Model, a.replay
	name := f.name
	producer, consumer := m.Codes[m.CodeOf(f.maker)].Name, m.Codes[m.CodeOf(f.reader)].Name
	flight := a.meanAnswer(f)
	evidence := map[string]any{"df": name, "producer": producer, "consumer": consumer, "link": f.link, "messages": f.messages, "bytes": f.bytes,
		"flight_ns": flight, "dfs": f.pairs, "made_at": a.statement(f.maker), "used_at": a.statement(f.reader)}
	var waited, count int64
	for i := range a.res.Causes {
		if c := &a.res.Causes[i]; c.Factor == "L" && c.DF == name {
			waited += c.NS
			count += c.Count
		}
	}
	evidence["waited_ns"], evidence["count"] = waited, count
	head := fmt.Sprintf("Workers waited %s (%s, %s) for `%s`%s%s, most often on the link %s.", units.Duration(waited), a.share(waited), units.Count(count, "time"), name,
		a.by(" from ", producer, f.maker), a.by(" before ", consumer, f.reader), f.link)
	within := func(wall int64, what string) string {
		return fmt.Sprintf("%s, with everything else as it is, the run would take %s.", what, units.Duration(a.res.WallNS-wall))
	}
	push := a.res.WallNS - r.wall(a.only(f, direct))
	switch {
	case 2*f.astray > f.messages:
		evidence["stored_elsewhere"] = f.astray
		a.addWall("locators-disagree", push, within(push, "Stored where they are used"), evidence,
			"%s They are stored on a node that neither makes nor uses them: their locator and those of the CFs disagree. Give `%s` the locator of the CFs that use it: `locator_cyclic %s[i] => expression;`, with the expression of their `locator_cyclic`.", head, name, name)
	case f.messages >= 2*f.pairs && f.users > 1:
		evidence["repeated"] = f.messages - f.pairs
		a.addWall("replicate", push, within(push, "With a copy on every node"), evidence,
			"%s %d of %d messages brought a node a DF it had received before: keep a copy on every node with `locator_replicating %s => all;`, or run the CFs that share it on one node.", head, f.messages-f.pairs, f.messages, name)
	case f.messages >= 2*f.pairs:
		evidence["repeated"] = f.messages - f.pairs
		a.addWall("asked-again", push, within(push, "Stored where they are used"), evidence,
			"%s The same node asked for the same DF again for every CF: %d messages for %s. Store it where those CFs run: `locator_cyclic %s => expression;`.", head, f.messages, units.Count(f.pairs, "DF"), name)
	default:
		a.once(f, best, push, flight, head, consumer, evidence, within)
	}
}

// once: every DF comes to a node once.
func (a *advisor) once(f *flow, best, push, flight int64, head, consumer string, evidence map[string]any, within func(int64, string) string) {
	if parts, n := a.tooLarge(f, flight); n > 0 {
		evidence["parts"], evidence["cfs_per_worker"] = pieces, a.cfsPerWorker()
		if 2*parts >= best*(pieces-1)/pieces*9/10 {
			a.addWall("too-large", parts, within(parts, fmt.Sprintf("In %d parts each, worked on while the next is on its way", pieces)), evidence,
				"%s They are large (%s each, %s on the link), and with %.1f CFs per worker there is little else to do meanwhile: divide them and `%s` into smaller fragments, so that one part is worked on while the next is on its way.",
				head, units.Bytes(f.bytes/max(f.messages, 1)), units.Duration(flight), a.cfsPerWorker(), consumer)
			return
		}
	}
	user := a.fragment(consumer)
	switch {
	case user != nil && user.Count > 0 && flight > 4*user.MeanNS && flight < 4*a.shortest():
		a.addWall("too-small-to-send", best, within(best, "Made and used on one node"), evidence,
			"%s A message takes %s on average, a CF of %s %s: it does not pay to send so little work to the data. Make the fragments larger, or place `%s` where its DFs are.",
			head, units.Duration(flight), a.named(consumer), units.Duration(user.MeanNS), consumer)
	case f.asked > 0 && 10*push >= 7*best:
		a.addWall("late-transfer", push, within(push, "Stored where they are used, and sent as soon as they are made"), evidence,
			"%s They are sent only when they are asked for, after a CF needs them: store them where they are used (`locator_cyclic %s[i] => expression;`), so that they are sent as soon as they are made.", head, f.name)
	default:
		overlap := ""
		if n := a.cfsPerWorker(); n < fewPerWorker {
			evidence["cfs_per_worker"] = n
			overlap = fmt.Sprintf(" With %.1f CFs per worker there is little else to do meanwhile: smaller fragments would let transfers overlap with work.", n)
		}
		a.addWall("far-data", best, within(best, "Made and used on one node"), evidence,
			"%s Give `%s` and the code fragments that make and use it the same locator, so that they meet on one node.%s", head, f.name, overlap)
	}
}

// fewPerWorker is the number of CFs per worker below which a transfer has little to overlap with.
const fewPerWorker = 8

// tooLarge is what is gained if DFs whose size makes their way long, and the CFs that take them, are divided: of each way
// and the CF after it, all but one part of the shorter is hidden. Second: how many are that large.
func (a *advisor) tooLarge(f *flow, flight int64) (int64, int) {
	r, m := a.replay, a.Model
	if a.cfsPerWorker() >= fewPerWorker {
		return 0, 0
	}
	latency := a.shortest()
	if latency < 0 || flight < 4*latency {
		return 0, 0
	}
	n := 0
	hidden := func(w *transfer, ns int64) int64 {
		e := w.reader
		return max(min(ns-latency, r.end(e)-m.ExecStart[e]), 0) * (pieces - 1) / pieces
	}
	wall := r.wall(a.only(f, func(w *transfer) (int64, int64, int64) {
		n++
		return w.post - hidden(w, w.post), w.ask, w.answer - hidden(w, w.answer)
	}))
	return a.res.WallNS - wall, n
}

// shortest is the shortest time of a message on a link, which tells the latency of the links; -1 if there is none.
func (a *advisor) shortest() int64 {
	m := a.Model
	least := int64(-1)
	for _, list := range [][]model.Message{m.Requests, m.DFMessages, m.Moves} {
		for i := range list {
			if g := &list[i]; g.Sent != model.None && g.Received >= g.Sent && (least < 0 || g.Received-g.Sent < least) {
				least = g.Received - g.Sent
			}
		}
	}
	return least
}

// by names a code fragment and the statement that called it.
func (a *advisor) by(word, code string, cf model.CF) string {
	if cf == 0 || code == "" {
		return ""
	}
	if at := a.statement(cf); at != "" {
		return fmt.Sprintf("%s`%s` (%s)", word, code, at)
	}
	return fmt.Sprintf("%s`%s`", word, code)
}

func (a *advisor) meanAnswer(f *flow) int64 {
	var sum int64
	for _, i := range f.ways {
		w := &a.replay.transfers[i]
		sum += max(w.post, w.answer)
	}
	return sum / int64(len(f.ways))
}

func (a *advisor) cfsPerWorker() float64 {
	var cfs int64
	for i := range a.res.Nodes {
		cfs += a.res.Nodes[i].CFs
	}
	return float64(cfs) / float64(max(a.workers, 1))
}

// migration: CFs were on their way to the node where they run.
func (a *advisor) migration() {
	l := a.res.Factors.L
	c := a.top(func(c *slou.Cause) bool { return c.Factor == "L" && c.DF == "" },
		func(c *slou.Cause) [4]string { return [4]string{c.Link, c.Consumer} }, lost)
	if l == nil || c.NS == 0 || a.replay == nil {
		return
	}
	wall := a.res.WallNS - a.replay.wall(a.replay.createdInPlace())
	at := ""
	for i := range a.Model.Moves {
		if cf := a.Model.Moves[i].CF; a.Model.Codes[a.Model.CodeOf(cf)].Name == c.Consumer {
			at = a.statement(cf)
			break
		}
	}
	a.addWall("migration", wall, fmt.Sprintf("Created where they run, with everything else as it is, the run would take %s.", units.Duration(a.res.WallNS-wall)),
		map[string]any{"link": c.Link, "consumer": c.Consumer, "waited_ns": c.NS, "count": c.Count, "migrations": len(a.Model.Moves), "created_at": at},
		"%s Create CFs where they run: give the enclosing loop or sub the same locator.", a.waitedFor(l, &c))
}

// waitedFor says what was waited for most.
func (a *advisor) waitedFor(l *slou.Share, c *slou.Cause) string {
	what := fmt.Sprintf("%s for `%s` from %s", a.named(c.Consumer), c.DF, a.named(c.Producer))
	if c.DF == "" {
		what = fmt.Sprintf("for CFs of %s that migrated", a.named(c.Consumer))
	} else if c.Producer == "" {
		what = fmt.Sprintf("%s for `%s`", a.named(c.Consumer), c.DF)
	}
	return fmt.Sprintf("Workers waited %s (%s) for messages, most of all (%s, %s) %s on the link %s.",
		units.Duration(l.NS), a.share(l.NS), units.Duration(c.NS), units.Count(c.Count, "time"), what, c.Link)
}

// latencySums is latency by the sums alone.
func (a *advisor) latencySums(l *slou.Share) {
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
	head := a.waitedFor(l, &c)
	const bound = "Workers waited that long for messages."
	switch {
	case g.Repeated*5 >= g.Count && g.Repeated > 0:
		evidence["repeated_bytes"] = g.RepeatBytes
		a.addTime("replicate", l.NS, bound, evidence,
			"%s %d of %d messages (%s) brought a node a DF it had received before: keep a copy there with `locator_replicating name => all;`, or run the CFs that share it on one node.",
			head, g.Repeated, g.Count, units.Bytes(g.RepeatBytes))
	case user != nil && user.Count > 0 && flight > 4*user.MeanNS:
		a.addTime("too-small-to-send", l.NS, bound, evidence,
			"%s A message takes %s on average, a CF of `%s` %s: it does not pay to send so little work to the data. Make the fragments larger, or place `%s` where its DFs are.",
			head, units.Duration(flight), c.Consumer, units.Duration(user.MeanNS), c.Consumer)
	case c.DF == "":
		a.addTime("migration", l.NS, bound, evidence, "%s Create CFs where they run: give the enclosing loop or sub the same locator.", head)
	default:
		a.addTime("far-data", l.NS, bound, evidence,
			"%s Give `%s` and the code fragments that make and use it the same locator, so that they meet on one node.", head, c.DF)
	}
}
