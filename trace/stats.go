package trace

import (
	"cmp"
	"slices"
	"strconv"
	"sync"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// Stats says what takes how much room in a trace. All bytes are as they are in the files. Columns of a block
// are compressed together; each is given the share of the block that it had before.
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

// Stats reads everything, with up to workers goroutines, and adds up. Kinds of user namespaces are
// distinguished by name, not by number. Problems is complete afterwards.
func (r *Reader) Stats(workers int) *Stats {
	st := &Stats{Span: r.Span(), Streams: r.Streams(), Kinds: []KindStats{}}
	for _, f := range r.files {
		st.Bytes += f.Size
		st.DefBlocks += len(f.DefsAt)
		for i := range f.DefsAt {
			st.DefBytes += f.DefsAt[i].Size()
		}
		d := &st.Definitions
		f.defs.EachName(func(Name, string) { d.Strings++ })
		f.defs.EachCode(func(CodeDef) { d.Codes++ })
		f.defs.EachSite(func(SiteDef) { d.Sites++ })
		d.DFs += f.defs.DFCount()
		d.Kinds += len(f.defs.kinds)
	}
	sum := &summing{st: st, kinds: map[string]*KindStats{}, columns: map[[2]string]*ColumnStats{}}
	_ = r.eachBlock(workers, Always, func(_ int, f *nodeFile, blk *tracefile.Block) error {
		var sizes []columnSize
		if b := (Batch{sizes: &sizes}); r.read(f, blk, &b) == nil {
			sum.add(&f.defs, blk, &b)
		}
		return nil // what cannot be read is in Problems
	})
	sum.finish()
	st.LostEvents = st.Dropped
	for _, p := range r.Problems() {
		st.LostEvents += p.Events
	}
	return st
}

// summing adds up blocks.
type summing struct {
	st      *Stats
	mu      sync.Mutex
	kinds   map[string]*KindStats
	columns map[[2]string]*ColumnStats // by kind, "" for none, and name
}

func (s *summing) add(d *Defs, blk *tracefile.Block, b *Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.st
	st.Blocks++
	st.Events += uint64(b.N)
	st.BlockBytes += blk.Size()
	st.RawBytes += int64(blk.Raw)
	s.column(nil, columnSize{0, columnHeaders, tracefile.BlockHeaderSize}, 1)
	perByte := float64(blk.Packed) / float64(max(blk.Raw, 1))
	for _, c := range *b.sizes {
		s.column(d, c, perByte)
	}
	for i := range b.used {
		u := &b.used[i]
		s.kind(kindName(d, u.kind)).Events += uint64(u.count)
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

var columnNames = map[int]string{columnHeaders: "block headers", columnTimes: "times", columnKinds: "kinds",
	columnLengths: "list lengths"}

func kindName(d *Defs, k Kind) string {
	if spec := d.Kind(k); spec != nil {
		return spec.String()
	}
	return k.String()
}

func (s *summing) kind(name string) *KindStats {
	k := s.kinds[name]
	if k == nil {
		k = &KindStats{Event: name, Columns: []ColumnStats{}}
		s.kinds[name] = k
	}
	return k
}

// column adds bytes of a column, of which each takes perByte in the file.
func (s *summing) column(d *Defs, size columnSize, perByte float64) {
	kind, name := "", columnNames[size.field]
	if size.kind != 0 {
		kind = kindName(d, size.kind)
		if spec := d.Kind(size.kind); name == "" && spec != nil && size.field < len(spec.Fields) {
			name = spec.Fields[size.field].Name
		}
	}
	if name == "" {
		name = "field " + strconv.Itoa(size.field)
	}
	key := [2]string{kind, name}
	c := s.columns[key]
	if c == nil {
		c = &ColumnStats{Column: name, field: size.field}
		s.columns[key] = c
	}
	c.Raw += int64(size.bytes)
	c.share += float64(size.bytes) * perByte
}

// finish puts columns to their kinds.
func (s *summing) finish() {
	st := s.st
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
	for _, k := range s.kinds {
		slices.SortFunc(k.Columns, order)
		st.Kinds = append(st.Kinds, *k)
	}
	slices.SortFunc(st.Kinds, func(a, b KindStats) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Events, a.Events), cmp.Compare(a.Event, b.Event))
	})
}
