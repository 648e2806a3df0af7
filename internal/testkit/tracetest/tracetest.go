// Package tracetest makes files of traces for tests that cut and damage them.
package tracetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// File is the file of node 0 with two streams of 1000 events, in blocks of some hundred.
func File(t testing.TB) []byte {
	t.Helper()
	dir := t.TempDir()
	w, err := trace.Create(dir, 0, trace.Options{BufferBytes: 2 << 10, Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		for s := range 2 {
			st, at := w.Stream(s), int64(10*i+5*s)
			switch i {
			case 0:
				st.Emit(at, trace.KindProgramStarted, 0, 0)
			case 999:
				st.Emit(at, trace.KindProgramFinished, 0)
			default:
				w.DefineDF(trace.DF(2*i+s), w.Name(fmt.Sprint("name", i/100)), []int64{int64(s), int64(i)})
				st.Emit(at, trace.KindDFStored, uint64(2*i+s), uint64(i*i))
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, tracefile.FileName(0)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Write writes the bytes of a node's file.
func Write(t testing.TB, dir string, node int, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, tracefile.FileName(node)), data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// Events are the blocks of events that a Reader gives, as a test compares them; nil if it cannot be opened.
func Events(t testing.TB, dir string) (list []string, r *trace.Reader) {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		return nil, nil
	}
	defer r.Close()
	if err := r.Each(1, func(b *trace.Batch) error { list = append(list, Text(b)); return nil }); err != nil {
		t.Fatal(err)
	}
	return list, r
}

// Text is a block of events as a test compares it.
func Text(b *trace.Batch) string {
	return fmt.Sprint(b.Node, b.Stream, b.First, b.Last, b.Time[:b.N], b.Kind[:b.N], b.Words)
}

// CorrectSums corrects the sums of the header and of everything that looks like a block, so that what is
// wrong inside gets past them.
func CorrectSums(data []byte) {
	if len(data) < tracefile.HeaderSize {
		return
	}
	const head = tracefile.BlockHeaderSize
	le := binary.LittleEndian
	le.PutUint32(data[tracefile.HeaderSize-4:], tracefile.Checksum(data[:tracefile.HeaderSize-4]))
	for at := 0; ; at++ {
		i := bytes.Index(data[at:], []byte(tracefile.BlockMagic))
		if i < 0 || at+i+head > len(data) {
			return
		}
		at += i
		b := data[at:]
		if packed := int(le.Uint32(b[48:])); packed <= len(b)-head {
			le.PutUint32(b[56:], tracefile.Checksum(b[head:head+packed]))
		}
		le.PutUint32(b[head-4:], tracefile.Checksum(b[:head-4]))
	}
}
