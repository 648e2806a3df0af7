package replicate

import (
	"context"
	"fmt"

	"github.com/whyslow/whyslow/trace"
)

// source is the file of a node of the original run, decoded: it is written many times.
type source struct {
	node    int
	names   []string // in the order of their numbers, from 1, in the copies
	codes   []trace.CodeDef
	sites   []trace.SiteDef
	dfs     []dfDef
	kinds   []trace.KindSpec // user kinds, in the order of their numbers in the copies
	streams []events
}

type dfDef struct {
	df       trace.DF
	name     trace.Name
	identity []int64
	shift    int // of the DF at this node
}

// events are those of a stream.
type events struct {
	stream  int
	times   []int64
	kinds   []trace.Kind
	ends    []uint32 // by event: where its words end
	words   []uint64
	patches []patch // in the order of events
}

// patch is a word that differs from copy to copy: a node, or the upper bits of an id.
type patch struct {
	event, word uint32 // the word counts from the first of the event
	shift       int32
	id          bool
}

// load decodes the file of a node.
func (w *writer) load(ctx context.Context, node int) (*source, error) {
	src := &source{node: node}
	defs := w.r.Defs(node)
	l := &loader{w: w, src: src, defs: defs, names: map[trace.Name]trace.Name{0: 0},
		kinds: map[trace.Kind]trace.Kind{}}
	l.define()
	for _, s := range w.r.Streams() {
		if s.Node != node {
			continue
		}
		e := events{stream: s.Stream}
		var b trace.Batch
		for c := w.r.Stream(node, s.Stream); c.Next(&b); {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for i := range b.N {
				if err := l.add(&e, b.Time[i], b.Kind[i], b.Args(i)); err != nil {
					return nil, err
				}
			}
		}
		src.streams = append(src.streams, e)
	}
	return src, nil
}

// loader decodes a file.
type loader struct {
	w     *writer
	src   *source
	defs  *trace.Defs
	names map[trace.Name]trace.Name // to those of the copies
	kinds map[trace.Kind]trace.Kind // likewise; user kinds
	ids   []uint64                  // by DF
}

// define takes over the definitions. Numbers of names and user kinds are given anew when they are written, in
// the same order each time.
func (l *loader) define() {
	known := map[string]trace.Name{"": 0}
	l.defs.EachName(func(n trace.Name, s string) {
		at, ok := known[s]
		if !ok {
			l.src.names = append(l.src.names, s)
			at = trace.Name(len(l.src.names))
			known[s] = at
		}
		l.names[n] = at
	})
	l.defs.EachCode(func(c trace.CodeDef) {
		c.Name, c.File = l.names[c.Name], l.names[c.File]
		l.src.codes = append(l.src.codes, c)
	})
	l.defs.EachSite(func(s trace.SiteDef) {
		s.Label, s.File, s.Text = l.names[s.Label], l.names[s.File], l.names[s.Text]
		l.src.sites = append(l.src.sites, s)
	})
	for i, k := range l.defs.UserKinds() {
		l.kinds[k.Kind] = trace.FirstUserKind + trace.Kind(i)
		l.src.kinds = append(l.src.kinds, *k)
	}
	l.defs.EachDF(func(df trace.DF, name trace.Name, identity []int64) {
		id := trace.IdentityID(identity)
		if len(identity) == 0 {
			id = 0
		}
		for int(df) >= len(l.ids) {
			l.ids = append(l.ids, 0)
		}
		l.ids[df] = id
		l.src.dfs = append(l.src.dfs, dfDef{df, l.names[name], append([]int64(nil), identity...),
			l.w.shiftDF(id, l.src.node)})
	})
}

func (l *loader) id(df uint64) uint64 {
	if df < uint64(len(l.ids)) {
		return l.ids[df]
	}
	return 0
}

