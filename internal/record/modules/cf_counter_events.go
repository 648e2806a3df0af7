//go:build !no_cf_counter_events_module

package modules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

func init() {
	info := prof.ModuleInfo{
		Name:   "cf_counter_events_module",
		Doc:    "counts CFs created, started, waiting, finished, moved and destroyed",
		Output: "a line per kind of event at the end; with by_code also a table",
		Cost:   "35 ns per event, 60 with by_code, which takes 4 bytes per live CF; no lock",
		Params: []prof.Param{
			{Name: "by_code", Default: false, Doc: "also print a table by code fragment"},
			{Name: "file", Default: "", Doc: outputDoc},
		},
		New: func() prof.Module { return &CFCounter{} },
	}
	for _, c := range counted {
		info.Events = append(info.Events, c.kind.String())
	}
	prof.RegisterModule(info)
}

// counted are the events that are counted, in the order of the output.
var counted = [...]struct {
	kind trace.Kind
	what string
}{
	{trace.KindCFCreated, "created"}, {trace.KindCFStarted, "started"}, {trace.KindCFWaiting, "waiting"},
	{trace.KindCFFinished, "finished"},
	{trace.KindCFMigrated, "migrated"}, {trace.KindCFStolen, "stolen"}, {trace.KindCFReceived, "received"},
	{trace.KindCFDestroyed, "destroyed"},
}

// CFCounter is cf_counter_events_module.
type CFCounter struct {
	streams *prof.PerStream[cfCounter]
	codes   *cfCodes // nil: not counted by code fragment
	out     *prof.Output
}

// cfCounter is one stream's part.
type cfCounter struct {
	counts [len(counted)]atomic.Int64
	byCode [][len(counted)]int64 // by number of the code fragment
	sites  map[trace.Site]uint32 // numbers of the code fragments of statements that created CFs
	_      [64]byte              // another stream's are in another line of the cache
}

// Start connects the module.
func (m *CFCounter) Start(h *prof.Host) error {
	var err error
	if m.out, err = h.Open(h.String("file")); err != nil {
		return err
	}
	if h.Bool("by_code") {
		m.codes = &cfCodes{names: newNumbering("unknown")}
	}
	m.streams = prof.NewPerStream[cfCounter](h.Session(), nil)
	for i, c := range counted {
		spec := c.kind.Spec()
		err := h.Connect(spec.Namespace, spec.Name, func(s *prof.Stream, a *prof.Any) {
			n := m.streams.Get(s)
			n.counts[i].Add(1)
			if m.codes != nil {
				n.count(m.codes.code(s, n, c.kind, a), i)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *cfCounter) count(code uint32, i int) {
	for uint32(len(n.byCode)) <= code {
		n.byCode = append(n.byCode, [len(counted)]int64{})
	}
	n.byCode[code][i]++
}

// Count returns how many events of a kind there were so far, at any time and from any goroutine; 0 for
// kinds that are not counted. A CF that is executed several times, or waits several times, counts as often.
func (m *CFCounter) Count(kind trace.Kind) (sum int64) {
	for i, c := range counted {
		if c.kind == kind {
			m.streams.All(func(_ *prof.Stream, n *cfCounter) { sum += n.counts[i].Load() })
		}
	}
	return sum
}

// Finish prints the numbers.
func (m *CFCounter) Finish() error {
	var text strings.Builder
	for _, c := range counted {
		fmt.Fprintf(&text, "CF %s: %d\n", c.what, m.Count(c.kind))
	}
	if m.codes != nil {
		m.table(&text)
	}
	put(m.out, []byte(text.String()))
	return nil
}

// table prints the code fragments, the one with the most CFs first.
func (m *CFCounter) table(text *strings.Builder) {
	names := m.codes.names.all()
	rows := make([][len(counted)]int64, len(names))
	m.streams.All(func(_ *prof.Stream, n *cfCounter) {
		for code, counts := range n.byCode {
			for i, c := range counts {
				rows[code][i] += c
			}
		}
	})
	var order []int
	for code, counts := range rows {
		if counts != [len(counted)]int64{} {
			order = append(order, code)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rows[b][0], rows[a][0]), cmp.Compare(names[a], names[b]))
	})
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := ""
	for _, c := range counted {
		head += c.what + "\t"
	}
	fmt.Fprintf(w, "%s  code\n", head)
	for _, code := range order {
		for _, n := range rows[code] {
			fmt.Fprintf(w, "%d\t", n)
		}
		fmt.Fprintf(w, "  %s\n", names[code])
	}
	_ = w.Flush() // into memory
}

// cfCodes knows the code fragment of every CF: one worker creates a CF, another often runs it.
type cfCodes struct {
	cfs   cfTable[atomic.Uint32] // numbers of code fragments
	names *numbering[string]     // 0 for CFs whose creation was not seen
}

// code returns the number of the code fragment of the CF that the event is about, its first field.
func (c *cfCodes) code(s *prof.Stream, n *cfCounter, kind trace.Kind, a *prof.Any) uint32 {
	cf := trace.CF(a.Words[0])
	if kind != trace.KindCFCreated {
		known := c.cfs.find(cf)
		if known == nil {
			return 0
		}
		number := known.Load()
		if kind == trace.KindCFDestroyed {
			c.cfs.gone(cf)
		}
		return number
	}
	site := trace.Site(a.Words[1])
	number, ok := n.sites[site]
	if !ok {
		number = c.names.of(s.Session().Describe().Site(s.Node(), site).Code)
		if n.sites == nil {
			n.sites = map[trace.Site]uint32{}
		}
		n.sites[site] = number
	}
	c.cfs.at(cf).Store(number)
	return number
}
