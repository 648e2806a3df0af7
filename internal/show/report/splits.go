package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

// splits: the factors by node, worker, code fragment and index, and what code fragments did.
func (a *author) splits() {
	r := a.SLOU
	for i := range r.Splits {
		s := &r.Splits[i]
		again := s.By == "worker" && a.onlyRegions() && len(s.Groups) == len(r.Nodes) // they are the nodes
		if !again || s.By == a.by {
			a.split(s)
		}
	}
	if len(r.Fragments) > 0 && r.Factors.U != nil && !a.onlyRegions() {
		a.fragments()
	}
	if len(r.Structured) > 0 {
		a.details("Structured code fragments", func() {
			g := a.table("Structured code fragments: run by the system, outside the factors", "code fragment", "kind",
				"#CFs", "#time")
			for _, s := range r.Structured {
				g.row(s.Code, s.Kind, s.Count, words.Time(s.NS))
			}
		})
	}
}

func (a *author) fragments() {
	g := a.table("Where useful time goes", "code fragment", "+where", "#CFs", "#useful",
		"#share|of all processor time", "#mean", "#longest",
		"#+caused S|time workers starved for what it produces",
		"#+caused L|time workers waited for messages with what it produces",
		"#+caused O|time workers waited for its CFs to start")
	g.In = everywhere
	for _, f := range a.SLOU.Fragments {
		if f.Count == 0 && f.Caused == (slou.Caused{}) {
			continue
		}
		l := g.row(f.Code, place(f.File, f.Line), f.Count, words.Time(f.UsefulNS),
			shareOf(f.UsefulNS, a.SLOU.TotalNS), words.Time(f.MeanNS), words.Time(f.MaxNS),
			words.Time(f.Caused[slou.FactorS]), words.Time(f.Caused[slou.FactorL]), words.Time(f.Caused[slou.FactorO]))
		if f.Count == 0 || len(g.Rows) > topRows {
			l.In = full | paper
		}
	}
}

