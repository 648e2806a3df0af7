package report

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

// factors: the whole, and by node, worker, code fragment and index.
func (h *htmlFace) factors() []block {
	r := h.SLOU
	if r == nil {
		return []block{h.failed(analysisSLOU)}
	}
	g := h.grid("Where all processor time went", "factor and part", "#time", "#share|of all processor time", "~")
	for i, s := range shares(&r.Factors) {
		f := factorNames[i]
		if s == nil {
			g.add([]cell{word(f.letter + "  " + h.say(f.name)), none(), none(), word(h.say("not recorded"))})
			continue
		}
		class := strings.ToLower(f.letter)
		row := func(name, nameClass, class string, ns int64) {
			g.add([]cell{{Text: name, Class: nameClass}, timeCell(ns), shareCell(ns, r.TotalNS),
				plotCell(svg.Strip(h.lang.Percent(ns, r.TotalNS), 12, []svg.Part{{Class: class, Value: float64(ns)},
					{Class: "none", Value: float64(r.TotalNS - ns)}}))})
		}
		row(f.letter+"  "+h.say(f.name), "", class, s.NS)
		list := slou.Largest(s.Parts)
		for j, p := range list {
			if j == maxParts && len(list) > maxParts+1 {
				rest := int64(0)
				for _, p := range list[j:] {
					rest += p.NS
				}
				row(h.say("%d others", len(list)-j), "d1", shade(class, j), rest)
				break
			}
			row(p.Name+h.inWords(f.letter, p.Name), "d1", shade(class, j), p.NS)
		}
	}
	if r.UndividedNS > 0 {
		g.add([]cell{word(h.say("not divided")), timeCell(r.UndividedNS), shareCell(r.UndividedNS, r.TotalNS),
			word("")})
	}
	g.Plain = true
	out := []block{
		h.para("Every nanosecond of every worker belongs to exactly one factor. U is what you want; the others " +
			"are lost."),
		{Table: g},
	}
	if u := r.Factors.U; u != nil && u.NS > 0 && !h.onlyRegions() {
		out = append(out, h.para("Thread clocks measured %s of the useful time.",
			words.Share{Part: u.MeasuredNS, Whole: u.NS}))
	}
	for i := range r.Splits {
		// else they are the nodes once more
		if s := &r.Splits[i]; s.By != "worker" || !h.onlyRegions() || len(s.Groups) != len(r.Nodes) {
			out = append(out, h.split(s)...)
		}
	}
	if len(r.Fragments) > 0 && r.Factors.U != nil && !h.onlyRegions() {
		out = append(out, block{Table: h.fragments()})
	}
	if len(r.Structured) > 0 {
		g := h.grid("Structured code fragments: run by the system, beside the factors", "code fragment", "kind",
			"#CFs", "#time")
		for _, s := range r.Structured {
			g.row(word(s.Code), word(s.Kind), number(s.Count), timeCell(s.NS))
		}
		out = append(out, h.details("Structured code fragments", block{Table: g}))
	}
	return out
}

func (h *htmlFace) fragments() *grid {
	g := h.grid("Useful work by code fragment", "code fragment", "where", "#CFs", "#useful",
		"#share|of all processor time", "#mean", "#longest",
		"#caused S|time workers starved for what it produces",
		"#caused L|time workers waited for messages with what it produces",
		"#caused O|time workers waited for its CFs to start")
	for i := range h.SLOU.Fragments {
		f := &h.SLOU.Fragments[i]
		if f.Count == 0 && f.Caused == (slou.Caused{}) {
			continue
		}
		g.row(word(f.Code), place(f.File, f.Line), number(f.Count), timeCell(f.UsefulNS),
			shareCell(f.UsefulNS, h.SLOU.TotalNS), timeCell(f.MeanNS), timeCell(f.MaxNS),
			timeCell(f.Caused.S), timeCell(f.Caused.L), timeCell(f.Caused.O))
	}
	return g
}

// place is the name of a file and a line; the path is the tooltip.
func place(file string, line int) cell {
	c := word(filepath.Base(file))
	if file == "" {
		return word("")
	}
	c.Tip = file
	if line > 0 {
		c.Text += fmt.Sprintf(":%d", line)
	}
	return c
}

// splitNames are the headings of splits.
var splitNames = map[string][2]string{
	"node":   {"By node", "node"},
	"worker": {"By worker", "worker"},
	"code":   {"By code fragment: time in its CFs and in the gaps before them", "code fragment"},
}

func (h *htmlFace) splitName(by string) (heading, column string) {
	if by == "code" && h.onlyRegions() {
		return h.say("By region: functions of the program and operations"), h.say("region")
	}
	if n, ok := splitNames[by]; ok {
		return h.say(n[0]), h.say(n[1])
	}
	k := strings.TrimPrefix(by, "index:")
	return h.say("By index %s of the CFs' labels", k), h.say("index %s", k)
}

