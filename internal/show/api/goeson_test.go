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
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// TestFinishedRunGoesOn: when the file of another node comes to a run that is over, both the list of runs
// and the page of the run are told of it.
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

// TestBytesBeforeCreation: in a live run a node holds the bytes that were told when it stored a copy, though
// of the DF's creation, on another node, nothing has come yet; those that are made there count as ever.
func TestBytesBeforeCreation(t *testing.T) {
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(`
0 n0 s0 Global.onProgramStarted
10 n0 s0 DF.onCreate 1 80 0.1
10 n0 s0 DF.onStored 1 80
20 n0 s0 Global.onReadyQueue 0
0 n1 s0 Global.onProgramStarted
12 n1 s0 DF.onStored 7 100
14 n1 s0 DF.onStored 7 100
16 n1 s0 DF.onDropped 7 100
20 n1 s0 Global.onReadyQueue 0
`), dir); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	info := &trace.RunInfo{Processes: []trace.ProcessInfo{{PID: os.Getpid(), Host: host}}}
	if err := trace.WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	for node := range 2 { // not finished: without their ends
		file := filepath.Join(dir, tracefile.FileName(node))
		st, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, st.Size()-16); err != nil {
			t.Fatal(err)
		}
	}
	s, ids := serve(t, api.Config{}, dir)
	at := map[string]string{"11": "[80,0]", "12": "[80,100]", "15": "[80,200]", "18": "[80,100]"}
	for at, want := range at {
		status, body := http.StatusServiceUnavailable, []byte(nil)
		for status == http.StatusServiceUnavailable { // nothing has come yet
			status, body, _ = get(t, s.URL+"/api/runs/"+ids[0]+"/at?t="+at)
		}
		var answer struct{ Nodes []struct{ Bytes int64 } }
		if err := json.Unmarshal(body, &answer); status != http.StatusOK || err != nil {
			t.Fatal(status, err, string(body))
		}
		var bytes []int64
		for _, n := range answer.Nodes {
			bytes = append(bytes, n.Bytes)
		}
		if got, _ := json.Marshal(bytes); string(got) != want {
			t.Errorf("at %s: %s, want %s", at, got, want)
		}
	}
}
