package cpp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// tools is the compiler and everything about it that a result depends on.
type tools struct {
	cxx      []string
	flags    []string // of this build
	cxxflags []string // CXX_FLAGS
	ldflags  []string // LDFLAGS
	identity string
}

// A unit is one file to compile.
type unit struct {
	name      string // as the user knows it
	path      string // absolute; "" for a file of ours
	file      string // of ours: its base name, which the linker mentions
	text      string // of ours
	inDir     bool   // sees the program's directory
	key       string // everything but the contents of the files it reads
	obj       string // file in the cache
	deps      []dep
	output    string // of the compiler
	err       error
	uncertain bool // a file changed while it was compiled
}

// Build makes the library, or finds it in the cache. A *CompileError means that the user's code is at fault.
// Several processes may build the same program at once.
func Build(ctx context.Context, s Spec) (*Built, error) {
	b, err := newBuilder(s)
	if err != nil {
		return nil, err
	}
	libKey := b.libKey()
	if m := b.files.load(filepath.Join(b.cache, libKey+".lib")); m != nil {
		return &Built{Path: filepath.Join(b.cache, m.out), Cached: true, Read: hashes(m.deps)}, nil
	}
	if b.tmp, err = os.MkdirTemp(b.cache, "tmp-"); err != nil {
		return nil, b.explain(err)
	}
	defer os.RemoveAll(b.tmp)
	compiled, err := b.compileAll(ctx)
	if err != nil {
		return nil, b.explain(err)
	}
	path, deps, err := b.link(ctx, libKey)
	if err != nil {
		return nil, b.explain(err)
	}
	prune(b.cache, cacheLimit)
	return &Built{Path: path, Compiled: compiled, Read: hashes(deps)}, nil
}

type builder struct {
	Spec
	tools
	cache   string // absolute
	include string // in the cache: ucenv.h
	tmp     string
	cwd     string
	headers []string // names of files that a quoted include could find, in the directories searched
	units   []*unit  // those of ours first
	files   *files
}

func newBuilder(s Spec) (*builder, error) {
	b := &builder{Spec: s, files: newFiles()}
	if b.Dir == "" {
		b.Dir = "."
	}
	if b.Optimize == "" {
		b.Optimize = "-O3"
	}
	var err error
	if b.cwd, err = os.Getwd(); err != nil {
		return nil, err
	}
	if b.cache = s.CacheDir; b.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no place to keep compiled C++ code: %w; set HOME or XDG_CACHE_HOME", err)
		}
		b.cache = filepath.Join(dir, "whyslow")
	}
	if b.cache, err = filepath.Abs(b.cache); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		return nil, noPlace(err)
	}
	if err := b.findTools(); err != nil {
		return nil, err
	}
	if b.include, err = writeInclude(b.cache); err != nil {
		return nil, noPlace(err)
	}
	sources, err := b.findSources()
	if err != nil {
		return nil, err
	}
	b.makeUnits(sources)
	return b, nil
}

// noPlace is what is said of a cache that cannot be written.
func noPlace(err error) error {
	return fmt.Errorf("no place to keep compiled C++ code: %w; set XDG_CACHE_HOME to a folder that can be written", err)
}

// explain is noPlace for errors of files in the cache.
func (b *builder) explain(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	file := ""
	switch {
	case errors.As(err, &path):
		file = path.Path
	case errors.As(err, &link):
		file = link.New
	}
	if strings.HasPrefix(file, b.cache+string(filepath.Separator)) {
		return noPlace(err)
	}
	return err
}

