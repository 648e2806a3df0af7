package collect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// TestLateRunInfo: the sender looks at a folder whose blocks are there before its run.json, and keeps less in
// memory than these blocks take. It sends all of them, as blocks of that run.
func TestLateRunInfo(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	info := writeTrace(t, src, []int{0, 1}, 5000)
	if err := os.Remove(filepath.Join(src, tracefile.RunFile)); err != nil {
		t.Fatal(err)
	}
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	cfg := quick(s.addr, src)
	cfg.Window = 1
	sender, _ := start(t, cfg)
	time.Sleep(20 * time.Millisecond) // it has most likely looked; the result is the same if not
	writeInfo(t, src, info)
	drain(t, sender)
	same(t, s.only(t), src)
	if got := s.Runs()[0]; got.ID != info.ID || sender.Stats().Connects != 1 {
		t.Errorf("%+v, %+v", got, sender.Stats())
	}
}

// TestNoRunInfo: a folder without a run.json is sent, too, also if nothing was recorded in it.
func TestNoRunInfo(t *testing.T) {
	for _, events := range []int{5000, 0} {
		src := filepath.Join(t.TempDir(), "a.trace")
		for n := range 2 {
			w, err := trace.Create(src, n, trace.Options{BufferBytes: 4 << 10})
			if err != nil {
				t.Fatal(err)
			}
			if events > 0 {
				emit(w, events)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		s := serveAt(t, "", Config{Dir: t.TempDir()})
		cfg := quick(s.addr, src)
		cfg.Window = 1
		send(t, cfg)
		dir := s.only(t)
		for n := range 2 {
			name := tracefile.FileName(n)
			// The first line of what is collected names the run.
			_, got, _ := strings.Cut(textOf(t, filepath.Join(dir, name)), "\n")
			_, want, _ := strings.Cut(textOf(t, filepath.Join(src, name)), "\n")
			if got != want {
				t.Errorf("%d events, %s: %s", events, name, firstDifference(got, want))
			}
		}
	}
}

// TestLateQueueInfo: blocks wait in memory before it is known what run this is.
func TestLateQueueInfo(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	info := writeTrace(t, src, []int{0}, 5000)
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	q := stream.NewQueue(0, nil)
	cfg := quick(s.addr, src)
	cfg.Source, cfg.Window = q, 1
	sender, _ := start(t, cfg)
	for _, b := range blocksOf(t, src) {
		if err := q.Put(0, b); err != nil {
			t.Fatal(err)
		}
	}
	q.CloseNode(0)
	q.SetInfo(info)
	drain(t, sender)
	same(t, s.only(t), src)
}

// TestGoesOnAfterItsEnd: a finished file is sent, then goes on and is finished again, as at a collector that
// sends it on. In the end it is finished there, too.
func TestGoesOnAfterItsEnd(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	info := writeTrace(t, src, []int{0}, 5000)
	blocks := blocksOf(t, src)
	part := filepath.Join(t.TempDir(), "b.trace")
	writeInfo(t, part, info)
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	sender, _ := start(t, quick(s.addr, part))
	name := tracefile.FileName(0)
	for _, some := range [][][]byte{blocks[:3], blocks[3:]} {
		out, err := tracefile.OpenAppend(t.Context(), part, 0, info.ID)
		for i := 0; err == nil && i < len(some); i++ {
			err = out.Append(some[i])
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Finish(); err != nil {
			t.Fatal(err)
		}
		until(t, "all of it is there, and finished", func() bool {
			runs := s.Runs()
			return len(runs) > 0 && finished(filepath.Join(runs[0].Dir, name)) == finished(filepath.Join(part, name))
		})
	}
	drain(t, sender)
	same(t, s.only(t), part)
	same(t, s.only(t), src)
}

// finished is how many events a finished file holds; -1: it is not finished.
func finished(path string) int64 {
	r, err := trace.Open(path)
	if err != nil {
		return -1
	}
	defer r.Close()
	if !r.Closed(r.Nodes()[0]) {
		return -1
	}
	return int64(r.Events())
}
