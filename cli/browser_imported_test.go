package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/trace"
	"testing"

	"github.com/whyslow/whyslow/internal/convert/otf2"
)

// pageImported: files of other programs are opened as they are. The page says where they come from and what
// they do not tell, and makes nothing of that.
func pageImported(t *testing.T, p *pages) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	testdata, err := filepath.Abs("../internal/convert/foreign/starpu/testdata")
	if err != nil {
		t.Fatal(err)
	}
	archive := ""
	if otf2.HasOTF2() {
		archive = filepath.Join(dir, "heat")
		p.whyslow(t, "convert", "--format", "otf2", "-o", archive, p.heat)
	}
	const slices = `{"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 900, "name": "compile"},
		{"ph": "X", "pid": 1, "tid": 2, "ts": 950, "dur": 300, "name": "link"}`
	for _, f := range []struct {
		name, file, says, code string
		latency, path          bool // are told
	}{
		{"a folder of StarPU", filepath.Join(testdata, "cholesky"), "Imported: StarPU", "chol_model_11", true, true},
		{"paje.trace", filepath.Join(testdata, "cholesky", "paje.trace"), "dependences, data", "chol_model_11", false,
			false},
		{"slices", write("slices.json", "["+slices+"]"), "Imported: Trace Event Format", "compile", false, false},
		{"slices and arrows", write("arrows.json", "["+slices+`,
			{"ph": "s", "pid": 1, "tid": 1, "ts": 900, "id": 1, "name": "object"},
			{"ph": "f", "pid": 1, "tid": 2, "ts": 950, "id": 1, "name": "object", "bp": "e"}]`),
			"messages between processes", "link", false, true},
		{"Go", write("go.out", goTrace(t)), "Imported: Go execution trace", "goTrace.func1", true, true},
		{"OTF2", archive, "Imported: OTF2 archive", "heat", true, true},
	} {
		if f.file == "" {
			continue
		}
		b := p.open(t, p.serve(t, "view", f.file).url+"?lang=en")
		b.settle()
		b.wait(`document.querySelector(".doubts")?.textContent.includes(%q)`, f.says)
		if got := query[bool](b, `[...document.querySelectorAll(".tile")].some(e =>
			e.querySelector("dt").textContent.includes("Latency") && e.querySelector("dd").textContent.trim() === "–")`); got == f.latency {
			t.Errorf("%s: latency is shown as unknown: %v", f.name, got)
		}
		if f.name != "OTF2" { // it has no CFs
			missing := query[int](b, `fetch("/api/runs/%s/path?from=0&to=1000000000").then(r => r.json()).then(r => r.missing.includes(
				"DFEvents.onCreate") ? 0 : r.steps.length)`, b.run())
			if (missing > 0) != f.path {
				t.Errorf("%s: %d steps of the critical path", f.name, missing)
			}
			b.view("fragments")
			b.settle()
			b.wait(`document.querySelector("main").innerText.includes(%q)`, f.code)
		}
		b.view("timeline")
		b.settle()
		b.picture("imported-" + filepath.Base(f.file))
		b.quiet(f.name)
	}
}

// goTrace is the execution trace of a goroutine that waits for another one.
func goTrace(t *testing.T) string {
	if trace.IsEnabled() {
		t.Skip("this process is being traced")
	}
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip(err)
	}
	c := make(chan int)
	go func() { c <- 1 }()
	<-c
	trace.Stop()
	return b.String()
}
