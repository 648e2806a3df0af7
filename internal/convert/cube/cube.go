// Package cube writes what the search for patterns found, or how the time of a task program is divided
// (Tasks), in the formats of Cube, the browser of Scalasca and Score-P: Write in that of Cube 4 (.cubex),
// Write3 in that of Cube 3 (XML, .cube).
//
// Both hold three trees and one number for each of their combinations:
//
//	metrics                call paths              system
//	time                   main                    machine
//	  synchronisation        upc_all_alloc           node HOST
//	    wait at alloc        rank                      process 0
//	  communication            upc_memget                thread 0
//
// The numbers are exclusive along the call tree and inclusive along the metric tree, as in pattern.Result, so
// they are written as they are; times become seconds. Two things differ from the result: a region may be
// called from several places, which Cube shows as one call path (lines are attributes of Cube 3 only), and
// threads are in the order of the system tree, since readers differ on whether that order or the ids count.
//
// Readers of Cube do not parse XML, but these files: two ways to write the same XML are not the same to them.
// strict_test.go lists what they refuse.
package cube

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
)

// mirror is the base of every metric's url. Some readers reject a list without any.
const mirror = "https://github.com/whyslow/whyslow/blob/main/docs/"

// file is a result arranged for both formats.
type file struct {
	*pattern.Result
	seats  []seat  // of the threads, in the order of the system tree: the columns
	places []place // of the regions
	// what a process is called
	process string
}

// seat is the place of a thread in the system tree. A node of the run is a process of its rank, or a thread
// if several nodes share a process.
type seat struct {
	host            string
	process, thread int // thread: by index into pattern.Result.Threads
}

// dialect is what a format calls things.
type dialect struct {
	times, others string // types of metrics
	metric        []attr // of metrics, besides their numbers
	region        func(*pattern.Region) []*element
	call          func(*pattern.Call) []attr // besides the number
	levels        [4]level                   // of the system tree: machine, node, process, thread
	firstNode     int                        // its number
}

// level is the element of a level of the system tree, with what it holds besides name and rank.
type level struct {
	name string
	more []*element
}

type attr struct{ key, value string }

// seconds reports whether a metric's values are times.
func seconds(m *pattern.Metric) bool { return m.Unit == pattern.NS }

// uom is the unit of measurement in Cube's words.
func uom(m *pattern.Metric) string {
	if seconds(m) {
		return "sec"
	}
	return string(m.Unit)
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
	"wait-for-progress":  "16-wait-for-progress",
	"late-post":          "17-late-post",
	"early-wait":         "18-early-wait",
	"late-complete":      "19-late-complete",
	"wait-at-neighbours": "20-wait-at-neighbours",
	"wait-at-start-end":  "wait-at-start-or-end",
	"overload":           "load-imbalance",
	"underload":          "load-imbalance",
	"single-participant": "load-imbalance",
	"non-participation":  "load-imbalance",
}

// url links to the explanation of a metric.
func url(m *pattern.Metric) string {
	if strings.HasPrefix(m.ID, ofFactors) {
		return "@mirror@reading-the-report.md"
	}
	return "@mirror@pgas-patterns.md#" + cmp.Or(explained[cmp.Or(m.Reading, m.ID)], "the-metric-tree")
}

// inSeconds is a time in the unit of Cube's metrics.
func inSeconds(ns int64) float64 { return float64(ns) / 1e9 }

// newFile arranges a result. It fails if the result is empty, or not in the required order.
func newFile(r *pattern.Result, m *model.Model) (*file, error) {
	if r == nil || len(r.Threads) == 0 || len(r.Metrics) == 0 || len(r.Calls) == 0 {
		return nil, fmt.Errorf("no regions were recorded: there are no call paths to write")
	}
	for i, c := range r.Calls {
		at := i - 1
		for at >= 0 && at != c.Parent {
			at = r.Calls[at].Parent
		}
		if at != c.Parent {
			return nil, fmt.Errorf("call path %d is not below the one before it: call paths are not in depth-first "+
				"order", i)
		}
	}
	f := &file{Result: r, places: places(r), process: "process"}
	if m.MPI() {
		f.process = "rank"
	}
	shared := map[int]int{} // nodes of a process
	for _, n := range m.Nodes {
		shared[n.Process]++
	}
	first := map[seat]int{} // by host, process -1, and by process: its first thread
	for i, t := range r.Threads {
		s := seat{host: cmp.Or(t.Host, "localhost"), process: t.Node}
		if t.Node < len(m.Nodes) && shared[m.Nodes[t.Node].Process] > 1 {
			s.process = m.Nodes[t.Node].Process
		}
		for _, place := range []seat{{s.host, -1, 0}, s} {
			if _, known := first[place]; !known {
				first[place] = i
			}
		}
		s.thread = i
		f.seats = append(f.seats, s)
	}
	slices.SortFunc(f.seats, func(a, b seat) int {
		return cmp.Or(cmp.Compare(first[seat{a.host, -1, 0}], first[seat{b.host, -1, 0}]),
			cmp.Compare(first[seat{a.host, a.process, 0}], first[seat{b.host, b.process, 0}]),
			cmp.Compare(a.thread, b.thread))
	})
	return f, nil
}

// place is where a region stands in the source, as far as is known.
type place struct {
	file        string
	first, last int // lines
}

