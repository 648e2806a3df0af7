package live

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// TestRemovedRuns: a run whose folder was removed is shown no longer, once nobody asks about it; others are.
func TestRemovedRuns(t *testing.T) {
	runs := NewSet()
	defer runs.Close()
	var dirs []string
	for _, name := range []string{"kept", "removed"} {
		dir := filepath.Join(t.TempDir(), name)
		pipeline(t, dir, 10)
		r, err := runs.Add(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.Watch()
		dirs = append(dirs, dir)
	}
	_, changed := runs.List()
	if err := os.RemoveAll(dirs[1]); err != nil {
		t.Fatal(err)
	}
	if runs.tidy(unused); runs.Get(RunID(dirs[1])) == nil {
		t.Error("somebody asked about it a moment ago")
	}
	for runs.Get(RunID(dirs[1])) != nil { // a snapshot may still be made
		runs.tidy(0)
		time.Sleep(time.Millisecond)
	}
	if runs.Get(RunID(dirs[0])) == nil {
		t.Error("a run whose folder is there is shown no longer")
	}
	select {
	case <-changed:
	default:
		t.Error("nobody is told")
	}
}

// begun makes the trace of a run of 1000 events that has not ended.
func begun(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a.trace")
	w, err := trace.Create(dir, 0, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(1000) {
		w.Stream(0).Emit(i, trace.KindReadyQueue, uint64(i%7))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, tracefile.FileName(0))
	st, err := os.Stat(name)
	if err == nil {
		err = os.Truncate(name, st.Size()-20) // the end of the index
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestManyLiveRuns: of runs that end while nobody looks, no snapshot is made.
func TestManyLiveRuns(t *testing.T) {
	runs := NewSet()
	defer runs.Close()
	var dead atomic.Bool
	alive := func() (bool, bool) { return !dead.Load(), true }
	var list []*Run
	for range 64 {
		r, err := runs.Add(begun(t), Options{Alive: alive})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	dead.Store(true)
	for _, r := range list {
		for end := time.Now().Add(4 * time.Minute); ; time.Sleep(time.Millisecond) {
			if st, _ := r.Status(); st.State != StateLive {
				break
			} else if time.Now().After(end) {
				t.Fatalf("%+v", st)
			}
		}
		r.mu.Lock()
		if r.snap != nil || r.long != nil || r.status.Events != 1000 {
			t.Errorf("a run that nobody looks at has a snapshot, or sums: %+v", r.status)
		}
		r.mu.Unlock()
	}
}

// TestFewSnapshots: of many runs that somebody has looked at, few have snapshots and open files.
func TestFewSnapshots(t *testing.T) {
	runs := NewSet()
	defer runs.Close()
	var list []*Run
	for range mostUnused + 10 {
		dir := filepath.Join(t.TempDir(), "a.trace")
		pipeline(t, dir, 10)
		r, err := runs.Add(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
		if len(list) > 1 { // the first one is in use
			s.Release()
		}
	}
	runs.tidy(unused)
	kept := 0
	for i, r := range list {
		if r.takes() > 0 {
			kept++
		} else if i == 0 || i > 10 {
			t.Errorf("the snapshot of run %d is gone", i)
		}
	}
	if kept != mostUnused+1 {
		t.Errorf("%d snapshots are kept", kept)
	}
	for _, r := range list[1:] {
		for r.Ready() { // until what made it has let go of it, too
			runs.tidy(0)
		}
	}
	if !list[0].Ready() {
		t.Error("the snapshot that is in use is gone")
	}
}

// TestSeldom: a run that was killed is looked at less and less often, but again and again, and at once when
// its sender is back.
func TestSeldom(t *testing.T) {
	const times = 100_000
	var s seldom
	n, last := 0, 0
	for i := range times {
		if s.due(false) {
			n, last = n+1, i
		}
	}
	if n > times/seldomest+20 || last < times-2*seldomest || !s.due(true) {
		t.Errorf("%d of %d times, the last time at %d", n, times, last)
	}
}
