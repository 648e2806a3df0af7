package story

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/words"
)

// CFStory is the life of a CF. Times are nanoseconds since the start of the run, sizes bytes.
type CFStory struct {
	CF     string  `json:"cf"`
	Title  string  `json:"title"` // "mult[1][2]"
	Code   int     `json:"code"`  // index into model.Model.Codes
	Label  []int32 `json:"label"` // its indices
	Source string  `json:"source"`
	Text   string  `json:"text"` // the statement as written, "" where not known
	Weight float64 `json:"weight"`
	Atomic bool    `json:"atomic"`
	// "waiting", "ready", "running", "finished" or "moving": at the end of what was recorded
	State       string `json:"state"`
	CreatedNS   *int64 `json:"created_ns"`
	Node        int    `json:"node"`   // where it is, or was executed last
	Parent      string `json:"parent"` // "" where there is none
	ParentTitle string `json:"parent_title"`
	Lines       []Line `json:"lines"` // in order of time
	Runs        []Run  `json:"runs"`  // the first thousand
	// of all runs; of one that has not ended up to the end of the run
	TotalNS int64     `json:"total_ns"`
	Cost    slou.Lost `json:"cost"` // of the gaps before its runs
	// Inputs of all runs and, of one that waits, what it waits for; Outputs, in order of time. 200 at most,
	// as of Children.
	Inputs       []DFRef `json:"inputs"`
	Outputs      []DFRef `json:"outputs"`
	Children     []CFRef `json:"children"`
	ChildrenMore int     `json:"children_more"`
}

// Run is an execution of a CF.
type Run struct {
	Number uint32 `json:"number"` // from 1
	Node   int    `json:"node"`   // -1, as Worker and Lane, on a stream that is no worker
	Worker int    `json:"worker"`
	Lane   int    `json:"lane"`
	Start  int64  `json:"start"`
	End    *int64 `json:"end"`    // nil: has not ended
	CPUNS  *int64 `json:"cpu_ns"` // nil: not measured
}

// CF tells the story of a CF, named "node.counter", in a language: "ru", anything else is English. The error
// of one that the run has not is fs.ErrNotExist.
func CF(t *timeline.Timeline, key, lang string) (*CFStory, error) {
	cf, err := t.FindCF(key)
	if err != nil {
		return nil, err
	}
	m, w := t.Model(), newTeller(t, lang)
	site := &m.Sites[m.SiteOf[cf]]
	at, await := w.stand(cf)
	s := &CFStory{CF: t.CFKey(cf), Title: m.CFTitle(cf), Code: m.CodeOf(cf),
		Label: append([]int32{}, m.Label(cf)...), Source: w.place(m.SiteOf[cf]),
		Text: site.Text, Weight: m.Weight(cf), Atomic: m.Atomic(cf), Node: int(at.Node),
		State: at.State.String(), Parent: t.CFKey(m.Parent[cf]), ParentTitle: m.CFTitle(m.Parent[cf]),
		Runs: []Run{}, Inputs: []DFRef{}, Outputs: []DFRef{}}
	s.CreatedNS = w.t.Since(m.Created[cf])
	w.created(cf)
	for _, i := range m.AwaitsOf(cf) {
		list, first := m.Awaits.Of(int(i)), model.DF(0)
		if len(list) > 0 {
			first = list[0]
		}
		w.say(m.Awaits.Time[i], w.m.NodeAt(cf, m.Awaits.Time[i]), 0, first, beganToWait,
			w.list(len(list), func(k int) string { return m.DFString(list[k]) }))
	}
	w.moves(cf)
	m.AllReady(cf, func(at int64, node int) { w.say(at, node, 0, 0, becameReady, node) })
	for _, v := range m.Held[cf] {
		w.say(v.From, w.m.NodeAt(cf, v.From), 0, 0, held, w.duration(v.To-v.From))
	}
	w.inputs(s, cf, await)
	w.runs(s, cf)
	w.outputs(s, cf)
	w.children(s, cf)
	w.unfinished(cf, at, await)
	s.Lines = w.inOrder()
	return s, nil
}