// add takes over an event and finds what of it differs from copy to copy.
func (l *loader) add(e *events, t int64, k trace.Kind, args []uint64) error {
	spec := l.defs.Kind(k)
	if spec == nil {
		return fmt.Errorf("replicate: node %d has events of kind %d, which is not defined", l.src.node, k)
	}
	event, first := uint32(len(e.times)), len(e.words)
	e.words = append(e.words, args...)
	own := e.words[first:]
	patch := func(word, shift int, id bool) {
		e.patches = append(e.patches, patch{event, uint32(word), int32(shift), id})
	}
	// Where peers are, in which copy they mean the CF or DF that the event is about.
	peer := func(int) int { return 0 }
	here := l.src.node
	switch k {
	case trace.KindCFMigrated, trace.KindCFStolen, trace.KindCFReceived:
		peer = func(node int) int { return l.w.shiftCF(args[0], node) - l.w.shiftCF(args[0], here) }
	case trace.KindDFRequested, trace.KindDFRequestReceived, trace.KindDFSent, trace.KindDFReceived:
		id := l.id(args[0])
		peer = func(node int) int { return l.w.shiftDF(id, node) - l.w.shiftDF(id, here) }
	}
	cf := func(v uint64) int { return -l.w.shiftCF(v, here) }
	if k == trace.KindDFReceived && args[4] == 0 {
		// The CF that pushed the DF is meant as the sender means it.
		from := int(args[1])
		cf = func(v uint64) int { return peer(from) - l.w.shiftCF(v, from) }
	}
	for i, f := range spec.Fields {
		if f.Type.List() {
			break
		}
		v := args[i]
		switch f.Type {
		case trace.FieldCF, trace.FieldMessage, trace.FieldNode:
			node := int(v)
			if f.Type != trace.FieldNode {
				node = trace.CF(v).Node()
			}
			switch {
			case node >= l.w.k:
				return fmt.Errorf("replicate: node %d knows of node %d, of which there is no file", here, node)
			case f.Type == trace.FieldNode:
				patch(i, peer(node), false)
			case v == 0:
			case f.Type == trace.FieldCF:
				patch(i, cf(v), true)
			default:
				patch(i, peer(node), true)
			}
		case trace.FieldName:
			own[i] = uint64(l.names[trace.Name(v)])
		}
	}
	l.count(k, args, peer)
	if to, user := l.kinds[k]; user {
		k = to
	}
	e.times, e.kinds, e.ends = append(e.times, t), append(e.kinds, k), append(e.ends, uint32(len(e.words)))
	return nil
}

func (l *loader) count(k trace.Kind, args []uint64, peer func(int) int) {
	copies := int64(l.w.opt.Copies)
	l.w.stats.Events += copies
	to := -1
	switch k {
	case trace.KindCFMigrated, trace.KindCFStolen, trace.KindDFSent:
		to = int(args[1])
	case trace.KindDFRequested:
		to = int(args[2])
	}
	if to < 0 || to == l.src.node {
		return
	}
	l.w.stats.Messages += copies
	if peer(to)%l.w.opt.Copies != 0 {
		l.w.stats.Crossing += copies
	}
}

// writeOne writes one copy of a node.
func (w *writer) writeOne(dir string, src *source, copy int) error {
	out, err := trace.Create(dir, copy*w.k+src.node, trace.Options{Sync: true, Run: w.run})
	if err != nil {
		return err
	}
	// at returns the node that is node n of the copy some copies further.
	at := func(n, shift int) int {
		c := (copy + shift) % w.opt.Copies
		if c < 0 {
			c += w.opt.Copies
		}
		return c*w.k + n
	}
	for _, s := range src.names {
		out.Name(s)
	}
	for _, c := range src.codes {
		out.DefineCode(c)
	}
	for _, s := range src.sites {
		out.DefineSite(s)
	}
	for _, k := range src.kinds {
		if _, err := out.DefineKind(k); err != nil {
			return err
		}
	}
	var identity []int64
	for i := range src.dfs {
		d := &src.dfs[i]
		identity = append(identity[:0], d.identity...)
		if len(identity) > 0 {
			identity[0] = int64(at(0, -d.shift)) + identity[0]
		}
		out.DefineDF(d.df, d.name, identity)
	}
	processes := 1
	if info := w.r.Run(); info != nil && len(info.Processes) > 0 {
		processes = len(info.Processes)
	}
	for i := range src.streams {
		e := &src.streams[i]
		s := out.Stream(e.stream)
		first, patches := uint32(0), e.patches
		for i, end := range e.ends {
			rec := s.Reserve(1 + int(end-first))
			args := rec[1:]
			for j, v := range e.words[first:end] {
				args[j] = v
			}
			for len(patches) > 0 && patches[0].event == uint32(i) {
				p := &patches[0]
				v := args[p.word]
				if p.id {
					id := trace.CF(v)
					args[p.word] = uint64(trace.MakeCF(at(id.Node(), int(p.shift)), id.Counter()))
				} else {
					args[p.word] = uint64(at(int(v), int(p.shift)))
				}
				patches = patches[1:]
			}
			if e.kinds[i] == trace.KindProgramStarted {
				args[0] += uint64(copy * processes)
			}
			rec[0] = trace.Header(e.times[i], e.kinds[i])
			first = end
		}
	}
	return out.Close()
}
