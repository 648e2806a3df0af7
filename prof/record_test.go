package prof_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

func TestRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t")
	rec, err := prof.Record(dir, 2, trace.Options{Level: -1})
	if err != nil {
		t.Fatal(err)
	}
	// While it runs the trace opens, and says that it has not ended.
	if info, err := trace.ReadRunInfo(dir); err != nil || info.Ended != "" || info.Nodes[0].Workers != 2 {
		t.Errorf("%+v, %v", info, err)
	}
	if err := rec.Enable("DFEvents", "onStored", false); err != nil {
		t.Fatal(err)
	}
	code := rec.NewCode("work")
	a, b := rec.NewDF("a", 1, -2), rec.NewDF("a", 3)
	if code != 1 || a != 1 || b != 2 || rec.NewCF() != trace.MakeCF(0, 1) || rec.NewCF() != trace.MakeCF(0, 2) ||
		rec.System().ID() != 2 {
		t.Error("numbers do not begin with 1")
	}
	rec.DFStored.Emit(rec.System(), a, 8)
	for range 2 {
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	info := r.Run()
	if p := r.Problems(); len(p) != 0 || info.Ended != trace.EndedDone || !slices.Equal(info.Off,
		[]string{"DFEvents.onStored"}) || r.Events() != 4 {
		t.Errorf("%v, %+v, %d events", p, info, r.Events())
	}
	if head, err := os.ReadFile(filepath.Join(dir, tracefile.FileName(0))); err != nil ||
		!strings.HasPrefix(info.ID, hex.EncodeToString(head[16:28])) {
		t.Errorf("%v: the file is not of run %s", err, info.ID)
	}
	d := r.Defs(0)
	c, _ := d.Code(1)
	name, _ := d.DFName(a)
	if d.Name(c.Name) != "work" || d.Name(c.File) != "record_test.go" || c.Line == 0 || name != "a[1][-2]" {
		t.Errorf("%s at %s:%d, DF %s", d.Name(c.Name), d.Name(c.File), c.Line, name)
	}
}

func TestRecordRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := prof.Record(dir, 0); err == nil {
		t.Error("no workers")
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := prof.Record(dir, 1); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Error(err)
	}
	if _, err := prof.Record(filepath.Join(dir, "x"), 1); err == nil {
		t.Error("a file as the folder")
	}
}
