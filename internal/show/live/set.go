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
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/memory"
)

// Set is the runs that are shown.
type Set struct {
	mu      sync.Mutex
	runs    map[string]*Run // by id
	budget  memory.Budget   // of all of them
	changed chan struct{}
	done    chan struct{}

	followed atomic.Int64 // runs that are followed event by event
}

// unused is how long after the last question about a run its snapshots are given up, so that of many runs
// only those looked at take memory.
const unused = 5 * time.Minute

// NewSet makes an empty set.
func NewSet() *Set {
	s := &Set{runs: map[string]*Run{}, changed: make(chan struct{}), done: make(chan struct{})}
	go func() {
		tick := time.NewTicker(unused / 5)
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

// tidy gives up the snapshots of runs that nobody has asked about for some time, and shows those no longer
// whose folders were removed: a collector may get new runs for ever.
func (s *Set) tidy(after time.Duration) {
	list, _ := s.List()
	for _, r := range list {
		if !r.rest(after) {
			continue
		}
		if _, err := os.Stat(r.dir); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		s.mu.Lock()
		delete(s.runs, r.id)
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
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
	r, err := open(dir, opt, &s.followed, s.budget)
	if err != nil {
		return nil, err
	}
	s.runs[r.id] = r
	close(s.changed)
	s.changed = make(chan struct{})
	return r, nil
}

// Get gives a run by its id, nil if there is none.
func (s *Set) Get(id string) *Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[id]
}

// List gives all runs, the latest first, and a channel that is closed when another one is added.
func (s *Set) List() ([]*Run, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.SortedFunc(maps.Values(s.runs), func(a, b *Run) int {
		return cmp.Or(b.Info().Started.Compare(a.Info().Started), strings.Compare(a.dir, b.dir))
	})
	return list, s.changed
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
