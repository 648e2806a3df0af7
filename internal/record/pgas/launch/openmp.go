package launch

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/files"
)

// OpenMP run-time systems, by what their libraries are called. Those with OMPT, the tools interface, report
// to a library that is loaded before them.
const (
	LLVM    = "LLVM's libomp"
	Intel   = "Intel's libiomp5"
	GCC     = "gcc's libgomp"
	Unknown = "" // the program is a script, or its libraries load OpenMP
	None    = "no OpenMP"
)

// openMP is what is known of an OpenMP program before it runs.
type openMP struct {
	runtime string // it links
	libomp  string // which is loaded in place of it; "": it has OMPT itself, or there is none
}

// NewOpenMP looks at the command of a user who wants an OpenMP program recorded: which run-time system does
// it link? note says what is done about that, "" if nothing needs to be.
func NewOpenMP(words []string) (l *Launch, note string, err error) {
	l = &Launch{Words: slices.Clone(words), launcher: -1, Program: words[0]}
	if l.Path, err = exec.LookPath(words[0]); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			err = fmt.Errorf("%s: no such command", words[0])
		}
		return nil, "", err
	}
	if note, err = l.WithOpenMP(l.Path); err != nil {
		return nil, "", err
	}
	return l, note, nil
}

// WithOpenMP has the OpenMP of the program recorded, which is the file at path. note is that of NewOpenMP.
func (l *Launch) WithOpenMP(path string) (note string, err error) {
	o := &openMP{}
	if o.runtime, err = runtimeOf(path); err != nil {
		return "", fmt.Errorf("%s %w", l.Program, err)
	}
	l.omp = o
	if o.runtime == LLVM || o.runtime == Intel {
		return "", nil
	}
	o.libomp = FindLibomp()
	switch {
	case o.runtime != GCC:
		return "", nil
	case o.libomp == "":
		return "", fmt.Errorf("%s links %s, which reports nothing to tools, and LLVM's libomp.so.5, which can run"+
			" it too, was not found: install libomp5 (apt-get install libomp5), or add its folder to LD_LIBRARY_PATH",
			l.Program, GCC)
	}
	return fmt.Sprintf("%s links %s, which reports nothing to tools: it runs on LLVM's, %s, instead", l.Program,
		GCC, o.libomp), nil
}

// preloaded is what is loaded before the program's own libraries. The library that records is the first: it
// takes calls of the run-time system, see gomp.h.
func (o *openMP) preloaded(library string) string {
	if o.libomp == "" || strings.ContainsAny(o.libomp, " :") {
		return library
	}
	return library + ":" + o.libomp
}

// nothing says why a program that ended well may have left no trace.
func (o *openMP) nothing(program string) string {
	if o.runtime == LLVM || o.runtime == Intel {
		return fmt.Sprintf("nothing was recorded: %s never reached an OpenMP construct, or its %s is so old that"+
			" it has no tools interface (OMPT, from LLVM 8 on)", program, o.runtime)
	}
	return fmt.Sprintf("nothing was recorded: %s does not use OpenMP (was it compiled with -fopenmp?), or it"+
		" never came to an OpenMP construct, and it made no thread", program)
}

// runtimeOf tells which run-time system a program links. An error continues a sentence that begins with its
// name.
func runtimeOf(path string) (string, error) {
	f, err := files.Open(path)
	if err != nil {
		return Unknown, nil // as for a program that may be executed and not be read
	}
	defer f.Close()
	program, err := elf.NewFile(f)
	if err != nil || program.Type != elf.ET_EXEC && program.Type != elf.ET_DYN {
		return Unknown, nil // a script
	}
	if !slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return "", errors.New("is linked statically, so that no library can be loaded to record it: link it" +
			" dynamically (without -static)")
	}
	needed, err := program.ImportedLibraries()
	if err != nil {
		return Unknown, nil
	}
	for _, name := range needed {
		switch base, _, _ := strings.Cut(filepath.Base(name), ".so"); {
		case base == "libomp" || strings.HasPrefix(base, "libomp-") || base == "libomp5":
			return LLVM, nil
		case base == "libiomp5":
			return Intel, nil
		case base == "libgomp":
			return GCC, nil
		}
	}
	if symbols, err := program.Symbols(); err == nil {
		for _, s := range symbols {
			if s.Section != elf.SHN_UNDEF && (s.Name == "GOMP_parallel" || s.Name == "__kmpc_fork_call") {
				return "", errors.New("has an OpenMP run-time system linked into it statically, which reports nothing" +
					" to tools: link it dynamically (without -static-openmp)")
			}
		}
	}
	return Unknown, nil
}

// libraryFolders are where libraries are found besides LD_LIBRARY_PATH.
var libraryFolders = []string{"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	"/usr/lib64", "/usr/lib", "/usr/lib/llvm-*/lib", "/usr/lib64/llvm*/lib", "/opt/*/lib"}

// FindLibomp finds the library of LLVM's run-time system, "" if there is none: in the order in which the
// loader looks, then in the folders of LLVM's versions, the newest first.
func FindLibomp() string {
	for _, folder := range append(filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")), libraryFolders...) {
		if folder == "" {
			continue
		}
		found, err := filepath.Glob(filepath.Join(folder, "libomp.so.5"))
		if err != nil || len(found) == 0 {
			if found, err = filepath.Glob(filepath.Join(folder, "libomp.so")); err != nil || len(found) == 0 {
				continue
			}
		}
		return slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(llvmVersion(a), llvmVersion(b)) })
	}
	return ""
}

// llvmVersion is the number in the name of one of LLVM's folders, "/usr/lib/llvm-16/lib".
func llvmVersion(path string) int {
	_, after, _ := strings.Cut(path, "llvm-")
	digits, _, _ := strings.Cut(after, "/")
	n, _ := strconv.Atoi(digits) // 0 where there is none
	return n
}
