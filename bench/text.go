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

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/trace"
)

// Text logging as a program would do it by hand, with no more work per line than needed: no reflection, no
// allocation.

// appendLine appends an event as a line, "TIME nNODE sSTREAM Namespace.onName field=value ...". words are the
// fixed fields, and for a kind with a list the number of elements and the elements.
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
