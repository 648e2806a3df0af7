package trace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
	. "github.com/whyslow/whyslow/trace"
)

// Everything in the files is accounted for: headers, columns, definitions.
func TestStats(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{BufferBytes: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	k, err := w.DefineKind(KindSpec{Namespace: "My", Name: "onStep", Fields: []Field{{Name: "x", Type: FieldInt},
		{Name: "l", Type: FieldInts}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(5000) {
		w.DefineDF(DF(i+1), w.Name("a"), []int64{0, 1, int64(i)})
		w.Stream(int(i%2)).Emit(int64(i), KindDFStored, i+1, i*i)
		if i%10 == 0 {
			w.Stream(2).Emit(int64(i), k, i*i*i, 2, i, i+1)
		}
	}
	w.Stream(0).Emit(6000, KindLost, 17, 1, 2, 0)
	w.Stream(0).Emit(6001, KindClockSync, 0, 0)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, dir)
	st := r.Stats(2)
	info, err := os.Stat(filepath.Join(dir, tracefile.FileName(0)))
	if err != nil {
		t.Fatal(err)
	}
	if st.Bytes != info.Size() || st.Events != 5502 || st.BlockBytes != r.Size() || st.Dropped != 17 ||
		st.LostEvents != 17 || st.ClockSyncs != 1 ||
		st.Span != (Span{0, 6001}) || len(st.Streams) != 3 ||
		st.Definitions != (DefCounts{Strings: 1, DFs: 5000, Kinds: 1}) {
		t.Errorf("%+v", st)
	}
	// What is left are the file's header, the index and its end.
	if rest := st.Bytes - st.BlockBytes - st.DefBytes; rest < 32 ||
		rest > 32+64+16+int64(st.Blocks+st.DefBlocks)*72 {
		t.Errorf("%d bytes are of nothing: %+v", rest, st)
	}
	bytes, raw, events := int64(0), int64(0), uint64(0)
	for _, c := range st.Columns {
		bytes, raw = bytes+c.Bytes, raw+c.Raw
	}
	text := ""
	for _, k := range st.Kinds {
		events += k.Events
		text += " " + k.Event
		for _, c := range k.Columns {
			bytes, raw = bytes+c.Bytes, raw+c.Raw
			text += " " + c.Column
		}
	}
	if d := bytes - st.BlockBytes; d < -20 || d > 20 || raw != st.RawBytes+64*int64(st.Blocks) ||
		events != st.Events {
		t.Errorf("columns have %d of %d bytes, %d of %d raw, %d of %d events", bytes, st.BlockBytes, raw,
			st.RawBytes, events, st.Events)
	}
	if want := " DFEvents.onStored df size My.onStep list lengths x l GlobalEvents.onLost"; !strings.HasPrefix(
		text, want[:50]) {
		t.Error(text)
	}
	if c := st.Columns; len(c) != 3 || c[0].Column != "block headers" ||
		c[1].Column != "list lengths" && c[1].Column != "kinds" {
		t.Errorf("%+v", c)
	}
}
