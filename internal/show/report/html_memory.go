package report

import (
	"fmt"

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
func (h *htmlFace) memory() []block {
	r := h.Series
	if r == nil {
		return []block{h.failed(analysisSeries)}
	}
	var out []block
	for _, m := range r.Missing {
		out = append(out,
			block{Warning: h.say("%s was not recorded: there are no %s.", m.Event, h.listOf(m.Series))})
	}
	if s := r.Find(counters.BytesHeld, -1, ""); s != nil {
		out = append(out, h.heading("Memory held by data fragments"))
		if r.Memory != nil {
			out = append(out, h.para("%s", sentence(h.inMemory(r.Memory))))
		}
		out = append(out, h.level(s, "Bytes held by copies of DFs on all nodes", svg.Bytes, h.lang.Bytes, "b"))
		out = append(out, h.byNode(counters.BytesHeld, svg.Bytes, h.lang.Bytes)...)
		if r.Memory != nil {
			out = append(out, h.holders(r.Memory)...)
		}
	}
	if b := h.cfStates(); b != nil {
		out = append(out, *b)
	}
	if s := r.Find(counters.BytesSent, -1, ""); s != nil && s.End > 0 {
		out = append(out, h.heading("Traffic between nodes"))
		if r.Messages != nil {
			out = append(out, h.para("%s", sentence(h.traffic(r))))
		}
		out = append(out, h.amount(s))
		if s := r.Find(counters.MessagesInFlight, -1, ""); s != nil && s.Peak > 0 {
			out = append(out, h.level(s, "Messages in flight", countAxis, plainCount, "l"))
		}
		out = append(out, h.matrix()...)
	}
	if len(out) == 0 {
		out = append(out, h.para("The trace has no data fragments and no messages."))
	}
	return out
}

// countAxis is the axis of what has no unit.
func countAxis(_ words.Lang, maximum float64, n int) svg.Axis { return svg.Count(maximum, n) }

func plainCount(n int64) string { return fmt.Sprint(n) }

// windows are those of the series.
func (h *htmlFace) windows(tip func(i int) string) svg.Windows {
	return svg.Windows{Count: h.Series.Windows, Length: float64(h.Series.WindowNS), Tip: tip}
}

func (h *htmlFace) window(i int) string {
	from := int64(i) * h.Series.WindowNS
	return h.say("%s to %s", words.Time(from), words.Time(min(from+h.Series.WindowNS, h.Series.WallNS)))
}

// level draws a level over time: its mean, and what is between its least and greatest.
func (h *htmlFace) level(s *counters.Series, title string, axis func(words.Lang, float64, int) svg.Axis,
	unit func(int64) string, class string) block {
	f := svg.Frame{Label: h.say("%s over time: at most %s, at %s; %s at the end", h.say(title), unit(s.Peak),
		words.Time(s.PeakNS), unit(s.End)), Height: 120,
		X: svg.Time(h.lang, float64(h.Series.WallNS), 8), Y: axis(h.lang, max(float64(s.Peak), 1), 4)}
	low, high := floats(s.Min), floats(s.Max)
	w := h.windows(func(i int) string {
		return h.say("%s: %s to %s", h.window(i), unit(at(s.Min, i)), unit(at(s.Max, i)))
	})
	return h.plot(title, svg.Lines(f, w, []svg.Line{{Class: class, Values: s.Mean, Low: low, High: high}}),
		"The line is the mean of each window; the area spans its least and greatest value.")
}

// amount draws what was sent in each window.
func (h *htmlFace) amount(s *counters.Series) block {
	most := 1.0
	for _, v := range s.Mean {
		most = max(most, v)
	}
	axis := svg.Bytes(h.lang, most, 4)
	for i := range axis.Ticks {
		axis.Ticks[i].Text += "/s"
	}
	f := svg.Frame{Label: h.say("Bytes sent per second over time: %s in all", words.Size(s.End)), Left: 60,
		Height: 120, X: svg.Time(h.lang, float64(h.Series.WallNS), 8), Y: axis}
	w := h.windows(func(i int) string { return h.say("%s: %s sent", h.window(i), words.Size(at(s.Sum, i))) })
	return h.plot("Bytes sent per second, all links", svg.Stack(f, w, []svg.Layer{{Class: "l", Values: s.Mean}}),
		"")
}

// byNode draws a level of each node, where there are several.
func (h *htmlFace) byNode(name string, axis func(words.Lang, float64, int) svg.Axis,
	unit func(int64) string) []block {
	var plots []block
	more := 0
	for i := range h.Series.Series {
		s := &h.Series.Series[i]
		if s.Name != name || s.Node < 0 || s.Link != "" {
			continue
		}
		if len(plots) == maxNodePlots {
			more++
			continue
		}
		b := h.level(s, h.say("Node %s", h.nodeName(s.Node)), axis, unit, "b")
		b.Figure.Caption = ""
		plots = append(plots, b)
	}
	if len(plots) < 2 {
		return nil
	}
	if more > 0 {
		plots = append(plots, h.para("The JSON report has %d more nodes.", more))
	}
	return []block{h.details("Each node", plots...)}
}

// holders lists what held the memory when most was held.
func (h *htmlFace) holders(m *counters.Memory) (out []block) {
	peaks := append([]counters.Peak{m.Total}, m.Nodes...)
	if len(m.Nodes) < 2 {
		peaks = peaks[:1]
	}
	g := h.grid("Memory at its peak", "where", "#at", "DF", "#bytes", "#share|of the memory held there then",
		"#copies")
	for i := range peaks {
		p := &peaks[i]
		where := h.say("all nodes")
		if p.Node >= 0 {
			where = h.say("node %s", h.nodeName(p.Node))
		}
		for _, x := range p.Holders {
			g.row(word(where), timeCell(p.NS), word(x.DF), sizeCell(x.Bytes),
				shareCell(x.Bytes, p.Bytes).tip(words.Size(x.Bytes)), number(x.Copies))
		}
		if p.Others.Copies > 0 {
			g.row(word(where), timeCell(p.NS), word(h.say("others")), sizeCell(p.Others.Bytes),
				shareCell(p.Others.Bytes, p.Bytes).tip(words.Size(p.Others.Bytes)), number(p.Others.Copies))
		}
	}
	return append(out, block{Table: g})
}

func (c cell) tip(s words.Worded) cell {
	c.TipIs = s
	return c
}

// cfStates draws how many CFs waited, were ready, ran and moved.
func (h *htmlFace) cfStates() *block {
	var layers []svg.Layer
	var legend []key
	var shown []*counters.Series
	most := int64(0)
	for _, x := range []struct{ name, class, words string }{{counters.CFsRunning, "u", "running"},
		{counters.CFsReady, "o", "ready"}, {counters.CFsMoving, "l", "moving to another node"},
		{counters.CFsWaiting, "x", "waiting for DFs"}} {
		s := h.Series.Find(x.name, -1, "")
		if s == nil {
			continue
		}
		shown = append(shown, s)
		layers = append(layers, svg.Layer{Class: x.class, Values: s.Mean})
		legend = append(legend, key{x.class, h.say(x.words)})
	}
	if len(shown) == 0 {
		return nil
	}
	for i := range h.Series.Windows {
		sum := 0.0
		for _, l := range layers {
			sum += l.Values[i]
		}
		most = max(most, int64(sum+0.999))
	}
	label := h.say("CFs by state over time, stacked")
	for i, s := range shown {
		label += h.say("; at most %d %s", s.Peak, legend[i].Name)
	}
	w := h.windows(func(i int) string {
		s := h.window(i)
		for j, l := range layers {
			s += fmt.Sprintf("\n%s %s", words.Decimal(l.Values[i]).In(h.lang), legend[j].Name)
		}
		return s
	})
	f := svg.Frame{Label: label, Height: 140, X: svg.Time(h.lang, float64(h.Series.WallNS), 8),
		Y: svg.Count(float64(max(most, 1)), 4)}
	b := h.plot("CFs by state", svg.Stack(f, w, layers),
		"All CFs, including structured ones. Where none is ready, more workers do not help.", legend...)
	return &b
}

// matrix draws and lists the traffic by link.
func (h *htmlFace) matrix() (out []block) {
	r := h.Series
	if len(r.Links) == 0 {
		return nil
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
		heat := svg.Heat{Class: func(int, int) string { return "l" }, Rows: names, Columns: names, Count: nodes,
			RowHeight: max(10, min(28, 560/nodes)), Max: float64(most),
			Value: func(r, c int) float64 {
				if l := cells[[2]int{r, c}]; l != nil {
					return float64(l.DFBytes + l.CFBytes)
				}
				return 0
			},
			Tip: func(r, c int) string {
				l := cells[[2]int{r, c}]
				return h.say("from node %d to node %d: %s in %s, %s in %s", r, c, words.Size(l.DFBytes),
					counted(l.DFs, "DF"), words.Size(l.CFBytes), counted(l.CFs, "CF"))
			}}
		if nodes <= maxMatrixText {
			heat.Text = func(r, c int) string {
				if l := cells[[2]int{r, c}]; l != nil {
					return h.lang.Bytes(l.DFBytes + l.CFBytes)
				}
				return ""
			}
		}
		out = append(out, h.plot("Communication matrix: bytes sent from the node of the row to that of the column",
			heat.Draw(svg.Frame{Label: h.say("Communication matrix of %s; the table below has the numbers",
				counted(int64(nodes), "node"))}), ""))
	}
	g := h.grid("Traffic by link", "link", "#DFs", "#bytes", "#mean flight|mean time of a DF in flight",
		"#CFs|migrated and stolen", "#stolen", "#bytes of CFs", "#requests", "#longest flight")
	for i := range r.Links {
		l := &r.Links[i]
		g.row(word(fmt.Sprintf("%d->%d", l.From, l.To)), number(l.DFs), sizeCell(l.DFBytes),
			timeCell(mean(l.DFFlightNS, l.DFs)), number(l.CFs), number(l.Stolen), sizeCell(l.CFBytes),
			number(l.Requests), timeCell(l.MaxFlightNS))
	}
	return append(out, block{Table: g})
}

func mean(sum, n int64) int64 { return sum / max(n, 1) }

// inMemory sums up the memory.
func (s speaker) inMemory(m *counters.Memory) string {
	p := &m.Total
	if p.Bytes == 0 {
		return s.say("Data fragments held no bytes.")
	}
	out := s.say("at most %s in %d copies at %s", words.Size(p.Bytes), p.Copies, words.Time(p.NS))
	if len(p.Holders) > 0 {
		out += s.say(", %s of it `%s`", words.Share{Part: p.Holders[0].Bytes, Whole: p.Bytes}, p.Holders[0].DF)
	}
	out += s.say("; %s still held at the end", words.Size(p.EndBytes))
	if m.Unsized > 0 {
		out += s.say(" (the size of %s is unknown)", counted(m.Unsized, "copy"))
	}
	return out
}

// traffic sums up the messages.
func (s speaker) traffic(r *counters.Result) string {
	t := r.Messages
	out := s.say("%s (%s) and %s (%s) sent over %s", counted(t.DFs, "DF"), words.Size(t.DFBytes),
		counted(t.CFs, "CF"), words.Size(t.CFBytes), counted(int64(len(r.Links)), "link"))
	if n := t.DFs + t.CFs; n > 0 {
		out += s.say(", %s in flight on average", words.Time((t.DFFlightNS+t.CFFlightNS)/n))
	}
	var top *counters.Link
	for i := range r.Links {
		if l := &r.Links[i]; top == nil || l.DFBytes+l.CFBytes > top.DFBytes+top.CFBytes {
			top = l
		}
	}
	if top != nil && len(r.Links) > 1 {
		out += s.say("; most on %d->%d (%s)", top.From, top.To, words.Size(top.DFBytes+top.CFBytes))
	}
	return out
}

func floats(list []int64) []float64 {
	if list == nil {
		return nil
	}
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = float64(v)
	}
	return out
}

func at(list []int64, i int) int64 {
	if i < len(list) {
		return list[i]
	}
	return 0
}

// listOf joins names: "a, b and c".
func (s speaker) listOf(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		out := ""
		for _, name := range names[:n-2] {
			out += name + ", "
		}
		return out + names[n-2] + s.say(" and ") + names[n-1]
	}
}