func (w *teller) created(cf model.CF) {
	m := w.m
	node := m.CFID(cf).Node()
	text := w.text(created, node)
	if p := m.Parent[cf]; p != 0 {
		text = w.text(createdBy, node, m.CFString(p))
	}
	if m.Sites[m.SiteOf[cf]].Text != "" || w.place(m.SiteOf[cf]) != "" {
		text += w.text(createdAt, w.statement(m.SiteOf[cf]))
	}
	w.tell(m.Created[cf], node, m.Parent[cf], 0, created, func() string { return text })
}

func (w *teller) moves(cf model.CF) {
	moves := w.m.MovesOf(cf)
	for i := range moves {
		g, out := &moves[i], left
		if g.Stolen {
			out = stolen
		}
		w.say(g.Sent, int(g.From), 0, 0, out, g.From, g.To)
		w.arrival(g, 0, cameAfter, came, g.To, g.From)
	}
}

// arrival tells that a message came, after how long where that is known.
func (w *teller) arrival(g *model.Message, df model.DF, after, came phrase, args ...any) {
	if g.Sent != model.None && g.Received >= g.Sent {
		came, args = after, append(args, w.duration(g.Received-g.Sent))
	}
	if came != (phrase{}) {
		w.say(g.Received, int(g.To), 0, df, came, args...)
	}
}

// inputs tells of what the CF was given, each DF once, and lists it.
func (w *teller) inputs(s *CFStory, cf model.CF, await int) {
	m := w.m
	seen, asked := map[model.DF]bool{}, map[uint32]bool{}
	add := func(df model.DF, t int64) bool {
		if df == 0 || seen[df] {
			return false
		}
		seen[df] = true
		if len(s.Inputs) < listShown {
			s.Inputs = append(s.Inputs, w.dfRef(df, t))
		}
		return true
	}
	for e := range m.ExecutionsOf(cf) {
		_, node := m.WorkerOf(e)
		start := m.ExecStart[e]
		for _, df := range m.Inputs(e) {
			if !add(df, start) {
				continue
			}
			w.input(df, node, start)
			for _, g := range w.t.Way(df, node, start) {
				w.message(&m.DFMessages[g], asked)
			}
		}
	}
	if await < 0 {
		return
	}
	for _, df := range m.Awaits.Of(await) {
		if !add(df, m.End) {
			continue
		}
		for _, r := range w.m.RequestsOf(df) {
			if m.Requests[r].CF == cf {
				w.request(r, asked)
			}
		}
	}
}

// input tells who made an input of an execution on a node that started at a time.
func (w *teller) input(df model.DF, node int32, start int64) {
	m := w.m
	i, ok := m.Creation(df, start)
	if !ok {
		w.say(start, int(node), 0, df, givenUnknown, m.DFString(df))
		return
	}
	text, args := madeOn, []any{w.sized(df, m.SizeMade(i)), m.MadeNode[i]}
	if by := m.MadeBy[i]; by != 0 {
		text, args = madeBy, append(args, m.CFString(by))
	}
	w.say(m.MadeTime[i], int(m.MadeNode[i]), m.MadeBy[i], df, text, args...)
}

// message tells how a DF came from one node to another, and of the request it answers.
func (w *teller) message(g *model.Message, asked map[uint32]bool) {
	if g.Request != 0 {
		w.request(g.Request, asked)
	}
	name, link := w.m.DFString(g.DF), link(g)
	w.say(g.Sent, int(g.From), 0, g.DF, sent, name, link)
	w.arrival(g, g.DF, receivedAfter, received, name, g.To, link)
}

// request tells of a request for a DF, once.
func (w *teller) request(r uint32, asked map[uint32]bool) {
	if int(r) >= len(w.m.Requests) || asked[r] {
		return
	}
	asked[r] = true
	q := &w.m.Requests[r]
	name := w.m.DFString(q.DF)
	w.say(q.Sent, int(q.From), 0, q.DF, asked1, q.From, q.To, name)
	w.arrival(q, q.DF, askedThere, phrase{}, name, q.To)
}

