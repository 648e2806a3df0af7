//go:build !no_profile_module

package modules

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// ProfileName is the name of the module that sums up code fragments.
const ProfileName = "profile_module"

func init() {
	prof.RegisterModule(prof.ModuleInfo{
		Name:   ProfileName,
		Doc:    "summarises each code fragment: executions, their times and quantiles, waiting times, DFs produced",
		Output: "a JSON file or a table at the end",
		Cost:   "about 45 ns per event, no lock; 24 bytes per live CF, a few kB per code fragment and worker",
		Events: []string{"CFEvents.onCreated", "CFEvents.onReceived", "CFEvents.onStarted", "CFEvents.onFinished",
			"CFEvents.onDestroyed", "DFEvents.onCreate"},
		Params: []prof.Param{
			{Name: "file", Default: "", Doc: "a file, - (standard output), tcp://HOST:PORT; by default " +
				"profile.json, or the terminal for a table"},
			{Name: "format", Default: "json", Choices: []string{"json", "table"}, Doc: "JSON for programs or a " +
				"table for people"},
		},
		New: func() prof.Module { return &Profile{} },
	})
}

// Profile is the module profile_module.
//
// # How it counts
//
// Only onCreated says which statement a CF comes from. So for each CF the number of its code fragment is
// kept, with the times since which it waits and of its start. Sums are kept by stream and code fragment.
type Profile struct {
	h       *prof.Host
	out     *prof.Output
	cfs     cfTable[profiledCF]
	streams *prof.PerStream[profileStream]
	codes   *numbering[FragmentProfile] // 0 stands for CFs of which no creation was seen
}

// profiledCF is what is known of a CF.
type profiledCF struct {
	since   atomic.Int64 // creation, or end of the execution before
	started atomic.Int64
	code    atomic.Uint32
	known   atomic.Bool // since is set
}

// profileStream is what a stream has seen.
type profileStream struct {
	codes map[trace.Site]uint32 // numbers of code fragments; the stream's own
	sums  atomic.Pointer[[]*profileSums]
}

// profileSums are the sums of a code fragment at a stream.
type profileSums struct {
	execution, waiting   distribution
	measured, cpu, cpuOf atomic.Int64
	dfs, bytes           atomic.Int64
}

// FragmentProfile is what is known of a code fragment.
type FragmentProfile struct {
	Code string `json:"code"` // its name; "?" for CFs whose creation was not seen
	Kind string `json:"kind"` // atomic, sub, call, for, while, if; "" if not known
	At   string `json:"at"`   // FILE:LINE:COLUMN of a for, while or if, which have no names of their own
}

// Fragment is a code fragment with its figures: all together, and of each node that executed it.
type Fragment struct {
	FragmentProfile
	Total Figures       `json:"total"`
	Nodes []NodeFigures `json:"nodes"`
}

// NodeFigures are the figures of one node.
type NodeFigures struct {
	Node int `json:"node"`
	Figures
}

// Figures sum up executions. Times are in nanoseconds.
type Figures struct {
	Execution Durations `json:"execution_ns"` // from onStarted to onFinished
	// Waiting is the time before an execution: since the CF was created, or its last execution ended.
	Waiting    Durations `json:"waiting_ns"`
	Measured   int64     `json:"cpu_measured"`     // executions of which the CPU time of the thread was measured
	CPU        int64     `json:"cpu_ns"`           // the sum of it
	MeasuredNS int64     `json:"cpu_execution_ns"` // sum of the durations of the same executions
	DFs        int64     `json:"dfs_created"`      // DFs made
	Bytes      int64     `json:"bytes_created"`    // their size
}

// Durations sum up times in nanoseconds. Quantiles are exact to 1.6 %, the others exact.
type Durations struct {
	Count int64 `json:"count"`
	Total int64 `json:"total"`
	Mean  int64 `json:"mean"`
	Min   int64 `json:"min"`
	Max   int64 `json:"max"`
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P99   int64 `json:"p99"`
}

// Start connects the handlers.
func (m *Profile) Start(h *prof.Host) error {
	if f := h.String("format"); f != "json" && f != "table" {
		return fmt.Errorf("format=%s: use json or table", f)
	}
	var err error
	file := h.String("file")
	if file == "" && h.String("format") == "json" {
		file = "profile.json"
	}
	if m.out, err = h.Open(file); err != nil {
		return err
	}
	m.h = h
	m.codes = newNumbering(FragmentProfile{Code: "?"})
	ses := h.Session()
	m.streams = prof.NewPerStream(ses,
		func(_ *prof.Stream, st *profileStream) { st.codes = map[trace.Site]uint32{} })
	return m.connect(ses, h.Name(), h.Priority())
}

