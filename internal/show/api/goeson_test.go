package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/tracefile"
)

// TestFinishedRunGoesOn: when the file of another node comes to a run that is over, both the list of runs and
// the page of the run are told of it.
func TestFinishedRunGoesOn(t *testing.T) {
	dir := golden(t, "late_request")
	late := filepath.Join(dir, tracefile.FileName(1))
	data, err := os.ReadFile(late)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(late); err != nil {
		t.Fatal(err)
	}
	s, ids := serve(t, api.Config{}, dir)
	type state struct {
		State  string
		Events uint64
	}
	next := map[string]func() state{}
	for path, list := range map[string]bool{"/api/updates": true, "/api/runs/" + ids[0] + "/updates": false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		next[path] = func() (st state) {
			for lines.Scan() {
				text, ok := strings.CutPrefix(lines.Text(), "data: ")
				if list {
					text = strings.Trim(text, "[]")
				}
				if ok {
					if err := json.Unmarshal([]byte(text), &st); err != nil {
						t.Fatal(err)
					}
					return st
				}
			}
			t.Fatal(path, lines.Err())
			return st
		}
	}
	before := map[string]state{}
	for path, next := range next {
		if before[path] = next(); before[path].State == "live" {
			t.Fatal(path, before[path])
		}
	}
	if err := os.WriteFile(late, data, 0o666); err != nil {
		t.Fatal(err)
	}
	for path, next := range next {
		for st := next(); ; st = next() {
			if st.State != "live" && st.Events > before[path].Events {
				break
			}
		}
	}
}