// places tells where regions stand: from where they begin to their last known call. A region of unknown
// beginning stands where it calls others, and if it calls none, where it is called first. That is what a
// reader who asks for its source gets to see.
func places(r *pattern.Result) []place {
	all := make([]place, len(r.Regions))
	for i, x := range r.Regions {
		all[i] = place{x.File, x.Line, x.Line}
	}
	widen := func(region int, c *pattern.Call) {
		p := &all[region]
		switch {
		case c.File == "" || c.Line <= 0 || p.file != "" && p.file != c.File:
		case p.first <= 0:
			*p = place{c.File, c.Line, c.Line}
		default:
			p.first, p.last = min(p.first, c.Line), max(p.last, c.Line)
		}
	}
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Parent >= 0 {
			widen(r.Calls[c.Parent].Region, c)
		}
	}
	for i := range r.Calls {
		if c := &r.Calls[i]; all[c.Region].file == "" {
			widen(c.Region, c)
		}
	}
	// what is left calls only regions called from places that are not known: the program, whose main has one
	for _, c := range slices.Backward(r.Calls) {
		if c.Parent >= 0 && all[r.Calls[c.Parent].Region].file == "" {
			all[r.Calls[c.Parent].Region] = all[c.Region]
		}
	}
	return all
}

// lineOf is a line number as Cube has it.
func lineOf(line int) int {
	if line <= 0 {
		return -1
	}
	return line
}

// trees are the elements of a document: links to explanations of metrics, and the three trees.
func (f *file) trees(d *dialect) []*element {
	metrics, program := el("metrics", ""), el("program", "")
	grow(metrics, len(f.Metrics), func(i int) (*element, int) {
		m, kind := &f.Metrics[i], d.others
		if seconds(m) {
			kind = d.times
		}
		return el("metric", "", append([]attr{num("id", i)}, d.metric...)...).add(el("disp_name", m.Name),
			el("uniq_name", strings.ReplaceAll(m.ID, "-", "_")), // a word, by which formulas refer to it
			el("dtype", kind), el("uom", uom(m)), el("url", url(m)), el("descr", m.Doc)), m.Parent
	})
	for i := range f.Regions {
		x, p := &f.Regions[i], &f.places[i]
		program.add(el("region", "", num("id", i), attr{"mod", p.file}, num("begin", lineOf(p.first)),
			num("end", lineOf(p.last))).add(el("name", x.Name)).add(d.region(x)...))
	}
	grow(program, len(f.Calls), func(i int) (*element, int) {
		c := &f.Calls[i]
		return el("cnode", "", append([]attr{num("id", i), num("calleeId", c.Region)},
			d.call(c)...)...), c.Parent
	})
	doc := el("doc", "").add(el("mirrors", "").add(el("murl", mirror)))
	return []*element{doc, metrics, program, f.system(d)}
}

// grow adds n elements to a tree, each to that of its parent, which comes before it, or to the root.
func grow(root *element, n int, make func(i int) (x *element, parent int)) {
	var all []*element
	for i := range n {
		x, parent := make(i)
		if all = append(all, x); parent < 0 {
			root.add(x)
		} else {
			all[parent].add(x)
		}
	}
}

// system is the tree of hosts, processes and threads. All hosts are in one machine, as some readers take one
// root only.
func (f *file) system(d *dialect) *element {
	start := func(k, id int, inner ...*element) *element {
		return el(d.levels[k].name, "", num("Id", id)).add(inner...).add(d.levels[k].more...)
	}
	name := f.seats[0].host
	if f.seats[len(f.seats)-1].host != name {
		name = "machine"
	}
	machine := start(0, 0, el("name", name))
	var node, process *element
	hosts, processes, threads := 0, 0, 0 // threads: of the process
	for column, s := range f.seats {
		newHost := column == 0 || f.seats[column-1].host != s.host
		if newHost {
			node = start(1, d.firstNode+hosts, el("name", s.host))
			machine.add(node)
			hosts++
		}
		if newHost || f.seats[column-1].process != s.process {
			process = start(2, processes, el("name", f.process+" "+strconv.Itoa(s.process)),
				el("rank", strconv.Itoa(s.process)))
			node.add(process)
			processes, threads = processes+1, 0
		}
		t := &f.Threads[s.thread]
		name := fmt.Sprintf("thread %d", t.Node)
		if t.Stream > 0 {
			name += fmt.Sprintf(".%d", t.Stream)
		}
		process.add(start(3, column, el("name", name), el("rank", strconv.Itoa(threads))))
		threads++
	}
	return el("system", "").add(machine)
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

// append writes the element, indented. Readers want <attr/> in one tag, and a start and an end of all others.
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
	if e.name == "attr" {
		return append(b, "/>\n"...)
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

// escape appends text escaped for XML. Readers decode these five entities only, and want text on one line:
// control characters become spaces. What is not a character of XML becomes U+FFFD.
func escape(b []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '<':
			b = append(b, "&lt;"...)
		case r == '>':
			b = append(b, "&gt;"...)
		case r == '&':
			b = append(b, "&amp;"...)
		case r == '"':
			b = append(b, "&quot;"...)
		case r == '\'':
			b = append(b, "&apos;"...)
		case r < ' ':
			b = append(b, ' ')
		case r == 0xfffe, r == 0xffff:
			b = utf8.AppendRune(b, utf8.RuneError)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}
