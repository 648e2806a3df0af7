package api_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/trace"
)

// recorded is a trace of so many events of each of some streams.
func recorded(t *testing.T, streams, events int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a.trace")
	w, err := trace.Create(dir, 0, trace.Options{BufferBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range streams {
		for range events {
			w.Stream(i).Emit(int64(i), trace.KindReadyQueue, 1)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestExportMemory: to export a run takes memory by its events, not by its streams.
func TestExportMemory(t *testing.T) {
	const streams = 4000
	s, ids := serve(t, api.Config{}, recorded(t, streams, 1))
	path := s.URL + "/api/runs/" + ids[0]
	get(t, path)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if code, body, _ := get(t, path+"/export"); code != http.StatusOK {
		t.Fatalf("%d: %s", code, body)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > streams*(trace.DefaultBuffer/2) {
		t.Errorf("it took %d MB", n>>20)
	}
}

// TestExportTooLarge: a run that would take too much memory to export is refused, and shown all the same.
func TestExportTooLarge(t *testing.T) {
	runs := live.NewSet()
	t.Cleanup(runs.Close)
	runs.Limit(48 << 20)
	r, err := runs.Add(recorded(t, 1, 100_000), live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(api.New(api.Config{Runs: runs}).Handler())
	t.Cleanup(s.Close)
	for question, want := range map[string]int{
		"": http.StatusOK, "/export": http.StatusInsufficientStorage,
	} {
		if code, body, _ := get(t, s.URL+"/api/runs/"+r.ID()+question); code != want {
			t.Errorf("%q: %d: %.100s", question, code, body)
		}
	}
}
