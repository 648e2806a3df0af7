// Package compile runs compilers and linkers and keeps what they make in one cache, by content.
//
// Callers describe a Step: a command and everything it depends on. Program is the
// common step: sources compiled one by one and linked. Make runs a step, or finds its result.
//
// The cache is a folder of the user's, shared by all processes. All names in it but tmp-* are hashes:
//
//	K.read   manifest of a step: the files it read. K hashes the rest: compiler, flags, names, our own texts
//	H/NAME   what a step made. H hashes K and the contents of the files read
//	H/sum    its length and checksum: a damaged one is made again
//	H/...    sources of ours, under the hash of their contents
//	tmp-*    work under way
//
// A manifest names files as the compiler did, so that equal programs in two folders share their results. A
// file is as it was if its size and time are, or else its content. So an unchanged program costs one small
// file and a few hundred stat calls, and nothing is hashed. A changed one is found again when it is changed
// back: the new H exists. Everything is made in tmp-* and renamed, so that readers see whole files only.
package compile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Cache is the folder as one build sees it. It looks at each source once, so every build opens its own.
type Cache struct {
	Dir  string // absolute
	Note string // what the user should know of the folder; or ""
	cwd  string // where commands run, and what relative names are relative to

	known sync.Map // source by path
	begin func() time.Time
}

// Made is a file in the cache.
type Made struct {
	Path string // absolute
	// the files that it was made from: SHA-256 by absolute path; files of the cache are left out
	Read   map[string]string
	Output string // of the commands, if they ran

	sources   []source
	uncertain bool // a source changed meanwhile
}

// Step makes one file of others.
type Step struct {
	Name string // of the file
	// hashes everything that the result depends on but the contents of the files that Make says it read
	Key  string
	Uses []*Made
	// Make makes the file Name in dir, which is empty and absolute. It returns the files that it read, relative
	// to the cache's working directory or absolute, and what the commands printed, also when they fail.
	Make func(ctx context.Context, dir string) (read []string, output string, err error)
}

// Open opens the cache in dir, or in the user's cache folder if dir is "". Commands are going to run in the
// folder cwd, or in the working directory if cwd is "". The error says what to set where nothing can be kept.
func Open(dir, cwd string) (*Cache, error) {
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no place to keep compiled code: %w; set HOME or XDG_CACHE_HOME", err)
		}
		dir = filepath.Join(user, "whyslow")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if cwd, err = filepath.Abs(cwd); err != nil {
		return nil, err
	}
	dir, note, err := private(dir)
	if err != nil {
		return nil, noPlace(err)
	}
	// A file changed before the moment that begin returns has an older time, whatever the resolution of file
	// times.
	begin := sync.OnceValue(func() time.Time { time.Sleep(2 * clockTick); return time.Now() })
	return &Cache{Dir: dir, Note: note, cwd: cwd, begin: begin}, nil
}

// private makes the cache folder, or finds it. Anyone who can write to it can run code as this user. So it
// leaves a folder alone that others can write to, and takes one beside it.
func private(dir string) (used, note string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", err
	}
	if mine(dir) {
		return dir, "", nil
	}
	used = fmt.Sprintf("%s-%d", dir, os.Geteuid())
	if err := os.Mkdir(used, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", "", err
	}
	if !mine(used) {
		return "", "", fmt.Errorf("others can write to %s and to %s", dir, used)
	}
	return used, fmt.Sprintf("others can write to %s: compiled code is kept in %s", dir, used), nil
}

// clockTick is longer than the resolution of file times.
const clockTick = 10 * time.Millisecond

func noPlace(err error) error {
	return fmt.Errorf("no place to keep compiled code: %w; set XDG_CACHE_HOME to a folder that can be "+
		"written", err)
}

// explain is noPlace for errors of files in the cache.
func (c *Cache) explain(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	file := ""
	switch {
	case errors.As(err, &path):
		file = path.Path
	case errors.As(err, &link):
		file = link.New
	}
	if c.inside(file) {
		return noPlace(err)
	}
	return err
}

func (c *Cache) inside(path string) bool {
	return strings.HasPrefix(path, c.Dir+string(filepath.Separator))
}

// Abs makes a name absolute that is relative to where commands run.
func (c *Cache) Abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.cwd, path)
}

