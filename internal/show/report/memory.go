package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

// maxMatrix is how many nodes the communication matrix is drawn for; maxMatrixText how many with numbers in
// the cells.
const (
	maxMatrix     = 64
	maxMatrixText = 10
)

// memory: bytes held, CFs by state, traffic over time and by link.
func (a *author) memory() {
	r := a.Series
	for _, m := range r.Missing {
		a.warn("%s was not recorded, so there are no %s.", m.Event, a.listOf(a.allNamed(seriesNames, m.Series)))
	}
	if m := r.Memory; m != nil && m.Total.Bytes > 0 {
		a.line("Memory", a.inMemory(m)+".")
	}
	if m := r.Messages; m != nil && m.DFs+m.CFs > 0 {
		a.line("Traffic", a.traffic(r)+".")
	}
	if s := r.Find(counters.BytesHeld, -1, ""); s != nil {
		a.heading("Memory held by data fragments")
		bytes := func(most float64) svg.Axis { return svg.Bytes(a.lang, most, 4) }
		a.level(s, "Bytes held by copies of DFs on all nodes", bytes, a.lang.Bytes, "b")
		a.byNode(counters.BytesHeld, bytes, a.lang.Bytes)
		if r.Memory != nil {
			a.holders(r.Memory)
		}
	}
	a.cfStates()
	if s := r.Find(counters.BytesSent, -1, ""); s != nil && s.End > 0 {
		a.heading("Traffic between nodes")
		a.bytesSent(s)
		if s := r.Find(counters.MessagesInFlight, -1, ""); s != nil && s.Peak > 0 {
			a.level(s, "Messages in flight", func(most float64) svg.Axis { return svg.Count(most, 4) },
				func(n int64) string { return fmt.Sprint(n) }, "l")
		}
		a.matrix()
	}
	if len(a.out) == 0 {
		a.para("The trace has no data fragments and no messages.")
	}
}

// windows are those of the series.
func (a *author) windows(tip func(i int) string) svg.Windows {
	return svg.Windows{Count: a.Series.Windows, Length: float64(a.Series.WindowNS), Tip: tip}
}

func (a *author) window(i int) string {
	from := int64(i) * a.Series.WindowNS
	return a.span(from, min(from+a.Series.WindowNS, a.Series.WallNS))
}

// level draws a level over time: its mean, and what is between its least and greatest.
func (a *author) level(s *counters.Series, title string, axis func(most float64) svg.Axis,
	unit func(int64) string, class string) *figure {
	f := svg.Frame{Label: a.say("%s over time: at most %s, at %s; %s at the end", a.say(title), unit(s.Peak),
		words.Time(s.PeakNS), unit(s.End)), Height: 120, X: a.timeAxis(a.Series.WallNS),
		Y: axis(max(float64(s.Peak), 1))}
	w := a.windows(func(i int) string {
		return a.say("%s: %s to %s", a.window(i), unit(at(s.Min, i)), unit(at(s.Max, i)))
	})
	line := svg.Line{Class: class, Values: s.Mean, Low: floats(s.Min), High: floats(s.Max)}
	return a.plot(title, func() string { return svg.Level(f, w, line) },
		"The line is the mean of each window; the area spans its least and greatest value.")
}

// bytesSent draws what was sent in each window.
func (a *author) bytesSent(s *counters.Series) {
	axis := svg.Bytes(a.lang, slices.Max(append(slices.Clone(s.Mean), 1)), 4)
	for i := range axis.Ticks {
		axis.Ticks[i].Text += words.PerSecond[a.lang]
	}
	f := svg.Frame{Label: a.say("Bytes sent per second over time: %s in all", words.Size(s.End)),
		Height: 120, X: a.timeAxis(a.Series.WallNS), Y: axis}
	w := a.windows(func(i int) string { return a.say("%s: %s sent", a.window(i), words.Size(at(s.Sum, i))) })
	a.plot("Bytes sent per second, all links",
		func() string { return svg.Stack(f, w, []svg.Layer{{Class: "l", Values: s.Mean}}) }, "")
}