// split shows one split as a table with bars; by index also as a plot.
func (h *htmlFace) split(s *slou.Split) (out []block) {
	index := strings.HasPrefix(s.By, "index:")
	if index && !slicesHasIndex(s) {
		return nil
	}
	heading, column := h.splitName(s.By)
	heads := []string{column}
	if s.By == "node" {
		heads = append(heads, "host")
	}
	heads = append(heads, "#time", "#U", "#S", "#L", "#O", "#W")
	if !h.onlyRegions() {
		heads = append(heads, "#CFs")
	}
	g := h.grid(heading, append(heads, "~")...)
	longest := int64(1)
	for i := range s.Groups {
		longest = max(longest, s.Groups[i].TotalNS)
	}
	for i := range s.Groups {
		x := &s.Groups[i]
		name := word(h.groupName(s.By, x))
		if index && !x.Rest && x.Joined == 0 {
			name.Value = fmt.Sprint(x.Index)
		}
		row := []cell{name}
		if s.By == "node" {
			row = append(row, word(h.host(x)))
		}
		row = append(row, timeCell(x.TotalNS))
		for _, f := range shares(&x.Factors) {
			if f == nil {
				row = append(row, none())
			} else {
				row = append(row, shareCell(f.NS, x.TotalNS))
			}
		}
		parts := append(h.factorParts(&x.Factors, x.TotalNS, false),
			svg.Part{Class: "none", Value: float64(longest - x.TotalNS)})
		if !h.onlyRegions() {
			row = append(row, number(x.CFs))
		}
		row = append(row, plotCell(svg.Strip(h.sharesInWords(&x.Factors, x.TotalNS), 14, parts)))
		if x.Rest || x.Joined > 0 {
			g.fixed(row...)
		} else {
			g.row(row...)
		}
	}
	if index {
		out = append(out, h.indexPlot(s))
	}
	return append(out, block{Table: g})
}

func slicesHasIndex(s *slou.Split) bool {
	n := 0
	for i := range s.Groups {
		if !s.Groups[i].Rest {
			n++
		}
	}
	return n > 1
}

// groupName names a group of a split.
func (h *htmlFace) groupName(by string, x *slou.Group) string {
	switch {
	case x.Joined > 0:
		return h.say("%s", counted(x.Joined, "other"))
	case x.Rest && (by == "node" || by == "worker"):
		return h.say("cores beyond the workers")
	case x.Rest && by == "code" && h.onlyRegions():
		return h.say("before its start, after its end")
	case x.Rest && by == "code":
		return h.say("after the last CF")
	case x.Rest:
		return h.say("without this index")
	}
	return x.Key
}

// nodeName names a node: "2 (host)" where the run was on several hosts, or had several processes, else "2".
func (a *Everything) nodeName(node int) string {
	name := strconv.Itoa(node)
	if a.model == nil || node < 0 || node >= len(a.model.Nodes) {
		return name
	}
	first := &a.model.Nodes[0]
	for i := range a.model.Nodes {
		if n := &a.model.Nodes[i]; n.Host != first.Host || n.Process != first.Process {
			if host := a.model.Nodes[node].Host; host != "" {
				name += " (" + host + ")"
			}
			break
		}
	}
	return name
}

// host names the host of a group of the split by node.
func (a *Everything) host(x *slou.Group) string {
	for i := range a.SLOU.Nodes {
		if n := &a.SLOU.Nodes[i]; int64(n.Node) == x.Index && !x.Rest {
			return n.Host
		}
	}
	return ""
}

// maxColumns is how many values of an index are drawn.
const maxColumns = 400

// indexPlot draws the time by value of an index, as if the values were time.
func (h *htmlFace) indexPlot(s *slou.Split) block {
	var groups []*slou.Group
	most := int64(0)
	for i := range s.Groups {
		if x := &s.Groups[i]; !x.Rest && x.Joined == 0 && len(groups) < maxColumns {
			groups = append(groups, x)
			most = max(most, x.TotalNS)
		}
	}
	layers := make([]svg.Layer, len(factorNames))
	for i := range layers {
		layers[i] = svg.Layer{Class: strings.ToLower(factorNames[i].letter), Values: make([]float64, len(groups))}
		for j, x := range groups {
			if f := shares(&x.Factors)[i]; f != nil {
				layers[i].Values[j] = float64(f.NS)
			}
		}
	}
	axis := svg.Axis{Max: float64(len(groups))}
	for i := 0; i < len(groups); i += max(1, len(groups)/10) {
		axis.Ticks = append(axis.Ticks, svg.Tick{At: float64(i) + 0.5, Text: groups[i].Key})
	}
	_, column := h.splitName(s.By)
	f := svg.Frame{Label: h.say("Time by %s, from %s to %s, divided among the factors; the table below has the "+
		"numbers", column, groups[0].Key, groups[len(groups)-1].Key),
		X: axis, Y: svg.Time(h.lang, float64(most), 4)}
	w := svg.Windows{Count: len(groups), Length: 1, Tip: func(i int) string {
		return fmt.Sprintf("%s %s: %s; %s", column, groups[i].Key, h.lang.Duration(groups[i].TotalNS),
			h.sharesInWords(&groups[i].Factors, groups[i].TotalNS))
	}}
	heading, _ := h.splitName(s.By)
	return h.plot(heading, svg.Stack(f, w, layers),
		h.say("Processor time by %s: of its CFs and of the gaps before them.", column), h.factorLegend(h.SLOU)...)
}
