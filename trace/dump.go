package trace

import (
	"bufio"
	"container/heap"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
)

// The text twin. Every event is a line; all other lines start with #. The canonical
// form, which Dump writes, is
//
//	#run {"program":"mxm.fa",...}
//	#node 0
//	#kind 256 My.onStep step:Int residual:Float "A step is done."
//	#string "lock of the queue"
//	#code 1 mult atomic at=mxm.fa:3:1
//	#site 1 code=1 label=c at=mxm.fa:12:3 "mult(a, b)"
//	#df 3 a [0 1 2]
//	1000 n0 s1 CFEvents.onStarted cf=0.1 execution=1 inputs=[3 4]
//
// with the definitions of all nodes first and then the events of all streams in the
// order of their times (where a stream goes back in time: of the latest time so far),
// then of nodes and streams. Strings are written where they are used; #string lines
// name those that no definition uses. A number whose definition is lost is #7.

// DumpOptions restricts what Dump writes, and says how. With the events of some times,
// streams or kinds come only the definitions that they use: the text is the twin of a
// smaller trace.
type DumpOptions struct {
	// events of these times; nil: of all. Blocks without any are not read
	In      *Span
	Streams func(node, stream int) bool         // events of these streams; nil: of all. Others are not read
	Keep    func(d *Defs, b *Batch, i int) bool // which of those; nil: all
	NoDefs  bool                                // events only
	// events only, each as a JSON object on a line, see AppendEventJSON
	JSON bool
}

// Dump writes the canonical text of a trace.
func Dump(w io.Writer, r *Reader, opt ...DumpOptions) error {
	var o DumpOptions
	if len(opt) > 0 {
		o = opt[0]
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if !o.NoDefs && !o.JSON {
		if r.run != nil {
			text, err := json.Marshal(r.run)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "#run %s\n", text)
		}
		var used map[int]*usedDefs
		if o.In != nil || o.Streams != nil || o.Keep != nil {
			var err error
			if used, err = findUsed(r, &o); err != nil {
				return err
			}
		}
		for _, f := range r.files {
			dumpDefs(out, f.node, &f.defs, used[f.node], used != nil)
		}
	}
	if err := dumpEvents(out, r, &o); err != nil {
		return err
	}
	return out.Flush()
}

// dumpDefs writes the definitions of a node, all of them or, with some, those in use.
func dumpDefs(out *bufio.Writer, node int, d *Defs, use *usedDefs, some bool) {
	if some && use == nil {
		return // no events of this node
	}
	var b []byte
	line := func() {
		fmt.Fprintf(out, "%s\n", b)
		b = b[:0]
	}
	b = strconv.AppendInt(append(b, "#node "...), int64(node), 10)
	line()
	for _, s := range d.UserKinds() {
		if some && !use.kinds[s.Kind] {
			continue
		}
		b = strconv.AppendInt(append(b, "#kind "...), int64(s.Kind), 10)
		b = append(append(b, ' '), s.String()...)
		for _, f := range s.Fields {
			b = append(append(append(append(b, ' '), f.Name...), ':'), f.Type.String()...)
		}
		if s.Doc != "" {
			b = strconv.AppendQuote(append(b, ' '), s.Doc)
		}
		line()
	}
	written := map[string]bool{"": true} // strings that stand in other definitions
	write := func(names ...Name) {
		for _, n := range names {
			if s, ok := d.LookupName(n); ok {
				written[s] = true
			}
		}
	}
	d.EachCode(func(c CodeDef) {
		if !some || use.codes[c.Code] {
			write(c.Name, c.File)
		}
	})
	d.EachSite(func(s SiteDef) {
		if !some || use.sites[s.Site] {
			write(s.Label, s.File, s.Text, s.DFs)
		}
	})
	last := Name(0) // most DFs follow one of the same name
	d.EachDF(func(df DF, n Name, _ []int64) {
		if n != last && (!some || use.dfs[df]) {
			write(n)
			last = n
		}
	})
	d.EachName(func(n Name, s string) {
		if !written[s] && (!some || use.names[n]) {
			written[s] = true
			b = strconv.AppendQuote(append(b, "#string "...), s)
			line()
		}
	})
	d.EachCode(func(c CodeDef) {
		if some && !use.codes[c.Code] {
			return
		}
		b = strconv.AppendUint(append(b, "#code "...), uint64(c.Code), 10)
		b = appendName(append(b, ' '), d, c.Name)
		b = append(append(b, ' '), c.Kind.String()...)
		b = appendPlace(b, d, c.File, c.Line, c.Col)
		line()
	})
	d.EachSite(func(s SiteDef) {
		if some && !use.sites[s.Site] {
			return
		}
		b = strconv.AppendUint(append(b, "#site "...), uint64(s.Site), 10)
		if s.Code != 0 {
			b = strconv.AppendUint(append(b, " code="...), uint64(s.Code), 10)
		}
		if s.Label != 0 {
			b = appendName(append(b, " label="...), d, s.Label)
		}
		b = appendPlace(b, d, s.File, s.Line, s.Col)
		if s.Text != 0 {
			b = append(b, ' ')
			if text, ok := d.LookupName(s.Text); ok {
				b = strconv.AppendQuote(b, text)
			} else {
				b = appendName(b, d, s.Text)
			}
		}
		if s.DFs != 0 {
			b = appendName(append(b, " dfs="...), d, s.DFs)
		}
		line()
	})
	d.EachDF(func(df DF, n Name, identity []int64) {
		if some && !use.dfs[df] {
			return
		}
		b = strconv.AppendUint(append(b, "#df "...), uint64(df), 10)
		b = appendName(append(b, ' '), d, n)
		b = append(b, " ["...)
		for i, v := range identity {
			if i > 0 {
				b = append(b, ' ')
			}
			b = strconv.AppendInt(b, v, 10)
		}
		b = append(b, ']')
		line()
	})
}