// byNode draws a level of each node, where there are several.
func (a *author) byNode(name string, axis func(float64) svg.Axis, unit func(int64) string) {
	var list []*counters.Series
	for i := range a.Series.Series {
		if s := &a.Series.Series[i]; s.Name == name && s.Node >= 0 && s.Link == "" {
			list = append(list, s)
		}
	}
	if len(list) < 2 {
		return
	}
	a.eachNode(len(list), func(i int) {
		a.level(list[i], a.say("Node %s", a.nodeName(list[i].Node)), axis, unit, "b").Caption = ""
	})
}

// holders lists what held the memory when most was held.
func (a *author) holders(m *counters.Memory) {
	peaks := append([]counters.Peak{m.Total}, m.Nodes...)
	if len(m.Nodes) < 2 {
		peaks = peaks[:1]
	}
	g := a.table("Memory at its peak", "where", "#at", "DF", "#bytes", "#share|of the memory held there then",
		"#copies")
	for _, p := range peaks {
		where := a.say("all nodes")
		if p.Node >= 0 {
			where = a.say("node %s", a.nodeName(p.Node))
		}
		others := p.Others
		others.DF = a.say("others")
		for _, x := range append(slices.Clone(p.Holders), others) {
			if x.Copies == 0 && x.DF == others.DF {
				continue
			}
			share := g.cell(shareOf(x.Bytes, p.Bytes))
			share.Tip = a.lang.Bytes(x.Bytes)
			g.row(where, words.Time(p.NS), x.DF, words.Size(x.Bytes), share, x.Copies)
		}
	}
}

// cfStates draws how many CFs waited, were ready, ran and moved.
func (a *author) cfStates() {
	var layers []svg.Layer
	var legend []key
	label := a.say("CFs by state over time, stacked")
	most := 1.0
	sums := make([]float64, a.Series.Windows)
	for _, x := range []struct{ name, class, words string }{{counters.CFsRunning, "u", "running"},
		{counters.CFsReady, "o", "ready"}, {counters.CFsMoving, "l", "moving to another node"},
		{counters.CFsWaiting, "x", "waiting for DFs"}} {
		s := a.Series.Find(x.name, -1, "")
		if s == nil {
			continue
		}
		layers = append(layers, svg.Layer{Class: x.class, Values: s.Mean})
		legend = append(legend, key{x.class, a.say(x.words)})
		label += a.say("; at most %d %s", s.Peak, a.say(x.words))
		for i := range sums {
			sums[i] += s.Mean[i]
			most = max(most, float64(int64(sums[i]+0.999)))
		}
	}
	if len(layers) == 0 {
		return
	}
	w := a.windows(func(i int) string {
		s := a.window(i)
		for j, l := range layers {
			s += fmt.Sprintf("\n%s %s", words.Decimal(l.Values[i]).In(a.lang), legend[j].Name)
		}
		return s
	})
	f := svg.Frame{Label: label, Height: 140, X: a.timeAxis(a.Series.WallNS), Y: svg.Count(most, 4)}
	a.plot("CFs by state", func() string { return svg.Stack(f, w, layers) },
		"All CFs, including structured ones. Where none is ready, more workers do not help.", legend...)
}

