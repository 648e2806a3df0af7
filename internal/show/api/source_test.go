package api_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

// Only sources that the run names are shown, and only those in its folder or beside it.
func TestSource(t *testing.T) {
	const run = "#node 0\n#code 1 step atomic at=p.fa:2:1\n#code 2 other atomic at=../../secret.fa:2:1\n" +
		"#code 3 odd atomic at=run.json:1:1\n#site 1 code=1\n#site 2 code=2\n1 n0 s0 GlobalEvents.onProgramStarted\n" +
		"2 n0 s0 CFEvents.onCreated cf=0.1 site=1\n3 n0 s0 CFEvents.onCreated cf=0.2 site=2\n9 n0 s0 GlobalEvents.onProgramFinished\n"
	dir := filepath.Join(t.TempDir(), "traces", "p.trace")
	if err := twin.Parse(strings.NewReader(run), dir); err != nil {
		t.Fatal(err)
	}
	s, ids := serve(t, api.Config{}, dir)
	if err := os.WriteFile(filepath.Join(dir, "..", "..", "secret.fa"), []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "p.fa"), []byte("one\ntwo"), 0o666); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"p.fa": `"text":"one\ntwo"`, "../p.fa": "not a source file",
		"run.json": "not a source file", "../../secret.fa": `"here":false`,
		"/etc/passwd": "not a source file", "other.fa": "not a source file"} {
		_, body, _ := get(t, s.URL+"/api/runs/"+ids[0]+"/source?file="+url.QueryEscape(file))
		if !strings.Contains(string(body), want) {
			t.Errorf("%s: %s lacks %s", file, body, want)
		}
	}
}