// findTools resolves compiler and flags.
func (b *builder) findTools() error {
	cxx := b.CXX
	if cxx == "" {
		cxx = os.Getenv("CXX")
	}
	b.cxx = strings.Fields(cxx)
	if len(b.cxx) == 0 {
		b.cxx = []string{"g++"}
	}
	b.flags = []string{"-std=c++11", "-fPIC", b.Optimize, "-pthread"}
	if b.Debug {
		b.flags = append(b.flags, "-g")
	}
	b.cxxflags = strings.Fields(os.Getenv("CXX_FLAGS"))
	b.ldflags = strings.Fields(os.Getenv("LDFLAGS"))

	id := []string{"1", runtime.GOARCH, includeHash(), strings.Join(b.cxx, "\x00"), strings.Join(b.flags, "\x00"), strings.Join(b.cxxflags, "\x00")}
	found := false
	for _, w := range b.cxx { // "ccache g++": both count
		path, err := exec.LookPath(w)
		if err != nil {
			continue
		}
		found = found || w == b.cxx[0]
		if path, err = filepath.EvalSymlinks(path); err != nil {
			continue
		}
		if st, err := os.Stat(path); err == nil {
			id = append(id, fmt.Sprint(path, st.Size(), st.ModTime().UnixNano()))
		}
	}
	if !found {
		return fmt.Errorf("no C++ compiler: %s was not found; install one (apt install g++) or name one in the environment variable CXX", b.cxx[0])
	}
	relative := len(b.cxxflags) > 0 || b.Debug // may refer to the current directory, or put it into the result
	for _, name := range []string{"CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"} {
		id = append(id, os.Getenv(name))
		relative = relative || os.Getenv(name) != ""
	}
	if relative {
		id = append(id, b.cwd)
	}
	if strings.Contains(strings.Join(append(b.cxx, b.cxxflags...), " "), "native") { // a cache may be shared by unlike hosts
		id = append(id, processor())
	}
	b.identity = hash(id...)
	return nil
}

// processor returns the first processor's model and features.
func processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	first, _, _ := bytes.Cut(data, []byte("\n\n"))
	var id strings.Builder
	for line := range strings.Lines(string(first)) {
		if strings.HasPrefix(line, "model name") || strings.HasPrefix(line, "flags") || strings.HasPrefix(line, "Features") || strings.HasPrefix(line, "CPU part") {
			id.WriteString(line)
		}
	}
	return id.String()
}

// findSources lists the user's .cpp files, as the user names them, and notes the headers beside them.
func (b *builder) findSources() ([]string, error) {
	dirs := b.CppDirs
	if len(dirs) == 0 {
		dirs = []string{b.Dir}
	}
	var sources []string
	seen := map[string]bool{}
	add := func(path string) {
		abs := b.abs(path)
		if !seen[abs] {
			seen[abs] = true
			sources = append(sources, path)
		}
	}
	for i, dir := range append(slices.Clone(dirs), b.Dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("cannot look for C++ files: %w", err)
		}
		for _, e := range entries {
			name := e.Name()
			switch {
			case e.IsDir() || strings.HasPrefix(name, "."):
			case filepath.Ext(name) == ".cpp":
				if i < len(dirs) {
					add(filepath.Join(dir, name))
				}
			case headerNames[filepath.Ext(name)]:
				b.headers = append(b.headers, b.abs(filepath.Join(dir, name)))
			}
		}
	}
	for _, path := range b.Sources {
		if st, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("cannot read C++ file: %w", err)
		} else if st.IsDir() {
			return nil, fmt.Errorf("cannot read C++ file: %s is a directory", path)
		}
		add(path)
	}
	return sources, nil
}

// headerNames are the suffixes of files whose coming into being may change what an include finds.
var headerNames = map[string]bool{".h": true, ".hh": true, ".hpp": true, ".hxx": true, ".H": true, ".inc": true, ".inl": true, ".ipp": true, ".tpp": true, ".tcc": true}

func (b *builder) abs(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.cwd, path)
	}
	return filepath.Clean(path)
}

func (b *builder) makeUnits(sources []string) {
	b.units = []*unit{
		{name: b.Prog.File, file: filepath.Base(b.Prog.File) + ".cpp", text: generate(b.Prog, sources), inDir: true},
		{name: runtimeFile, file: runtimeFile, text: runtimeCC},
	}
	for _, path := range sources {
		b.units = append(b.units, &unit{name: path, path: b.abs(path), inDir: true})
	}
	for _, u := range b.units {
		key := []string{b.identity, u.name, u.path, u.text}
		if u.inDir {
			key = append(key, b.Dir, b.abs(b.Dir), strings.Join(b.headers, "\x00"))
		}
		u.key = hash(key...)
	}
}

const runtimeFile = "whyslow_runtime.cpp"

func (b *builder) libKey() string {
	parts := slices.Concat([]string{exports}, linkFlags, b.ldflags)
	if len(b.ldflags) > 0 {
		parts = append(parts, b.cwd)
	}
	for _, u := range b.units {
		parts = append(parts, u.key)
	}
	return hash(parts...)
}

