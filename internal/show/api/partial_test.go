package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// chainOfCFs makes a trace of CFs that one worker runs one after another, four events each.
func chainOfCFs(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("#node 0\n#code 1 step atomic\n#site 1 code=1\n1 n0 s0 GlobalEvents.onProgramStarted\n")
	for i := 1; i <= n; i++ {
		at := 100 * i
		fmt.Fprintf(&b, "%d n0 s0 CFEvents.onCreated cf=0.%d site=1\n%d n0 s0 CFEvents.onReady cf=0.%d\n"+
			"%d n0 s0 CFEvents.onStarted cf=0.%d execution=1\n%d n0 s0 CFEvents.onFinished cf=0.%d execution=1\n",
			at, i, at+10, i, at+20, i, at+90, i)
	}
	fmt.Fprintf(&b, "%d n0 s0 GlobalEvents.onProgramFinished\n", 100*n+100)
	dir := filepath.Join(t.TempDir(), "long.trace")
	if err := twin.Parse(strings.NewReader(b.String()), dir); err != nil {
		t.Fatal(err)
	}
	info := &trace.RunInfo{Program: "long.fa", Ended: trace.EndedDone,
		Nodes:     []trace.NodeInfo{{Node: 0, Workers: 1}},
		Processes: []trace.ProcessInfo{{}}}
	if err := trace.WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	return dir
}

func shownWith(t *testing.T, dir string, opt live.Options) (*httptest.Server, *live.Run) {
	t.Helper()
	runs := live.NewSet()
	t.Cleanup(runs.Close)
	r, err := runs.Add(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(api.New(api.Config{Runs: runs}).Handler())
	t.Cleanup(s.Close)
	return s, r
}

// TestOnDisk asks everything about runs whose columns are on disk, for want of memory: the answers are those
// from memory. One is a chain of CFs, with make test-long of 2 million events, one a recorded run on many
// nodes.
func TestOnDisk(t *testing.T) {
	const each = 4_000_000 / 12_000 // bytes a CF
	cfs := effort.Times(12_000, 500_000)
	t.Run("chain", func(t *testing.T) { onDisk(t, chainOfCFs(t, cfs), int64(cfs)*each, "") })
	copies := effort.Times(20, 500) // of 1,900 events
	t.Run("many nodes", func(t *testing.T) {
		// Predictions of hundreds of nodes differ by a hundredth of a percent from one reading of a trace to the
		// next, in memory as well.
		onDisk(t, sloutest.Recorded(t, "cholesky", copies), int64(copies)*200_000, "/whatif/")
	})
}

// took is how long a query took.
var took = regexp.MustCompile(`"ms":[0-9.e-]+`)

// onDisk compares all answers but those whose path begins with without, "" for none.
func onDisk(t *testing.T, dir string, budget int64, without string) {
	if !memory.CanSpill(1<<30, memory.SpillDirs(dir)...) {
		t.Skip("there is no disk")
	}
	plain, r := shownWith(t, dir, live.Options{})
	disk, _ := shownWith(t, dir, live.Options{Memory: budget, Spill: true})
	for _, q := range questions {
		if strings.HasPrefix(q.path, "/export") || // an archive has the time in it
			without != "" && strings.HasPrefix(q.path, without) {
			continue
		}
		path := "/api/runs/" + r.ID() + q.path
		status, want := searched(t, plain.URL+path)
		want = took.ReplaceAll(want, nil)
		if on, got := searched(t, disk.URL+path); on != status || !bytes.Equal(took.ReplaceAll(got, nil), want) {
			t.Errorf("%s: %d %.300s\ninstead of %d %.300s", q.path, on, got, status, want)
		}
	}
}

// searched asks until the answer looked through all events: a busy machine answers with what it has so far.
func searched(t *testing.T, url string) (status int, body []byte) {
	t.Helper()
	for {
		status, body, _ = get(t, url)
		if !bytes.Contains(body, []byte(`"scanned":0.`)) {
			return status, body
		}
	}
}

// TestPartial asks everything about a run of which only a part fits into memory. What needs the whole run is
// refused in plain words; the rest is about the whole run, or about an interval that is in memory.
func TestPartial(t *testing.T) {
	const cfs = 12_000
	s, r := shownWith(t, chainOfCFs(t, cfs), live.Options{Memory: 4_000_000})
	base := s.URL + "/api/runs/" + r.ID()
	for {
		st, changed := r.Status()
		if st.State == trace.EndedDone {
			break
		}
		<-changed
	}
	for _, q := range questions {
		path, _, _ := strings.Cut(q.path, "?")
		status, body, _ := get(t, base+q.path)
		switch path {
		case "", "/checks", "/factors", "/at", "/series", "/matrix", "/export", "/marks", "/whatif":
			if strings.Contains(q.path, "/export") { // its interval has no event
				continue
			}
			if status != http.StatusOK {
				t.Errorf("%s: %d %s", q.path, status, body)
			}
			continue
		}
		if strings.HasPrefix(path, "/whatif/") {
			continue // they say why not
		}
		want := "This needs the whole trace in memory: 11.5 MB; --memory allows 4.0 MB."
		if strings.Contains(q.path, "lang=ru") {
			want = "Для этого нужна вся трасса в памяти"
		}
		if status != http.StatusInsufficientStorage && !strings.Contains(q.path, "from=") ||
			status == http.StatusInsufficientStorage && !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %s", q.path, status, body)
		}
	}
	var run struct {
		Span  [2]int64
		Kinds []struct {
			Event string
			Count uint64
		}
	}
	ask := func(path string, into any) {
		t.Helper()
		status, body, _ := get(t, base+path)
		if err := json.Unmarshal(body, into); status != http.StatusOK || err != nil {
			t.Errorf("%s: %d, %v", path, status, err)
		}
	}
	ask("", &run)
	for _, k := range run.Kinds {
		if want := uint64(cfs); k.Count != want && k.Count != 1 {
			t.Errorf("%d events %s, want %d", k.Count, k.Event, want)
		}
	}
	if run.Span[0] <= 0 {
		t.Fatalf("all of the run is in memory: %v", run.Span)
	}
	var checks struct{ Warnings []string }
	ask("/checks", &checks)
	if w := checks.Warnings; len(w) != 1 || !strings.HasPrefix(w[0], "Only a part of this run is in memory: ") {
		t.Errorf("warnings: %q", checks.Warnings)
	}
	for _, in := range [][2]int64{{run.Span[0] + 1000, run.Span[0] + 3000}, {1000, 3000}} {
		var boxes struct{ CFs struct{ CF []string } }
		ask(fmt.Sprintf("/boxes?from=%d&to=%d", in[0], in[1]), &boxes)
		if n := len(boxes.CFs.CF); n < 20 || n > 22 {
			t.Errorf("%d CFs in %v", n, in)
		}
	}
	var matrix struct{ Values [][]int64 }
	ask("/matrix?value=messages", &matrix)
	status, body, _ := get(t, s.URL+"/api/compare?a="+r.ID()+"&b="+r.ID())
	if status != http.StatusInsufficientStorage {
		t.Errorf("compare: %d %s", status, body)
	}
}