func (m *Profile) connect(ses *prof.Session, name string, prio int) error {
	return errors.Join(
		ses.CFCreated.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF, site trace.Site,
			_ trace.CF, _ uint64, _ float64, _ []int32) {
			c := m.cfs.at(cf)
			c.code.Store(m.code(s, site))
			c.since.Store(t)
			c.known.Store(true)
		}),
		// A CF that comes from another process waits since it came.
		ses.CFReceived.Connect(name, prio, func(_ *prof.Stream, t int64, cf trace.CF, _ int, _ int64, _ float64) {
			if c := m.cfs.at(cf); !c.known.Swap(true) {
				c.since.Store(t)
			}
		}),
		ses.CFStarted.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF, _ uint64, _ []trace.DF) {
			c := m.cfs.at(cf)
			c.started.Store(t)
			sums := m.streams.Get(s).of(c.code.Load())
			if c.known.Load() {
				sums.waiting.add(t - c.since.Load())
			}
		}),
		ses.CFFinished.Connect(name, prio, func(s *prof.Stream, t int64, cf trace.CF, _ uint64, cpu int64) {
			c := m.cfs.find(cf)
			if c == nil {
				return // its start was not seen
			}
			sums := m.streams.Get(s).of(c.code.Load())
			d := t - c.started.Load()
			sums.execution.add(d)
			if cpu >= 0 {
				sums.measured.Add(1)
				sums.cpu.Add(cpu)
				sums.cpuOf.Add(d)
			}
			c.since.Store(t)
			c.known.Store(true)
		}),
		ses.DFCreate.Connect(name, prio, func(s *prof.Stream, _ int64, _ trace.DF, size int64, cf trace.CF) {
			code := uint32(0)
			if c := m.cfs.find(cf); c != nil {
				code = c.code.Load()
			}
			sums := m.streams.Get(s).of(code)
			sums.dfs.Add(1)
			sums.bytes.Add(size)
		}),
		ses.CFDestroyed.Connect(name, prio, func(_ *prof.Stream, _ int64, cf trace.CF) { m.cfs.gone(cf) }),
	)
}

// code returns the number of the code fragment that a statement runs.
func (m *Profile) code(s *prof.Stream, site trace.Site) uint32 {
	st := m.streams.Get(s)
	if n, ok := st.codes[site]; ok {
		return n
	}
	d := m.h.Describe().Site(s.Node(), site)
	f := FragmentProfile{Code: d.Code, Kind: d.Kind.String()}
	if (d.Kind == trace.For || d.Kind == trace.While || d.Kind == trace.If) && d.Line > 0 {
		f.At = fmt.Sprintf("%s:%d:%d", d.File, d.Line, d.Col)
	}
	st.codes[site] = m.codes.of(f)
	return st.codes[site]
}

// of returns the stream's sums of a code fragment.
func (st *profileStream) of(code uint32) *profileSums {
	list := st.list()
	if code < uint32(len(list)) && list[code] != nil {
		return list[code]
	}
	more := make([]*profileSums, max(len(list), int(code)+1))
	copy(more, list)
	more[code] = &profileSums{}
	st.sums.Store(&more)
	return more[code]
}

func (st *profileStream) list() []*profileSums {
	if p := st.sums.Load(); p != nil {
		return *p
	}
	return nil
}

// collected adds up the sums of several streams.
type collected struct {
	execution, waiting summary
	figures            Figures
}

func (c *collected) add(s *profileSums) {
	c.execution.merge(&s.execution)
	c.waiting.merge(&s.waiting)
	c.figures.Measured += s.measured.Load()
	c.figures.CPU += s.cpu.Load()
	c.figures.MeasuredNS += s.cpuOf.Load()
	c.figures.DFs += s.dfs.Load()
	c.figures.Bytes += s.bytes.Load()
}

func (c *collected) result() Figures {
	c.figures.Execution, c.figures.Waiting = c.execution.durations(), c.waiting.durations()
	return c.figures
}

func (s *summary) durations() Durations {
	d := Durations{Count: s.count, Total: s.total, Min: s.min, Max: s.max}
	if s.count > 0 {
		d.Mean = s.total / s.count
		d.P50, d.P90, d.P99 = s.quantile(.5), s.quantile(.9), s.quantile(.99)
	}
	return d
}

