package files

import (
	"os"
	"strings"
	"time"
)

// Names are the names in a folder that end in a suffix. A folder may have any number of others, and is asked
// again and again, so it is read only when it has changed. One goroutine at a time may use it.
type Names struct {
	dir, suffix string
	changed     time.Time // as the folder was when it was read
	sure        bool      // no change since then can have the same time
	list        []string
}

// NewNames makes the Names of a folder, which need not be there yet.
func NewNames(dir, suffix string) *Names { return &Names{dir: dir, suffix: suffix} }

// coarse is more than the step in which file systems count times.
const coarse = 3 * time.Second

// Read returns the names there are, in order. They must not be changed.
func (n *Names) Read() ([]string, error) {
	before := time.Now()
	st, err := os.Stat(n.dir)
	if err != nil {
		return nil, err
	}
	if n.sure && st.ModTime().Equal(n.changed) {
		return n.list, nil
	}
	var entries []os.DirEntry
	if err := Patient(func() (err error) {
		entries, err = os.ReadDir(n.dir)
		return err
	}); err != nil {
		return nil, err
	}
	n.list = nil
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), n.suffix) {
			n.list = append(n.list, e.Name())
		}
	}
	n.changed, n.sure = st.ModTime(), before.Sub(st.ModTime()) > coarse
	return n.list, nil
}