// compileAll compiles the units that need it, as many at once as there are processors.
func (b *builder) compileAll(ctx context.Context) (compiled int, err error) {
	var stale []*unit
	for _, u := range b.units {
		if m := b.files.load(filepath.Join(b.cache, u.key+".dep")); m != nil {
			u.obj, u.deps = m.out, m.deps
		} else {
			stale = append(stale, u)
		}
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		done  int
		slots = make(chan struct{}, runtime.NumCPU())
	)
	// A file changed before this moment has an older time stamp, whatever the resolution of the file system's clock.
	if len(stale) > 0 {
		time.Sleep(2 * clockTick)
	}
	began := time.Now()
	for i, u := range stale {
		slots <- struct{}{}
		if b.Progress != nil {
			mu.Lock()
			d := done
			mu.Unlock()
			b.Progress(d, len(stale)+1, u.name)
		}
		wg.Go(func() {
			u.err = b.compile(ctx, u, i, began)
			mu.Lock()
			done++
			mu.Unlock()
			<-slots
		})
	}
	wg.Wait()
	var failed CompileError
	for _, u := range stale {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		var exit *exec.ExitError
		switch {
		case u.err == nil:
			b.print(b.clean(u.output))
		case errors.As(u.err, &exit):
			failed.Output += b.clean(u.output)
			if u.output == "" {
				failed.Output += fmt.Sprintf("%s: the compiler failed: %v\n", u.name, u.err)
			}
			if failed.Command == "" {
				failed.Command = strings.Join(b.compileCommand(u, b.tmp), " ")
			}
		default:
			return 0, u.err
		}
	}
	if failed.Command != "" {
		return 0, &failed
	}
	return len(stale), nil
}

// clockTick is longer than the resolution of file times.
const clockTick = 10 * time.Millisecond

func (b *builder) compileCommand(u *unit, dir string) []string {
	src := u.name
	var places, own []string
	if u.inDir {
		// The directory is searched first for quoted includes, last for others: it must not hide system headers.
		places = []string{"-iquote", b.Dir, "-idirafter", b.Dir}
	}
	if u.path == "" {
		src = filepath.Join(dir, u.file)
		own = []string{"-fexceptions", "-frtti"} // the wrappers catch
	}
	out := filepath.Join(dir, "out")
	return slices.Concat(b.cxx, b.flags, places, []string{"-I", b.include}, b.cxxflags, own, []string{"-MD", "-MF", out + ".d", "-c", src, "-o", out + ".o"})
}

func (b *builder) compile(ctx context.Context, u *unit, i int, began time.Time) error {
	dir := filepath.Join(b.tmp, fmt.Sprint(i))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if u.path == "" {
		if err := os.WriteFile(filepath.Join(dir, u.file), []byte(u.text), 0o644); err != nil {
			return err
		}
	} else if err := canRead(u.name); err != nil {
		return err
	}
	var err error
	if u.output, err = b.run(ctx, b.compileCommand(u, dir)); err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(dir, "out.d"))
	if err != nil {
		return err
	}
	content := []string{u.key}
	for _, path := range parseDeps(string(list)) {
		path = b.abs(path)
		if strings.HasPrefix(path, b.cache+string(filepath.Separator)) { // ours: in the key
			continue
		}
		d, err := b.files.stamp(path)
		if err != nil {
			return err
		}
		u.uncertain = u.uncertain || d.mtime > began.Add(-clockTick).UnixNano()
		u.deps = append(u.deps, d)
		content = append(content, d.path, d.hash)
	}
	u.obj = hash(content...) + ".o"
	obj := filepath.Join(dir, "out.o")
	if u.uncertain {
		// It may be made of a mixture: good for this once, under a name nobody else looks for.
		u.obj = filepath.Join(filepath.Base(b.tmp), fmt.Sprint(i), "out.o")
		return nil
	}
	if err := os.Rename(obj, filepath.Join(b.cache, u.obj)); err != nil {
		return err
	}
	return b.files.save(filepath.Join(b.cache, u.key+".dep"), &manifest{u.obj, u.deps})
}

