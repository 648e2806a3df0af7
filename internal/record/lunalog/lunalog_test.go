package lunalog

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// TestPrint: testdata/trace.txtar holds a trace as text twin and what it looks like in LuNA's form.
func TestPrint(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/trace.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	dir := filepath.Join(t.TempDir(), "t")
	if err := twin.Parse(strings.NewReader(files["trace"]), dir); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	if err := Print(&out, r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files["log"], out.String()); diff != "" {
		t.Error(diff)
	}
}
