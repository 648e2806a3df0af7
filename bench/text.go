package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Text logging as a program would do it by hand, with no more work per line than needed: no reflection, no allocation.

// appendLine appends an event as a line, "TIME nNODE sSTREAM Namespace.onName field=value ...". words are the fixed
// fields, and for a kind with a list the number of elements and the elements.
func appendLine(b []byte, t int64, node, stream int, k trace.Kind, words ...uint64) []byte {
	spec := k.Spec()
	b = strconv.AppendInt(b, t, 10)
	b = append(b, " n"...)
	b = strconv.AppendInt(b, int64(node), 10)
	b = append(b, " s"...)
	b = strconv.AppendInt(b, int64(stream), 10)
	b = append(b, ' ')
	b = append(b, spec.Namespace...)
	b = append(b, '.')
	b = append(b, spec.Name...)
	for i := range spec.Fields {
		f := &spec.Fields[i]
		b = append(b, ' ')
		b = append(b, f.Name...)
		b = append(b, '=')
		b = appendValue(b, f.Type, words[i:])
	}
	return append(b, '\n')
}

func appendValue(b []byte, t trace.FieldType, words []uint64) []byte {
	switch t {
	case trace.FieldInt, trace.FieldNS, trace.FieldBytes:
		return strconv.AppendInt(b, int64(words[0]), 10)
	case trace.FieldFloat:
		return strconv.AppendFloat(b, math.Float64frombits(words[0]), 'g', -1, 64)
	case trace.FieldCF, trace.FieldMessage:
		b = strconv.AppendUint(b, words[0]>>48, 10)
		b = append(b, '.')
		return strconv.AppendUint(b, words[0]&(1<<48-1), 10)
	case trace.FieldInts, trace.FieldDFs:
		b = append(b, '[')
		for i, v := range words[1 : 1+words[0]] {
			if i > 0 {
				b = append(b, ' ')
			}
			b = strconv.AppendInt(b, int64(v), 10)
		}
		return append(b, ']')
	}
	return strconv.AppendUint(b, words[0], 10)
}

// parseLines reads what appendLine wrote and returns the number of events.
func parseLines(r io.Reader) (events int, err error) {
	in := bufio.NewScanner(r)
	words := make([]uint64, 0, 32)
	for in.Scan() {
		if words, err = parseLine(in.Text(), words[:0]); err != nil {
			return events, fmt.Errorf("line %d: %w", events+1, err)
		}
		events++
	}
	return events, in.Err()
}

// parseLine appends time, node, stream, kind and the fields' words to words.
func parseLine(line string, words []uint64) ([]uint64, error) {
	next := func() (word string) {
		word, line, _ = strings.Cut(line, " ")
		return word
	}
	t, err := strconv.ParseInt(next(), 10, 64)
	if err != nil {
		return words, err
	}
	words = append(words, uint64(t))
	for range 2 {
		v, err := strconv.ParseUint(strings.TrimLeft(next(), "ns"), 10, 32)
		if err != nil {
			return words, err
		}
		words = append(words, v)
	}
	ns, name, _ := strings.Cut(next(), ".")
	k, ok := trace.KindByName(ns, name)
	if !ok {
		return words, fmt.Errorf("no event %s.%s", ns, name)
	}
	words = append(words, uint64(k))
	for _, f := range k.Spec().Fields {
		_, rest, ok := strings.Cut(line, "=")
		if !ok {
			return words, fmt.Errorf("field %s is missing", f.Name)
		}
		line = rest
		switch {
		case f.Type.List():
			list, rest, ok := strings.Cut(strings.TrimPrefix(line, "["), "]")
			if !ok {
				return words, fmt.Errorf("field %s is no list", f.Name)
			}
			line = rest
			n := len(words)
			words = append(words, 0)
			for list != "" {
				var e string
				e, list, _ = strings.Cut(list, " ")
				v, err := strconv.ParseInt(e, 10, 64)
				if err != nil {
					return words, err
				}
				words = append(words, uint64(v))
			}
			words[n] = uint64(len(words) - n - 1)
		case f.Type == trace.FieldFloat:
			v, err := strconv.ParseFloat(next(), 64)
			if err != nil {
				return words, err
			}
			words = append(words, math.Float64bits(v))
		case f.Type == trace.FieldCF, f.Type == trace.FieldMessage:
			node, counter, _ := strings.Cut(next(), ".")
			n, err := strconv.ParseUint(node, 10, 16)
			if err != nil {
				return words, err
			}
			c, err := strconv.ParseUint(counter, 10, 48)
			if err != nil {
				return words, err
			}
			words = append(words, n<<48|c)
		case f.Type == trace.FieldInt, f.Type == trace.FieldNS, f.Type == trace.FieldBytes:
			v, err := strconv.ParseInt(next(), 10, 64)
			if err != nil {
				return words, err
			}
			words = append(words, uint64(v))
		default:
			v, err := strconv.ParseUint(next(), 10, 64)
			if err != nil {
				return words, err
			}
			words = append(words, v)
		}
	}
	return words, nil
}

