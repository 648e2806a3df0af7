package api_test

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/index"
	"github.com/whyslow/whyslow/internal/show/live"
)

// TestPicture: before anything of a trace is read, its kept picture answers what the page asks first, as the
// trace itself would; where the trace has changed, it does not.
func TestPicture(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := chainOfCFs(t, 500)
	shown := func() (*httptest.Server, *live.Run) {
		runs := live.NewSet()
		t.Cleanup(runs.Close)
		r, err := runs.Add(dir, live.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(api.New(api.Config{Runs: runs, Indexed: 1}).Handler())
		t.Cleanup(s.Close)
		return s, r
	}
	questions := []string{"/report", "/report?lang=ru", "/checks", "/checks?lang=ru", "/factors",
		"/factors?from=777&to=12345&windows=31", "/tile?width=77",
		"/tile?width=50&by=factor&from=99&to=4321&lanes=0", "/factors?from=9&to=3", "/tile?by=nothing", ""}
	plain, _ := serve(t, api.Config{}, dir)
	first, r := shown()
	path := "/api/runs/" + r.ID()
	if _, _, err := api.Index(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{}
	for _, q := range questions {
		_, want[q], _ = get(t, plain.URL+path+q)
		if _, got, _ := get(t, first.URL+path+q); q != "" && !bytes.Equal(got, want[q]) {
			t.Errorf("%s of the trace: %.300s", q, got)
		}
	}
	second, r := shown()
	for _, q := range questions {
		if q != "" && r.Ready() {
			t.Fatalf("%s: the trace was read", q)
		}
		_, got, _ := get(t, second.URL+path+q)
		if q == "" { // the page has grown by the index
			cut := func(b []byte) string { return string(b[strings.Index(string(b), `"lanes"`):]) }
			if cut(got) != cut(want[q]) {
				t.Errorf("the run: %s\ninstead of %s", got, want[q])
			}
			continue
		}
		if !bytes.Equal(got, want[q]) {
			t.Errorf("%s of the picture: %.300s\ninstead of %.300s", q, got, want[q])
		}
	}
	key, err := index.KeyOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	other := []byte(`{"program":"other.fa","ended":"done"}`)
	if err := os.WriteFile(filepath.Join(dir, "run.json"), other, 0o644); err != nil {
		t.Fatal(err)
	}
	if now, err := index.KeyOf(dir); err != nil || now == key {
		t.Error("another run.json, and the same key", err)
	}
	third, r := shown()
	_, got, _ := get(t, third.URL+path+"/report")
	if !r.Ready() || !bytes.Contains(got, []byte("other.fa")) {
		t.Errorf("the picture of what the trace was is shown: %.300s", got)
	}
	// Who looks at the run has its new picture kept, also where an answer has looked for one before.
	if key, err = index.KeyOf(dir); err != nil {
		t.Fatal(err)
	}
	get(t, third.URL+path)
	for {
		if _, err := index.Read(dir, key); err == nil {
			break
		}
		select {
		case <-t.Context().Done():
			t.Fatal("no picture was kept")
		case <-time.After(10 * time.Millisecond):
		}
	}
}