// exports keeps everything but our table private to the library. Else a routine called rand would be libc's, libstdc++
// would bind to functions of the first library loaded, which then could not be unloaded, and libraries would share static objects.
const exports = "{ global: whyslow_library; local: *; };\n"

var linkFlags = []string{"-shared", "-Wl,--wrap=exit,--wrap=_exit,--wrap=_Exit,--wrap=quick_exit", "-Wl,-t"}

// link makes the library from the objects and remembers it. deps are what it was made from.
func (b *builder) link(ctx context.Context, key string) (path string, deps []dep, err error) {
	if b.Progress != nil {
		b.Progress(len(b.units), len(b.units), "")
	}
	out := filepath.Join(b.tmp, "lib.so")
	script := filepath.Join(b.tmp, "exports")
	if err := os.WriteFile(script, []byte(exports), 0o644); err != nil {
		return "", nil, err
	}
	args := slices.Concat(b.cxx, b.flags, b.cxxflags, linkFlags, []string{"-Wl,--version-script=" + script, "-o", out})
	content := []string{key}
	uncertain := false
	for _, u := range b.units {
		args = append(args, filepath.Join(b.cache, u.obj))
		content = append(content, u.obj)
		deps = append(deps, u.deps...)
		uncertain = uncertain || u.uncertain
	}
	args = append(args, b.ldflags...)
	output, err := b.run(ctx, args)
	var exit *exec.ExitError
	if ctx.Err() != nil {
		return "", nil, ctx.Err()
	} else if errors.As(err, &exit) {
		return "", nil, &CompileError{Output: b.clean(output), Command: strings.Join(args, " "), Link: true}
	} else if err != nil {
		return "", nil, err
	}
	// The linker's trace names the libraries it has read; those of the user's may change.
	for line := range strings.Lines(output) {
		path := b.abs(strings.TrimSpace(line))
		if strings.HasPrefix(path, b.cache+string(filepath.Separator)) {
			continue
		}
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			continue
		}
		if d, err := b.files.stamp(path); err == nil {
			deps = append(deps, d)
			content = append(content, d.path, d.hash)
		}
	}
	name := hash(content...) + ".so"
	path = filepath.Join(b.cache, name)
	if err := os.Rename(out, path); err != nil {
		return "", nil, err
	}
	if uncertain {
		return path, deps, nil
	}
	return path, deps, b.files.save(filepath.Join(b.cache, key+".lib"), &manifest{name, unique(deps)})
}

// run runs a command and returns what it printed.
func (b *builder) run(ctx context.Context, args []string) (string, error) {
	b.print(strings.Join(args, " ") + "\n")
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	// The compiler is several processes, which remove their files when they are asked to end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	return out.String(), err
}

// canRead finds out before the compiler does whether a file can be read: what that says looks like an error in the program.
func canRead(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot read C++ file: %w", err)
	}
	return f.Close()
}

var printing sync.Mutex

func (b *builder) print(s string) {
	if b.Verbose == nil || s == "" {
		return
	}
	printing.Lock()
	defer printing.Unlock()
	_, _ = io.WriteString(b.Verbose, s) // what cannot be told does not stop the build
}

// writeInclude puts the headers of ours into the cache, in a directory named by their content.
func writeInclude(cache string) (string, error) {
	headers := []struct{ name, text string }{{"ucenv.h", ucenvH}, {"whyslow_abi.h", abiH}, {"whyslow_wrap.h", wrapH}}
	dir := filepath.Join(cache, "include-"+includeHash())
	if _, err := os.Stat(filepath.Join(dir, headers[2].name)); err == nil {
		return dir, nil
	}
	tmp, err := os.MkdirTemp(cache, "tmp-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for _, h := range headers {
		if err := os.WriteFile(filepath.Join(tmp, h.name), []byte(h.text), 0o644); err != nil {
			return "", err
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	// Another process may have been faster: then the directory is not empty and renaming fails.
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, there := os.Stat(dir); there != nil {
			return "", err
		}
	}
	return dir, nil
}

var includeHash = sync.OnceValue(func() string { return hash(ucenvH, abiH, wrapH)[:16] })

// hash returns the SHA-256 of the parts, each with its length, in hexadecimal.
func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(append(strconv.AppendInt(nil, int64(len(p)), 10), ':'))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}
