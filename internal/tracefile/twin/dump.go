// Package twin writes traces as text and makes traces of such text.
package twin

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/whyslow/whyslow/trace"
)

// The text twin. Every event is a line; all other lines start with #. The canonical
// form, which Dump writes, is
//
//	#run {"program":"mxm.fa",...}
//	#node 0 run=3f1d5a60c2b94e7788aa01f4
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

// Options restricts what Dump writes, and says how. With the events of some times, streams or kinds come
// only the definitions that they use: the text is the twin of a smaller trace.
type Options struct {
	// events of these times; nil: of all. Blocks without any are not read
	In      *trace.Span
	Streams func(node, stream int) bool                     // events of these streams; nil: of all
	Keep    func(d *trace.Defs, b *trace.Batch, i int) bool // which of those; nil: all
	NoDefs  bool                                            // events only
}

// Dump writes the canonical text of a trace.
func Dump(w io.Writer, r *trace.Reader, opt ...Options) error {
	var o Options
	if len(opt) > 0 {
		o = opt[0]
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if !o.NoDefs {
		if r.Run() != nil {
			text, err := json.Marshal(r.Run())
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "#run %s\n", text)
		}
		some := o.In != nil || o.Streams != nil || o.Keep != nil
		used := map[int]usedDefs{}
		if some {
			if err := findUsed(r, &o, used); err != nil {
				return err
			}
		}
		for _, node := range r.Nodes() {
			if !some || used[node] != nil {
				dumpDefs(out, r, node, used[node])
			}
		}
	}
	if err := dumpEvents(out, r, &o); err != nil {
		return err
	}
	return out.Flush()
}

// dumpDefs writes the definitions of a node that are in use.
func dumpDefs(out *bufio.Writer, r *trace.Reader, node int, use usedDefs) {
	d := r.Defs(node)
	var b []byte
	line := func() {
		_, _ = out.Write(append(b, '\n')) // Flush tells
		b = b[:0]
	}
	b = strconv.AppendInt(append(b, "#node "...), int64(node), 10)
	if run := r.RunOf(node); run != "" {
		b = fmt.Appendf(b, " run=%s", run)
	}
	line()
	for _, s := range d.UserKinds() {
		if !use.has(useKind, uint32(s.Kind)) {
			continue
		}
		b = fmt.Appendf(b, "#kind %d %s", s.Kind, s)
		for _, f := range s.Fields {
			b = fmt.Appendf(b, " %s:%s", f.Name, f.Type)
		}
		if s.Doc != "" {
			b = strconv.AppendQuote(append(b, ' '), s.Doc)
		}
		line()
	}
	dumpStrings(d, use, func(s string) {
		b = strconv.AppendQuote(append(b, "#string "...), s)
		line()
	})
	d.EachCode(func(c trace.CodeDef) {
		if !use.has(useCode, c.Code) {
			return
		}
		b = strconv.AppendUint(append(b, "#code "...), uint64(c.Code), 10)
		b = appendName(append(b, ' '), d, c.Name)
		b = append(append(b, ' '), c.Kind.String()...)
		b = appendPlace(b, d, c.File, c.Line, c.Col)
		line()
	})
	d.EachSite(func(s trace.SiteDef) {
		if !use.has(useSite, uint32(s.Site)) {
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
		if text, ok := d.LookupName(s.Text); !ok {
			b = appendName(append(b, ' '), d, s.Text)
		} else if s.Text != 0 {
			b = strconv.AppendQuote(append(b, ' '), text)
		}
		if s.DFs != 0 {
			b = appendName(append(b, " dfs="...), d, s.DFs)
		}
		if s.Stealable {
			b = append(b, " stealable=1"...)
		}
		line()
	})
	d.EachDF(func(df trace.DF, n trace.Name, identity []int64) {
		if !use.has(useDF, uint32(df)) {
			return
		}
		b = strconv.AppendUint(append(b, "#df "...), uint64(df), 10)
		b = appendName(append(b, ' '), d, n)
		b = appendInts(append(b, ' '), identity)
		line()
	})
}

// dumpStrings calls f for the strings that stand in no other definition.
func dumpStrings(d *trace.Defs, use usedDefs, f func(string)) {
	written := map[string]bool{"": true}
	write := func(names ...trace.Name) {
		for _, n := range names {
			if s, ok := d.LookupName(n); ok {
				written[s] = true
			}
		}
	}
	d.EachCode(func(c trace.CodeDef) {
		if use.has(useCode, c.Code) {
			write(c.Name, c.File)
		}
	})
	d.EachSite(func(s trace.SiteDef) {
		if use.has(useSite, uint32(s.Site)) {
			write(s.Label, s.File, s.Text, s.DFs)
		}
	})
	last := trace.Name(0) // most DFs follow one of the same name
	d.EachDF(func(df trace.DF, n trace.Name, _ []int64) {
		if n != last && use.has(useDF, uint32(df)) {
			write(n)
			last = n
		}
	})
	d.EachName(func(n trace.Name, s string) {
		if !written[s] && use.has(useString, uint32(n)) {
			written[s] = true
			f(s)
		}
	})
}

// appendInts appends "[1 2 3]".
func appendInts[T int64 | uint64](b []byte, list []T) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(v), 10)
	}
	return append(b, ']')
}

