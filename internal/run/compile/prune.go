package compile

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// cacheLimit is the size in bytes beyond which the oldest files are removed.
const cacheLimit = 1 << 30

// ours matches what may be removed; other things of whyslow's may be in the same folder.
var ours = regexp.MustCompile(`^[0-9a-f]{64}(\.\w+)?$`)

// Prune removes what was used longest ago until the cache is within its limit, 1 GiB, and what killed builds
// left. What was used in the last ten minutes stays: another process may be about to use it. Errors do not
// matter: it is done again after the next build.
func (c *Cache) Prune() { prune(c.Dir, cacheLimit) }

func prune(dir string, limit int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	type entry struct {
		path string
		size int64
		used time.Time
	}
	now := time.Now()
	var old []entry
	var total int64
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			continue
		}
		it := entry{filepath.Join(dir, e.Name()), sizeOf(filepath.Join(dir, e.Name())), st.ModTime()}
		switch age := now.Sub(it.used); {
		case strings.HasPrefix(e.Name(), "tmp-"), strings.HasPrefix(e.Name(), "."):
			if age > 24*time.Hour {
				os.RemoveAll(it.path)
			}
		case ours.MatchString(e.Name()):
			total += it.size
			if age > 10*time.Minute {
				old = append(old, it)
			}
		}
	}
	slices.SortFunc(old, func(a, b entry) int { return a.used.Compare(b.used) })
	for _, it := range old {
		if total <= limit {
			return
		}
		if os.RemoveAll(it.path) == nil {
			total -= it.size
		}
	}
}

// sizeOf adds up the sizes of a file, or of all files in a folder.
func sizeOf(path string) (n int64) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if st, err := e.Info(); err == nil && !e.IsDir() {
			n += st.Size()
		}
		return nil
	})
	return n
}
