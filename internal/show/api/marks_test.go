package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/files/archives"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/trace"
)

// TestMarks: marks are kept beside the events and go with an exported interval; what is none is refused.
func TestMarks(t *testing.T) {
	const start = 1000
	dir := filepath.Join(t.TempDir(), "a.trace")
	w, err := trace.Create(dir, 0, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(100) {
		w.Stream(0).Emit(start+10*i, trace.KindReadyQueue, 1)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	runs := live.NewSet()
	t.Cleanup(runs.Close)
	run, err := runs.Add(dir, live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(New(Config{Runs: runs}).Handler())
	t.Cleanup(s.Close)
	path := s.URL + "/api/runs/" + run.ID()
	ask := func(method, path, body string, want int) string {
		t.Helper()
		req, err := http.NewRequest(method, path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s %s %.50s: %d %.300s, want %d", method, path, body, resp.StatusCode, text, want)
		}
		return string(text)
	}
	if got := ask("GET", path+"/marks", "", 200); got != "[]" {
		t.Errorf("no marks: %s", got)
	}
	ask("PUT", path+"/marks/b", `{"from": 500, "to": 600, "text": "later"}`, 204)
	ask("PUT", path+"/marks/a", `{"from": 100, "to": 100, "text": "here"}`, 204)
	ask("PUT", path+"/marks/a", `{"from": 200, "to": 200, "text": "есть"}`, 204)
	const want = `[{"key":"a","from":200,"to":200,"text":"есть"},{"key":"b","from":500,"to":600,"text":"later"}]`
	if got := ask("GET", path+"/marks", "", 200); got != want {
		t.Errorf("marks: %s", got)
	}
	for _, bad := range []string{"", "{", `{"from": 2, "to": 1}`,
		`{"from": 9007199254740993, "to": 9007199254740993}`,
		`{"text": "` + strings.Repeat("x", maxMarkText+1) + `"}`, strings.Repeat("x", 1<<20)} {
		ask("PUT", path+"/marks/c", bad, 400)
	}
	ask("PUT", path+"/marks/A", "{}", 400)
	ask("POST", path+"/marks/c", "{}", 405)
	ask("PUT", s.URL+"/api/runs/none/marks/c", "{}", 404)

	// The exported interval has the mark within it, at the same event.
	packed := filepath.Join(t.TempDir(), "part.tar.gz")
	saved := []byte(ask("GET", path+"/export?from=450&to=700", "", 200))
	if err := os.WriteFile(packed, saved, 0o644); err != nil {
		t.Fatal(err)
	}
	part, err := archives.Unpack(t.Context(), packed, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := readMarks(part); err != nil || len(list) != 1 || list[0].From != start+500 ||
		list[0].Text != "later" {
		t.Errorf("exported: %v, %v", list, err)
	}

	ask("DELETE", path+"/marks/a", "", 204)
	ask("DELETE", path+"/marks/a", "", 204)
	ask("DELETE", path+"/marks/b", "", 204)
	if _, err := os.Stat(filepath.Join(dir, marksFile)); !os.IsNotExist(err) {
		t.Errorf("no marks are left, but their file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, marksFile), []byte("what?"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := ask("GET", path+"/marks", "", 400); !strings.Contains(got, marksFile) {
		t.Errorf("a file that is none of marks: %s", got)
	}
	ask("PUT", path+"/marks/a", "{}", 400) // what somebody wrote is not overwritten
}

// FuzzMarks: any file is read without a panic, and what was read can be written and read again.
func FuzzMarks(f *testing.F) {
	f.Add([]byte(`[{"key":"a","from":1,"to":2,"text":"x"}]`))
	f.Add([]byte(`[{"key":"a"},{"key":"a"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseMarks(text)
		if err != nil {
			return
		}
		out, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseMarks(out)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := json.Marshal(again); err != nil || !bytes.Equal(out, second) {
			t.Errorf("%s became %s, %v", out, second, err)
		}
	})
}
