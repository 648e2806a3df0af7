// Package cpp builds the C++ code fragments of a LuNA program into a shared library and calls them.
//
// Build writes one generated file (the wrappers, the heads and C++ subs embedded in the program), compiles
// it and the user's .cpp files in parallel, and links them. It keeps the results in the cache of package
// compile, which finds an unchanged program without running the compiler. Open loads the library; Call runs
// one code fragment with one cgo call, and turns crashes, exits and failed checks into an Outcome.
//
//	generate.go     the generated file
//	build.go        compiler and linker
//	diagnose.go     compiler messages as the user knows the files
//	value.go        data fragments' values in C memory
//	library*.go     loading and calling; without cgo: why that cannot be done
//	shim.c          the call itself and the ways out of user code
//	meter.c         what happened to the thread meanwhile
//	events.c        events that user code emits
//	include/        what user code sees (ucenv.h; whyslow.hpp is in package sdk), and parts of the library
package cpp

import (
	"io"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// Spec says what to build.
type Spec struct {
	Prog     *luna.Program
	Dir      string    // of the program: has *.cpp to compile, and headers for quoted includes; "": current
	CppDirs  []string  // when not empty: the *.cpp of these directories instead of Dir's
	Sources  []string  // more .cpp files
	Optimize string    // "-O3" or "-O0"; "": -O3
	Debug    bool      // -g
	NoWaits  bool      // calls that may block lead to the system, without a word to Meter.Wait
	CXX      string    // compiler and its leading arguments; "": $CXX, or g++
	CacheDir string    // "": whyslow in the user's cache directory
	Verbose  io.Writer // commands run and warnings go here; nil: nowhere
	// Progress is called before each compilation and before linking (file ""), and may be called by several
	// goroutines at once; nil: no calls.
	Progress func(done, total int, file string)
}

// Built is a library ready to be opened.
type Built struct {
	Path     string
	Cached   bool              // nothing was compiled or linked
	Compiled int               // files compiled
	Read     map[string]string // the files it was made from, the system's too: SHA-256 by path
	Note     string            // what the user should know of the cache; or ""
	Misfits  []string          // imports that do not fit their C++ functions
}

// CompileError is a failed compilation or link.
type CompileError struct {
	Output  string // what the compiler printed, file names as the user knows them
	Command string // the first command that failed
	Link    bool   // the linker failed
}

// Error returns the compiler's output under a line that says what it is.
func (e *CompileError) Error() string {
	if e.Link {
		return "the program's C++ code cannot be linked:\n" + e.Output
	}
	return "the program's C++ code does not compile:\n" + e.Output
}
