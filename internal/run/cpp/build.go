package cpp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/compile"
	"github.com/whyslow/whyslow/sdk"
)

// A unit is one file to compile.
type unit struct {
	name    string // as the user knows it
	file    string // of ours: its base name, which the linker mentions; "" for a file of the user's
	text    string // of ours
	inDir   bool   // sees the program's directory
	key     string
	made    *compile.Made
	command []string // that compiled it
	err     error
}

// Build makes the library, or finds it in the cache. A *CompileError means that the user's code is at fault.
// Several processes may build the same program at once.
func Build(ctx context.Context, s Spec) (*Built, error) {
	b, err := newBuilder(s)
	if err != nil {
		return nil, err
	}
	if lib := b.cache.Find(b.library()); lib != nil {
		return &Built{Path: lib.Path, Cached: true, Read: lib.Read, Note: b.cache.Note, Misfits: b.misfits}, nil
	}
	compiled, err := b.compileAll(ctx)
	if err != nil {
		return nil, err
	}
	b.progress(len(b.units), len(b.units), "")
	lib, err := b.cache.Make(ctx, b.library())
	if err != nil {
		return nil, err
	}
	b.cache.Prune()
	return &Built{Path: lib.Path, Compiled: compiled, Read: lib.Read, Note: b.cache.Note,
		Misfits: b.misfits}, nil
}

type builder struct {
	Spec
	cxx      []string // the compiler
	flags    []string // of this build
	cxxflags []string // CXX_FLAGS
	ldflags  []string // LDFLAGS
	identity string   // of the compiler, with everything about it that a result depends on
	cache    *compile.Cache
	include  string   // in the cache: ucenv.h
	headers  []string // names of files that a quoted include could find, in the directories searched
	units    []*unit  // those of ours first
	misfits  []string
}

func newBuilder(s Spec) (*builder, error) {
	b := &builder{Spec: s}
	b.Dir, b.Optimize = cmp.Or(b.Dir, "."), cmp.Or(b.Optimize, "-O3")
	var err error
	if b.cache, err = compile.Open(s.CacheDir, ""); err != nil {
		return nil, err
	}
	if err := b.findTools(); err != nil {
		return nil, err
	}
	if b.include, err = b.cache.Folder(include); err != nil {
		return nil, err
	}
	sources, err := b.findSources()
	if err != nil {
		return nil, err
	}
	b.makeUnits(sources)
	b.misfits = misfits(s.Prog, sources)
	return b, nil
}

// include are the headers of ours. WHYSLOW_LUNA tells whyslow.hpp that there is a run to emit into.
var include = map[string]string{"ucenv.h": ucenvH, "whyslow_abi.h": abiH, "whyslow_wrap.h": wrapH,
	"whyslow.hpp": sdk.HeaderCPP}

