package crew

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/whyslow/whyslow/internal/procs"
)

// seeFolder is how long a folder that another host has made may take to be seen.
const seeFolder = 3 * time.Second

// ShareFolder tells all ranks which folder rank 0 has, and checks that each of them sees it. If local is not
// nil it is called instead of the check: the ranks then write elsewhere.
func (c *Crew) ShareFolder(folder string, local func(folder string) error) (string, error) {
	marker := ""
	var err error
	if c.Speaks() {
		marker, err = markFolder(folder)
	}
	name, failed := procs.Broadcast(c.Group(), 0, []byte(marker))
	if err = errors.Join(err, failed); err != nil {
		return folder, err
	}
	marker = string(name)
	if !c.Speaks() {
		folder = filepath.Dir(marker)
	}
	if local == nil {
		for until := time.Now().Add(seeFolder); marker != ""; time.Sleep(seeFolder / 60) {
			if _, err = os.Stat(marker); err == nil || time.Now().After(until) {
				break
			}
		}
		if err != nil {
			err = fmt.Errorf("does not see %s: all hosts must see the folder of the trace, or use"+
				" --local-dir DIR", folder)
		}
	} else {
		err = local(folder)
	}
	failed = procs.Barrier(c.Group())
	if c.Speaks() && marker != "" {
		err = errors.Join(err, os.Remove(marker))
	}
	return folder, errors.Join(err, failed)
}

// markFolder makes an empty file in a folder, by which others know that they see the same one, and returns
// its path.
func markFolder(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "rank0.*.tmp")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// GatherFiles brings a file of each rank to rank 0, which appends it to the file that into names.
func (c *Crew) GatherFiles(path string, into func(rank int) string) error {
	var size int64
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		size, err = file.Seek(0, io.SeekEnd)
	}
	read := func(b []byte, at int64) error {
		_, err := file.ReadAt(b, at)
		return err
	}
	return errors.Join(err, collectPieces(c.Group(), size, read, func(from int, b []byte) error {
		to, err := os.OpenFile(into(from), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
		if err != nil {
			return err
		}
		_, err = to.Write(b)
		return errors.Join(err, to.Close())
	}))
}

// GatherLines brings lines of each rank to rank 0, in the order of ranks.
func GatherLines(g procs.Group, own []string) (all []string, err error) {
	if g.Rank() == 0 {
		all = slices.Clone(own)
	}
	return all, procs.Collect(g, func() []string { return own }, func(_ int, theirs *[]string) error {
		all = append(all, *theirs...)
		return nil
	})
}
