package collect

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// filled is a collector with runs that were sent before, the first the oldest by a day each.
func filled(t *testing.T, runs int, cfg Config) (s *server, dirs []string) {
	t.Helper()
	cfg.Dir = t.TempDir()
	s = serveAt(t, "", Config{Dir: cfg.Dir})
	src := t.TempDir()
	for i := range runs {
		from := filepath.Join(src, string(rune('a'+i))+".trace")
		writeTrace(t, from, []int{0}, 2000)
		send(t, quick(s.addr, from))
	}
	s.stop()
	for i := range runs {
		dir := filepath.Join(cfg.Dir, "prog.00"+string(rune('1'+i))+".trace")
		at := time.Now().Add(time.Duration(i-runs) * 24 * time.Hour)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := os.Chtimes(filepath.Join(dir, e.Name()), at, at); err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, dir)
	}
	return serveAt(t, "", cfg), dirs
}

func (s *server) kept() (names []string) {
	for _, r := range s.Runs() {
		names = append(names, filepath.Base(r.Dir))
	}
	return names
}

// TestKeep: runs that are too old go when the collector starts; who shows them is told, and a line says why.
func TestKeep(t *testing.T) {
	var mu sync.Mutex
	var removed, lines []string
	s, dirs := filled(t, 4, Config{Keep: 60 * time.Hour,
		OnRemoved: func(dir string) { mu.Lock(); removed = append(removed, dir); mu.Unlock() },
		Notify:    func(line string) { mu.Lock(); lines = append(lines, line); mu.Unlock() }})
	if got := strings.Join(s.kept(), " "); got != "prog.003.trace prog.004.trace" {
		t.Errorf("kept %s", got)
	}
	if strings.Join(removed, " ") != strings.Join(dirs[:2], " ") || len(lines) != 2 ||
		!strings.Contains(lines[0], dirs[0]+" is removed: nothing has arrived for it for more than 60h") {
		t.Errorf("removed %q, said %q", removed, lines)
	}
	entries, err := os.ReadDir(filepath.Dir(dirs[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), removing) || e.Name() == filepath.Base(dirs[0]) {
			t.Errorf("%s is still there", e.Name())
		}
	}
	// The bytes that are left are counted, and runs go on coming.
	if got, want := s.bytes.n, s.Runs()[0].Bytes+s.Runs()[1].Bytes; got != want {
		t.Errorf("%d bytes are counted, %d are there", got, want)
	}
	from := filepath.Join(t.TempDir(), "new.trace")
	writeTrace(t, from, []int{0}, 100)
	send(t, quick(s.addr, from))
	if len(s.kept()) != 3 {
		t.Errorf("kept %q", s.kept())
	}
}

// TestMaxSize: the oldest go until the others fit.
func TestMaxSize(t *testing.T) {
	s, _ := filled(t, 4, Config{})
	size := s.Runs()[0].Bytes
	s.cfg.MaxSize = 2*size + size/2
	s.tidy(time.Now())
	if got := strings.Join(s.kept(), " "); got != "prog.003.trace prog.004.trace" {
		t.Errorf("kept %s", got)
	}
	s.tidy(time.Now())
	if len(s.kept()) != 2 {
		t.Errorf("those that fit were removed as well: %q", s.kept())
	}
}

// TestRemove: what is sent now is kept, and what was not collected here is not touched.
func TestRemove(t *testing.T) {
	s, dirs := filled(t, 2, Config{})
	foreign := filepath.Join(filepath.Dir(dirs[0]), "mine.trace")
	writeTrace(t, foreign, []int{0}, 10)
	for _, dir := range []string{foreign, filepath.Join(foreign, ".."), filepath.Dir(dirs[0]) + "/none.trace"} {
		if err := s.Remove(dir); !errors.Is(err, ErrNotCollected) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}

	// A program that goes on: neither by hand nor because it is old.
	growing := filepath.Join(t.TempDir(), "live.trace")
	writeTrace(t, growing, []int{0}, 500)
	_, stop := start(t, quick(s.addr, growing))
	until(t, "it is sent", func() bool { return len(s.Runs()) == 3 })
	live := s.Runs()[2].Dir
	c := s.seat(t, live)
	if err := s.Remove(live); !errors.Is(err, ErrSending) || s.Removable(live) {
		t.Errorf("a run that is sent: %v", err)
	}
	s.cfg.Keep = time.Nanosecond
	s.tidy(time.Now().Add(time.Hour))
	if got := strings.Join(s.kept(), " "); got != filepath.Base(live) {
		t.Errorf("kept %s", got)
	}
	c()
	stop()
	until(t, "it can be removed", func() bool { return s.Removable(live) && s.Remove(live) == nil })
	if err := s.Remove(live); !errors.Is(err, ErrNotCollected) {
		t.Errorf("twice: %v", err)
	}
	if len(s.kept()) != 0 || s.bytes.n != 0 {
		t.Errorf("kept %q, %d bytes", s.kept(), s.bytes.n)
	}
}

// seat makes a run one that somebody sends until free is called.
func (s *server) seat(t *testing.T, dir string) (free func()) {
	t.Helper()
	r := s.in(dir)
	s.mu.Lock()
	r.users++
	s.mu.Unlock()
	return func() { s.drop(r) }
}

// TestRemovedHalfway: a collector that was killed while it removed a run leaves nothing behind for long.
func TestRemovedHalfway(t *testing.T) {
	s, dirs := filled(t, 1, Config{})
	s.stop()
	rest := filepath.Join(filepath.Dir(dirs[0]), removing+filepath.Base(dirs[0]))
	if err := os.Rename(dirs[0], rest); err != nil {
		t.Fatal(err)
	}
	s = serveAt(t, "", Config{Dir: filepath.Dir(dirs[0])})
	if _, err := os.Stat(rest); !errors.Is(err, os.ErrNotExist) || len(s.kept()) != 0 {
		t.Errorf("%v, kept %q", err, s.kept())
	}
}
