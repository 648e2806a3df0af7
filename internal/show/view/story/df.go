package story

import (
	"fmt"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
)

// DFStory is the life of a DF. Times are nanoseconds since the start of the run, sizes bytes.
type DFStory struct {
	DF            string  `json:"df"`
	Title         string  `json:"title"` // "x[3][0]"
	Name          string  `json:"name"`  // "x"
	Bytes         int64   `json:"bytes"` // of its value, 0 where not known
	Producer      *CFRef  `json:"producer"`
	Lines         []Line  `json:"lines"`     // in order of time
	Consumers     []CFRef `json:"consumers"` // in order of start, 200 at most
	ConsumersMore int     `json:"consumers_more"`
	// Nodes says where and when copies were held, as far as onStored and onDropped were recorded.
	Nodes []Held `json:"nodes"`
}

// Held is the time for which a node held a copy.
type Held struct {
	Node  int    `json:"node"`
	From  int64  `json:"from"`
	To    *int64 `json:"to"` // nil: to the end of what was recorded
	Bytes int64  `json:"bytes"`
}

// DF tells the story of a DF, given by its key (model.Model.DFKey), in a language: "ru", anything else is
// English. The error of one that the run has not is fs.ErrNotExist.
func DF(t *timeline.Timeline, key, lang string) (*DFStory, error) {
	df, err := t.FindDF(key)
	if err != nil {
		return nil, err
	}
	m, w := t.Model(), newTeller(t, lang)
	s := &DFStory{DF: m.DFKey(df), Title: m.DFString(df), Name: m.DFNameOf(df), Nodes: []Held{}}
	w.makings(s, df)
	w.requests(df)
	for _, i := range m.MessagesOf(df) {
		g := &m.DFMessages[i]
		w.say(g.Sent, int(g.From), 0, 0, dfSent, link(g), w.bytes(g.Bytes))
		w.arrival(g, 0, dfCame, dfCameOdd, g.To, link(g))
	}
	w.copies(s, df)
	users, count := w.users(df, listShown)
	s.Consumers, s.ConsumersMore = w.refs(users, count)
	w.waiters(df)
	for _, cf := range users {
		w.used(df, cf)
	}
	s.Lines = w.inOrder()
	return s, nil
}

// makings tells who made the DF.
func (w *teller) makings(s *DFStory, df model.DF) {
	m := w.m
	first, end := m.Creations(df)
	for i := first; i < end; i++ {
		if i == first {
			s.Bytes, s.Producer = m.SizeMade(i), w.refOrNil(m.MadeBy[i])
		}
		node := int(m.MadeNode[i])
		text := w.text(dfMade, node)
		if by := m.MadeBy[i]; by != 0 {
			text = w.text(dfMadeBy, m.CFString(by), node)
		}
		if m.SizeMade(i) > 0 {
			text = fmt.Sprintf("%s: %s", text, w.bytes(m.SizeMade(i)))
		}
		w.tell(m.MadeTime[i], node, m.MadeBy[i], 0, dfMade, func() string { return text })
	}
	for _, d := range m.Duplicates {
		if d.DF == df {
			w.say(d.Time, m.CFID(d.Second).Node(), d.Second, 0, dfTwice, w.who(d.Second), w.who(d.First))
		}
	}
}

func (w *teller) requests(df model.DF) {
	m := w.m
	for _, r := range w.m.RequestsOf(df) {
		q := &m.Requests[r]
		text, args := dfAskedBy, []any{q.From, q.To}
		if q.CF != 0 {
			text, args = dfAsked, append(args, m.CFString(q.CF))
		}
		w.say(q.Sent, int(q.From), q.CF, 0, text, args...)
		w.arrival(q, 0, dfAskedAt, phrase{}, q.To)
	}
}

// copies tells where the DF was held.
func (w *teller) copies(s *DFStory, df model.DF) {
	m := w.m
	open := map[uint16]int{} // by node: 1 + index into s.Nodes
	for _, i := range sorted(m.CopiesOf(df), func(i uint32) int64 { return m.Copies[i].Time }) {
		c := &m.Copies[i]
		node := int(c.Node)
		switch c.What {
		case model.CopyStored:
			w.say(c.Time, node, 0, 0, dfStored, node)
			if open[c.Node] == 0 {
				s.Nodes = append(s.Nodes, Held{Node: node, From: c.Time - m.Start, Bytes: s.Bytes})
				open[c.Node] = len(s.Nodes)
			}
		case model.CopyDropped:
			w.say(c.Time, node, 0, 0, dfDropped, node)
			if k := open[c.Node]; k != 0 {
				s.Nodes[k-1].To = w.t.Since(c.Time)
				open[c.Node] = 0
			}
		default:
			w.say(c.Time, node, 0, 0, dfGone[c.What], node)
		}
	}
}

// dfGone says why a DF was destroyed.
var dfGone = map[model.CopyChange]phrase{model.CopyExpired: dfExpired, model.CopyDeleted: dfDeleted,
	model.CopyEnd: dfEnded}

// waiters tells which CFs waited for the DF.
func (w *teller) waiters(df model.DF) {
	m := w.m
	for _, i := range w.m.WaitersOf(df) {
		cf, at := m.Awaits.CF[i], m.Awaits.Time[i]
		w.say(at, w.m.NodeAt(cf, at), cf, 0, dfWaited, w.who(cf))
	}
}

// used tells when a CF was first given the DF.
func (w *teller) used(df model.DF, cf model.CF) {
	m := w.m
	for e := range m.ExecutionsOf(cf) {
		for _, d := range m.Inputs(e) {
			if d == df {
				_, node := m.WorkerOf(e)
				w.say(m.ExecStart[e], int(node), cf, 0, dfUsed, m.CFString(cf))
				return
			}
		}
	}
}
