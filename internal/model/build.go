package model

import (
	"context"
	"runtime"
	"sync"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Options of Build; the zero value means the defaults.
type Options struct {
	Parallel int // streams read at once; 0 means as many as there are cores
	// In: only blocks with events of these times, on the common clock, are read; nil: all. What else such a
	// block holds is in the model too, and facts of other times that belong to it are missing: a CF of before
	// may lack its creation. Start, End, the workers with their start and end, and the clocks are those of the
	// whole run.
	In *trace.Span
	// Interpolated moves times to the common clock by all comparisons of clocks, as who follows a run must, and
	// leaves them so even where a message is then received before it was sent. In leaves them so too: what is
	// to be repaired is known of a whole run only.
	Interpolated bool
	// Spill, if not nil, gets the columns, and what Make makes: then the model must not be used after its Close.
	Spill *memory.Spill
	// Progress is called after every block that was read, from several goroutines at once, with the bytes read
	// so far and those to be read in all. nil: nobody wants to know.
	Progress func(done, total int64)
}

// builder is a model being built.
type builder struct {
	m                       *Model
	tables                  *tables
	cfs, messages, requests *ids
	streams                 []*stream
	damage                  []damage
	nDF                     int
	interpolated, every     bool          // times are not repaired; all comparisons of clocks count
	spill                   *memory.Spill // of the streams' columns
}

// damage is a stretch of a stream's time that could not be read.
type damage struct {
	Node, Stream int
	Interval
}

func newBuilder(info *trace.RunInfo, nodes []int) *builder {
	none := info == nil
	if none {
		info = &trace.RunInfo{}
	}
	count := 0
	for _, n := range nodes {
		count = max(count, n+1)
	}
	for _, n := range info.Nodes {
		if n.Node >= 0 && n.Node <= trace.MaxNode {
			count = max(count, n.Node+1)
		}
	}
	m := &Model{Info: info, NoInfo: none, Nodes: make([]Node, count), defs: make([]*trace.Defs, count),
		Stopped: stopped(info.Settings[StoppedSetting])}
	for _, n := range info.Nodes {
		if n.Node < 0 || n.Node > trace.MaxNode {
			continue
		}
		m.Nodes[n.Node] = Node{Host: n.Host, Process: max(n.Process, 0),
			Workers: make([]Worker, min(max(n.Workers, 0), maxWorkers))}
		if n.Process >= 0 && n.Process < len(info.Processes) && n.Host == "" {
			m.Nodes[n.Node].Host = info.Processes[n.Process].Host
		}
	}
	for _, n := range nodes {
		m.Nodes[n].Read = true
	}
	return &builder{m: m, tables: newTables(m, len(nodes)), cfs: newIDs(count), messages: newIDs(count),
		requests: newIDs(count)}
}

// maxWorkers bounds what run.json can make us reserve.
const maxWorkers = 1 << 12

// finish joins what the streams have collected.
func (b *builder) finish() *Model {
	m := b.m
	b.nDF = len(m.DFName)
	m.cfs, m.messages, m.requests = b.cfs, b.messages, b.requests
	for _, s := range b.streams {
		m.Events += s.Events
		for k, n := range s.Count {
			m.Count[k] += n
		}
	}
	b.join()
	return m
}

// Build reads a whole trace. What cannot be read is left out and listed in Problems; Build fails only when
// ctx ends.
func Build(ctx context.Context, r *trace.Reader, opt Options) (*Model, error) {
	b := newBuilder(r.Run(), r.Nodes())
	b.m.spill, b.spill = opt.Spill, opt.Spill.Beget()
	defer b.spill.Close()
	if err := b.read(ctx, r, opt, nil); err != nil {
		return nil, err
	}
	if err := b.findClocks(procs.Alone()); err != nil {
		return nil, err
	}
	m := b.finish()
	m.forgetHomes()
	return m, nil
}

// read fills the streams from the files of a reader, and lists their problems. tables, if not nil, is called
// with the definitions of its nodes before events are read.
func (b *builder) read(ctx context.Context, r *trace.Reader, opt Options,
	tables func([]nodeTables) error) error {
	perNode := make([]nodeTables, len(b.m.Nodes))
	b.m.numbers, b.m.siteNumbers = make([][]DF, len(b.m.Nodes)), make([][]uint32, len(b.m.Nodes))
	for _, n := range r.Nodes() {
		perNode[n] = b.tables.add(n, r.Defs(n))
		b.m.numbers[n], b.m.siteNumbers[n] = perNode[n].dfs, perNode[n].site
	}
	b.m.late = b.tables.late
	if tables != nil {
		if err := tables(perNode); err != nil {
			return err
		}
	} else {
		b.tables.byID, b.tables.clash = nil, nil // all that is defined has been met
	}
	parallel := opt.Parallel
	if parallel <= 0 {
		parallel = runtime.GOMAXPROCS(0)
	}
	progress := func() {}
	if opt.Progress != nil {
		before, total := r.BytesRead(), r.Size()
		progress = func() { opt.Progress(min(r.BytesRead()-before, total), total) }
	}
	b.interpolated, b.every = opt.Interpolated || opt.In != nil, opt.Interpolated
	part, err := findPart(ctx, r, opt.In)
	if err != nil {
		return err
	}
	var skip kindSet
	for k := range skip {
		skip[k] = part != nil && mark(trace.Kind(k)) // it has them already
	}
	if err := b.readStreams(ctx, r, parallel, perNode, part, &skip, progress); err != nil {
		return err
	}
	b.nameWaits(r.Path())
	if b.m.share == nil { // else one process does it for all
		b.m.NoPlaces = b.resolve(r.Path())
	}
	for _, p := range r.Problems() {
		b.m.Problems = append(b.m.Problems, p)
		if p.Kind == trace.Unfinished {
			continue // what follows the last event of a worker is known from the worker itself
		}
		b.m.LostCount += p.Events
		if p.Timed && p.Node >= 0 && p.Stream >= 0 {
			b.damage = append(b.damage, damage{p.Node, p.Stream, Interval{p.From, p.To}})
		}
	}
	return nil
}

// kindSet is a set of kinds of events.
type kindSet [trace.MaxKind + 1]bool

// readStreams fills the streams with the events of a reader, but for kinds to skip, and orders them by node
// and number: so workers' executions become neighbours. progress is called after every block.
func (b *builder) readStreams(ctx context.Context, r *trace.Reader, parallel int, tables []nodeTables,
	part *stretch, skip *kindSet, progress func()) error {
	var mu sync.Mutex
	err := r.EachStream(parallel, func(c *trace.Cursor) error {
		s := newStream(b, c.Node, c.Stream, tables[c.Node])
		part.enter(s, c)
		var batch trace.Batch
		for c.Next(&batch) {
			if err := ctx.Err(); err != nil {
				return err
			}
			for i, t := range batch.Time {
				if k := batch.Kind[i]; !skip[k] {
					s.event(t, k, batch.Args(i))
				}
			}
			progress()
		}
		s.divideSpans()
		mu.Lock()
		b.streams = append(b.streams, s)
		mu.Unlock()
		return nil
	})
	sortStreams(b.streams)
	return err
}
