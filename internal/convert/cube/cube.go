// Package cube writes what the search for patterns found in the formats of Cube, the browser of Scalasca and
// Score-P: Write in that of Cube 4 (.cubex), Write3 in that of Cube 3 (XML, .cube).
//
// Both hold three trees and one number for each of their combinations:
//
//	metrics                call paths              system
//	time                   main                    machine HOST
//	  synchronisation        upc_all_alloc           node HOST
//	    wait at alloc        rank                      process 0
//	  communication            upc_memget                thread 0
//
// The numbers are exclusive along the call tree and inclusive along the metric tree, as in pattern.Result, so
// they are written as they are; times become seconds. Two things differ from the result: a region may be
// called from several places, which Cube shows as one call path (lines are attributes of Cube 3 only), and
// threads are in the order of the system tree, since readers differ on whether that order or the ids count.
package cube

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
)

// mirror is the base of every metric's url. Some readers reject a list without any.
const mirror = "https://github.com/whyslow/whyslow/blob/main/docs/"

// file holds what both formats need.
type file struct {
	attrs   []attr
	metrics []*metric // roots
	all     []*metric // by number, the same as in pattern.Result
	regions []region  // by number
	cnodes  []*cnode  // roots
	calls   int
	hosts   []*host
	columns []int // the thread, by index into pattern.Result.Threads, of each column
}

type attr struct{ key, value string }

type metric struct {
	id       int
	m        *pattern.Metric
	children []*metric
}

// seconds reports whether the metric's values are times.
func (m *metric) seconds() bool { return m.m.Unit == pattern.NS }

// unique is the name by which formulas refer to the metric: a word.
func (m *metric) unique() string { return strings.ReplaceAll(m.m.ID, "-", "_") }

// uom is the unit of measurement in Cube's words.
func (m *metric) uom() string {
	if m.seconds() {
		return "sec"
	}
	return string(m.m.Unit)
}

// explained has the headings of docs/pgas-patterns.md that explain metrics, as GitHub turns them into
// anchors.
var explained = map[string]string{
	"lock-contention":    "1-lock-contention",
	"wait-at-barrier":    "2-wait-at-barrier",
	"barrier-completion": "3-barrier-completion",
	"late-broadcast":     "4-late-broadcast",
	"early-reduce":       "5-early-reduce",
	"wait-at-nxn":        "6-wait-at-n-x-n",
	"nxn-completion":     "7-n-x-n-completion",
	"sync-on-entry":      "8-synchronisation-on-entry",
	"sync-on-exit":       "9-synchronisation-on-exit",
	"early-prefix":       "10-early-prefix-reduce",
	"wait-inside":        "11-wait-inside-collective",
	"wait-at-alloc":      "12-wait-at-alloc",
	"alloc-root-late":    "12-wait-at-alloc",
	"alloc-other-late":   "12-wait-at-alloc",
	"wait-at-start-end":  "wait-at-start-or-end",
	"overload":           "load-imbalance",
	"underload":          "load-imbalance",
	"single-participant": "load-imbalance",
	"non-participation":  "load-imbalance",
}

// url links to the explanation of the metric.
func (m *metric) url() string {
	id := m.m.ID
	if m.m.Reading != "" {
		id = m.m.Reading
	}
	return "@mirror@pgas-patterns.md#" + cmp.Or(explained[id], "the-metric-tree")
}

// value is that of a row in the metric's unit.
func (m *metric) value(v int64) float64 {
	if m.seconds() {
		return float64(v) / 1e9
	}
	return float64(v)
}

type region struct {
	name, role, file string
	line             int // -1: not known
}

type cnode struct {
	id, region int
	file       string
	line       int // -1: not known
	children   []*cnode
}

type host struct {
	name      string
	processes []*process
}

type process struct {
	name    string
	rank    int
	threads []thread
}

type thread struct {
	name         string
	rank, column int // column: by index into pattern.Result.Threads
}

// newFile arranges a result. It fails if the result is empty, or not in the required order.
func newFile(r *pattern.Result, m *model.Model) (*file, error) {
	if r == nil || len(r.Threads) == 0 || len(r.Metrics) == 0 || len(r.Calls) == 0 {
		return nil, fmt.Errorf("no regions were recorded: there are no call paths to write")
	}
	f := &file{calls: len(r.Calls)}
	f.attrs = []attr{{"Creator", "whyslow"}, {"CUBE_CT_AGGR", "SUM"}}
	for _, a := range []attr{{"Program", m.Info.Program},
		{"Command line", strings.Join(m.Info.CommandLine, " ")}, {"Ended", m.Info.Ended}} {
		if a.value != "" {
			f.attrs = append(f.attrs, a)
		}
	}
	for i := range r.Metrics {
		x := &metric{id: i, m: &r.Metrics[i]}
		f.all = append(f.all, x)
		if p := x.m.Parent; p < 0 {
			f.metrics = append(f.metrics, x)
		} else {
			f.all[p].children = append(f.all[p].children, x)
		}
	}
	for _, x := range r.Regions {
		f.regions = append(f.regions, region{name: x.Name, role: x.Kind, file: x.File, line: lineOf(x.Line)})
	}
	nodes := make([]*cnode, len(r.Calls))
	depth := make([]int, 0, 8) // the path to the last call
	for i, c := range r.Calls {
		nodes[i] = &cnode{id: i, region: c.Region, file: c.File, line: lineOf(c.Line)}
		if c.Parent < 0 {
			f.cnodes, depth = append(f.cnodes, nodes[i]), append(depth[:0], i)
			continue
		}
		for len(depth) > 0 && depth[len(depth)-1] != c.Parent {
			depth = depth[:len(depth)-1]
		}
		if len(depth) == 0 {
			return nil, fmt.Errorf("call path %d is not below the one before it: call paths are not in depth-first "+
				"order", i)
		}
		depth = append(depth, i)
		nodes[c.Parent].children = append(nodes[c.Parent].children, nodes[i])
	}
	f.system(r, m)
	return f, nil
}

