// Package archives unpacks traces that were saved as archives, and keeps what was made of files of others, in
// the user's cache. It stands apart from package files for the sake of builds without cgo: archive/tar is
// another package there, and so would all be that import trace.
package archives

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// A trace in an archive, as the page saves one: a .tar.gz with one folder. It is unpacked once, into the
// user's cache, and found there as long as the archive is the same. What nobody has opened for a week goes.

// unpackedFor is how long an unpacked archive is kept after it was opened last.
const unpackedFor = 7 * 24 * time.Hour

// MaxUnpacked bounds the bytes of the files of an archive, which may have been packed to a thousandth.
var MaxUnpacked int64 = 64 << 30

// maxUnpackedFiles bounds their number: a trace has a file for each node, and a few.
const maxUnpackedFiles = 70_000

// Is tells whether a file begins as a .tar.gz does, whatever it is called.
func Is(name string) bool {
	if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 3)
	_, err = io.ReadFull(f, magic)
	return err == nil && string(magic) == "\x1f\x8b\x08"
}

// Unpack gives the folder with the files of the trace in an archive. progress, if not nil, gets the number of
// bytes unpacked so far. The error names the archive.
func Unpack(ctx context.Context, archive string, progress func(done int64)) (dir string, err error) {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(archive), ".tgz"), ".tar.gz")
	return Made(archive, "", name, func(f *os.File, dir string) error {
		return unpackInto(ctx, f, dir, progress)
	})
}

// unpacked is the folder of the user's cache in which Made makes folders.
func unpacked() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "whyslow", "unpacked"), err
}

// IsMade tells whether a folder is one that Made has made.
func IsMade(dir string) bool {
	all, err := unpacked()
	return err == nil && filepath.Dir(filepath.Dir(dir)) == all
}

// Made gives a folder NAME.trace that is made of a file, in the user's cache: make makes it, which is not
// there yet, unless it was made before of the same file in the same way; how tells ways apart. Folders that
// nobody has asked for in days are removed. The error names the file.
func Made(file, how, name string, make func(f *os.File, dir string) error) (dir string, err error) {
	all, err := unpacked()
	if err != nil {
		return "", fmt.Errorf("%s: no place to unpack it: %w; set HOME or XDG_CACHE_HOME", file, err)
	}
	if err := os.MkdirAll(all, 0o700); err != nil {
		return "", fmt.Errorf("%s: no place to unpack it: %w; set XDG_CACHE_HOME", file, err)
	}
	forgetUnpacked(all)
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d%s", abs, st.Size(), st.ModTime().UnixNano(), how))
	place := filepath.Join(all, hex.EncodeToString(sum[:12]))
	if found, err := os.ReadDir(place); err == nil && len(found) == 1 {
		now := time.Now()
		_ = os.Chtimes(place, now, now) // it was opened
		return filepath.Join(place, found[0].Name()), nil
	}
	making, err := os.MkdirTemp(all, "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(making)
	if !strings.HasSuffix(name, ".trace") {
		name += ".trace"
	}
	if err := make(f, filepath.Join(making, name)); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	if err := os.Rename(making, place); err != nil { // another process may have been faster
		if _, there := os.Stat(place); there != nil {
			return "", err
		}
	}
	return filepath.Join(place, name), nil
}

// unpackInto makes the folder dir of the files of an archive. All must be of one folder; links and the like
// are left out.
func unpackInto(ctx context.Context, from io.Reader, dir string, progress func(int64)) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	zip, err := gzip.NewReader(bufio.NewReaderSize(from, 1<<16))
	if err != nil {
		return errors.New("not a complete .tar.gz")
	}
	var done int64
	of := ""
	in := tar.NewReader(zip)
	for n := 0; ; n++ {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF) && n > 0 && of != "":
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("it contains no trace")
		case err != nil:
			return errors.New("not a complete .tar.gz")
		case n == maxUnpackedFiles:
			return fmt.Errorf("it has more than %d files: no trace has", maxUnpackedFiles)
		}
		file := path.Base(path.Clean(h.Name))
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(file) || !ofTrace(file) {
			continue
		}
		if parent := path.Dir(path.Clean(h.Name)) + "/"; of != "" && parent != of {
			return fmt.Errorf("it has several traces, %s and %s: unpack it and give one", path.Clean(of),
				path.Clean(parent))
		} else {
			of = parent
		}
		out, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is in it twice", file)
		} else if err != nil {
			return err
		}
		for err == nil {
			var k int64
			k, err = io.CopyN(out, in, 1<<20)
			if done += k; done > MaxUnpacked {
				err = fmt.Errorf("it has more than %d bytes when unpacked", MaxUnpacked)
			} else if err == nil || errors.Is(err, io.EOF) {
				if progress != nil {
					progress(done)
				}
				err = cmp.Or(err, ctx.Err())
			} else if !isDisk(err) {
				err = errors.New("not a complete .tar.gz")
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if err := cmp.Or(err, out.Close()); err != nil {
			return err
		}
	}
}

// isDisk tells whether an error is that of writing a file.
func isDisk(err error) bool { return errors.As(err, new(*fs.PathError)) }

// ofTrace tells whether a file of that name belongs to a trace. What else there is is not needed, and an
// index might be that of another program.
func ofTrace(file string) bool {
	ext := path.Ext(file)
	return ext == ".wst" || ext == ".json"
}

// forgetUnpacked removes what nobody has opened for long.
func forgetUnpacked(all string) {
	entries, err := os.ReadDir(all)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > unpackedFor {
			_ = os.RemoveAll(filepath.Join(all, e.Name())) // next time, if not now
		}
	}
}