// appendPlace appends " at=file:line:col", leaving off what is 0 at the end.
func appendPlace(b []byte, d *Defs, file Name, line, col int) []byte {
	if file == 0 && line == 0 && col == 0 {
		return b
	}
	b = appendName(append(b, " at="...), d, file)
	if line != 0 || col != 0 {
		b = strconv.AppendInt(append(b, ':'), int64(line), 10)
	}
	if col != 0 {
		b = strconv.AppendInt(append(b, ':'), int64(col), 10)
	}
	return b
}

// appendName appends a string as a word where it looks like one, else in quotes.
func appendName(b []byte, d *Defs, n Name) []byte {
	s, ok := d.LookupName(n)
	if !ok {
		return strconv.AppendUint(append(b, '#'), uint64(n), 10)
	}
	if bareWord(s) {
		return append(b, s...)
	}
	return strconv.AppendQuote(b, s)
}

func bareWord(s string) bool {
	for i, c := range []byte(s) {
		if !bareByte(c, i == 0) {
			return false
		}
	}
	return s != ""
}

func bareByte(c byte, first bool) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '/', c == '.':
		return true
	}
	return !first && (c >= '0' && c <= '9' || c == '-' || c == '+')
}

// merging is a stream on its way into the common order.
type merging struct {
	cursor *Cursor
	defs   *Defs
	batch  Batch
	i      int
	key    int64 // latest time so far
}

// advance goes to the next event and reports whether there is one.
func (m *merging) advance() bool {
	m.i++
	for m.i >= m.batch.N {
		if !m.cursor.Next(&m.batch) {
			return false
		}
		m.i = 0
	}
	m.key = max(m.key, m.batch.Time[m.i])
	return true
}

type mergeHeap []*merging

func (h mergeHeap) Len() int      { return len(h) }
func (h mergeHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *mergeHeap) Push(x any)   { *h = append(*h, x.(*merging)) }
func (h *mergeHeap) Pop() any {
	old := *h
	m := old[len(old)-1]
	*h = old[:len(old)-1]
	return m
}
func (h mergeHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	if a.key != b.key {
		return a.key < b.key
	}
	if a.cursor.Node != b.cursor.Node {
		return a.cursor.Node < b.cursor.Node
	}
	return a.cursor.Stream < b.cursor.Stream
}

// usedDefs are the definitions of a node that certain events use.
type usedDefs struct {
	kinds map[Kind]bool
	codes map[uint32]bool
	sites map[Site]bool
	names map[Name]bool
	dfs   map[DF]bool
}

// findUsed finds the definitions that the events to be dumped use, by node.
func findUsed(r *Reader, o *DumpOptions) (map[int]*usedDefs, error) {
	used := map[int]*usedDefs{}
	err := eachEvent(r, o, func(d *Defs, b *Batch, i int) error {
		u := used[b.Node]
		if u == nil {
			u = &usedDefs{map[Kind]bool{}, map[uint32]bool{}, map[Site]bool{}, map[Name]bool{}, map[DF]bool{}}
			used[b.Node] = u
		}
		u.add(d, b.Kind[i], b.Args(i))
		return nil
	})
	return used, err
}