// Fragments returns the figures of all code fragments so far, longest first, to any goroutine. An execution
// ending now may be in some figures only.
func (m *Profile) Fragments() []Fragment {
	codes := m.codes.all()
	type part struct {
		node int
		sums *profileSums
	}
	parts := make([][]part, len(codes))
	m.streams.All(func(s *prof.Stream, st *profileStream) {
		for code, sums := range st.list() {
			if sums != nil && code < len(codes) {
				parts[code] = append(parts[code], part{s.Node(), sums})
			}
		}
	})
	var list []Fragment
	for code, f := range codes {
		if len(parts[code]) == 0 {
			continue
		}
		slices.SortStableFunc(parts[code], func(a, b part) int { return a.node - b.node })
		fragment := Fragment{FragmentProfile: f}
		var total, node collected
		for i, p := range parts[code] {
			total.add(p.sums)
			node.add(p.sums)
			if i+1 == len(parts[code]) || parts[code][i+1].node != p.node {
				fragment.Nodes = append(fragment.Nodes, NodeFigures{p.node, node.result()})
				node = collected{}
			}
		}
		fragment.Total = total.result()
		list = append(list, fragment)
	}
	slices.SortStableFunc(list, func(a, b Fragment) int {
		return cmp.Or(cmp.Compare(b.Total.Execution.Total, a.Total.Execution.Total), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.At, b.At))
	})
	return list
}

// Execution sums up all executions of a code fragment so far: how many, their nanoseconds and quantiles.
// Modules outside of this repository, which lack this package's types, may call it.
func (m *Profile) Execution(code string) (count, totalNS, p50, p90, p99 int64) {
	codes := m.codes.all()
	var s summary
	m.streams.All(func(_ *prof.Stream, st *profileStream) {
		for i, sums := range st.list() {
			if sums != nil && i < len(codes) && codes[i].Code == code {
				s.merge(&sums.execution)
			}
		}
	})
	d := s.durations()
	return d.Count, d.Total, d.P50, d.P90, d.P99
}

// profileFile is the JSON that the module writes.
type profileFile struct {
	Program       string     `json:"program"`
	QuantileError float64    `json:"quantile_error"`
	Fragments     []Fragment `json:"fragments"`
}

// Finish writes the figures.
func (m *Profile) Finish() error {
	list := m.Fragments()
	if m.h.String("format") == "table" {
		_, err := m.out.Write([]byte(profileTable(list)))
		return err
	}
	b, err := json.MarshalIndent(profileFile{m.h.Run().Program, quantileError, list}, "", "  ")
	if err != nil {
		return err
	}
	_, err = m.out.Write(append(b, '\n'))
	return err
}

// profileTable shows code fragments as people read them, times in microseconds.
func profileTable(list []Fragment) string {
	w := table.NewWriter()
	w.SetStyle(table.Style{Box: table.BoxStyle{PaddingRight: "  "},
		Options: table.OptionsNoBordersAndSeparators})
	header := table.Row{"code fragment", "node", "count", "total ms", "mean us", "min us", "p50 us", "p90 us",
		"p99 us", "max us", "cpu %", "waiting p50 us", "p99 us", "DFs", "bytes"}
	var columns []table.ColumnConfig
	for i := 2; i <= len(header); i++ {
		columns = append(columns, table.ColumnConfig{Number: i, Align: text.AlignRight})
	}
	w.SetColumnConfigs(columns)
	w.AppendRow(header)
	us := func(ns int64) string { return fmt.Sprintf("%.1f", float64(ns)/1e3) }
	row := func(name, node string, f *Figures) {
		cpu := "-"
		if f.MeasuredNS > 0 {
			cpu = fmt.Sprintf("%.0f", 100*float64(f.CPU)/float64(f.MeasuredNS))
		}
		e := &f.Execution
		w.AppendRow(table.Row{name, node, e.Count, fmt.Sprintf("%.3f", float64(e.Total)/1e6), us(e.Mean), us(e.Min),
			us(e.P50), us(e.P90), us(e.P99), us(e.Max), cpu, us(f.Waiting.P50), us(f.Waiting.P99), f.DFs, f.Bytes})
	}
	for i := range list {
		f := &list[i]
		name := f.Code
		if f.At != "" {
			name += " " + f.At
		}
		row(name, "all", &f.Total)
		for k := range f.Nodes {
			if len(f.Nodes) > 1 {
				row("", fmt.Sprint(f.Nodes[k].Node), &f.Nodes[k].Figures)
			}
		}
	}
	lines := strings.Split(w.Render(), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}