// Here is the compiler's flag by which debug information has another name for the folder where commands run,
// so that it is the same wherever that is.
func (c *Cache) Here(name string) string { return "-fdebug-prefix-map=" + c.cwd + "=" + name }

// making holds a lock for each step that a goroutine of this process is making, so that equal steps run once.
var making sync.Map

// Make finds what a step makes, or runs it.
func (c *Cache) Make(ctx context.Context, s Step) (*Made, error) {
	if m := c.Find(s); m != nil {
		return m, nil
	}
	lock, _ := making.LoadOrStore(c.manifestPath(s), new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	if m := c.Find(s); m != nil { // another goroutine has made it
		return m, nil
	}
	m, err := c.run(ctx, s)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return m, c.explain(err)
}

// workFolder is where a step works, in a folder of its own in the cache.
const workFolder = "work"

// WorkFolders is a regular expression for the folders that steps work in, each with a slash behind it: in the
// compiler's messages they stand before names of files.
func (c *Cache) WorkFolders() string {
	return regexp.QuoteMeta(c.Dir+"/tmp-") + "[0-9]+/" + workFolder + "/"
}

// run makes a step's file. The result has the output also with an error.
func (c *Cache) run(ctx context.Context, s Step) (*Made, error) {
	began := c.begin()
	tmp, err := os.MkdirTemp(c.Dir, "tmp-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	dir, result := filepath.Join(tmp, workFolder), filepath.Join(tmp, "result")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(result, 0o755)); err != nil {
		return nil, err
	}
	made := &Made{}
	var read []string
	if read, made.Output, err = s.Make(ctx, dir); err != nil {
		return made, err
	}
	for _, path := range read {
		if c.inside(c.Abs(path)) { // named by its content
			continue
		}
		f, err := c.stamp(path)
		if err != nil {
			return made, err
		}
		made.uncertain = made.uncertain || f.MTime > began.Add(-clockTick).UnixNano()
		made.sources = append(made.sources, f)
	}
	for _, u := range s.Uses {
		made.uncertain = made.uncertain || u.uncertain
		made.sources = append(made.sources, u.sources...)
	}
	m := &manifest{c.cwd, unique(made.sources)}
	name := m.result(s)
	if made.uncertain {
		// It may be made of a mixture: good for this once, under a name that nobody else looks for.
		name = Hash(name, tmp)
	}
	sum, err := sumOf(filepath.Join(dir, s.Name))
	if err == nil {
		err = os.WriteFile(filepath.Join(result, sumFile), []byte(sum), 0o644)
	}
	if err == nil {
		err = os.Rename(filepath.Join(dir, s.Name), filepath.Join(result, s.Name))
	}
	if err != nil {
		return made, err
	}
	made.Path = filepath.Join(c.Dir, name, s.Name)
	made.Read = c.read(m.Sources)
	// Another process may have been faster: then the folder is there and renaming fails. Or what is there is
	// damaged, or of a version that wrote no sums.
	if err := os.Rename(result, filepath.Dir(made.Path)); err != nil && !whole(made.Path) {
		c.discard(filepath.Dir(made.Path))
		if err := os.Rename(result, filepath.Dir(made.Path)); err != nil && !whole(made.Path) {
			return made, err
		}
	}
	if made.uncertain {
		return made, nil
	}
	return made, m.save(c.manifestPath(s))
}

// sumFile stands beside what a step made.
const sumFile = "sum"

// whole tells whether what a step made is as it was made. Only accidents are looked for, since nobody else
// can write to the folder; so a quick checksum does.
func whole(path string) bool {
	want, err := os.ReadFile(filepath.Join(filepath.Dir(path), sumFile))
	if err != nil {
		return false
	}
	got, err := sumOf(path)
	return err == nil && got == string(want)
}

// sumOf is the length and checksum of a file.
func sumOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %08x\n", len(text), crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Folder keeps files, contents by slash-separated name, in a folder of the cache and returns its path.
func (c *Cache) Folder(files map[string]string) (dir string, err error) {
	defer func() { err = c.explain(err) }()
	var parts []string
	for name, text := range files {
		parts = append(parts, Hash(name, text))
	}
	slices.Sort(parts)
	dir = filepath.Join(c.Dir, Hash(parts...))
	if exists(dir) {
		keep(dir)
		return dir, nil
	}
	tmp, err := os.MkdirTemp(c.Dir, "tmp-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	for name, text := range files {
		path := filepath.Join(tmp, filepath.FromSlash(name))
		err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		if err != nil {
			return "", err
		}
	}
	if err := os.Rename(tmp, dir); err != nil && !exists(dir) {
		return "", err
	}
	return dir, nil
}

// Find returns what a step has made before from files as they are now, nil if there is no such thing.
func (c *Cache) Find(s Step) *Made {
	path := c.manifestPath(s)
	m := loadManifest(path)
	if m == nil {
		return nil
	}
	touched := m.Cwd != c.cwd
	for i := range m.Sources {
		f := &m.Sources[i]
		now, err := c.look(f.Path)
		if err != nil {
			return nil
		}
		if now.Size == f.Size && now.MTime == f.MTime && (m.Cwd == c.cwd || filepath.IsAbs(f.Path)) {
			continue
		}
		if now, err = c.stamp(f.Path); err != nil {
			return nil
		}
		touched = touched || now != *f
		*f = now
	}
	m.Cwd = c.cwd
	out := filepath.Join(c.Dir, m.result(s), s.Name)
	if !whole(out) {
		if exists(out) { // out of the way of the new one; who has it open keeps it
			c.discard(filepath.Dir(out))
		}
		return nil
	}
	if touched {
		_ = m.save(path) // if this fails the next build hashes again
	}
	keep(path)
	keep(filepath.Dir(out))
	return &Made{Path: out, Read: c.read(m.Sources), sources: m.Sources}
}

// discard removes a folder of the cache, at once for others.
func (c *Cache) discard(dir string) {
	tmp, err := os.MkdirTemp(c.Dir, "tmp-")
	if err == nil {
		_ = os.Rename(dir, filepath.Join(tmp, "damaged")) // another process may have done it
		_ = os.RemoveAll(tmp)
	}
}

// keep makes pruning think of a file as used.
func keep(path string) {
	st, err := os.Stat(path)
	if now := time.Now(); err == nil && now.Sub(st.ModTime()) > 24*time.Hour {
		_ = os.Chtimes(path, now, now)
	}
}

// source is a file that something was made from.
type source struct {
	Path  string // as the compiler named it
	Size  int64
	MTime int64  // nanoseconds since 1970
	Hash  string // SHA-256; "" until needed
}

// look returns size and time of a file, and its hash where that is known.
func (c *Cache) look(path string) (source, error) {
	if f, ok := c.known.Load(path); ok {
		return f.(source), nil
	}
	f, err := c.stat(path)
	if err == nil {
		c.known.Store(path, f)
	}
	return f, err
}

func (c *Cache) stat(path string) (source, error) {
	st, err := os.Stat(c.Abs(path))
	if err != nil {
		return source{}, err
	}
	return source{Path: path, Size: st.Size(), MTime: st.ModTime().UnixNano()}, nil
}

// stamp returns a file with its hash, as it is now.
func (c *Cache) stamp(path string) (source, error) {
	f, err := c.stat(path)
	if err != nil {
		return f, err
	}
	if k, _ := c.look(path); k.Hash != "" && k.Size == f.Size && k.MTime == f.MTime {
		return k, nil
	}
	if f.Hash, err = HashFile(c.Abs(path)); err != nil {
		return f, err
	}
	c.known.Store(path, f)
	return f, nil
}

// read gives the hashes of files by absolute path.
func (c *Cache) read(sources []source) map[string]string {
	m := make(map[string]string, len(sources))
	for _, f := range sources {
		m[c.Abs(f.Path)] = f.Hash
	}
	return m
}

// unique sorts by path and drops repetitions.
func unique(sources []source) []source {
	sources = slices.Clone(sources)
	slices.SortFunc(sources, func(a, b source) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(sources, func(a, b source) bool { return a.Path == b.Path })
}

// Hash returns the SHA-256 of the parts, each with its length, in hexadecimal.
func Hash(parts ...string) string {
	var all []byte
	for _, p := range parts {
		all = append(strconv.AppendInt(all, int64(len(p)), 10), ':')
		all = append(all, p...)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])
}

// HashFile returns the SHA-256 of a file's content in hexadecimal.
func HashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