// naiveLog is what the sources call naive: for every event the file is opened, a line is written, the file is closed.
// Each stream has a file of its own, so that nothing waits for anything.
type naiveLog struct {
	dir    string
	events atomic.Uint64
	mu     sync.Mutex
	err    error
}

func (l *naiveLog) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

func (l *naiveLog) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// writeNaive appends a line to a file.
func writeNaive(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if _, err := f.Write(line); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// connectNaive makes a handler for every kind of event that the engine emits.
func connectNaive(ses *prof.Session, dir string) (*naiveLog, error) {
	l := &naiveLog{dir: dir}
	log := func(s *prof.Stream, t int64, k trace.Kind, words ...uint64) {
		var room [512]byte
		line := appendLine(room[:0], t, s.Node(), s.ID(), k, words...)
		path := filepath.Join(l.dir, strconv.Itoa(s.Node())+"."+strconv.Itoa(s.ID()))
		if err := writeNaive(path, line); err != nil {
			l.fail(err)
		}
		l.events.Add(1)
	}
	dfs := func(fixed []uint64, list []trace.DF) []uint64 {
		fixed = append(fixed, uint64(len(list)))
		for _, v := range list {
			fixed = append(fixed, uint64(v))
		}
		return fixed
	}
	type (
		stream = *prof.Stream
		cfID   = trace.CF
		dfID   = trace.DF
	)
	const name = "naive"
	block := func(k trace.Kind) func(stream, int64, trace.Site, uint64) {
		return func(s stream, t int64, f trace.Site, b uint64) { log(s, t, k, uint64(f), b) }
	}
	held := func(k trace.Kind) func(stream, int64, dfID, int64) {
		return func(s stream, t int64, df dfID, size int64) { log(s, t, k, uint64(df), uint64(size)) }
	}
	call := func(k trace.Kind) func(stream, int64, trace.Site) {
		return func(s stream, t int64, f trace.Site) { log(s, t, k, uint64(f)) }
	}
	bare := func(k trace.Kind) func(stream, int64) { return func(s stream, t int64) { log(s, t, k) } }
	moved := func(k trace.Kind) func(stream, int64, cfID, int, int64, float64) {
		return func(s stream, t int64, cf cfID, node int, bytes int64, weight float64) {
			log(s, t, k, uint64(cf), uint64(node), uint64(bytes), math.Float64bits(weight))
		}
	}
	passed := func(k trace.Kind) func(stream, int64, dfID, int, int64, uint64, uint64, cfID) {
		return func(s stream, t int64, df dfID, node int, bytes int64, message, request uint64, cf cfID) {
			log(s, t, k, uint64(df), uint64(node), uint64(bytes), message, request, uint64(cf))
		}
	}
	for _, err := range []error{
		ses.CFCreated.Connect(name, 0, func(s stream, t int64, cf cfID, site trace.Site, parent cfID, execution uint64, weight float64, indices []int32) {
			words := []uint64{uint64(cf), uint64(site), uint64(parent), execution, math.Float64bits(weight), uint64(len(indices))}
			for _, v := range indices {
				words = append(words, uint64(v))
			}
			log(s, t, trace.KindCFCreated, words...)
		}),
		ses.CFReady.Connect(name, 0, func(s stream, t int64, cf cfID, late int64) { log(s, t, trace.KindCFReady, uint64(cf), uint64(late)) }),
		ses.CFStarted.Connect(name, 0, func(s stream, t int64, cf cfID, execution uint64, inputs []dfID) {
			log(s, t, trace.KindCFStarted, dfs([]uint64{uint64(cf), execution}, inputs)...)
		}),
		ses.CFFinished.Connect(name, 0, func(s stream, t int64, cf cfID, execution uint64, cpu int64) {
			log(s, t, trace.KindCFFinished, uint64(cf), execution, uint64(cpu))
		}),
		ses.CFWaiting.Connect(name, 0, func(s stream, t int64, cf cfID, awaited []dfID) {
			log(s, t, trace.KindCFWaiting, dfs([]uint64{uint64(cf)}, awaited)...)
		}),
		ses.CFMigrated.Connect(name, 0, moved(trace.KindCFMigrated)),
		ses.CFStolen.Connect(name, 0, moved(trace.KindCFStolen)),
		ses.CFReceived.Connect(name, 0, moved(trace.KindCFReceived)),
		ses.CFDestroyed.Connect(name, 0, func(s stream, t int64, cf cfID) { log(s, t, trace.KindCFDestroyed, uint64(cf)) }),
		ses.DFCreate.Connect(name, 0, func(s stream, t int64, df dfID, size int64, cf cfID) {
			log(s, t, trace.KindDFCreate, uint64(df), uint64(size), uint64(cf))
		}),
		ses.DFRequested.Connect(name, 0, func(s stream, t int64, df dfID, cf cfID, node int, request uint64) {
			log(s, t, trace.KindDFRequested, uint64(df), uint64(cf), uint64(node), request)
		}),
		ses.DFRequestReceived.Connect(name, 0, func(s stream, t int64, df dfID, from int, request uint64) {
			log(s, t, trace.KindDFRequestReceived, uint64(df), uint64(from), request)
		}),
		ses.DFSent.Connect(name, 0, passed(trace.KindDFSent)),
		ses.DFReceived.Connect(name, 0, passed(trace.KindDFReceived)),
		ses.DFStored.Connect(name, 0, held(trace.KindDFStored)),
		ses.DFDropped.Connect(name, 0, held(trace.KindDFDropped)),
		ses.DFDestroy.Connect(name, 0, func(s stream, t int64, df dfID, size int64, reason trace.Reason) {
			log(s, t, trace.KindDFDestroy, uint64(df), uint64(size), uint64(reason))
		}),
		ses.BlockStarted.Connect(name, 0, block(trace.KindBlockStarted)),
		ses.BlockExited.Connect(name, 0, block(trace.KindBlockExited)),
		ses.BlockWaiting.Connect(name, 0, block(trace.KindBlockWaiting)),
		ses.BlockMigrated.Connect(name, 0, block(trace.KindBlockMigrated)),
		ses.BlockContinued.Connect(name, 0, block(trace.KindBlockContinued)),
		ses.ForeignStarted.Connect(name, 0, call(trace.KindForeignStarted)),
		ses.ForeignEnded.Connect(name, 0, call(trace.KindForeignEnded)),
		ses.ProgramStarted.Connect(name, 0, func(s stream, t int64, process uint64, cpu int64) {
			log(s, t, trace.KindProgramStarted, process, uint64(cpu))
		}),
		ses.ProgramFinished.Connect(name, 0, func(s stream, t int64, cpu int64) { log(s, t, trace.KindProgramFinished, uint64(cpu)) }),
		ses.Idle.Connect(name, 0, bare(trace.KindIdle)),
		ses.Busy.Connect(name, 0, bare(trace.KindBusy)),
		ses.ReadyQueue.Connect(name, 0, func(s stream, t int64, length uint64) { log(s, t, trace.KindReadyQueue, length) }),
		ses.SendQueue.Connect(name, 0, func(s stream, t int64, peer int, length uint64) {
			log(s, t, trace.KindSendQueue, uint64(peer), length)
		}),
		ses.Relations.Connect(name, 0, func(s stream, t int64, inner, outer int64) {
			log(s, t, trace.KindRelations, uint64(inner), uint64(outer))
		}),
	} {
		if err != nil {
			return nil, err
		}
	}
	return l, nil
}

// textLog writes the mix as lines, through a buffer or naively.
type textLog struct {
	path string
	file *os.File
	out  *bufio.Writer // nil: naively
	line []byte
}

func openText(dir string, buffered bool) (*textLog, error) {
	l := &textLog{path: filepath.Join(dir, "log.txt")}
	if buffered {
		f, err := os.Create(l.path)
		if err != nil {
			return nil, err
		}
		l.file, l.out = f, bufio.NewWriterSize(f, 64<<10)
	}
	return l, nil
}

func (l *textLog) event(k trace.Kind, words ...uint64) error {
	l.line = appendLine(l.line[:0], clock.Now(), 0, 0, k, words...)
	if l.out == nil {
		return writeNaive(l.path, l.line)
	}
	_, err := l.out.Write(l.line)
	return err
}

func (l *textLog) close() error {
	if l.out == nil {
		return nil
	}
	if err := l.out.Flush(); err != nil {
		return err
	}
	return l.file.Close()
}

func (l *textLog) read() (int, error) {
	f, err := os.Open(l.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return parseLines(f)
}