// place is the name of a file and a line; the path is the tooltip.
func place(file string, line int) cell {
	if file == "" {
		return cell{}
	}
	c := word(filepath.Base(file))
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

func (a *author) splitName(by string) (heading, column string) {
	if by == "code" && a.onlyRegions() {
		return a.say("By region: functions of the program and operations"), a.say("region")
	}
	if n, ok := splitNames[by]; ok {
		return a.say(n[0]), a.say(n[1])
	}
	k := strings.TrimPrefix(by, "index:")
	return a.say("By index %s of the CFs' labels", k), a.say("index %s", k)
}

// split shows one split as a table with bars; by index also as a plot.
func (a *author) split(s *slou.Split) {
	index := strings.HasPrefix(s.By, "index:")
	var single []*slou.Group // with a name of their own
	longest := int64(1)
	for i := range s.Groups {
		x := &s.Groups[i]
		longest = max(longest, x.TotalNS)
		if !x.Rest && x.Joined == 0 {
			single = append(single, x)
		}
	}
	heading, column := a.splitName(s.By)
	switch {
	case index && len(single) > 1:
		a.indexPlot(s.By, single)
	case index && s.By != a.by:
		return
	}
	g := a.table(heading, column, "#?seconds")
	if s.By == a.by {
		g.In = everywhere
	}
	for _, f := range factorsOf(&a.SLOU.Factors) {
		// A narrow terminal has no room for factors that say nothing.
		g.Heads = append(g.Heads, head{Name: f.Letter, Number: true, Roomy: f.Share == nil || f.NS == 0})
	}
	cfs := a.say("CFs")
	if a.onlyRegions() {
		cfs = ""
	}
	g.Heads = append(g.Heads, head{Name: cfs, Number: true}, head{Wide: true})
	for i := range s.Groups {
		x := &s.Groups[i]
		alone := !x.Rest && x.Joined == 0
		name := word(a.groupName(s.By, x))
		if index && alone {
			name.Value = fmt.Sprint(x.Index)
		}
		row := []any{name, a.seconds(x.TotalNS, a.SLOU.TotalNS)}
		for _, f := range factorsOf(&x.Factors) {
			c := g.cell(nil)
			if f.Share != nil {
				c = g.cell(shareOf(f.NS, x.TotalNS))
				c.Colour = f.Letter
			}
			row = append(row, c)
		}
		count := cell{}
		if !a.onlyRegions() && (x.CFs > 0 || !x.Rest) {
			count = g.cell(x.CFs)
		}
		parts := append(a.factorParts(&x.Factors, x.TotalNS, false),
			svg.Part{Class: "none", Value: float64(longest - x.TotalNS)})
		row = append(row, count, stripCell(a.sharesInWords(&x.Factors, x.TotalNS), 14, parts...))
		if alone {
			g.row(row...)
		} else {
			g.add(row...).Fixed = true
		}
	}
}

// groupName names a group of a split.
func (a *author) groupName(by string, x *slou.Group) string {
	switch {
	case x.Joined > 0:
		return a.say("%s", counted(x.Joined, "other"))
	case x.Rest && (by == "node" || by == "worker"):
		return a.in(slou.PartExtra.Info().Means.With())
	case x.Rest && by == "code" && a.onlyRegions():
		return a.say("before its start, after its end")
	case x.Rest && by == "code":
		return a.say("after the last CF")
	case x.Rest:
		return a.say("without this index")
	case by == "node":
		return a.nodeName(int(x.Index))
	}
	return x.Key
}

// nodeName names a node: "2 (host)" where the run was on several hosts, or had several processes, else "2".
func (a *Everything) nodeName(node int) string {
	name := strconv.Itoa(node)
	if a.model == nil || node < 0 || node >= len(a.model.Nodes) {
		return name
	}
	if host := a.model.Nodes[node].Host; a.apart && host != "" {
		name += " (" + host + ")"
	}
	return name
}

// apart tells whether the nodes of a model are of several processes or hosts.
func apart(m *model.Model) bool {
	return slices.ContainsFunc(m.Nodes, func(n model.Node) bool {
		return n.Host != m.Nodes[0].Host || n.Process != m.Nodes[0].Process
	})
}

// maxColumns is how many values of an index are drawn.
const maxColumns = 400

// indexPlot draws the time by value of an index, as if the values were time.
func (a *author) indexPlot(by string, groups []*slou.Group) {
	groups = groups[:min(len(groups), maxColumns)]
	most := int64(0)
	var layers []svg.Layer
	for k, info := range words.Factors {
		l := svg.Layer{Class: info.Class, Values: make([]float64, len(groups))}
		for j, x := range groups {
			most = max(most, x.TotalNS)
			if f := x.Factors.Of(slou.Factor(k)); f != nil {
				l.Values[j] = float64(f.NS)
			}
		}
		layers = append(layers, l)
	}
	axis := svg.Axis{Max: float64(len(groups))}
	for i := 0; i < len(groups); i += max(1, len(groups)/10) {
		axis.Ticks = append(axis.Ticks, svg.Tick{At: float64(i) + 0.5, Text: groups[i].Key})
	}
	heading, column := a.splitName(by)
	f := svg.Frame{Label: a.say("Time by %s, from %s to %s, divided among the factors; the table below has the "+
		"numbers", column, groups[0].Key, groups[len(groups)-1].Key),
		Height: 160, X: axis, Y: svg.Time(a.lang, float64(most), 4)}
	w := svg.Windows{Count: len(groups), Length: 1, Tip: func(i int) string {
		return fmt.Sprintf("%s %s: %s; %s", column, groups[i].Key, a.lang.Duration(groups[i].TotalNS),
			a.sharesInWords(&groups[i].Factors, groups[i].TotalNS))
	}}
	a.plot(heading, func() string { return svg.Stack(f, w, layers) },
		a.say("Processor time by %s: of its CFs and of the gaps before them.", column), a.factorLegend(a.SLOU)...)
}
