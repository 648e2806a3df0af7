package advise

import (
	"cmp"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// Data fragments on links.
//
// A flow is all transfers of DFs of one name, which have one locator, and of further names that mostly go
// between the same two code fragments, such as the two halves of a border: mending one of them would change
// little. Of each flow the first of these that holds is said: the DFs are stored where nobody makes or uses
// them; the same DF comes to a node again and again; they are large; the CFs that take them are shorter than
// their way; they are asked for late; they are used far from where they are made.

// flow sums up the transfers of the DFs of some names.
type flow struct {
	names    map[uint32]bool
	name     string  // the one with the most time on links
	also     string  // the others, to be said: "", " (and `b`)"
	ways     []int32 // indices into Transfers
	pairs    int64   // different DF and user
	messages int64
	bytes    int64
	links    int64 // time on links
	astray   int64 // stored neither where made nor where used
	asked    int64
	users    int64  // most nodes that use one DF
	link     string // the one used most
	made     uint32 // 1 + the statement of one of the code fragment that makes most, 0 not known
	reader   uint32 // 1 + the statement of one of that that takes most
}

const (
	// maxFlows is how many flows are looked at closely: those with the most time on links.
	maxFlows = 8
	// pieces is into how many parts advice divides what is too large.
	pieces = 8
)

// ends are the code fragments at both ends of a transfer.
type ends struct{ maker, reader int }

func compareEnds(x, y ends) int {
	return cmp.Or(cmp.Compare(x.maker, y.maker), cmp.Compare(x.reader, y.reader))
}

func (a *advisor) flows() []*flow {
	r, m := a.replay, a.facts.m
	type named struct {
		name  uint32
		ways  []int32
		links int64
		ends  map[ends]int64 // ns
		some  map[ends]int32 // one of them
	}
	byName := map[uint32]*named{}
	var order []*named
	for i := range r.Transfers {
		w := &r.Transfers[i]
		n := byName[w.Name]
		if n == nil {
			n = &named{name: w.Name, ends: map[ends]int64{}, some: map[ends]int32{}}
			byName[w.Name] = n
			order = append(order, n)
		}
		k := ends{reader: m.Sites[r.List[w.Reader].Site].Code}
		if w.Made != 0 {
			k.maker = m.Sites[w.Made-1].Code
		}
		ns := w.Post + w.Ask + w.Answer
		n.links, n.ends[k] = n.links+ns, n.ends[k]+ns
		n.ways, n.some[k] = append(n.ways, int32(i)), int32(i)
	}
	slices.SortStableFunc(order, func(x, y *named) int { return cmp.Compare(y.links, x.links) })
	var list []*flow
	index := map[ends]*flow{}
	for _, n := range order {
		if n.links == 0 {
			break // nothing would be gained
		}
		main, _ := most(n.ends, compareEnds)
		f := index[main]
		if f == nil {
			w := &r.Transfers[n.some[main]]
			f = &flow{names: map[uint32]bool{}, name: m.Names[n.name], made: w.Made, reader: r.List[w.Reader].Site + 1}
			index[main] = f
			list = append(list, f)
		} else {
			f.also += ", `" + m.Names[n.name] + "`"
		}
		f.names[n.name] = true
		f.ways = append(f.ways, n.ways...)
		f.links += n.links
	}
	slices.SortStableFunc(list, func(x, y *flow) int { return cmp.Compare(y.links, x.links) })
	list = list[:min(len(list), maxFlows)]
	for _, f := range list {
		f.sum(r)
	}
	return list
}

// sum computes the totals of all transfers.
func (f *flow) sum(r *replay) {
	f.pairs, f.messages, f.bytes, f.astray, f.asked, f.users = 0, 0, 0, 0, 0, 0
	slices.SortFunc(f.ways, func(i, k int32) int {
		x, y := &r.Transfers[i], &r.Transfers[k]
		return cmp.Or(cmp.Compare(x.DF, y.DF), cmp.Compare(x.User, y.User), cmp.Compare(x.Message, y.Message),
			cmp.Compare(i, k))
	})
	links := map[slou.Link]int64{}
	var users int64
	old := &transfer{User: -1} // of no DF
	for _, i := range f.ways {
		w := &r.Transfers[i]
		if old.DF != w.DF {
			users = 0
		}
		newPair := old.DF != w.DF || old.User != w.User
		if newPair {
			f.pairs++
			users++
			f.users = max(f.users, users)
		}
		if newPair || old.Message != w.Message {
			f.messages++
			f.bytes += w.Bytes
			links[slou.Link{From: w.Store, To: w.User}]++
			if w.Store != w.Maker && w.Store != w.User {
				f.astray++
			}
			if w.Requested {
				f.asked++
			}
		}
		old = w
	}
	link, _ := most(links, func(x, y slou.Link) int { return cmp.Compare(x.String(), y.String()) })
	f.link = link.String()
}

// direct is the way of a DF that is stored where it is used: it leaves as soon as it is made.
func direct(w *transfer) (post, ask, answer int64) {
	if w.Maker == w.User {
		return 0, 0, 0
	}
	return max(w.Post, w.Answer), 0, 0
}

func nowhere(*transfer) (post, ask, answer int64) { return 0, 0, 0 }

// only changes the transfers of some names.
func (a *advisor) only(f *flow, links func(*transfer) (post, ask, answer int64)) change {
	return change{links: func(w *transfer) (int64, int64, int64) {
		if !f.names[w.Name] {
			return w.Post, w.Ask, w.Answer
		}
		return links(w)
	}}
}

// latency: DFs were on their way.
func (a *advisor) latency() {
	if a.replay == nil {
		return
	}
	worth := int64(worthwhile * float64(a.res.WallNS))
	flows, given := a.flows(), len(a.list)
	var without []change
	for _, f := range flows {
		without = append(without, a.only(f, nowhere))
	}
	for i, wall := range a.replay.walls(without) {
		if best := a.res.WallNS - wall; best >= worth {
			a.flow(flows[i], best)
		}
	}
	if len(a.list) > given || len(flows) < 2 {
		return
	}
	// Where several hold the run up alike, mending one of them gives nothing.
	all := flows[0]
	for _, f := range flows[1:] {
		all.also += ", `" + f.name + "`" + f.also
		maps.Copy(all.names, f.names)
		all.ways = append(all.ways, f.ways...)
	}
	if best := a.res.WallNS - a.replay.wall(a.only(all, nowhere)); best >= worth {
		all.sum(a.replay)
		a.flow(all, best)
	}
}

// flow says what is wrong with the DFs of one name, whose way costs best of the run's time.
func (a *advisor) flow(f *flow, best int64) {
	r := a.replay
	name, producer, consumer := f.name, a.codeOf(max(f.made, 1)-1), a.codeOf(f.reader-1)
	flight := a.meanAnswer(f)
	evidence := map[string]any{"df": name, "producer": producer, "consumer": consumer, "link": f.link,
		"messages": f.messages, "bytes": f.bytes,
		"flight_ns": flight, "dfs": f.pairs, "names": len(f.names), "made_at": a.statement(f.made),
		"used_at": a.statement(f.reader)}
	var count int64
	_, waited := largest(a.res.Causes, func(c *slou.Cause) int64 {
		if c.Factor != "L" || !f.has(a.facts.m, c.DF) {
			return 0
		}
		count += c.Count
		return c.NS
	})
	evidence["waited_ns"], evidence["count"] = waited, count
	head := words.Say("Workers waited %s (%s, %s) for `%s`%s%s%s, mostly on link %s.",
		"Рабочие потоки ждали ФД `%[4]s`%[5]s%[6]s%[7]s: %[1]s (%[2]s, %[3]s), чаще всего на связи %[8]s.",
		words.Time(waited), a.share(waited), often(count), name, f.also,
		a.by(" from ", " от ", f.made), a.by(" before ", " для ", f.reader), f.link)
	if waited == 0 { // what a loop or condition waits for, workers wait for in its CFs
		head = words.Say("Messages with `%s`%s%s%s held up the run, mostly on link %s.",
			"Запуск задерживали сообщения с ФД `%s`%s%s%s, чаще всего на связи %s.", name, f.also,
			a.by(" from ", " от ", f.made), a.by(" before ", " для ", f.reader), f.link)
	}
	within := func(wall int64, what words.Text) words.Text {
		return words.Say("%s, with nothing else changed, the run would take %s.",
			"Если %s, а остальное не менять, запуск займёт %s.", what, words.Time(a.res.WallNS-wall))
	}
	whereUsed := words.Say("Stored where they are used", "хранить их там, где они используются")
	push := a.res.WallNS - r.wall(a.only(f, direct))
	switch {
	case 2*f.astray > f.messages:
		evidence["stored_elsewhere"] = f.astray
		a.addWall("locators-disagree", push, within(push, whereUsed), evidence, words.Say(
			"%s Their node neither makes nor uses them: their locator disagrees with those of the CFs. Give `%s`%s "+
				"the locator of the CFs that use them: `locator_cyclic %s[i] => expression;`, with the expression of "+
				"their `locator_cyclic`.",
			"%s Эти ФД хранятся на узле, где их не вычисляют и не используют: их локатор не согласован с локаторами "+
				"ФВ. Задайте для ФД `%s`%s локатор тех ФВ, которые их используют: `locator_cyclic %s[i] => выражение;` "+
				"с тем же выражением, что в `locator_cyclic` этих ФВ.",
			head, name, f.also, name)).by(a.stored(f))
	case f.messages >= 2*f.pairs && (f.users > 1 || a.usedAtHome(f)):
		evidence["repeated"] = f.messages - f.pairs
		a.addWall("replicate", push, within(push, words.Say("With a copy on every node",
			"держать по копии на каждом узле")), evidence, words.Say(
			"%s %d of %s carried a DF that the node had already received. Keep a copy on every node "+
				"(`locator_replicating %s => all;`) or run the CFs that share it on one node.",
			"%s В %d из %s узлу приходил ФД, который он уже получал: держите по копии на каждом узле "+
				"(`locator_replicating %s => all;`) или исполняйте все ФВ, которым он нужен, на одном узле.",
			head, f.messages-f.pairs, words.Number{N: f.messages, What: words.OfMessages.AlwaysMore()}, name)).
			by(a.replicated(f))
	case f.messages >= 2*f.pairs:
		evidence["repeated"] = f.messages - f.pairs
		a.addWall("asked-again", push, within(push, whereUsed), evidence, words.Say(
			"%s A node requests the same DF again for every CF: %s for %s. Store it where those CFs run: "+
				"`locator_cyclic %s => expression;`.",
			"%s Один и тот же узел запрашивает один и тот же ФД заново для каждого ФВ: %s на %s. Храните его там, "+
				"где исполняются эти ФВ: `locator_cyclic %s => выражение;`.",
			head, words.Number{N: f.messages, What: words.Messages.AlwaysMore()},
			words.Number{N: f.pairs, What: words.DFs}, name)).by(a.stored(f))
	default:
		a.once(f, best, push, flight, head, consumer, evidence, within)
	}
}

// usedAtHome tells whether a DF of a flow is also used on the node where it was made: then no single place
// is right for it.
func (a *advisor) usedAtHome(f *flow) bool {
	return slices.ContainsFunc(f.ways, func(i int32) bool {
		w := &a.replay.Transfers[i]
		return a.facts.AtHome[useAt{w.DF, w.Maker}]
	})
}

// once: every DF comes to a node once.
func (a *advisor) once(f *flow, best, push, flight int64, head words.Text, consumer string,
	evidence map[string]any, within func(int64, words.Text) words.Text) {
	if parts, n := a.tooLarge(f, flight); n > 0 {
		evidence["parts"], evidence["cfs_per_worker"] = pieces, a.cfsPerWorker()
		if 2*parts >= best*(pieces-1)/pieces*9/10 {
			what := words.Say("Divided into %d parts, each processed while the next one travels",
				"разделить каждый на %d частей и обрабатывать одну часть, пока идёт следующая", pieces)
			a.addWall("too-large", parts, within(parts, what), evidence, words.Say(
				"%s They are large (%s each, %s on the link), and with %s CFs per worker little work overlaps them. "+
					"Divide them and `%s` into smaller fragments, so that workers process one part while the next travels.",
				"%s Эти ФД велики (по %s, в пути %s), а на рабочий поток приходится лишь %s ФВ, и заняться в это время "+
					"почти нечем. Разделите их и `%s` на фрагменты поменьше, чтобы одна часть обрабатывалась, пока идёт "+
					"следующая.",
				head, words.Size(f.bytes/max(f.messages, 1)), words.Time(flight), words.Decimal(a.cfsPerWorker()),
				consumer))
			return
		}
	}
	user := a.fragment(consumer)
	oneNode := words.Say("Made and used on one node", "вычислять и использовать их на одном узле")
	switch {
	case user != nil && user.Count > 0 && flight > 4*user.MeanNS && flight < 4*a.facts.Shortest:
		a.addWall("too-small-to-send", best, within(best, oneNode), evidence, words.Say(
			"%s A message takes %s on average, a CF of %s %s: that is too little work to pay for the transfer. Make "+
				"the fragments larger, or place `%s` where its DFs are.",
			"%s Сообщение идёт в среднем %s, а ФВ %s исполняется %s: пересылка не окупается столь малой работой. "+
				"Укрупните фрагменты или исполняйте `%s` там, где его ФД.",
			head, words.Time(flight), a.named(consumer), words.Time(user.MeanNS), user.Code)).by(distributed)
	case f.asked > 0 && 10*push >= 7*best:
		a.addWall("late-transfer", push,
			within(push, words.Say("Stored where they are used, and sent as soon as they are made",
				"хранить их там, где они используются, и отправлять сразу после вычисления")), evidence, words.Say(
				"%s They travel only on request, after a CF needs them. Store them where they are used (`locator_cyclic "+
					"%s[i] => expression;`): then they leave as soon as they are made.",
				"%s Эти ФД отправляются только по запросу, когда они уже понадобились ФВ. Храните их там, где они "+
					"используются (`locator_cyclic %s[i] => выражение;`): тогда они будут отправляться сразу после "+
					"вычисления.",
				head, f.name)).by(a.stored(f))
	default:
		var overlap words.Text
		if n := a.cfsPerWorker(); n < fewPerWorker {
			evidence["cfs_per_worker"] = n
			overlap = words.Say(" With %s CFs per worker little work overlaps the transfers: use smaller fragments.",
				" На рабочий поток приходится лишь %s ФВ, и во время передачи почти нечем заняться: с фрагментами "+
					"поменьше передача шла бы одновременно с работой.", words.Decimal(n))
		}
		a.addWall("far-data", best, within(best, oneNode), evidence, words.Say(
			"%s Give `%s`%s and the code fragments that make and use them the same locator, so that they meet on "+
				"one node.%s",
			"%s Задайте один и тот же локатор для ФД `%s`%s и для фрагментов кода, которые их вычисляют и "+
				"используют, чтобы они оказывались на одном узле.%s",
			head, f.name, f.also, overlap)).by(distributed)
	}
}

// fewPerWorker is the number of CFs per worker below which a transfer has little to overlap with.
const fewPerWorker = 8

// tooLarge is what dividing large DFs and the CFs that take them would save: of each transfer and the CF
// after it, all but one part of the shorter is hidden. Second: how many are that large.
func (a *advisor) tooLarge(f *flow, flight int64) (int64, int) {
	r := a.replay
	if a.cfsPerWorker() >= fewPerWorker {
		return 0, 0
	}
	latency := a.facts.Shortest
	if latency < 0 || flight < 4*latency {
		return 0, 0
	}
	n := 0
	hidden := func(w *transfer, ns int64) int64 {
		e := w.Reader
		return max(min(ns-latency, r.List[e].End-r.List[e].Start), 0) * (pieces - 1) / pieces
	}
	wall := r.wall(a.only(f, func(w *transfer) (int64, int64, int64) {
		n++
		return w.Post - hidden(w, w.Post), w.Ask, w.Answer - hidden(w, w.Answer)
	}))
	return a.res.WallNS - wall, n
}

// by is by for a statement, which is 1 + its number.
func (a *advisor) by(english, russian string, site uint32) words.Text {
	if site == 0 {
		return words.Text{}
	}
	s := &a.facts.m.Sites[site-1]
	return by(english, russian, lifecycle.Place{Code: a.codeOf(site - 1), File: s.File, Line: s.Line})
}

// has tells whether DFs of that name are in the flow.
func (f *flow) has(m *model.Model, name string) bool {
	for n := range f.names {
		if m.Names[n] == name {
			return true
		}
	}
	return false
}

func (a *advisor) meanAnswer(f *flow) int64 {
	var sum int64
	for _, i := range f.ways {
		w := &a.replay.Transfers[i]
		sum += max(w.Post, w.Answer)
	}
	return sum / int64(len(f.ways))
}

func (a *advisor) cfsPerWorker() float64 {
	_, _, cfs := a.loads()
	return float64(cfs) / float64(max(a.workers, 1))
}

// migration: CFs were on their way to the node where they run.
func (a *advisor) migration() {
	l := a.res.Factors.L
	c := a.top(func(c *slou.Cause) int64 {
		if c.DF != "" {
			return 0
		}
		return lost("L", "")(c)
	}, func(c *slou.Cause) [4]string { return [4]string{c.Link, c.Consumer} })
	if l == nil || c.NS == 0 || a.replay == nil {
		return
	}
	wall := a.res.WallNS - a.replay.wall(a.replay.createdInPlace())
	a.addWall("migration", wall,
		words.Say("Created where they run, with nothing else changed, the run would take %s.",
			"Если создавать их там, где они исполняются, а остальное не менять, запуск займёт %s.",
			words.Time(a.res.WallNS-wall)),
		map[string]any{"link": c.Link, "consumer": c.Consumer, "waited_ns": c.NS, "count": c.Count,
			"migrations": a.facts.Moves, "created_at": a.statement(a.facts.Moved[c.Consumer].Site)}, words.Say(
			"Workers waited %s (%s) for messages, most of it (%s, %s) for CFs of %s that migrated on link %s. Create "+
				"CFs where they run: give the enclosing loop or sub the same locator.",
			"Рабочие потоки ждали сообщений %s (%s), дольше всего (%s, %s) ждали переноса ФВ %s на связи %s. "+
				"Создавайте ФВ там, где они исполняются: задайте охватывающему циклу или подпрограмме (`sub`) тот же "+
				"локатор.",
			words.Time(l.NS), a.share(l.NS), words.Time(c.NS), often(c.Count), a.named(c.Consumer), c.Link)).
		by(createdThere)
}
