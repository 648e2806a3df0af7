package cpp

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The cache directory holds, all names but the first being hashes:
//
//	include-H/   our headers
//	K.dep        manifest of a compiled unit: the object and the files it was made from. K hashes the rest: source's
//	             name, flags, compiler, headers that could be found
//	H.o          an object; H hashes K and the contents of those files
//	K.lib        manifest of a program's library, with the files of all units and the linker's
//	H.so         the library
//	tmp-*        work under way
//
// A manifest is good if all its files are as they were: same size and time, or else same content (then it is written
// again with the new times). So an unchanged program costs one small file and a few hundred stat calls, and nothing
// is hashed. Every file is written elsewhere and renamed, so that readers see whole files only.

// A dep is a file something was made from.
type dep struct {
	path  string
	size  int64
	mtime int64 // nanoseconds since 1970
	hash  string
}

type manifest struct {
	out  string // file in the same directory
	deps []dep
}

// files knows what files look like now. Each file is looked at once in a build.
type files struct {
	mu    sync.Mutex
	known map[string]dep // hash "" until needed
}

func newFiles() *files { return &files{known: map[string]dep{}} }

// look returns size and time of a file.
func (f *files) look(path string) (dep, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d, ok := f.known[path]; ok {
		return d, nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return dep{}, err
	}
	d := dep{path: path, size: st.Size(), mtime: st.ModTime().UnixNano()}
	f.known[path] = d
	return d, nil
}

// stamp returns a file with its hash.
func (f *files) stamp(path string) (dep, error) {
	d, err := f.look(path)
	if err != nil || d.hash != "" {
		return d, err
	}
	in, err := os.Open(path)
	if err != nil {
		return d, err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return d, err
	}
	d.hash = hex.EncodeToString(h.Sum(nil))
	f.mu.Lock()
	f.known[path] = d
	f.mu.Unlock()
	return d, nil
}

// load reads a manifest; nil if there is none or it is not good any more.
func (f *files) load(name string) *manifest {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	m, ok := parseManifest(string(text))
	if !ok {
		return nil
	}
	out := filepath.Join(filepath.Dir(name), m.out)
	if _, err := os.Stat(out); err != nil {
		return nil
	}
	touched := false
	for i := range m.deps {
		d := &m.deps[i]
		now, err := f.look(d.path)
		if err != nil || now.size != d.size {
			return nil
		}
		if now.mtime == d.mtime {
			continue
		}
		if now, err = f.stamp(d.path); err != nil || now.hash != d.hash {
			return nil
		}
		d.mtime = now.mtime
		touched = true
	}
	if touched {
		// If this fails the next build hashes again.
		_ = f.save(name, m)
	}
	keep(name, out)
	return m
}

// keep makes pruning think of the files as used.
func keep(names ...string) {
	now := time.Now()
	for _, name := range names {
		if st, err := os.Stat(name); err == nil && now.Sub(st.ModTime()) > 24*time.Hour {
			_ = os.Chtimes(name, now, now)
		}
	}
}

func (f *files) save(name string, m *manifest) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), "tmp-")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(m.text())
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

const manifestHead = "whyslow build 1"

// text is the manifest's file: a head, the result, then size, time, hash and quoted name of each file.
func (m *manifest) text() string {
	b := append([]byte(manifestHead+"\n"), m.out...)
	for _, d := range m.deps {
		b = append(b, '\n')
		b = strconv.AppendInt(b, d.size, 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, d.mtime, 10)
		b = append(b, ' ')
		b = append(b, d.hash...)
		b = append(b, ' ')
		b = strconv.AppendQuote(b, d.path)
	}
	return string(append(b, "\nend\n"...))
}

func parseManifest(text string) (*manifest, bool) {
	text, ok := strings.CutSuffix(text, "\nend\n")
	lines := strings.Split(text, "\n")
	if !ok || len(lines) < 2 || lines[0] != manifestHead || lines[1] == "" || strings.ContainsAny(lines[1], "/\\") {
		return nil, false
	}
	m := &manifest{out: lines[1]}
	for _, line := range lines[2:] {
		f := strings.SplitN(line, " ", 4)
		if len(f) != 4 {
			return nil, false
		}
		size, err1 := strconv.ParseInt(f[0], 10, 64)
		mtime, err2 := strconv.ParseInt(f[1], 10, 64)
		path, err3 := strconv.Unquote(f[3])
		if err1 != nil || err2 != nil || err3 != nil {
			return nil, false
		}
		m.deps = append(m.deps, dep{path, size, mtime, f[2]})
	}
	return m, true
}

// unique sorts by path and drops repetitions.
func unique(deps []dep) []dep {
	slices.SortFunc(deps, func(a, b dep) int { return strings.Compare(a.path, b.path) })
	return slices.CompactFunc(deps, func(a, b dep) bool { return a.path == b.path })
}

// parseDeps reads the rule that the compiler writes for make, and returns what stands after the colon.
func parseDeps(text string) []string {
	_, text, _ = strings.Cut(text, ": ")
	var res []string
	var cur []byte
	flush := func() {
		if len(cur) > 0 {
			res = append(res, string(cur))
		}
		cur = cur[:0]
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case c == '\\' && (next == '\n' || next == '\r'):
			i++
			flush()
		case c == '\\' && (next == ' ' || next == '#' || next == ':'):
			i++
			cur = append(cur, next)
		case c == '$' && next == '$':
			i++
			cur = append(cur, '$')
		case c == ' ' || c == '\t' || c == '\r':
			flush()
		case c == '\n':
			flush()
			return res
		default:
			cur = append(cur, c)
		}
	}
	flush()
	return res
}

// cacheLimit is the size in bytes beyond which the oldest files are removed.
const cacheLimit = 1 << 30

// prune removes the files used longest ago until the directory is within limit bytes, and what killed builds have left.
// Files of the last ten minutes stay: another process may be about to use them. Errors do not matter: it is done again.
func prune(dir string, limit int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	now := time.Now()
	var infos []fs.FileInfo
	var total int64
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			continue
		}
		age := now.Sub(st.ModTime())
		if e.IsDir() {
			stale := strings.HasPrefix(e.Name(), "tmp-") && age > 24*time.Hour ||
				strings.HasPrefix(e.Name(), "include-") && age > 90*24*time.Hour && e.Name() != "include-"+includeHash()
			if stale {
				os.RemoveAll(filepath.Join(dir, e.Name()))
			}
			continue
		}
		total += st.Size()
		if age > 10*time.Minute {
			infos = append(infos, st)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, st := range infos {
		if total <= limit {
			return
		}
		if os.Remove(filepath.Join(dir, st.Name())) == nil {
			total -= st.Size()
		}
	}
}

// hashes are those of files, by path.
func hashes(deps []dep) map[string]string {
	m := make(map[string]string, len(deps))
	for _, d := range deps {
		m[d.path] = d.hash
	}
	return m
}
