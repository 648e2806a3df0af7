package blame

import (
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// Wait is a time in which a worker did no useful work: between two CFs, after its last, or in one that
// waited.
type Wait struct {
	Node   int    `json:"node"`
	Worker int    `json:"worker"`
	FromNS int64  `json:"from_ns"`
	ToNS   int64  `json:"to_ns"`
	NS     int64  `json:"ns"`
	SNS    int64  `json:"S_ns"` // its parts
	LNS    int64  `json:"L_ns"`
	ONS    int64  `json:"O_ns"`
	WNS    int64  `json:"W_ns"`
	Kind   string `json:"kind"` // the letter of the largest
	Tail   bool   `json:"tail"` // the worker executed nothing after it
	// Inside: Consumer had started, and waited for a lock, an exclusive resource, a collective or a debugger.
	Inside   bool `json:"inside"`
	Consumer *Who `json:"consumer"` // the CF that the worker executed next; null in the tail
	// who made the last input of Consumer; in the tail the CF that the run waited for longest; null where not
	// known
	Producer *Who     `json:"producer"`
	Others   int      `json:"others"`  // in the tail: how many other CFs the run waited for
	DF       string   `json:"df"`      // that input; "" where there is none or it is not known
	Size     int64    `json:"size"`    // of its value
	Flights  []Flight `json:"flights"` // of it, a request for it or Consumer, in order of time
	For      string   `json:"for"`     // what it waited for otherwise: a lock...; "" for none
	Part     string   `json:"part"`    // the largest part of O in it; "" for none
	Text     string   `json:"text"`    // Story in English
}

// Who is an executed CF.
type Who struct {
	Place
	CF     string `json:"cf"` // "mult[1][2] (0.17)"
	Node   int    `json:"node"`
	Worker int    `json:"worker"` // -1: of the run-time system
	// FromNS and ToNS are when it was executed; of a producer ToNS is when the DF was there. ToNS is the end
	// of the run where it did not end.
	FromNS int64 `json:"from_ns"`
	ToNS   int64 `json:"to_ns"`
}

// Flight is a part of a wait in which something was on a link: a DF, a request for it or, without a DF, the
// consumer itself.
type Flight struct {
	Link    string `json:"link"` // "0->1"
	DF      string `json:"df"`
	Request bool   `json:"request"`
	Size    int64  `json:"size"` // of the DF's value
	NS      int64  `json:"ns"`
}

// story tells of a wait, all but its producer and the text.
func (b *blamer) story(x *wait) openWait {
	m := b.m
	var producer openWait
	w := Wait{Node: x.node, Worker: x.worker, FromNS: b.at(x.from), ToNS: b.at(x.to), NS: x.to - x.from,
		SNS: x.ns[slou.FactorS], LNS: x.ns[slou.FactorL], ONS: x.ns[slou.FactorO], WNS: x.ns[slou.FactorW]}
	w.Tail = x.consumer == 0 && x.ns[slou.FactorW] < w.NS
	best := int64(-1)
	for _, f := range slou.LostFactors {
		if x.ns[f] > best {
			best, w.Kind = x.ns[f], f.String()
		}
	}
	start := m.End
	if x.consumer != 0 {
		e := b.consumed(x)
		if e >= 0 {
			start = m.ExecStart[e]
			w.Inside = start <= x.from
		}
		w.Consumer = b.who(x.consumer, e, model.None)
	}
	producers, parts := map[model.CF]int64{}, map[slou.Part]int64{}
	var part slou.Part
	var longest *piece
	for i := range x.pieces {
		p := &x.pieces[i]
		switch p.Factor {
		case slou.FactorS:
			producers[p.Producer] += p.To - p.From
			if longest == nil || producers[p.Producer] > producers[longest.Producer] {
				longest = p
			}
		case slou.FactorL:
			w.Flights = append(w.Flights, b.flight(x, p, start))
			if longest == nil && p.DF != 0 {
				longest = p
			}
		case slou.FactorO:
			if parts[p.Part] += p.To - p.From; parts[p.Part] > parts[part] {
				part = p.Part
			}
		case slou.FactorW:
			w.For = b.waiting(p)
		}
	}
	if longest != nil {
		until := x.to
		if longest.DF != 0 {
			w.DF = m.DFString(longest.DF)
			if i, ok := m.Creation(longest.DF, start); ok {
				w.Size = m.SizeMade(i)
			}
			if s := b.look.Made(longest.DF, start); s.Known {
				until = s.End
			}
		}
		producer = openWait{Producer: m.CFID(longest.Producer), Site: m.SiteOf[longest.Producer],
			Until: until,
			Whole: longest.DF == 0}
	}
	w.Part = part.String()
	w.Others = max(len(producers)-1, 0)
	producer.Wait = w
	return producer
}

// flight tells of a piece of L. What leaves the node where the CF is to run is a request: the DF comes there.
func (b *blamer) flight(x *wait, p *piece, start int64) Flight {
	link := p.Link()
	f := Flight{Link: link.String(), NS: p.To - p.From}
	if p.DF == 0 {
		return f
	}
	f.DF, f.Request = b.m.DFString(p.DF), int(link.From) == x.node
	if i, ok := b.m.Creation(p.DF, start); ok {
		f.Size = b.m.SizeMade(i)
	}
	return f
}

// consumed gives the first execution of the consumer on the worker that ends after the wait began.
func (b *blamer) consumed(x *wait) int {
	w := &b.m.Nodes[x.node].Workers[x.worker]
	for e := range b.m.ExecutionsOf(x.consumer) {
		if e >= w.First && e < w.End && (b.m.ExecEnd[e] == model.None || b.m.ExecEnd[e] > x.from ||
			b.m.ExecStart[e] >= x.to) {
			return e
		}
	}
	return int(b.m.ExecOf[x.consumer]) - 1
}

// who names a CF and an execution of it, -1 for none; until is when what it made was there, None for its end.
func (b *blamer) who(cf model.CF, e int, until int64) *Who {
	m := b.m
	out := &Who{Place: placeOf(b.m, m.CodeOf(cf)), CF: m.CFString(cf), Node: m.CFID(cf).Node(), Worker: -1}
	if e < 0 {
		return out
	}
	if id, ok := m.WorkerIDOf(e); ok {
		out.Node, out.Worker = id.Node, id.Worker
	}
	if until == model.None {
		until = m.EndOf(e)
	}
	out.FromNS, out.ToNS = b.at(m.ExecStart[e]), b.at(until)
	return out
}

// Story tells of a wait in one line.
func (w *Wait) Story() words.Text {
	at := func(ns int64) moment { return moment{ns, w.NS} }
	until := words.Say("%s", "%s", at(w.ToNS))
	if w.Tail {
		until = words.Say("the end at %s", "конца в %s", at(w.ToNS))
	}
	did := words.Say("had nothing to do", "простаивал")
	switch {
	case w.Inside:
		did = words.Say("stood still in %s", "стоял в %s", w.Consumer.CF)
	case w.Kind == "O":
		did = words.Say("did nothing useful", "не делал ничего полезного")
	}
	text := words.Say("worker %d of node %d %s from %s to %s (%s):",
		"рабочий поток %d узла %d %s с %s до %s (%s):", w.Worker, w.Node, did, at(w.FromNS), until,
		words.Time(w.NS))
	who := words.Say("the run", "запуск")
	if w.Consumer != nil {
		who = words.Say("%s", "%s", w.Consumer.CF)
	}
	clauses := w.waited()
	for i := range w.Flights {
		if i == flightsShown && len(w.Flights) > flightsShown+1 {
			clauses = append(clauses, words.Say("and so on over %d more links", "и так далее по другим связям (%d)",
				len(w.Flights)-i))
			break
		}
		clauses = append(clauses, w.Flights[i].tell(len(clauses) == 0))
	}
	switch {
	case w.WNS > 0 && model.ByDebugger(w.For):
		clauses = append(clauses, words.Say("was stopped by a debugger for %s", "был остановлен отладчиком на %s",
			words.Time(w.WNS)))
	case w.WNS > 0:
		clauses = append(clauses, words.Say("waited for %s for %s", "ждал %[2]s: %[1]s", words.Waited(w.For),
			words.Time(w.WNS)))
	}
	if w.ONS > 0 && w.ONS*10 >= w.NS {
		var and words.Text
		if len(clauses) > 0 {
			and = words.Say("and ", "и ")
		}
		clauses = append(clauses, words.Say("%swas held up by the run-time system for %s, mostly %s",
			"%sбыл задержан системой на %s, дольше всего %s", and, words.Time(w.ONS),
			words.PartOf(w.Part).Before.With()))
	}
	for i, c := range clauses {
		if i == 0 {
			text = words.Say("%s %s %s", "%s %s %s", text, who, c)
		} else {
			text = words.Say("%s, %s", "%s, %s", text, c)
		}
	}
	return text
}

// waited says what was waited for, but for what was on a link; nothing where there was nothing else.
func (w *Wait) waited() []words.Text {
	var made words.Text
	p := w.Producer
	if p != nil {
		until := moment{p.ToNS, w.NS}
		made = words.Say("%s on node %d until %s", "%s на узле %d до %s", p.CF, p.Node, until)
		if p.FromNS > w.FromNS {
			made = words.Say("%s on node %d, which ran for %s until %s", "%s на узле %d, исполнявшийся %s до %s",
				p.CF, p.Node, words.Time(p.ToNS-p.FromNS), until)
		}
	}
	var text words.Text
	switch {
	case w.SNS == 0 && w.LNS == 0:
		return nil
	case w.DF != "" && p != nil:
		text = words.Say("waited for %s, made by %s", "ждал %s, который вычислял %s", w.DF, made)
	case w.DF != "":
		text = words.Say("waited for %s, made by a CF that was not recorded",
			"ждал %s, вычисленного неизвестным ФВ", w.DF)
	case p != nil && w.Others > 0:
		text = words.Say("waited for %d CFs one after another, longest for %s",
			"ждал один за другим %d ФВ, дольше всего %s", w.Others+1, made)
	case p != nil:
		text = words.Say("waited for %s", "ждал %s", made)
	case w.SNS > 0 && w.Consumer == nil:
		text = words.Say("waited, and it was not recorded for what", "ждал, а чего, не записано")
	case w.SNS > 0:
		text = words.Say("waited for something whose maker was not recorded",
			"ждал того, что вычислил неизвестный ФВ")
	default:
		return nil
	}
	return []words.Text{text}
}

// flightsShown is how many flights a story tells of.
const flightsShown = 3

func (f *Flight) tell(first bool) words.Text {
	from, to, _ := strings.Cut(f.Link, "->")
	verb := words.Say("then", "затем")
	if first {
		verb = words.Say("waited", "ждал")
	}
	df := words.Say("%s", "%s", f.DF)
	switch {
	case f.DF == "":
		return words.Say("was itself in flight from node %s to node %s for %s",
			"сам был в пути с узла %s на узел %s %s", from, to, words.Time(f.NS))
	case f.Request:
		df = words.Say("the request for %s", "запроса %s", f.DF)
	case f.Size > 0:
		df = words.Say("%s (%s)", "%s (%s)", f.DF, words.Size(f.Size))
	}
	return words.Say("%s for %s, in flight from node %s to node %s for %s",
		"%s %s в пути с узла %s на узел %s: %s", verb, df, from, to, words.Time(f.NS))
}