// findTools resolves compiler and flags.
func (b *builder) findTools() error {
	b.cxx = strings.Fields(cmp.Or(b.CXX, os.Getenv("CXX")))
	if len(b.cxx) == 0 {
		b.cxx = []string{"g++"}
	}
	b.flags = []string{"-std=c++11", "-fPIC", b.Optimize, "-pthread"}
	if b.Debug {
		b.flags = append(b.flags, "-g")
	}
	b.cxxflags = strings.Fields(os.Getenv("CXX_FLAGS"))
	b.ldflags = strings.Fields(os.Getenv("LDFLAGS"))
	tool, err := compile.Tool(b.cxx...)
	if err != nil {
		return fmt.Errorf("no C++ compiler: %s was not found; install one (apt install g++) or name one "+
			"in the environment variable CXX", b.cxx[0])
	}
	id := []string{tool, compile.Hash(b.flags...), compile.Hash(b.cxxflags...)}
	// These may refer to the current directory, or put it into the result. (Debug information calls it ".".)
	if len(b.cxxflags) > 0 || compile.SearchesPaths() {
		id = append(id, b.cache.Abs("."))
	}
	b.identity = compile.Hash(append(id, compile.Native(slices.Concat(b.cxx, b.cxxflags)...)...)...)
	return nil
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
		if abs := b.cache.Abs(path); !seen[abs] {
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
			path, ext := filepath.Join(dir, e.Name()), filepath.Ext(e.Name())
			switch {
			case e.IsDir() || strings.HasPrefix(e.Name(), "."):
			case ext == ".cpp" && i < len(dirs):
				add(path)
			case headerNames[ext]:
				b.headers = append(b.headers, path)
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
var headerNames = map[string]bool{".h": true, ".hh": true, ".hpp": true, ".hxx": true, ".H": true,
	".inc": true, ".inl": true, ".ipp": true, ".tpp": true, ".tcc": true}

// makeUnits names everything that an object depends on, but for the headers it includes. Names are as the
// user gives them: an equal program elsewhere is the same program.
func (b *builder) makeUnits(sources []string) {
	b.units = []*unit{
		{name: b.Prog.File, file: filepath.Base(b.Prog.File) + ".cpp", text: generate(b.Prog, sources),
			inDir: true},
		{name: runtimeFile, file: runtimeFile, text: runtimeCC},
	}
	if !b.NoWaits {
		b.units = append(b.units, &unit{name: waitsFile, file: waitsFile, text: waitsCC})
	}
	for _, path := range sources {
		b.units = append(b.units, &unit{name: path, inDir: true})
	}
	for _, u := range b.units {
		key := []string{b.identity, filepath.Base(b.include), u.name, u.file, u.text}
		if u.inDir {
			key = append(key, b.Dir, compile.Hash(b.headers...))
		}
		u.key = compile.Hash(key...)
	}
}

const runtimeFile, waitsFile = "whyslow_runtime.cpp", "whyslow_waits.cpp"

// compileAll compiles the units that need it, as many at once as there are processors.
func (b *builder) compileAll(ctx context.Context) (compiled int, err error) {
	var stale []*unit
	for _, u := range b.units {
		if u.made = b.cache.Find(b.object(u)); u.made == nil {
			stale = append(stale, u)
		}
	}
	var done atomic.Int64
	err = procs.Each(ctx, runtime.NumCPU(), len(stale), func(_, i int) error {
		u := stale[i]
		b.progress(int(done.Load()), len(stale)+1, u.name)
		u.made, u.err = b.cache.Make(ctx, b.object(u))
		done.Add(1)
		return nil // all that is wrong is said at once
	})
	if err != nil {
		return 0, err
	}
	var failed CompileError
	for _, u := range stale {
		var exit *exec.ExitError
		switch {
		case u.err == nil:
			b.print(b.clean(u.made.Output))
		case errors.As(u.err, &exit):
			failed.Output += b.clean(u.made.Output)
			if u.made.Output == "" {
				failed.Output += fmt.Sprintf("%s: the compiler failed: %v\n", u.name, u.err)
			}
			if failed.Command == "" {
				failed.Command = strings.Join(u.command, " ")
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

// object is the step that compiles a unit.
func (b *builder) object(u *unit) compile.Step {
	return compile.Step{Name: compile.ObjectName, Key: u.key, Make: func(ctx context.Context,
		dir string) ([]string, string, error) {
		src := u.name
		var places, own []string
		if u.inDir {
			// The directory is searched first for quoted includes, last for others: it must not hide system headers.
			places = []string{"-iquote", b.Dir, "-idirafter", b.Dir}
		}
		if u.file != "" {
			src = filepath.Join(dir, u.file)
			own = []string{"-fexceptions", "-frtti"} // the wrappers catch
			if err := os.WriteFile(src, []byte(u.text), 0o644); err != nil {
				return nil, "", err
			}
		} else if f, err := os.Open(src); err != nil {
			return nil, "", fmt.Errorf("cannot read C++ file: %w", err)
		} else {
			f.Close()
		}
		// Lines are for those who ask where a call waited; the code is the same without. Where the program is
		// compiled is not told: elsewhere it is the same program.
		lines := []string{"-g1", b.cache.Here("."), "-DWHYSLOW_LUNA"}
		words := slices.Concat(b.cxx, lines, b.flags, places, []string{"-I", b.include}, b.cxxflags, own)
		return compile.Object(dir, src, words, func(words []string) (string, error) {
			u.command = words
			return b.run(ctx, words)
		})
	}}
}

// exports keeps everything but our table private to the library. Else a routine called rand would be libc's,
// libstdc++ would bind to functions of the first library loaded, which then could not be unloaded, and
// libraries would share static objects.
const exports = "{ global: whyslow_library; local: *; };\n"

// exits are the functions of which whyslow_runtime.cc takes the place.
var exits = []string{"exit", "_exit", "_Exit", "quick_exit"}

// front is what follows WS_ where whyslow_waits.cc takes the place of a function, and that function's name.
var front = regexp.MustCompile(`^(?:TAKE\(|(?:SYNC|NAP|FILE|WAIT)\([^,]+,\s)\s*(\w+),`)

// linkFlags are those that every program gets.
func (b *builder) linkFlags() []string {
	wrapped := exits
	if !b.NoWaits {
		for _, text := range strings.Split(waitsCC, "\nWS_")[1:] {
			if f := front.FindStringSubmatch(text); f != nil {
				wrapped = append(wrapped, f[1])
			}
		}
	}
	return []string{"-shared", "-Wl,--wrap=" + strings.Join(wrapped, ",--wrap="), "-Wl,-t"}
}

// library is the step that links the objects.
func (b *builder) library() compile.Step {
	flags := b.linkFlags()
	key := slices.Concat([]string{exports}, flags, b.ldflags)
	if len(b.ldflags) > 0 {
		key = append(key, b.cache.Abs("."))
	}
	s := compile.Step{Name: "lib.so"}
	for _, u := range b.units {
		key = append(key, u.key)
		s.Uses = append(s.Uses, u.made)
	}
	s.Key = compile.Hash(key...)
	s.Make = func(ctx context.Context, dir string) (read []string, output string, err error) {
		script := filepath.Join(dir, "exports")
		if err := os.WriteFile(script, []byte(exports), 0o644); err != nil {
			return nil, "", err
		}
		words := slices.Concat(b.cxx, b.flags, b.cxxflags, flags,
			[]string{"-Wl,--version-script=" + script, "-o", filepath.Join(dir, s.Name)})
		for _, u := range b.units {
			words = append(words, u.made.Path)
		}
		words = append(words, b.ldflags...)
		output, err = b.run(ctx, words)
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, output, &CompileError{Output: b.clean(output), Command: strings.Join(words, " "), Link: true}
		}
		// The linker's trace names the libraries it has read; those of the user's may change.
		for line := range strings.Lines(output) {
			path := strings.TrimSpace(line)
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
				read = append(read, path)
			}
		}
		return read, output, err
	}
	return s
}

func (b *builder) progress(done, total int, file string) {
	if b.Progress != nil {
		b.Progress(done, total, file)
	}
}

// run runs a command and returns what it printed.
func (b *builder) run(ctx context.Context, words []string) (string, error) {
	b.print(strings.Join(words, " ") + "\n")
	return compile.Run(ctx, "", words)
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