// lineOf is a line number as Cube has it.
func lineOf(line int) int {
	if line <= 0 {
		return -1
	}
	return line
}

// system builds the tree of hosts, processes and threads. A node of the run is a process of its rank, or a
// thread if several nodes share a process.
func (f *file) system(r *pattern.Result, m *model.Model) {
	type key struct {
		host    string
		process int
	}
	hosts, processes := map[string]*host{}, map[key]*process{}
	shared := map[int]int{} // nodes of a process
	for _, n := range m.Nodes {
		shared[n.Process]++
	}
	for i, t := range r.Threads {
		name, number := t.Host, t.Node
		if t.Node < len(m.Nodes) && shared[m.Nodes[t.Node].Process] > 1 {
			number = m.Nodes[t.Node].Process
		}
		if name == "" {
			name = "localhost"
		}
		h := hosts[name]
		if h == nil {
			h = &host{name: name}
			hosts[name], f.hosts = h, append(f.hosts, h)
		}
		p := processes[key{name, number}]
		if p == nil {
			p = &process{name: "process " + strconv.Itoa(number), rank: number}
			processes[key{name, number}], h.processes = p, append(h.processes, p)
		}
		threadName := fmt.Sprintf("thread %d", t.Node)
		if t.Stream > 0 {
			threadName += fmt.Sprintf(".%d", t.Stream)
		}
		p.threads = append(p.threads, thread{name: threadName, rank: len(p.threads), column: i})
	}
	for _, h := range f.hosts {
		for _, p := range h.processes {
			for _, t := range p.threads {
				f.columns = append(f.columns, t.column)
			}
		}
	}
}

// xml is the tree of a metric. Times and other values have types in the words of the format.
func (m *metric) xml(times, others string, attrs ...attr) *element {
	kind := others
	if m.seconds() {
		kind = times
	}
	x := el("metric", "", append([]attr{num("id", m.id)}, attrs...)...).add(el("disp_name", m.m.Name),
		el("uniq_name", m.unique()), el("dtype", kind), el("uom", m.uom()), el("url", m.url()),
		el("descr", m.m.Doc))
	for _, c := range m.children {
		x.add(c.xml(times, others, attrs...))
	}
	return x
}

// xml is the tree of a call path, whose attributes besides its number the format says.
func (c *cnode) xml(attrs func(*cnode) []attr) *element {
	x := el("cnode", "", append([]attr{num("id", c.id)}, attrs(c)...)...)
	for _, k := range c.children {
		x.add(k.xml(attrs))
	}
	return x
}

// element is a piece of XML with children in a given order.
type element struct {
	name  string
	attrs []attr
	text  string
	inner []*element
}

func el(name, text string, attrs ...attr) *element {
	return &element{name: name, text: text, attrs: attrs}
}

func (e *element) add(inner ...*element) *element {
	e.inner = append(e.inner, inner...)
	return e
}

func num(key string, v int) attr { return attr{key, strconv.Itoa(v)} }

// append writes the element, indented. An empty one has a start and an end, because readers reject <a/>.
func (e *element) append(b []byte, depth int) []byte {
	indent := func() {
		for range depth {
			b = append(b, ' ')
		}
	}
	indent()
	b = append(append(b, '<'), e.name...)
	for _, a := range e.attrs {
		b = append(append(append(b, ' '), a.key...), `="`...)
		b = append(escape(b, a.value), '"')
	}
	b = append(b, '>')
	b = escape(b, e.text)
	if len(e.inner) > 0 {
		b = append(b, '\n')
		for _, x := range e.inner {
			b = x.append(b, depth+1)
		}
		indent()
	}
	b = append(append(b, "</"...), e.name...)
	return append(b, ">\n"...)
}

// escape appends text escaped for XML; characters that XML cannot hold become U+FFFD.
func escape(b []byte, s string) []byte {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(s)) // a Builder does not fail
	return append(b, out.String()...)
}

// doc is the list of links to explanations of metrics.
func doc() *element { return el("doc", "").add(el("mirrors", "").add(el("murl", mirror))) }