// matrix draws and lists the traffic by link.
func (a *author) matrix() {
	r := a.Series
	if len(r.Links) == 0 {
		return
	}
	nodes := 0
	cells := map[[2]int]*counters.Link{}
	most := int64(1)
	for i := range r.Links {
		l := &r.Links[i]
		nodes = max(nodes, l.From+1, l.To+1)
		cells[[2]int{l.From, l.To}] = l
		most = max(most, l.DFBytes+l.CFBytes)
	}
	if nodes <= maxMatrix {
		names := make([]string, nodes)
		for i := range names {
			names[i] = fmt.Sprint(i)
		}
		sent := func(r, c int) int64 {
			if l := cells[[2]int{r, c}]; l != nil {
				return l.DFBytes + l.CFBytes
			}
			return 0
		}
		heat := svg.Heat{Class: func(int, int) string { return "l" }, Rows: names, Columns: names, Count: nodes,
			RowHeight: max(10, min(28, 560/nodes)), Max: float64(most),
			Value: func(r, c int) float64 { return float64(sent(r, c)) },
			Tip: func(r, c int) string {
				l := cells[[2]int{r, c}]
				return a.say("from node %d to node %d: %s in %s, %s in %s", r, c, words.Size(l.DFBytes),
					counted(l.DFs, "DF"), words.Size(l.CFBytes), counted(l.CFs, "CF"))
			}}
		if nodes <= maxMatrixText {
			heat.Text = func(r, c int) string { return a.lang.Bytes(sent(r, c)) }
		}
		a.plot("Communication matrix: bytes sent from the node of the row to that of the column",
			func() string {
				return heat.Draw(svg.Frame{Label: a.say("Communication matrix of %s; the table below has the numbers",
					counted(int64(nodes), "node"))})
			}, "")
	}
	g := a.table("Traffic by link", "link", "#DFs", "#bytes", "#mean flight|mean time of a DF in flight",
		"#CFs|migrated and stolen", "#stolen", "#bytes of CFs", "#requests", "#longest flight")
	for _, l := range r.Links {
		g.row(fmt.Sprintf("%d->%d", l.From, l.To), l.DFs, words.Size(l.DFBytes),
			words.Time(mean(l.DFFlightNS, l.DFs)), l.CFs, l.Stolen, words.Size(l.CFBytes), l.Requests,
			words.Time(l.MaxFlightNS))
	}
}

func mean(sum, n int64) int64 { return sum / max(n, 1) }

// inMemory sums up the memory.
func (a *author) inMemory(m *counters.Memory) string {
	s, p, left := a.speaker, &m.Total, m.Total.EndBytes
	if l := a.Lifecycle; l != nil && l.HeldToEnd != nil {
		left = max(left, l.HeldToEnd.Bytes) // the end of the run destroys what the program did not
	}
	out := s.say("at most %s in %d copies at %s", words.Size(p.Bytes), p.Copies, words.Time(p.NS))
	if len(p.Holders) > 0 {
		out += s.say(", %s of it `%s`", shareOf(p.Holders[0].Bytes, p.Bytes), p.Holders[0].DF)
	}
	out += s.say("; %s still held at the end", words.Size(left))
	if m.Unsized > 0 {
		out += s.say(" (the size of %s is unknown)", counted(m.Unsized, "copy"))
	}
	return out
}

// traffic sums up the messages.
func (s speaker) traffic(r *counters.Result) string {
	t := r.Messages
	out := s.say("%s (%s) and %s (%s) sent over %s, %s in flight on average", counted(t.DFs, "DF"),
		words.Size(t.DFBytes), counted(t.CFs, "CF"), words.Size(t.CFBytes), counted(int64(len(r.Links)), "link"),
		words.Time(mean(t.DFFlightNS+t.CFFlightNS, t.DFs+t.CFs)))
	if len(r.Links) > 1 {
		top := slices.MaxFunc(r.Links, func(x, y counters.Link) int {
			return int(x.DFBytes + x.CFBytes - y.DFBytes - y.CFBytes)
		})
		out += s.say("; most on %d->%d (%s)", top.From, top.To, words.Size(top.DFBytes+top.CFBytes))
	}
	return out
}

func floats(list []int64) (out []float64) {
	for _, v := range list {
		out = append(out, float64(v))
	}
	return out
}

// listOf joins names: "a, b and c".
func (s speaker) listOf(names []string) string {
	n := len(names) - 1
	if n < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n], ", ") + s.say(" and ") + names[n]
}