// runs tells of the executions and lists them.
func (w *teller) runs(s *CFStory, cf model.CF) {
	m := w.m
	many := m.ExecOf[cf] != 0 && m.ExecNumber[m.ExecOf[cf]-1] > 1
	for e := range m.ExecutionsOf(cf) {
		r := Run{Number: m.ExecNumber[e], Node: -1, Worker: -1, Lane: w.t.LaneOf(e),
			Start: m.ExecStart[e] - m.Start, End: w.t.Since(m.ExecEnd[e])}
		if id, ok := m.WorkerIDOf(e); ok {
			r.Node, r.Worker = id.Node, id.Worker
		}
		ns := max(m.EndOf(e)-m.ExecStart[e], 0)
		s.TotalNS += ns
		if cpu := m.CPU(e); cpu >= 0 {
			r.CPUNS = &cpu
		}
		if len(s.Runs) < runsShown {
			s.Runs = append(s.Runs, r)
		}
		lost := w.t.Before(e)
		for f, ns := range lost {
			s.Cost[f] += ns
		}
		if lost.NS() > 0 {
			w.say(m.ExecStart[e], r.Node, 0, 0, lostBefore, r.Worker, r.Node, w.duration(lost.NS()),
				w.factors(&lost))
		}
		if r.End == nil {
			w.say(m.ExecStart[e], r.Node, 0, 0, started, r.Worker, r.Node)
		} else {
			text := w.text(ran, r.Worker, r.Node, w.duration(ns))
			if many {
				text = w.text(ranNumber, r.Worker, r.Node, w.duration(ns), r.Number)
			}
			if r.CPUNS != nil && *r.CPUNS < ns {
				text += w.text(hadProcessor, w.duration(*r.CPUNS))
			}
			w.tell(m.ExecStart[e], r.Node, 0, 0, ran, func() string { return text })
		}
		for _, x := range w.t.Stood(e) {
			name := x.For
			if model.ByDebugger(name) {
				continue // told by the debugger's own events
			}
			w.say(x.At+m.Start, r.Node, 0, 0, stoodFor, words.Waited(name), w.duration(x.NS))
		}
	}
}

// factors names what was lost, most first.
func (w *teller) factors(c *slou.Lost) string {
	var out []string
	list := slices.Clone(slou.LostFactors)
	slices.SortStableFunc(list, func(a, b slou.Factor) int { return cmp.Compare(c[b], c[a]) })
	for _, f := range list {
		if c[f] > 0 {
			out = append(out, w.text(f.Info().Name)+" "+w.duration(c[f]))
		}
	}
	return strings.Join(out, ", ")
}

// outputs tells what the CF made and who used it.
func (w *teller) outputs(s *CFStory, cf model.CF) {
	m := w.m
	for _, i := range sorted(w.m.OutputsOf(cf), func(i uint32) int64 { return m.MadeTime[i] }) {
		df := w.m.DFMade(i)
		if len(s.Outputs) < listShown {
			s.Outputs = append(s.Outputs, w.dfRef(df, m.MadeTime[i]))
		}
		name, node := w.sized(df, m.SizeMade(int(i))), int(m.MadeNode[i])
		if users, count := w.users(df, namesShown); count > 0 {
			w.say(m.MadeTime[i], node, users[0], df, makesFor, name, w.cfs(users, count))
		} else {
			w.say(m.MadeTime[i], node, 0, df, makes, name)
		}
	}
}

// children tells which CFs the CF created, in a line for those of each execution and statement.
func (w *teller) children(s *CFStory, cf model.CF) {
	m := w.m
	all := sorted(w.m.ChildrenOf(cf), func(c uint32) int64 { return m.Created[c] })
	list := make([]model.CF, 0, len(all))
	for _, c := range all {
		list = append(list, model.CF(c))
	}
	s.Children, s.ChildrenMore = w.refs(list[:min(len(list), listShown)], len(list))
	type key struct{ exec, site uint32 }
	groups := map[key][]model.CF{}
	var order []key
	for _, c := range list {
		k := key{m.ParentExec[c], m.SiteOf[c]}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], c)
	}
	for _, k := range order {
		g := groups[k]
		w.say(m.Created[g[0]], m.CFID(g[0]).Node(), g[0], 0, creates, w.cfs(g, len(g)))
	}
}

func link(g *model.Message) string { return slou.Link{From: g.From, To: g.To}.String() }
