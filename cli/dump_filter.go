package cli

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	modelquery "github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// eventFilter says which events to look at. Different flags must all hold; of one flag's values, one.
type eventFilter struct {
	since, until string
	nodes        []int
	workers      []int
	kinds        []string
	cfs          []string
	dfs          []string
}

func (f *eventFilter) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.since, "since", "", "events from this `time` on: since the start of the run, such as"+
		" 1.5ms, or as in the text, in nanoseconds")
	flags.StringVar(&f.until, "until", "", "events up to this `time`")
	flags.IntSliceVar(&f.nodes, "node", nil, "events of these nodes: `number`,...")
	flags.IntSliceVar(&f.workers, "worker", nil, "events of these workers of each node: `number`,...;"+
		" higher numbers are the run-time system's own streams")
	flags.StringSliceVar(&f.kinds, "kind", nil, "events of this `kind`: CFEvents.onStarted, CF.onStarted,"+
		" onStarted; * stands for anything (repeatable)")
	flags.StringArrayVar(&f.cfs, "cf", nil, "events that name this CF, `node.counter` (repeatable)")
	flags.StringArrayVar(&f.dfs, "df", nil, "events that name this DF: `A[0][1]`, A for all of that name,"+
		" or its number in the node's file (repeatable)")
}

func (f *eventFilter) empty() bool {
	return f.since == "" && f.until == "" && f.nodes == nil && f.workers == nil && f.kinds == nil &&
		f.cfs == nil && f.dfs == nil
}

// options turns the filter into options of a dump. An error is the user's.
func (f *eventFilter) options(r *trace.Reader) (o twin.Options, err error) {
	if f.empty() {
		return o, nil
	}
	in := trace.Always
	for _, end := range []struct {
		flag, text string
		to         *int64
	}{{"since", f.since, &in.From}, {"until", f.until, &in.To}} {
		if end.text != "" {
			if *end.to, err = timeIn(r, end.flag, end.text); err != nil {
				return o, err
			}
			o.In = &in
		}
	}
	if in.From > in.To {
		return o, console.Misuse("--since=%s is after --until=%s", f.since, f.until)
	}
	for _, n := range f.nodes {
		if !slices.Contains(r.Nodes(), n) {
			return o, console.Misuse("--node=%d: the trace has no such node (it has %s)", n, numbers(r.Nodes()))
		}
	}
	if f.nodes != nil || f.workers != nil {
		o.Streams = func(node, stream int) bool {
			return (f.nodes == nil || slices.Contains(f.nodes, node)) &&
				(f.workers == nil || slices.Contains(f.workers, stream))
		}
	}
	if f.kinds == nil && f.cfs == nil && f.dfs == nil {
		return o, nil
	}
	m := matcher{kinds: map[kindAt]bool{}, dfs: map[dfAt]bool{}}
	if err := cmp.Or(m.findKinds(r, f.kinds), m.findDFs(r, f.dfs)); err != nil {
		return o, err
	}
	for _, s := range f.cfs {
		cf, err := modelquery.ParseCF(s)
		if err != nil {
			return o, console.Misuse("--cf=%s: a CF is its node and counter, such as 0.17", s)
		}
		m.cfs = append(m.cfs, uint64(cf))
	}
	m.anyKind, m.anyDF = f.kinds == nil, f.dfs == nil
	o.Keep = m.keep
	return o, nil
}

// timeIn reads a time: a duration since the start of the run, or nanoseconds as they stand in the trace.
func timeIn(r *trace.Reader, flag, s string) (int64, error) {
	if ns, err := strconv.ParseInt(s, 10, 64); err == nil {
		return ns, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, console.Misuse("--%s=%s: give a time since the start of the run, such as 1.5ms, or"+
			" nanoseconds as in the text", flag, s)
	}
	return startOf(r) + int64(d), nil
}

// startOf is when the run started: the earliest onProgramStarted, which is the first event of a worker.
func startOf(r *trace.Reader) int64 {
	start, found := r.Span().From, false
	for _, s := range r.Streams() {
		if s.Started && (!found || s.First < start) {
			start, found = s.First, true
		}
	}
	return start
}

func numbers(list []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(list)), ", "), "[]")
}

// matcher picks events.
type matcher struct {
	anyKind, anyDF bool
	kinds          map[kindAt]bool
	dfs            map[dfAt]bool
	cfs            []uint64
}

// Each node numbers kinds of users' events, and DFs.
type (
	kindAt struct {
		node int
		kind trace.Kind
	}
	dfAt struct {
		node int
		df   trace.DF
	}
)

// findKinds finds the kinds that patterns name.
func (m *matcher) findKinds(r *trace.Reader, patterns []string) error {
	for _, p := range patterns {
		full := strings.ReplaceAll(p, "::", ".")
		if _, err := path.Match(full, ""); err != nil {
			return console.Misuse("--kind=%s: %v", p, err)
		}
		found := false
		for _, node := range r.Nodes() {
			try := func(s *trace.KindSpec) {
				for _, name := range kindNames(s) {
					if ok, _ := path.Match(full, name); ok {
						m.kinds[kindAt{node, s.Kind}], found = true, true
					}
				}
			}
			for i := range trace.Kinds() {
				try(&trace.Kinds()[i])
			}
			for _, s := range r.Defs(node).UserKinds() {
				try(s)
			}
		}
		if !found {
			return console.Misuse("--kind=%s: there is no such event; docs/events.md lists them all", p)
		}
	}
	return nil
}

// kindNames are the ways to write a kind.
func kindNames(s *trace.KindSpec) (list []string) {
	for _, name := range append([]string{s.Name}, s.Alias...) {
		list = append(list, s.Namespace+"."+name, strings.TrimSuffix(s.Namespace, "Events")+"."+name, name)
	}
	return list
}

// findDFs finds the DFs that are named, on every node.
func (m *matcher) findDFs(r *trace.Reader, names []string) error {
	for _, name := range names {
		found := false
		number, err := strconv.ParseUint(strings.TrimPrefix(name, "#"), 10, 32)
		isNumber := err == nil && number > 0
		for _, node := range r.Nodes() {
			if isNumber {
				m.dfs[dfAt{node, trace.DF(number)}], found = true, true
				continue
			}
			d := r.Defs(node)
			d.EachDF(func(df trace.DF, n trace.Name, _ []int64) {
				base := d.Name(n)
				if !strings.HasPrefix(name, base) {
					return
				}
				if full, _ := d.DFName(df); name == base || name == full {
					m.dfs[dfAt{node, df}], found = true, true
				}
			})
		}
		if !found {
			return console.Misuse("--df=%s: the trace has no DF of this name", name)
		}
	}
	return nil
}

// keep tells whether an event is wanted.
func (m *matcher) keep(d *trace.Defs, b *trace.Batch, i int) bool {
	if !m.anyKind && !m.kinds[kindAt{b.Node, b.Kind[i]}] {
		return false
	}
	if m.cfs == nil && m.anyDF {
		return true
	}
	spec := d.Kind(b.Kind[i])
	if spec == nil {
		return false
	}
	args := b.Args(i)
	cf, df := m.cfs == nil, m.anyDF
	for f := range spec.Fields {
		switch spec.Fields[f].Type {
		case trace.FieldCF:
			cf = cf || slices.Contains(m.cfs, args[f])
		case trace.FieldDF:
			df = df || m.dfs[dfAt{b.Node, trace.DF(args[f])}]
		case trace.FieldDFs:
			for _, v := range args[f+1:] {
				df = df || m.dfs[dfAt{b.Node, trace.DF(v)}]
			}
		}
	}
	return cf && df
}
