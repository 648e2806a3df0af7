package live

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/memory"
)

// Set is the runs that are shown.
type Set struct {
	mu   sync.Mutex
	runs map[string]*Run // by id
	done chan struct{}
	shared

	givenUp *Run // the last one; relieve alone uses it
	gaveUp  time.Time
}

// shared is what the runs of a Set share.
type shared struct {
	budget memory.Budget // of the process; 0: none
	turns  *turns
	news   news // a run was added or removed, or its state is another one
}

// news wakes all who wait for a change. Its zero value is ready.
type news struct {
	mu      sync.Mutex
	changed chan struct{} // closed with the next change; nil: nobody waits
}

func (n *news) wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed == nil {
		n.changed = make(chan struct{})
	}
	return n.changed
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}

const (
	// unused is how long after the last question about a run its snapshots are given up, so that of many runs
	// only those looked at take memory.
	unused = time.Minute
	// mostUnused is of how many runs snapshots are kept that nobody is using; those have open files.
	mostUnused = 64
	tidyEvery  = 5 * time.Second
)

// NewSet makes an empty set.
func NewSet() *Set {
	s := &Set{runs: map[string]*Run{}, done: make(chan struct{}), shared: shared{turns: newTurns()}}
	go func() {
		tick := time.NewTicker(tidyEvery)
		defer tick.Stop()
		for {
			select {
			case <-s.done:
				return
			case <-tick.C:
				s.tidy(unused)
			}
		}
	}()
	return s
}

// tidy gives up the snapshots of runs that nobody has asked about for some time, and those of all but few
// runs that nobody is using. It shows runs no longer whose folders were removed: a collector may get new runs
// for ever.
func (s *Set) tidy(after time.Duration) {
	list, _ := s.List()
	slices.SortFunc(list, func(a, b *Run) int { return b.lastWatched().Compare(a.lastWatched()) })
	kept := 0
	for _, r := range list {
		if r.takes() > 0 {
			kept++
		}
		if kept > mostUnused {
			r.spare(true)
			r.spare(false)
		}
		if !r.rest(after) {
			continue
		}
		if _, err := os.Stat(r.dir); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		s.Remove(r.dir)
	}
}

// Remove shows the run in a folder no longer, if it is shown.
func (s *Set) Remove(dir string) {
	s.mu.Lock()
	r := s.runs[RunID(dir)]
	delete(s.runs, RunID(dir))
	s.mu.Unlock()
	if r != nil {
		s.news.tell()
		r.Close()
	}
}

// Add shows one more run, or gives the one that is shown already. It fails as Open does.
func (s *Set) Add(dir string, opt Options) (*Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[RunID(dir)]; r != nil {
		return r, nil
	}
	r, err := open(dir, opt, &s.shared)
	if err != nil {
		return nil, err
	}
	s.runs[r.id] = r
	s.news.tell()
	return r, nil
}

// Get gives a run by its id, nil if there is none.
func (s *Set) Get(id string) *Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[id]
}

// List gives all runs, the latest first, and a channel that is closed when a run is added or removed, or
// changes its state.
func (s *Set) List() ([]*Run, <-chan struct{}) {
	changed := s.news.wait() // before the list is made
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.SortedFunc(maps.Values(s.runs), func(a, b *Run) int {
		return cmp.Or(b.Info().Started.Compare(a.Info().Started), strings.Compare(a.dir, b.dir))
	})
	return list, changed
}

// Close ends showing all runs.
func (s *Set) Close() {
	close(s.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		r.Close()
	}
	clear(s.runs)
}
