package api_test

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/record/collect"
	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/index"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/trace"
)

// TestPictureOfEnded: a collector keeps the first picture of a run that ends, though nobody looks at it; not
// of one that had ended before.
func TestPictureOfEnded(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	old, dir := chainOfCFs(t, 50), chainOfCFs(t, 500)
	info, err := trace.ReadRunInfo(dir)
	if err != nil {
		t.Fatal(err)
	}
	ended := info.Ended
	info.Ended = ""
	if err := trace.WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	runs := live.NewSet()
	t.Cleanup(runs.Close)
	goesOn := func() (bool, bool) { return true, true }
	for path, opt := range map[string]live.Options{old: {}, dir: {Alive: goesOn}} {
		if _, err := runs.Add(path, opt); err != nil {
			t.Fatal(err)
		}
	}
	collector, err := collect.New(collect.Config{Dir: t.TempDir(), Limits: collect.DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = collector.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = api.New(api.Config{Runs: runs, Collector: collector, Indexed: 1}).Serve(t.Context(), l) }()
	if code, body, _ := get(t, "http://"+l.Addr().String()+"/api/runs"); code != http.StatusOK {
		t.Fatalf("%d: %s", code, body)
	}
	kept := func(dir string) bool {
		key, err := index.KeyOf(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = index.Read(dir, key)
		return err == nil
	}
	if kept(dir) {
		t.Fatal("there is a picture of a run that goes on")
	}
	info.Ended = ended
	if err := trace.WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	for !kept(dir) { // the test has a time limit
		time.Sleep(10 * time.Millisecond)
	}
	if kept(old) {
		t.Error("a picture was made of a run that had ended before")
	}
}
