package trace

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
)

// Stats says what takes how much room in a trace. All bytes are as they are in the
// files. Columns of a block are compressed together; each is given the share of the
// block that it had before.
type Stats struct {
	Bytes       int64         `json:"bytes"`  // of all files, run.json excepted
	Events      uint64        `json:"events"` // in blocks that can be read
	Blocks      int           `json:"blocks"` // of events
	BlockBytes  int64         `json:"block_bytes"`
	RawBytes    int64         `json:"raw_bytes"` // of blocks of events before compression
	DefBlocks   int           `json:"definition_blocks"`
	DefBytes    int64         `json:"definition_bytes"`
	Definitions DefCounts     `json:"definitions"`
	Span        Span          `json:"span"`
	Kinds       []KindStats   `json:"kinds"`   // the largest first
	Columns     []ColumnStats `json:"columns"` // of no kind: headers, kinds, times
	Streams     []StreamInfo  `json:"streams"`
	LostEvents  uint64        `json:"lost_events"` // known to be missing
	Dropped     uint64        `json:"dropped"`     // those of them that onLost tells
	ClockSyncs  int           `json:"clock_syncs"` // comparisons of clocks
}

// DefCounts counts definitions, those of all nodes added up.
type DefCounts struct {
	Strings int `json:"strings"`
	Codes   int `json:"codes"`
	Sites   int `json:"sites"`
	DFs     int `json:"dfs"`
	Kinds   int `json:"kinds"`
}

// KindStats is the part of a kind of event.
type KindStats struct {
	Event   string        `json:"event"` // "Namespace.onName"
	Events  uint64        `json:"events"`
	Bytes   int64         `json:"bytes"` // without times and kinds
	Columns []ColumnStats `json:"columns"`
}

// ColumnStats is the part of a column.
type ColumnStats struct {
	Column string `json:"column"`
	Bytes  int64  `json:"bytes"`
	Raw    int64  `json:"raw_bytes"` // before compression

	share float64 // Bytes before rounding
	field int
}

// Stats reads everything, with up to workers goroutines, and adds up. Kinds of user
// namespaces are told apart by name, not by number. Problems is complete afterwards.
func (r *Reader) Stats(workers int) *Stats {
	st := &Stats{Span: r.Span(), Streams: r.Streams()}
	for _, f := range r.files {
		st.Bytes += f.size
		st.DefBlocks += len(f.defsAt)
		for i := range f.defsAt {
			st.DefBytes += blockHeader + int64(f.defsAt[i].packed)
		}
		d := &st.Definitions
		f.defs.EachName(func(Name, string) { d.Strings++ })
		f.defs.EachCode(func(CodeDef) { d.Codes++ })
		f.defs.EachSite(func(SiteDef) { d.Sites++ })
		d.DFs += f.defs.DFCount()
		d.Kinds += len(f.defs.kinds)
	}
	sum := &summing{kinds: map[string]*KindStats{}, columns: map[[2]string]*ColumnStats{}}
	type job struct {
		f   *nodeFile
		blk *block
	}
	var jobs []job
	for _, f := range r.files {
		for i := range f.blocks {
			jobs = append(jobs, job{f, &f.blocks[i]})
		}
	}
	_ = each(workers, len(jobs), func(_, i int) error {
		var sizes []columnSize
		b := Batch{sizes: &sizes}
		if f, blk := jobs[i].f, jobs[i].blk; r.read(f, blk, &b) == nil {
			sum.add(st, &f.defs, blk, &b)
		}
		return nil // what cannot be read is in Problems
	})
	sum.finish(st)
	st.LostEvents = st.Dropped
	for _, p := range r.Problems() {
		st.LostEvents += p.Events
	}
	return st
}

// summing adds up blocks.
type summing struct {
	mu      sync.Mutex
	kinds   map[string]*KindStats
	columns map[[2]string]*ColumnStats // by kind, "" for none, and name
}

func (s *summing) add(st *Stats, d *Defs, blk *block, b *Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Blocks++
	st.Events += uint64(b.N)
	st.BlockBytes += blockHeader + int64(blk.packed)
	st.RawBytes += int64(blk.raw)
	s.column("", columnHeaders, nil, blockHeader, blockHeader)
	perByte := float64(blk.packed) / float64(max(blk.raw, 1))
	for _, c := range *b.sizes {
		name, spec := kindName(d, c.kind)
		s.column(name, c.field, spec, c.bytes, float64(c.bytes)*perByte)
	}
	for i := range b.used {
		u := &b.used[i]
		name, _ := kindName(d, u.kind)
		s.kind(name).Events += uint64(u.count)
	}
	for i, k := range b.Kind {
		switch k {
		case KindLost:
			st.Dropped += b.Args(i)[0]
		case KindClockSync:
			st.ClockSyncs++
		}
	}
}

const columnHeaders = -100

func kindName(d *Defs, k Kind) (string, *KindSpec) {
	if k == 0 {
		return "", nil
	}
	if spec := d.Kind(k); spec != nil {
		return spec.String(), spec
	}
	return k.String(), nil
}

func (s *summing) kind(name string) *KindStats {
	k := s.kinds[name]
	if k == nil {
		k = &KindStats{Event: name, Columns: []ColumnStats{}}
		s.kinds[name] = k
	}
	return k
}

func (s *summing) column(kind string, field int, spec *KindSpec, raw int, share float64) {
	name := ""
	switch {
	case field == columnHeaders:
		name = "block headers"
	case field == columnTimes:
		name = "times"
	case field == columnKinds:
		name = "kinds"
	case field == columnLengths:
		name = "list lengths"
	case spec != nil && field < len(spec.Fields):
		name = spec.Fields[field].Name
	default:
		name = "field " + strconv.Itoa(field)
	}
	key := [2]string{kind, name}
	c := s.columns[key]
	if c == nil {
		c = &ColumnStats{Column: name, field: field}
		s.columns[key] = c
	}
	c.Raw += int64(raw)
	c.share += share
}

// finish puts columns to their kinds.
func (s *summing) finish(st *Stats) {
	for key, c := range s.columns {
		c.Bytes = int64(c.share + 0.5)
		if key[0] == "" {
			st.Columns = append(st.Columns, *c)
			continue
		}
		k := s.kind(key[0])
		k.Bytes += c.Bytes
		k.Columns = append(k.Columns, *c)
	}
	order := func(a, b ColumnStats) int { return a.field - b.field }
	slices.SortFunc(st.Columns, order)
	st.Kinds = []KindStats{}
	for _, k := range s.kinds {
		slices.SortFunc(k.Columns, order)
		st.Kinds = append(st.Kinds, *k)
	}
	slices.SortFunc(st.Kinds, func(a, b KindStats) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Events, a.Events),
			cmp.Compare(a.Event, b.Event))
	})
}
