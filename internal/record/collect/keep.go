package collect

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/words"
)

// Runs are removed when a user asks, when they are older than Config.Keep, and the oldest of them while all
// together take more than Config.MaxSize. A run that somebody sends is never removed, and neither is anything
// that the collector has not collected itself.

// Why a run is not removed.
var (
	ErrNotCollected = errors.New("it was not collected here")
	ErrSending      = errors.New("it is being sent")
)

// Removable tells whether Remove would remove the run in a folder now.
func (c *Collector) Removable(dir string) bool {
	r := c.in(dir)
	return r != nil && !r.busy()
}

// removing is the name that a folder has while it is removed: not that of a trace, so that nobody takes the
// rest for one.
const removing = ".removed-"

// Remove removes the collected run in a folder from the disk. It fails with ErrNotCollected, ErrSending, or
// because of the disk.
func (c *Collector) Remove(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	c.mu.Lock()
	r := c.dirs[abs]
	switch {
	case r == nil:
		c.mu.Unlock()
		return ErrNotCollected
	case r.users > 0:
		c.mu.Unlock()
		return ErrSending
	}
	gone := filepath.Join(filepath.Dir(abs), removing+filepath.Base(abs))
	r.mu.Lock()
	if err = r.there(); r.made && err == nil {
		err = os.Rename(abs, gone)
	} else if r.lost { // somebody removed or replaced it
		err = ErrNotCollected
	}
	r.lost = r.lost || err == nil
	r.mu.Unlock()
	if r.lost {
		c.forget(r)
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if c.cfg.OnRemoved != nil {
		c.cfg.OnRemoved(dir)
	}
	return os.RemoveAll(gone)
}

// removeRests removes what an earlier collector had no time to remove.
func (c *Collector) removeRests(entries []fs.DirEntry) {
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), removing) && strings.HasSuffix(e.Name(), ".trace") {
			if err := os.RemoveAll(filepath.Join(c.dir, e.Name())); err != nil {
				c.notify(err.Error())
			}
		}
	}
}

// tidyEvery is how often it is looked for runs to be removed.
const tidyEvery = 10 * time.Second

// keepTidy removes runs until the collector is closed.
func (c *Collector) keepTidy() {
	defer c.work.Done()
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
			c.tidy(time.Now())
		}
	}
}

// resting is a run that nobody sends.
type resting struct {
	dir   string
	last  time.Time // when something of it was written last
	bytes int64
}

// tidy removes runs that are too old, then the oldest until the others fit.
func (c *Collector) tidy(now time.Time) {
	var list []resting
	var total int64
	for _, r := range c.allRuns() {
		c.mu.Lock()
		users := r.users
		c.mu.Unlock()
		if users > 0 || !r.exists() {
			total += r.bytes.Load()
			continue
		}
		size := files.Size(r.dir)
		total += size
		list = append(list, resting{r.dir, lastWritten(r.dir), size})
	}
	slices.SortFunc(list, func(a, b resting) int {
		return cmp.Or(a.last.Compare(b.last), cmp.Compare(a.dir, b.dir))
	})
	for _, r := range list {
		why := ""
		switch {
		case c.cfg.Keep > 0 && now.Sub(r.last) > c.cfg.Keep:
			why = fmt.Sprintf("nothing has arrived for it for more than %v", c.cfg.Keep)
		case c.cfg.MaxSize > 0 && total > c.cfg.MaxSize:
			why = fmt.Sprintf("all runs take more than %s, and it is the oldest",
				words.English.Bytes(c.cfg.MaxSize))
		default:
			continue
		}
		switch err := c.Remove(r.dir); {
		case errors.Is(err, ErrSending), errors.Is(err, ErrNotCollected): // just now
		case err != nil:
			c.notify(fmt.Sprintf("%s cannot be removed: %v", r.dir, err))
		default:
			total -= r.bytes
			c.notify(fmt.Sprintf("%s is removed: %s", r.dir, why))
		}
	}
}

// lastWritten is when the collector wrote to the trace in a folder last.
func lastWritten(dir string) (last time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return time.Now() // it is removed only when that is known
	}
	ours := func(name string) bool { return name == stateFile || filepath.Ext(name) == ".wst" }
	for _, e := range entries {
		if info, err := e.Info(); err == nil && ours(e.Name()) && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}