func (u *usedDefs) add(d *Defs, k Kind, args []uint64) {
	if k >= FirstUserKind {
		u.kinds[k] = true
	}
	spec := d.Kind(k)
	if spec == nil {
		return
	}
	for f := range spec.Fields {
		switch spec.Fields[f].Type {
		case FieldSite:
			u.sites[Site(args[f])] = true
			if s, ok := d.Site(Site(args[f])); ok {
				u.codes[s.Code] = true
			}
		case FieldName:
			u.names[Name(args[f])] = true
		case FieldDF:
			u.dfs[DF(args[f])] = true
		case FieldDFs:
			for _, v := range args[f+1:] {
				u.dfs[DF(v)] = true
			}
		}
	}
}

func dumpEvents(out *bufio.Writer, r *Reader, o *DumpOptions) error {
	appendEvent := AppendEvent
	if o.JSON {
		appendEvent = AppendEventJSON
	}
	var line []byte
	return eachEvent(r, o, func(d *Defs, b *Batch, i int) error {
		line = appendEvent(line[:0], d, b, i)
		_, err := out.Write(append(line, '\n'))
		return err
	})
}

// eachEvent calls f for the events to be dumped, in the common order.
func eachEvent(r *Reader, o *DumpOptions, f func(d *Defs, b *Batch, i int) error) error {
	in := Always
	if o.In != nil {
		in = *o.In
	}
	var h mergeHeap
	for _, s := range r.Streams() {
		if o.Streams != nil && !o.Streams(s.Node, s.Stream) {
			continue
		}
		m := &merging{cursor: r.StreamIn(s.Node, s.Stream, in), defs: r.Defs(s.Node), i: -1,
			key: math.MinInt64}
		if m.advance() {
			h = append(h, m)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		m := h[0]
		b, i := &m.batch, m.i
		if t := b.Time[i]; t >= in.From && t <= in.To && (o.Keep == nil || o.Keep(m.defs, b, i)) {
			if err := f(m.defs, b, i); err != nil {
				return err
			}
		}
		if m.advance() {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
	}
	return nil
}

// AppendEvent appends the text of event i of a batch: "TIME nNODE sSTREAM
// Namespace.onName field=value ...". An event whose kind is not defined, the
// definition being lost, is a line that starts with #.
func AppendEvent(line []byte, d *Defs, b *Batch, i int) []byte {
	spec := d.Kind(b.Kind[i])
	args := b.Args(i)
	if spec == nil {
		line = append(line, "# undefined "...)
	}
	line = strconv.AppendInt(line, b.Time[i], 10)
	line = strconv.AppendInt(append(line, " n"...), int64(b.Node), 10)
	line = strconv.AppendInt(append(line, " s"...), int64(b.Stream), 10)
	line = append(line, ' ')
	if spec == nil {
		line = strconv.AppendInt(append(line, "kind "...), int64(b.Kind[i]), 10)
		for _, v := range args {
			line = strconv.AppendInt(append(line, ' '), int64(v), 10)
		}
		return line
	}
	line = append(append(append(line, spec.Namespace...), '.'), spec.Name...)
	for f := range spec.Fields {
		fd := &spec.Fields[f]
		line = append(append(append(line, ' '), fd.Name...), '=')
		if !fd.Type.List() {
			line = appendValue(line, d, fd.Type, args[f])
			continue
		}
		line = append(line, '[')
		for j, v := range args[f+1:] {
			if j > 0 {
				line = append(line, ' ')
			}
			line = strconv.AppendInt(line, int64(v), 10)
		}
		line = append(line, ']')
	}
	return line
}

// appendValue appends the value of a fixed field.
func appendValue(line []byte, d *Defs, t FieldType, v uint64) []byte {
	switch t {
	case FieldCF, FieldMessage:
		if v == 0 {
			return append(line, '-')
		}
		line = strconv.AppendUint(line, v>>counterBits, 10)
		return strconv.AppendUint(append(line, '.'), v&(1<<counterBits-1), 10)
	case FieldInt, FieldNS, FieldBytes:
		return strconv.AppendInt(line, int64(v), 10)
	case FieldFloat:
		f := math.Float64frombits(v)
		if f != f {
			// There are many NaNs, and a trace keeps them apart.
			return strconv.AppendUint(append(line, "0x"...), v, 16)
		}
		return strconv.AppendFloat(line, f, 'g', -1, 64)
	case FieldName:
		return appendName(line, d, Name(v))
	case FieldReason:
		return append(line, Reason(v).String()...)
	}
	return strconv.AppendUint(line, v, 10)
}
