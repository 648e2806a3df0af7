package story

import (
	"context"
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

// DF tells the story of a DF, given by its key (timeline.DFKey), in a language: "ru", anything else is
// English. The error of one that the run has not is fs.ErrNotExist.
func DF(ctx context.Context, m *model.Model, t *timeline.Timeline, key, lang string) (*DFStory, error) {
	df, err := t.FindDF(key)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := newTeller(m, t, lang)
	s := &DFStory{DF: t.DFKey(df), Title: m.DFString(df), Name: m.DFNameOf(df), Nodes: []Held{}}
	w.makings(s, df)
	w.requests(df)
	for _, g := range m.MessagesOf(df) {
		w.way(&m.DFMessages[g])
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
			s.Bytes, s.Producer = m.MadeSize[i], w.refOrNil(m.MadeBy[i])
		}
		node := int(m.MadeNode[i])
		text := w.text(dfMade, node)
		if by := m.MadeBy[i]; by != 0 {
			text = w.text(dfMadeBy, m.CFString(by), node)
		}
		if m.MadeSize[i] > 0 {
			text = fmt.Sprintf("%s: %s", text, w.bytes(m.MadeSize[i]))
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
		if q.CF != 0 {
			w.say(q.Sent, int(q.From), q.CF, 0, dfAsked, q.From, q.To, m.CFString(q.CF))
		} else {
			w.say(q.Sent, int(q.From), 0, 0, dfAskedBy, q.From, q.To)
		}
		if q.Sent != model.None && q.Received >= q.Sent {
			w.say(q.Received, int(q.To), 0, 0, dfAskedAt, q.To, w.duration(q.Received-q.Sent))
		}
	}
}

// way tells of a message with the DF.
func (w *teller) way(g *model.Message) {
	w.say(g.Sent, int(g.From), 0, 0, dfSent, link(g), w.bytes(g.Bytes))
	if g.Sent != model.None && g.Received >= g.Sent {
		w.say(g.Received, int(g.To), 0, 0, dfCame, g.To, link(g), w.duration(g.Received-g.Sent))
	} else {
		w.say(g.Received, int(g.To), 0, 0, dfCameOdd, g.To, link(g))
	}
}

// copies tells where the DF was held.
func (w *teller) copies(s *DFStory, df model.DF) {
	m := w.m
	open := map[uint16]int{} // by node: 1 + index into s.Nodes
	for _, i := range w.inTime(w.m.CopiesOf(df)) {
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
				s.Nodes[k-1].To = w.since(c.Time)
				open[c.Node] = 0
			}
		case model.CopyExpired:
			w.say(c.Time, node, 0, 0, dfExpired, node)
		case model.CopyDeleted:
			w.say(c.Time, node, 0, 0, dfDeleted, node)
		case model.CopyEnd:
			w.say(c.Time, node, 0, 0, dfEnded, node)
		}
	}
}

// inTime puts changes of copies in order of time.
func (w *teller) inTime(list []uint32) []uint32 {
	return sorted(list, func(i uint32) int64 { return w.m.Copies[i].Time })
}

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