// appendPlace appends " at=file:line:col", leaving off what is 0 at the end.
func appendPlace(b []byte, d *trace.Defs, file trace.Name, line, col int) []byte {
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
func appendName(b []byte, d *trace.Defs, n trace.Name) []byte {
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
	return digit(c) && !first || wordByte(c) && !digit(c) || c == '/' || c == '.' ||
		!first && (c == '-' || c == '+')
}

// merging is a stream on its way into the common order.
type merging struct {
	cursor *trace.Cursor
	defs   *trace.Defs
	batch  trace.Batch
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

func (m *merging) compare(o *merging) int {
	return cmp.Or(cmp.Compare(m.key, o.key), cmp.Compare(m.cursor.Node, o.cursor.Node),
		cmp.Compare(m.cursor.Stream, o.cursor.Stream))
}

// Kinds of definitions, see usedDefs.
const (
	useString = iota
	useCode
	useSite
	useKind
	useDF
)

// usedDefs are the definitions of a node that certain events use, by kind and number; nil: all.
type usedDefs map[[2]uint32]bool

func (u usedDefs) has(kind, number uint32) bool { return u == nil || u[[2]uint32{kind, number}] }

// findUsed finds the definitions that the events to be dumped use, by node.
func findUsed(r *trace.Reader, o *Options, used map[int]usedDefs) error {
	return EachEvent(r, o, func(d *trace.Defs, b *trace.Batch, i int) error {
		if used[b.Node] == nil {
			used[b.Node] = usedDefs{}
		}
		used[b.Node].add(d, b.Kind[i], b.Args(i))
		return nil
	})
}

func (u usedDefs) add(d *trace.Defs, k trace.Kind, args []uint64) {
	use := func(kind uint32, v uint64) { u[[2]uint32{kind, uint32(v)}] = true }
	use(useKind, uint64(k))
	spec := d.Kind(k)
	if spec == nil {
		return
	}
	for f := range spec.Fields {
		switch spec.Fields[f].Type {
		case trace.FieldSite:
			use(useSite, args[f])
			if s, ok := d.Site(trace.Site(args[f])); ok {
				use(useCode, uint64(s.Code))
			}
		case trace.FieldName:
			use(useString, args[f])
		case trace.FieldDF:
			use(useDF, args[f])
		case trace.FieldDFs:
			for _, v := range args[f+1:] {
				use(useDF, v)
			}
		}
	}
}

func dumpEvents(out *bufio.Writer, r *trace.Reader, o *Options) error {
	var line []byte
	return EachEvent(r, o, func(d *trace.Defs, b *trace.Batch, i int) error {
		line = appendEvent(line[:0], d, b, i)
		_, err := out.Write(append(line, '\n'))
		return err
	})
}

// EachEvent calls f for event i of a batch, for all events that the options name (nil: all), in the order of
// Dump.
func EachEvent(r *trace.Reader, o *Options, f func(d *trace.Defs, b *trace.Batch, i int) error) error {
	if o == nil {
		o = &Options{}
	}
	in := trace.Always
	if o.In != nil {
		in = *o.In
	}
	var streams []*merging // by their next events
	for _, s := range r.Streams() {
		if o.Streams != nil && !o.Streams(s.Node, s.Stream) {
			continue
		}
		m := &merging{cursor: r.StreamIn(s.Node, s.Stream, in), defs: r.Defs(s.Node), i: -1, key: math.MinInt64}
		if m.advance() {
			streams = append(streams, m)
		}
	}
	slices.SortFunc(streams, (*merging).compare)
	for len(streams) > 0 {
		m := streams[0]
		b, i := &m.batch, m.i
		if t := b.Time[i]; t >= in.From && t <= in.To && (o.Keep == nil || o.Keep(m.defs, b, i)) {
			if err := f(m.defs, b, i); err != nil {
				return err
			}
		}
		others := streams[1:]
		if !m.advance() {
			streams = others
			continue
		}
		at, _ := slices.BinarySearchFunc(others, m, (*merging).compare)
		copy(streams, others[:at])
		streams[at] = m
	}
	return nil
}

// appendEvent appends the text of event i of a batch: "TIME nNODE sSTREAM Namespace.onName field=value ...".
// An event whose kind is not defined, the definition being lost, is a line that starts with #.
func appendEvent(line []byte, d *trace.Defs, b *trace.Batch, i int) []byte {
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
		if fd.Type.List() {
			line = appendInts(line, args[f+1:])
		} else {
			line = appendValue(line, d, fd.Type, args[f])
		}
	}
	return line
}

// appendValue appends the value of a fixed field.
func appendValue(line []byte, d *trace.Defs, t trace.FieldType, v uint64) []byte {
	switch t {
	case trace.FieldCF, trace.FieldMessage:
		return trace.CF(v).Append(line)
	case trace.FieldInt, trace.FieldNS, trace.FieldBytes:
		return strconv.AppendInt(line, int64(v), 10)
	case trace.FieldFloat:
		f := math.Float64frombits(v)
		if math.IsNaN(f) {
			// There are many NaNs, and a trace keeps them apart.
			return strconv.AppendUint(append(line, "0x"...), v, 16)
		}
		return strconv.AppendFloat(line, f, 'g', -1, 64)
	case trace.FieldName:
		return appendName(line, d, trace.Name(v))
	case trace.FieldReason:
		return append(line, trace.Reason(v).String()...)
	}
	return strconv.AppendUint(line, v, 10)
}
